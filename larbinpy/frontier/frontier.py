"""The frontier: decides what is fetched next. No socket, no clock; files by store and seen.

The engine feeds it values (links, answers of the resolver, finished pages) and `now`, in
seconds of any clock that does not go back; it hands out names to resolve, requests to
open, and URLs whose fate is decided.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress
from operator import not_

from larbinpy.dns.lookup import Answer
from larbinpy.frontier.ip_sites import IPSites
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.recent_links import RecentLinks
from larbinpy.frontier.scope import Candidate, Scope
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.wait_shortener import WaitShortener
from larbinpy.outcome import Outcome, Trait, is_retried
from larbinpy.page import Page
from larbinpy.parse import Kind, Link
from larbinpy.storage.seen import Seen
from larbinpy.storage.store import Store
from larbinpy.url import Url, fingerprint, fingerprints, host_of, resolve

#: URLs that leave the store in one turn; Larbin's maxPerCall.
_BATCH = 100
#: Redirects in a row; browsers stop at 20, crawlers at 5 to 10.
_MAX_HOPS = 10


class Frontier:
    """All URLs between being found and being decided.

    Invariant: a URL is in a queue of the store, in one of its NamedSite, in flight, or waits
    for its fate to be written down; the sequencer counts all those that left the queues.
    """

    def __init__(
        self,
        scope: Scope,
        store: Store,
        seen: Seen,
        digests: Seen,
        sequencer: Sequencer,
        sites: SiteLifecycle,
        ip_sites: IPSites,
        *,
        retries: int,
        depth_in_site: int,
    ) -> None:
        self.scope = scope
        self.store = store
        self.sequencer = sequencer
        self.sites = sites
        self.ip_sites = ip_sites
        self._retries = retries
        self._depth_in_site = depth_in_site
        self.seen = seen
        self._familiar = RecentLinks()
        #: Bodies met before, for pageNoDuplicate.
        self.digests = digests
        # Pages whose fetch decided the fate of their URLs, which is to be written down.
        self._fetched: deque[Page] = deque()
        #: Links left out or already known, by outcome, since the start.
        self.refused: Counter[Outcome] = Counter()
        #: Whether seeds were queued that had been seen, so that a URL may have two fates.
        self.has_repeats = False
        self._hastening: WaitShortener | None = None

    def __repr__(self) -> str:
        return f"<Frontier {self.sites!r} {self.ip_sites!r} {self.sequencer!r}>"

    # URLs come in.

    def seed(
        self,
        text: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
    ) -> Outcome | None:
        """Take a URL from the operator; the outcome where it is refused.

        Scope does not bind the operator; `again` fetches even what was seen.
        """
        href = resolve(text.strip())
        if href is None:
            return Outcome.BAD_URL
        self.seed_hosts.add(host_of(href))
        [fresh] = self.seen.add([fingerprint(href)])
        if not (fresh or again):
            return Outcome.URL_DUP
        self.has_repeats = self.has_repeats or not fresh
        depth = self._depth_in_site if depth is None else depth
        self.sequencer.put(Url(href, depth, priority=priority, seed=True))
        return None

    def admit(
        self, parent: Url, links: Sequence[Link], now: float, *, redirect: bool = False
    ) -> list[str]:
        """Take what a page links to, as far as it is wanted and new.

        Returns the hosts of what was taken whose addresses will be wanted, each once.
        """
        if redirect and parent.seed:
            self.seed_hosts.update(host_of(link.url) for link in links)
        # Most links were met before, so that is asked first: it costs a seventh of all.
        links = self.scope.followed(links)
        unmet = self._unmet(links)
        wanted, candidates = [], []
        for link, key in unmet:
            url = self._in_scope(parent, link, redirect)
            if isinstance(url, Url):
                wanted.append(url)
                candidates.append(key)
            else:
                self.refused[url] += 1
        fresh = self.seen.add(candidates)
        new = list(compress(wanted, fresh))
        self.refused[Outcome.URL_DUP] += len(links) - len(unmet) + len(wanted) - len(new)
        for url in new:
            self.sequencer.put(url)
        sites = {url.site: url for url in new}
        unresolved = (url for site, url in sites.items() if self.sites.wants_address(site, now))
        return list(dict.fromkeys(url.host for url in unresolved))

    def _unmet(self, links: Sequence[Link]) -> list[tuple[Link, int]]:
        """Those of `links` that were not met before, each with its fingerprint."""
        links = self._familiar.others(links)
        keys = fingerprints(link.url for link in links)
        unmet = self.seen.unmet(keys)
        # Not those that are new: most of what is named once is never named again.
        met = compress(links, map(not_, unmet))
        self._familiar.learn(link.url for link in met)
        return list(compress(zip(links, keys, strict=True), unmet))

    def _in_scope(self, parent: Url, link: Link, redirect: bool) -> Url | Outcome:
        # Requisites cost no depth, as redirects; and like them they may not go on for ever.
        hop = redirect or link.kind is not Kind.PAGE
        if hop and parent.hops >= _MAX_HOPS:
            return Outcome.ERR_30X if redirect else Outcome.TOO_DEEP
        requisite = self.scope.is_requisite(parent, link, redirect)
        if not requisite and self.scope.ends_at(parent):
            return Outcome.OUT_SITE
        candidate = Candidate(link.url, parent.href, redirect, link.kind, requisite)
        outcome = self.scope.refuse(candidate)
        if outcome is not None:
            return outcome
        depth = self.scope.depth(candidate, parent.depth)
        if depth < 0:
            return Outcome.TOO_DEEP
        return Url(
            link.url,
            depth,
            via=parent.href,
            hops=parent.hops + 1 if hop else 0,
            priority=parent.priority if redirect else self.scope.privileged(link.url),
            seed=redirect and parent.seed,
            requisite=requisite,
        )

    @property
    def seed_hosts(self) -> set[str]:
        """The hosts of the seeds, and those that seeds redirect to."""
        return self.scope.seed_hosts

    # They go to their sites, to the fetcher, and come back.

    def sequence(self, now: float) -> None:
        """Let URLs out of the store, to their NamedSites, while the gate is open."""
        self.store.spill()
        self.seen.step()
        self.digests.step()
        self.sites.wake(now)
        if self._hastening is not None:
            self._hasten(self._hastening, now)
        for url in self.sequencer.take(_BATCH):
            self.sites.join(url, now)

    def hasten(self, now: float) -> None:
        """waitDuration has become shorter: no wait of the old length goes on."""
        self._hasten(WaitShortener(self.sites, self.ip_sites), now)

    def _hasten(self, hastening: WaitShortener, now: float) -> None:
        hastening.step(now)
        self._hastening = None if hastening.over else hastening

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to ask for, and whether the answer must be fresh; None for none."""
        return self.sites.next_name()

    def resolved(self, answer: Answer, now: float) -> None:
        """Take an answer of the resolver to a name of `next_name`."""
        self.sites.resolved(answer, now)

    def take(self, now: float) -> tuple[Url, str] | None:
        """A URL that may be fetched now, and the address to ask; None while there is none."""
        return self.ip_sites.take(now)

    def robots_done(self, page: Page, now: float, wall: float) -> None:
        """Take the end of a robots.txt's fetch.

        The sitemaps it names count as links of the page that is allowed to go deepest
        among those waiting for it.
        """
        site = self.sites.get(page.url.robots_for or "")
        depth = max((url.depth for url in site.waiting), default=-1) if site else -1
        sitemaps = self.sites.robots_done(page, now, wall)
        urls = (resolve(text, page.url.href) for text in sitemaps)
        links = [Link(url, Kind.PAGE, nofollow=False) for url in urls if url]
        self.admit(Url(page.url.href, depth), links, now)

    def finished(self, page: Page, now: float, wall: float) -> bool:
        """Take the end of a page's fetch; True where it decides the fate of the URL.

        `decided` tells of it then. Otherwise the URL is back at the tail of its NamedSite, to
        be tried again.
        """
        site = self.ip_sites.landed(page, now, wall)
        url = page.url
        url.attempt += 1
        site.fetched += page.outcome is Outcome.SUCCESS
        site.failed += page.outcome is not Outcome.SUCCESS
        again = is_retried(page.outcome, page.status)
        decided = not again or url.attempt > self._retries
        if decided:
            self._fetched.append(page)
        else:
            self.sites.retry(site, url, page.outcome, now)
        if page.status:
            site.silence = 0
        elif Trait.UNREACHABLE in page.outcome.traits:
            self.sites.count_silence(site, page.outcome, now)
        return decided

    def decided(self, most: int) -> Iterator[Page]:
        """At most `most` of those whose fate is decided, by their fetch or without one.

        Each is owed until the next is asked for, so that none is lost when it cannot be
        written down.
        """
        for _ in range(most):
            # Pages first, as they take room.
            queue = self._fetched or self.sites.decided
            if not queue:
                break
            yield queue[0]
            self.sequencer.done(queue.popleft().url)

    @property
    def to_write_down(self) -> Iterator[Page]:
        """Those that `decided` is going to tell of."""
        return chain(self._fetched, self.sites.decided)

    def deadline(self, now: float, *, can_open: bool, can_ask: bool) -> float | None:
        """When the frontier next has something to do.

        What it has for the fetcher or the resolver counts only while they can take it.
        """
        to_tell = self._fetched or self.sites.decided
        if self.sequencer.can_take or to_tell or (can_ask and self.sites.has_names):
            return now
        if self._hastening is not None:
            return now
        times = [self.sites.deadline, self.ip_sites.deadline if can_open else None]
        return min((time for time in times if time is not None), default=None)

    # What people and the next run want to know.

    @property
    def owed(self) -> int:
        """URLs that are not decided yet."""
        return len(self.store) + self.sequencer.in_memory

    def waits(self, now: float, beyond: float = 0.0) -> Iterator[dict[str, float]]:
        """Seconds for which sites and addresses are still to be left alone, if over `beyond`.

        In pieces; of what is in several of them the longest counts.
        """
        after = now + beyond
        for pauses in chain(self.sites.pauses(after), self.ip_sites.pauses(after)):
            yield {key: round(time - now, 3) for key, time in pauses.items()}

    def leave_alone(self, until: Mapping[str, float]) -> None:
        """Leave sites and addresses alone until the times given by their keys."""
        self.sites.left_alone.update(until)
        self.ip_sites.left_alone.update(until)

    def resume(self, now: float, *, ended: bool) -> None:
        """Go on with a loaded state, after which no server was asked if `ended`."""
        self.sequencer.resume()
        if not ended:
            # Any address may have been asked between that checkpoint and the kill.
            self.ip_sites.let_rest(now)
