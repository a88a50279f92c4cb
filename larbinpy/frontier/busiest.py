"""Who among many sites is worth showing, found bit by bit."""

import heapq
from collections.abc import Collection

from larbinpy.frontier.named_site import NamedSite

#: Up to so many sites are all looked at whenever somebody wants to know.
_FEW = 2000
#: Of more, so many are looked at in one step.
_LOOKS = 50
#: Sites kept of each kind.
_KEPT = 50


class Watch:
    """Goes round the sites that have URLs, and keeps the busiest, the slowest and those on hold.

    To look at a hundred thousand sites takes as long as ten pages; so what people see of
    that many is as old as the last round: with fifty steps a second, 40 s.
    """

    def __init__(self) -> None:
        self._round: list[NamedSite] = []
        self._busy: list[NamedSite] = []
        self._slow: list[NamedSite] = []
        self._held: list[NamedSite] = []
        self._found: list[NamedSite] = []

    def __repr__(self) -> str:
        return f"<Watch {len(self._found)} found, {len(self._round)} to look at>"

    def step(self, active: Collection[NamedSite], now: float) -> None:
        """Look at the next some of the `active` sites."""
        if len(active) <= _FEW:
            self._round.clear()
            return
        if not self._round:
            self._found = list(dict.fromkeys((*self._busy, *self._slow, *self._held)))
            self._busy, self._slow, self._held = [], [], []
            self._round = list(active)
        some = self._round[-_LOOKS:]
        del self._round[-_LOOKS:]
        self._busy = heapq.nlargest(_KEPT, (*self._busy, *some), key=NamedSite.work)
        answering = (site for site in some if site.slowness())
        self._slow = heapq.nlargest(_KEPT, (*self._slow, *answering), key=NamedSite.slowness)
        if len(self._held) < _KEPT:
            self._held += [site for site in some if site.suspension(now) is not None]

    def found(self, active: Collection[NamedSite]) -> list[NamedSite]:
        """Of the `active` sites, all that may be busiest, slowest or left alone."""
        if len(active) <= _FEW:
            return list(active)
        return [site for site in self._found if site in active]
