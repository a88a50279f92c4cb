"""The robots.txt rules in force at each site: which URLs they allow, and which sites keep them."""

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.named_site import NamedSite
from larbinpy.frontier.robots_cache import PackedRobots, RobotsCache
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.storage.lru import LruBudget


class SiteRules:
    """Puts rules in force at sites and matches URLs with them.

    A site keeps its rules for as long as it is in memory, but an expensive robots.txt only
    while all expensive ones together stay within their bound: the least recently fetched are
    dropped first, and are fetched again when a URL needs them.
    """

    def __init__(self, agent: str, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._agent = agent
        self._cache = RobotsCache(sizes.robots_lines)
        self._threshold = sizes.expensive_robots
        self._expensive: LruBudget[NamedSite] = LruBudget(sizes.expensive_total)
        #: The rules of a site that has no robots.txt.
        self.allow_all = self._cache.allow_all
        #: The rules of a site whose robots.txt cannot be fetched.
        self.deny_all = self._cache.deny_all

    def __repr__(self) -> str:
        return f"<SiteRules {self._cache!r}, {len(self._expensive)} expensive>"

    def pack(self, body: bytes, rules: Rules) -> PackedRobots:
        """The robots.txt `body` in little room; `rules` is `body` parsed."""
        return self._cache.keep(body, rules)

    def delay(self, rules: Rules) -> float | None:
        """The Crawl-delay of `rules` for this crawler, in seconds."""
        return rules.delay(self._agent)

    def put(
        self, site: NamedSite, rules: PackedRobots, until: float, delay: float | None = None
    ) -> None:
        """Put `rules` in force at `site`; those of others are dropped where all take too much."""
        site.use_rules(rules, until, delay)
        self._expensive.discard(site)
        if rules.size > self._threshold:
            self._expensive.use(site, rules.size)
        for other in self._expensive.surplus():
            other.drop_rules()

    def forget(self, site: NamedSite) -> None:
        """`site` leaves memory."""
        self._expensive.discard(site)

    def allows(self, site: NamedSite, url: str) -> bool:
        """Whether `url` may be fetched by the robots.txt in force; without one, it may."""
        return site.rules is None or site.rules.allowed(self._agent, url)

    def denies_all(self, site: NamedSite) -> bool:
        """Whether `site` is refused as its robots.txt could not be fetched."""
        return site.rules is self.deny_all

    def forbidding(self, site: NamedSite, url: str) -> str | None:
        """The line of the robots.txt in force by which `url` may not be fetched.

        None where it may, and where the whole site is refused for want of a robots.txt.
        """
        if site.rules is None or self.denies_all(site):
            return None
        return site.rules.forbidding(self._agent, url)
