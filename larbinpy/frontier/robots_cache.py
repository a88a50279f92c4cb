"""The robots.txt files in force, of as many sites as there are.

A matcher takes some 300 bytes a rule, packed text a sixth of that and less. So each site
has its robots.txt packed, and only those that were used lately are kept ready as well.
Sites with the very same text, as many have from the same software, share both.
"""

import re
import zlib

from larbinpy.fetch.robots import Rules
from larbinpy.storage.lru import LruBudget

#: Lines of all matchers together: some 30 MB at most, 2,500 sites of 40 lines. Making one
#: again takes about 4 us a line.
_LINES = 100_000
#: These texts are short or very repetitive: harder packing gains nothing.
_LEVEL = 1

#: What makes the same text another one for each site, and no rule.
_SITEMAP = re.compile(rb"^sitemap:[^\r\n]*", re.IGNORECASE | re.MULTILINE)

_NOTHING = b""
_EVERYTHING = b"User-agent: *\nDisallow: /\n"


class PackedRobots:
    """The rules of one robots.txt, in little room."""

    __slots__ = ("_book", "packed")

    def __init__(self, book: "RobotsCache", packed: bytes) -> None:
        self._book = book
        self.packed = packed

    def __repr__(self) -> str:
        return f"<Kept {self.size} bytes>"

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.packed)

    def allowed(self, agent: str, url: str) -> bool:
        """Whether `agent` may fetch `url`, in canonical spelling."""
        return not self.packed or self._book.rules(self).allowed(agent, url)

    def forbidding(self, agent: str, url: str) -> str | None:
        """The line by which `agent` may not fetch `url`; None where it may."""
        return self._book.rules(self).forbidding(agent, url) if self.packed else None


class RobotsCache:
    """Keeps robots.txt files, and of those used lately the matchers."""

    def __init__(self) -> None:
        self._ready: dict[bytes, tuple[PackedRobots, Rules]] = {}
        self._budget: LruBudget[bytes] = LruBudget(_LINES)
        #: Of a site that has no robots.txt.
        self.allow_all = PackedRobots(self, _NOTHING)
        #: Of a site whose robots.txt cannot be had.
        self.deny_all = PackedRobots(self, zlib.compress(_EVERYTHING, _LEVEL))

    def __repr__(self) -> str:
        return f"<Rulebook {len(self._ready)} matchers, {self._budget.total} lines>"

    def keep(self, body: bytes, rules: Rules) -> PackedRobots:
        """Keep the robots.txt `body`; `rules` is what it says."""
        body = _SITEMAP.sub(b"", body).strip()
        if not body:
            return self.allow_all
        packed = zlib.compress(body, _LEVEL)
        if packed in self._ready:
            return self._ready[packed][0]
        kept = PackedRobots(self, packed)
        self._make_ready(kept, rules, body)
        return kept

    def rules(self, kept: PackedRobots) -> Rules:
        """What a robots.txt says."""
        ready = self._ready.get(kept.packed)
        if ready is not None:
            self._budget.touch(kept.packed)
            return ready[1]
        body = zlib.decompress(kept.packed)
        rules = Rules.parse(body)
        self._make_ready(kept, rules, body)
        return rules

    def _make_ready(self, kept: PackedRobots, rules: Rules, body: bytes) -> None:
        self._ready[kept.packed] = (kept, rules)
        self._budget.use(kept.packed, 1 + body.count(b"\n") + body.count(b"\r"))
        for other in self._budget.surplus():
            del self._ready[other]
