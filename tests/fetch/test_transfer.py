"""A reply fed by hand: what becomes of its headers, body and end."""

import gzip
import sys
import zlib
from random import Random

import pycurl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.fetch.options import Accept, Refusal, Request
from larbinpy.fetch.transfer import (
    MAX_HEADER_BYTES,
    MAX_HEADER_LINES,
    MAX_PACKED,
    Transfer,
    declared_length,
    is_of_use,
)
from larbinpy.page import Outcome, Page, reason
from larbinpy.url import Url
from tests.support.webserver import OPTIONS, anything

URL = Url("http://site.test/", 5)


def transfer(*, max_size: int = 100, accept: Accept = anything, started: float = 0.0) -> Transfer:
    return Transfer(Request(URL, "192.0.2.1", accept, max_size, OPTIONS), started)


def feed(subject: Transfer, head: bytes, *chunks: bytes) -> bool:
    """Feed it as libcurl would; False once it wants to stop."""
    return all(subject.header(line) is None for line in head.splitlines(keepends=True)) and all(
        subject.write(chunk) is None for chunk in chunks
    )


def test_a_page() -> None:
    subject = transfer()
    assert feed(subject, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"one ", b"two")
    page = subject.page(None)
    assert page.url is URL
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"one two")
    assert page.headers == [("content-type", "text/html")]
    assert page.truncated is None


def test_a_body_is_held_by_its_page_alone() -> None:
    """A handle knows its last transfer until it gets another."""
    body = bytes(50)
    references = sys.getrefcount(body)
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", body)
    assert subject.page(None).body is body
    assert sys.getrefcount(body) == references


def test_names_are_lower_case_values_stripped_and_bytes_latin_1() -> None:
    subject = transfer()
    feed(
        subject, b"HTTP/1.1 200 OK\r\nX-Name :  caf\xe9 \r\nSET-COOKIE: a\r\nSet-Cookie: b\r\n\r\n"
    )
    assert subject.headers == [("x-name", "caf\xe9"), ("set-cookie", "a"), ("set-cookie", "b")]


def test_folded_lines_are_one_value() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b;\r\n  Max-Age=3600;\r\n\tVersion=1\r\n\r\n")
    assert subject.headers == [("set-cookie", "a=b; Max-Age=3600; Version=1")]


def test_the_last_valid_type_of_several_lines_counts() -> None:
    types = []

    def accept(media_type: str, size: int | None) -> Refusal | None:
        types.append(media_type)
        return None

    subject = transfer(accept=accept)
    lines = b"Content-Type: text/plain\r\nA: b\r\nContent-Type: text/html; charset=x\r\n"
    feed(subject, b"HTTP/1.1 200 OK\r\n" + lines + b"CONTENT-TYPE: ?\r\n\r\n")
    page = subject.page(None)
    assert (page.type, page.http_charset, types) == ("text/html", "x", ["text/html"])
    assert page.headers[1:3] == [("a", "b"), ("content-type", "text/html; charset=x")]


def test_the_head_is_kept_as_it_came() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 \r\nA:b\r\n\r\n")
    assert subject.page(None).head == b"HTTP/1.1 200 \r\nA:b\r\n"


def test_a_reply_that_ends_within_its_headers_has_those_that_came() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\nServer: y\r\n")
    page = subject.page(Outcome.EARLY_STOP)
    assert (page.outcome, page.status, page.headers) == (
        Outcome.EARLY_STOP,
        200,
        [("server", "y")],
    )


def test_an_interim_reply_alone_has_no_headers() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
    page = subject.page(Outcome.EARLY_STOP)
    assert (page.outcome, page.headers, page.head) == (Outcome.EARLY_STOP, [], b"")


def test_interim_replies_are_skipped() -> None:
    subject = transfer()
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    assert feed(subject, head + b"HTTP/1.1 200 OK\r\nServer: y\r\n\r\n", b"z")
    page = subject.page(None)
    assert (page.status, page.headers, page.body) == (200, [("server", "y")], b"z")


def test_trailers_are_no_headers() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", b"body")
    assert feed(subject, b"Location: http://evil.test/\r\nHTTP/1.1 500 Oops\r\n\r\n")
    page = subject.page(None)
    assert (page.status, page.headers) == (200, [])


