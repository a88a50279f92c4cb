import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from http import HTTPStatus
from typing import Any

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.console.ports.http import HttpSession, Served, Site, StatusServer
from larbinpy.console.ports.reply import HttpReply
from larbinpy.console.status.markup import FEED, FEED_TYPE, SCRIPT_HASH, STYLE_HASH
from larbinpy.console.text import json_line
from tests.support.console_loop import Loop
from tests.support.snapshots import snapshot

#: Status, headers and body of a reply.
Reply = tuple[int, dict[bytes, bytes], bytes]


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def finder(loop: Loop) -> FinderProcess:
    return FinderProcess(loop.poller, ("false",))


@pytest.fixture
def server(loop: Loop) -> StatusServer:
    return loop.add(StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True))


def exchange(
    raw: bytes, host: str = "127.0.0.1", local: str = "127.0.0.1", served: Served | None = None
) -> Reply:
    """Status, headers and body of the reply to the bytes `raw`."""
    session = HttpSession(Site(snapshot, host, True, served=served), local)
    session.receive(raw)
    assert session.busy
    said = session.work()
    assert session.closing and not session.busy
    client = h11.Connection(h11.CLIENT)
    method = "HEAD" if raw.startswith(b"HEAD") else "GET"
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(said)
    client.receive_data(b"")
    response, body = client.next_event(), b""
    while isinstance(event := client.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage) and isinstance(response, h11.Response)
    return response.status_code, dict(response.headers), body


def get(
    path: str = "/", host: str = "localhost:8081", method: str = "GET", headers: str = ""
) -> Reply:
    return exchange(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode())


@pytest.mark.parametrize(
    ("path", "kind", "part"),
    [
        ("/", b"text/html; charset=utf-8", b"The crawl"),
        ("/stats.html", b"text/html; charset=utf-8", b"Last failures"),
        ("/histograms.html", b"text/html; charset=utf-8", b"<svg"),
        ("/urls.html?x=<b>", b"text/html; charset=utf-8", b"Last URLs"),
        ("/dns.html", b"text/html; charset=utf-8", b"Servers"),
        ("/system.html", b"text/html; charset=utf-8", b"Queues"),
        ("/output.html", b"text/html; charset=utf-8", b"mirror"),
        ("/all.html", b"text/html; charset=utf-8", b"Configuration"),
        ("/?span=hour", b"text/html; charset=utf-8", b'aria-current="true">hour</a>'),
        ("/icon.svg", b"image/svg+xml", b"<svg"),
        ("/status.json", b"application/json", b'"totals":'),
        ("/metrics", b"text/plain; version=0.0.4; charset=utf-8", b"larbinpy_pages_total 44907"),
    ],
)
def test_addresses(path: str, kind: bytes, part: bytes) -> None:
    status, headers, body = get(path)
    assert status == 200
    assert headers[b"content-type"] == kind
    assert headers[b"content-length"] == str(len(body)).encode()
    assert part in body
    assert b"x=<b>" not in body


def test_status_json_is_the_snapshot() -> None:
    assert json.loads(get("/status.json")[2]) == snapshot()


def test_security_headers() -> None:
    for path in ("/", "/metrics", "/status.json", "/nowhere"):
        _, headers, _ = get(path)
        policy = headers[b"content-security-policy"].decode()
        assert policy.startswith(f"default-src 'none'; style-src {STYLE_HASH};")
        assert f"script-src {SCRIPT_HASH};" in policy
        assert "unsafe" not in policy and "*" not in policy
        for directive in ("base-uri", "form-action", "frame-ancestors"):
            assert f"{directive} 'none'" in policy
        # For browsers that know no frame-ancestors.
        assert headers[b"x-frame-options"] == b"DENY"
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"referrer-policy"] == b"no-referrer"
        assert headers[b"cache-control"] == b"no-store"
        assert headers[b"connection"] == b"close"
        assert b"access-control-allow-origin" not in headers


@pytest.mark.parametrize(("tag", "known"), [("style", STYLE_HASH), ("script", SCRIPT_HASH)])
def test_the_policy_names_the_style_and_the_script_of_the_page(tag: str, known: str) -> None:
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", get("/")[2].decode(), re.DOTALL)
    assert f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" == known


