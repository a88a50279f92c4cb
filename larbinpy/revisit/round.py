"""Which pages that are due are asked for, and when a round is over."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Protocol

from larbinpy.page import timestamp
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.revisit.visits import Visits

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

    def __repr__(self) -> str:
        return f"<OneRound of {self._began or 'not begun'}, {self._left} left>"

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

    def __repr__(self) -> str:
        return f"<Endless {self._left} left>"

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

    def __repr__(self) -> str:
        return f"<Round {self._allowance!r} {self._visits!r}>"

    def ask(self, wall: float) -> DueAsk | None:
        """The question to the database, if there is one to be asked now."""
        if self._asked is not None or self.over:
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
