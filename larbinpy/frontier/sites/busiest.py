"""The busiest, slowest and suspended sites among many, found in small steps."""

import heapq
from collections.abc import Collection

from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes


class Watch:
    """Examines the sites that have URLs in turn, and keeps those that the status page shows.

    These are the busiest, the slowest and the suspended ones. Examining a hundred thousand sites
    takes as long as ten pages, so it is spread over steps; with fifty steps a second the result
    is up to 40 s old.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._directly = sizes.watched_directly
        self._step = sizes.watch_step
        self._kept = sizes.watch_kept
        self._round: list[NamedSite] = []
        self._busy: list[NamedSite] = []
        self._slow: list[NamedSite] = []
        self._held: list[NamedSite] = []
        self._found: list[NamedSite] = []

    def __repr__(self) -> str:
        return f"<Watch {len(self._found)} found, {len(self._round)} to look at>"

    def step(self, active: Collection[NamedSite], now: float) -> None:
        """Examine the next few of the `active` sites."""
        if len(active) <= self._directly:
            self._round.clear()
            return
        if not self._round:
            self._found = list(dict.fromkeys((*self._busy, *self._slow, *self._held)))
            self._busy, self._slow, self._held = [], [], []
            self._round = list(active)
        some = self._round[-self._step :]
        del self._round[-self._step :]
        self._busy = heapq.nlargest(self._kept, (*self._busy, *some), key=NamedSite.work)
        answering = (site for site in some if site.slowness())
        slow = (*self._slow, *answering)
        self._slow = heapq.nlargest(self._kept, slow, key=NamedSite.slowness)
        if len(self._held) < self._kept:
            self._held += [site for site in some if site.suspension(now) is not None]

    def found(self, active: Collection[NamedSite]) -> list[NamedSite]:
        """The `active` sites that may be the busiest, the slowest or suspended."""
        if len(active) <= self._directly:
            return list(active)
        return [site for site in self._found if site in active]
