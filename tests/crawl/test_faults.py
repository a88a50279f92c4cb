"""Faults in the middle of a crawl: no URL is lost by them."""

import errno
import json
import os
import signal

import pytest

from larbinpy.crawl import engine as engine_module
from larbinpy.crawl.crawl import Start
from larbinpy.crawl.engine import Engine
from larbinpy.storage.state import State
from tests.support.crawling import free_port
from tests.support.smallworld import Pages

pytest_plugins = ["tests.support.smallcrawls"]

GONE = "a.test/gone"


class Faulty(Pages):
    """A plug that fails when it is first told of a failure."""

    def __init__(self, error):
        super().__init__()
        self.errors = [error]

    def failed(self, url, outcome):
        if self.errors:
            raise self.errors.pop()


@pytest.fixture
def site(web):
    web.page("a.test/", "/gone", "/two")
    web.page("a.test/two")


def test_a_failure_that_cannot_be_told_is_told_again(crawl, site):
    world = crawl(output=Faulty(OSError(errno.ENOSPC, "No space left on device")))
    assert world.code == 0
    assert set(world.outcomes) == {"a.test/", GONE, "a.test/two"}


def test_a_log_that_cannot_be_reopened_goes_on_where_it_was(crawl, site):
    told = []

    def watch(world):
        log = world.folder / "state/crawl.jsonl"
        if world.elapsed > 15 and not told:
            told.append(True)
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


def test_a_bug_in_a_plug_loses_no_url(crawl, site):
    with pytest.raises(RuntimeError):
        crawl(output=Faulty(RuntimeError("a bug")))
    owed = [url.href for url in State(crawl.world.folder / "state").owed()]
    assert [href for href in owed if href.endswith("/gone")]


def test_a_crawl_that_has_ended_is_over_when_it_is_resumed(crawl, web):
    """Also with an input port: it is no crawl that has yet to be told where to begin."""
    web.page("a.test/")
    world = crawl()
    again = crawl(f"inputPort {free_port()}", folder=world.folder, start=Start.RESUME, seeds=())
    assert again.code == 0
    assert again.elapsed < 60


def test_damaged_queues_are_refused_with_a_remedy(crawl, web):
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


def test_pages_that_are_still_to_be_read_hold_back_requests(crawl, web, monkeypatch):
    """Where reading is slower than fetching, pages must not pile up in memory."""
    check, waiting = Engine.check_all, []

    def check_now_and_then(engine, now):
        waiting.append(len(engine._landed) + engine._fetcher.busy)
        monkeypatch.setattr(engine_module, "_PAGES", 0 if len(waiting) % 20 else 1)
        check(engine, now)

    monkeypatch.setattr(Engine, "check_all", check_now_and_then)
    for number in range(40):
        web.page(f"a.test/{number}")
    web.page("a.test/", *(f"/{number}" for number in range(40)))
    world = crawl("pagesConnexions 4", "maxConnexionsBySite 99", "ignoreRobots")
    assert len(world.outcomes) == 41
    assert max(waiting) == 4
