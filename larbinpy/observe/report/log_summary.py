"""The figures of one pass over the crawl log. Memory grows with failures, redirects and sites."""

import heapq
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from larbinpy.outcome import Outcome, Trait, having
from larbinpy.reason import is_part, malformed_in
from larbinpy.url import site_of

#: Entries of the lists of the slowest and the largest.
_TOP = 100

_BROKEN = {outcome.value for outcome in having(Trait.BROKEN)}
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}
_FAILED = {outcome.value for outcome in having(Trait.MISSED)}
_SUCCESS = Outcome.SUCCESS.value
_REDIRECT = Outcome.ERR_30X.value


class Failure(NamedTuple):
    """A URL that could not be fetched, as the log has it."""

    outcome: str
    status: int
    detail: str
    #: The first page that links to it; None for a seed.
    via: str | None


class Redirect(NamedTuple):
    """A redirect: its status, and where it leads, or why it leads nowhere."""

    status: int
    target: str
    via: str | None

    @property
    def permanent(self) -> bool:
        return self.status in (301, 308)

    @property
    def leads_nowhere(self) -> bool:
        """Whether it names no URL that can be crawled; the log of an old crawl does not say."""
        return bool(self.target) and not self.target.startswith("http")


@dataclass(slots=True)
class SiteCount:
    """The counts of one site."""

    site: str
    pages: int
    bytes: int
    failures: int
    robots: int


class LogSummary:
    """Takes the lines of a log in their order; the last line about a URL counts."""

    def __init__(self) -> None:
        self.urls = 0
        self.began = self.ended = ""
        self.outcomes: Counter[str] = Counter()
        self.broken: dict[str, Failure] = {}
        self.redirects: dict[str, Redirect] = {}
        #: Sitemaps and feeds that were not read to their ends: their details.
        self.parts: dict[str, str] = {}
        #: Links that are no URLs, each with its pages.
        self.malformed: dict[str, list[str]] = {}
        #: (milliseconds or bytes, URL), the greatest first, once all lines were taken.
        self.slowest: list[tuple[int, str]] = []
        self.largest: list[tuple[int, str]] = []
        # Columns of the sites; lists of numbers would take five times the memory.
        self._rows: dict[str, int] = {}
        self._columns = [array("Q") for _ in range(4)]

    def __repr__(self) -> str:
        return f"<LogSummary {self.urls} URLs, {len(self.broken)} broken>"

    def add(self, line: Mapping[str, Any]) -> None:
        url, outcome = line["url"], line["outcome"]
        detail = line.get("detail", "")
        self.urls += 1
        self.ended = line["ts"]
        self.began = self.began or self.ended
        self.outcomes[outcome] += 1
        pages, received, failures, robots = self._columns
        row = self._row(url)
        received[row] += line["size"]
        if outcome == _SUCCESS:
            pages[row] += 1
            _keep(self.slowest, line["ms"], url)
            _keep(self.largest, line["size"], url)
            for reference in malformed_in(detail):
                self.malformed.setdefault(reference, []).append(url)
        elif outcome in _ROBOTS:
            robots[row] += 1
        elif outcome in _FAILED:
            failures[row] += 1
        if outcome in _BROKEN:
            self.broken[url] = Failure(outcome, line["status"], detail, line["via"])
        else:
            self.broken.pop(url, None)
        if outcome == _REDIRECT:
            redirect = Redirect(line["status"], detail, line["via"])
            self.redirects[url] = redirect
        else:
            self.redirects.pop(url, None)
        if is_part(detail):
            self.parts[url] = detail
        else:
            self.parts.pop(url, None)

    def _row(self, url: str) -> int:
        site = site_of(url)
        row = self._rows.get(site)
        if row is None:
            row = self._rows[site] = len(self._rows)
            for column in self._columns:
                column.append(0)
        return row

    def finish(self) -> None:
        """Sort the lists, once all lines were taken."""
        self.slowest.sort(reverse=True)
        self.largest.sort(reverse=True)

    @property
    def sites(self) -> Iterator[SiteCount]:
        """The counts of all sites."""
        for (site, _), *counts in zip(self._rows.items(), *self._columns, strict=True):
            yield SiteCount(site, *counts)


def _keep(heap: list[tuple[int, str]], number: int, url: str) -> None:
    if len(heap) < _TOP:
        heapq.heappush(heap, (number, url))
    elif number > heap[0][0]:
        heapq.heapreplace(heap, (number, url))
