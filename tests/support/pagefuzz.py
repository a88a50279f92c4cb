"""Compares the compiled scan of a page with the tree, which is the definition.

`scripts/fuzz-pages` compares hundreds of thousands of odd pages; the tests, some thousands.
"""

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import NamedTuple

from larbinpy.parse.html import read_tree
from larbinpy.parse.link import Collector, Kind
from tests.support.oddpages import AGENT, Page

#: Adds the links of a page to a Collector; None leaves the page to the tree.
Reader = Callable[[bytes, str | None, Collector], str | None]

#: Seconds of CPU time that a page may take the scan even if the tree is faster.
FLOOR = 0.0002
#: The most that the scan may take of the tree's time. A page of nothing but rare tags, for which
#: the scan asks the tree, takes it 1.2 times as long on an idle machine, 1.3 times on a busy one.
SLOWEST = 1.5
#: Readings of a page that seems slow.
_TIMES = 10
#: Links that the header of each page has; some occur in the pages as well, as other kinds.
_EARLIER = (("p1", Kind.IMAGE, False), ("p2", Kind.PAGE, True), ("p3", Kind.REQUISITE, False))
#: Most readings of a page while it is shrunk.
_PATIENCE = 3000
_HEADER_OF_BYTES = bytes.__basicsize__ - 1


class Answer(NamedTuple):
    """The result of reading a page."""

    links: list[tuple[str, str, bool]]
    charset: str | None
    noindex: bool
    nofollow: bool


class Finding(NamedTuple):
    """A page that is read wrongly, as small as it could be made."""

    what: str
    page: Page
    expected: object = None
    found: object = None

    def __str__(self) -> str:
        label = (
            "" if self.page.http_charset is None else f", HTTP charset {self.page.http_charset!r}"
        )
        lines = [f"{self.what} ({self.page.kind}), {self.page.url}{label}", f"  {self.page.body!r}"]
        if self.expected is not None:
            lines += [f"  tree {self.expected}", f"  scan {self.found}"]
        return "\n".join(lines)


def answer(reader: Reader, page: Page) -> tuple[Answer, bool]:
    """The links and words that `reader` reads in `page`, and whether it left the page to the tree.

    A reader that leaves a page must leave the Collector as it was, so the tree goes on with that.
    """
    out = Collector(page.url, AGENT)
    for earlier in _EARLIER:
        out.add(*earlier)
    charset = reader(page.body, page.http_charset, out)
    left = charset is None
    if left:
        charset = read_tree(page.body, page.http_charset, out)
    parsed = out.parsed(charset)
    links = [(link.url, link.kind.value, link.nofollow) for link in parsed.links]
    return Answer(links, parsed.charset, parsed.noindex, parsed.nofollow), left


def difference(expected: Answer, found: Answer, body: bytes) -> str | None:
    """Name the first difference between two answers; None if they are equal.

    The tree moves elements out of tables, so the order of links counts on pages without tables.
    """
    if set(expected.links) != set(found.links):
        return "links differ"
    if len(expected.links) != len(found.links):
        return "a link occurs twice"
    if expected.links != found.links and b"<table" not in body.lower():
        return "order differs"
    if expected.charset != found.charset:
        return "charset differs"
    return None if expected[2:] == found[2:] else "robots flags differ"


def compare(scan: Reader, page: Page) -> tuple[Finding | None, bool]:
    """A finding, if the scan and the tree differ, and whether the scan left the page."""
    expected, _ = answer(read_tree, page)
    try:
        with fenced(page.body):
            found, left = answer(scan, page)
    except Exception as error:
        return Finding(f"raised {type(error).__name__}: {error}", page), False
    what = difference(expected, found, page.body)
    if what is None:
        return None, left
    if left:
        what = f"the page was left, but {what}"
    return Finding(what, page, _unlike(expected, found), _unlike(found, expected)), left


