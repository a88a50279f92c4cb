"""Many patterns of URLs at once: which of them match a URL, in a time that most do not lengthen.

Most globs have a whole segment that each URL they match must have, too: `**/old/**` has `old`. A
dict finds them by the segments of the URL, as ad blockers find their filters by words; a glob is
tested only where its rarest segment is there. Other globs and all regular expressions are tested
together (`re2.Set`).

RE2 takes a time linear in the length of the URL for any pattern. A set takes one pass for all of
its patterns, by a deterministic automaton whose states are made when they are needed. If they do
not fit in its memory even after it was emptied, the set reports no match at all (google/re2 issue
136). So each set has a pattern that matches everything: if that is missing from the answer, the
patterns are tested one by one, which never fails. The same is done if a set is too large to be
compiled.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from larbinpy.config import url_glob
from larbinpy.config.rule import REGEX_MEMORY, Glob, Regex, regex_options

#: Memory of the automaton of one set (bytes). With a tenth of it, a thousand regular expressions
#: take ten times as long, because states are made again and again.
_SET_MEMORY = 64 << 20
#: Segments that most URLs have.
_COMMON = frozenset(("", "http:", "https:", "*"))

UrlPattern = Glob | Regex


def required_segments(glob: str) -> set[str]:
    """The whole segments, between slashes, that each URL matched by `glob` has."""
    found: set[str] = set()
    texts = url_glob.literals(glob)
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

    def __repr__(self) -> str:
        return f"<_Set of {len(self._rows)}>"

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

    def __repr__(self) -> str:
        return f"<UrlPatterns {self._count}, by {len(self._by_segment)} segments>"

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
    return rf"\A{url_glob.regex(pattern.text)}\z"


def matches(pattern: UrlPattern, url: bytes) -> bool:
    """Whether one pattern matches, in a time linear in the length of `url`."""
    return bool(_searcher(pattern)(url))


@cache
def _searcher(pattern: UrlPattern) -> Any:
    import re2

    return re2.compile(expression(pattern).encode(), regex_options(2 * REGEX_MEMORY)).search
