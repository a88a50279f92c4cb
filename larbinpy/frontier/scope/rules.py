"""The ordered rules of a crawl (`accept`, `reject`): the first that matches a URL decides.

Media type and size are known only once the headers are there, and depth and hops only for a link
on a page. Until then, a rule that tests them is open: it may match.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from larbinpy.config.host_pattern import HostPattern, HostPatterns
from larbinpy.config.registered_domain import registered_domain
from larbinpy.config.rule import Domain, Glob, Host, Number, Regex, Rule, Type
from larbinpy.frontier.scope.url_patterns import UrlPattern, UrlPatterns
from larbinpy.url import site_of, split

#: Sites whose host conditions are remembered; testing them takes some us.
_SITES = 1 << 13


class Headers(NamedTuple):
    """The properties of a reply that rules test."""

    #: Lower case, no parameters; empty if none was sent.
    media_type: str
    #: Content-Length (bytes); None if there is none.
    size: int | None


class Verdict(NamedTuple):
    """The result of the rules for a URL."""

    #: The first rule that certainly matches; None if there is none.
    rule: Rule | None
    #: Rules before it that may match.
    open: tuple[Rule, ...] = ()
    #: Whether a rule for type or size was tested on the way: nothing was decided before.
    late: bool = False

    @property
    def may_accept(self) -> bool:
        """Whether a rule may accept the URL that certainly none rejects before."""
        return any(rule.accept for rule in (*self.open, self.rule) if rule is not None)


NO_VERDICT = Verdict(None)
_NO_HOSTS: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Entry:
    """A rule, with its conditions by the time at which they can be tested."""

    rule: Rule
    #: Numbers of URL patterns, and of hosts and domains, besides the one that leads here.
    patterns: frozenset[int]
    hosts: frozenset[int]
    numbers: tuple[Number, ...]
    types: tuple[re.Pattern[str], ...]
    sizes: tuple[Number, ...]
    verdict: Verdict


class Rules:
    """Rules in their order; pure values. A URL takes some us, with a thousand rules as with one.

    Each rule is filed under one of its URL patterns, else one of its hosts or domains; rules
    without either are tested for each URL. So few rules are looked at for each URL.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        patterns: dict[UrlPattern, int] = {}
        hosts: dict[HostPattern | str, int] = {}
        self._entries: list[_Entry] = []
        self._by_pattern: list[list[int]] = []
        self._by_host: list[list[int]] = []
        self._always: list[int] = []
        for rank, rule in enumerate(rules):
            entry = _entry(rule, patterns, hosts)
            self._entries.append(entry)
            self._by_pattern += [[] for _ in range(len(patterns) - len(self._by_pattern))]
            self._by_host += [[] for _ in range(len(hosts) - len(self._by_host))]
            if entry.patterns:
                first = max(entry.patterns)
                entry.patterns -= {first}
                self._by_pattern[first].append(rank)
            elif entry.hosts:
                first = max(entry.hosts)
                entry.hosts -= {first}
                self._by_host[first].append(rank)
            else:
                self._always.append(rank)
        self._matching = UrlPatterns(list(patterns)).matching if patterns else None
        self._names = HostPatterns((p, n) for p, n in hosts.items() if isinstance(p, HostPattern))
        self._domains = {name: n for name, n in hosts.items() if isinstance(name, str)}
        names = {each if isinstance(each, str) else each.name for each in hosts if _is_name(each)}
        #: A label of each name: a host that has none of them is in no host and in no domain.
        self._labels = frozenset(_rarest_labels(names))
        self._all_sites = bool(hosts) and not all(_is_name(each) for each in hosts)
        self._at_site = lru_cache(_SITES)(self._find_at_site)
        #: Whether a rule tests type or size.
        self.any_late = any(entry.types or entry.sizes for entry in self._entries)

    def __repr__(self) -> str:
        return f"<Rules {len(self._entries)}>"

    def _find_at_site(self, site: str) -> tuple[list[int], frozenset[int]]:
        """The rules that a site leads to, and the numbers of hosts and domains that match."""
        parts = split(site + "/")
        found = self._names.matching(parts.host, parts.port)
        if self._domains:
            domain = self._domains.get(registered_domain(parts.host))
            found += [] if domain is None else [domain]
        return [rank for number in found for rank in self._by_host[number]], frozenset(found)

    def decide(
        self, url: str, depth: int | None, hops: int | None, headers: Headers | None = None
    ) -> Verdict:
        """The verdict on a URL, `depth` links and `hops` away; None for what is not known yet."""
        ranks = self._always
        matched: Sequence[int] = ()
        hosts = _NO_HOSTS
        segments = url.split("/")
        if self._matching is not None:
            matched = self._matching(url, segments)
            if matched:
                ranks = [*ranks]
                for number in matched:
                    ranks += self._by_pattern[number]
        if self._labels or self._all_sites:
            authority = segments[2]
            # Ports and IPv6 addresses have colons, and their labels are not those of names.
            if (
                self._all_sites
                or ":" in authority
                or not self._labels.isdisjoint(authority.split("."))
            ):
                more, hosts = self._at_site(site_of(url))
                ranks = [*ranks, *more]
        if not ranks:
            return NO_VERDICT
        return self._first(sorted(ranks), matched, hosts, depth, hops, headers)

    def _first(
        self,
        ranks: Sequence[int],
        matched: Sequence[int],
        hosts: frozenset[int],
        depth: int | None,
        hops: int | None,
        headers: Headers | None,
    ) -> Verdict:
        possible: list[Rule] = []
        late = False
        for rank in ranks:
            entry = self._entries[rank]
            if not (entry.patterns.issubset(matched) and entry.hosts <= hosts):
                continue
            certain: bool | None = True
            if entry.numbers:
                certain = _all_hold(entry.numbers, depth, hops)
            if certain is not False and (entry.types or entry.sizes):
                late = True
                certain = _and(certain, None if headers is None else _suits(entry, headers))
            if certain:
                if not possible and not late:
                    return entry.verdict
                return Verdict(entry.rule, tuple(possible), late)
            if certain is None:
                possible.append(entry.rule)
        return Verdict(None, tuple(possible), late) if possible or late else NO_VERDICT


