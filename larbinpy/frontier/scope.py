"""Scope: the rules that exclude URLs. They are chosen once, from the configuration."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from larbinpy.outcome import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks, with_kinds
from larbinpy.url import Url, host_of

#: Endings of pages and sitemaps, which are never forbidden.
_PAGE_ENDINGS = ("/", ".html", ".htm", ".xml", ".xml.gz")


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

    @property
    def external(self) -> bool:
        """Whether it leads to another host."""
        return host_of(self.url) != host_of(self.via)


#: Returns the outcome that excludes a candidate, or None.
Test = Callable[[Candidate], Outcome | None]


class Rule(NamedTuple):
    """One reason to exclude URLs."""

    #: A keyword of the configuration.
    name: str
    test: Test
    #: The reason, as the console shows it after the URL.
    why: str
    #: The values of `requisites` with which the rule does not apply to requisites.
    spares: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class ScopeSettings:
    """The settings that bound a crawl; units and meaning as in the configuration."""

    depth_in_site: int
    depth_by_site: bool
    no_external_links: bool
    lock_site: bool
    get_cgi: bool
    get_image: bool
    any_type: bool
    limit_to_domain: Sequence[str]
    forbidden_extensions: Sequence[str]
    #: Extensions that specificSearch looks for: wanted even if forbidden, and fetched first.
    privileged_extensions: Sequence[str]
    #: Which requisites of pages are fetched: "off", "site" or "everywhere".
    requisites: str = "off"


class Scope:
    """Applies the rules to each link and each redirect. Seeds are exempt."""

    def __init__(self, settings: ScopeSettings) -> None:
        self._settings = settings
        self._seed_hosts: dict[str, None] = {}
        self._privileged = tuple(e.lower() for e in settings.privileged_extensions)
        self._requisites = settings.requisites != "off"
        self._kinds: tuple[Kind, ...] = (Kind.PAGE,)
        if settings.any_type or self._requisites:
            self._kinds = tuple(Kind)
        elif settings.get_image:
            self._kinds = (Kind.PAGE, Kind.IMAGE)
        self._wanted = with_kinds(self._kinds)
        self._rules = list(self._chosen(settings))
        self._requisite_rules = [
            rule for rule in self._rules if settings.requisites not in rule.spares
        ]

    def _chosen(self, settings: ScopeSettings) -> Iterator[Rule]:
        # A style sheet may have a query, and an image may be on another host.
        if not settings.get_cgi:
            why = "it has a query, and getCGI is off"
            yield Rule("getCGI", no_query, why, spares=("site", "everywhere"))
        if settings.limit_to_domain:
            domains = within_domains(settings.limit_to_domain)
            why = "its host is in none of limitToDomain"
            yield Rule("limitToDomain", domains, why, spares=("everywhere",))
        if settings.forbidden_extensions:
            endings = without_extensions(settings.forbidden_extensions, self._privileged)
            yield Rule("forbiddenExtensions", endings, "forbiddenExtensions has its ending")
        if settings.lock_site:
            why = "lockSite keeps to the hosts of the seeds, and it is on another"
            yield Rule("lockSite", self._lock_site, why, spares=("everywhere",))
        if settings.no_external_links:
            why = "noExternalLinks leaves out links to other hosts"
            yield Rule("noExternalLinks", no_external, why, spares=("everywhere",))

    @property
    def seed_hosts(self) -> Set[str]:
        """The hosts that lockSite allows: those of the seeds, and those that seeds redirect to."""
        return self._seed_hosts.keys()

    def allow_hosts(self, hosts: Iterable[str]) -> None:
        """Add `hosts` to those of the seeds."""
        self._seed_hosts.update(dict.fromkeys(hosts))

    @property
    def depth_in_site(self) -> int:
        """The depth of seeds."""
        return self._settings.depth_in_site

    def __repr__(self) -> str:
        return f"<Scope {[rule.name for rule in self._rules]}>"

    def refuse(self, candidate: Candidate) -> Outcome | None:
        """The outcome that excludes `candidate`; None if no rule does."""
        for rule in self._requisite_rules if candidate.requisite else self._rules:
            outcome = rule.test(candidate)
            if outcome is not None:
                return outcome
        return None

    def refusing(self, candidate: Candidate) -> tuple[Outcome, Rule] | None:
        """As `refuse`, for a link that is not a requisite, together with the rule."""
        for rule in self._rules:
            outcome = rule.test(candidate)
            if outcome is not None:
                return outcome, rule
        return None

    def is_requisite(self, parent: Url, link: Link, redirect: bool) -> bool:
        """Whether a link is a requisite of the page, or where such a requisite redirects to."""
        needed = parent.requisite if redirect else link.kind is not Kind.PAGE
        return needed and self._requisites

    def ends_at(self, parent: Url) -> bool:
        """Whether the links of `parent` to other pages are not followed.

        This holds for a requisite from another host. If it is a page at all, it is not part of
        the site, but most likely that host's notice that the image is gone.
        """
        return parent.requisite and parent.host not in self._seed_hosts

    def _lock_site(self, candidate: Candidate) -> Outcome | None:
        return None if host_of(candidate.url) in self._seed_hosts else Outcome.OUT_SITE

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

        Redirects and requisites cost no depth; with depthBySite another host starts anew.
        """
        if self._settings.depth_by_site and candidate.external:
            return self._settings.depth_in_site
        same_page = candidate.redirect or candidate.kind is not Kind.PAGE
        return depth if same_page else depth - 1

    def privileged(self, url: str) -> bool:
        """Whether specificSearch looks for the extension of `url`."""
        return bool(self._privileged) and _file(url).endswith(self._privileged)


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
