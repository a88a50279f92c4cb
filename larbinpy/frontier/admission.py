"""Which URLs the crawl takes: those in scope that were not seen before."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress

from larbinpy.frontier.recent_links import RecentHashes, RecentLinks
from larbinpy.frontier.scope.folding import Folding
from larbinpy.frontier.scope.scope import Candidate, Scope
from larbinpy.frontier.scope.traps import Traps
from larbinpy.native import native
from larbinpy.outcome import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.storage.seen import Seen
from larbinpy.url import Url, fingerprint, typed

#: Redirects in a row; browsers stop at 20, crawlers at 5 to 10.
_MAX_HOPS = 10
#: A sitemap that is looked for is remembered under another fingerprint than links to it: these
#: count even if it is not there.
_GUESSED = 0x9E3779B97F4A7C15


def key_of(url: Url) -> int:
    """The fingerprint under which a URL is remembered."""
    return fingerprint(url.href) ^ url.guess * _GUESSED


class Admission:
    """Decides which seeds and links become URLs of the crawl, and remembers them as seen.

    `wants`, a method of the operator's plug, is asked once about each link that is new.
    """

    def __init__(
        self,
        scope: Scope,
        seen: Seen,
        traps: Traps,
        folding: Folding,
        wants: Callable[[Url], bool] | None = None,
    ) -> None:
        self._scope = scope
        self._seen = seen
        self._traps = traps
        self._wants = wants
        self.use(folding)
        #: Links left out or already seen, by outcome, since the start.
        self.refused: Counter[Outcome] = Counter()
        #: Whether URLs were queued that had been seen, so that one may end twice.
        self.has_repeats = False

    def __repr__(self) -> str:
        return f"<Admission {self._scope!r} {len(self._seen)} seen>"

    def use(self, folding: Folding) -> None:
        """Remove the parameters of `folding` from links, from now on."""
        self.folding = folding
        self.forget_recent()

    def forget_recent(self) -> None:
        """Examine links again that were seen, folded or taken for traps: settings have changed."""
        self._recent = RecentLinks() if native is None else RecentHashes(native)

    def target(self, href: str, url: str) -> str:
        """The URL that a redirect from `href` to `url` counts as.

        Some sites redirect to set a parameter. Without it, that would lead back to `href`.
        """
        folded = self.folding.fold(url)
        return url if folded == href else folded

    def is_seen(self, href: str) -> bool:
        """Whether the canonical URL `href` was taken before."""
        return fingerprint(href) in self._seen

    def remember(self, href: str) -> None:
        """Count the canonical URL `href` as taken."""
        self._seen.add([fingerprint(href)])

    def asks(self, href: str) -> bool:
        """Whether the operator's plug wants a link to `href`; True if no plug decides."""
        return self._wants is None or self._wants(Url(href, self._scope.full_depth(href)))

    def seed(
        self, text: str, *, depth: int | None, priority: bool, again: bool
    ) -> Url | Outcome | None:
        """The URL of a seed, or the outcome that refuses it; None if it is not fetched here.

        The rules of scope do not apply to seeds; `again` takes even a URL that was seen.
        """
        href = typed(text)
        if href is None:
            return Outcome.BAD_URL
        [fresh] = self._seen.add([fingerprint(href)])
        self._scope.area.add([href], known=not fresh)
        if not (fresh or again):
            return Outcome.URL_DUP
        self.has_repeats = self.has_repeats or not fresh
        depth = self._scope.full_depth(href) if depth is None else depth
        return Url(href, depth, priority=priority, seed=True)

    def links(
        self,
        parent: Url,
        links: Sequence[Link],
        *,
        redirect: bool,
        sitemaps: bool = False,
        guess: bool = False,
    ) -> list[Url]:
        """The URLs of those `links` of a page that are wanted and new.

        `sitemaps`: the page is a robots.txt or an index of sitemaps, and all links lead to these.
        `guess`: they are sitemaps that nothing names; so is where such a URL redirects to.
        """
        if redirect and parent.guess:
            sitemaps = guess = True
        if redirect and parent.seed:
            self._scope.area.redirect(parent.href, [link.url for link in links])
        # Most links were seen before, so this is checked first: it takes a fraction of the time.
        links = self._scope.followed(links)
        unseen = self._unseen(links)
        if unseen:
            unseen = self._folded(parent, unseen, redirect)
        if not unseen:  # as on most pages of a site
            self.refused[Outcome.URL_DUP] += len(links)
            return []
        if guess:
            unseen = [(link, key ^ _GUESSED) for link, key in unseen]
        wanted, candidates, trapped = [], [], []
        for link, key in unseen:
            url = self._in_scope(parent, link, redirect, sitemaps)
            if isinstance(url, Url):
                url.guess = guess
                wanted.append(url)
                candidates.append(key)
            else:
                self.refused[url] += 1
                if url is Outcome.TRAP:
                    trapped.append(link)
        if trapped:
            # Pages of traps have hundreds of links to the others, each of which takes some us.
            self._recent.learn(trapped, [False] * len(trapped))
        new = self._new(wanted, candidates)
        self.refused[Outcome.URL_DUP] += len(links) - len(unseen) + len(wanted) - len(new)
        return new

    def _new(self, urls: list[Url], keys: list[int]) -> list[Url]:
        """Remember `urls` by their fingerprints; return those that are new and wanted."""
        new = compress(urls, self._seen.add(keys))
        return list(new) if self._wants is None else [url for url in new if self._accepts(url)]

    def _accepts(self, url: Url) -> bool:
        """Whether the operator's plug wants a new URL; counts it if not."""
        if self._wants is None or self._wants(url):
            return True
        self.refused[Outcome.REJECTED] += 1
        # Links that do not become URLs count as seen.
        self.refused[Outcome.URL_DUP] -= 1
        return False

    def _unseen(self, links: Sequence[Link]) -> list[tuple[Link, int]]:
        """The `links` that were not seen before, each with its fingerprint."""
        others, keys = self._recent.others(links)
        if not keys:
            return []
        unseen = self._absent(keys)
        # Only seen URLs are remembered: most URLs that are linked once are never linked again.
        self._recent.learn(others, unseen)
        return [(others[k], keys[k]) for k in compress(range(len(keys)), unseen)]

    def _absent(self, keys: list[int]) -> list[bool]:
        """For each of these fingerprints: whether its URL was not met before."""
        return self._seen.unseen(keys)

    def _folded(
        self, parent: Url, unseen: list[tuple[Link, int]], redirect: bool
    ) -> list[tuple[Link, int]]:
        """The `unseen` links without dropped parameters; without those that were seen so."""
        for link, _ in unseen:
            if "?" in link.url or ";" in link.url:
                break
        else:  # No other URL has parameters; the links of most pages have none.
            return unseen
        fold = partial(self.target, parent.href) if redirect else self.folding.fold
        spellings = [fold(link.url) for link, _ in unseen]
        different: dict[str, tuple[Link, int]] = {}
        seen = []
        for (link, key), url in zip(unseen, spellings, strict=True):
            if url == link.url:
                different.setdefault(url, (link, key))
            elif url not in different:
                key = fingerprint(url)
                if key in self._seen:
                    seen.append(link)
                else:
                    different[url] = Link(url, link.kind, link.nofollow), key
        if seen:
            self._recent.learn(seen, [False] * len(seen))
        return list(different.values())

    def _in_scope(self, parent: Url, link: Link, redirect: bool, sitemap: bool) -> Url | Outcome:
        # Redirects, requisites and sitemaps cost no depth, so their number in a row is bounded.
        hop = redirect or sitemap or link.kind is not Kind.PAGE
        if hop and parent.hops >= _MAX_HOPS:
            self._scope.left_out["hops"] += 1
            return Outcome.ERR_30X if redirect else Outcome.TOO_DEEP
        requisite = self._scope.is_requisite(parent, link, redirect)
        if not requisite and self._scope.ends_at(parent, redirect):
            self._scope.left_out["elsewhere"] += 1
            return Outcome.OUT_SITE
        candidate = Candidate(link.url, parent.href, redirect, link.kind, requisite, sitemap)
        outcome = self._scope.refuse(candidate, parent)
        if outcome is not None:
            return outcome
        depth = self._scope.depth(candidate, parent.depth)
        if depth < 0:
            self._scope.left_out["depthInSite"] += 1
            return Outcome.TOO_DEEP
        # Last, because this counts the URL as taken.
        if not self._traps.admits(link.url, link.kind):
            return Outcome.TRAP
        return Url(
            link.url,
            depth,
            via=parent.href,
            hops=parent.hops + 1 if hop else 0,
            priority=parent.priority if redirect else self._scope.privileged(link.url),
            seed=redirect and parent.seed,
            requisite=requisite,
            redirect=redirect,
            sitemap=sitemap,
        )
