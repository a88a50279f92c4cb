"""The pool of transfers against servers that play scripts on loopback."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pycurl
import pytest
import zstandard
from _pytest.mark import ParameterSet

from larbinpy.fetch.fetcher import printable_detail
from larbinpy.fetch.options import FetchSettings, Refusal, Request, RequestOptions
from larbinpy.fetch.transfer import Transfer
from larbinpy.page import Outcome, Page
from larbinpy.url import Url, canonical
from tests.support.ports import free_port
from tests.support.suites import suite
from tests.support.webserver import Act, Drip, Endless, Loop, Until, once, reply

SETTINGS = FetchSettings(handles=4)
OPTIONS = RequestOptions(user_agent="larbinpy/0.1 (+http://us.test/)", sender="me@us.test")

MakeLoop = Callable[..., Loop]


@pytest.fixture
def make_loop() -> Iterator[MakeLoop]:
    """Loops that are checked for leaks when the test has ended."""
    loops: list[Loop] = []

    def make(
        new_handle: Callable[[], pycurl.Curl] = pycurl.Curl,
        options: RequestOptions = OPTIONS,
        **changes: Any,
    ) -> Loop:
        loops.append(Loop(replace(SETTINGS, **changes), new_handle, options))
        return loops[-1]

    yield make
    for loop in loops:
        fetcher = loop.fetcher
        fetcher.abort()
        assert (fetcher.free, fetcher.busy) == (fetcher.size, 0), fetcher
        loop.close()


@pytest.fixture
def loop(make_loop: MakeLoop) -> Loop:
    return make_loop()


def head(request: bytes) -> tuple[str, dict[str, str]]:
    """A request's target and headers."""
    first, *lines = request.decode("latin-1").rstrip().split("\r\n")
    fields = (line.lower().partition(": ") for line in lines)
    return first, {name: value for name, _, value in fields}


def test_a_page(loop: Loop) -> None:
    server = loop.serve(once(reply(b"hello", "Content-Type: text/html")))
    page = loop.fetch(server.url("/a?b=c"))
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"hello")
    assert (page.ip, page.type, page.truncated, page.detail) == ("127.0.0.1", "text/html", None, "")
    assert page.received == len(reply(b"hello", "Content-Type: text/html"))
    assert 0 <= page.first_byte_ms <= page.ms < 5000


def test_the_headers_of_a_request(loop: Loop) -> None:
    server = loop.serve(once(reply()))
    loop.start(server.url("/a?b=c"))
    loop.finish()
    first, headers = head(server.requests[0])
    assert first == "GET /a?b=c HTTP/1.1"
    assert headers == {
        "host": f"site.test:{server.port}",
        "user-agent": OPTIONS.user_agent,
        "from": "me@us.test",
        "accept": OPTIONS.accept,
        "accept-encoding": "deflate, gzip, br",
    }


def test_requests_are_kept_where_that_is_wanted(make_loop: MakeLoop) -> None:
    for kept in (True, False):
        loop = make_loop(keep_requests=kept)
        server = loop.serve(once(reply(b"", "X: y")))
        loop.start(server.url("/a?b=c"))
        [page] = loop.finish()
        assert page.request == (server.requests[0] if kept else b"")
        assert page.head.startswith(b"HTTP/1.1 200 OK\r\n")


