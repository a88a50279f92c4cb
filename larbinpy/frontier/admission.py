"""Which URLs the crawl takes: those in scope that were not seen before.

`RecentLinks` and `RecentHashes` cache the URLs that pages link to most, in front of the set of all
URLs seen. `Folding` removes parameters for tracking and sessions from links (dropParameters).
`Detours` are redirects that lead back to where they came from.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from functools import partial
from itertools import compress
from math import inf
from operator import not_
from types import ModuleType
from typing import Any

from larbinpy.frontier.scope import Candidate, Scope
from larbinpy.frontier.traps import Traps
from larbinpy.native import native
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind, Link, redirect_spelling
from larbinpy.parse.link import PackedLinks, buffers
from larbinpy.storage.seen import Seen
from larbinpy.url import (
    GUESS,
    PAGE,
    SITEMAP,
    Purpose,
    Url,
    canonical,
    fingerprint,
    fingerprints,
    host_of,
    resolve,
    typed,
    typed_spelling,
)

#: Most URLs that are kept (7 MB), and the length of the longest.
_MOST = 50_000
_LONGEST_LINK = 256
#: Sets of four hashes, 32 bytes each.
_SETS = 1 << 14


class RecentLinks:
    """Some seen URLs, as text: the most recently linked ones.

    Links that a site's pages have in common are on each of them, and computing a fingerprint
    takes ten times as long as a lookup here. With as many entries, "Efficient URL caching for
    World Wide Web crawling" (Broder, Najork and Wiener, 2003) reports four hits of five, for
    several ways to keep the most recent URLs. Here there are two halves: when the younger one
    is full, the elder one is dropped.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._half = most // 2
        self._younger: set[str] = set()
        self._elder: set[str] = set()

    def __len__(self) -> int:
        return len(self._younger | self._elder)

    def others(self, links: Sequence[Link]) -> tuple[Sequence[Link], list[int]]:
        """The `links` that are not in the cache, and the fingerprints of their URLs."""
        younger, elder = self._younger, self._elder
        others = []
        for link in links:
            url = link.url
            if url not in younger:
                if url in elder:
                    younger.add(url)
                else:
                    others.append(link)
        return others, fingerprints(link.url for link in others)

    def learn(self, links: Sequence[Link], unseen: Sequence[bool]) -> None:
        """Add the URLs of those `links` that are not `unseen`."""
        urls = (link.url for link in compress(links, map(not_, unseen)))
        self._younger.update([url for url in urls if len(url) <= _LONGEST_LINK])
        if len(self._younger) >= self._half:
            self._elder, self._younger = self._younger, set()


class RecentHashes:
    """The same cache for the compiled module: keyed hashes of 64 bits, in half a megabyte.

    The key is random, so nobody can find a URL that is taken for another. Even in C, the cache
    saves more than half: for a page of 80 links, four of five of them recent, it takes 6 us instead
    of 13 with a million URLs seen, and 9 instead of 22 with thirty million.
    """

    def __init__(self, native: ModuleType, sets: int = _SETS) -> None:
        """`sets` is a power of two; each set has four hashes, the most recent ones."""
        self._native = native
        self._memory = bytearray(os.urandom(16) + bytes(sets * 32))

    def __repr__(self) -> str:
        return f"<RecentHashes {len(self._memory)} bytes>"

    def others(self, links: Sequence[Link]) -> tuple[Sequence[Link], list[int]]:
        """As `RecentLinks.others`."""
        others, prints = self._native.unknown_links(self._memory, *buffers(links))
        return PackedLinks(*others), prints

    def learn(self, links: Sequence[Link], unseen: Sequence[bool]) -> None:
        """As `RecentLinks.learn`."""
        self._native.learn_links(self._memory, *buffers(links), unseen)


#: Names of parameters that are remembered, and the length of the longest: a megabyte. Sites use
#: few names, hostile ones any number.
_REMEMBERED, _LONGEST = 10_000, 60

#: A parameter of a path segment (RFC 3986, 3.3), such as ``;jsessionid=4A2F``.
_PATH_PARAMETER = re.compile(r";([^;=/]*)[^;/]*")
#: Parameters are separated by "&", on some sites by ";" (HTML 4.01, B.2.2).
_SEPARATOR = re.compile("([&;])")


