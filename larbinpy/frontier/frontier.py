"""The frontier as a whole: decides which URL is fetched next, without sockets or clocks.

The engine passes in values (links, answers of the resolver, replies) and `now`, in seconds of any
clock that does not go back. The frontier returns names to resolve, requests to open, and URLs whose
outcome is decided. Only its parts `store` and `seen` use files.

Beside it, `RuleSweep` takes URLs out of the queues in memory that a changed rule rejects, and the
classes from `SavedDigests` on save its parts.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from larbinpy.config import Config
from larbinpy.config.rule import Rule
from larbinpy.dns.lookup import NO_SUCH_NAME, Answer
from larbinpy.frontier.addresses import WaitShortener
from larbinpy.frontier.admission import AS_THEY_ARE, Admission, Folding
from larbinpy.frontier.lifecycle import Judgement, SiteLifecycle, Sitemaps
from larbinpy.frontier.rules import LiveRules
from larbinpy.frontier.scope import Candidate, SeedArea
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.sites import DistinctCounter
from larbinpy.frontier.traps import Traps
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind, Link, redirect_spelling
from larbinpy.storage.queues import KEY
from larbinpy.storage.seen import Mark, Seen
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.storage.state import SavedPart, SavedValue
from larbinpy.url import GUESS, PAGE, Purpose, Url, resolve


class RuleSweep:
    """Examines the URLs of all sites, some at each step. URLs in flight are left alone.

    `rejecting` returns the rule that rejects a URL. The URLs of sites that come later are examined
    when they leave the store.
    """

    def __init__(
        self,
        lifecycle: SiteLifecycle,
        rejecting: Callable[[Url], Rule | None],
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        self._lifecycle = lifecycle
        self._rejecting = rejecting
        self._most = sizes.swept
        self._sites_left = list(lifecycle.registry)
        self.over = False

    def step(self, now: float) -> None:
        examined = 0
        while self._sites_left and examined < self._most:
            site = self._sites_left.pop()
            # Sites without URLs take time, too.
            examined += 1 + site.held
            if site.held:
                self._lifecycle.reject(site, self._rejecting, now)
        self.over = not self._sites_left


class SavedDigests(SavedPart):
    """The digests of pages, sites and addresses; `counters` add theirs in batches."""

    def __init__(self, digests: Seen, counters: Sequence[DistinctCounter]) -> None:
        self._digests = digests
        self._counters = counters

    def cut(self) -> Mark:
        for counter in self._counters:
            counter.compare()
        return self._digests.cut()

    def sync(self) -> None:
        self._digests.sync()

    def load(self, mark: Mark) -> None:
        self._digests.load(mark)

    def tidy(self, mark: Mark) -> None:
        self._digests.tidy(mark)

    def clear(self) -> None:
        self._digests.clear()


class SavedSeedArea(SavedValue):
    """The area that lockSite and `stay` keep to."""

    def __init__(self, area: SeedArea) -> None:
        self._area = area

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        area = self._area
        strangers = {"strangers": sorted(area.strangers)} if area.strangers else {}
        return {"hosts": list(area.hosts), "places": dict(area.places), **strangers}

    def load(self, value: dict[str, Any], now: float) -> None:
        places = {str(place): int(count) for place, count in value["places"].items()}
        self._area.load(map(str, value["hosts"]), places)
        self._area.strangers.update(map(str, value.get("strangers", ())))


class SavedWaits(SavedValue):
    """Seconds for which sites and addresses must still be left alone, by their keys.

    A crawl that resumes after a kill first leaves all addresses alone for waitDuration. So only
    longer waits are saved, unless the crawl has ended.
    """

    def __init__(self, lifecycle: SiteLifecycle) -> None:
        self._sites = lifecycle.registry
        self._addresses = lifecycle.ip_sites.registry

    def cut(self, now: float, *, ended: bool) -> Generator[None, None, dict[str, float]]:
        after = now if ended else now + self._addresses.wait_duration
        waits: dict[str, float] = {}
        for some in chain(self._sites.pauses(after), self._addresses.pauses(after)):
            # With waitBy "site", a site and its address have the same key.
            for key, time in some.items():
                waits[key] = max(round(time - now, 3), waits.get(key, 0.0))
            yield
        return waits

    def load(self, value: dict[str, float], now: float) -> None:
        until = {key: now + float(wait) for key, wait in dict(value).items()}
        self._sites.leave_alone(until)
        self._addresses.leave_alone(until)


class SavedTraps(SavedValue):
    """URLs taken, by shape."""

    def __init__(self, traps: Traps) -> None:
        self._traps = traps

    def cut(self, now: float, *, ended: bool) -> dict[str, int]:
        return self._traps.counts()

    def load(self, value: dict[str, int], now: float) -> None:
        self._traps.count_from(dict(value))


class SavedRules(SavedValue):
    """Changes of the rules; `changed` is called after loading if there were any, ever."""

    def __init__(self, rules: LiveRules, changed: Callable[[], object]) -> None:
        self._rules = rules
        self._changed = changed

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        return self._rules.cut()

    def load(self, value: dict[str, Any], now: float) -> None:
        self._rules.load(value)
        if self._rules.were_others:
            self._changed()


#: Seconds between two steps of the work on all sites and addresses, not needed in every turn.
_STEP_INTERVAL = 0.02


class Frontier:
    """All URLs between being found and being decided.

    Invariant: a URL is in a queue of the store, in a queue of its NamedSite, in flight, or
    decided and waiting to be logged. The sequencer counts all URLs that left the store's queues.

    Other packages call its methods, and read its parts, each of which is of one class below. (There
    are more than twenty short methods: one for each thing that the engine, the console and the
    saved state need.)
    """

    def __init__(
        self,
        admission: Admission,
        sequencer: Sequencer,
        lifecycle: SiteLifecycle,
        digests: Seen,
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        """`digests` are of bodies seen before, for pageNoDuplicate, and of sites and addresses."""
        self.admission = admission
        self.scope = admission.scope
        self.traps = admission.traps
        self.seen = admission.seen
        self.sequencer = sequencer
        self.store = sequencer.store
        self.lifecycle = lifecycle
        self.registry = lifecycle.registry
        self.ip_sites = lifecycle.ip_sites
        self.addresses = self.ip_sites.registry
        self._names = lifecycle.names
        # Pages and bytes of sites with limits.
        self._counts = self.registry.counts
        self._digests = digests
        self._distinct = (self.registry.distinct_keys, self.addresses.distinct_keys)
        for counter in self._distinct:
            counter.compare_with(digests)
        self._sizes = sizes
        # Pages whose fetch decided the outcome of their URLs, which is to be logged.
        self._fetched: deque[Page] = deque()
        self._shortener: WaitShortener | None = None
        self._sweep: RuleSweep | None = None
        # Takes URLs from the store.
        self._join = self._join_unless_rejected if self.scope.tests_seeds else lifecycle.join
        self._look_at = float("-inf")
        #: An earlier run got replies: that no name exists now is no reason to end.
        self.was_answered = False

    def __repr__(self) -> str:
        return f"<Frontier {self.lifecycle!r} {self.ip_sites!r} {self.sequencer!r}>"

    # URLs come in.

    def seed(
        self,
        text: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
        label: str = "",
    ) -> Outcome | None:
        """Take a URL from the operator; the outcome if it is refused, else None.

        The rules of scope do not apply to seeds; `again` fetches even a URL that was seen.
        """
        url = self.admission.seed(text, depth=depth, priority=priority, again=again, label=label)
        if not isinstance(url, Url):
            return url
        self.sequencer.put(url)
        return None

    def put_back(self, url: Url) -> None:
        """Queue a URL again whose outcome was decided in an earlier run."""
        self.queue_again(url)
        self.store.spill()

    def revisit(self, url: Url) -> None:
        """Queue a page that was fetched before, unless a rule rejects it now."""
        self._join = self._join_unless_rejected
        self.admission.remember(url.href)
        self.queue_again(url)

    def queue_again(self, url: Url) -> None:
        """Queue a URL whose outcome was decided."""
        self.admission.has_repeats = True
        self.sequencer.put(url)

    def admit(
        self,
        parent: Url,
        links: Sequence[Link],
        now: float,
        *,
        redirect: bool = False,
        purpose: Purpose = PAGE,
        spellings: Mapping[str, str] = AS_THEY_ARE,
    ) -> list[str]:
        """Take the `links` of a page that are wanted and new; see `Admission.links`.

        Returns the hosts of these whose addresses are not known, each once.
        """
        new = self.admission.links(
            parent, links, redirect=redirect, purpose=purpose, spellings=spellings
        )
        if not new:
            return []
        for url in new:
            self.sequencer.put(url)
        sites = {url.site: url for url in new}
        wants_address = self.registry.wants_address
        unresolved = (url for site, url in sites.items() if wants_address(site, now))
        return list(dict.fromkeys(url.host for url in unresolved))

    def redirect(self, page: Page, target: Link, now: float) -> list[str]:
        """Follow the redirect of `page`, as `admit`; back to a URL that was asked before as well,
        if that redirected for want of a cookie."""
        back = self.admission.redirected(page, target)
        if back is not None:
            self.queue_again(back)
            return []
        spelling = redirect_spelling(page)
        spellings = {target.url: spelling} if spelling != target.url else AS_THEY_ARE
        return self.admit(page.url, [target], now, redirect=True, spellings=spellings)

    def is_duplicate(self, digests: Sequence[int]) -> bool:
        """Whether a page with one of these digests was remembered."""
        return any(digest in self._digests for digest in digests)

    def remember(self, digests: Sequence[int]) -> None:
        """Treat later pages with one of these digests as duplicates."""
        self._digests.add(digests)

    # URLs go to their sites and to the fetcher, and come back.

    def sequence(self, now: float) -> None:
        """Move URLs from the store to their NamedSites while the gate is open."""
        self.store.spill()
        self.seen.step()
        self._digests.step()
        self.lifecycle.wake(now)
        if now >= self._look_at:
            self._look_at = now + _STEP_INTERVAL
            self.registry.look_around(now)
            self.addresses.expire(now)
        if self._shortener is not None:
            self._shorten(self._shortener, now)
        if self._sweep is not None:
            self._sweep.step(now)
            self._sweep = None if self._sweep.over else self._sweep
        join = self._join
        for url in self.sequencer.take(self._sizes.batch):
            join(url, now)

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to look up, and whether the answer must be fresh; None if there is none."""
        return self._names.next_name()

    def resolved(self, answer: Answer, now: float) -> None:
        """Take an answer of the resolver to a name of `next_name`."""
        self.lifecycle.resolved(answer, now)
        if answer.reason == NO_SUCH_NAME and not self.was_answered:
            self.lifecycle.close_if_none_exists(self.sequencer.owed, now)

    def take(self, now: float) -> tuple[Url, str] | None:
        """A URL that may be fetched now, and the address to use; None while there is none."""
        return self.ip_sites.take(now)

    def replied(
        self, page: Page, now: float, wall: float, judgement: Judgement = Judgement.KEEP
    ) -> bool:
        """Process a reply, or the failure of a request; return whether this decides its URL.

        If so, `decided` returns it. Otherwise the URL goes back to the tail of its NamedSite, to
        be fetched again; or it was a preliminary request.
        """
        if judgement is Judgement.AGAIN:
            self.lifecycle.again(page, now, wall)
            return False
        if page.url.purpose.owner is not None:
            sitemaps = self.lifecycle.prepared(page, now, wall)
            if sitemaps is not None:
                self._admit_sitemaps(page.url, sitemaps, now)
            return False
        if judgement is Judgement.KEEP:
            decided = self._finished(page, now, wall)
        else:
            decided = judgement is Judgement.DROP
            self.lifecycle.lost(page, now, wall, last=decided)
            if decided:
                self.scope.count_avoided()
        if decided:
            self._fetched.append(page)
        return decided

    def _admit_sitemaps(self, robots: Url, sitemaps: Sitemaps, now: float) -> None:
        # A redirect may have led to another site.
        home = f"{robots.purpose.owner}/robots.txt"
        if sitemaps.via and self.scope.refusing(Candidate(home, sitemaps.via, redirect=False)):
            return  # Of this site, the crawl wants the sitemaps of another one alone.
        urls = (resolve(text, robots.href) for text in sitemaps.references)
        links = [Link(url, Kind.PAGE, nofollow=False) for url in urls if url]
        self.admit(Url(home, sitemaps.depth), links, now, purpose=sitemaps.purpose)

    def _finished(self, page: Page, now: float, wall: float) -> bool:
        # Not tried again if a rule rejects it that came after it was taken from the store.
        rejected = self.scope.rules.were_others and self.scope.rejecting(page.url) is not None
        is_guess = page.url.purpose is GUESS
        decided = self.lifecycle.page_done(page, now, wall, last=rejected or is_guess)
        if is_guess and not page.vain:
            self.admission.remember(page.url.href)
        return decided

    def decided(self, most: int) -> Iterator[Page]:
        """At most `most` pages whose outcome is decided, by their fetch or without one.

        Each one remains owed until the next is taken from the iterator, so that none is lost if
        it cannot be logged.
        """
        for _ in range(most):
            # Fetched pages first, because they take memory.
            queue = self._fetched or self.lifecycle.decided
            if not queue:
                break
            yield queue[0]
            self.sequencer.done(queue.popleft().url)

    def to_write(self) -> Iterator[Page]:
        """Pages whose outcome is decided and not logged yet."""
        return chain(self._fetched, self.lifecycle.decided)

    # Time, and the operator's changes.

    def deadline(self, now: float, *, can_open: bool, can_ask: bool) -> float | None:
        """When the frontier next has something to do.

        Names and requests count only while the resolver and the fetcher can take them.
        """
        to_write = self._fetched or self.lifecycle.decided
        if self.sequencer.can_take or to_write or (can_ask and self._names.has_names):
            return now
        if self._shortener is not None or self._sweep is not None:
            return now
        times = [self.lifecycle.deadline, self.ip_sites.deadline if can_open else None]
        return min((time for time in times if time is not None), default=None)

    def shorten_waits(self, now: float) -> None:
        """waitDuration has become shorter: shorten all waits of the old length."""
        self._shorten(WaitShortener(self.registry, self.ip_sites, self._sizes), now)

    def _shorten(self, shortener: WaitShortener, now: float) -> None:
        shortener.step(now)
        self._shortener = None if shortener.over else shortener

    def resize(self, pool: int) -> None:
        """Let `pool` requests be in flight at most (pagesConnexions)."""
        self.ip_sites.resize(pool)

    def guard(self, config: Config) -> None:
        """Change the guards against traps."""
        if self.traps.change(config):
            self.admission.forget_recent()

    def drop_parameters(self, names: Sequence[str]) -> None:
        """Remove other parameters from links (dropParameters)."""
        self.admission.use(Folding(names))

    def add_rule(self, accept: bool, pattern: str) -> None:
        """Put a rule before all others. Raises ValueError with a reason."""
        self.scope.rules.add(accept, pattern)
        self._rules_changed()

    def drop_rule(self, word: str) -> Rule:
        """Drop a rule by its number, from 1, or its text. Raises ValueError with a reason."""
        dropped = self.scope.rules.drop(word)
        self._rules_changed()
        return dropped

    def _rules_changed(self) -> None:
        """Apply changed rules to links, and to the URLs that are queued.

        Those in memory are examined in steps, and those in the store when they leave it. So what
        counts for each URL are the rules of that time.
        """
        self.scope.apply_rules()
        self._sweep = RuleSweep(self.lifecycle, self.scope.reject, self._sizes)
        self._join = self._join_unless_rejected

    def _join_unless_rejected(self, url: Url, now: float) -> None:
        rule = self.scope.reject(url)
        if rule is None:
            self.lifecycle.join(url, now)
        else:
            self.lifecycle.end(url, Outcome.REJECTED, now, rule.described)

    # The state that is saved.

    @property
    def owed(self) -> int:
        """Number of URLs whose outcome is not decided yet."""
        return self.sequencer.owed

    @property
    def undecided(self) -> int:
        """As `owed`, without those that are only not logged yet."""
        return self.owed - len(self._fetched) - len(self.lifecycle.decided)

    def queues(self) -> dict[str, int]:
        """URLs by the queue they are in."""
        return {
            **self.store.lengths(),
            **self.registry.lengths(),
            "in_flight": self.ip_sites.in_flight,
        }

    def parts(self) -> dict[str, SavedPart]:
        """The parts of the frontier that save themselves, by their keys in the manifest."""
        return {
            KEY: self.store,
            "seen": self.seen,
            "digests": SavedDigests(self._digests, self._distinct),
            "site_counts": self._counts,
        }

    def values(self) -> dict[str, SavedValue]:
        """The parts that are saved in the manifest itself, by their keys there."""
        return {
            "seed_hosts": SavedSeedArea(self.scope.area),
            "waits": SavedWaits(self.lifecycle),
            "traps": SavedTraps(self.traps),
            "rules": SavedRules(self.scope.rules, self._rules_changed),
        }

    def read(self, manifest: Mapping[str, Any], now: float) -> None:
        """Load the queues, the URLs seen and the values of a manifest, and change no file.

        For looking at a stopped crawl: nothing may be added then.
        """
        for key, value in self.values().items():
            value.load(manifest[key], now)
        self._counts.load(manifest["site_counts"])
        self.seen.read(manifest["seen"])
        self.store.load(manifest[KEY])

    def resume(self, now: float, *, ended: bool) -> None:
        """Continue with a loaded state; `ended`: no request was sent after it was saved."""
        self.sequencer.resume()
        if not ended:
            # Any address may have got a request between that checkpoint and the kill.
            self.addresses.let_rest(now)

    def close(self) -> None:
        """Close the files."""
        self.store.close()
        self._counts.close()