def test_of_kept_requests_the_replies_are_not_told(
    make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be copied piece by piece; the next request of the handle is told again."""
    kinds: set[int] = set()
    debug = Transfer.debug

    def noted(transfer: Transfer, kind: int, data: bytes) -> None:
        kinds.add(kind)
        debug(transfer, kind, data)

    monkeypatch.setattr(Transfer, "debug", noted)
    loop = make_loop(handles=1, keep_requests=True)
    for path in ("/a", "/b"):
        gate: list[bool] = []
        server = loop.serve(once(Until(partial(bool, gate)), reply(b"page")))
        kinds.clear()
        loop.start(server.url(path))
        while pycurl.INFOTYPE_HEADER_OUT not in kinds:
            loop.turn()
        gate.append(True)
        [page] = loop.finish()
        assert (page.body, page.request) == (b"page", server.requests[0])
        assert not kinds & {pycurl.INFOTYPE_HEADER_IN, pycurl.INFOTYPE_DATA_IN}


def test_no_sender_no_from(make_loop: MakeLoop) -> None:
    loop = make_loop(options=replace(OPTIONS, sender=""))
    server = loop.serve(once(reply()))
    loop.fetch(server.url())
    assert "from" not in head(server.requests[0])[1]


def test_the_path_is_sent_as_it_is(loop: Loop) -> None:
    server = loop.serve(once(reply()))
    loop.fetch(server.url("/a/%2E%2E/%0D%0AX:%20y//b%00?q=[]|^`"))
    assert head(server.requests[0])[0] == "GET /a/%2E%2E/%0D%0AX:%20y//b%00?q=[]|^` HTTP/1.1"


@pytest.mark.parametrize(
    "text",
    [
        "/\r\nX-Evil: 1",
        "/%0d%0aX-Evil: 1",
        "/?a\r\n\r\nGET /evil",
        "/\0\x01\x1b\x7f",
        "/a b\tc\n#d\r\n",
    ],
)
def test_no_url_puts_lines_into_a_request(loop: Loop, text: str) -> None:
    server = loop.serve(once(reply()))
    loop.fetch(canonical(server.url("") + text))
    assert len(server.requests) == 1
    lines = server.requests[0].split(b"\r\n")
    assert len(lines) == 8
    assert not any(line.startswith(b"X-Evil") for line in lines)
    assert all(0x20 <= byte < 0x7F for line in lines for byte in line)


def test_connections_are_reused_by_one_site_and_never_by_another(loop: Loop) -> None:
    server = loop.serve([Act.REQUEST, reply(b"1"), Act.REQUEST, reply(b"2")])
    bodies = [loop.fetch(server.url(host=host)).body for host in ("a.test", "a.test", "b.test")]
    assert bodies == [b"1", b"2", b"1"]
    assert server.accepted == 2
    assert [head(request)[1]["host"].split(":")[0] for request in server.requests] == [
        "a.test",
        "a.test",
        "b.test",
    ]


def test_a_handle_forgets_its_last_request(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=1)
    junk = loop.serve(once(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody"))
    server = loop.serve(once(reply(b"fine")))
    for _ in range(2):
        loop.fetch(junk.url())
    assert b"Connection: close" in junk.requests[1]
    assert loop.fetch(server.url()).body == b"fine"
    assert b"Connection: close" not in server.requests[0]


def test_connections_of_two_sites_stay_open(make_loop: MakeLoop) -> None:
    """Also where there is one handle."""
    loop = make_loop(handles=1)
    server = loop.serve([Act.REQUEST, reply(b"1"), Act.REQUEST, reply(b"2")])
    bodies = [loop.fetch(server.url(host=host)).body for host in ("a.test", "b.test") * 2]
    assert bodies == [b"1", b"1", b"2", b"2"]
    assert server.accepted == 2


@pytest.mark.parametrize("address", ["::1", "[::1]"])
def test_ipv6(loop: Loop, address: str) -> None:
    server = loop.serve(once(reply(b"six")), host="::1")
    page = loop.fetch(server.url(), address=address)
    assert (page.body, page.ip) == (b"six", "::1")


def test_only_the_given_address_is_contacted(loop: Loop) -> None:
    """Wherever the URL points: what was checked is what is connected to."""
    server = loop.serve(once(reply(b"x")))
    for host in ("localhost", "192.0.2.7", "[::ffff:192.0.2.7]", "nowhere.invalid"):
        assert loop.fetch(server.url(host=host)).ip == "127.0.0.1"
    assert server.accepted == 4


def test_redirects_are_not_followed(loop: Loop) -> None:
    server = loop.serve(once(reply(b"", "Location: /next", status="301 Moved")))
    page = loop.fetch(server.url())
    assert (page.outcome, page.status, page.header("location")) == (Outcome.ERR_30X, 301, "/next")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 407])
def test_credentials_are_never_sent(
    loop: Loop, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine site.test login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    challenge = 'WWW-Authenticate: Basic realm="x"', 'Proxy-Authenticate: Basic realm="x"'
    server = loop.serve(once(reply(b"", *challenge, status=f"{status} No")))
    url = server.url().replace("://", "://user:password@")
    assert loop.fetch(canonical(url)).outcome is Outcome.ERR_40X
    assert len(server.requests) == 1
    assert b"uthorization" not in server.requests[0]


def test_the_environment_names_no_proxy(
    make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    loop = make_loop()
    server = loop.serve(once(reply(b"direct")))
    assert loop.fetch(server.url()).body == b"direct"


def test_a_proxy_gets_the_whole_url(make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    port = free_port()
    loop = make_loop(options=replace(OPTIONS, proxy_url=f"http://127.0.0.1:{port}"))
    proxy = loop.serve(once(reply(b"by proxy")), port=port)
    page = loop.fetch("http://site.test/a", address="192.0.2.7")
    assert (page.body, page.ip) == (b"by proxy", "127.0.0.1")
    assert head(proxy.requests[0])[0] == "GET http://site.test/a HTTP/1.1"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "by proxy PROXY: Empty reply from server"),
        (
            b"SSH-2.0-x\r\n",
            "what answers at the proxy PROXY is no HTTP server; it says 'SSH-2.0-x'",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npage",
            "end of response with 5 bytes missing",
        ),
    ],
)
def test_a_proxy_is_named_unless_the_site_replied(
    make_loop: MakeLoop, answer: bytes, said: str
) -> None:
    port = free_port()
    proxy = f"http://127.0.0.1:{port}"
    loop = make_loop(options=replace(OPTIONS, proxy_url=proxy))
    loop.serve([Act.REQUEST, answer, Act.CLOSE], port=port)
    assert loop.fetch("http://site.test/a").detail == said.replace("PROXY", proxy)


def test_a_proxy_answers_connect_first(make_loop: MakeLoop) -> None:
    port = free_port()
    loop = make_loop(options=replace(OPTIONS, proxy_url=f"http://127.0.0.1:{port}"))
    answer = b"HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n"
    proxy = loop.serve([Act.REQUEST, answer, Act.CLOSE], port=port)
    page = loop.fetch("https://site.test/a", address="192.0.2.7")
    assert head(proxy.requests[0])[0] == "CONNECT site.test:443 HTTP/1.1"
    assert (page.outcome, page.status, page.headers) == (Outcome.NO_CONNECTION, 0, [])


def test_a_refused_type_is_not_downloaded(loop: Loop) -> None:
    server = loop.serve(once(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", Act.HANG))
    refusal = Refusal(Outcome.BAD_TYPE)
    request = Request(Url(server.url(), 5), "127.0.0.1", lambda *_: refusal, 1000, OPTIONS)
    loop.fetcher.start(request, loop.now)
    page = loop.finish()[0]
    assert (page.outcome, page.status, page.body) == (Outcome.BAD_TYPE, 200, b"")


def test_many_at_once(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=300)
    server = loop.serve(once(Until(lambda: len(server.requests) == 300), reply(b"all here")))
    for number in range(300):
        loop.start(server.url(f"/{number}", host=f"h{number}.test"))
    assert (loop.fetcher.free, loop.fetcher.busy) == (0, 300)
    pages = loop.finish(300)
    assert {page.body for page in pages} == {b"all here"}
    assert len({page.url.href for page in pages}) == 300
    assert (loop.fetcher.free, loop.fetcher.busy) == (300, 0)


def test_nothing_is_due_while_nothing_is_in_flight(loop: Loop) -> None:
    loop.fetch(loop.serve(once(reply())).url())
    loop.turn()
    loop.skip(1000)
    loop.turn()
    assert loop.fetcher.deadline is None or loop.fetcher.deadline > loop.now


def test_abort_ends_what_is_in_flight(loop: Loop) -> None:
    server = loop.serve(once(Act.HANG))
    for path in ("/a", "/b"):
        loop.start(server.url(path))
    loop.turn()
    assert loop.fetcher.busy == 2
    loop.fetcher.abort()
    assert loop.fetcher.busy == 0
    assert loop.fetcher.step(loop.now) == []


def test_start_needs_a_free_handle(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=1)
    server = loop.serve(once(Act.HANG))
    loop.start(server.url())
    with pytest.raises(AssertionError):
        loop.start(server.url())


def test_the_pool_can_be_resized(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=2)
    gate: list[bool] = []
    server = loop.serve(once(Until(lambda: bool(gate)), reply(b"x")))
    for _ in range(2):
        loop.start(server.url())
    loop.fetcher.resize(1)
    assert (loop.fetcher.free, loop.fetcher.busy, loop.fetcher.size) == (0, 2, 1)
    gate.append(True)
    loop.finish(2)
    assert (loop.fetcher.free, loop.fetcher.busy) == (1, 0)
    loop.fetcher.resize(5)
    assert loop.fetcher.free == 5
    for _ in range(5):
        loop.start(server.url())
    assert len(loop.finish(5)) == 5


def test_a_page_gets_its_time_and_no_more(loop: Loop) -> None:
    server = loop.serve(once(b"HTTP/1.1 200 OK\r\n\r\nhalf", Act.HANG))
    loop.start(server.url())
    while server.sent == 0:
        loop.turn()
    loop.turn()
    loop.skip(OPTIONS.timeout_page - 2)
    assert loop.turn() == []
    loop.skip(4)
    page = loop.turn()[0]
    assert (page.outcome, page.status, page.body) == (Outcome.TIMEOUT, 200, b"half")
    assert page.truncated == "disconnect"
    assert page.ms >= OPTIONS.timeout_page * 1000


def test_a_transfer_is_not_to_blame_for_a_process_that_stood_still(loop: Loop) -> None:
    """Its time goes on then, and if it fails, it is asked for again and slows nothing down."""
    server = loop.serve(once(b"HTTP/1.1 200 OK\r\n\r\nhalf", Act.HANG))
    loop.start(server.url())
    while server.sent == 0:
        loop.turn()
    loop.skip(3600)
    loop.fetcher.stood_still(3600)
    assert loop.turn() == []
    loop.skip(OPTIONS.timeout_page + 2)
    page = loop.turn()[0]
    assert (page.outcome, page.misread, page.first_byte_ms) == (Outcome.TIMEOUT, True, 0)


def test_a_server_that_takes_connections_only(loop: Loop) -> None:
    server = loop.serve([Act.HANG])
    loop.start(server.url())
    loop.turn()
    loop.skip(OPTIONS.timeout_page + 1)
    page = loop.turn()[0]
    assert (page.outcome, page.status, page.body) == (Outcome.TIMEOUT, 0, b"")


def test_bond_width_holds_bytes_back(make_loop: MakeLoop) -> None:
    loop = make_loop(bond_width=50_000)
    server = loop.serve(once(reply(bytes(4_000_000))))
    loop.start(server.url(), max_size=5_000_000)
    began = loop.now
    pages: list[Page] = []
    while not pages:
        pages = loop.turn(0)
        loop.skip(0.05)
    assert pages[0].outcome is Outcome.SUCCESS
    assert len(pages[0].body) == 4_000_000
    # A second's worth is free, and so is what one turn may receive: more on a busy machine.
    # It outlives timeoutPage, as the delay is our own doing.
    assert loop.now - began >= 72


def test_bond_width_holds_small_pages_back(make_loop: MakeLoop) -> None:
    loop = make_loop(bond_width=10_000)
    server = loop.serve(once(reply(bytes(9_000))))
    began = loop.now
    done = started = 0
    while done < 20:
        while started < 20 and loop.fetcher.free:
            loop.start(server.url(f"/{started}"))
            started += 1
        done += len(loop.turn(0))
        loop.skip(0.02)
    assert loop.now - began >= 12


def test_time_that_a_page_is_held_back_is_not_its_own(make_loop: MakeLoop) -> None:
    """Nor does time count that passed before the page was asked for."""
    loop = make_loop(bond_width=10)
    server = loop.serve(once(reply(bytes(5_000_000))), once(Act.HANG))
    loop.start(server.url(), max_size=5_000_000)
    while "1 held back" not in repr(loop.fetcher):
        loop.turn()
    for _ in range(20):
        loop.skip(100)
        assert loop.turn(0) == []
    loop.fetcher.abort()
    loop.skip(10_000)
    loop.start(server.url("/hangs"))
    loop.turn(0)
    loop.fetcher.limit(0, loop.now)
    while len(server.requests) < 2:
        loop.turn()
    loop.skip(OPTIONS.timeout_page + 2)
    assert [page.outcome for page in loop.turn()] == [Outcome.TIMEOUT]


def test_pages_that_bond_width_holds_back_start_in_their_order(make_loop: MakeLoop) -> None:
    loop = make_loop(bond_width=1000)
    server = loop.serve(once(reply(bytes(1500))))
    loop.fetch(server.url("/first"))
    for path in ("/a", "/b"):
        loop.start(server.url(path))
    assert (loop.fetcher.deadline or 0) - loop.now < 0.9, "the next sweep would be too late"
    loop.skip(1.5)
    loop.turn(0)
    assert "1 held back" in repr(loop.fetcher)
    loop.start(server.url("/c"))
    done = 0
    while done < 3:
        loop.skip(0.2)
        done += len(loop.turn(0))
    paths = [head(request)[0].split()[1] for request in server.requests]
    assert paths == ["/first", "/a", "/b", "/c"]


def test_bytes_from_before_a_bond_width_are_not_charged(make_loop: MakeLoop) -> None:
    loop = make_loop()
    gate: list[bool] = []
    page = reply(bytes(500_010))
    server = loop.serve(once(page[:-10], Until(lambda: bool(gate)), page[-10:]))
    loop.start(server.url())
    while server.sent < len(page) - 10:
        loop.turn(0)
    for _ in range(50):
        loop.turn(0)
    loop.fetcher.limit(100_000, loop.now)
    gate.append(True)
    assert loop.finish()[0].outcome is Outcome.SUCCESS
    loop.start(server.url())
    assert "0 held back" in repr(loop.fetcher)


def test_bond_width_does_not_spin(make_loop: MakeLoop) -> None:
    """While everything is held back, nothing is ready."""
    loop = make_loop(bond_width=10)
    server = loop.serve(once(reply(bytes(5_000_000))))
    loop.start(server.url(), max_size=5_000_000)
    while "1 held back" not in repr(loop.fetcher):
        loop.turn()
    server.close()
    assert loop.poller.wait(0) == 0
    assert (loop.fetcher.deadline or 0) > loop.now + 0.5


def test_a_handle_that_was_held_back_goes_on_with_another_page(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=1, bond_width=10)
    server = loop.serve(once(reply(bytes(3_000_000))))
    loop.start(server.url(), max_size=3_000_000)
    while "1 held back" not in repr(loop.fetcher):
        loop.turn()
    loop.fetcher.abort()
    assert "0 of 1 busy, 0 held back" in repr(loop.fetcher)
    assert loop.turn() == []
    loop.fetcher.limit(0, loop.now)
    assert len(loop.fetch(server.url(), max_size=3_000_000).body) == 3_000_000


def test_bond_width_can_be_changed(make_loop: MakeLoop) -> None:
    loop = make_loop(bond_width=10)
    server = loop.serve(once(reply(bytes(3_000_000))))
    for _ in range(3):
        loop.start(server.url(), max_size=3_000_000)
    while "held back" not in repr(loop.fetcher) or "0 held back" in repr(loop.fetcher):
        loop.turn()
    assert [page for _ in range(20) for page in loop.turn(0)] == []
    loop.fetcher.limit(0, loop.now)
    assert [len(page.body) for page in loop.finish(3)] == [3_000_000] * 3


def test_bond_width_holds_for_a_page_that_began_without_one(make_loop: MakeLoop) -> None:
    loop = make_loop()
    server = loop.serve(once(reply(bytes(30_000_000))))
    loop.start(server.url(), max_size=30_000_000)
    while not server.requests:
        loop.turn()
    loop.fetcher.limit(10, loop.now)
    while "1 held back" not in repr(loop.fetcher):
        assert loop.turn() == []


def test_bond_width_looks_only_at_transfers_that_received_something(make_loop: MakeLoop) -> None:
    """Many transfers wait for their servers; an event of one is no reason to ask them all."""
    looks: list[pycurl.Curl] = []

    class Handle(pycurl.Curl):  # type: ignore[misc]
        def getinfo(self, info: int) -> Any:
            looks.append(self)
            return super().getinfo(info)

    loop = make_loop(Handle, handles=51, bond_width=1_000_000)
    silent = loop.serve(once(Until(lambda: False)))
    for number in range(50):
        loop.start(silent.url(f"/{number}"))
    while len(silent.requests) < 50:
        loop.turn()
    assert looks == []
    server = loop.serve(once(reply(b"page")))
    loop.fetch(server.url())
    assert len(set(looks)) == 1


def test_cookies_are_off(loop: Loop) -> None:
    server = loop.serve(once(reply(b"", "Set-Cookie: a=b")))
    for _ in range(2):
        loop.fetch(server.url())
    assert b"Cookie" not in b"".join(server.requests)


def cookies_sent(loop: Loop, cookie: str, first: str, second: str) -> str | None:
    """The Cookie header for host `second` after host `first` set `cookie`."""
    server = loop.serve(once(reply(b"", f"Set-Cookie: {cookie}")), once(reply()))
    loop.fetch(server.url(host=first))
    loop.fetch(server.url(host=second))
    return head(server.requests[1])[1].get("cookie")


def test_cookies_are_one_jar_for_all_handles(make_loop: MakeLoop) -> None:
    loop = make_loop(use_cookies=True)
    assert cookies_sent(loop, "a=b", "site.test", "site.test") == "a=b"
    server = loop.serve(once(Until(lambda: len(server.requests) == 4), reply()))
    for _ in range(4):
        loop.start(server.url())
    loop.finish(4)
    assert all(head(request)[1]["cookie"] == "a=b" for request in server.requests)


@pytest.mark.parametrize(
    ("cookie", "first", "second", "sent"),
    [
        ("a=b; Domain=shop.co.uk", "www.shop.co.uk", "shop.co.uk", "a=b"),
        ("a=b; Domain=co.uk", "www.shop.co.uk", "other.co.uk", None),
        ("a=b; Domain=CO.uk", "www.shop.CO.uk", "other.co.uk", None),
        ("a=b; Domain=other.test", "site.test", "other.test", None),
        ("a=b", "site.test", "sub.site.test", None),
        ("a=b; Secure", "site.test", "site.test", None),
        ("a=" + "b" * 100_000, "site.test", "site.test", None),
    ],
)
def test_the_hosts_that_a_cookie_goes_to(
    make_loop: MakeLoop, cookie: str, first: str, second: str, sent: str | None
) -> None:
    assert cookies_sent(make_loop(use_cookies=True), cookie, first, second) == sent


def cookies_sent_with_each(loop: Loop, *given: str) -> list[int]:
    """Number of cookies in each request, if each reply sets the next of `given`."""
    server = loop.serve(*(once(reply(b"", f"Set-Cookie: {cookie}")) for cookie in given))
    for _ in given:
        loop.fetch(server.url())
    return [head(request)[1].get("cookie", "").count("=") for request in server.requests]


@pytest.mark.parametrize("names", [12, 5])
def test_a_jar_that_is_full_is_emptied_each_time(make_loop: MakeLoop, names: int) -> None:
    """Also of the names that it had before it was emptied."""
    loop = make_loop(use_cookies=True, most_cookies=1000)
    # A cookie counts for some 250 bytes.
    sent = cookies_sent_with_each(loop, *(f"n{n % names}=v" for n in range(12)))
    assert sent == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


def test_cookies_that_are_replaced_or_not_taken_do_not_fill_the_jar(make_loop: MakeLoop) -> None:
    loop = make_loop(use_cookies=True, most_cookies=1000)
    given = ["a=1", *(f"b={n}" for n in range(8)), "c=" + "v" * 6000, "d=1"]
    assert cookies_sent_with_each(loop, *given) == [0, 1] + [2] * 9


def test_a_jar_that_is_emptied_keeps_the_cookies_of_its_file(
    make_loop: MakeLoop, tmp_path: Path
) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("site.test\tFALSE\t/\tFALSE\t0\tgiven\t1\n")
    loop = make_loop(use_cookies=True, most_cookies=1000, cookie_file=str(file))
    sent = cookies_sent_with_each(loop, *(f"n{n}=v" for n in range(7)))
    assert sent == [1, 2, 3, 4, 5, 1, 2]


def test_cookies_of_one_name_count_for_each_host(make_loop: MakeLoop) -> None:
    loop = make_loop(use_cookies=True, most_cookies=1000)
    server = loop.serve(once(reply(b"", "Set-Cookie: a=b")))
    for number in (*range(6), 0, 5):
        loop.fetch(server.url(host=f"h{number}.test"))
    sent = [head(request)[1].get("cookie") for request in server.requests]
    assert sent == [None] * 7 + ["a=b"]


def bad_replies() -> list[ParameterSet]:
    try:
        path = suite("nutch-bad-replies") / "cases.json"
    except pytest.skip.Exception:
        return [pytest.param(None, id="suite missing")]
    return [pytest.param(case, id=case["name"]) for case in json.loads(path.read_text())["cases"]]


@pytest.mark.parametrize("case", bad_replies())
def test_bad_replies_of_real_servers(loop: Loop, case: dict[str, Any]) -> None:
    folder = suite("nutch-bad-replies")
    raw = (folder / case["raw"]).read_bytes()
    server = loop.serve(once(raw))
    url = canonical(f"http://site.test:{server.port}{case['path']}")
    page = loop.fetch(url, max_size=65536)
    if case["name"] == "content-length-not-a-number":
        assert (page.outcome, page.status) == (Outcome.EARLY_STOP, 200)
        page = loop.fetch(url, max_size=65536)  # as after any early stop
        assert page.body == b"This is a text."
    check_reply(page, case["expect"], raw, server.requests[0])


SIZED = b"Content-Length: 2\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200\r\n" + SIZED + b"ok",
        b"HTTP/1.0 200 OK\r\n\r\nok",
        "HTTP/1.1 200 Sch\xf6n\r\nX-A: \xe9\r\n".encode() + SIZED + b"ok",
        b"HTTP/1.1 200 OK\nX-A: lines that end so\nContent-Length: 2\n\nok",
        b"HTTP/1.1 200 OK\r\nX-A : blank before the colon\r\n" + SIZED + b"ok",
        b"HTTP/1.1 200 OK\r\nX-A: two\r\n lines\r\n" + SIZED + b"ok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + SIZED + b"ok",
        b"HTTP/1.1 200 OK\r\n" + SIZED + b"ok and more",
        b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"2;x=y\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + SIZED + b"ok",
    ],
)
def test_odd_replies_that_are_pages(loop: Loop, raw: bytes) -> None:
    page = loop.fetch(loop.serve(once(raw)).url())
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"ok")
    assert not page.truncated


@pytest.mark.parametrize(
    ("raw", "status", "body", "detail"),
    [
        (b"", 0, b"", "Empty reply"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", 200, b"", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", 200, b"ok", "7 bytes missing"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", 200, b"", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + SIZED + b"ok!", 200, b"", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"9\r\nok", 200, b"ok", "closed"),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"2\r\nok\r\n", 200, b"ok", "closed"),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"zz\r\nok\r\n0\r\n\r\n", 200, b"", "hex"),
        (b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\n" + SIZED + b"ok", 200, b"", "NUL"),
    ],
)
def test_replies_that_are_cut_or_broken_are_no_pages(
    loop: Loop, raw: bytes, status: int, body: bytes, detail: str
) -> None:
    page = loop.fetch(loop.serve(once(raw)).url())
    assert (page.outcome, page.status, page.body) == (Outcome.EARLY_STOP, status, body)
    assert detail in page.detail


def check_reply(page: Page, expect: dict[str, Any], raw: bytes, request: bytes) -> None:
    if expect.get("error"):
        assert (page.outcome, page.status, page.body) == (Outcome.TOO_BIG, 0, b"")
        return
    assert page.status == expect["status"]
    if "truncated" not in expect:
        assert page.outcome is (Outcome.SUCCESS if page.status == 200 else Outcome.ERR_30X)
    if "request_target" in expect:
        assert head(request)[0] == f"GET {expect['request_target']} HTTP/1.1"
    if "location" in expect:
        assert page.header("location") == expect["location"]
    if "set_cookie_contains" in expect:
        assert expect["set_cookie_contains"] in (page.header("set-cookie") or "")
    if "body" in expect:
        assert page.body == (raw if expect["body"] == "same" else expect["body"].encode())
    if "body_len" in expect or "body_len_limit" in expect:
        assert len(page.body) == expect.get("body_len", expect.get("body_len_limit"))
    if expect.get("truncated") is True:
        assert (page.outcome, page.truncated) == (Outcome.EARLY_STOP, "disconnect")
    elif "truncated" in expect:
        assert page.truncated == expect["truncated"]
        assert page.outcome is (Outcome.TOO_BIG if page.truncated else Outcome.SUCCESS)


@pytest.mark.parametrize(
    "coding", ["gzip", "deflate", "br", "junk", "zstd", ", ".join(["gzip"] * 12)]
)
def test_a_wrong_coding_is_ignored_the_second_time(loop: Loop, coding: str) -> None:
    server = loop.serve(once(reply(b"plain text, no coding", f"Content-Encoding: {coding}")))
    assert loop.fetch(server.url()).outcome is Outcome.EARLY_STOP
    page = loop.fetch(server.url())
    assert (page.outcome, page.body) == (Outcome.SUCCESS, b"plain text, no coding")
    assert head(server.requests[1])[1]["accept-encoding"] == "identity"
    loop.fetch(server.url("/other"))
    assert head(server.requests[2])[1]["accept-encoding"] == "deflate, gzip, br"
    loop.fetch(server.url())
    assert head(server.requests[3])[1]["accept-encoding"] == "deflate, gzip, br"


PACKED = gzip.compress(b"text " * 100, mtime=0)


@pytest.mark.parametrize(
    ("coding", "body", "size"),
    [
        ("gzip", PACKED + PACKED, 1000),
        ("gzip", PACKED + bytes(512), 500),
        ("gzip", PACKED + b"\n", 500),
        ("deflate", zlib.compress(b"text " * 100) + b"\n", 500),
        ("gzip, gzip", PACKED, 500),
        ("gzip", PACKED[:-8] + b"checksum", 500),
        ("deflate", PACKED, 500),
        ("zstd", zstandard.compress(b"text " * 100), 500),
    ],
)
def test_what_libcurl_does_not_unpack_is_a_page_the_second_time(
    loop: Loop, coding: str, body: bytes, size: int
) -> None:
    server = loop.serve(once(reply(body, f"Content-Encoding: {coding}")))
    first = loop.fetch(server.url())
    assert (first.outcome, first.misread, first.detail != "") == (Outcome.EARLY_STOP, True, True)
    page = loop.fetch(server.url())
    assert (page.outcome, page.body, page.misread) == (
        Outcome.SUCCESS,
        b"text " * (size // 5),
        False,
    )
    assert head(server.requests[1])[1]["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("path", "type_", "coding", "is_file"),
    [
        ("/a.tar.gz", "application/x-gzip", "x-gzip", True),
        ("/download?id=3", "application/gzip", "gzip", True),
        ("/a.tgz?x", "application/octet-stream", "gzip", True),
        ("/a.tar.gz", "application/x-tar", "gzip", True),
        ("/a", "application/x-tar", "gzip", False),
        ("/a.svgz", "image/svg+xml", "gzip", False),
        ("/sitemap.xml.gz", "text/xml", "gzip", False),
    ],
)
def test_a_gzip_file_is_kept_as_one(
    loop: Loop, path: str, type_: str, coding: str, is_file: bool
) -> None:
    """As browsers save it: its coding is what the file is."""
    headers = (f"Content-Type: {type_}", f"Content-Encoding: {coding}")
    server = loop.serve(once(reply(PACKED, *headers)))
    page = loop.fetch(server.url(path))
    if is_file:
        assert (page.outcome, page.misread) == (Outcome.EARLY_STOP, True)
        page = loop.fetch(server.url(path))
    assert page.outcome is Outcome.SUCCESS
    assert page.body == (PACKED if is_file else b"text " * 100)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", PACKED[:10] + b"\xff" * 20),
        ("compress", b"\x1f\x9d\x90abc"),
        ("lzma", b"\x5d\0\0\x80\0"),
    ],
)
def test_what_nobody_can_unpack_is_no_page(loop: Loop, coding: str, body: bytes) -> None:
    server = loop.serve(once(reply(body, f"Content-Encoding: {coding}")))
    for _ in range(2):
        page = loop.fetch(server.url())
        assert (page.outcome, page.misread) == (Outcome.EARLY_STOP, True)
    assert (page.body, page.truncated) == (b"", None)
    assert page.detail.startswith(("it is packed as", "its packed content is damaged"))


def test_what_we_unpack_is_cut_at_the_limit(loop: Loop) -> None:
    body = zstandard.compress(bytes(1_000_000))
    server = loop.serve(once(reply(body, "Content-Encoding: zstd")))
    loop.fetch(server.url(), max_size=1000)
    page = loop.fetch(server.url(), max_size=1000)
    assert (page.outcome, page.truncated, len(page.body)) == (Outcome.TOO_BIG, "length", 1000)
    assert page.detail == "cut at 1000 bytes"


def test_a_connection_that_breaks_within_a_coded_body_is_no_wrong_coding(loop: Loop) -> None:
    whole = reply(PACKED + PACKED, "Content-Encoding: gzip")
    server = loop.serve(once(whole), once(whole[:-5]))
    loop.fetch(server.url())
    page = loop.fetch(server.url())
    assert (page.outcome, page.misread, page.truncated) == (
        Outcome.EARLY_STOP,
        False,
        "disconnect",
    )


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR...\0\0\0\0IEND\xaeB`\x82"


def cut(body: bytes, *headers: str) -> bytes:
    """A reply whose body ends before its declared end."""
    return reply(body, *headers).replace(b"Content-Length: ", b"Content-Length: 9", 1)


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (cut(b"<p>all of it"), b"<p>all of it"),
        (cut(PACKED, "Content-Encoding: gzip"), b"text " * 100),
        (cut(PACKED + b"\n", "Content-Encoding: gzip"), b"text " * 100),
        (cut(PACKED[:-9], "Content-Encoding: gzip"), b"text " * 100),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"9\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"2\r\nok\r\n", b"ok"),
        (b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"2\r\nok\r\nzz\r\n", b"ok"),
        (cut(PNG), PNG),
        (cut("\ufeffnot in ASCII".encode("utf-16-le")), "\ufeffnot in ASCII".encode("utf-16-le")),
    ],
)
def test_what_ends_at_the_same_byte_twice_is_the_page(loop: Loop, raw: bytes, body: bytes) -> None:
    server = loop.serve(once(raw))
    first, page = (loop.fetch(server.url()) for _ in range(2))
    assert (first.outcome, first.truncated, first.misread) == (
        Outcome.EARLY_STOP,
        "disconnect",
        True,
    )
    assert (page.outcome, page.body, page.truncated, page.misread) == (
        Outcome.SUCCESS,
        body,
        "disconnect",
        False,
    )
    assert page.detail.startswith("the server ends it early, twice at the same byte: ")
    assert len(server.requests) == 2


def test_a_body_that_ends_elsewhere_each_time_is_no_page(loop: Loop) -> None:
    server = loop.serve(*(once(cut(b"<p>all of it"[:-number])) for number in (1, 2, 3, 1, 1)))
    pages = [loop.fetch(server.url()) for _ in range(5)]
    assert [page.outcome for page in pages] == [Outcome.EARLY_STOP] * 4 + [Outcome.SUCCESS]
    # Only the first says nothing of how the server is.
    assert [page.misread for page in pages] == [True] + [False] * 4


@pytest.mark.parametrize("body", [PNG[:-9], b"%PDF-1.7\n...", PACKED[:-3], b"PK\3\4\0", b""])
def test_half_of_a_file_is_no_page(loop: Loop, body: bytes) -> None:
    server = loop.serve(once(cut(body)))
    for _ in range(3):
        assert loop.fetch(server.url()).outcome is Outcome.EARLY_STOP


@pytest.mark.parametrize(
    ("body", "outcome"), [(b"<p>all of it</html>\n", Outcome.SUCCESS), (b"<p>al", Outcome.TIMEOUT)]
)
def test_a_page_that_stalls_at_its_end_is_whole(loop: Loop, body: bytes, outcome: Outcome) -> None:
    server = loop.serve(once(cut(body), Act.HANG))
    for expected in (Outcome.TIMEOUT, outcome):
        loop.start(server.url())
        while server.sent == 0 or loop.turn(0):
            loop.turn()
        loop.turn()
        loop.skip(40)
        [page] = loop.finish()
        assert (page.outcome, page.body, page.misread) == (expected, body, False)
        server.sent = 0


FINE = b"HTTP/1.1 200 OK\r\nServer: x\r\n"
JUNK = FINE + b"use strict\r\n"
LENGTH = b"Content-Length: 4\r\n\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        JUNK + LENGTH + b"page and more",
        JUNK + b"\r\npage",
        JUNK + CHUNKED + b"2\r\npa\r\n2;x\r\nge\r\n0\r\n\r\n",
        FINE + b"HTTP/1.1 200 OK\r\n" + LENGTH + b"page",
        FINE + b"X: a\0b\r\n" + LENGTH + b"page",
        FINE + b"Content-Length: four\r\n\r\npage",
        FINE + b"Content-Length: 2\r\n" + LENGTH + b"page",
        b"HTTP/1.1 100 Continue\r\n\r\n" + JUNK + LENGTH + b"page",
        JUNK.replace(b"\r\n", b"\n") + LENGTH.replace(b"\r\n", b"\n") + b"page",
        JUNK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"page", mtime=0),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_head_that_libcurl_refuses_is_read_the_second_time(
    make_loop: MakeLoop, raw: bytes, size: int
) -> None:
    """By one handle, which libcurl uses again afterwards."""
    loop = make_loop(handles=1, keep_requests=True)
    # It stays open if the reply says where it ends.
    ends = b"\r\n\r\npage" not in raw.replace(LENGTH, b"") and b"gzip" not in raw
    rest = [Act.HANG] if ends and b"Length: 2" not in raw and b"\r" in raw else []
    odd = once(Drip(raw, size), *rest)
    server = loop.serve(odd, odd, once(reply(b"usual")))
    first = loop.fetch(server.url("/a?b"))
    assert (first.outcome, first.misread) == (Outcome.EARLY_STOP, True)
    page = loop.fetch(server.url("/a?b"))
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"page")
    assert (page.header("server"), page.truncated, page.ip) == ("x", None, "127.0.0.1")
    assert not {"use strict", "http/1.1 200 ok"} & dict(page.headers).keys()
    assert page.received == len(raw) or rest
    sent = head(server.requests[1])
    usual = head(server.requests[0])[1] | {"accept-encoding": "identity", "connection": "close"}
    assert sent == ("GET /a?b HTTP/1.1", usual)
    assert page.request == server.requests[1]
    assert loop.fetch(server.url()).body == b"usual"


@pytest.mark.parametrize(
    ("raw", "body", "detail"),
    [
        (JUNK + b"A: b\r\n", b"", "closed within the headers"),
        (JUNK + LENGTH + b"pa", b"pa", "end of response with 2 bytes missing"),
        (JUNK + CHUNKED + b"9\r\npa", b"pa", "end of response with 7 bytes missing"),
        (JUNK + CHUNKED + b"2\r\npa\r\nno size\r\n", b"pa", "no size of a chunk"),
        (b"", b"", "closed within the headers"),
    ],
)
def test_a_head_that_libcurl_refuses_may_have_half_a_body(
    loop: Loop, raw: bytes, body: bytes, detail: str
) -> None:
    server = loop.serve(once(JUNK + b"A: b\r\n"), once(raw))
    loop.fetch(server.url())
    page = loop.fetch(server.url())
    assert (page.outcome, page.body, page.detail) == (Outcome.EARLY_STOP, body, detail)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1 200 OK\r\n\r\npage",
        b"HTTP/1.2 200 OK\r\n\r\npage",
        b"HTTP/2 200 OK\r\n\r\npage",
        b"HTTP/1.1  200 OK\r\n\r\npage",
        b"HTTP 200 OK\r\n\r\npage",
        b"\r\nHTTP/1.1 200 OK\r\n\r\npage",
        b"x\r\nhttp/1.1 200 OK\r\n\r\npage",
        FINE + b"Transfer-Encoding: utf-8\r\n" + LENGTH + b"page",
        FINE + b"Transfer-Encoding: chunked, identity\r\n\r\n4\r\npage\r\n0\r\n\r\n",
        FINE + CHUNKED + b"page",
    ],
)
def test_a_framing_that_libcurl_refuses_is_read_the_second_time(loop: Loop, raw: bytes) -> None:
    server = loop.serve(once(raw))
    first, page = (loop.fetch(server.url()) for _ in range(2))
    assert (first.outcome, first.misread) == (Outcome.EARLY_STOP, True)
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"page")


def test_a_status_line_may_be_in_lower_case(loop: Loop) -> None:
    page = loop.fetch(loop.serve(once(b"http/1.1 200 ok\r\n" + LENGTH + b"page")).url())
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"page")


def test_a_connection_that_was_used_may_answer_without_headers(make_loop: MakeLoop) -> None:
    """libcurl refuses that, as the server knew HTTP/1.1 before."""
    loop = make_loop(handles=1)
    for odd, outcome in ((b"SSH-2.0-x\r\n", Outcome.NO_CONNECTION), (b"<p>", Outcome.SUCCESS)):
        server = loop.serve([*once(reply(b"usual")), *once(odd)], once(odd))
        assert loop.fetch(server.url("/1")).body == b"usual"
        pages = [loop.fetch(server.url("/2")) for _ in range(2)]
        assert [page.outcome for page in pages] == [Outcome.EARLY_STOP, outcome]
        assert pages[1].body == (b"" if outcome is Outcome.NO_CONNECTION else odd)


def test_a_connection_may_break_before_anything_is_sent(loop: Loop) -> None:
    server = loop.serve(once(JUNK + b"A: b\r\n"), [Act.RESET])
    loop.fetch(server.url())
    page = loop.fetch(server.url())
    assert page.outcome in (Outcome.EARLY_STOP, Outcome.NO_CONNECTION)


def test_what_libcurl_does_not_read_has_the_same_bounds(loop: Loop) -> None:
    server = loop.serve(once(JUNK + b"\r\n", Endless(b"x" * 50_000)))
    loop.fetch(server.url(), max_size=1000)
    page = loop.fetch(server.url(), max_size=1000)
    assert (page.outcome, len(page.body), page.truncated) == (Outcome.TOO_BIG, 1000, "length")
    for flood in (b"A: b\r\n", b"x" * 50_000):
        server = loop.serve(once(JUNK + b"A: b\r\n"), once(JUNK, Endless(flood)))
        loop.fetch(server.url())
        assert loop.fetch(server.url()).detail.startswith("its headers have more than 300 lines")
    server = loop.serve(once(JUNK + b"A: b\r\n"), once(JUNK, Act.HANG))
    loop.fetch(server.url())
    loop.start(server.url())
    for _ in range(50):
        assert loop.turn(0) == []
    loop.skip(40)
    assert loop.finish()[0].outcome is Outcome.TIMEOUT


def test_what_libcurl_does_not_read_can_be_aborted(loop: Loop) -> None:
    server = loop.serve(once(JUNK + b"A: b\r\n"), once(JUNK, Act.HANG))
    loop.fetch(server.url())
    loop.start(server.url())
    for _ in range(50):
        loop.turn(0)
    loop.fetcher.abort()
    assert (loop.fetcher.busy, loop.turn(0)) == (0, [])


def test_a_proxy_gets_the_whole_url_of_what_libcurl_does_not_read(make_loop: MakeLoop) -> None:
    loop = make_loop()
    proxy = loop.serve(once(JUNK + LENGTH + b"page"))
    loop.options = replace(
        OPTIONS,
        proxy_url=f"http://127.0.0.1:{proxy.port}",
        proxy_address="127.0.0.1",
        proxy_login="me:secret",
    )
    pages = [loop.fetch("http://a.test/x", address="192.0.2.7") for _ in range(2)]
    assert pages[1].body == b"page"
    assert head(proxy.requests[1])[0] == "GET http://a.test/x HTTP/1.1"
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.requests[1]


def test_a_login_goes_by_libcurl_alone(make_loop: MakeLoop) -> None:
    loop = make_loop(options=replace(OPTIONS, login="me:secret", auth="basic"))
    server = loop.serve(once(JUNK + LENGTH + b"page"))
    pages = [loop.fetch(server.url()) for _ in range(2)]
    assert [page.outcome for page in pages] == [Outcome.EARLY_STOP] * 2
    assert all(b"Authorization: Basic" in request for request in server.requests)


def test_a_reply_without_headers(loop: Loop) -> None:
    server = loop.serve(once(b"plain text"))
    page = loop.fetch(server.url())
    assert (page.outcome, page.status, page.body) == (Outcome.SUCCESS, 200, b"plain text")


def test_a_detail_is_one_short_printable_line() -> None:
    assert printable_detail("\x1b[31m one\ntwo") == "?[31m one?two"
    assert printable_detail("caf\xe9 " * 100) == ("caf\xe9 " * 100)[:200]


def test_only_so_many_urls_are_remembered_for_a_lenient_request(make_loop: MakeLoop) -> None:
    """The one that failed first is forgotten, and merely fails once more."""
    loop = make_loop(most_broken=2)
    server = loop.serve(once(reply(b"plain text", "Content-Encoding: gzip")))
    urls = [server.url(f"/{number}") for number in range(3)]
    assert {loop.fetch(url).outcome for url in urls} == {Outcome.EARLY_STOP}
    outcomes = [loop.fetch(url).outcome for url in (urls[1], urls[2], urls[0])]
    assert outcomes == [Outcome.SUCCESS, Outcome.SUCCESS, Outcome.EARLY_STOP]


def test_the_pool_has_no_more_handles_than_it_may(make_loop: MakeLoop) -> None:
    loop = make_loop(handles=2, most_handles=3)
    loop.fetcher.resize(5)
    assert (loop.fetcher.size, loop.fetcher.free, loop.fetcher.most) == (3, 3, 3)


def test_gzip(loop: Loop) -> None:
    coded = gzip.compress(b"text " * 1000)
    server = loop.serve(once(Drip(reply(coded, "Content-Encoding: gzip"), 7)))
    page = loop.fetch(server.url())
    assert page.body == b"text " * 1000
    assert page.received < 500


@pytest.mark.parametrize("bad", [{"login": "a\0:b"}, {"proxy_login": "a:\ud800"}])
def test_a_request_that_cannot_be_made_is_a_failed_page(
    make_loop: MakeLoop, bad: dict[str, str]
) -> None:
    loop = make_loop(handles=1)
    server = loop.serve(once(reply(b"x")))
    loop.options = replace(OPTIONS, **bad)  # type: ignore[arg-type]
    loop.start(server.url())
    assert (loop.fetcher.free, loop.fetcher.busy) == (1, 1)
    assert loop.fetcher.deadline is not None
    [page] = loop.finish()
    assert page.outcome is Outcome.NO_CONNECTION
    assert page.detail.startswith("the request cannot be made: ")
    assert loop.fetcher.busy == 0
    loop.options = OPTIONS
    assert loop.fetch(server.url()).body == b"x"


@pytest.mark.parametrize(
    ("cookie", "sent"),
    [
        ("a=b; Max-Age=session", "a=b"),
        ("a=b; Path=/x; Max-Age=abc; Secure=", None),
        ("a=b; Max-Age=NaN; Expires=Thu, 01 Jan 2037 00:00:00 GMT; Domain=site.test", "a=b"),
        ("a=b; Max-Age=+60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("a=b; Max-Age=1h; HttpOnly", "a=b"),
        ("a=b; Max-Age=0", None),
        ("a=b; Max-Age=-1", None),
        ('a=b; Max-Age="60"', "a=b"),
        ("a=b; Max-Age=60; Max-Age=x", "a=b"),
        ("a=b; max-age", "a=b"),
    ],
)
def test_a_max_age_that_is_no_number_is_ignored(
    make_loop: MakeLoop, cookie: str, sent: str | None
) -> None:
    assert cookies_sent(make_loop(use_cookies=True), cookie, "site.test", "site.test") == sent


def test_a_cookie_with_a_bad_max_age_stays_with_its_host_and_folder(make_loop: MakeLoop) -> None:
    loop = make_loop(use_cookies=True)
    given = "Set-Cookie: a=b; Max-Age=x; Domain=test"
    server = loop.serve(once(reply(b"", given)), once(reply()))
    loop.fetch(server.url(host="site.test", path="/folder/page"))
    for host, path in (
        ("other.test", "/folder/x"),
        ("site.test", "/x"),
        ("site.test", "/folder/x"),
    ):
        loop.fetch(server.url(host=host, path=path))
    sent = [head(request)[1].get("cookie") for request in server.requests[1:]]
    assert sent == [None, None, "a=b"]


def test_a_reply_says_whether_it_changed_cookies(make_loop: MakeLoop) -> None:
    given = ("a=1", "a=1; Path=/", "a=2", "b=1", "")
    for use_cookies, changed in ((True, [True, False, True, True, False]), (False, [False] * 5)):
        loop = make_loop(use_cookies=use_cookies)
        replies = [reply(b"", *([f"Set-Cookie: {each}"] if each else [])) for each in given]
        server = loop.serve(*map(once, replies))
        assert [loop.fetch(server.url()).new_cookies for _ in given] == changed


def test_a_cookie_is_new_where_its_path_is(make_loop: MakeLoop) -> None:
    """Walls set the same cookie for each folder."""
    loop = make_loop(use_cookies=True)
    server = loop.serve(once(reply(b"", "Set-Cookie: a=1")))
    paths = ("/x/1", "/x/2", "/y/1", "/x/1")
    assert [loop.fetch(server.url(path)).new_cookies for path in paths] == [
        True,
        False,
        True,
        False,
    ]


def test_a_reply_that_libcurl_refuses_is_asked_for_with_cookies_and_sets_some(
    make_loop: MakeLoop,
) -> None:
    loop = make_loop(use_cookies=True)
    given = "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Path=/x/", "Set-Cookie: c=3; Path=/y"
    junk = b"HTTP/1.1 200 OK\r\njunk\r\nSet-Cookie: d=4; Domain=test\r\n\r\npage"
    server = loop.serve(once(reply(b"", *given)), once(junk), once(junk), once(reply()))
    pages = [loop.fetch(server.url(path="/x/y")) for _ in range(3)]
    assert [page.body for page in pages] == [b"", b"", b"page"]
    assert [page.new_cookies for page in pages] == [True, False, True]
    loop.fetch(server.url(path="/x/z"))
    sent = [head(request)[1].get("cookie") for request in server.requests]
    assert sent == [None, "b=2; a=1", "b=2; a=1", "d=4; b=2; a=1"]


def test_a_header_line_may_be_longer_than_libcurl_takes(loop: Loop) -> None:
    long = reply(b"page", "Content-Security-Policy: " + "a" * 120_000)
    server = loop.serve(once(long))
    assert [loop.fetch(server.url()).misread for _ in range(2)] == [True, False]
    assert loop.fetch(server.url()).misread
