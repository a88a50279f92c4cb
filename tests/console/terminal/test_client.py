import socket
from collections.abc import Iterator

import pytest

from larbinpy.console.ports.input_port import MAX_LINE, InputPort
from larbinpy.console.terminal import client
from larbinpy.console.terminal.client import NoAnswer, Refusal, follow, read_status, seed
from tests.support.console_loop import Background, FakeCrawl
from tests.support.ports import free_port
from tests.support.snapshots import snapshot


@pytest.fixture
def loop() -> Iterator[Background]:
    with Background() as loop:
        yield loop


@pytest.fixture
def crawl() -> FakeCrawl:
    return FakeCrawl()


@pytest.fixture
def input_port(loop: Background, crawl: FakeCrawl) -> InputPort:
    return loop.serve_input(crawl)


@pytest.fixture
def port(input_port: InputPort) -> int:
    return input_port.port


def test_seed(crawl: FakeCrawl, port: int) -> None:
    refusals = seed(
        "127.0.0.1", port, ["http://a.example/", "ftp://b", "", "two words"], True, 2, True
    )
    assert crawl.seeds == [("http://a.example/", 2, True, True)]
    assert refusals == [Refusal("ftp://b", "badURL"), Refusal("two%20words", "badURL")]


def test_without_a_depth_it_is_the_crawls_own(crawl: FakeCrawl, port: int) -> None:
    assert seed("127.0.0.1", port, ["http://a.example/"]) == []
    assert crawl.seeds == [("http://a.example/", None, False, False)]


def test_seeds_the_port_would_close_on_are_refused_here(crawl: FakeCrawl, port: int) -> None:
    odd = ["http://a/\0", "http://a/" + "x" * MAX_LINE, "\x1b[2J", "http://b.example/\r\nhttp://c/"]
    refusals = seed("127.0.0.1", port, [*odd, "http://d.example/"])
    assert [refusal.reason for refusal in refusals] == ["not a URL that can be crawled"] * 3
    assert refusals[2].url == "\\x1b[2J"
    assert [s[0] for s in crawl.seeds] == ["http://b.example/http://c/", "http://d.example/"]


def test_a_great_many_refusals_do_not_lock_both_ends(crawl: FakeCrawl, port: int) -> None:
    many = [f"nonsense-that-is-refused-{n}" for n in range(20_000)]
    refusals = seed("127.0.0.1", port, many)
    assert [refusal.url for refusal in refusals] == many
    assert crawl.seeds == []


def test_seeding_reports_a_port_that_closes(loop: Background, input_port: InputPort) -> None:
    def urls() -> Iterator[str]:
        yield "http://a.example/"
        loop.close(input_port)
        yield from (f"http://b.example/{n}" for n in range(1000))

    with pytest.raises(NoAnswer, match="before it took every URL"):
        seed("127.0.0.1", input_port.port, urls())


def test_a_closed_port_is_an_error() -> None:
    port = free_port()
    for call in (
        lambda: seed("127.0.0.1", port, ["http://a/"]),
        lambda: read_status("127.0.0.1", port),
        lambda: next(follow("127.0.0.1", port)),
    ):
        with pytest.raises(NoAnswer, match=f"no crawl answers at 127.0.0.1:{port}") as raised:
            call()
        assert "\n" not in str(raised.value)


def test_a_silent_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        number = mute.getsockname()[1]
        with pytest.raises(NoAnswer, match="does not answer"):
            seed("127.0.0.1", number, ["http://a/"], timeout=0.01)
        with pytest.raises(NoAnswer, match="does not answer"):
            read_status("127.0.0.1", number, timeout=0.01)


class Canned:
    """Sends the same whatever it receives, and closes; an HTTP reply only after a request."""

    patience, farewell, busy, resting = 60.0, b"", False, False

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.closing = not said.startswith(b"HTTP")

    def greeting(self) -> bytes:
        return self.said

    def receive(self, data: bytes) -> None:
        self.closing = True

    def work(self) -> bytes:
        return b""

    def left(self) -> None:
        pass


def canned(loop: Background, said: bytes) -> int:
    return loop.serve(lambda _: Canned(said)).port


def test_the_wrong_port(loop: Background, port: int) -> None:
    with pytest.raises(NoAnswer, match="no status page"):
        read_status("127.0.0.1", port)
    with pytest.raises(NoAnswer, match="no input port"):
        seed("127.0.0.1", canned(loop, b"SSH-2.0\r\n"), ["http://a.example/"])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}", "HTTP 403"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{[", "HTTP 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "HTTP 200"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"elapsed": NaN}', "HTTP 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "no status page"),
        (b"", "no status page"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + b"[" * 9999, "HTTP 200"),
    ],
)
def test_odd_replies(loop: Background, reply: bytes, message: str) -> None:
    with pytest.raises(NoAnswer, match=message):
        read_status("127.0.0.1", canned(loop, reply))


def test_read_status(loop: Background) -> None:
    server = loop.serve_status(snapshot)
    assert read_status("127.0.0.1", server.port) == snapshot()


def test_follow_yields_a_snapshot_each_time(loop: Background) -> None:
    shown = snapshot(name="a.test")
    server = loop.serve_status(lambda: shown)
    waits = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        shown["elapsed_s"] = len(waits)
        shown["state"] = ("running", "waiting", "finished")[len(waits) - 1]

    found = list(follow("127.0.0.1", server.port, every=0.5, pause=pause))
    assert [each["state"] for each in found] == ["running", "running", "waiting", "finished"]
    assert waits == [0.5] * 3


def test_follow_ends_with_the_crawl(loop: Background) -> None:
    server = loop.serve_status(snapshot)
    found = list(follow("127.0.0.1", server.port, pause=lambda _: loop.close(server)))
    assert found == [snapshot()]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://127.0.0.1:8081/", ("127.0.0.1", 8081)),
        ("localhost:8082", ("localhost", 8082)),
        ("http://[::1]:8081/stats.html", ("::1", 8081)),
        ("http://crawler.lan", ("crawler.lan", 80)),
    ],
)
def test_address(url: str, found: tuple[str, int]) -> None:
    assert client.address(url) == found


@pytest.mark.parametrize("url", ["", "http://", "http://a:b/", "http://a:99999/", "http://[::1"])
def test_no_address(url: str) -> None:
    with pytest.raises(NoAnswer, match="not the address"):
        client.address(url)
