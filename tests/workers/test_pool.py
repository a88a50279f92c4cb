"""Pages that worker processes read come back as if the crawl itself had read them."""

import errno
import io
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.demo import Serving
from larbinpy.loop.poller import Poller
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.parse import Kind, Link, Parsed, read
from larbinpy.url import Url
from larbinpy.workers import messages, pool
from larbinpy.workers.pool import InlineReader, ReaderPool
from tests.support.crawling import crawl_demo
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Pages, Worlds

pytest_plugins = ["tests.support.demoweb", "tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

AGENT = "larbinpy/1"
#: As the real program, but for a page that it does not survive.
DYING = """
import os, signal, time
from larbinpy.parse import read
from larbinpy.workers.child import main
main(lambda page, agent: os._exit(1) if b"deadly" in page.body else read(page, agent))
"""
Make = Callable[..., ReaderPool]


def page(number: int, text: str = "", status: int = 200) -> Page:
    links = "".join(f'<a href="/{number}/{n}">' for n in range(number % 7))
    body = f"<meta name=robots content=noindex><img src=i.png>{links}{text}".encode()
    headers = [("content-type", "text/html; charset=utf-8"), ("link", "</é>; rel=next")]
    url = Url(f"http://a.test/{number}", 3)
    return Page(url, Outcome.SUCCESS, status, headers, body)


@pytest.fixture
def poller() -> Iterator[Poller]:
    poller = Poller()
    yield poller
    poller.close()


@pytest.fixture
def make(poller: Poller) -> Iterator[Make]:
    made: list[ReaderPool] = []

    def make(count: int, **changes: Any) -> ReaderPool:
        made.append(ReaderPool(poller, count, AGENT, **changes))
        return made[-1]

    yield make
    for each in made:
        each.close()


def all_read(those: ReaderPool, poller: Poller, pages: list[Page]) -> list[tuple[Page, Parsed]]:
    """Give `pages`, as there is room, and take them back."""
    found: list[tuple[Page, Parsed]] = []
    waiting = list(pages)
    for _ in range(10_000):
        while waiting and those.room:
            assert those.read(waiting.pop(0)) is None
        while (one := those.take()) is not None:
            found.append(one)
        if len(found) == len(pages):
            break
        poller.wait(5)
    assert those.busy == 0
    return found


def processes(those: ReaderPool) -> list[int]:
    return [child.pid for child in those._children.values()]


def test_a_page_reaches_its_reader_whole() -> None:
    sent = [page(3), page(4, status=304)]
    stream = io.BytesIO(b"".join(messages.page_head(each) + each.body for each in sent))
    for each in sent:
        got = messages.next_page(stream)
        assert got is not None
        assert (got.url.href, got.status, got.body) == (each.url.href, each.status, each.body)
        assert got.headers == each.headers
    assert messages.next_page(stream) is None


@pytest.mark.parametrize("cut", [5, 150, 400])
def test_a_page_that_was_cut_short_is_none(cut: int) -> None:
    sent = page(6, "x" * 1000)
    data = messages.page_head(sent) + sent.body
    assert messages.next_page(io.BytesIO(data[:cut])) is None


def test_an_answer_comes_back_as_it_was_read() -> None:
    links = [Link(f"http://a.test/{kind.value}", kind, kind is Kind.IMAGE) for kind in Kind]
    for parsed in (Parsed(links, "UTF-8", True, False), Parsed([], None, False, True)):
        line = messages.answer(parsed)
        assert line.endswith(b"\n")
        assert messages.parsed(line[:-1]) == parsed


ANSWERS = [
    b"",
    b"7",
    b"{}",
    b"[]",
    b"[" * 100_000,
    b"\xff",
    b'[null,false,false,"http://u/\\n","pp",[]]',
    b'[null,false,false,"http://u/\\n","?",[]]',
    b'[null,false,false,"http://u/\\n","p",[1]]',
    b'[null,false,false,"http://u/\\n",["p"],["a"]]',
    b'[null,false,false,["http://u/"],"p",[]]',
    b'[null,false,false,7,"",[]]',
]
NO_URLS = [
    "",
    "u",
    "http://u",
    "ftp://u/",
    "http:///",
    "http://u:x/",
    "http://u/ ",
    "http://u/\u2028",
    "\ud800",
]


@pytest.mark.parametrize("line", ANSWERS)
def test_a_line_that_is_no_answer_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        messages.parsed(line)


@pytest.mark.parametrize("url", [*NO_URLS, "http://u/\nhttp://u", "http://u/" + "x" * 8001])
def test_an_answer_with_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        messages.parsed(messages.answer(Parsed([Link(url, Kind.PAGE)])))


def test_the_inline_reader_reads_a_page_at_once() -> None:
    assert InlineReader(AGENT).read(page(5)) == read(page(5), AGENT)


@pytest.mark.parametrize("count", [1, 3])
def test_pages_come_back_read_and_in_their_order(make: Make, poller: Poller, count: int) -> None:
    pages = [page(n) for n in range(200)]
    found = all_read(make(count), poller, pages)
    assert [each for each, _ in found] == pages
    assert [parsed for _, parsed in found] == [read(each, AGENT) for each in pages]


def test_a_large_page_among_small_ones(make: Make, poller: Poller) -> None:
    """More than any socket holds, and more links than one answer of the kernel."""
    links = "".join(f'<a href="/some/where/else/{n}">' for n in range(20_000))
    pages = [page(1), page(2, "x" * 9_000_000), page(3, links), page(4)]
    found = all_read(make(2), poller, pages)
    assert [each for each, _ in found] == pages
    assert [len(parsed.links) for _, parsed in found] == [3, 4, 20_005, 6]


def test_there_is_room_for_so_many_and_no_more(make: Make) -> None:
    those = make(2)
    given = 0
    while those.room:
        those.read(page(given))
        given += 1
    assert given == those.busy == 2 * pool.AHEAD
    few = make(1)
    few.read(page(0, "x" * pool.AHEAD_BYTES))
    assert not few.room


def test_pages_of_a_killed_process_are_read_by_another(make: Make, poller: Poller) -> None:
    those = make(2)
    pages = [page(n, "x" * 20_000) for n in range(300)]
    assert all_read(those, poller, pages[:10])
    for each in pages[10:60]:
        those.read(each)
    killed = processes(those)[0]
    os.kill(killed, signal.SIGKILL)
    for each in pages[60:70]:
        those.read(each)
    found: list[tuple[Page, Parsed]] = []
    while len(found) < 60:
        poller.wait(5)
        while (one := those.take()) is not None:
            found.append(one)
    assert [each for each, _ in found] == pages[10:70]
    assert all(parsed == read(each, AGENT) for each, parsed in found)
    assert len(processes(those)) == 2
    assert killed not in processes(those)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("end", ["os._exit(1)", "os.write(0, b'[]\\n' * 9)", "os.abort()"])
def test_a_page_that_ends_two_processes(make: Make, poller: Poller, count: int, end: str) -> None:
    """Only its headers are read; all others are read, and there are as many processes."""
    those = make(count, program=DYING.replace("os._exit(1)", end))
    pages = [page(n, "deadly" * (n in (7, 20))) for n in range(40)]
    found = all_read(those, poller, pages)
    assert [each for each, _ in found] == pages
    for each, parsed in found:
        deadly = b"deadly" in each.body
        assert ("could not be read" in each.detail) is deadly
        if not deadly:
            assert parsed == read(each, AGENT)
        else:
            assert parsed.noindex
            assert [link.url for link in parsed.links] == ["http://a.test/%C3%A9"]
    assert (len(processes(those)), those.lost) == (count, 4)


def test_a_page_that_is_read_for_too_long(make: Make, poller: Poller) -> None:
    slow = DYING.replace("os._exit(1)", "signal.pause()").replace("main(", "main(longest=1, read=")
    pages = [page(n, "deadly" * (n == 3)) for n in range(6)]
    found = all_read(make(2, program=slow), poller, pages)
    assert [bool(each.detail) for each, _ in found] == [n == 3 for n in range(6)]


def test_processes_that_do_not_start_are_reported_at_once(make: Make) -> None:
    with pytest.raises(OSError, match="did not start"):
        make(2, program="raise SystemExit")


def test_without_any_process_pages_are_read_in_this_one(
    make: Make, poller: Poller, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    those = make(2, program=f"import os; os.path.exists({str(broken)!r}) and os._exit(1)\n{DYING}")
    broken.touch()
    for process in processes(those):
        os.kill(process, signal.SIGKILL)
    pages = [page(n) for n in range(100)]
    found = all_read(those, poller, pages)
    assert [each for each, _ in found] == pages
    # Those that were being read are suspected.
    unread = [each for each, parsed in found if parsed != read(each, AGENT)]
    assert all("could not be read" in each.detail for each in unread)
    assert len(unread) <= 2
    assert (len(processes(those)), those.lost) == (0, 4)


def test_answers_do_not_gather(make: Make, poller: Poller) -> None:
    """Behind a page that takes long there is room for some of them only."""
    slow = DYING.replace("os._exit(1)", "time.sleep(1) or read(page, agent)")
    those = make(2, program=slow, most_answers=10_000)
    links = "".join(f'<a href="/x/{n}">' for n in range(200))
    those.read(page(0, "deadly"))
    for n in range(1, 10):
        those.read(page(n, links))
    while those._answers <= 10_000:
        poller.wait(5)
    assert not those.room
    while those.busy:
        poller.wait(5)
        while those.take() is not None:
            pass
    assert those.room
    assert those._answers == 0


def test_no_process_is_left_behind(poller: Poller) -> None:
    those = ReaderPool(poller, 3, AGENT)
    children = processes(those)
    those.read(page(1))
    those.close()
    assert (those.busy, len(children)) == (0, 3)
    for child in children:
        assert not Path(f"/proc/{child}").exists()


def test_they_end_with_the_crawl() -> None:
    """Also where that had no time to close anything."""
    script = (
        "import signal; from larbinpy.loop.poller import Poller\n"
        "from larbinpy.workers.pool import ReaderPool\n"
        "those = ReaderPool(Poller(), 3, 'larbinpy/1')\n"
        "print(*[child.pid for child in those._children.values()], flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crawl:
        assert crawl.stdout is not None
        ends = [os.pidfd_open(int(child)) for child in crawl.stdout.readline().split()]
        assert len(ends) == 3
        assert select.select(ends, [], [], 0)[0] == []
        crawl.kill()
    # A process is ready to be read from when it has ended.
    for end in ends:
        assert select.select([end], [], [], 30)[0]
        os.close(end)


def test_a_crawl_is_the_same_with_them(demo: Serving, tmp_path: Path) -> None:
    crawled = crawl_demo(demo, tmp_path, retry_wait=0.2, extra="readers 2\n")
    truth = demo.truth()
    assert crawled.code == 0
    assert truth.differences(crawled.pairs) == []
    assert truth.trespasses(demo.requests()) == []
    assert set(truth.files) <= set(crawled.files)


def test_copies_that_are_read_at_the_same_time(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(1, 30)])
    for n in range(1, 30):
        web.put(f"a.test/{n}", Answer(b"<p>all the same"))
    world = crawl("readers 2", "pageNoDuplicate", "maxConnexionsBySite 30")
    assert Counter(world.outcomes.values()) == {"success": 2, "duplicate": 28}
    assert len(world.kept) == 2


def test_a_full_disk_while_pages_are_read_beside(web: Web, crawl: Worlds) -> None:
    """A page that could not be output is read once more, and none is lost or output twice."""
    web.page("a.test/", *[f"/{n}" for n in range(1, 30)])
    web.pages(*[f"a.test/{n}" for n in range(1, 30)])
    tried: Counter[str] = Counter()

    class Full(Pages):
        def loaded(self, page: Page) -> None:
            tried[page.url.href] += 1
            if len(tried) % 5 == 0 and tried[page.url.href] < 3:
                raise OSError(errno.ENOSPC, "full")
            super().loaded(page)

    world = crawl("readers 2", "maxConnexionsBySite 30", output=Full())
    assert (world.code, len(world.fetched), len(world.kept)) == (0, 30, 30)
    assert max(tried.values()) == 3
