"""The read-only side of a frontier, for the status page, the console and the report."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain

from larbinpy.config.rule import Rule
from larbinpy.frontier.addresses import IPSite, IPSiteRegistry
from larbinpy.frontier.admission import Admission
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.schedule import IPSites
from larbinpy.frontier.scope import Scope
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.site import NamedSite, State
from larbinpy.frontier.sites import RobotsRules, SiteRegistry
from larbinpy.frontier.traps import Trapped, Traps
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.queues import Place, Store
from larbinpy.storage.seen import Seen
from larbinpy.url import Url, site_of


class FrontierView:
    """Read-only access: nothing here changes which URLs are fetched, or when.

    Sites and addresses are returned as they are, not copied; callers must not call methods that
    change them. (There are more than twenty methods, one for each question.)
    """

    def __init__(
        self,
        *,
        scope: Scope,
        traps: Traps,
        store: Store,
        seen: Seen,
        sequencer: Sequencer,
        lifecycle: SiteLifecycle,
        registry: SiteRegistry,
        rules: RobotsRules,
        ip_sites: IPSites,
        addresses: IPSiteRegistry,
        admission: Admission,
        fetched: Sequence[Page],
    ) -> None:
        #: The rules of scope.
        self.scope = scope
        self._traps = traps
        self._store = store
        self._seen = seen
        self._sequencer = sequencer
        self._lifecycle = lifecycle
        self._registry = registry
        self._rules = rules
        self._ip_sites = ip_sites
        self._addresses = addresses
        self._admission = admission
        self._fetched = fetched

    # All URLs.

    def queues(self) -> dict[str, int]:
        """URLs by the queue they are in."""
        return {
            **self._store.lengths(),
            **self._registry.lengths(),
            "in_flight": self._ip_sites.in_flight,
        }

    def gate(self) -> tuple[bool, str]:
        """Whether the isGet gate is open, and why it is not."""
        return self._sequencer.gate()

    @property
    def urls_seen(self) -> int:
        """Number of different URLs that were taken, including earlier runs."""
        return len(self._seen)

    @property
    def owed(self) -> int:
        """Number of URLs whose outcome is not decided yet."""
        return self._sequencer.owed

    @property
    def retried(self) -> int:
        """Number of retries: of URLs, name lookups and robots.txt files."""
        return self._lifecycle.retried

    @property
    def distinct_sites(self) -> int:
        return self._registry.distinct

    @property
    def new_sites(self) -> int:
        """Number of sites in this run that no earlier run had."""
        return self._registry.distinct_keys.new

    @property
    def new_addresses(self) -> int:
        """Number of addresses in this run that no earlier run had."""
        return self._addresses.distinct_keys.new

    @property
    def robots_fetched(self) -> int:
        """Requests for robots.txt that a server answered."""
        return self._lifecycle.robots_fetched

    @property
    def refused(self) -> Counter[Outcome]:
        """Number of links that were refused or seen before, by outcome, since the start."""
        return self._admission.refused

    @property
    def has_repeats(self) -> bool:
        """Whether URLs were queued that had been seen, so that one may end twice."""
        return self._admission.has_repeats

    @property
    def trapped(self) -> Counter[str]:
        """Number of links that looked like a spider trap, by guard, since the start."""
        return self._traps.refused

    # The next event.

    @property
    def in_flight(self) -> int:
        """Requests in flight, those for robots.txt included."""
        return self._ip_sites.in_flight

    @property
    def newest_flight(self) -> tuple[Url, float]:
        """The URL that was requested last and is in flight, and since when; there must be one."""
        return self._ip_sites.newest

    @property
    def asked_name(self) -> str | None:
        """The name that has been looked up for longest; None if no answer is awaited."""
        return self._lifecycle.names.asked

    def next_request(self) -> tuple[float, NamedSite] | None:
        """The time of the next request, and its site; None if no URL is ready."""
        return self._ip_sites.next_request()

    def next_retry(self) -> tuple[float, NamedSite, Url | None] | None:
        """The time of the next try after a failure, its site, and its URL if one URL failed."""
        return self._lifecycle.next_retry()

    def asleep(self) -> NamedSite | None:
        """One of the sites whose turn came outside of their hours; None if there is none."""
        return self._ip_sites.asleep()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The accept and reject rules in force, in their order."""
        return self.scope.rules.current

    # One URL.

    def plug_wants(self, href: str) -> bool:
        """Whether the plug of the operator wants a link to `href`; True without one."""
        return self._admission.asks(href)

    def is_seen(self, href: str) -> bool:
        """Whether the canonical URL `href` was taken, in this run or an earlier one."""
        return self._admission.is_seen(href)

    def find(self, href: str) -> Generator[None, None, Place | None]:
        """Search the store's queues for `href`, in steps. May raise OSError."""
        return self._store.find(href)

    def with_priority(self) -> int:
        """Number of URLs with priority in the store."""
        return len(self._store.priority)

    def in_memory(self, href: str) -> int:
        """Number of URLs in memory of the site of `href`."""
        return self._sequencer.by_site[site_of(href)]

    def flying(self) -> Iterator[Url]:
        """The URLs in flight, robots.txt included."""
        return self._ip_sites.flying()

    def to_write(self) -> Iterator[Page]:
        """Pages whose outcome is decided and not logged yet."""
        return chain(self._fetched, self._lifecycle.decided)

    def trap(self, href: str) -> Trapped | None:
        """Why a link to the page `href` would be refused now as a trap; None if it would not."""
        return self._traps.refusing(href)

    def target(self, href: str, url: str) -> str:
        """The URL that a redirect from `href` to `url` counts as."""
        return self._admission.target(href, url)

    @property
    def fold(self) -> Callable[[str], str] | None:
        """Returns the URL that a link counts as now; None while no parameter is dropped."""
        folding = self._admission.folding
        return folding.fold if folding else None

    def folded(self, href: str) -> tuple[str, list[str]]:
        """The URL that a link to `href` counts as, and the parameters that it lacks."""
        folding = self._admission.folding
        url = folding.fold(href)
        return url, folding.dropped(href) if url != href else []

    def refusal(self, href: str, now: float) -> Outcome | None:
        """The outcome with which a new URL would end now without a fetch; None for a fetch."""
        verdict = self._registry.verdict(site_of(href), now)
        site = self.site(href)
        if verdict is not None or site is None:
            return verdict
        return self._rules.refusal(site, href, now)

    def limit(self, href: str) -> str:
        """The limit that the site of `href` has reached, and where it was set; empty if none."""
        return self._registry.limit(site_of(href))

    def allows(self, site: NamedSite, href: str) -> bool:
        """Whether the robots.txt in force allows `href`; without one, it does."""
        return self._rules.allows(site, href)

    def why_denied(self, site: NamedSite) -> str:
        """Why the robots.txt of `site` could not be fetched; empty if it was."""
        return self._rules.why_denied(site)

    def forbidding(self, site: NamedSite, href: str) -> str | None:
        """The line of the robots.txt in force that forbids `href`, if there is one."""
        return self._rules.forbidding(site, href)

    # Sites and addresses.

    def site(self, href: str) -> NamedSite | None:
        """The site of a URL, while it is in memory."""
        return self._registry.get(site_of(href))

    def sites(self) -> Iterator[NamedSite]:
        """All sites in memory."""
        return iter(self._registry)

    def notable(self) -> list[NamedSite]:
        """Sites with URLs that may be the busiest, the slowest or suspended."""
        return self._registry.notable()

    def closed(self) -> list[NamedSite]:
        """The sites closed most recently; some may be open again."""
        return self._registry.closed()

    def by_state(self) -> dict[State, int]:
        """The number of sites in each state."""
        return self._registry.by_state()

    def address_of(self, site: NamedSite) -> IPSite | None:
        """The IPSite for requests to `site`; None while its address has nothing to do."""
        return self._addresses.behind(site)

    @property
    def wait_duration(self) -> float:
        """Seconds between two requests to an address."""
        return self._addresses.wait_duration