def _entry(
    rule: Rule, patterns: dict[UrlPattern, int], hosts: dict[HostPattern | str, int]
) -> _Entry:
    """The entry of `rule`; new patterns and hosts get numbers."""
    found = rule.conditions
    return _Entry(
        rule,
        frozenset(
            patterns.setdefault(each, len(patterns))
            for each in found
            if isinstance(each, Glob | Regex)
        ),
        frozenset(
            hosts.setdefault(each.pattern if isinstance(each, Host) else each.name, len(hosts))
            for each in found
            if isinstance(each, Host | Domain)
        ),
        tuple(each for each in found if isinstance(each, Number) and each.name != "size"),
        tuple(re.compile(translate(each.text)) for each in found if isinstance(each, Type)),
        tuple(each for each in found if isinstance(each, Number) and each.name == "size"),
        Verdict(rule),
    )


def _is_name(each: HostPattern | str) -> bool:
    """Whether it is a name, which is the end of each host that matches, and no glob."""
    return isinstance(each, str) or (each.glob is None and bool(each.name))


def _rarest_labels(names: Iterable[str]) -> Iterator[str]:
    """The label of each name that the fewest others have."""
    labels = [name.split(".") for name in names]
    uses = Counter(label for some in labels for label in set(some))
    for some in labels:
        yield min(some, key=lambda label: (uses[label], label))


def _and(first: bool | None, second: bool | None) -> bool | None:
    """Both; None if that depends on what is not known."""
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _all_hold(numbers: Iterable[Number], depth: int | None, hops: int | None) -> bool | None:
    certain: bool | None = True
    for number in numbers:
        value = depth if number.name == "depth" else hops
        certain = _and(certain, None if value is None else number.holds(value))
    return certain


def _suits(entry: _Entry, headers: Headers) -> bool:
    """Whether the headers satisfy the conditions on type and size; an unknown size never does."""
    size = headers.size
    return all(each.match(headers.media_type) for each in entry.types) and all(
        size is not None and each.holds(size) for each in entry.sizes
    )
