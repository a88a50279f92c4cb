"""Searches through the status server, with a process of its own that answers them."""

import json
import os
import signal
import socket
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from larbinpy.console.ports import finder_process
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.console.ports.http import Served, StatusServer
from larbinpy.console.search.form import Frame
from larbinpy.console.status.markup import SCRIPT_HASH
from tests.support.browser import PATIENCE
from tests.support.console_loop import Loop
from tests.support.searchable import COMMAND
from tests.support.snapshots import snapshot


class World(Loop):
    """A status server with a finder; its time stands still, but waits are for events."""

    def __init__(self, command: tuple[str, ...] = COMMAND, *, served: Served | None = None) -> None:
        super().__init__()
        self.finder = FinderProcess(self.poller, command)
        self.server = self.add(
            StatusServer(self.poller, snapshot, "127.0.0.1", 0, finder=self.finder, served=served)
        )

    def wait(self, *peers: socket.socket) -> list[bytes]:  # type: ignore[override]
        """The bytes that each of `peers` receives until the server closes the connection."""
        heard = {peer: bytearray() for peer in peers}
        waiting = set(peers)
        late = time.monotonic() + PATIENCE
        while waiting:
            assert time.monotonic() < late, self.finder
            waiting -= {peer for peer in waiting if self._more(peer, heard[peer])}
            for server in self.servers:
                server.step(self.now)
            self.poller.wait(0.05)
        return [bytes(heard[peer]) for peer in peers]

    def begin(self, path: str, headers: str = "") -> socket.socket:
        peer = self.dial(self.server)
        self.send(peer, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode())
        return peer

    def get(self, path: str, headers: str = "") -> tuple[int, bytes, bytes]:
        """Status, head and body of the reply."""
        [heard] = self.wait(self.begin(path, headers))
        head, _, body = heard.partition(b"\r\n\r\n")
        return int(head.split()[1]), head, body

    def until_asked(self) -> None:
        """Serve until the process works on a question."""
        late = time.monotonic() + PATIENCE
        while self.finder._asked is None:
            assert time.monotonic() < late, self.finder
            self.server.step(self.now)
            self.poller.wait(0.05)

    @property
    def pid(self) -> int:
        assert self.finder._child is not None
        return self.finder._child.process.pid


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A world in which nothing goes wrong."""
    world = World()
    yield world
    world.close()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


def test_the_process_is_started_by_the_first_search_and_stays(world: World) -> None:
    assert world.get("/status.json")[0] == 200
    assert world.finder._child is None
    status, head, body = world.get("/search.html?q=energy")
    assert status == 200 and b"30 pages" in body
    assert b"Content-Type: text/html; charset=utf-8" in head
    before = world.pid
    assert b"zh.example" in world.get(f"/search.html?q={quote('太阳能')}")[2]
    assert world.pid == before
    world.server.close()
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    world.servers.clear()


def test_stored_page_and_json(shared: World) -> None:
    assert b"Solar energy, 7." in shared.get("/page.html?url=http://www.site1.example/7")[2]
    status, head, body = shared.get("/search.json?q=energy&n=3")
    assert status == 200 and b"Content-Type: application/json" in head
    assert [hit["title"] for hit in json.loads(body)["hits"]] == [
        f"Page {n} about energy" for n in range(3)
    ]
    assert shared.get("/page.html?url=nowhere")[0] == 404
    status, _, body = shared.get("/search.html?q=please+fail")
    assert status == 503 and b"make &lt;room&gt;" in body


def test_a_large_page_arrives_whole(shared: World) -> None:
    _, head, body = shared.get("/page.html?url=http://large.example/")
    assert f"Content-Length: {len(body)}".encode() in head
    assert len(body) > 200_000 and body.endswith(b"</html>")


def test_head_has_no_body(shared: World) -> None:
    peer = shared.dial(shared.server)
    shared.send(peer, b"HEAD /search.html?q=energy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    [heard] = shared.wait(peer)
    assert heard.startswith(b"HTTP/1.1 200") and heard.endswith(b"\r\n\r\n")


def test_the_search_pages_have_a_form_and_no_script(shared: World) -> None:
    for path in ("/search.html?q=energy", "/page.html?url=x", "/search.json?q=energy"):
        _, head, body = shared.get(path)
        [policy] = [line for line in head.split(b"\r\n") if b"Content-Security-Policy" in line]
        assert b"form-action 'self'" in policy and b"default-src 'none'" in policy
        assert b"script-src" not in policy and b"connect-src" not in policy
        assert b"frame-ancestors 'none'" in policy and b"unsafe" not in policy
        assert b"<script" not in body
        for line in (b"X-Frame-Options: DENY", b"Cross-Origin-Resource-Policy: same-origin"):
            assert line in head
    _, head, body = shared.get("/")
    assert f"script-src {SCRIPT_HASH}; connect-src 'self'; form-action 'none'".encode() in head
    assert b'<a href="search.html" rel="search">Search</a>' in body
    assert b'rel="search" type="application/opensearchdescription+xml"' in body


def test_without_a_finder_there_is_no_search() -> None:
    loop = Loop()
    server = loop.add(StatusServer(loop.poller, snapshot, "127.0.0.1", 0))
    request = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert b"/search.html" not in loop.ask(server, request.format("/").encode())
    for path in ("/search.html", "/search.json", "/page.html", "/opensearch.xml"):
        assert loop.ask(server, request.format(path).encode()).startswith(b"HTTP/1.1 404")
    loop.close()


def test_without_a_crawl_there_is_only_the_search() -> None:
    world = World(served=Served())
    status, head, _ = world.get("/")
    assert status == 302 and b"\r\nLocation: search.html\r\n" in head
    for path in ("/status.json", "/metrics", "/all.html"):
        assert world.get(path)[0] == 404
    assert world.get("/icon.svg")[0] == 200
    body = world.get("/search.html")[2]
    assert b"Overview" not in body and b"What can be asked" in body
    world.close()


def test_a_browser_can_take_it_as_a_search_engine(shared: World) -> None:
    status, head, body = shared.get("/opensearch.xml")
    assert status == 200 and b"application/opensearchdescription+xml" in head
    space = "{http://a9.com/-/spec/opensearch/1.1/}"
    root = ET.fromstring(body)
    assert root.tag == f"{space}OpenSearchDescription"
    assert 0 < len(root.findtext(f"{space}ShortName") or "") <= 16
    template = root.findall(f"{space}Url")[0].attrib["template"]
    assert template == "http://127.0.0.1/search.html?q={searchTerms}"


@pytest.mark.parametrize(
    ("site", "mode", "dest", "answered"),
    [
        ("none", "navigate", "document", True),
        ("same-origin", "navigate", "document", True),
        ("same-origin", "cors", "empty", True),
        ("cross-site", "no-cors", "image", False),
        ("cross-site", "cors", "empty", False),
        ("cross-site", "navigate", "iframe", False),
        ("same-site", "no-cors", "script", False),
        ("cross-site", "no-cors", "document", False),
    ],
)
def test_other_sites_cannot_search(
    shared: World, site: str, mode: str, dest: str, answered: bool
) -> None:
    headers = f"Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}\r\n"
    for path in ("/search.json?q=energy", "/search.html?q=energy", "/status.json"):
        status, _, body = shared.get(path, headers)
        assert (status == 200) is answered
        assert (b"energy" in body or b"totals" in body) is answered


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_of_another_site_fills_in_the_form_only(world: World, site: str) -> None:
    headers = f"Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
    status, _, body = world.get("/search.html?q=energy%3Cb%3E", headers)
    assert status == 200 and b'value="energy&lt;b&gt;"' in body
    assert b"press Search" in body and b"Page 0" not in body
    assert world.finder._child is None
    assert world.get("/", headers)[0] == 200


def test_a_link_is_known_by_its_referer_too(world: World) -> None:
    """Browsers say nothing else to an address of the own network without https."""
    headers = "Referer: http://wiki.internal/\r\nAccept: text/html,*/*;q=0.8\r\n"
    status, _, body = world.get("/search.html?q=energy", headers)
    assert (status, b"press Search" in body, world.finder._child) == (200, True, None)


def test_a_process_that_is_killed_is_started_again(world: World) -> None:
    status, head, body = world.get("/search.html?q=please+die")
    assert status == 503 and b"ended unexpectedly" in body and b"Retry-After" in head
    assert b'value="please die"' in body
    assert world.get("/search.html?q=energy")[0] == 200
    os.kill(world.pid, signal.SIGKILL)
    status, _, body = world.get("/search.json?q=energy")
    # It is noticed while it waits, or by the search that it should answer.
    assert status == 200 or "ended unexpectedly" in json.loads(body)["error"]
    assert world.get("/search.html?q=energy")[0] == 200
    assert world.finder._ended == []


@pytest.mark.parametrize("how", ["babble", "boast"])
def test_a_process_that_breaks_the_protocol_is_killed(world: World, how: str) -> None:
    assert world.get(f"/search.html?q=please+{how}")[0] == 503
    assert world.get("/search.html?q=energy")[0] == 200


def test_a_search_that_hangs_is_stopped(world: World) -> None:
    hanging = world.begin("/search.html?q=please+hang")
    world.until_asked()
    first, waiting = world.pid, world.begin("/search.html?q=energy")
    world.turn(20)
    assert world.server.deadline == world.now + finder_process.ANSWER
    world.now += finder_process.ANSWER
    late, answered = world.wait(hanging, waiting)
    assert late.startswith(b"HTTP/1.1 503") and b"took too long and was stopped" in late
    assert answered.startswith(b"HTTP/1.1 200")
    assert world.pid != first


def test_other_pages_are_served_while_a_search_hangs(world: World) -> None:
    world.begin("/search.html?q=please+hang")
    world.until_asked()
    assert world.get("/status.json")[0] == 200


def test_too_many_searches_are_refused(world: World) -> None:
    world.begin("/search.html?q=please+hang")
    world.until_asked()
    waiting = [world.begin("/search.html?q=energy") for _ in range(finder_process.QUEUE)]
    world.turn(20)
    status, head, body = world.get("/search.json?q=energy")
    assert status == 503 and b"Retry-After" in head and b"Too many searches" in body
    world.now += finder_process.ANSWER
    assert all(heard.startswith(b"HTTP/1.1 200") for heard in world.wait(*waiting))


def test_a_search_waits_for_a_bounded_time(world: World) -> None:
    world.get("/search.html?q=energy")
    waiting = [world.begin("/search.html?q=please+hang") for _ in range(8)]
    world.until_asked()
    for _ in range(6):
        world.now += finder_process.ANSWER
        world.turn(5)
    world.now += finder_process.START
    assert all(heard.startswith(b"HTTP/1.1 503") for heard in world.wait(*waiting))


def test_a_client_that_left_is_dropped(world: World) -> None:
    world.begin("/search.html?q=please+hang")
    world.until_asked()
    leaving = world.begin("/search.html?q=energy")
    world.turn(20)
    assert len(world.finder._waiting) == 1
    leaving.close()
    world.until(lambda: not world.finder._waiting)
    assert len(world.server) == 1


def test_a_client_that_left_during_its_search_gets_nothing(world: World) -> None:
    world.get("/search.html?q=energy")
    leaving = world.begin("/page.html?url=http://large.example/")
    world.until_asked()
    leaving.close()
    assert b"30 pages" in world.get("/search.html?q=energy")[2]
    world.until(lambda: len(world.server) == 0)


@pytest.mark.parametrize(
    "command",
    [("/nonexistent/python",), (sys.executable, "-c", "import nonexistent_module")],
)
def test_a_process_that_cannot_start(
    command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    world = World(command)
    waiting = [world.begin("/search.html?q=energy") for _ in range(3)]
    assert all(heard.startswith(b"HTTP/1.1 503") for heard in world.wait(*waiting))
    assert world.server.deadline is None
    world.close()
    capfd.readouterr()


def test_a_process_that_is_never_ready() -> None:
    world = World((sys.executable, "-c", "import signal; signal.pause()"))
    peer = world.begin("/search.html?q=energy")
    world.turn(20)
    world.now += finder_process.START
    [heard] = world.wait(peer)
    assert b"503" in heard and b"did not start in time" in heard
    assert world.finder._child is None
    world.close()


def test_the_longest_query(shared: World) -> None:
    """It is bounded by the size of a request head, above what the pipe takes at once."""
    for character in ("a", '"', "\\", "%F0%9F%92%A9"):
        q = character * (15_000 // len(character))
        status, _, body = shared.get(f"/search.html?q={q}")
        assert status == 200 and (b"The query was cut." in body) is (len(character) == 1)
    assert shared.get(f"/search.html?q={'a' * 40_000}")[0] == 431


def test_close_may_be_called_twice() -> None:
    loop = Loop()
    finder = FinderProcess(loop.poller, COMMAND)
    question = finder.ask("/search.html", "q=x", Frame())
    finder.step(1.0)
    finder.close()
    finder.close()
    assert question.reply is not None and question.reply.status == 503
    assert "None" in repr(finder) and "503" in repr(question)
    loop.close()
