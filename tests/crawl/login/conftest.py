"""Crawls of sites behind a door, which are ended with the test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.doors.crawl import DoorCrawl
from tests.support.doors.door import Door

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