def test_accept_is_asked_once_for_good_replies_only() -> None:
    asked: list[tuple[str, int | None]] = []

    def accept(essence: str, size: int | None) -> None:
        asked.append((essence, size))

    feed(transfer(accept=accept), b"HTTP/1.1 404 No\r\nContent-Type: text/html\r\n\r\n", b"x")
    assert asked == []
    head = (
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 206 OK\r\nContent-Type: Text/HTML; charset=x\r\n"
        b"Content-Length: 7\r\n\r\n"
    )
    feed(transfer(accept=accept), head, b"x", b"y")
    assert asked == [("text/html", 7)]


def test_a_refused_type_ends_it_before_the_body() -> None:
    subject = transfer(accept=lambda essence, size: Refusal(Outcome.BAD_TYPE))
    assert not feed(subject, b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")
    page = subject.page(Outcome.EARLY_STOP)
    assert (page.outcome, page.status, page.body) == (Outcome.BAD_TYPE, 200, b"")
    assert (page.truncated, page.type) == (None, "video/mp4")


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    subject = transfer(max_size=10)
    assert feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", b"01234", b"56789", b"")
    page = subject.page(None)
    assert (page.outcome, page.truncated, page.body) == (Outcome.SUCCESS, None, b"0123456789")


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=12), st.integers(0, 100))
def test_never_more_than_the_limit_is_kept(chunks: list[bytes], limit: int) -> None:
    subject = transfer(max_size=limit)
    sent = b"".join(chunks)
    whole = feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", *chunks)
    assert whole == (len(sent) <= limit)
    page = subject.page(None if whole else Outcome.EARLY_STOP)
    assert page.body == sent[:limit]
    assert (page.outcome, page.truncated) == (
        (Outcome.SUCCESS, None) if whole else (Outcome.TOO_BIG, "length")
    )


def test_nothing_more_is_taken_after_a_stop() -> None:
    subject = transfer(max_size=1)
    feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", b"ab")
    assert subject.write(b"c") == 0
    assert subject.page(Outcome.EARLY_STOP).body == b"a"


def test_too_many_header_lines_refuse_the_whole_reply() -> None:
    subject = transfer()
    assert not feed(subject, b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * MAX_HEADER_LINES + b"\r\n")
    page = subject.page(Outcome.EARLY_STOP)
    assert (page.outcome, page.status, page.headers) == (Outcome.TOO_BIG, 0, [])
    said = reason(page.outcome.value, page.status, page.detail)
    assert said == "its headers have more than 300 lines or 262,144 bytes"


def test_as_many_headers_as_are_allowed() -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * (MAX_HEADER_LINES - 2) + b"\r\n"
    assert feed(transfer(), head)
    subject = transfer()
    start = b"HTTP/1.1 200 OK\r\nA: "
    assert feed(subject, start + b"b" * (MAX_HEADER_BYTES - len(start) - 4) + b"\r\n\r\n")
    assert (subject.header_bytes, subject.complete) == (MAX_HEADER_BYTES, True)


def test_101_is_a_final_reply() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
    assert subject.complete
    assert subject.page(None).outcome is not Outcome.SUCCESS


def test_a_status_that_is_no_number_is_none() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 abc\r\n\r\n", b"x")
    page = subject.page(None)
    assert page.status == 0
    assert page.outcome is not Outcome.SUCCESS


def test_too_long_headers_refuse_the_whole_reply() -> None:
    subject = transfer()
    assert not feed(subject, b"HTTP/1.1 200 OK\r\nA: " + b"b" * MAX_HEADER_BYTES + b"\r\n\r\n")
    assert subject.page(Outcome.EARLY_STOP).outcome is Outcome.TOO_BIG


def test_interim_replies_and_trailers_count_as_headers() -> None:
    assert not feed(transfer(), b"HTTP/1.1 100 Continue\r\n\r\n" * MAX_HEADER_LINES)
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", b"body")
    assert not feed(subject, b"A: b\r\n" * MAX_HEADER_LINES)
    assert subject.page(Outcome.EARLY_STOP).outcome is Outcome.TOO_BIG


