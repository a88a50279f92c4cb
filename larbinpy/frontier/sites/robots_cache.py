"""The robots.txt files in force, compressed, for any number of sites.

A matcher takes some 300 bytes a rule, compressed text a sixth of that or less. So each site
has its robots.txt compressed, and only recently used files have a matcher as well. Sites with
the same text, which is common because it comes from the same software, share both.
"""

import re
import zlib

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.sizes import DEFAULT_SIZES
from larbinpy.storage.lru import LruBudget

#: These texts are short or very repetitive: better compression gains nothing.
_LEVEL = 1

#: Lines that differ between otherwise equal files and are not needed for matching.
_SITEMAP = re.compile(rb"^sitemap:[^\r\n]*", re.IGNORECASE | re.MULTILINE)

_NOTHING = b""
_EVERYTHING = b"User-agent: *\nDisallow: /\n"


class PackedRobots:
    """The rules of one robots.txt, compressed."""

    __slots__ = ("_cache", "packed")

    def __init__(self, cache: "RobotsCache", packed: bytes) -> None:
        self._cache = cache
        self.packed = packed

    def __repr__(self) -> str:
        return f"<PackedRobots {self.size} bytes>"

    @property
    def size(self) -> int:
        """Bytes of compressed text."""
        return len(self.packed)

    def allowed(self, agent: str, url: str) -> bool:
        """Whether `agent` may fetch `url`, in canonical spelling."""
        return not self.packed or self._cache.rules(self).allowed(agent, url)

    def forbidding(self, agent: str, url: str) -> str | None:
        """The line that forbids `agent` to fetch `url`; None if it may fetch it."""
        return self._cache.rules(self).forbidding(agent, url) if self.packed else None


class RobotsCache:
    """Compresses robots.txt files, and keeps the matchers of recently used ones.

    `most_lines` is how many lines all matchers together may have.
    """

    def __init__(self, most_lines: int = DEFAULT_SIZES.robots_lines) -> None:
        self._ready: dict[bytes, tuple[PackedRobots, Rules]] = {}
        self._budget: LruBudget[bytes] = LruBudget(most_lines)
        #: The rules of a site that has no robots.txt.
        self.allow_all = PackedRobots(self, _NOTHING)
        #: The rules of a site whose robots.txt cannot be fetched.
        self.deny_all = PackedRobots(self, zlib.compress(_EVERYTHING, _LEVEL))

    def __repr__(self) -> str:
        return f"<RobotsCache {len(self._ready)} matchers, {self._budget.total} lines>"

    def keep(self, body: bytes, rules: Rules) -> PackedRobots:
        """The robots.txt `body`, compressed; `rules` is `body` parsed."""
        body = _SITEMAP.sub(b"", body).strip()
        if not body:
            return self.allow_all
        packed = zlib.compress(body, _LEVEL)
        if packed in self._ready:
            return self._ready[packed][0]
        robots = PackedRobots(self, packed)
        self._make_ready(robots, rules, body)
        return robots

    def rules(self, robots: PackedRobots) -> Rules:
        """The matcher of a robots.txt, made again if it was evicted."""
        ready = self._ready.get(robots.packed)
        if ready is not None:
            self._budget.touch(robots.packed)
            return ready[1]
        body = zlib.decompress(robots.packed)
        rules = Rules.parse(body)
        self._make_ready(robots, rules, body)
        return rules

    def _make_ready(self, robots: PackedRobots, rules: Rules, body: bytes) -> None:
        self._ready[robots.packed] = (robots, rules)
        self._budget.use(robots.packed, 1 + body.count(b"\n") + body.count(b"\r"))
        for other in self._budget.surplus():
            del self._ready[other]
