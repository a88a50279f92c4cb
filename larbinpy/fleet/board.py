"""The board of a crawl: what nodes report about themselves, and what operators change.

It lies beside the vault. Nothing on it is needed to keep what was fetched: after a fault the
operator sees less for a while, or gives an order again.

`AreaLog` keeps the area around the seeds the same on all nodes. `stay` and lockSite keep to the
seeds and to what these redirect to, and each node finds others of them. So what widens the area is
an entry in a log that all nodes share, and each entry is applied once on each node. `PageShare` is
the share of a node in limitPage, which is that of the whole crawl.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from larbinpy.fleet.vault import FleetState, SharedCrawl
from larbinpy.url import host_of

#: Seconds without a report after which a node is shown as silent; it reports each 2 s.
SILENT = 8.0


class FoundCrawl(NamedTuple):
    """A crawl that exists."""

    crawl: SharedCrawl
    #: Settings that were changed while it ran, by keyword.
    changed: dict[str, str]
    #: Unix time of its start by the clock of Redis, and the time now; 0 before its first node.
    started: float
    now: float


class NodeReport(NamedTuple):
    """The last report of a node."""

    #: Seconds since then.
    age: float
    #: The fields that `Reports` tells.
    status: Mapping[str, Any]


class Board(NamedTuple):
    """All nodes."""

    state: FleetState
    #: Counters of beats by session.
    sessions: dict[str, int]
    #: By names of nodes, also of those that have left.
    reports: dict[str, NodeReport]
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


Answers = Mapping[str, Mapping[str, Any]]


#: Seconds after which nobody is asked again where a URL stands: its host may have no owner
#: from the death of a node until another one has taken the shard over.
ASKED = 15.0


def is_settled(answers: Answers, silent: Sequence[str]) -> bool:
    """Whether it would not help to ask again where a URL stands."""
    if not (answers or silent):
        return True
    return any(each.get("owner") or "state" in each for each in answers.values())


def explained(answers: Answers, silent: Sequence[str]) -> dict[str, Any]:
    """Where a URL stands: its owner says so, or a node that has fetched it earlier."""
    owner = next((name for name in answers if answers[name].get("owner")), None)
    others = [name for name in answers if name != owner and "state" in answers[name]]
    if owner is not None and not (others and answers[owner].get("state") == "seen"):
        return _of(owner, answers)
    if others:
        return _of(max(others, key=lambda name: str(answers[name]["fate"]["ts"])), answers)
    if silent:
        return {"ok": False, "error": f"no answer from {', '.join(silent)}; try again"}
    if answers:
        return {"ok": False, "error": "no node owns its host just now; try again in some seconds"}
    return {"ok": False, "error": "no node runs that could tell"}


def _of(name: str, answers: Answers) -> dict[str, Any]:
    answer = {key: value for key, value in answers[name].items() if key != "owner"}
    if answer.get("state") == "seen":
        answer["why"] = "it was seen, and no node that runs has it in its crawl.jsonl"
    return {**answer, "node": name}


def all_did(answers: Answers, silent: Sequence[str]) -> dict[str, Any]:
    """Whether all nodes did what was ordered; else who did not, and why."""
    refused = [f"{name}: {each.get('error')}" for name, each in answers.items() if not each["ok"]]
    refused += [f"{name}: no answer, it may still come" for name in silent]
    if refused:
        return {"ok": False, "error": "; ".join(refused)}
    return {"ok": True, "nodes": sorted(answers)}


#: The first words of entries: a host, a seed, a seed and what it redirects to.
HOST, SEED, REDIRECT = "host", "seed", "redirect"


def entries_of(stay: str, urls: Iterable[str]) -> list[str]:
    """The entries for seeds: URLs if `stay` keeps to such, else their hosts."""
    if stay in ("page", "prefix"):
        return [f"{SEED} {url}" for url in urls]
    return [f"{HOST} {host_of(url)}" for url in urls]


class AreaLog:
    """The entries that this node knows, and what of them is not put up yet."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._news: list[str] = []
        #: The number of entries that were put up by all nodes, and read.
        self.position = 0
        #: Applies an entry.
        self.apply: Callable[[str], None] = lambda entry: None

    def note(self, entry: str) -> bool:
        """Remember an entry of this node; False if it is known."""
        if entry in self._known:
            return False
        self._known[entry] = None
        self._news.append(entry)
        return True

    def widen(self, entry: str) -> None:
        """Note an entry, and apply it if it is new."""
        if self.note(entry):
            self.apply(entry)

    def news(self, most: int) -> list[str]:
        """The first entries that are not put up."""
        return self._news[:most]

    def published(self, count: int) -> None:
        del self._news[:count]

    def take(self, entries: Iterable[str], position: int) -> None:
        """Apply those of `entries` that are new; they reach up to `position`."""
        for entry in entries:
            if entry not in self._known:
                self._known[entry] = None
                self.apply(entry)
        self.position = max(self.position, position)

    def begin(self) -> None:
        """A session begins: Redis may have forgotten entries, so all are put up and read again."""
        self._news = list(self._known)
        self.position = 0


#: Pages drawn in advance, besides one for each transfer that may run.
_AHEAD = 50


class PageShare:
    """Draws pages in advance by small shares, so that all nodes together never fetch more.

    A share belongs to the state of its node: if that is resumed, it is used up. The share of a
    node that is killed and does not come back is lost, so that the crawl ends with fewer pages.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is limitPage; 0 is no limit."""
        self.limit = limit
        #: Pages that the state of this node had at its start.
        self.before = 0
        #: Pages of the share in all; None before the first answer.
        self._total: int | None = None
        self._left = 0
        # Whether there was an answer since the limit changed: before, nobody knows what is left.
        self._is_known = False
        self._given_back = False

    @property
    def most(self) -> int | None:
        """The pages that this run may fetch in all; None for any number."""
        return max(0, (self._total or 0) - self.before) if self.limit else None

    @property
    def may_grow(self) -> bool:
        """Whether the crawl has pages that no node has drawn."""
        return self.limit > 0 and (not self._is_known or self._left > 0)

    @property
    def is_given_back(self) -> bool:
        """Whether nothing is left that other nodes could fetch."""
        return self._total is None or self._given_back

    def change(self, limit: int) -> None:
        """limitPage was changed. Nothing more is fetched until it is known what is left of it."""
        self.limit = limit
        self._is_known = False

    def wanted(self, fetched: int, busy: int, handles: int, nodes: int) -> int | None:
        """The total to ask for; None if the share is large enough. Without limit, what it is.

        `fetched`: pages of this run; `busy`: transfers that run; `handles`: those that may run;
        `nodes`: their number.
        """
        used = self.before + fetched
        if not self.limit:
            return used
        if self._total is None or not self._is_known:
            # Transfers in flight count before any that may follow.
            return used + busy + 1
        if self._left < 0:
            # The limit was lowered.
            return min(used, self._total)
        ahead = min(handles + _AHEAD, 1 + self._left // (2 * max(1, nodes)))
        return used + ahead if self._total - used < (ahead + 1) // 2 else None

    def used(self, fetched: int) -> int:
        """The total to ask for at the end, to give the rest back."""
        return self.before + fetched

    def drawn(self, answer: Drawn) -> None:
        self.limit, self._left, self._total = answer.limit, answer.left, answer.total
        self._is_known = True

    def gave_back(self, answer: Drawn) -> None:
        self.drawn(answer)
        self._given_back = True
