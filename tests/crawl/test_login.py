"""A crawl behind a login: what it stores, how often it logs in, and what it keeps over a kill."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.doors.crawl import WAIT, DoorCrawl
from tests.support.doors.door import Door, Life
from tests.support.doors.forms import FormDoor
from tests.support.doors.headers import BearerDoor
from tests.support.doors.ledger import ledger

pytestmark = pytest.mark.slow

#: Makes a crawl of a site; more arguments are those of `DoorCrawl`.
CrawlOf = Callable[..., DoorCrawl]


@pytest.fixture
def crawl_of(tmp_path: Path) -> Iterator[CrawlOf]:
    crawls: list[DoorCrawl] = []

    def make(door: Door, *lines: str, **changed: str) -> DoorCrawl:
        crawl = DoorCrawl(tmp_path, door, *lines, **changed)
        crawls.append(crawl)
        return crawl

    yield make
    for crawl in crawls:
        crawl.kill()
        crawl.door.close()


def check(crawl: DoorCrawl, logins: int, wasted: int) -> None:
    assert crawl.faults() == []
    assert crawl.leaks() == []
    seen = ledger(crawl.door)
    assert set(seen.pages) == set(crawl.door.paths)
    assert (seen.granted, seen.denied, seen.logouts, seen.entangled) == (logins, 0, 0, [])
    assert seen.wasted <= wasted
    assert (seen.at_once, seen.gap >= WAIT) == (1, True)
    assert set(crawl.outcomes()) == {"success"}


def test_a_bearer_token(crawl_of: CrawlOf) -> None:
    crawl = crawl_of(BearerDoor(pages=20))
    assert crawl.run() == 0, crawl.printed
    check(crawl, 0, 0)


def test_a_form(crawl_of: CrawlOf) -> None:
    crawl = crawl_of(FormDoor(life=Life(pages=15), pages=40))
    assert crawl.run() == 0, crawl.printed
    # The first login leads to a page, too.
    check(crawl, 3, 2 * crawl.door.expiries + 1)
