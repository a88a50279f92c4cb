"""A web of some sites, computed by a rule: the links of each page, and its bytes.

Everything depends only on the seed and the page's place, so the server stores nothing and two
crawls see the same web. It is as skewed as real webs: the largest site has five times the pages
of the smallest, all sites link to the large ones, and half of a page's links are a menu shared
by its site. Of the other links many go to a few popular pages, and most pages are linked only
from their neighbours.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import accumulate

#: Pages of the largest and of the smallest site; sizes between them fall by equal factors.
PAGES = (5_000, 1_000)
#: Least and most: links on a page, bytes of a page, seconds until it is sent.
_LINKS = (20, 80)
_SIZE = (10_000, 30_000)
_DELAY = (0.01, 0.1)

# Shares of the links: to the menu, to neighbours, to another site; the other links go anywhere
# in the site. Half of the web is templates (Gibson, Punera, Tomkins: The volume and evolution of
# web page templates, 2005). The other shares are assumptions.
_TO_MENU = 0.5
_TO_NEIGHBOURS = 0.2
_TO_OTHERS = 0.1
_MENU = 40
_NEAR = 10

_WORDS = ("the", "web", "is", "what", "its", "pages", "say", "of", "each", "other", "and", "more")
_TEXT = " ".join(random.Random(0).choices(_WORDS, k=20_000))

#: A page: the number of its site and its number there; page 0 is the front page.
Place = tuple[int, int]


@dataclass(frozen=True)
class SitesWeb:
    """The pages of `sites` sites; `pages` has the most and the least pages of a site."""

    sites: int = 20
    pages: tuple[int, int] = PAGES
    seed: int = 1

    @cached_property
    def counts(self) -> list[int]:
        """Pages of each site, the largest first."""
        most, least = self.pages
        last = max(1, self.sites - 1)
        return [round(most * (least / most) ** (number / last)) for number in range(self.sites)]

    @cached_property
    def _popularity(self) -> list[float]:
        """Cumulative weights of the sites as targets, by Zipf's law."""
        return list(accumulate(1 / rank for rank in range(1, self.sites + 1)))

    def has(self, place: Place) -> bool:
        site, page = place
        return 0 <= site < self.sites and 0 <= page < self.counts[site]

    def fronts(self) -> list[Place]:
        """The front pages, as seeds."""
        return [(site, 0) for site in range(self.sites)]

    def links(self, place: Place) -> list[Place]:
        """Targets of the page's links, each once, in order."""
        return list(dict.fromkeys(self._targets(place, self._rng("links", place))))

    def _targets(self, place: Place, rng: random.Random) -> Iterator[Place]:
        site, page = place
        count = self.counts[site]
        for _ in range(rng.randint(*_LINKS)):
            kind = rng.random()
            if kind < _TO_MENU:
                yield site, rng.randrange(min(_MENU, count))
            elif kind < _TO_MENU + _TO_NEIGHBOURS:
                yield site, (page + rng.randint(-_NEAR, _NEAR)) % count
            elif kind < 1 - _TO_OTHERS:
                yield site, _zipf(rng, count)
            else:
                [other] = rng.choices(range(self.sites), cum_weights=self._popularity)
                yield other, _zipf(rng, self.counts[other])

    def delay(self, place: Place) -> float:
        """Seconds until the page is sent."""
        return self._rng("delay", place).uniform(*_DELAY)

    def body(self, place: Place, urls: Sequence[str]) -> bytes:
        """The page as HTML, with links to `urls` and text between them."""
        rng = self._rng("body", place)
        title = f"page {place[1]} of site {place[0]}"
        anchors = [f'<a href="{url}">{rng.choice(_WORDS)}</a>\n' for url in urls]
        room = (rng.randint(*_SIZE) - sum(map(len, anchors))) // (len(anchors) + 1)
        text = [f"<p>{self._prose(rng, room)}</p>{anchor}" for anchor in anchors]
        head = f"<!doctype html><title>{title}</title>\n<h1>{title}</h1>\n"
        return (head + "".join(text)).encode()

    @staticmethod
    def _prose(rng: random.Random, length: int) -> str:
        start = rng.randrange(len(_TEXT) // 2)
        return _TEXT[start : start + max(0, length)]

    def _rng(self, what: str, place: Place) -> random.Random:
        return random.Random(f"{self.seed} {what} {place}")


def _zipf(rng: random.Random, count: int) -> int:
    """A random number below `count`; the probability of n is proportional to 1 / (n + 1)."""
    return min(count, int((count + 1) ** rng.random())) - 1


class Hosts(Enum):
    """The form of the host in URLs."""

    #: The address of the site.
    ADDRESSES = "addresses"
    #: A name for each site.
    SITES = "sites"
    #: A name for each page.
    PAGES = "pages"


@dataclass(frozen=True)
class Spelling:
    """Converts places to URLs and back. `network`, such as "127.0.1.", begins the addresses."""

    hosts: Hosts
    network: str
    port: int

    def url(self, place: Place) -> str:
        site, page = place
        path = f"/p{page}.html" if page else "/"
        return f"http://{self._host(site, page)}:{self.port}{path}"

    def _host(self, site: int, page: int) -> str:
        if self.hosts is Hosts.ADDRESSES:
            return self.address(site)
        return f"s{site}.test" if self.hosts is Hosts.SITES else f"p{page}.s{site}.test"

    def address(self, site: int) -> str:
        return f"{self.network}{site + 1}"

    def place(self, host: str, path: str) -> Place | None:
        """The place of `path` at `host`, which has no port; None if there is none."""
        site = self.site(host)
        if site is None:
            return None
        number = "0" if path == "/" else path.removeprefix("/p").removesuffix(".html")
        return (site, int(number)) if number.isdigit() else None

    def site(self, host: str) -> int | None:
        """The site of `host`, a name or an address; None if there is none."""
        if host.startswith(self.network):
            number = host.removeprefix(self.network)
            return int(number) - 1 if number.isdigit() else None
        labels = host.lower().split(".")
        number = labels[-2][1:] if len(labels) > 1 and labels[-1] == "test" else ""
        return int(number) if number.isdigit() else None