def test_head_has_no_body() -> None:
    status, headers, body = get("/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers[b"content-length"]) > 1000


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"]
)
def test_other_methods(method: str) -> None:
    status, headers, _ = get("/", method=method, headers="Content-Length: 7\r\n")
    assert status == 405
    assert headers[b"allow"] == b"GET, HEAD"


@pytest.mark.parametrize(
    "path", ["/nowhere<script>", "/..%2f", "//", "/status.json/", "*", "/INDEX"]
)
def test_an_unknown_path_is_not_reflected(path: str) -> None:
    status, headers, body = get(path)
    assert status == 404
    assert headers[b"content-type"].startswith(b"text/plain")
    assert body == b"404 Not Found: no such page\n"


#: A browser that was led here by the name of another site sends no more.
BROWSER = "User-Agent: Mozilla/5.0\r\n"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8081", "127.0.0.1", "127.0.0.1:8081", "[::1]:8081", "[::1]"]
)
def test_names_of_this_machine(host: str) -> None:
    assert get("/", host, headers=BROWSER)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["10.1.2.3", "10.1.2.3:8081", "[fd00::2]:8081", "larbinpy:8081", "crawler", "localhost.:8081",
     "host.docker.internal:8081", "larbinpy.crawls.svc.cluster.local:8081", "nas.local"],
)  # fmt: skip
def test_addresses_and_names_that_nobody_can_register(host: str) -> None:
    """By them a port that is published, a probe or a scraper of the same network comes."""
    assert get("/metrics", host, headers=BROWSER)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example", "",
     "localhost:x", "localhost:", "user@localhost.example", "localhost:80:80", "evil.example."],
)  # fmt: skip
def test_other_names_are_refused(host: str) -> None:
    status, _, body = get("/", host, headers=BROWSER)
    assert status in (400, 403)
    assert b"--host-name" not in body, "that is of another command"


def test_what_no_page_can_send_needs_no_name() -> None:
    """A browser tells a proxy with https where a request is from; a probe has no User-Agent."""
    assert get("/", "crawl.example", headers=f"{BROWSER}Sec-Fetch-Site: none\r\n")[0] == 200
    assert get("/", "crawl.example", headers=f"{BROWSER}Sec-Fetch-Site: cross-site\r\n")[0] == 403
    assert get("/metrics", "crawl.example")[0] == 200
    assert exchange(b"HEAD / HTTP/1.0\r\n\r\n")[0] == 200


def test_the_bound_name_and_the_address_reached_are_names_too() -> None:
    request = b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n"
    assert exchange(request % b"crawler.lan:8081", host="crawler.lan")[0] == 200
    assert exchange(request % b"192.0.2.9:8081", host="0.0.0.0", local="192.0.2.9")[0] == 200
    assert exchange(request % b"[2001:db8::9]", host="::", local="2001:db8::9")[0] == 200
    request = b"GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: x\r\n\r\n"
    assert exchange(request % b"evil.example", host="0.0.0.0", local="192.0.2.9")[0] == 403


@pytest.mark.parametrize(
    ("host", "headers", "status"),
    [
        ("search.test", "User-Agent: Mozilla/5.0\r\n", 200),
        ("search.test:8443", "User-Agent: curl/8\r\n", 200),
        ("evil.test", "User-Agent: Mozilla/5.0\r\n", 403),
        ("evil.test", "User-Agent: \r\n", 403),
        ("public.test", "", 200),
        ("public.test", "User-Agent: Mozilla/5.0\r\nSec-Fetch-Site: none\r\n", 200),
        ("public.test", "User-Agent: Mozilla/5.0\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ],
)
def test_a_served_database_has_the_names_of_a_proxy(host: str, headers: str, status: int) -> None:
    """A browser that was led here by another site's name says nothing of where it is from."""
    served = Served(("search.test",))
    request = f"GET /icon.svg HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()
    assert exchange(request, served=served)[0] == status


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/x/", 302, b"search.html"),
        ("/x", 302, b"/x/"),
        ("/x/icon.svg", 200, None),
        ("/icon.svg", 200, None),
        ("/xicon.svg", 404, None),
        ("/?q=a+b", 302, b"search.html?q=a+b"),
        ("http://localhost/x/?q=%C3%A9", 302, b"search.html?q=%C3%A9"),
        ("HTTP://localhost:8081/x/icon.svg", 200, None),
        ("http://localhost", 404, None),
    ],
)
def test_a_proxy_may_leave_its_path_in_the_requests(
    finder: FinderProcess, path: str, status: int, location: bytes | None
) -> None:
    site = Site(snapshot, "127.0.0.1", True, finder=finder, served=Served(base="/x/"))
    request = h11.Request(method="GET", target=path, headers=[("Host", "localhost")])
    reply = site.reply(request, "127.0.0.1")
    assert isinstance(reply, HttpReply)
    where = dict(reply.headers).get("Location")
    assert (reply.status, where and where.encode()) == (status, location)
    forwarded = [("Host", "localhost"), ("X-Forwarded-Proto", "https")]
    about = h11.Request(method="GET", target="/x/opensearch.xml", headers=forwarded)
    described = site.reply(about, "127.0.0.1")
    assert isinstance(described, HttpReply)
    assert "https://localhost/x/search.html?q=" in str(described.body)


