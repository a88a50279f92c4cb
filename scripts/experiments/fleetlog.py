"""Checks of the log of a web server that a fleet has crawled: was it polite, was it frugal?"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

#: Seconds that the log of nginx may be wrong: it has milliseconds, for both ends of a gap.
_BLUR = 0.002
#: Seconds between the end of a request in the log and the time its node has processed the page.
_WORK = 0.3


class Request(NamedTuple):
    """A request, by Unix times."""

    start: float
    end: float
    node: str
    address: str
    path: str
    status: int

    @classmethod
    def of(cls, line: str, nodes: Mapping[str, str]) -> "Request":
        """The request of a line with end, seconds, status, and the addresses of node and server;
        `nodes` has the names of nodes by their addresses."""
        end, took, status, source, address, path = line.split(" ", 5)
        return cls(float(end) - float(took), float(end), nodes[source], address, path, int(status))


class Fault(NamedTuple):
    """A fault of some nodes: from when they ran no more until when they ran again, or were gone."""

    kind: str
    nodes: Sequence[str]
    start: float
    end: float


class Politeness(NamedTuple):
    """Gaps between two requests to one address: their number, the least, and those too short."""

    gaps: int
    least: float
    too_short: list[tuple[Request, Request]]

    @classmethod
    def of(cls, requests: Iterable[Request], faults: Iterable[Fault], wait: float) -> "Politeness":
        """`wait`: the seconds that a gap must have.

        A node that is stopped cannot end its connections. So its requests count by their start.
        """
        stops = [fault for fault in faults if fault.kind == "stop"]
        by_address = defaultdict(list)
        for request in requests:
            by_address[request.address].append(request)
        gaps, too_short = [], []
        for some in by_address.values():
            for first, second in pairwise(sorted(some)):
                gap = second.start - (first.start if _is_in(first, stops) else first.end)
                gaps.append(gap)
                if gap < wait - _BLUR:
                    too_short.append((first, second))
        return cls(len(gaps), min(gaps, default=0.0), too_short)


def _is_in(request: Request, stops: Iterable[Fault]) -> bool:
    return any(
        request.node in stop.nodes and request.start < stop.end and request.end > stop.start
        for stop in stops
    )


class Repeats(NamedTuple):
    """Pages that were fetched again."""

    #: How many, and how many there may be: the pages of two rounds before each fault.
    total: int
    most: int
    #: Those whose earlier fetch was in none of these rounds.
    without_reason: list[Request]

    @classmethod
    def of(
        cls,
        requests: Iterable[Request],
        faults: Iterable[Fault],
        rounds: Mapping[str, Sequence[float]],
    ) -> "Repeats":
        """`rounds`: by node, when rounds began."""
        spans = defaultdict(list)
        for fault in faults:
            for node in fault.nodes:
                begun = rounds.get(node, ())
                # The last round that began may be under way. The one before it has cleared the
                # pages that the save before that had, and this save began after the one before.
                place = bisect_right(begun, fault.start) - 4
                first = begun[place] if place >= 0 else 0.0
                spans[node].append((first - _WORK, fault.end))
        by_path = defaultdict(list)
        for request in requests:
            by_path[request.path].append(request)
        earlier = [request for some in by_path.values() for request in sorted(some)[:-1]]
        fetched = [request for some in by_path.values() for request in some]
        return cls(
            len(earlier),
            sum(_ends_in(request, spans[request.node]) for request in fetched),
            [request for request in earlier if not _ends_in(request, spans[request.node])],
        )


def _ends_in(request: Request, spans: Iterable[tuple[float, float]]) -> bool:
    return any(start <= request.end <= end for start, end in spans)
