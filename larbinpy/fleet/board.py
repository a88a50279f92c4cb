"""The board of a crawl: what nodes report about themselves, and what operators change.

It lies beside the vault. Nothing on it is needed to keep what was fetched: after a fault the
operator sees less for a while, or gives an order again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from larbinpy.fleet.vault import Crawl, CrawlState

#: Seconds without a report after which a node is shown as silent; it reports each 2 s.
SILENT = 8.0


class Found(NamedTuple):
    """A crawl that exists."""

    crawl: Crawl
    #: Settings that were changed while it ran, by keyword.
    changed: dict[str, str]
    #: Unix time of its start by the clock of Redis, and the time now; 0 before its first node.
    started: float
    now: float


class Report(NamedTuple):
    """The last report of a node."""

    #: Seconds since then.
    age: float
    #: The fields that `Reports` tells.
    status: Mapping[str, Any]


class Board(NamedTuple):
    """All nodes."""

    state: CrawlState
    #: Counters of beats by session.
    sessions: dict[str, int]
    #: By names of nodes, also of those that have left.
    reports: dict[str, Report]
    #: limitPage of the whole crawl, and how many pages of it no node has drawn; 0 is no limit, and
    #: then the number of pages fetched follows, as a negative one.
    limit: int
    left: int

    def is_member(self, name: str) -> bool:
        """Whether the node takes part now, or did until just before."""
        report = self.reports.get(name)
        return report is not None and report.status.get("session") in self.sessions

    def is_alive(self, name: str) -> bool:
        """Whether the node takes part and reports."""
        return self.is_member(name) and self.reports[name].age < SILENT

    @property
    def alive(self) -> dict[str, str]:
        """The nodes that take part and report, with their sessions."""
        return {
            name: report.status["session"]
            for name, report in self.reports.items()
            if self.is_alive(name)
        }


class Drawn(NamedTuple):
    """The share of a node in limitPage."""

    #: Pages that it may fetch in all.
    total: int
    #: Pages that no node has drawn.
    left: int
    #: limitPage; 0 is no limit, and then the total is what was fetched.
    limit: int