@pytest.mark.parametrize(
    "header", ["Origin: http://localhost:8081", "Origin: null", "Referer: http://e/"]
)
def test_requests_from_other_pages_are_refused(header: str) -> None:
    assert get("/status.json", headers=header + "\r\n")[0] == 403


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("Accept: text/html,application/xhtml+xml,*/*;q=0.8", 200),
        ("Accept: image/avif,image/webp,*/*", 403),
        ("Accept: text/css,*/*;q=0.1", 403),
        ("Accept: text/html\r\nOrigin: http://wiki.internal", 403),
        ("Accept: text/html\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors", 403),
    ],
)
def test_a_link_on_another_page_opens_this_one(more: str, status: int) -> None:
    headers = f"{BROWSER}Referer: http://wiki.internal/tools\r\n{more}\r\n"
    assert get("/", headers=headers)[0] == status


@pytest.mark.parametrize(
    ("condition", "status"),
    [("", 200), ('If-None-Match: W/{}, "x"\r\n', 304), ('If-None-Match: "x"\r\n', 200)],
)
def test_a_feed_that_a_reader_has_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch, condition: str, status: int
) -> None:
    reply = HttpReply(HTTPStatus.OK, b"<feed/>", FEED_TYPE)
    monkeypatch.setattr(Site, "reply", lambda site, request, local: reply)
    _, headers, _ = get(FEED)
    tag = headers[b"etag"].decode()
    assert headers[b"cache-control"] == b"no-cache"
    again, _, body = get(FEED, headers=condition.replace("{}", tag))
    assert (again, body) == (status, b"<feed/>" if status == 200 else b"")


def test_what_was_typed_may_stand_in_a_request_as_it_is(finder: FinderProcess) -> None:
    site = Site(snapshot, "127.0.0.1", True, finder=finder, served=Served())
    session = HttpSession(site, "127.0.0.1")
    for piece in (b"GET /?q=caf\xc3", b"\xa9 HTTP/1.1\r\nHost: localhost\r\n", b"\r\n"):
        session.receive(piece)
    assert b"\r\nLocation: search.html?q=caf%C3%A9\r\n" in session.work()


def test_no_host_no_page() -> None:
    assert exchange(b"GET / HTTP/1.0\r\nUser-Agent: x\r\n\r\n")[0] == 403
    assert exchange(b"GET / HTTP/1.1\r\n\r\n")[0] == 400
    assert exchange(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n")[0] == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\r\n",
        b"GET / HTTP/1.1\r\n x\r\n\r\n",
    ],
)
def test_invalid_requests_are_refused(raw: bytes) -> None:
    assert exchange(raw)[0] == 400


@given(st.lists(st.binary(max_size=300)))
def test_no_bytes_break_a_session(pieces: list[bytes]) -> None:
    session = HttpSession(Site(snapshot, "127.0.0.1", True), "127.0.0.1")
    for piece in (*filter(None, pieces), b""):
        session.receive(piece)
        if session.busy:
            session.work()
    repr(session)


# On the wire


def request(path: str = "/", extra: bytes = b"") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode() + extra + b"\r\n"