class Folding:
    """Makes one URL of all those that differ in dropped parameters only."""

    def __init__(self, names: Sequence[str]) -> None:
        """`names` are globs, in any case; they match the whole name of a parameter."""
        # No sets of characters: "[" is part of names such as filter[color].
        globs = (translate(name.lower().replace("[", "[[]")) for name in names)
        self._match = re.compile("|".join(globs)).match if names else None
        self._verdicts: dict[str, bool] = {}

    def __bool__(self) -> bool:
        """Whether any parameter is dropped."""
        return self._match is not None

    def fold(self, url: str) -> str:
        """The canonical URL `url` without the dropped parameters. Idempotent."""
        if self._match is None or ("?" not in url and ";" not in url):
            return url
        head, _, query = url.partition("?")
        kept = self._kept(query) if self._has_dropped(query) else query
        path = self._path(head) if ";" in head else head
        if kept == query and path == head:
            return url
        # The rest may have dot segments: /a/..;jsessionid=1/b
        return resolve(f"{path}?{kept}" if kept else path) or url

    def dropped(self, url: str) -> list[str]:
        """The names of the parameters that `fold` removes from `url`, each once."""
        head, _, query = url.partition("?")
        names = [match[1] for match in _PATH_PARAMETER.finditer(head, head.index("/", 8))]
        names += [piece.partition("=")[0] for piece in _SEPARATOR.split(query)]
        return [name for name in dict.fromkeys(names) if self._drops(name)]

    def _drops(self, name: str) -> bool:
        verdict = self._verdicts.get(name)
        return self._judge(name) if verdict is None else verdict

    def _judge(self, name: str) -> bool:
        drops = self._match is not None and self._match(name.lower()) is not None
        if len(name) <= _LONGEST:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            self._verdicts[name] = drops
        return drops

    def _has_dropped(self, query: str) -> bool:
        """Whether a parameter of `query` is dropped; for most URLs, none is."""
        if ";" in query:
            query = query.replace(";", "&")
        verdicts = self._verdicts
        for piece in query.split("&"):
            name = piece.partition("=")[0]
            verdict = verdicts.get(name)
            if verdict or (verdict is None and self._judge(name)):
                return True
        return False

    def _kept(self, query: str) -> str:
        pieces = _SEPARATOR.split(query)
        kept = ""
        for place in range(0, len(pieces), 2):
            if not self._drops(pieces[place].partition("=")[0]):
                kept += (pieces[place - 1] if kept else "") + pieces[place]
        return kept

    def _path(self, head: str) -> str:
        # A host may contain ";", too.
        origin = head.index("/", 8)
        return head[:origin] + _PATH_PARAMETER.sub(self._keep, head[origin:])

    def _keep(self, match: re.Match[str]) -> str:
        return "" if self._drops(match[1]) else match[0]


#: Redirects in a row; browsers stop at 20, crawlers at 5 to 10.
_MAX_HOPS = 10
#: A sitemap that is looked for is remembered under another fingerprint than links to it: these
#: count even if it is not there.
_GUESSED = 0x9E3779B97F4A7C15


def key_of(url: Url) -> int:
    """The fingerprint under which a URL is remembered."""
    return fingerprint(url.href) ^ (url.purpose is GUESS) * _GUESSED


#: URLs that redirected, and hosts that set cookies with it, of which that is known: 3 MB.
_MOST_DETOURS = 10_000
#: How often a redirect leads back to the same URL.
_MOST_RETURNS = 3


