"""Faults in the middle of a crawl: no URL is lost by them."""

import errno
import json
import os
import signal
from math import inf

import pytest

from larbinpy import PlugError, Start
from larbinpy.page import Outcome, Page
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State
from larbinpy.url import Url
from tests.support.ports import free_port
from tests.support.smallweb import ADDRESSES, Answer, Web
from tests.support.smallworld import Pages, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

GONE = "a.test/gone"


class Faulty(Pages):
    """A plug that raises an error at the first failed URL."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.errors = [error]

    def failed(self, url: Url, outcome: Outcome) -> None:
        if self.errors:
            raise self.errors.pop()


@pytest.fixture
def site(web: Web) -> Web:
    web.page("a.test/", "/gone", "/two")
    web.page("a.test/two")
    return web


@pytest.mark.usefixtures("site")
def test_a_failure_that_a_plug_refuses_is_reported_again(crawl: Worlds) -> None:
    world = crawl(output=Faulty(OSError(errno.ENOSPC, "No space left on device")))
    assert world.code == 0
    assert set(world.outcomes) == {"a.test/", GONE, "a.test/two"}


@pytest.mark.usefixtures("site")
def test_a_log_that_cannot_be_reopened_goes_on_in_the_old_file(crawl: Worlds) -> None:
    signalled: list[bool] = []

    def watch(world: World) -> None:
        log = world.folder / "state/crawl.jsonl"
        if world.elapsed > 15 and not signalled:
            signalled.append(True)
            log.rename(log.with_suffix(".1"))
            log.mkdir()
            os.kill(os.getpid(), signal.SIGHUP)

    world = crawl("waitDuration 10", watch=watch)
    log = world.folder / "state/crawl.jsonl"
    assert world.code == 0
    said = world.stderr.getvalue()
    assert said.startswith(f"larbinpy: {log}: Is a directory; ")
    assert said.count("\n") == 1
    fates = map(json.loads, log.with_suffix(".1").read_text().splitlines())
    assert len([*fates]) == 3


@pytest.mark.usefixtures("site")
def test_a_bug_in_a_plug_loses_no_url(crawl: Worlds) -> None:
    with pytest.raises(PlugError, match=r"Faulty\.failed raised RuntimeError: a bug \(.*:\d+\);"):
        crawl(output=Faulty(RuntimeError("a bug")))
    owed = [url.href for url in owed_urls(State(crawl.world.folder / "state"))]
    assert [href for href in owed if href.endswith("/gone")]


def test_a_crawl_that_has_ended_is_over_when_it_is_resumed(crawl: Worlds, web: Web) -> None:
    """Also with an input port: the crawl does not wait for its first URL again."""
    web.page("a.test/")
    world = crawl()
    again = crawl(f"inputPort {free_port()}", folder=world.folder, start=Start.RESUME, seeds=())
    assert again.code == 0
    assert again.elapsed < 60


def test_damaged_queues_are_refused_with_a_remedy(crawl: Worlds, web: Web) -> None:
    web.page("a.test/", *[f"/{number}" for number in range(9)])
    for number in range(9):
        web.page(f"a.test/{number}")
    world = crawl("limitPage 3")
    [file] = (world.folder / "state").glob("urls.*")
    damaged = bytearray(file.read_bytes())
    damaged[damaged.rindex(b"a.test")] ^= 1
    file.write_bytes(damaged)
    again = crawl("limitPage 30", folder=world.folder, start=Start.RESUME)
    assert again.code == 3
    assert again.stderr.getvalue().endswith(f"{file}: damaged; --scratch starts anew\n")


class Unsaved(Pages):
    """A durable plug whose disk fails from the second checkpoint on, `times` times."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self.cuts = 0
        self.times = times

    def cut(self) -> int:
        self.cuts += 1
        return self.cuts

    def sync(self) -> None:
        if 1 < self.cuts <= 1 + self.times:
            raise OSError(errno.EIO, "Input/output error", "plug")

    def load(self, mark: int) -> None:
        self.cuts = mark


