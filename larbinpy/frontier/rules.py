"""The ordered rules of a crawl (`accept`, `reject`): the first that matches a URL decides.

Media type and size are known only once the headers are there, and depth and hops only for a link
on a page. Until then, a rule that tests them is open: it may match. `LiveRules` are those in force
while a crawl runs: those of the operator's console before the configured.

`UrlPatterns` says which of many patterns match a URL, in a time that most do not lengthen. Most
globs have a whole segment that each URL they match must have, too: `**/old/**` has `old`. A dict
finds them by the segments of the URL, as ad blockers find their filters by words; a glob is
tested only where its rarest segment is there. Other globs and all regular expressions are tested
together (`re2.Set`).

RE2 takes a time linear in the length of the URL for any pattern. A set takes one pass for all of
its patterns, by a deterministic automaton whose states are made when they are needed. If they do
not fit in its memory even after it was emptied, the set reports no match at all (google/re2 issue
136). So each set has a pattern that matches everything: if that is missing from the answer, the
patterns are tested one by one, which never fails. The same is done if a set is too large to be
compiled.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from typing import Any, NamedTuple

from larbinpy.config import patterns
from larbinpy.config.patterns import HostPattern, HostPatterns, registered_domain
from larbinpy.config.rule import (
    REGEX_MEMORY,
    Domain,
    Glob,
    Host,
    Listed,
    Number,
    Regex,
    Rule,
    Type,
    address_key,
    parse_rule,
    regex_options,
)
from larbinpy.url import site_of, split

#: Memory of the automaton of one set (bytes). With a tenth of it, a thousand regular expressions
#: take ten times as long, because states are made again and again.
_SET_MEMORY = 64 << 20
#: Segments that most URLs have.
_COMMON = frozenset(("", "http:", "https:", "*"))

UrlPattern = Glob | Regex


def required_segments(glob: str) -> set[str]:
    """The whole segments, between slashes, that each URL matched by `glob` has."""
    found: set[str] = set()
    texts = patterns.literals(glob)
    for place, text in enumerate(texts):
        inner = text.split("/")
        # A segment next to a wildcard may be longer in the URL.
        found.update(inner[place > 0 : len(inner) - (place < len(texts) - 1)])
    return found - _COMMON


class _Set:
    """Some patterns that are tested together, each with its number; compiled when first used."""

    def __init__(self, rows: Sequence[tuple[int, UrlPattern]], memory: int) -> None:
        self._rows = rows
        self._memory = memory
        self._match: Callable[[bytes], list[int]] | None = None
        self._numbers = [number for number, _ in rows]

    def matches(self, url: bytes) -> Sequence[int]:
        """The numbers of the patterns that match."""
        found = (self._match or self._compiled())(url)
        if len(found) == 1:  # the pattern that matches everything
            return ()
        if not found:
            return self._one_by_one(url)
        numbers, last = self._numbers, len(self._numbers)
        return [numbers[k] for k in found if k != last]

    def _compiled(self) -> Callable[[bytes], list[int]]:
        import re2

        together = re2.Set.SearchSet(regex_options(self._memory))
        for _, pattern in self._rows:
            together.Add(expression(pattern))
        together.Add("")
        try:
            together.Compile()
        except re2.error:
            self._match = _no_answer
        else:
            # The method of the extension itself: `Set.Match` takes twice as long.
            self._match = together._set.Match
        return self._match

    def _one_by_one(self, url: bytes) -> list[int]:
        return [number for number, pattern in self._rows if matches(pattern, url)]


def _no_answer(url: bytes) -> list[int]:
    return []


class UrlPatterns:
    """The different patterns of some rules; each has a number, its position."""

    def __init__(self, patterns: Sequence[UrlPattern], memory: int = _SET_MEMORY) -> None:
        """`memory` (bytes) of the automaton of each set."""
        required = {
            number: required_segments(pattern.text)
            for number, pattern in enumerate(patterns)
            if isinstance(pattern, Glob)
        }
        uses = Counter(segment for some in required.values() for segment in some)
        by_segment: dict[str, list[tuple[int, UrlPattern]]] = {}
        others: list[tuple[int, UrlPattern]] = []
        for number, pattern in enumerate(patterns):
            rarest = min(required.get(number, ()), key=lambda s: (uses[s], s), default=None)
            rows = others if rarest is None else by_segment.setdefault(rarest, [])
            rows.append((number, pattern))
        self._by_segment = {segment: _Set(rows, memory) for segment, rows in by_segment.items()}
        self._has_none = self._by_segment.keys().isdisjoint
        self._others = _Set(others, memory) if others else None
        self._count = len(patterns)

    def matching(self, url: str, segments: Sequence[str]) -> Sequence[int]:
        """The numbers of the patterns that match `url`, in no order.

        `segments` are the parts of `url` between slashes.
        """
        found: Sequence[int] = () if self._others is None else self._others.matches(url.encode())
        if not self._has_none(segments):
            found = [*found]
            for segment in self._by_segment.keys() & segments:
                found += self._by_segment[segment].matches(url.encode())
        return found


def expression(pattern: UrlPattern) -> str:
    """The regular expression to search for."""
    if isinstance(pattern, Regex):
        return f"(?:{pattern.text})"
    return rf"\A{patterns.regex(pattern.text)}\z"


def matches(pattern: UrlPattern, url: bytes) -> bool:
    """Whether one pattern matches, in a time linear in the length of `url`."""
    return bool(_searcher(pattern)(url))


@cache
def _searcher(pattern: UrlPattern) -> Any:
    import re2

    return re2.compile(expression(pattern).encode(), regex_options(2 * REGEX_MEMORY)).search


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
    #: Lists of patterns, each with those of them that are no beginnings.
    lists: "tuple[tuple[Listed, Rules | None], ...]"
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
        return self._first(url, sorted(ranks), matched, hosts, depth, hops, headers)

    def _first(
        self,
        url: str,
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
            if entry.lists and not _are_listed(entry, url):
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
        tuple((each, _others_of(each)) for each in found if isinstance(each, Listed)),
        Verdict(rule),
    )


def _others_of(listed: Listed) -> Rules | None:
    rules = [Rule(True, (each,)) for each in listed.others]
    return Rules(rules) if rules else None


def _are_listed(entry: _Entry, url: str) -> bool:
    """Whether each list of a rule has a pattern that matches `url`."""
    key = address_key(url)
    for listed, others in entry.lists:
        if listed.covers(key) or (others is not None and others.decide(url, None, None).rule):
            continue
        return False
    return True


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


#: The source of rules that came while the crawl ran.
CONSOLE = "console"


class LiveRules:
    """The ordered rules of a crawl, to which rules are added and from which they are dropped.

    A new rule comes first, because the first that matches decides. Changes outlive a resume, in
    which the configured rules may be others: then those that were dropped stay dropped.
    """

    def __init__(self, configured: Sequence[Rule]) -> None:
        self._configured = tuple(configured)
        self._added: list[Rule] = []
        #: Texts of configured rules.
        self._dropped: list[str] = []
        #: Whether the rules have ever changed, so that others let URLs pass that are queued.
        self.were_others = False

    @property
    def current(self) -> tuple[Rule, ...]:
        """The rules in force, in their order."""
        kept = (rule for rule in self._configured if rule.text not in self._dropped)
        return (*self._added, *kept)

    def add(self, accept: bool, pattern: str) -> Rule:
        """Put a rule before all others. Raises ValueError with a reason."""
        rule = parse_rule(accept, _unquoted(pattern)).at(CONSOLE)
        self._added = [rule, *(each for each in self._added if each.text != rule.text)]
        self.were_others = True
        return rule

    def drop(self, word: str) -> Rule:
        """Drop a rule by its number, from 1, or by its text. Raises ValueError with a reason."""
        rule = self._find(word)
        if rule.source == CONSOLE:
            self._added = [each for each in self._added if each is not rule]
        else:
            self._dropped.append(rule.text)
        self.were_others = True
        return rule

    def _find(self, word: str) -> Rule:
        rules = self.current
        if not rules:
            raise ValueError("there is no rule")
        if word.isdecimal() and word.isascii() and len(word) < 10:
            number = int(word)
            if not 1 <= number <= len(rules):
                raise ValueError(f"there is no rule {number}; the last is {len(rules)}")
            return rules[number - 1]
        found = [rule for rule in rules if _unquoted(word) in _names(rule)]
        if not found:
            raise ValueError(f"no rule is {word[:80]!r}; see rules")
        return found[0]

    # The state that is saved.

    def cut(self) -> dict[str, Any]:
        """The changes, and the texts of the rules in force, JSON-able."""
        added = [[rule.accept, _unquoted(rule.pattern)] for rule in self._added]
        return {
            "added": added,
            "dropped": list(self._dropped),
            "in_force": self._texts(),
            "were_others": self.were_others,
        }

    def load(self, changes: dict[str, Any]) -> None:
        """Make the changes of `cut`, and find out whether the configured rules are others now.

        Raises ValueError, TypeError or LookupError.
        """
        for accept, pattern in reversed(changes["added"]):
            self.add(bool(accept), str(pattern))
        self._dropped = [str(text) for text in changes["dropped"]]
        self.were_others = bool(changes["were_others"]) or changes["in_force"] != self._texts()

    def _texts(self) -> list[str]:
        """The rules in force; those of a file differ once its patterns do."""
        return [rule.text + rule.content for rule in self.current]


def _names(rule: Rule) -> set[str]:
    """The texts that name a rule: with and without its keyword, and quotes."""
    pattern = _unquoted(rule.pattern)
    return {rule.text, pattern, f"{rule.keyword} {pattern}"}


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