class Detours:
    """Redirects that lead back: to their own URL, or to one that has redirected as well.

    Some servers want a URL in another spelling than the canonical one, which is the same resource
    here. Others want cookies that they set on the way. Then the URL is asked for again; any other
    way back is a circle. Either ends with the redirects in a row.
    """

    def __init__(self, most: int = _MOST_DETOURS) -> None:
        self._most = most
        # The URLs whose last reply was a redirect: how often their hosts had set a new cookie when
        # they were asked, and how often a redirect has led back to them.
        self._left: dict[int, tuple[float, int]] = {}
        self._cookies: dict[str, int] = {}
        # URLs whose canonical spelling their servers redirect to another one.
        self._respelled: dict[str, None] = {}

    def again(self, page: Page) -> bool:
        """Whether to ask again for the URL of a redirect, which then has the server's spelling."""
        url, spelling = page.url, redirect_spelling(page)
        if url.hops >= _MAX_HOPS or canonical(spelling) != url.href:
            return False
        is_asked = spelling == (url.spelling or url.href) or (
            spelling == url.href and url.href in self._respelled
        )
        if is_asked and not page.new_cookies:
            return False
        if not url.spelling:
            self._respelled[url.href] = None
            _bound(self._respelled, self._most)
        url.spelling = "" if spelling == url.href else spelling
        url.hops += 1
        return True

    def reloads(self, page: Page, href: str) -> bool:
        """Whether to ask again for the URL of a page that has set a cookie and loads `href`."""
        if href != page.url.href or page.url.hops >= _MAX_HOPS:
            self.leave(page)
            return False
        page.url.hops += 1
        return True

    def leave(self, page: Page) -> None:
        """Note that the URL of `page` has ended with this redirect."""
        key, cookies = fingerprint(page.url.href), self._cookies.get(page.url.host, 0)
        self.note_cookies(page)
        self._left[key] = cookies, self._left.get(key, (0, 0))[1]
        _bound(self._left, self._most)

    def note_cookies(self, page: Page) -> None:
        """Note the cookies of a reply, whether it is that of its URL or not."""
        if page.new_cookies:
            self._cookies[page.url.host] = self._cookies.get(page.url.host, 0) + 1
            _bound(self._cookies, self._most)

    def may_return(self, page: Page, href: str) -> bool:
        """Whether the redirect of `page`, which has not left yet, leads back to `href`."""
        cookies, returned = self._left.get(fingerprint(href), (inf, 0))
        new = page.new_cookies and page.url.host == host_of(href)
        return self._cookies.get(host_of(href), 0) + new > cookies and returned < _MOST_RETURNS

    def returns(self, page: Page, href: str) -> bool:
        """Let `page` leave; whether it leads back to `href`, whose host has set a cookie meanwhile.

        True once for each time that the URL redirects, and not without end.
        """
        is_back = self.may_return(page, href)
        if is_back:
            key = fingerprint(href)
            self._left[key] = inf, self._left[key][1] + 1
        self.leave(page)
        return is_back


def _bound(memory: dict[Any, Any], most: int) -> None:
    """Forget the oldest entry if there are more than `most`."""
    if len(memory) > most:
        del memory[next(iter(memory))]