def test_a_body_without_headers_is_http_0_9() -> None:
    subject = transfer()
    assert subject.write(b"text") is None
    page = subject.page(None)
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"text")


def test_a_body_without_headers_may_be_refused() -> None:
    subject = transfer(accept=lambda essence, size: Refusal(Outcome.BAD_TYPE))
    assert subject.write(b"text") == 0
    assert subject.page(Outcome.EARLY_STOP).outcome is Outcome.BAD_TYPE


@pytest.mark.parametrize(
    "greeting",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"220 mx.test ESMTP\r\n",
        b"554-refused\r\n",
        b"+OK ready\r\n",
        b"-ERR wrong number of arguments\r\n",
        b"* OK IMAP4rev1\r\n",
        b"RFB 003.008\n",
        b"@RSYNCD: 31.0\n",
        b"RTSP/1.0 400 Bad Request\r\n",
        b":irc.test NOTICE * :*** Looking up",
        b"ERROR\r\n",
        b"J\0\0\0\x0a8.0.36\0",
        b"\x15\x03\x01\0\x02\x02\x0a",
    ],
)
@pytest.mark.parametrize("size", [1, 64])
def test_a_greeting_of_another_protocol_is_no_page(greeting: bytes, size: int) -> None:
    subject = transfer()
    pieces = [greeting[at : at + size] for at in range(0, len(greeting), size)]
    assert not feed(subject, b"", *pieces)
    page = subject.page(Outcome.EARLY_STOP, "stopped")
    assert (page.outcome, page.status, page.body) == (Outcome.NO_CONNECTION, 0, b"")
    assert page.detail.startswith("what answers is no HTTP server; it says '")


@pytest.mark.parametrize(
    "body", [b"<html>220 x", b"ICY 200 OK\r\nicy-name: x", b"GIF89a\1\0\1\0", b"7 wonders", b"\n"]
)
def test_a_document_without_headers_stays_one(body: bytes) -> None:
    subject = transfer()
    assert feed(subject, b"", body, b" and more" * 7, b"\0")
    assert subject.page(None).outcome is Outcome.SUCCESS


def test_a_connection_closed_within_the_headers() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\n")
    assert subject.page(None).outcome is Outcome.EARLY_STOP


def test_a_connection_closed_within_the_body() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"half")
    page = subject.page(Outcome.EARLY_STOP, "cut")
    assert (page.outcome, page.truncated, page.body) == (Outcome.EARLY_STOP, "disconnect", b"half")
    assert page.detail == "cut"


def test_the_body_of_a_redirect_or_an_error_does_not_matter() -> None:
    for status, outcome in ((302, Outcome.ERR_30X), (404, Outcome.ERR_40X), (503, Outcome.ERR_50X)):
        subject = transfer(max_size=3)
        feed(subject, b"HTTP/1.1 %d So\r\nLocation: /x\r\n\r\n" % status, b"too long")
        page = subject.page(Outcome.EARLY_STOP)
        assert (page.outcome, page.status, page.truncated) == (outcome, status, "length")
        assert page.header("location") == "/x"
        subject = transfer()
        feed(subject, b"HTTP/1.1 %d So\r\nLocation: /x\r\n\r\n" % status)
        assert subject.page(Outcome.TIMEOUT).outcome is outcome


@pytest.mark.parametrize(
    "head",
    [
        b"302 Found\r\n",
        b"303 See Other\r\nLocation:\r\n",
        b"300 Multiple Choices\r\n",
        b"300 Multiple Choices\r\nLocation: /a\r\n",
        b"305 Use Proxy\r\n",
    ],
)
def test_the_body_of_a_redirect_that_leads_nowhere_is_the_page(head: bytes) -> None:
    types = []

    def accept(media_type: str, size: int | None) -> Refusal | None:
        types.append(media_type)
        return None

    subject = transfer(accept=accept)
    feed(subject, b"HTTP/1.1 " + head + b"Content-Type: text/html\r\n\r\n", b"shown")
    page = subject.page(None)
    assert (page.outcome, page.body, types) == (Outcome.SUCCESS, b"shown", ["text/html"])
    subject = transfer()
    feed(subject, b"HTTP/1.1 " + head + b"\r\n")
    assert subject.page(None).outcome is Outcome.ERR_30X