def _unlike(one: Answer, other: Answer) -> Answer:
    """`one` without the links that both have, unless only their order differs."""
    links = [link for link in one.links if link not in other.links]
    return one if set(one.links) == set(other.links) else one._replace(links=links)


# -- shrinking


def shrunk(finding: Finding, scan: Reader) -> Finding:
    """The finding of the smallest page that still differs in the same way."""
    what = finding.what
    left = _PATIENCE

    def differs(page: Page) -> bool:
        nonlocal finding, left
        left -= 1
        found, _ = compare(scan, page) if left > 0 else (None, False)
        if found is None or found.what != what:
            return False
        finding = found
        return True

    differs(finding.page._replace(http_charset=None))
    size = len(finding.page.body) // 2
    while size and left > 0:
        # Pieces are tried from the end, where a piece is least likely to change what follows.
        start = len(finding.page.body) - size
        before = len(finding.page.body)
        while start > -size and left > 0:
            body = finding.page.body
            differs(finding.page._replace(body=body[: max(start, 0)] + body[start + size :]))
            start -= size
        if size > 1 or len(finding.page.body) == before:
            size //= 2
    return finding


# -- the fence


@contextmanager
def fenced(body: bytes) -> Iterator[None]:
    """Have AddressSanitizer, if it is loaded, refuse the byte behind `body`.

    Bytes end with a zero byte of their own, so reading one byte too many is no overrun of the
    memory that was allocated.
    """
    poison = getattr(_PROGRAM, "__asan_poison_memory_region", None)
    if poison is None or len(body) < 2:  # such short bytes are constants of the interpreter
        yield
        return
    end = ctypes.c_void_p(id(body) + _HEADER_OF_BYTES + len(body))
    poison(end, ctypes.c_size_t(1))
    try:
        yield
    finally:
        _PROGRAM.__asan_unpoison_memory_region(end, ctypes.c_size_t(1))


_PROGRAM = ctypes.CDLL(None)


# -- the tally


@dataclass
class Tally:
    """Compares pages, and counts."""

    pages: Counter[str] = field(default_factory=Counter)
    #: Pages that the scan left to the tree, by kind.
    left: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    #: The largest ratio of the scan's time to that of the tree, of pages above the floor.
    slowest: float = 0.0

    def run(self, scan: Reader, pages: Iterable[Page], timed: bool = False) -> None:
        """Compare `pages` up to the first finding."""
        for page in pages:
            self.judge(scan, page, timed)
            if self.findings:
                return

    def judge(self, scan: Reader, page: Page, timed: bool = False) -> None:
        """Compare one page, and if `timed`, the times that both readers take."""
        self.pages[page.kind] += 1
        finding, left = compare(scan, page)
        self.left[page.kind] += left
        if finding is not None:
            self.findings.append(shrunk(finding, scan))
        elif timed:
            self._time(scan, page)

    def _time(self, scan: Reader, page: Page) -> None:
        taken = time_of(scan, page)
        if taken < FLOOR:
            return
        # Again, in turn: other load on the machine may slow down some.
        tree = time_of(read_tree, page)
        for _ in range(_TIMES):
            taken = min(taken, time_of(scan, page))
            tree = min(tree, time_of(read_tree, page))
            if taken <= SLOWEST * tree:
                break
        if taken < FLOOR:
            return
        self.slowest = max(self.slowest, taken / tree)
        if taken > SLOWEST * tree:
            times = f"the scan took {1e6 * taken:.0f} us, the tree {1e6 * tree:.0f} us"
            self.findings.append(Finding(times, page))

    def add(self, other: "Tally") -> None:
        self.pages += other.pages
        self.left += other.left
        self.findings += other.findings
        self.slowest = max(self.slowest, other.slowest)


def time_of(reader: Reader, page: Page) -> float:
    """CPU seconds that `reader` takes, which does not include the links as objects."""
    out = Collector(page.url, AGENT)
    started = process_time()
    reader(page.body, page.http_charset, out)
    return process_time() - started
