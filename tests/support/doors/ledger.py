"""A judgement of a crawler, made from the requests that a site saw."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from tests.support.doors.door import LOGINS, Door, Kind
from tests.support.doors.server import Heard


@dataclass
class Ledger:
    """The requests of one crawl, or of several, of a site."""

    #: How many times each page was sent.
    pages: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    #: Logins that succeeded and that failed, and ends of sessions that the crawler asked for.
    granted: int = 0
    denied: int = 0
    logouts: int = 0
    #: Logins that began before the last one had ended, and requests for pages during a login.
    entangled: list[str] = field(default_factory=list)
    #: The shortest time between the arrivals of two requests at a server (s), and the greatest
    #: number of requests that were open at the same time. The answer to a challenge belongs to the
    #: request that was challenged: it carries the nonce of that reply.
    gap: float = float("inf")
    at_once: int = 0

    @property
    def wasted(self) -> int:
        """Requests for pages that brought nothing new."""
        return self.refused + sum(times - 1 for times in self.pages.values())


def ledger(door: Door) -> Ledger:
    """Judge all requests that `door` has seen."""
    made = Ledger()
    log = sorted(door.log, key=lambda heard: heard.began)
    kinds = Counter(heard.kind for heard in log)
    made.pages = Counter(heard.target for heard in log if heard.kind == Kind.PAGE)
    made.refused = kinds[Kind.REFUSED]
    made.granted, made.denied = kinds[Kind.GRANTED], kinds[Kind.DENIED]
    made.logouts = kinds[Kind.LOGOUT]
    made.entangled = _entangled(log)
    for host in {heard.server for heard in log}:
        own = [heard for heard in log if heard.server == host]
        gaps = [b.began - a.began for a, b in pairwise(own) if not _is_answer(a, b)]
        made.gap = min([made.gap, *gaps])
        made.at_once = max(made.at_once, _at_once(own))
    return made


def _is_answer(challenged: Heard, heard: Heard) -> bool:
    """Whether `heard` answers the challenge in the reply to `challenged`."""
    same = (challenged.method, challenged.target) == (heard.method, heard.target)
    return same and challenged.status == 401 and "authorization" in heard.headers


def _entangled(log: list[Heard]) -> list[str]:
    found, running = [], False
    for heard in log:
        if heard.kind == Kind.FIRST or heard.kind not in LOGINS:
            if running and heard.kind != Kind.ROBOTS:
                found.append(f"{heard.kind} {heard.method} {heard.target}")
            running = heard.kind == Kind.FIRST
        else:
            running = heard.kind == Kind.FURTHER
    return found


def _at_once(log: list[Heard]) -> int:
    return max(sum(b.began <= a.began < b.ended for b in log) for a in log)
