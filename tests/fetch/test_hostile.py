"""Malicious replies: each ends, in bounded memory and time, with one outcome."""

import gzip
import resource
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace

import pytest

from larbinpy.fetch.options import FetchSettings
from larbinpy.page import Outcome, Page
from larbinpy.url import canonical
from tests.support.certificates import self_signed
from tests.support.webserver import Act, Drip, Endless, Loop, Script, Step, WebServer, once, reply

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop(FetchSettings(handles=2))
    yield loop
    assert (loop.fetcher.free, loop.fetcher.busy) == (2, 0)
    loop.close()


def peak() -> int:
    """Highest resident set so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_an_endless_page(loop: Loop) -> None:
    server = loop.serve(once(OK + b"\r\n", Endless(b"more " * 10_000)))
    page = loop.fetch(server.url(), max_size=300_000)
    assert (page.outcome, page.truncated, len(page.body)) == (Outcome.TOO_BIG, "length", 300_000)


def test_an_endless_error_page(loop: Loop) -> None:
    server = loop.serve(once(b"HTTP/1.1 404 No\r\n\r\n", Endless(b"more " * 10_000)))
    page = loop.fetch(server.url(), max_size=300_000)
    assert (page.outcome, page.status, len(page.body)) == (Outcome.ERR_40X, 404, 300_000)


def test_a_gzip_bomb(loop: Loop) -> None:
    bomb = gzip.compress(bytes(100_000_000))
    server = loop.serve(once(reply(bomb, "Content-Encoding: gzip")))
    before = peak()
    page = loop.fetch(server.url(), max_size=1_000_000)
    assert (page.outcome, page.truncated, len(page.body)) == (Outcome.TOO_BIG, "length", 1_000_000)
    assert peak() - before < 10_000_000


def test_a_bomb_in_a_bomb(loop: Loop) -> None:
    bomb = gzip.compress(gzip.compress(bytes(100_000_000)))
    server = loop.serve(once(reply(bomb, "Content-Encoding: gzip, gzip")))
    page = loop.fetch(server.url(), max_size=1_000_000)
    assert (page.outcome, len(page.body)) == (Outcome.TOO_BIG, 1_000_000)


def test_a_bomb_held_back_by_bond_width() -> None:
    loop = Loop(FetchSettings(handles=1, bond_width=100))
    bomb = gzip.compress(bytes(100_000_000))
    server = loop.serve(once(reply(bomb, "Content-Encoding: gzip")))
    before = peak()
    loop.start(server.url(), max_size=1_000_000)
    for _ in range(200):
        if loop.turn():
            break
        loop.skip(1)
    assert loop.fetcher.busy == 0
    assert peak() - before < 10_000_000
    loop.close()


@pytest.mark.parametrize(
    "flood",
    [
        b"Set-Cookie: a=b\r\n" * 100_000,
        b"X: " + b"y" * 90_000 + b"\r\n",
        b"HTTP/1.1 100 Go\r\n\r\n",
    ],
)
def test_a_header_flood(loop: Loop, flood: bytes) -> None:
    server = loop.serve(once(b"" if flood.startswith(b"HTTP") else OK, Endless(flood)))
    page = loop.fetch(server.url())
    assert (page.outcome, page.status, page.headers) == (Outcome.TOO_BIG, 0, [])


def test_a_header_line_without_end(loop: Loop) -> None:
    server = loop.serve(once(OK + b"X: ", Endless(b"y" * 50_000)))
    assert loop.fetch(server.url()).misread  # libcurl gives up at 100 kB.
    page = loop.fetch(server.url())
    assert (page.outcome, page.misread) == (Outcome.TOO_BIG, False)


def drip(loop: Loop, server: WebServer) -> tuple[int, Page]:
    """The page of a server that sends a byte a second, and the second at which it ended."""
    loop.start(server.url())
    for second in range(100):
        pages = loop.turn()
        if pages:
            return second, pages[0]
        loop.skip(1)
    raise AssertionError("still dripping")


def test_a_slow_drip_of_a_body(loop: Loop) -> None:
    second, page = drip(loop, loop.serve(once(OK + b"\r\n", Drip(b"x" * 10_000))))
    assert 28 <= second <= 33
    assert (page.outcome, page.status, page.truncated) == (Outcome.TIMEOUT, 200, "disconnect")


def test_a_slow_drip_of_headers(loop: Loop) -> None:
    second, page = drip(loop, loop.serve(once(Drip(OK * 100))))
    assert 28 <= second <= 33
    assert page.outcome is Outcome.TIMEOUT


def test_a_body_longer_than_it_says(loop: Loop) -> None:
    server = loop.serve(once(OK + b"Content-Length: 3\r\n\r\nlonger", Act.HANG))
    page = loop.fetch(server.url())
    assert (page.outcome, page.body) == (Outcome.SUCCESS, b"lon")


def test_a_body_shorter_than_it_says(loop: Loop) -> None:
    server = loop.serve(once(OK + b"Content-Length: 30\r\n\r\nshort"))
    page = loop.fetch(server.url())
    assert (page.outcome, page.truncated, page.body) == (Outcome.EARLY_STOP, "disconnect", b"short")


@pytest.mark.parametrize("length", [b"-5", b"3\r\nContent-Length: 5", b"0x10", b""])
def test_lengths_that_are_invalid(loop: Loop, length: bytes) -> None:
    server = loop.serve(once(OK + b"Content-Length: " + length + b"\r\n\r\nhello"))
    assert loop.fetch(server.url()).outcome in (Outcome.EARLY_STOP, Outcome.SUCCESS)
    assert loop.fetch(server.url()).body in (b"hello", b"")


@pytest.mark.parametrize(
    "size", [b"-1", b"80000000", b"ffffffffffffffff", b"f" * 17, b"f" * 100_000, b"zz", b""]
)
def test_chunk_sizes_that_are_wrong(loop: Loop, size: bytes) -> None:
    server = loop.serve(once(CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n"))
    page = loop.fetch(server.url(), max_size=1000)
    assert (page.outcome, page.status) == (Outcome.EARLY_STOP, 200)
    assert page.truncated == "disconnect"
    assert len(page.body) < 20


def test_a_chunk_extension_without_end_has_its_time_only(loop: Loop) -> None:
    server = loop.serve(once(CHUNKED + b"5;", Endless(b"x" * 100)))
    loop.start(server.url())
    for _ in range(50):
        assert loop.turn() == []
    loop.skip(31)
    assert loop.turn()[0].outcome is Outcome.TIMEOUT


def test_a_flood_of_trailers(loop: Loop) -> None:
    server = loop.serve(once(CHUNKED + b"5\r\nhello\r\n0\r\n", Endless(b"Location: /x\r\n")))
    page = loop.fetch(server.url())
    assert page.outcome is Outcome.TOO_BIG


@pytest.mark.parametrize(
    "script",
    [
        [Act.CLOSE],
        [Act.RESET],
        once(Act.CLOSE),
        once(Act.RESET),
        once(b"HTTP/1.1 200 OK\r\nContent-Ty"),
        once(b"HTTP/1.1 200 OK\r\nContent-Ty", Act.RESET),
        once(CHUNKED + b"5\r\nhe"),
        once(b"HTTP/1.1 abc\r\n\r\n"),
        once(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\nx"),
        once(b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\nx"),
    ],
)
def test_replies_that_break_off(loop: Loop, script: Script) -> None:
    server = loop.serve(script)
    page = loop.fetch(server.url())
    assert page.outcome is Outcome.EARLY_STOP
    assert page.detail.isprintable()


def test_a_204_with_a_body(loop: Loop) -> None:
    server = loop.serve(once(b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nhello"))
    page = loop.fetch(server.url())
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 204, b"")


def test_a_port_without_a_listener(loop: Loop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    page = loop.fetch(f"http://site.test:{port}/")
    assert (page.outcome, page.status) == (Outcome.NO_CONNECTION, 0)
    assert page.ip == "127.0.0.1"


@pytest.mark.parametrize("url", ["http://a'b.test/", "http://a*b.test/", "http://site.test:99999/"])
def test_invalid_hosts(loop: Loop, url: str) -> None:
    assert loop.fetch(canonical(url)).outcome is Outcome.BAD_URL


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://h.test/", "gopher://h.test/", "dict://h/"]
)
def test_other_schemes_are_refused(loop: Loop, url: str) -> None:
    page = loop.fetch(url)
    assert (page.status, page.body) == (0, b"")
    assert page.outcome is not Outcome.SUCCESS


def test_control_characters_stay_out_of_details(loop: Loop) -> None:
    server = loop.serve(once(OK + b"Content-Encoding: \x1b[31mred\r\n\r\nx"))
    assert loop.fetch(server.url()).detail.isprintable()


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    size = len(payload).to_bytes(3, "big")
    return size + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


SETTINGS = frame(4, 0, 0)
STATUS_200 = frame(1, 4, 1, b"\x88")
WIDEN = (1).to_bytes(4, "big")
#: Floods that libcurl lets pass; nghttp2 ends those of other frames.
FLOODS: dict[str, list[Step]] = {
    "windows of the connection": [SETTINGS, Endless(frame(8, 0, 0, WIDEN) * 1000)],
    "windows of the page": [SETTINGS, STATUS_200, Endless(frame(8, 0, 1, WIDEN) * 1000)],
    "a chunk": [CHUNKED + b"5;", Endless(b"x" * 100)],
    "padding": [SETTINGS, STATUS_200, Endless(frame(0, 8, 1, b"\xff" + bytes(255)) * 100)],
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """The context of a server for HTTP/2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed(tmp_path_factory.mktemp("tls"), "site.test"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_without_content_ends(loop: Loop, two: ssl.SSLContext, name: str) -> None:
    """At the first check, after a second that really passes: libcurl has a clock of its own."""
    loop.options = replace(loop.options, insecure_tls=True)
    tls = None if name == "a chunk" else two
    server = loop.serve([Act.REQUEST, *FLOODS[name]], tls=tls)
    page = loop.fetch(server.url())
    assert (page.outcome, page.body) == (Outcome.EARLY_STOP, b"")
    assert page.detail == "a flood of packets with hardly any content"
    assert page.received < 100 < server.sent


FIELD = b"\x88\0\x0aconnection\x01x"
BROKEN = {
    "a field of HTTP/1": SETTINGS + frame(1, 4, 1, FIELD),
    "a stream that is reset": SETTINGS + frame(3, 0, 1, b"\0\0\0\2"),
    "half of a page": SETTINGS + STATUS_200 + frame(0, 0, 1, b"half"),
    "HTTP/1": OK + b"\r\n",
}
CALM = SETTINGS + frame(7, 0, 0, b"\0\0\0\0\0\0\0\x0b")


@pytest.mark.parametrize("name", [*BROKEN, "calm"])
def test_a_site_whose_http_2_fails_is_asked_by_http_1(
    loop: Loop, two: ssl.SSLContext, name: str
) -> None:
    loop.options = replace(loop.options, insecure_tls=True)
    faulty = once(BROKEN.get(name, CALM), Act.REQUEST)
    server = loop.serve(faulty, once(reply(b"whole")), tls=two)
    first = loop.fetch(server.url())
    # A server that wants fewer requests gets its pause.
    assert (first.outcome, first.misread) == (Outcome.EARLY_STOP, name != "calm")
    assert [loop.fetch(server.url(path)).body for path in ("/", "/2")] == [b"whole"] * 2
    assert [request[:6] for request in server.requests[-2:]] == [b"GET / ", b"GET /2"]


def test_a_connection_of_http_2_that_is_reset_is_the_last_of_its_site(
    loop: Loop, two: ssl.SSLContext
) -> None:
    loop.options = replace(loop.options, insecure_tls=True)
    server = loop.serve([Act.REQUEST, SETTINGS, Act.RESET], once(reply(b"whole")), tls=two)
    first = loop.fetch(server.url())
    # It counts as a failure: the next request is in its turn.
    assert (first.outcome, first.misread) == (Outcome.EARLY_STOP, False)
    assert loop.fetch(server.url()).body == b"whole"
    assert server.requests[-1].startswith(b"GET / HTTP/1.1")


def test_a_page_in_small_pieces_is_no_flood(loop: Loop) -> None:
    server = loop.serve(once(Drip(OK + b"\r\n" + b"word " * 20_000, 20)))
    loop.start(server.url())
    now = loop.now
    for _ in range(1000):
        loop.poller.wait(0.05)
        assert loop.fetcher.step(now) == []
    assert loop.fetcher.step(now + 2) == []
    [page] = loop.finish()
    assert (page.outcome, len(page.body)) == (Outcome.SUCCESS, 100_000)


def test_a_connection_of_many_pages_is_no_flood(loop: Loop) -> None:
    """Its events before a page are none of that page's."""
    reply = OK + b"Content-Length: 5\r\n\r\nhello"
    pages: list[Step] = [Act.REQUEST, reply] * 400
    server = loop.serve([*pages, Act.REQUEST, Act.HANG])
    for _ in range(400):
        assert loop.fetch(server.url()).body == b"hello"
    loop.start(server.url())
    loop.turn()
    assert server.accepted == 1
    loop.skip(1.5)
    assert loop.turn() == []
    loop.skip(1000)
    assert [page.outcome for page in loop.turn()] == [Outcome.TIMEOUT]
