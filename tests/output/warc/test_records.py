"""WARC records of pages: heads as they came, adapted only to the decoded body."""

from pathlib import Path

import pytest

from larbinpy.output.warc.records import Original, Records, digest, request_head, response_head
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.warcs import Found, records

DATE = "2026-01-31T23:59:58.123Z"
URL = Url("http://a.test/x?y", 3, via="http://a.test/")


def page(head: bytes, body: bytes = b"", status: int = 200, **more: object) -> Page:
    """The page that a fetcher makes of a reply with these bytes."""
    fields = [line.partition(b":") for line in head.splitlines()[1:]]
    headers = [
        (name.decode("latin-1").strip().lower(), value.decode("latin-1").strip())
        for name, _, value in fields
    ]
    return Page(URL, Outcome.SUCCESS, status, headers, head=head, body=body, **more)  # type: ignore[arg-type]


def written(folder: Path, page: Page, original: Original | None = None) -> list[Found]:
    """Return the records of `page` as warcio reads them."""
    make = Records()
    made = [
        make.info("x.warc.gz", DATE, {}),
        *make.capture(page, DATE, digest(page.body), original),
    ]
    file = folder / "x.warc.gz"
    file.write_bytes(b"".join(record.packed() for record in made))
    return records(file)


PLAIN = b"HTTP/1.1 200 Fine\r\nserver:  x\r\nX-Name: \xe9\xff\r\nContent-length: 4\r\n"


def test_a_head_is_kept_to_the_byte() -> None:
    assert response_head(page(PLAIN, b"body")) == PLAIN + b"\r\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n",
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Encoding: gzip\r\n"
            "X-Archive-Orig-Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nA: b\r\n",
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-transfer-encoding: chunked\r\nA: b\r\n"
            "Content-Length: 4\r\n\r\n",
        ),
        (
            "HTTP/1.0 200\r\nContent-Length: 4\r\nContent-Length: 4\r\n",
            "HTTP/1.0 200\r\nX-Archive-Orig-Content-Length: 4\r\n"
            "X-Archive-Orig-Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
        ),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 4\r\n\r\n"),
        ("HTTP/2 200 \r\na: b\r\n", "HTTP/1.1 200 OK\r\na: b\r\nContent-Length: 4\r\n\r\n"),
        ("HTTP/3 200\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
        ("", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n"),
    ],
)
def test_a_head_fits_the_decoded_body(head: str, expected: str) -> None:
    assert response_head(page(head.encode(), b"body")).decode() == expected


def test_no_length_is_made_up_for_what_has_no_body() -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n"
    assert response_head(page(head, status=304)) == head + b"\r\n"


def test_a_status_without_a_name() -> None:
    assert response_head(page(b"HTTP/2 299\r\n", status=299)) == b"HTTP/1.1 299 \r\n\r\n"


def test_a_request_of_http_2_is_written_as_that_of_1() -> None:
    rest = b"Host: a.test\r\n\r\n"
    assert request_head(b"GET /a HTTP/2\r\n" + rest) == b"GET /a HTTP/1.1\r\n" + rest
    assert request_head(b"GET /a HTTP/1.0\r\n" + rest) == b"GET /a HTTP/1.0\r\n" + rest


def test_response_request_and_metadata_of_one_capture(tmp_path: Path) -> None:
    sent = b"GET /x?y HTTP/1.1\r\nHost: a.test\r\n\r\n"
    links = ["http://a.test/1", "http://b.test/2"]
    taken = page(
        PLAIN,
        b"body",
        request=sent,
        ip="192.0.2.1",
        ms=12,
        list_links=lambda: links,
        charset="utf-8",
    )
    info, response, request, metadata = written(tmp_path, taken)
    assert [r.kind for r in (info, response, request, metadata)] == [
        *("warcinfo", "response", "request", "metadata")
    ]
    assert (response.url, response.status, response.content) == (URL.href, "200 Fine", b"body")
    assert response.fields["WARC-Date"] == DATE
    assert response.fields["WARC-IP-Address"] == "192.0.2.1"
    assert response.fields["WARC-Protocol"] == "http/1.1"
    assert response.fields["WARC-Payload-Digest"] == digest(b"body")
    assert "WARC-Truncated" not in response.fields
    assert request.header("host") == "a.test"
    assert metadata.lines == [
        "via: http://a.test/",
        "fetchTimeMs: 12",
        "charsetForLinkExtraction: utf-8",
        *(f"outlink: {link}" for link in links),
    ]
    identity = response.fields["WARC-Record-ID"]
    assert [r.fields.get("WARC-Concurrent-To") for r in (request, metadata)] == [identity] * 2
    whole = info.fields["WARC-Record-ID"]
    assert {r.fields["WARC-Warcinfo-ID"] for r in (response, request, metadata)} == {whole}
    assert len({r.fields["WARC-Record-ID"] for r in (info, response, request, metadata)}) == 4


