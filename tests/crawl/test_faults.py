"""Faults in the middle of a crawl: no URL is lost by them."""

import errno
import json
import os
import signal

import pytest

from larbinpy import Start
from larbinpy.outcome import Outcome
from larbinpy.storage.state import State
from larbinpy.url import Url
from tests.support.crawling import free_port
from tests.support.smallweb import Web
from tests.support.smallworld import Pages, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]

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
    with pytest.raises(RuntimeError):
        crawl(output=Faulty(RuntimeError("a bug")))
    owed = [url.href for url in State(crawl.world.folder / "state").owed()]
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
