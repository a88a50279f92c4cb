"""The visits that are under way: pages between being due and the new row in the database."""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from larbinpy.revisit.due import DuePage, host_name


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

    def __repr__(self) -> str:
        return f"<Visits {len(self._open)} open, {len(self._recorded)} recorded>"

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