@pytest.mark.parametrize(
    ("line", "protocol"),
    [("HTTP/2 200", "h2"), ("HTTP/3 200 ", "h3"), ("HTTP/1.0 200 OK", "http/1.0"), ("", None)],
)
def test_the_http_version_is_recorded(tmp_path: Path, line: str, protocol: str | None) -> None:
    response = written(tmp_path, page(f"{line}\r\n".encode() if line else b"", b"x"))[1]
    assert response.fields.get("WARC-Protocol") == protocol


def test_a_seed_without_a_request_or_links(tmp_path: Path) -> None:
    taken = Page(Url("http://a.test/", 3), Outcome.SUCCESS, 200, [], head=PLAIN)
    kinds = {r.kind: r for r in written(tmp_path, taken)}
    assert list(kinds) == ["warcinfo", "response", "metadata"]
    assert kinds["metadata"].lines == ["fetchTimeMs: 0"]


def test_a_revisit_has_the_head_and_refers_to_the_body(tmp_path: Path) -> None:
    original = Original("http://b.test/", "2026-01-01T00:00:00.000Z")
    _, revisit, _ = written(tmp_path, page(PLAIN, b"body"), original)
    assert (revisit.kind, revisit.status, revisit.content) == ("revisit", "200 Fine", b"")
    assert revisit.header("server") == "x"
    assert revisit.fields["WARC-Refers-To-Target-URI"] == original.url
    assert revisit.fields["WARC-Refers-To-Date"] == original.date
    assert revisit.fields["WARC-Payload-Digest"] == digest(b"body")
    assert revisit.fields["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")


@pytest.mark.parametrize(
    ("truncated", "outcome", "word"),
    [
        ("length", Outcome.TOO_BIG, "length"),
        ("disconnect", Outcome.EARLY_STOP, "disconnect"),
        ("disconnect", Outcome.TIMEOUT, "time"),
    ],
)
def test_truncated_bodies_are_marked(
    tmp_path: Path, truncated: str, outcome: Outcome, word: str
) -> None:
    taken = page(PLAIN.replace(b"4", b"99"), b"body", truncated=truncated)
    taken.outcome = outcome
    response = written(tmp_path, taken)[1]
    assert response.fields["WARC-Truncated"] == word
    assert response.content == b"body"
    assert response.header("X-Archive-Orig-Content-length") == "99"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: \xff\xfe;x\r\nno colon\r\n: no name\r\n  folded\r\n",
        b"HTTP/1.1 200 OK\nA: b\nContent-Encoding: br\n",
        b"HTTP/1.1 200 OK\r\nA: b\rContent-Encoding: gzip\r\n",
        b"HTTP/1.1 200 \xff\x00\r\nWARC/1.1: x\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n",
    ],
)
def test_hostile_heads_make_records_that_can_be_read(tmp_path: Path, head: bytes) -> None:
    response = written(tmp_path, page(head, b"body"))[1]
    assert response.content == b"body"
    assert response.status.startswith("200")


@pytest.mark.parametrize(
    ("value", "mime"),
    [
        (b"Text/HTML; charset=x", "Text/HTML"),
        (b"text/html charset=x", "text/html"),
        (b";x", ""),
        (b"", ""),
        ("caf\u00e9/x".encode(), "caf\u00e9/x"),
        (b"caf\xe9/x", "caf\u00e9/x"),
    ],
)
def test_the_index_has_the_type_as_it_was_sent(value: bytes, mime: str) -> None:
    taken = page(b"HTTP/1.1 200 OK\r\nContent-Type: " + value + b"\r\n", b"body")
    entry = next(Records().capture(taken, DATE, "sha1:A", None)).entry
    assert entry is not None
    assert entry.mime == mime


def test_a_name_look_up_is_a_resource_record(tmp_path: Path) -> None:
    make = Records()
    record = make.look_up("a.test", DATE, ["192.0.2.1", "2001:db8::1"])
    file = tmp_path / "x.warc.gz"
    file.write_bytes(make.info("x", DATE, {}).packed() + record.packed())
    found = records(file)[1]
    assert (found.kind, found.url, found.fields["Content-Type"]) == (
        *("resource", "dns:a.test", "text/dns"),
    )
    assert found.lines == [
        "20260131235958",
        "a.test. IN A 192.0.2.1",
        "a.test. IN AAAA 2001:db8::1",
    ]


def test_the_first_record_describes_the_crawl(tmp_path: Path) -> None:
    file = tmp_path / "x.warc.gz"
    about = {"software": "larbinpy/1", "operator": "me@example.org", "robots": "obey", "empty": ""}
    file.write_bytes(Records().info("x.warc.gz", DATE, about).packed())
    [info] = records(file)
    assert info.kind == "warcinfo"
    assert info.fields["WARC-Filename"] == "x.warc.gz"
    assert info.fields["WARC-Date"] == DATE
    assert info.lines == [
        "software: larbinpy/1",
        "operator: me@example.org",
        "robots: obey",
        "format: WARC File Format 1.1",
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    ]
