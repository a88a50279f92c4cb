"""The robots.txt rules in force at each site: which URLs they allow, and which sites keep them."""

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.robots_cache import PackedRobots, RobotsCache
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.outcome import Outcome
from larbinpy.reason import NO_ROBOTS, brief
from larbinpy.storage.lru import LruBudget

#: Half a day (s): sites are seldom asked for longer at a stretch if they have hours.
_SOON = 12 * 3600.0


class RobotsRules:
    """Puts rules in force at sites and matches URLs with them.

    A site keeps its rules as long as it is in memory, with one exception: large robots.txt files
    together are bounded. The least recently fetched are dropped first, and are fetched again
    when a URL needs them.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._cache = RobotsCache(sizes.robots_lines)
        self._threshold = sizes.expensive_robots
        self._expensive: LruBudget[NamedSite] = LruBudget(sizes.expensive_total)
        #: The rules of a site that has no robots.txt.
        self.allow_all = self._cache.allow_all
        #: The rules of a site whose robots.txt cannot be fetched.
        self.deny_all = self._cache.deny_all

    def __repr__(self) -> str:
        return f"<RobotsRules {self._cache!r}, {len(self._expensive)} expensive>"

    def pack(self, body: bytes, rules: Rules) -> PackedRobots:
        """The robots.txt `body`, compressed; `rules` is `body` parsed."""
        return self._cache.keep(body, rules)

    def delay(self, site: NamedSite, rules: Rules) -> float | None:
        """The Crawl-delay of `rules` for the crawler's name at `site`, in seconds."""
        return rules.delay(site.settings.agent)

    def put(
        self, site: NamedSite, rules: PackedRobots, until: float, delay: float | None = None
    ) -> None:
        """Put `rules` in force at `site`; drop those of other sites if all are too large."""
        site.use_rules(rules, until, delay)
        self._expensive.discard(site)
        if rules.size > self._threshold:
            self._expensive.use(site, rules.size)
        for other in self._expensive.surplus():
            other.drop_rules()

    def drop_old(self, site: NamedSite, now: float) -> None:
        """Drop rules that expire soon; used before many URLs become ready by them."""
        if site.rules_until - now < _SOON:
            self._expensive.discard(site)
            site.drop_rules()

    def forget(self, site: NamedSite) -> None:
        """Forget `site`, which leaves memory."""
        self._expensive.discard(site)

    def allows(self, site: NamedSite, url: str) -> bool:
        """Whether `url` may be fetched by the robots.txt in force; without one, it may."""
        return site.rules is None or site.rules.allowed(site.settings.agent, url)

    def refusal(self, site: NamedSite, url: str, now: float) -> Outcome | None:
        """The outcome of `url` if the robots.txt in force at `now` forbids it, else None."""
        if now >= site.rules_until or self.allows(site, url):
            return None
        return Outcome.FORBIDDEN_ROBOTS

    def verdict(self, site: NamedSite, now: float) -> Outcome | None:
        """The outcome of all URLs of `site` if its robots.txt could not be fetched, else None."""
        if now >= site.rules_until or site.rules is not self.deny_all:
            return None
        return Outcome.FORBIDDEN_ROBOTS

    def why_denied(self, site: NamedSite) -> str:
        """Why all URLs of `site` are forbidden; empty if its robots.txt was fetched."""
        if site.rules is not self.deny_all:
            return ""
        why = brief(site.verdict.value, detail=site.detail)
        return f"{NO_ROBOTS} ({why})"

    def forbidding(self, site: NamedSite, url: str) -> str | None:
        """The line of the robots.txt in force that forbids `url`.

        None if there is none, or if the whole site is forbidden (see `verdict`).
        """
        if site.rules is None or site.rules is self.deny_all:
            return None
        return site.rules.forbidding(site.settings.agent, url)
