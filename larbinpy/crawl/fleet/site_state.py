"""The state of sites that goes with their shard: what was counted of them, and their waits.

The state that belongs to a shard is noted in the journal when it changes, so that the next node
continues with it. robots.txt, with its Crawl-delay, is fetched again by that node; cookies stay
where they are.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from larbinpy.fleet.journal import Journal
from larbinpy.fleet.vault import SiteWait
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.scope.traps import Traps
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.settings import SiteLimits, is_counted
from larbinpy.page import Page
from larbinpy.storage.site_counts import SiteCounts

#: The first letters of the names of counts: before a site, and before a key of `Traps`.
_PAGES, _BYTES, _TAKEN = "p", "b", "t"
#: A wait that is longer than waitDuration by less (s) is waitDuration, rounded.
_LONGER = 0.001


class SiteState:
    """Notes the state of sites that are served here, and takes over that of others."""

    def __init__(
        self,
        lifecycle: SiteLifecycle,
        counts: SiteCounts,
        traps: Traps,
        journal: Journal,
        shard_of: Callable[[str], int],
    ) -> None:
        self._lifecycle = lifecycle
        self._counts = counts
        self._traps = traps
        self._journal = journal
        self._shard_of = shard_of
        traps.report = self._taken

    def __repr__(self) -> str:
        return f"<SiteState of {self._lifecycle!r}>"

    # -- what is noted

    def landed(self, page: Page, now: float, *, decided: bool = False) -> None:
        """Note the end of a request; `decided`: it decides the outcome of its URL."""
        site = self._lifecycle.registry.get(page.url.site)
        if site is None:
            return
        if site.quota is not None:
            self._count(site, site.quota.limits, page, decided)
        wait, (extra, usual) = site.next_at - now, site.pace.adapted
        if extra or wait > site.settings.waits.least + _LONGER:
            shard = self._shard_of(site.key)
            self._journal.wait(shard, site.key, SiteWait(wait, extra, usual))

    def _count(self, site: NamedSite, limits: SiteLimits, page: Page, decided: bool) -> None:
        counts = {}
        if limits.pages and is_counted(page):
            counts[_PAGES + site.key] = 1
        if limits.received and page.received:
            counts[_BYTES + site.key] = page.received
        if not counts:
            return
        if decided:
            self._journal.count_page(page.url.origin, counts)
        else:
            self._journal.count(self._shard_of(site.key), counts)

    def _taken(self, site: str, key: str, growth: int) -> None:
        shard = self._shard_of(site)
        # Links to others are counted by the node that gets them, too.
        if self._journal.serves(shard):
            self._journal.count(shard, {_TAKEN + key: growth})

    # -- what is taken over

    def load(self, counts: Mapping[str, int], waits: Mapping[str, SiteWait], now: float) -> None:
        """Continue with what another node has noted."""
        numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, number in counts.items():
            numbers[name[0]][name[1:]] = number
        self._traps.count_from(numbers[_TAKEN])
        for key in numbers[_PAGES].keys() | numbers[_BYTES].keys():
            # One of the two may come in another part of the shard.
            pages, received = self._counts.get(key)
            pages = numbers[_PAGES].get(key, pages)
            self._counts.put(key, pages, numbers[_BYTES].get(key, received))
            site = self._lifecycle.registry.get(key)
            if site is not None and site.quota is not None:
                site.quota.load()
                self._lifecycle.close_if_spent(site, now)
        for key, wait in waits.items():
            until = now + max(0.0, wait.seconds)
            self._lifecycle.registry.take_over(key, until, wait.extra, wait.usual)