#: Stands for the spellings of links that are canonical.
AS_THEY_ARE: Mapping[str, str] = {}


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
        self.scope = scope
        self.seen = seen
        self.traps = traps
        self._wants = wants
        self.use(folding)
        #: Sitemaps that were looked for, which are remembered, and are no URLs that were found.
        self.guessed = 0
        #: Links left out or already seen, by outcome, since the start.
        self.refused: Counter[Outcome] = Counter()
        self.detours = Detours()
        #: Whether URLs were queued that had been seen, so that one may end twice.
        self.has_repeats = False

    def use(self, folding: Folding) -> None:
        """Remove the parameters of `folding` from links, from now on."""
        self.folding = folding
        self.forget_recent()

    @property
    def fold(self) -> Callable[[str], str] | None:
        """Returns the URL that a link counts as now; None while no parameter is dropped."""
        return self.folding.fold if self.folding else None

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
        return fingerprint(href) in self.seen

    def remember(self, href: str) -> None:
        """Count the canonical URL `href` as taken."""
        self.seen.add([fingerprint(href)])

    def asks(self, href: str) -> bool:
        """Whether the operator's plug wants a link to `href`; True if no plug decides."""
        return self._wants is None or self._wants(Url(href, self.scope.full_depth(href)))

    def seed(
        self, text: str, *, depth: int | None, priority: bool, again: bool, label: str
    ) -> Url | Outcome | None:
        """The URL of a seed, or the outcome that refuses it; None if it is not fetched here.

        The rules of scope do not apply to seeds; `again` takes even a URL that was seen.
        """
        href = typed(text, views=self.scope.has_views)
        if href is None:
            return Outcome.BAD_URL
        [fresh] = self.seen.add([fingerprint(href)])
        self.scope.area.add([href], known=not fresh)
        if not (fresh or again):
            return Outcome.URL_DUP
        self.has_repeats = self.has_repeats or not fresh
        depth = self.scope.full_depth(href) if depth is None else depth
        spelling = typed_spelling(text)
        return Url(href, depth, priority=priority, seed=True, label=label, spelling=spelling)

    def redirected(self, page: Page, target: Link) -> Url | None:
        """The URL that a redirect leads back to, if it is to be asked for again."""
        if not self.detours.returns(page, target.url):
            return None
        url = self._in_scope(page.url, target, redirect=True, purpose=page.url.purpose)
        return url if isinstance(url, Url) else None

    def links(
        self,
        parent: Url,
        links: Sequence[Link],
        *,
        redirect: bool,
        purpose: Purpose = PAGE,
        spellings: Mapping[str, str] = AS_THEY_ARE,
    ) -> list[Url]:
        """The URLs of those `links` of a page that are wanted and new.

        Their `purpose` is `SITEMAP` if the page is a robots.txt or an index of sitemaps, and
        `GUESS` if nothing names them; what such a URL redirects to has its purpose. `spellings` are
        those of the page, or of its server, that are not canonical.
        """
        if redirect:
            purpose = parent.purpose
        if redirect and parent.seed:
            self.scope.area.redirect(parent.href, [link.url for link in links])
        # Most links were seen before, so this is checked first: it takes a fraction of the time.
        links = self.scope.followed(links)
        unseen = self._unseen(links)
        if unseen:
            unseen = self._folded(parent, unseen, redirect)
        if not unseen:  # as on most pages of a site
            self.refused[Outcome.URL_DUP] += len(links)
            return []
        if purpose is GUESS:
            unseen = [(link, key ^ _GUESSED) for link, key in unseen]
        wanted, candidates, trapped = [], [], []
        for link, key in unseen:
            url = self._in_scope(parent, link, redirect, purpose)
            if isinstance(url, Url):
                if spellings:  # Without dropped parameters it is another URL.
                    url.spelling = spellings.get(url.href, "")
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
        self.guessed += len(new) if purpose is GUESS else 0
        self.refused[Outcome.URL_DUP] += len(links) - len(unseen) + len(wanted) - len(new)
        return new

    def _new(self, urls: list[Url], keys: list[int]) -> list[Url]:
        """Remember `urls` by their fingerprints; return those that are new and wanted."""
        new = compress(urls, self.seen.add(keys))
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
        return self.seen.unseen(keys)

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
                if key in self.seen:
                    seen.append(link)
                else:
                    different[url] = Link(url, link.kind, link.nofollow), key
        if seen:
            self._recent.learn(seen, [False] * len(seen))
        return list(different.values())

    def _in_scope(self, parent: Url, link: Link, redirect: bool, purpose: Purpose) -> Url | Outcome:
        # Redirects, requisites and sitemaps cost no depth, so their number in a row is bounded.
        sitemap = purpose is not PAGE
        kind, requisite = link.kind, self.scope.is_requisite(parent, link, redirect)
        if kind is Kind.SHOWN and not (requisite and parent.hops < _MAX_HOPS):
            kind, requisite = Kind.PAGE, False
        hop = redirect or sitemap or kind is not Kind.PAGE
        if hop and parent.hops >= _MAX_HOPS:
            self.scope.left_out["hops"] += 1
            return Outcome.ERR_30X if redirect else Outcome.TOO_DEEP
        via = _site_of_list(parent)
        named = purpose is SITEMAP and _may_name(parent, link.url, redirect)
        # A sitemap on another host has pages of the site that names it.
        listed = via is not parent.href and (named or self.scope.area.has(link.url))
        if not (requisite or listed) and self.scope.ends_at(parent, redirect):
            self.scope.left_out["elsewhere"] += 1
            return Outcome.OUT_SITE
        candidate = Candidate(link.url, via, redirect, kind, requisite, sitemap)
        candidate.seed, candidate.named = redirect and parent.seed, named
        outcome = self.scope.refuse(candidate, parent)
        if outcome is not None:
            return outcome
        depth = self.scope.depth(candidate, parent.depth)
        if depth < 0:
            self.scope.left_out["depthInSite"] += 1
            return Outcome.TOO_DEEP
        # Last, because this counts the URL as taken.
        if not self.traps.admits(link.url, kind, parent.href):
            return Outcome.TRAP
        return Url(
            link.url,
            depth,
            via=via if sitemap else parent.href,
            hops=parent.hops + 1 if hop else 0,
            priority=parent.priority if redirect else self.scope.privileged(link.url),
            label=parent.label if redirect else "",
            seed=candidate.seed,
            requisite=requisite,
            sheet=parent.sheet if redirect else kind is Kind.SHEET,
            redirect=redirect,
            purpose=purpose,
        )


def _may_name(parent: Url, sitemap: str, redirect: bool) -> bool:
    """Whether a site says by `parent` that a sitemap is its own, wherever it is.

    A robots.txt does, and a sitemap by a redirect; an index may name those of its own host alone.
    """
    if redirect or parent.href == f"{parent.site}/robots.txt":
        return True
    return host_of(sitemap) == parent.host


def _site_of_list(page: Url) -> str:
    """A URL of the site whose pages `page` lists: of a sitemap, the robots.txt that names it.

    That may be on another host, to which no page of the sitemap has to belong.
    """
    return page.via or page.href if page.purpose is SITEMAP else page.href
