import socket

import pytest

from larbinpy.console.ports.http import StatusServer
from larbinpy.console.ports.input_port import MAX_LINE, InputPort
from larbinpy.console.ports.tcp import Limits, Server
from larbinpy.console.terminal import client
from larbinpy.console.terminal.client import NoAnswer, Refusal, follow, read_status, seed
from tests.support.console_loop import FakeCrawl, Loop
from tests.support.snapshots import fate, snapshot


@pytest.fixture
def loop(monkeypatch):
    loop = Loop()
    monkeypatch.setattr(client, "_wait", loop.wait)
    yield loop
    loop.close()


@pytest.fixture
def crawl():
    return FakeCrawl()


@pytest.fixture
def port(loop, crawl):
    return loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0)).port


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def test_seed(crawl, port):
    refusals = seed(
        "127.0.0.1", port, ["http://a.example/", "ftp://b", "", "two words"], True, 2, True
    )
    assert crawl.seeds == [("http://a.example/", 2, True, True)]
    assert refusals == [Refusal("ftp://b", "badURL"), Refusal("two%20words", "badURL")]


def test_without_a_depth_it_is_the_crawls_own(crawl, port):
    assert seed("127.0.0.1", port, ["http://a.example/"]) == []
    assert crawl.seeds == [("http://a.example/", None, False, False)]


def test_seeds_the_port_would_close_on_are_refused_here(crawl, port):
    odd = ["http://a/\0", "http://a/" + "x" * MAX_LINE, "\x1b[2J", "http://b.example/\r\nhttp://c/"]
    refusals = seed("127.0.0.1", port, [*odd, "http://d.example/"])
    assert [refusal.reason for refusal in refusals] == ["not a URL that can be crawled"] * 3
    assert refusals[2].url == "\\x1b[2J"
    assert [s[0] for s in crawl.seeds] == ["http://b.example/http://c/", "http://d.example/"]


def test_a_great_many_refusals_do_not_lock_both_ends(crawl, port):
    many = [f"nonsense-that-is-refused-{n}" for n in range(20_000)]
    refusals = seed("127.0.0.1", port, many)
    assert [refusal.url for refusal in refusals] == many
    assert crawl.seeds == []


def test_a_seeder_is_told_when_the_port_closes(loop, crawl, port):
    def urls():
        yield "http://a.example/"
        loop.turn(5)
        loop.servers[0].close()
        yield from (f"http://b.example/{n}" for n in range(1000))

    with pytest.raises(NoAnswer, match="before it took every URL"):
        seed("127.0.0.1", port, urls())


def test_nobody_there(free_port):
    for call in (
        lambda: seed("127.0.0.1", free_port, ["http://a/"]),
        lambda: read_status("127.0.0.1", free_port),
        lambda: next(follow("127.0.0.1", free_port)),
    ):
        with pytest.raises(NoAnswer, match=f"no crawl answers at 127.0.0.1:{free_port}") as told:
            call()
        assert "\n" not in str(told.value)


def test_someone_silent_there(monkeypatch):
    monkeypatch.setattr(client, "TIMEOUT", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        number = mute.getsockname()[1]
        with pytest.raises(NoAnswer, match="does not answer"):
            seed("127.0.0.1", number, ["http://a/"])
        with pytest.raises(NoAnswer, match="does not answer"):
            read_status("127.0.0.1", number)


class Canned:
    """Says the same whatever it hears, and closes."""

    patience, farewell, busy, resting, closing = 60.0, b"", False, False, True

    def __init__(self, said):
        self.said = said

    def greeting(self):
        return self.said

    def left(self):
        pass


def canned(loop, said):
    limits = Limits(connections=1, batch=1)
    return loop.add(Server(loop.poller, "127.0.0.1", 0, lambda _: Canned(said), limits)).port


def test_the_wrong_port(loop, port):
    with pytest.raises(NoAnswer, match="no status page"):
        read_status("127.0.0.1", port)
    with pytest.raises(NoAnswer, match="no input port"):
        seed("127.0.0.1", canned(loop, b"SSH-2.0\r\n"), ["http://a.example/"])


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}", "HTTP 403"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{[", "HTTP 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "HTTP 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "no status page"),
        (b"", "no status page"),
    ],
)
def test_odd_replies(loop, reply, told):
    with pytest.raises(NoAnswer, match=told):
        read_status("127.0.0.1", canned(loop, reply))


def test_read_status(loop):
    server = loop.add(StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True))
    assert read_status("127.0.0.1", server.port) == snapshot()


def test_follow_yields_each_fate_once(loop):
    shown = snapshot(recent=[fate(2), fate(1)])
    server = loop.add(StatusServer(loop.poller, lambda: shown, "127.0.0.1", 0, True))
    waits = []

    def pause(seconds):
        waits.append(seconds)
        number = len(waits)
        shown["recent"] = [fate(number + 2, attempt=2), fate(number + 2), fate(number + 1)]
        shown["state"] = ("running", "waiting", "finished")[number - 1]

    fates = list(follow("127.0.0.1", server.port, every=0.5, pause=pause))
    assert fates == [fate(1), fate(2), fate(3), fate(3, attempt=2), fate(4), fate(4, attempt=2),
                     fate(5), fate(5, attempt=2)]  # fmt: skip
    assert waits == [0.5] * 3


def test_follow_ends_with_the_crawl(loop):
    server = loop.add(StatusServer(loop.poller, snapshot, "127.0.0.1", 0, True))
    fates = list(follow("127.0.0.1", server.port, pause=lambda _: server.close()))
    assert len(fates) == 50


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://127.0.0.1:8081/", ("127.0.0.1", 8081)),
        ("localhost:8082", ("localhost", 8082)),
        ("http://[::1]:8081/stats.html", ("::1", 8081)),
        ("http://crawler.lan", ("crawler.lan", 80)),
    ],
)
def test_address(url, found):
    assert client.address(url) == found


@pytest.mark.parametrize("url", ["", "http://", "http://a:b/", "http://a:99999/", "http://[::1"])
def test_no_address(url):
    with pytest.raises(NoAnswer, match="not the address"):
        client.address(url)
