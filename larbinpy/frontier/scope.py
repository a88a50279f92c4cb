"""Which URLs are wanted, by the rules and the other keywords that bound a crawl.

`SeedArea` is the part of the web around the seeds, to which `stay` and lockSite bind a crawl.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from larbinpy.config import Config
from larbinpy.config.patterns import registered_domain
from larbinpy.config.rule import Rule, Type
from larbinpy.frontier.rules import Headers, LiveRules, Rules, Verdict
from larbinpy.page import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks, with_kinds
from larbinpy.url import SITEMAP, Url, bare, host_of, site_of


class SeedArea:
    """The hosts of the seeds and of what they redirect to; for `stay`, more of their URLs.

    `stay` is page, prefix, host, domain or any. Schemes and ports make no difference. A redirect to
    another registered domain widens the area only if `follows` says so.
    """

    def __init__(self, stay: str, *, follows: bool = True) -> None:
        self._stay = stay
        self._follows = follows
        #: Hosts to which seeds redirect, and that are not in the area.
        self.strangers: set[str] = set()
        #: In the order in which they came.
        self._hosts: dict[str, None] = {}
        self._domains: set[str] = set()
        #: With page, the seeds; with prefix, their folders; without scheme and port. Each with
        #: the number of seeds that are there.
        self._places: Counter[str] = Counter()
        #: The most slashes in the path of a place: deeper folders of a URL are not looked up, which
        #: would take the square of the length of its path.
        self._deepest = 0

    @property
    def hosts(self) -> Set[str]:
        return self._hosts.keys()

    @property
    def places(self) -> Mapping[str, int]:
        return self._places

    def add(self, urls: Iterable[str], *, known: bool = False) -> None:
        """Widen the area by seeds; `known`: they may have been added before."""
        for url in urls:
            host = host_of(url)
            self.load([host], {})
            place = self._place(url)
            if place is not None and not (known and place in self._places):
                self._count(place, 1)

    def redirect(self, seed: str, targets: Iterable[str]) -> None:
        """Widen the area by what a seed redirects to.

        If ``/docs`` redirects to ``/docs/``, it is not a file in the folder ``/``, as it looked.
        """
        file = host_of(seed) + _path(seed)
        others = [url for url in targets if host_of(url) + _path(url) != file]
        if not self._follows:
            domain = registered_domain(host_of(seed))
            strange = [url for url in others if registered_domain(host_of(url)) != domain]
            self.strangers.update(map(host_of, strange))
            others = [url for url in others if url not in strange]
        if self._stay == "prefix" and any(_path(url) == _path(seed) + "/" for url in others):
            parent, folder = self._place(seed) or "", file + "/"
            if parent in self._places and folder not in self._places:
                self._places[parent] -= 1
                if not self._places[parent]:
                    del self._places[parent]
                self._count(folder, 1)
        self.add(others)

    def _count(self, place: str, seeds: int) -> None:
        self._places[place] += seeds
        self._deepest = max(self._deepest, place.count("/"))

    def _place(self, url: str) -> str | None:
        """The place of a seed in `places`; None if `stay` asks for hosts or domains."""
        if self._stay not in ("page", "prefix"):
            return None
        host, path = host_of(url), _path(bare(url))
        if self._stay == "page":
            return host + path
        path = path.partition("?")[0]
        # It was redirected there.
        if f"{host}{path}/" in self._places:
            return f"{host}{path}/"
        return host + path[: path.rindex("/") + 1]

    def load(self, hosts: Iterable[str], places: Mapping[str, int]) -> None:
        """Widen the area by saved hosts and places."""
        for host in hosts:
            self._hosts[host] = None
            if self._stay == "domain":
                self._domains.add(registered_domain(host))
        for place, seeds in places.items():
            self._count(place, seeds)

    def has_host(self, url: str) -> bool:
        return host_of(url) in self._hosts

    def has(self, url: str) -> bool:
        """Whether `url` is within the area that `stay` allows."""
        match self._stay:
            case "page":
                return host_of(url) + _path(url) in self._places
            case "prefix":
                return any(folder in self._places for folder in _folders(url, self._deepest))
            case "host":
                return host_of(url) in self._hosts
            case "domain":
                return registered_domain(host_of(url)) in self._domains
            case _:
                return True


def _path(url: str) -> str:
    return url[url.index("/", 8) :]


def _folders(url: str, most: int) -> Iterator[str]:
    """The folders above a URL, from the top, `most` at most, each after its host."""
    host, path = host_of(url), _path(url).partition("?")[0]
    end = -1
    for _ in range(most):
        end = path.find("/", end + 1)
        if end < 0:
            break
        yield host + path[: end + 1]


#: Endings of pages and sitemaps, which are never forbidden.
_PAGE_ENDINGS = ("/", ".html", ".htm", ".xml", ".xml.gz")

#: The area of each value of `stay` in words.
_STAY = {
    "page": "the seeds alone",
    "prefix": "the folders of the seeds",
    "host": "the hosts of the seeds",
    "domain": "the registered domains of the seeds",
}

#: The limits that keep a crawl to the area of its seeds.
_AREA = ("lockSite", "stay")

#: Stands for a page on another host.
ELSEWHERE = "http://elsewhere.invalid/"

#: Endings of what pages need to be displayed.
_ENDINGS = {
    Kind.IMAGE: ("avif", "gif", "ico", "jpeg", "jpg", "png", "svg", "webp"),
    Kind.SHEET: ("css",),
    Kind.REQUISITE: ("js", "mjs", "otf", "ttf", "woff", "woff2"),
}
#: Types of styles, scripts and manifests, which pages refer to as requisites.
_REQUISITE_TYPES = (
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/manifest+json",
)


# Not frozen: one is made for each new link, and freezing would take six times as long.
@dataclass(slots=True)
class Candidate:
    """The properties of a link that the rules test."""

    url: str
    #: The page that has the link.
    via: str
    redirect: bool
    kind: Kind = Kind.PAGE
    #: A page needs it to be displayed, and `requisites` asks for such links.
    requisite: bool = False
    #: A sitemap that robots.txt or an index of sitemaps names.
    sitemap: bool = False
    #: A seed redirects there.
    seed: bool = False
    #: A sitemap that is named for a site of the crawl. It may be anywhere: only its pages count.
    named: bool = False

    @property
    def external(self) -> bool:
        """Whether it leads to another host."""
        return host_of(self.url) != host_of(self.via)


#: Returns the outcome that excludes a candidate, or None.
Test = Callable[[Candidate], Outcome | None]
#: The same for a link on the page `parent`; without one, depth and hops are not known.
Refuse = Callable[[Candidate, Url | None], Outcome | None]


class Limit(NamedTuple):
    """One reason to exclude URLs that no rule (`accept`, `reject`) decides."""

    #: A keyword of the configuration.
    name: str
    test: Test
    #: The reason, as the console shows it after the URL.
    why: str
    #: The values of `requisites` with which the rule does not apply to requisites.
    spares: tuple[str, ...] = ()


class Reason(NamedTuple):
    """Why a URL is refused."""

    outcome: Outcome
    #: The rule, or the keyword of the limit.
    rule: str
    #: A text for users, as the console shows it after the URL.
    why: str


#: No rule accepts such a link: all pages after it would be those of a stranger.
_AVOIDED = Reason(
    Outcome.REJECTED,
    "loginFile",
    "loginFile: it ends the session of a login, or is a login page",
)


def _area_kind(config: Config) -> str:
    """The kind of area to keep. Links are checked on the pages of some area in any case."""
    return "host" if config.check_links and config.stay == "any" else config.stay


class Scope:
    """Applies rules and limits to each link and each redirect. Seeds are exempt.

    `depth_of` returns depthInSite by site key, if site blocks set it. `avoids` is whether a URL
    ends the session of a site with a login, or is its login page; None if no site has one.
    """

    def __init__(
        self,
        config: Config,
        depth_of: Callable[[str], int] | None = None,
        avoids: Callable[[str], bool] | None = None,
    ) -> None:
        self._config = config
        self._depth_of = depth_of
        self._avoids = avoids
        #: The hosts of the seeds, and what else `stay` keeps to.
        self.area = SeedArea(_area_kind(config), follows=config.follow_seed or config.check_links)
        self.has_views = config.has_views
        self._privileged = tuple(ending.lower() for _, ending in config.sought)
        self._requisites = config.requisites != "off"
        self._limits = list(self._chosen(config))
        # If they are off, only a page in a browser has some, which it needs to say anything.
        reach = config.requisites if self._requisites else "everywhere"
        self._requisite_limits = [limit for limit in self._limits if reach not in limit.spares]
        #: URLs that each rule has decided, by its text.
        self._decided: Counter[str] = Counter()
        #: Links that each limit has refused, by its name.
        self.left_out: Counter[str] = Counter()
        #: Whether the links of a page to other pages are not followed; the flag is for redirects.
        self.ends_at: Callable[[Url, bool], bool] = (
            self._ends_outside if config.check_links else self._ends_at_requisite
        )
        self.rules = LiveRules(config.rules)
        self.apply_rules()

    def apply_rules(self) -> None:
        """Apply `rules`, which have changed, from now on."""
        self._rule_list = rules = self.rules.current
        self._rules = Rules(rules)
        #: Returns the outcome that excludes a candidate; None if it is wanted.
        self.refuse: Refuse = self._by_rules if rules else self._by_limits
        self._refuse_others = self.refuse
        if self._avoids is not None:
            self.refuse = self._unless_avoided
        wanted = set(_kinds(self._config, self._requisites)).union(
            *(_kinds_of_type(each.text) for rule in rules if rule.accept for each in rule.conditions
              if isinstance(each, Type))
        )  # fmt: skip
        self._kinds = tuple(kind for kind in Kind if kind in wanted)
        self._wanted = with_kinds(self._kinds)

    def _chosen(self, config: Config) -> Iterator[Limit]:
        # A style sheet may have a query, and an image may be on another host.
        if not config.get_cgi:
            why = "it has a query, and getCGI is off"
            yield Limit("getCGI", no_query, why, spares=("site", "everywhere"))
        if config.limit_to_domain:
            domains = within_domains(config.limit_to_domain)
            why = "its host is in none of limitToDomain"
            yield Limit("limitToDomain", domains, why, spares=("everywhere",))
        if config.forbidden_extensions:
            endings = without_extensions(config.forbidden_extensions, self._privileged)
            yield Limit("forbiddenExtensions", endings, "forbiddenExtensions has its ending")
        if config.lock_site:
            why = "lockSite keeps to the hosts of the seeds, and it is on another"
            yield Limit("lockSite", self._lock_site, why, spares=("everywhere",))
        if config.stay != "any" and not config.check_links:
            why = f"stay {config.stay} keeps to {_STAY[config.stay]}, and it is elsewhere"
            yield Limit("stay", self._stay, why, spares=("everywhere",))
        if config.no_external_links:
            why = "noExternalLinks leaves out links to other hosts"
            yield Limit("noExternalLinks", no_external, why, spares=("everywhere",))

    def full_depth(self, url: str) -> int:
        """The depth of seeds on the site of `url`, which none of its URLs exceeds."""
        depth_of = self._depth_of
        return self._config.depth_in_site if depth_of is None else depth_of(site_of(url))

    def __repr__(self) -> str:
        return f"<Scope {[limit.name for limit in self._limits]} {self._rules!r}>"

    @property
    def type_keywords(self) -> str:
        """The keywords that name the types which are wanted besides pages."""
        specific = "specificSet, " if self._privileged else ""
        return f"{specific}anyType, getImage, requisites"

    @property
    def decided_by_rule(self) -> dict[str, int]:
        """Number of links that each rule has accepted or rejected, by its text.

        The rules in force come first, in their order; then those that were dropped.
        """
        return dict.fromkeys((rule.text for rule in self._rule_list), 0) | self._decided

    @property
    def places_of_rules(self) -> dict[str, str]:
        """The place where each rule was written, by its text."""
        return {rule.text: rule.source for rule in self._rule_list}

    def _unless_avoided(self, candidate: Candidate, parent: Url | None = None) -> Outcome | None:
        if self._is_avoided(candidate.url):
            self.count_avoided()
            return _AVOIDED.outcome
        return self._refuse_others(candidate, parent)

    @property
    def tests_seeds(self) -> bool:
        """Whether rules reject seeds, too."""
        return self._config.seed_rules

    def count_avoided(self) -> None:
        """Count a link as left out that `avoids` excludes, or a URL that did only once fetched."""
        self.left_out[_AVOIDED.rule] += 1

    def _is_avoided(self, url: str) -> bool:
        return self._avoids is not None and self._avoids(url)

    def _by_limits(self, candidate: Candidate, parent: Url | None = None) -> Outcome | None:
        reason = self._limiting(candidate)
        if reason is None:
            return None
        strangers = self.area.strangers
        is_strange = strangers and host_of(candidate.url) in strangers and reason.rule in _AREA
        self.left_out["followSeed" if is_strange else reason.rule] += 1
        return reason.outcome

    def _by_rules(self, candidate: Candidate, parent: Url | None = None) -> Outcome | None:
        verdict = self._verdict(candidate, parent)
        if verdict.may_accept:
            # Only a rule that certainly accepts it has decided.
            if verdict.rule is not None and not verdict.open:
                self._decided[verdict.rule.text] += 1
            return None
        if verdict.rule is not None:
            self._decided[verdict.rule.text] += 1
            return Outcome.REJECTED
        return self._by_limits(candidate)

    def _verdict(self, candidate: Candidate, parent: Url | None) -> Verdict:
        if parent is None:
            return self._rules.decide(candidate.url, None, None)
        depth = self.full_depth(candidate.url) - self.depth(candidate, parent.depth)
        hop = candidate.redirect or candidate.sitemap or candidate.kind is not Kind.PAGE
        hops = parent.hops + 1 if hop else 0
        return self._rules.decide(candidate.url, depth, hops)

    def rejecting(self, url: Url) -> Rule | None:
        """The rule that rejects `url`, which was queued before the rules changed; else None.

        Limits do not matter for it. Seeds are exempt without seedRules.
        """
        if url.via is None and not self._config.seed_rules:
            return None
        depth = self.full_depth(url.href) - url.depth
        verdict = self._rules.decide(url.href, depth, url.hops)
        return None if verdict.may_accept else verdict.rule

    def reject(self, url: Url) -> Rule | None:
        """The rule of `rejecting`, which counts as decided: the URL ends with that."""
        rule = self.rejecting(url)
        if rule is not None:
            self._decided[rule.text] += 1
        return rule

    def at_headers(self, url: Url, media_type: str, size: int | None) -> Reason | Rule | None:
        """The verdict on a reply, if it had to wait for type or size (bytes); a Rule accepts it.

        If an accept rule was open for the link and no rule decides after all, the limits do,
        because they did not for the link.
        """
        if not self._rules.any_late:
            return None
        depth = self.full_depth(url.href) - url.depth
        verdict = self._rules.decide(url.href, depth, url.hops, Headers(media_type, size))
        rule = verdict.rule
        if not verdict.late or (url.via is None and (rule is None or not rule.accept)):
            return None
        if rule is not None:
            self._decided[rule.text] += 1
            return rule if rule.accept else _rejected(rule)
        if not self._rules.decide(url.href, depth, url.hops).may_accept:
            return None
        return self._limiting(
            Candidate(
                url.href,
                url.via or "",
                url.redirect,
                requisite=url.requisite,
                sitemap=url.is_sitemap,
                seed=url.seed,
                named=url.purpose is SITEMAP,
            )
        )

    def refusing(self, candidate: Candidate) -> Reason | None:
        """The reason to refuse a link of which depth and hops are not known; None if it is wanted.

        A rule that may accept the link does not refuse it, except those of `avoids`.
        """
        if self._is_avoided(candidate.url):
            return _AVOIDED
        verdict = self.verdict(candidate.url)
        if verdict.may_accept:
            return None
        return self._limiting(candidate) if verdict.rule is None else _rejected(verdict.rule)

    def untaken(self, url: str) -> str:
        """The setting with which a page's need of `url`, by its ending, would be followed.

        Empty if such needs are followed, or if it has the ending of no part of a page.
        """
        ending = _file(url).rpartition(".")[2]
        kinds = [kind for kind, endings in _ENDINGS.items() if ending in endings]
        if not kinds or kinds[0] in self._kinds:
            return ""
        return "getImage or requisites" if kinds == [Kind.IMAGE] else "requisites"

    def takes_requisite(self, url: str) -> bool:
        """Whether `url` is wanted if a page needs it to be displayed."""
        via = url if self.area.has_host(url) else ELSEWHERE
        needed = Candidate(url, via, redirect=False, kind=Kind.IMAGE, requisite=True)
        return self._requisites and self.refusing(needed) is None

    def verdict(self, url: str, headers: Headers | None = None) -> Verdict:
        """The verdict of the rules on a link to `url` whose depth and hops are not known."""
        return self._rules.decide(url, None, None, headers)

    def _limiting(self, candidate: Candidate) -> Reason | None:
        if candidate.named:
            return None
        for limit in self._requisite_limits if candidate.requisite else self._limits:
            outcome = limit.test(candidate)
            if outcome is not None:
                return Reason(outcome, limit.name, limit.why)
        return None

    def is_requisite(self, parent: Url, link: Link, redirect: bool) -> bool:
        """Whether a link is a requisite of the page, or where such a requisite redirects to."""
        needed = parent.requisite if redirect else link.kind is not Kind.PAGE
        return needed and self._requisites

    def _ends_at_requisite(self, parent: Url, redirect: bool) -> bool:
        # If a requisite from another host is a page at all, it is not part of the site, but most
        # likely that host's notice that the image is gone.
        return parent.requisite and parent.host not in self.area.hosts

    def _ends_outside(self, parent: Url, redirect: bool) -> bool:
        # Outside, only robots.txt files have links, to sitemaps: pages there are only asked for.
        return not redirect and not self.area.has(parent.href)

    def _lock_site(self, candidate: Candidate) -> Outcome | None:
        if candidate.seed:
            return None
        return None if self.area.has_host(candidate.url) else Outcome.OUT_SITE

    def _stay(self, candidate: Candidate) -> Outcome | None:
        # `requisites site` takes requisites from the hosts of the seeds, wherever they are there.
        if candidate.seed or (candidate.requisite and self.area.has_host(candidate.url)):
            return None
        # A sitemap of the whole host may name pages of the folder.
        prefix = self._config.stay == "prefix"
        if candidate.sitemap and prefix and self.area.has_host(candidate.url):
            return None
        return None if self.area.has(candidate.url) else Outcome.OUT_SITE

    def followed(self, links: Sequence[Link]) -> Sequence[Link]:
        """The `links` of kinds that are followed.

        Pages are always followed, images with getImage, and all requisites with anyType or
        `requisites`, because only then their types are fetched. Links to types that
        specificSearch looks for are followed, too.
        """
        if isinstance(links, PackedLinks) and not self._privileged:
            return links.select(self._wanted)
        kinds, privileged = self._kinds, self.privileged
        return [link for link in links if link.kind in kinds or privileged(link.url)]

    def depth(self, candidate: Candidate, depth: int) -> int:
        """The depth of a link on a page of depth `depth`; below 0 it is too deep.

        Redirects, requisites and sitemaps cost no depth, but a sitemap is taken only for pages that
        it may add; with depthBySite another host starts anew.
        """
        if self._config.depth_by_site and candidate.external:
            return self.full_depth(candidate.url)
        same_page = candidate.redirect or candidate.kind is not Kind.PAGE
        left = depth if same_page else depth - 1
        if candidate.sitemap:
            left = depth if depth > 0 else -1
        return left if self._depth_of is None else min(left, self.full_depth(candidate.url))

    def privileged(self, url: str) -> bool:
        """Whether specificSearch looks for the extension of `url`."""
        return bool(self._privileged) and _file(url).endswith(self._privileged)


def _kinds(config: Config, requisites: bool) -> tuple[Kind, ...]:
    """The kinds of links that are followed."""
    if config.any_type or requisites:
        return tuple(Kind)
    pages = (Kind.PAGE, Kind.SHOWN)
    return (*pages, Kind.IMAGE) if config.get_image else pages


def _kinds_of_type(media_type: str) -> list[Kind]:
    """The kinds of links that may lead to a media type; `media_type` is a glob."""
    main = media_type.partition("/")[0]
    found = [Kind.IMAGE] if fnmatchcase("image", main) else []
    if any(fnmatchcase(name, main) for name in ("audio", "video", "font")) or any(
        fnmatchcase(name, media_type) for name in _REQUISITE_TYPES
    ):
        found += [Kind.SHEET, Kind.REQUISITE]
    return found


def _rejected(rule: Rule) -> Reason:
    return Reason(Outcome.REJECTED, rule.text, rule.described)


def _file(url: str) -> str:
    return url.partition("?")[0].lower()


def no_query(candidate: Candidate) -> Outcome | None:
    return Outcome.BAD_URL if "?" in candidate.url else None


def no_external(candidate: Candidate) -> Outcome | None:
    """noExternalLinks: as in Larbin, a redirect may lead to another host."""
    return Outcome.OUT_SITE if candidate.external and not candidate.redirect else None


def within_domains(domains: Sequence[str]) -> Test:
    """limitToDomain: `fr`, `.fr` and `example.com` match whole labels only."""
    names = {domain.strip(".").lower() for domain in domains}

    def limit_to_domain(candidate: Candidate) -> Outcome | None:
        host = host_of(candidate.url)
        while host not in names:
            _, dot, host = host.partition(".")
            if not dot:
                return Outcome.OUT_SITE
        return None

    return limit_to_domain


def without_extensions(forbidden: Sequence[str], privileged: tuple[str, ...]) -> Test:
    endings = tuple(extension.lower() for extension in forbidden)

    def forbidden_extensions(candidate: Candidate) -> Outcome | None:
        file = _file(candidate.url)
        if file.endswith(_PAGE_ENDINGS) or (privileged and file.endswith(privileged)):
            return None
        return Outcome.BAD_TYPE if file.endswith(endings) else None

    return forbidden_extensions