def test_a_request_on_the_wire(loop: Loop, server: StatusServer) -> None:
    heard = loop.ask(server, request("/status.json") + request("/metrics"))
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert heard.endswith(json_line(snapshot()))
    assert heard.count(b"HTTP/1.1") == 1
    assert len(server) == 0


def test_a_browser_that_hangs_up(loop: Loop, server: StatusServer) -> None:
    peer = loop.dial(server)
    loop.turn(3)
    peer.close()
    loop.until(lambda: len(server) == 0)


def test_incomplete_requests_are_closed_after_ten_seconds(loop: Loop, server: StatusServer) -> None:
    silent = [loop.dial(server) for _ in range(10)]
    drips = [loop.dial(server) for _ in range(10)]
    for second in range(9):
        for peer in drips:
            peer.send(request("/")[second : second + 1])
        loop.later(1)
    assert len(server) == 20
    loop.later(1)
    assert len(server) == 0
    assert loop.read_all(silent[0]) == loop.read_all(drips[0]) == b""


def test_two_hundred_slow_clients(loop: Loop, server: StatusServer) -> None:
    for _ in range(200):
        loop.dial(server)
    loop.turn(10)
    assert len(server) == 64
    assert server.deadline == loop.now + 10
    for peer in loop.peers:
        peer.close()
    loop.later(10)
    assert loop.ask(server, request()).startswith(b"HTTP/1.1 200")


def test_a_head_without_end(loop: Loop, server: StatusServer) -> None:
    peer = loop.dial(server)
    loop.send(peer, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    assert loop.send(peer, b"x" * 10_000_000) < 9_000_000
    assert len(server) == 0


def test_a_long_head_gets_its_status() -> None:
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 17_000
    assert exchange(head)[0] == 431


def test_many_headers(loop: Loop, server: StatusServer) -> None:
    heard = loop.ask(server, request("/", b"A: b\r\n" * 200_000))
    assert b" 431 " in heard or heard == b""


def test_a_client_that_reads_nothing_is_dropped(loop: Loop) -> None:
    def large() -> dict[str, Any]:
        return snapshot(config={f"k{n}": "v" * 1000 for n in range(3000)})

    server = loop.add(StatusServer(loop.poller, large, "127.0.0.1", 0, True))
    peer = loop.dial(server, receive_buffer=4096)
    loop.send(peer, request("/status.json") * 50)
    loop.turn(5)
    [connection] = server._connections.values()
    assert 0 < len(connection.outbox) < 4_000_000
    loop.later(10)
    assert len(server) == 0


def test_pages_are_rendered_in_batches(loop: Loop) -> None:
    calls = []

    def counted() -> dict[str, Any]:
        calls.append(1)
        return snapshot()

    server = loop.add(StatusServer(loop.poller, counted, "127.0.0.1", 0, True))
    for _ in range(12):
        loop.dial(server).send(request("/status.json"))
    for _ in range(10):
        before = len(calls)
        loop.turn()
        assert len(calls) - before <= 4
    assert len(calls) == 12


def test_simultaneous_readers_share_a_rendered_page(loop: Loop) -> None:
    calls = []

    def counted() -> dict[str, Any]:
        calls.append(1)
        return snapshot(elapsed_s=float(len(calls)))

    server = loop.add(StatusServer(loop.poller, counted, "127.0.0.1", 0, True))
    first = loop.ask(server, request("/"))
    assert loop.ask(server, request("/?span=nonsense")) == first
    assert loop.ask(server, request("/?span=day")) != first
    assert loop.ask(server, request("/dns.html")) != first
    assert len(calls) == 3
    loop.later(0.6)
    assert loop.ask(server, request("/")) != first


def test_data_is_never_old(loop: Loop) -> None:
    """Scripts read it right after a change."""
    calls = []

    def counted() -> dict[str, Any]:
        calls.append(1)
        return snapshot(state=f"state {len(calls)}")

    server = loop.add(StatusServer(loop.poller, counted, "127.0.0.1", 0, True))
    assert b"state 1" in loop.ask(server, request("/status.json"))
    assert b"state 2" in loop.ask(server, request("/status.json"))


def test_rendered_pages_are_dropped(loop: Loop, server: StatusServer) -> None:
    for number in range(300):
        loop.ask(server, request(f"/?span={number}"))
    assert len(server._site._pages) == 1