def test_the_first_location_that_is_not_empty_leads_on() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 302 Found\r\nLocation:\r\nLocation: /a\r\n\r\n", b"text")
    assert subject.page(None).outcome is Outcome.ERR_30X


def test_a_304_has_no_page() -> None:
    subject = transfer()
    feed(subject, b"HTTP/1.1 304 Not Modified\r\n\r\n", b"text")
    assert subject.page(None).outcome is Outcome.ERR_30X


WHOLE = {
    "png": b"\x89PNG\r\n\x1a\n....\0\0\0\0IEND\xaeB`\x82",
    "jpeg": b"\xff\xd8\xff\xe0....\0\1\xff\xd9",
    "gif": b"GIF89a\1\0\1\0....\0;",
    "webp": b"RIFF\x08\0\0\0WEBPVP8 ",
    "pdf": b"%PDF-1.7\n....\n%%EOF\n",
    "zip": b"PK\3\4\0....PK\5\6" + bytes(18),
    "gzip": gzip.compress(b"text"),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_is_of_use_if_it_is_whole(kind: str) -> None:
    assert is_of_use(WHOLE[kind], stalled=True)
    assert not is_of_use(WHOLE[kind][:-8], stalled=False)


def test_the_beginning_of_a_text_is_of_use_unless_the_server_stalls() -> None:
    for text in (b"<p>half", "\ufeffhalf".encode("utf-16"), "<p>halb so gro\xdf".encode()):
        assert is_of_use(text, stalled=False) and not is_of_use(text, stalled=True)
    assert is_of_use(b"<P>ALL</BODY></HTML>\n\n", stalled=True)
    assert not is_of_use(b"\0\0\0\x18ftypmp42", stalled=False)


def test_a_small_file_that_unpacks_to_very_much_is_not_examined() -> None:
    assert not is_of_use(gzip.compress(bytes(40_000_000)), stalled=False)


def test_time_is_earned_by_bytes() -> None:
    subject = transfer(max_size=10**6, started=100.0)
    assert not subject.overdue(130.0)
    assert subject.overdue(130.1)
    feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 20_000)
    assert not subject.overdue(140.0)
    assert subject.overdue(140.1)
    feed(subject, b"X: " + b"x" * 3976 + b"\r\n")
    assert not subject.overdue(142.0)
    assert subject.overdue(142.1)
    subject.held = 5.0
    assert not subject.overdue(147.0)
    assert subject.overdue(147.1)


@given(st.lists(st.binary(max_size=60), max_size=40))
def test_any_bytes_make_a_page(lines: list[bytes]) -> None:
    subject = transfer()
    for line in lines:
        if subject.header(line) == 0:
            break
    page = subject.page(None)
    assert all(name == name.lower() for name, _ in page.headers)
    assert 0 <= page.status <= 999


def test_the_head_is_kept_to_the_byte() -> None:
    subject = transfer()
    head = b"HTTP/1.1 200 \xe9\r\nX-Name :  caf\xe9 \nSet-Cookie: a\r\n\tb\r\n"
    feed(subject, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head + b"\r\n", b"z")
    feed(subject, b"Trailer: x\r\n")
    assert subject.page(None).head == head


def test_the_head_of_a_refused_reply_is_not_kept() -> None:
    subject = transfer()
    assert not feed(subject, b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * MAX_HEADER_LINES)
    assert subject.page(Outcome.EARLY_STOP).head == b""


def test_the_last_request_is_kept() -> None:
    subject = transfer()
    subject.debug(pycurl.INFOTYPE_HEADER_OUT, b"CONNECT a:443 HTTP/1.1\r\n\r\n")
    subject.debug(pycurl.INFOTYPE_HEADER_OUT, b"GET / HTTP/1.1\r\n\r\n")
    for kind in (pycurl.INFOTYPE_TEXT, pycurl.INFOTYPE_DATA_IN, pycurl.INFOTYPE_HEADER_IN):
        subject.debug(kind, b"something else")
    assert subject.page(None).request == b"GET / HTTP/1.1\r\n\r\n"


