"""POST /control: the commands it runs, and the requests it refuses."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.ports import reply
from larbinpy.console.ports.http import HttpSession, Posting, Site, StatusServer
from tests.support.console_loop import FakeCrawl, Loop
from tests.support.snapshots import snapshot

TOKEN = "correct-horse"
RIGHT = f"Authorization: Bearer {TOKEN}"
JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"


#: Status, headers and body of a reply.
Reply = tuple[int, dict[bytes, bytes], bytes]


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def crawl() -> FakeCrawl:
    return FakeCrawl()


def session_of(crawl: FakeCrawl, local: str = "127.0.0.1") -> HttpSession:
    return HttpSession(Site(snapshot, "127.0.0.1", True, Posting(crawl, TOKEN)), local)


def exchange(crawl: FakeCrawl, raw: bytes, local: str = "127.0.0.1") -> Reply:
    """Status, headers and body of the reply to the request `raw`, given in small pieces."""
    session = session_of(crawl, local)
    said = b""
    for start in range(0, len(raw), 1000):
        if not (session.busy or session.closing):
            session.receive(raw[start : start + 1000])
    for _ in range(100):
        said += session.work() if session.busy else b""
    assert session.closing
    client = h11.Connection(h11.CLIENT)
    method = "HEAD" if raw.startswith(b"HEAD") else "GET"
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(said)
    response, body = client.next_event(), b""
    while isinstance(event := client.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage) and isinstance(response, h11.Response)
    return response.status_code, dict(response.headers), body


def request(
    *headers: str,
    body: bytes = b"",
    method: str = "POST",
    path: str = "/control",
    host: str = "localhost:8081",
    length: int | None = None,
) -> bytes:
    length = len(body) if length is None else length
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {length}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


def as_json(command: str) -> bytes:
    return json.dumps({"command": command}).encode()


def as_form(command: str) -> bytes:
    return urlencode({"command": command}).encode()


def post(crawl: FakeCrawl, command: str, *headers: str, **more: Any) -> Reply:
    return exchange(crawl, request(RIGHT, JSON, *headers, body=as_json(command), **more))


# Commands


@pytest.mark.parametrize(("kind", "spell"), [(JSON, as_json), (FORM, as_form)])
def test_commands(crawl: FakeCrawl, kind: str, spell: Callable[[str], bytes]) -> None:
    for command in ("pause", "set waitDuration 3", "add http://a.example/?a=1&b=2 http://b/"):
        status, headers, body = exchange(crawl, request(RIGHT, kind, body=spell(command)))
        assert (status, headers[b"content-type"]) == (200, b"application/json")
        assert json.loads(body)["ok"] is True
    assert crawl.calls == [("pause",), ("set", "waitDuration", "3")]
    assert [seed[0] for seed in crawl.seeds] == ["http://a.example/?a=1&b=2", "http://b/"]


def test_a_charset_may_be_named(crawl: FakeCrawl) -> None:
    raw = request(RIGHT, "Content-Type: Application/JSON; charset=utf-8", body=as_json("stop"))
    assert exchange(crawl, raw)[0] == 200
    assert crawl.calls == [("stop",)]


def test_an_answer_that_takes_many_turns(crawl: FakeCrawl) -> None:
    crawl.steps = 50
    status, _, body = post(crawl, "explain http://a.example/")
    assert (status, json.loads(body)["where"]) == (200, "queued")


def test_save_waits_without_hurry_for_longer_than_any_page(loop: Loop, crawl: FakeCrawl) -> None:
    crawl.is_saved = False
    server = loop.add(
        StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True, Posting(crawl, TOKEN))
    )
    peer = loop.dial(server)
    loop.send(peer, request(RIGHT, JSON, body=as_json("save")))
    loop.later(60)
    assert (len(server), server.deadline) == (1, float("inf"))
    crawl.is_saved = True
    assert loop.read_all(peer).endswith(b'\r\n\r\n{"ok":true}\n')


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("frobnicate", "unknown command 'frobnicate'"),
        ("set waitDuration", "usage: set KEY VALUE"),
        ("set From me", "From cannot be set"),
        ("watch", "unknown command 'watch'"),
        ("quit", "unknown command 'quit'"),
    ],
)
def test_wrong_commands(crawl: FakeCrawl, command: str, error: str) -> None:
    status, _, body = post(crawl, command)
    assert status == 400
    assert json.loads(body)["error"].startswith(error)


def test_refused_urls_are_reported(crawl: FakeCrawl) -> None:
    status, _, body = post(crawl, "add ftp://c.example/")
    assert status == 400
    assert json.loads(body)["refused"] == [{"url": "ftp://c.example/", "reason": "badURL"}]


# Refusals


def refused(crawl: FakeCrawl, raw: bytes, local: str = "127.0.0.1") -> int:
    status, headers, body = exchange(crawl, raw, local)
    assert (crawl.calls, crawl.seeds) == ([], [])
    assert TOKEN.encode() not in body
    assert b"access-control-allow-origin" not in headers
    return status


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_never_by_another_method(crawl: FakeCrawl, method: str) -> None:
    path = "/control?command=stop"
    raw = request(RIGHT, FORM, body=b"command=stop", method=method, path=path)
    assert refused(crawl, raw) == 405


@pytest.mark.parametrize(
    "header",
    [
        "X: y",
        "Authorization: Bearer",
        "Authorization: Bearer wrong",
        f"Authorization: Basic {TOKEN}",
        f"Authorization: Bearer {TOKEN}x",
        f"Authorization: Bearer {TOKEN[:-1]}",
        f"Authorization: {TOKEN}",
        "Authorization: Bearer \xe9",
        f"X-Token: {TOKEN}",
        f"Cookie: token={TOKEN}",
    ],
)
def test_not_without_the_token(crawl: FakeCrawl, header: str) -> None:
    raw = request(JSON, body=as_json("stop")).replace(
        b"\r\n", b"\r\n" + header.encode() + b"\r\n", 1
    )
    assert refused(crawl, raw) == 401
    path = f"/control?token={TOKEN}"
    assert refused(crawl, request(JSON, body=as_json("stop"), path=path)) == 401


@pytest.mark.parametrize(
    "origin",
    [
        "Origin: null",
        "Origin: http://evil.example",
        "Origin: https://localhost:8081",
        "Origin: http://localhost:8082",
        "Origin: http://localhost:8081.evil.example",
        "Referer: http://evil.example/",
        "Referer: http://localhost:8081@evil.example/",
    ],
)
def test_not_for_another_page(crawl: FakeCrawl, origin: str) -> None:
    assert refused(crawl, request(RIGHT, JSON, origin, body=as_json("stop"))) == 403


def test_a_page_of_ours_may_with_the_token(crawl: FakeCrawl) -> None:
    origin = ("Origin: http://LOCALHOST:8081", "Referer: http://localhost:8081/stats.html")
    assert post(crawl, "pause", *origin)[0] == 200
    assert crawl.calls == [("pause",)]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8081", "10.1.2.3", "127.0.0.1.x"])
def test_not_under_another_name(crawl: FakeCrawl, host: str) -> None:
    assert refused(crawl, request(RIGHT, JSON, body=as_json("stop"), host=host)) == 403


@pytest.mark.parametrize("local", ["192.0.2.9", "2001:db8::9"])
def test_not_from_another_machine(crawl: FakeCrawl, local: str) -> None:
    host = f"[{local}]" if ":" in local else local
    raw = request(RIGHT, JSON, body=as_json("stop"), host=f"{host}:8081")
    assert refused(crawl, raw, local) == 403


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, b"{"),
        (JSON, b"[" * 30_000),
        (JSON, b'"stop"'),
        (JSON, b'{"command": ["stop"]}'),
        (JSON, b'{"command": ""}'),
        (JSON, b'{"command": "pause\\nstop"}'),
        (JSON, b'{"command": "pause\\u0000"}'),
        (JSON, b'{"command": "add \\ud800"}'),
        (JSON, b"\xff"),
        (JSON, json.dumps({"command": "add http://a/" + "x" * 9000}).encode()),
        (JSON, b""),
        (FORM, b"command=a&command=b"),
        (FORM, b"other=a"),
        (FORM, b"command=%0astop"),
        (FORM, b"&" * 20_000),
        (FORM, b""),
        ("Content-Type: text/plain", b"command=stop"),
        ("Content-Type: multipart/form-data; boundary=x", b'--x\r\n\r\n{"command":"stop"}'),
        ("X: y", b'{"command": "stop"}'),
    ],
)
def test_invalid_bodies_are_refused(crawl: FakeCrawl, kind: str, body: bytes) -> None:
    assert refused(crawl, request(RIGHT, kind, body=body)) == 400


def test_bodies_are_bounded(crawl: FakeCrawl) -> None:
    assert refused(crawl, request(RIGHT, JSON, length=10**6)) == 413
    assert refused(crawl, request(RIGHT, JSON, length=10**18)) == 413
    chunk = b"2000\r\n" + b"x" * 0x2000 + b"\r\n"
    head = request(RIGHT, JSON, "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    assert refused(crawl, head + chunk * 10) == 413


def test_invalid_http_is_refused(crawl: FakeCrawl) -> None:
    head = request(RIGHT, JSON, "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    assert refused(crawl, head + b"zz\r\n") == 400
    # The rest is another request, which is ignored.
    raw = request(RIGHT, JSON, body=as_json("pause")) + request(RIGHT, JSON, body=as_json("stop"))
    assert exchange(crawl, raw)[0] == 200
    assert crawl.calls == [("pause",)]


def test_without_posting_control_is_not_found() -> None:
    session = HttpSession(Site(snapshot, "127.0.0.1", True), "127.0.0.1")
    session.receive(request(RIGHT, JSON, body=as_json("stop")))
    assert b" 405 " in session.work()
    session = HttpSession(Site(snapshot, "127.0.0.1", True), "127.0.0.1")
    session.receive(request(method="GET"))
    assert b" 404 " in session.work()


@given(st.lists(st.binary(max_size=300)))
def test_no_bytes_break_a_session(pieces: list[bytes]) -> None:
    crawl = FakeCrawl()
    for head in (request(RIGHT, JSON, length=500), request(RIGHT, FORM, length=500)):
        session = session_of(crawl)
        for piece in (head, *filter(None, pieces), b""):
            if session.busy:
                session.work()
            elif not session.closing:
                session.receive(piece)
        repr(session)
    assert crawl.calls == []


# Clients that cost something


def test_slow_clients_are_closed_after_ten_seconds(loop: Loop, crawl: FakeCrawl) -> None:
    server = loop.add(
        StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True, Posting(crawl, TOKEN))
    )
    raw = request(RIGHT, JSON, body=as_json("stop"))
    drips = [loop.dial(server) for _ in range(10)]
    halves = [loop.dial(server) for _ in range(10)]
    for peer in halves:
        peer.send(raw[:-5])
    for second in range(9):
        for peer in drips:
            peer.send(raw[second : second + 1])
        loop.later(1)
    assert len(server) == 20
    loop.later(1)
    assert len(server) == 0
    assert crawl.calls == []


def test_a_thousand_clients_do_not_block_others(loop: Loop, crawl: FakeCrawl) -> None:
    server = loop.add(
        StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True, Posting(crawl, TOKEN))
    )
    raw = request(RIGHT, JSON, body=as_json("stop"))
    for number in range(1000):
        loop.dial(server)
        if number % 10 == 0:
            loop.turn()
            for peer in loop.peers[:-200]:
                peer.close()
            del loop.peers[:-200]
    assert len(server) <= 64
    assert loop.ask(server, raw.replace(b"stop", b"save")).endswith(b'{"ok":true}\n')
    assert crawl.calls == [("save",)]


# The token


def test_only_the_owner_may_read_the_token(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        first = reply.issue(tmp_path)
    finally:
        os.umask(old)
    path = tmp_path / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"{first}\n"
    assert len(first) >= 43
    assert reply.issue(tmp_path) != first
    reply.withdraw(tmp_path)
    reply.withdraw(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "token").symlink_to(other)
    reply.issue(tmp_path)
    assert other.read_text() == "mine"
    assert not (tmp_path / "token").is_symlink()
