"""Politeness over all nodes: a request to an address waits for this node's turn there.

Hosts of several nodes may share an address. A turn is a key in Redis that one node has at a time:
from before its request is opened until waitDuration after its end. Within this node, the frontier
keeps the waits as it does alone.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Protocol

from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.settings import Request
from larbinpy.page import Page
from larbinpy.url import Url

#: Seconds after which a turn ends if its node no longer says anything; waitDuration comes after
#: that, since the request may have lasted as long.
LEASE = 10.0
#: Seconds after which a turn that was granted is given back: it must last until it is renewed.
_FRESH = 5.0
#: Seconds after which a turn is asked for again, at most; and taken again, in flight.
_LONGEST = 1.0
_RENEW = 3.0


class TurnTaker(Protocol):
    """The place that turns are taken from."""

    def turn(self, address: str, lease: float, then: Callable[[float | None], None]) -> None:
        """Ask for a turn. `then` gets 0 if this node has it, else the seconds until it ends.

        It gets None if nobody answered: the turn may be this node's.
        """

    def renew(self, addresses: list[str], lease: float) -> None:
        """Keep turns for `lease` seconds from now."""

    def rest(self, address: str, wait: float) -> None:
        """End a turn: nobody gets it for `wait` seconds."""


class Turns:
    """A fetcher, in front of which requests wait for their turns.

    Requests that wait count as busy. `wait` returns waitDuration; without one, there are no turns.
    `certain` returns whether the turns of this node are its own at that moment, by a clock of its
    own: the process may have been stopped since the turn of the loop began. `place` returns what
    a request needs the turn of: its address, or its site with waitBy site.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        turns: TurnTaker,
        wait: Callable[[], float],
        certain: Callable[[], bool],
        place: Callable[[Request], str],
    ) -> None:
        self._fetcher = fetcher
        self._turns = turns
        self._wait = wait
        self._certain = certain
        self._place = place
        self._order = count()
        # The places of the turns of requests that are not opened yet, by the identity of their
        # URLs; no place for no turn.
        self._parked: dict[int, str] = {}
        # Requests that may be opened, with the places of their turns, and until when they may.
        self._granted: deque[tuple[Request, str, float]] = deque()
        # Requests whose turns were refused, by the time to ask again.
        self._refused: list[tuple[float, int, Request]] = []
        # The places of the turns of requests in flight, by the identity of their URLs.
        self._flying: dict[int, str] = {}
        self._renew_at = 0.0
        self._now = 0.0
        self._aborted = False

    def __repr__(self) -> str:
        return f"<Turns {self._waiting} wait, {self._fetcher!r}>"

    @property
    def _waiting(self) -> int:
        return len(self._parked)

    def place_of(self, url: Url) -> str:
        """The place whose turn the request for `url` waits for; empty if it waits for none."""
        return self._parked.get(id(url), "")

    @property
    def free(self) -> int:
        return max(0, self._fetcher.free - self._waiting)

    @property
    def busy(self) -> int:
        return self._fetcher.busy + self._waiting

    @property
    def deadline(self) -> float | None:
        times = [self._fetcher.deadline]
        if self._opens:
            if self._granted:
                times.append(self._now)
            if self._refused:
                times.append(self._refused[0][0])
        elif self._granted:
            times.append(self._granted[0][2])
        if self._flying:
            times.append(self._renew_at)
        return min((time for time in times if time is not None), default=None)

    @property
    def _opens(self) -> bool:
        """Whether a request may be opened now. Until then, those that wait ask for no turns."""
        return bool(self._granted or self._refused) and self._fetcher.free > 0 and self._certain()

    def start(self, request: Request, now: float) -> None:
        """Fetch, as soon as it is this node's turn."""
        if self._wait():
            self._ask(request)
        else:
            self._parked[id(request.url)] = ""
            self._granted.append((request, "", inf))

    def _ask(self, request: Request) -> None:
        place = self._parked[id(request.url)] = self._place(request)
        until = self._now + _FRESH

        def answered(wait: float | None) -> None:
            if self._aborted:
                return
            if wait == 0.0:
                self._granted.append((request, place, until))
            else:
                seconds = _LONGEST if wait is None else min(wait, _LONGEST)
                self._ask_at(self._now + seconds, request)

        self._turns.turn(place, LEASE + self._wait(), answered)

    def _ask_at(self, time: float, request: Request) -> None:
        heappush(self._refused, (time, next(self._order), request))

    def step(self, now: float) -> list[Page]:
        """Open the requests whose turns have come; return the pages that ended."""
        self._now = now
        # Asked once: libcurl writes all these requests in the fetcher's step, below.
        opens = self._opens
        while self._granted:
            request, place, until = self._granted[0]
            if now >= until:
                # The crawl was paused, or too few handles were free.
                self._turns.rest(place, 0.0)
                self._ask_at(now, request)
            elif opens and self._fetcher.free:
                del self._parked[id(request.url)]
                if place:
                    self._flying[id(request.url)] = place
                self._fetcher.start(request, now)
            else:
                break
            self._granted.popleft()
        while opens and self._refused and self._refused[0][0] <= now:
            self._ask(heappop(self._refused)[2])
        pages = self._fetcher.step(now)
        for page in pages if self._flying else ():
            if place := self._flying.pop(id(page.url), ""):
                self._turns.rest(place, self._wait())
        if self._flying and now >= self._renew_at:
            self._renew_at = now + _RENEW
            places = list(dict.fromkeys(self._flying.values()))
            self._turns.renew(places, LEASE + self._wait())
        return pages

    def abort(self) -> None:
        """Abort what is in flight, and open nothing more; `step` returns none of it."""
        self._aborted = True
        self._fetcher.abort()
        self._flying.clear()
        self._parked.clear()
        self._granted.clear()
        self._refused.clear()