def test_secrets_of_a_request_are_not_kept() -> None:
    """Those that check-config masks; the first line is no header."""
    subject = transfer()
    kept = b"GET /token:x HTTP/1.1\r\nHost: a\r\nX-Reason: my key\r\n"
    secret = b"X-API-Key: k\r\ncookie: c\r\nAuthorization: a\r\nX-Session: s\r\n"
    subject.debug(pycurl.INFOTYPE_HEADER_OUT, kept + secret + b"\r\n")
    assert subject.page(None).request == kept + b"\r\n"


def test_which_lengths_are_declared() -> None:
    for text, length in {"0": 0, "123": 123}.items():
        assert declared_length(text) == length
    for odd in ("", "-1", "1, 1", "9" * 40, "0x10", "\u0661", None):
        assert declared_length(odd) is None


def test_a_refusal_has_its_detail() -> None:
    refusal = Refusal(Outcome.REJECTED, "reject **.zip (larbin.conf:1)")
    subject = transfer(accept=lambda media_type, size: refusal)
    assert not feed(subject, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
    page = subject.page(Outcome.EARLY_STOP, "Failed writing header")
    assert (page.outcome, page.detail) == refusal


LONG = b"".join(b"<loc>http://site.test/%d</loc>" % number for number in range(5000))


def sitemap(most_beyond: int) -> Transfer:
    request = Request(URL, "192.0.2.1", anything, 1000, OPTIONS, most_beyond=most_beyond)
    return Transfer(request, 0.0)


def unpacked(page: Page) -> bytes:
    return page.body + (zlib.decompress(page.rest) if page.rest else b"")


@pytest.mark.parametrize("piece", [1, 999, 1000, 16384, 10**6])
def test_what_is_beyond_the_size_of_a_page_is_kept_packed(piece: int) -> None:
    subject = sitemap(10**6)
    pieces = [LONG[n : n + piece] for n in range(0, len(LONG), piece)]
    assert feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", *pieces)
    assert subject.size == len(LONG)
    page = subject.page(None)
    assert (page.outcome, page.truncated, len(page.body)) == (Outcome.SUCCESS, "length", 1000)
    assert unpacked(page) == LONG
    assert piece == 1 or len(page.rest) < len(LONG) // 4


def test_a_page_that_is_no_longer_than_allowed_has_no_rest() -> None:
    subject = sitemap(10**6)
    assert feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", LONG[:1000])
    page = subject.page(None)
    assert (page.truncated, page.rest) == (None, b"")


@pytest.mark.parametrize("more", [0, 1])
def test_what_is_beyond_is_cut_at_its_own_bound(more: int) -> None:
    subject = sitemap(5000 - more)
    assert feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", LONG[:3000], LONG[3000:6000]) is not bool(more)
    page = subject.page(None if not more else Outcome.EARLY_STOP)
    assert page.outcome is (Outcome.TOO_BIG if more else Outcome.SUCCESS)
    assert page.detail == ("cut at 5999 bytes" if more else "")
    assert unpacked(page) == LONG[: 6000 - more]


def test_what_cannot_be_packed_is_cut_earlier() -> None:
    """Many transfers at once have a bound."""
    subject = sitemap(10**9)
    noise = Random(1).randbytes(1 << 20)
    assert not feed(subject, b"HTTP/1.1 200 OK\r\n\r\n", *[noise] * 20)
    page = subject.page(Outcome.EARLY_STOP)
    assert page.outcome is Outcome.TOO_BIG
    assert MAX_PACKED < len(page.rest) < MAX_PACKED + (2 << 20)


def test_a_long_page_that_is_unpacked_here_has_its_rest_too() -> None:
    subject = sitemap(10**6)
    subject.coded = True
    body = gzip.compress(LONG) * 2
    feed(subject, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", body[:900])
    # What arrives is bounded by the size of a page.
    assert not feed(subject, b"", body[900:])
    subject = sitemap(10**6)
    subject.coded, subject.request.max_size = True, 10**5
    assert feed(subject, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", body)
    page = subject.page(None)
    assert (page.outcome, page.truncated) == (Outcome.SUCCESS, "length")
    assert unpacked(page) == LONG * 2
