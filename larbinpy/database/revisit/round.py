"""A round of visits: which due pages are asked for, on which conditions, and when it is over.

The conditions of a request for a page that is known are those of RFC 9110, 13.1. A server can be
wrong about them: it has one ETag for two bodies. So one visit in some is made without them, and a
site that was found wrong is asked without them for a while.

`Visits` are those under way: pages between being due and the new row in the database.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from math import inf
from typing import Any, NamedTuple, Protocol

from larbinpy.page import timestamp

#: One visit in so many asks for the whole page.
WHOLE = 32
#: Days without conditions for a site that was wrong.
DISTRUST = 30
#: Characters; a longer one is not sent back.
_LONGEST = 500


def conditions(etag: str | None, last_modified: str | None, fetched: str) -> list[str]:
    """Header lines that ask for a page only if it has changed since `fetched` (ISO 8601).

    A Last-Modified after the visit says nothing: the clock of the server is wrong, or it sends any
    date.
    """
    lines = []
    if etag and _is_safe(etag):
        lines.append(f"If-None-Match: {etag}")
    if last_modified and _is_safe(last_modified) and _is_past(last_modified, fetched):
        lines.append(f"If-Modified-Since: {last_modified}")
    return lines


def wants_whole(key: int, visits: int) -> bool:
    """Whether the next visit of a page asks for all of it; `key` spreads the pages of a site."""
    return (key + visits) % WHOLE == 0


def was_wrong(
    old: tuple[str | None, str | None], new: tuple[str | None, str | None], *, changed: bool
) -> bool:
    """Whether a server would have said that a page is as it was, and it has `changed`.

    `old` and `new` are ETag and Last-Modified of the two visits.
    """
    decides = 0 if old[0] and new[0] else 1
    return changed and bool(old[decides]) and old[decides] == new[decides]


def _is_safe(value: str) -> bool:
    return len(value) <= _LONGEST and value.isascii() and value.isprintable()


def _is_past(last_modified: str, fetched: str) -> bool:
    try:
        modified = parsedate_to_datetime(last_modified)
    except (ValueError, TypeError, OverflowError):
        return False
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    try:
        return modified <= datetime.fromisoformat(fetched)
    except ValueError:
        return False


def host_name(url: str) -> str:
    """The host of a canonical URL, with its port, as the database names it; else empty."""
    return url.partition("//")[2].partition("/")[0]


class DueAsk(NamedTuple):
    """A question for pages that are due, those that have been so for longest first."""

    #: Pages that are due at this time or before, ISO 8601.
    until: str
    #: `DuePage.place` of the page after which they come; None for the first.
    after: tuple[str, int] | None
    most: int
    #: Hosts, by their `host_name`, of which no page is wanted now.
    without: Sequence[str] = ()


class DuePage(NamedTuple):
    """A page that is due."""

    url: str
    #: Links that may be followed from it, and the page that it was found on.
    depth: int
    via: str | None
    #: When it is due, and its key, which is unique: the order of pages.
    due: str
    key: int
    #: Header lines of a request that wants the page only if it has changed.
    conditions: Sequence[str] = ()

    @property
    def place(self) -> tuple[str, int]:
        """The place in the order of pages."""
        return (self.due, self.key)


class Visits:
    """Pages that were given to the frontier, until the database has what came of it.

    A page is *open* until its outcome is known. Then the spool has a record of it, and the page
    stays here until the database has taken that record: it is due there as long. So no page is
    given twice. All of it is in the saved state, in the same checkpoint as the queues.

    Invariant: a page is open, or in `_recorded` once, or not here.
    """

    def __init__(self, *, most: int = 10_000, by_host: int = 1_000) -> None:
        """At most `most` pages are here, and `by_host` of one host are open."""
        self._most = most
        self._by_host = by_host
        # The conditions of open pages.
        self._open: dict[str, Sequence[str]] = {}
        self._hosts: Counter[str] = Counter()
        # Numbers of records of the spool, in order, and their pages.
        self._recorded: deque[tuple[int, str]] = deque()
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._open) + len(self._recorded)

    def __contains__(self, url: str) -> bool:
        return url in self._open or url in self._known

    @property
    def open(self) -> int:
        """Number of open pages."""
        return len(self._open)

    @property
    def room(self) -> int:
        """Number of pages that may be added."""
        return max(0, self._most - len(self))

    @property
    def full_hosts(self) -> list[str]:
        """Hosts of which no further page may be added."""
        return [host for host, number in self._hosts.items() if number >= self._by_host]

    def is_open(self, url: str) -> bool:
        return url in self._open

    def conditions(self, url: str) -> Sequence[str]:
        """The header lines of the request for an open page; none for others."""
        return self._open.get(url, ())

    def add(self, page: DuePage) -> bool:
        """Open a page; returns False if it is here already."""
        if page.url in self:
            return False
        self._open[page.url] = page.conditions
        self._hosts[host_name(page.url)] += 1
        return True

    def recorded(self, url: str, number: int) -> None:
        """The record `number` of the spool says what came of an open page; else do nothing."""
        if self._open.pop(url, None) is None:
            return
        host = host_name(url)
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]
        self._recorded.append((number, url))
        self._known.add(url)

    def taken(self, records: int) -> None:
        """The database has the first `records` records of the spool."""
        while self._recorded and self._recorded[0][0] < records:
            self._known.remove(self._recorded.popleft()[1])

    # As a part of the state:

    def cut(self) -> dict[str, Any]:
        return {
            "open": {url: list(lines) for url, lines in self._open.items()},
            "recorded": [list(each) for each in self._recorded],
        }

    def load(self, value: Mapping[str, Any]) -> None:
        """Load what `cut` returned. Raises `ValueError`, `TypeError` or `LookupError`."""
        self._open = {url: tuple(map(str, lines)) for url, lines in value["open"].items()}
        self._hosts = Counter(map(host_name, self._open))
        self._recorded = deque((int(number), str(url)) for number, url in value["recorded"])
        self._known = {url for _, url in self._recorded}
        if any(
            a[0] > b[0]
            for a, b in zip(self._recorded, islice(self._recorded, 1, None), strict=False)
        ):
            raise ValueError("visits: records out of order")


#: Pages of one answer.
_BATCH = 500
#: Seconds after which the pages that are due are looked through again from the first one.
_AGAIN = 10.0
#: Seconds between two looks at least.
_PAUSE = 1.0
_DAY = 86_400.0
#: The part of a day's budget that may be used at once.
_BURST = 1 / 24


class Allowance(Protocol):
    """How many pages may be visited until when, and whether that is all."""

    def until(self, wall: float) -> str:
        """The time until which pages must be due to be visited now, ISO 8601."""

    def allowed(self, wall: float) -> float:
        """The number of pages that may be visited now."""

    def spend(self, number: int) -> None:
        """So many pages are visited."""

    def ends(self, *, found: bool) -> bool:
        """Whether no page is to be visited any more; `found`: there may be others due."""

    def cut(self) -> dict[str, Any]: ...

    def load(self, value: Mapping[str, Any]) -> None: ...


class OneRound:
    """The pages that are due when the round begins, at most `budget` of them; 0 for all.

    A round that was stopped or killed goes on with the pages that were due at its beginning: those
    that it has visited are due later, so no page is visited twice in a round.
    """

    def __init__(self, budget: int) -> None:
        self._budget = float(budget) or inf
        self._left = self._budget
        # When it began; "" before that.
        self._began = ""
        self._over = False

    def until(self, wall: float) -> str:
        self._began = self._began or timestamp(wall)
        return self._began

    def allowed(self, wall: float) -> float:
        return self._left

    def spend(self, number: int) -> None:
        self._left -= number

    def ends(self, *, found: bool) -> bool:
        self._over = self._over or not found or self._left <= 0
        return self._over

    def cut(self) -> dict[str, Any]:
        left = None if self._left == inf else self._left
        return {} if self._over or not self._began else {"began": self._began, "left": left}

    def load(self, value: Mapping[str, Any]) -> None:
        if "began" in value:
            self._began = str(value["began"])
            left = value["left"]
            self._left = self._budget if left is None else min(float(left), self._budget)


class Endless:
    """All pages as they become due, at most `budget` a day; 0 for no limit."""

    def __init__(self, budget: int) -> None:
        self._a_second = budget / _DAY
        self._most = max(1.0, budget * _BURST) if budget else inf
        self._left = self._most
        self._at: float | None = None

    def until(self, wall: float) -> str:
        return timestamp(wall)

    def allowed(self, wall: float) -> float:
        passed = 0.0 if self._at is None else max(0.0, wall - self._at)
        self._at = wall
        self._left = min(self._most, self._left + passed * self._a_second)
        return self._left

    def spend(self, number: int) -> None:
        self._left -= number

    def ends(self, *, found: bool) -> bool:
        return False

    def cut(self) -> dict[str, Any]:
        return {} if self._most == inf else {"at": self._at, "allowed": self._left}

    def load(self, value: Mapping[str, Any]) -> None:
        if value.get("at") is not None and self._most < inf:
            self._at = float(value["at"])
            self._left = min(self._most, float(value["allowed"]))


class Round:
    """Asks for the pages that are due, a batch at a time, while `visits` and `allowance` have room.

    The answers go through the pages in their order. The next look begins with the first page again:
    when half of the open visits are done, if pages were left out as their host had too many; else
    when the database has all visits, or after a while. Times are Unix times.
    """

    def __init__(self, allowance: Allowance, visits: Visits) -> None:
        self._allowance = allowance
        self._visits = visits
        self._after: tuple[str, int] | None = None
        # The question that has no answer yet, and whether that tells if the round is over.
        self._asked: DueAsk | None = None
        self._is_last = False
        # Whether this look leaves out hosts.
        self._leaves_out = False
        # When the last look ended, and with how many open visits the next begins.
        self._looked = -inf
        self._half = 0
        self._had_visits = False
        #: No page is to be visited any more, and the database has all visits.
        self.over = False

    def ask(self, wall: float) -> DueAsk | None:
        """The question to the database, if there is one to be asked now."""
        if self._asked is not None:
            return None
        if not self._visits and self._allowance.ends(found=True):
            self.over = True
            return None
        if self._after is None and not self._is_time(wall):
            return None
        most = int(min(_BATCH, self._visits.room, self._allowance.allowed(wall)))
        if most < 1:
            return None
        without = self._visits.full_hosts
        is_first = self._after is None
        self._is_last = is_first and not self._visits
        self._leaves_out = bool(without) or (self._leaves_out and not is_first)
        self._asked = DueAsk(self._allowance.until(wall), self._after, most, without)
        return self._asked

    def _is_time(self, wall: float) -> bool:
        """Whether to look again from the first page on."""
        passed = wall - self._looked
        if 0 <= passed < _PAUSE:
            return False
        # A clock that was set back counts as time.
        is_late = not 0 <= passed < _AGAIN
        return is_late or (self._visits.open <= self._half if self._leaves_out else self._drained)

    @property
    def _drained(self) -> bool:
        return self._had_visits and not self._visits

    def answer(self, pages: Sequence[DuePage], wall: float) -> list[DuePage]:
        """Take the answer; returns the pages to visit."""
        asked, self._asked = self._asked, None
        if asked is None:
            return []
        new = [page for page in pages if self._visits.add(page)]
        self._allowance.spend(len(new))
        if len(pages) == asked.most:
            self._after = pages[-1].place
            return new
        self._after = None
        self._looked, self._half = wall, self._visits.open // 2
        self._had_visits = len(self._visits) > 0
        if self._is_last and not pages:
            self.over = self._allowance.ends(found=False)
        return new

    # As a part of the state:

    def cut(self) -> dict[str, Any]:
        return {"allowance": self._allowance.cut(), "visits": self._visits.cut()}

    def load(self, value: Mapping[str, Any]) -> None:
        """Load what `cut` returned. Raises `ValueError`, `TypeError` or `LookupError`."""
        self._allowance.load(value["allowance"])
        self._visits.load(value["visits"])
