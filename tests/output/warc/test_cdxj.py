"""The index of a WARC file: keys, lines, and the sorting of a journal."""

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from larbinpy.output.warc.records import Entry, before, build, key
from larbinpy.storage.files import open_folder
from larbinpy.url import resolve
from tests.support.faultydisk import FaultyDisk
from tests.support.suites import suite

ENTRY = Entry("http://b.test/x", "2026-01-31T23:59:58.123Z", "text/html", 200, "sha1:ABC")

#: Pieces of which URLs are made that are hard to spell.
PIECES = [
    *("www.", "www2.", "/", "//", "/./", "/../", "..", ".", "?", "&", "&&", "=", "#f", ";", "~"),
    *("%2e", "%252e", "%25", "%C3%A9", "%", "%zz", "%0a", "%20", "%23", "%3F", " ", "+", '"', "|"),
    *("a", "B", "c=1", "é", "\\", "x.aspx", "x.ASPX?", "cfid=1&cftoken=2", "sid=" + "B" * 32),
    *("jsessionid=" + "a" * 32, "PHPSESSID=" + "0" * 32, "ASPSESSIONIDabcdefgh=" + "a" * 24),
    *("(S(" + "a" * 24 + "))/", "(" + "a" * 24 + ")/", "a=&b"),
]
HOSTS = [
    *("a.test", "www.a.test", "WWW3.b.c.org:8080", "1.2.3.4", "[::1]", "x..y", "www.", "a.test."),
    *("wwwx.a", "www", "xn--bcher-kva.de", "www12.www.a", "a.test:0"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = open_folder(tmp_path)
    yield fd
    os.close(fd)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.Example.org/A/B.html", "org,example)/a/b.html"),
        ("https://example.org:8443/", "org,example:8443)/"),
        ("https://example.org/a//b/", "org,example)/a/b"),
        ("http://example.org/?b=2&a=1&A", "org,example)/?a&a=1&b=2"),
        ("http://example.org/%2525%C3%A9%20x", "org,example)/%25%c3%a9%20x"),
        ("http://example.org/a;jsessionid=1?sid=" + "0" * 32, "org,example)/a;jsessionid=1"),
        ("http://127.0.0.1:80/", "1,0,0,127)/"),
        ("http://[::1]:81/x", "::1:81)/x"),
        ("http://./", "http:/"),
        ("dns:Example.org", "dns:example.org"),
    ],
)
def test_keys(url: str, expected: str) -> None:
    assert key(resolve(url) or url) == expected


def test_keys_are_those_of_surt() -> None:
    surt = pytest.importorskip("surt", reason="surt is not installed").surt
    dice = random.Random(1)
    texts = []
    for _ in range(20_000):
        pieces = "".join(dice.choices(PIECES, k=dice.randrange(8)))
        texts.append(f"{dice.choice(['http', 'https'])}://{dice.choice(HOSTS)}/{pieces}")
    urls = {url for text in texts if (url := resolve(text))}
    assert len(urls) > 10_000
    wrong = [url for url in urls if key(url) != surt(url)]
    assert wrong == []


def test_keys_of_the_url_standards_examples() -> None:
    surt = pytest.importorskip("surt", reason="surt is not installed").surt
    cases = json.loads((suite("wpt-url") / "urltestdata.json").read_bytes())
    hrefs = [case["href"] for case in cases if isinstance(case, dict) and "href" in case]
    urls = {url for href in hrefs if (url := resolve(href))}
    assert len(urls) > 100
    assert [url for url in urls if key(url) != surt(url)] == []


@pytest.mark.parametrize(
    "query", ["cfid=" * 1590, "cfid=1&cftoken=" * 500, "sid=" * 1990, "jsessionid=" * 700]
)
def test_no_query_is_expensive(query: str) -> None:
    began = time.process_time()
    key(f"http://a.test/?{query}")
    assert time.process_time() - began < 0.05


def test_a_line() -> None:
    stamped, _, fields = ENTRY.line(12, 345, "x.warc.gz").decode().partition(" {")
    assert stamped == "test,b)/x 20260131235958"
    assert json.loads("{" + fields) == {
        "url": "http://b.test/x",
        "mime": "text/html",
        "status": "200",
        "digest": "sha1:ABC",
        "length": "345",
        "offset": "12",
        "filename": "x.warc.gz",
    }


def test_unknown_fields_are_left_out() -> None:
    line = Entry("dns:a.test", ENTRY.date, None, None, "sha1:ABC").line(0, 1, "x.warc.gz")
    assert b"mime" not in line
    assert b"status" not in line


def line(number: int, offset: int) -> bytes:
    return Entry(f"http://b.test/{number}", ENTRY.date, None, None, "").line(offset, 1, "x")


def test_lines_before_an_offset() -> None:
    lines = [line(n, n * 10) for n in range(5)]
    torn = [line(9, 0)[:-1], b"\0\0\0\n", b"x y {}\n", b"x y []\n", b"\n"]
    assert list(before([*lines, *torn], 25)) == lines[:3]


@pytest.mark.parametrize("chunk", [1, 1000, 1 << 22])
def test_the_index_is_the_journal_sorted(tmp_path: Path, folder: int, chunk: int) -> None:
    lines = [line(n * 7919 % 100, n) for n in range(100)]
    (tmp_path / "journal").write_bytes(b"".join(lines))
    making = build("journal", "index", folder=folder, chunk=chunk, block=100, merged_lines=7)
    steps = sum(1 for _ in making)
    assert steps > 100 // 7
    assert (tmp_path / "index").read_bytes() == b"".join(sorted(lines))
    assert sorted(os.listdir(tmp_path)) == ["index", "journal"]


def test_no_index_is_left_if_it_cannot_be_written(tmp_path: Path, folder: int) -> None:
    (tmp_path / "journal").write_bytes(b"".join(line(n, n) for n in range(10)))
    disk = FaultyDisk()
    with disk.under("rename"):
        disk.fail(1)
        with pytest.raises(OSError, match="No space"):
            list(build("journal", "index", folder=folder))
    assert os.listdir(tmp_path) == ["journal"]


def test_a_step_takes_no_longer_than_a_turn_may(tmp_path: Path, folder: int) -> None:
    """With 125,000 captures, as in a file of 1 GB."""
    journal = b"".join(line(n * 7919 % 125_000, n) for n in range(125_000))
    (tmp_path / "journal").write_bytes(journal)

    def longest() -> float:
        steps, found = build("journal", "index", folder=folder), 0.0
        while True:
            began = time.process_time()
            if next(steps, 0) == 0:
                return found
            found = max(found, time.process_time() - began)

    # Several tries, since other work on this machine makes some steps longer.
    assert any(longest() < 0.05 for _ in range(3))
    assert (tmp_path / "index").stat().st_size == len(journal)