@pytest.mark.usefixtures("site")
def test_a_crawl_goes_on_while_its_state_cannot_be_saved(crawl: Worlds) -> None:
    world = crawl("waitDuration 10", output=Unsaved(2))
    assert (world.code, world.crawl.report["stop_reason"]) == (0, "finished")
    assert set(world.outcomes) == {"a.test/", GONE, "a.test/two"}
    assert world.stderr.getvalue().splitlines() == [
        "larbinpy: plug: Input/output error: the state could not be saved; the crawl goes on, and"
        " tries again",
        "larbinpy: the state is saved again",
    ]


@pytest.mark.usefixtures("site")
def test_an_end_that_cannot_be_saved_is_an_error(crawl: Worlds) -> None:
    """Nothing of the last valid state is lost: a later run goes on from it."""
    world = crawl("waitDuration 10", output=Unsaved(inf))
    assert (world.code, world.crawl.report["stop_reason"]) == (3, "disk")
    first, last = world.stderr.getvalue().splitlines()
    assert "the crawl goes on" in first
    assert last.endswith(
        "repair the cause and continue with --resume from the last save, as the end of the crawl"
        " could not be saved"
    )
    again = crawl("waitDuration 10", folder=world.folder, start=Start.RESUME, seeds=())
    assert again.code == 0
    assert set(again.outcomes) == {"a.test/", GONE, "a.test/two"}


# A full disk, and people who say stop.


class Full(Pages):
    """A plug on a disk that stays full."""

    def loaded(self, page: Page) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("signals", [1, 2])
def test_a_crawl_on_a_full_disk_stops_at_once_and_says_why(crawl: Worlds, signals: int) -> None:
    stopped: list[float] = []

    def stop(world: World) -> None:
        if world.elapsed > 5.5 and not stopped:
            stopped.append(world.elapsed)
            for _ in range(signals):
                os.kill(os.getpid(), signal.SIGTERM)

    world = crawl("ignoreRobots", output=Full(), watch=stop)
    assert (world.code, world.crawl.report["stop_reason"]) == (3, "disk")
    assert "make room and continue with --resume" in world.stderr.getvalue()
    # Not when the disk is to be tried again the next time.
    assert world.elapsed - stopped[0] < 0.5
    state = State(world.folder / "state")
    assert [url.href for url in owed_urls(state)] == [crawl.web.url("a.test/")]


@pytest.mark.usefixtures("site")
def test_a_crawl_on_a_full_disk_ends_at_its_limit_of_time(crawl: Worlds) -> None:
    """A page that waits to be written stays owed."""
    errors = [OSError(errno.ENOSPC, "No space left on device") for _ in range(5)]

    class FullForAWhile(Pages):
        def loaded(self, page: Page) -> None:
            if errors:
                raise errors.pop()
            super().loaded(page)

    world = crawl("ignoreRobots", "limitTime 2s", output=FullForAWhile())
    assert (world.code, world.crawl.report["stop_reason"]) == (3, "disk")
    assert world.kept == set()
    state = State(world.folder / "state")
    assert [url.href for url in owed_urls(state)] == [crawl.web.url("a.test/")]


# Ends, and what comes after them.


def test_a_resumed_crawl_that_gets_no_page_is_no_failure(crawl: Worlds, web: Web) -> None:
    """Its pages came before; that nothing came is for the first run to say."""
    web.page("a.test/", "/next")
    first = crawl("limitPage 1")
    web.put("a.test/next", Answer(status=404))
    again = crawl(folder=first.folder, start=Start.RESUME, seeds=())
    assert again.outcomes["a.test/next"] == "err40X"
    assert (again.code, again.crawl.report["stop_reason"]) == (0, "finished")
    assert crawl("limitPage 1", seeds=("a.test/next",)).code == 4


def test_after_a_clean_end_only_servers_that_were_asked_are_left_alone(
    crawl: Worlds, web: Web
) -> None:
    """After a kill all are, as any of them may have been asked."""
    web.page("a.test/", "//b.test/")
    web.pages("b.test/")
    web.zone |= {"a.test": [ADDRESSES[0]], "b.test": [ADDRESSES[1]]}
    lines = ("waitDuration 30", "ignoreRobots")
    first = crawl(*lines, "limitPage 1")
    again = crawl(*lines, folder=first.folder, start=Start.RESUME, seeds=())
    assert again.fetched == {"a.test/", "b.test/"}
    assert again.asked[0].time - again.started < 1
