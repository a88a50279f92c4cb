"""Broken links, each with all pages that have it, and redirects to their ends.

A link is broken, known to be, or refused to the crawl, which visitors may not be. After a check of
links, those to missing parts of pages (``#name``) are broken, too. A million pages with thirty
broken links each fit into memory (`PageUrls`).
"""

import re
from array import array
from collections import Counter
from collections.abc import (
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from larbinpy.errors import UserError, what_failed
from larbinpy.observe.report.log import Failure, LogSummary, Redirect
from larbinpy.output.links import CHECK, MOVED, NAME, CheckReader, LinkReader, has_part
from larbinpy.page import REFUSING, Outcome, circle_of, reason, status_among

#: Flag of the last page of a run; the first one is before it.
_LAST = 1 << 31
#: Pages in one piece.
_PIECE = 1000
#: Bits of the map by which URLs that are there twice are noticed.
_BITS = 1 << 26


class PageUrls:
    """URLs of pages by number, in the order in which they were added."""

    def __init__(self) -> None:
        # One text with a newline after each; a str for each would take twice the memory.
        self._text = bytearray()
        self._starts = array("Q", [0])
        self._map = bytearray(_BITS // 8)
        self._repeated: set[str] = set()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, url: str) -> None:
        """Add a URL, which may be there already."""
        self._text += url.replace("\n", "%0A").encode() + b"\n"
        self._starts.append(len(self._text))
        at, bit = divmod(hash(url) % _BITS, 8)
        if self._map[at] >> bit & 1:
            self._repeated.add(url)
        self._map[at] |= 1 << bit

    def between(self, first: int, last: int) -> list[str]:
        """The URLs from number `first` to `last`."""
        text = self._text[self._starts[first] : self._starts[last + 1] - 1]
        return text.decode().split("\n")

    def numbers(self, urls: Collection[str]) -> dict[str, list[int]]:
        """The numbers of those of `urls` that are there."""
        found: dict[str, list[int]] = {}
        for start in range(0, len(self) if urls else 0, _PIECE):
            end = min(start + _PIECE, len(self)) - 1
            for number, url in enumerate(self.between(start, end), start):
                if url in urls:
                    found.setdefault(url, []).append(number)
        return found

    def repeats(self) -> dict[int, int]:
        """For each number of a URL that is there several times, the first number of that URL."""
        found = self.numbers(self._repeated).values()
        return {each: some[0] for some in found if len(some) > 1 for each in some}


class PageNumbers:
    """Rising numbers of pages; runs of them take the space of two."""

    def __init__(self) -> None:
        self._runs = array("I")

    def __bool__(self) -> bool:
        return len(self._runs) > 0

    def add(self, first: int, last: int) -> None:
        """Add the numbers from `first` to `last`."""
        runs = self._runs
        before = runs[-1] & ~_LAST if runs else -2
        if before + 1 < first:
            runs.append(first)
        elif runs[-1] & _LAST:
            runs.pop()
        if before + 1 == first or last > first:
            runs.append(last | _LAST)

    def runs(self) -> Iterator[tuple[int, int]]:
        """The first and the last number of each run."""
        first = -1
        for number in self._runs:
            if number & _LAST:
                yield first, number & ~_LAST
                first = -1
            else:
                if first >= 0:
                    yield first, first
                first = number
        if first >= 0:
            yield first, first


#: A crawl follows at most ten redirects in a row.
_MOST_HOPS = 10
#: Stands for the outcome of a link to a part that the page does not have.
_NO_PART = "noPart"
_SAID_BY_DETAIL = (Outcome.ERR_30X.value, Outcome.BAD_URL.value, _NO_PART)
#: Most places of links (line and text) that are named.
_MOST_PLACES = 100_000


class Group(Enum):
    """What a link that leads to no page is for its site."""

    BROKEN = "broken"
    #: The server refuses the page to the crawl, and perhaps not to visitors.
    REFUSED = "refused"
    #: It was broken before, and is in the file of known faults.
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Judging:
    """How links are judged: by acceptStatus, brokenStatus and knownFaults."""

    accept: Sequence[str] = ()
    broken: Sequence[str] = ()
    known: Collection[str] = ()
    #: The folder that was checked, and the URL at which it was served; empty for sites.
    folder: str = ""
    origin: str = ""

    def group(self, url: str, failure: Failure) -> Group | None:
        """The group of a link that ended so; None if its status is accepted."""
        status = failure.status
        is_status = failure.outcome in _BY_STATUS and status >= 300
        if is_status and not status_among(status, self.broken):
            if status_among(status, self.accept):
                return None
            if status_among(status, REFUSING):
                return Group.REFUSED
        return Group.KNOWN if url in self.known else Group.BROKEN


_BY_STATUS = (Outcome.ERR_40X.value, Outcome.ERR_50X.value)
_USUAL = Judging()


def _with_part(url: str, part: str) -> str:
    """The URL of a part of a page, which does nothing to a terminal."""
    return f"{url}#{part if part.isprintable() else quote(part)}"


def _in_place(text: str, folder: str, origin: str) -> str:
    """The URL of a path in a folder that is served at `origin`; other URLs stay as they are."""
    return origin + text.removeprefix(folder) if text.startswith(folder) else text


#: As in lists of URLs: the "#" within one begins its part.
_COMMENT = re.compile(r"(?:^|\s)#.*")


def judging_of(folder: Path) -> Judging:
    """How the link check with the state in `folder` judges. Raises UserError."""
    judges = CheckReader(folder / CHECK).judges
    known: dict[str, None] = {}
    if judges.get("known"):
        try:
            text = Path(judges["known"]).read_text("utf-8-sig", "replace")
        except OSError as error:
            raise UserError(f"knownFaults {what_failed(error)}") from None
        lines = (_COMMENT.sub("", line).strip() for line in text.splitlines())
        known = dict.fromkeys(line for line in lines if line)
    pages, origin = judges.get("folder", ""), judges.get("origin", "")
    if pages:
        known = {_in_place(url, pages, origin): None for url in known}
    return Judging(judges.get("accept", ()), judges.get("broken", ()), known, pages, origin)


@dataclass(slots=True, frozen=True)
class BrokenLink:
    """A URL that pages link to, and that cannot be fetched."""

    url: str
    failure: Failure
    group: Group = Group.BROKEN
    #: The URLs that it redirects to, the last one broken; empty if it is broken itself.
    hops: tuple[str, ...] = ()
    #: Whether it was a seed.
    seed: bool = False

    @property
    def status(self) -> int:
        return self.failure.status

    @property
    def reason(self) -> str:
        """The reason in words; of a redirect, why it does not lead to a page."""
        outcome, status, detail, _ = self.failure
        return detail if outcome in _SAID_BY_DETAIL else reason(outcome, status, detail)


@dataclass(slots=True, frozen=True)
class RedirectChain:
    """A redirect and those that follow it."""

    url: str
    status: int
    #: Whether all its hops are permanent.
    permanent: bool
    hops: tuple[str, ...]


class BrokenLinks:
    """The broken links of a crawl, in the order of the log, and the pages that have each.

    Those that are refused or known are among them.
    """

    def __init__(self, summary: LogSummary, judging: Judging = _USUAL) -> None:
        self._judging = judging
        self.links = list(_broken(summary, judging))
        #: Why the pages are not all known; empty if they are.
        self.unknown = ""
        #: Number of links to parts of pages that were not looked for, by the reason.
        self.unseen: Counter[str] = Counter()
        self._places: dict[tuple[str, str], tuple[int, str]] = {}
        self._failed = summary.broken.keys()
        self._redirects = summary.redirects
        self._malformed = summary.malformed
        inner = {redirect.target for redirect in summary.redirects.values()}
        #: Redirects that a page links to, or that were seeds, as far as the log knows: it has the
        #: first URL that leads to each.
        self.linked_redirects = {
            url
            for url, redirect in summary.redirects.items()
            if url not in inner or redirect.via not in summary.redirects
        }
        self._pages = PageUrls()
        self._on = [PageNumbers() for _ in self.links]
        # Pages that are in the record twice.
        self._repeats: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.links)

    def of_group(self, group: Group) -> list[int]:
        """The numbers of the links of a group."""
        return [number for number, link in enumerate(self.links) if link.group is group]

    def page_count(self, group: Group) -> int:
        """Number of pages with links of a group."""
        runs = (self._runs(number) for number in self.of_group(group))
        marks = bytearray(len(self._pages))
        for first, last in chain.from_iterable(runs):
            marks[first : last + 1] = b"\1" * (last + 1 - first)
        return marks.count(1)

    def find_pages(self, folders: Sequence[Path]) -> None:
        """Find the pages of each link, and all `linked_redirects`, in the records in `folders`.

        Without a record, the first page is taken from the log.
        """
        for folder in folders:
            self._search_in(folder)
        self._add_from_log()
        for folder in folders:
            self._add_parts(CheckReader(folder / CHECK))
        self._repeats = self._pages.repeats()
        for folder in folders:
            self._find_places(CheckReader(folder / CHECK))

    def _add_parts(self, record: CheckReader) -> None:
        """Add the links to parts that the pages do not have."""
        wanted: dict[str, set[str]] = {}
        for _, linked in record.linked():
            for url, parts in linked.items():
                wanted.setdefault(url, set()).update(parts)
        missing = self._missing(record, wanted)
        on: dict[str, list[str]] = {}
        for page, linked in record.linked() if missing else ():
            for url in missing.keys() & linked.keys():
                for part in missing[url].intersection(linked[url]):
                    on.setdefault(_with_part(url, part), []).append(page)
        for url, pages in on.items():
            failure = Failure(_NO_PART, 0, "the page has no part of this name", pages[0])
            self._append(url, failure, pages)

    def _missing(self, record: CheckReader, wanted: dict[str, set[str]]) -> dict[str, set[str]]:
        """Those of the `wanted` parts that their pages lack, by the URLs of links."""
        moved = {url for url, parts in record.parts(self._redirects) if parts == MOVED}
        names: dict[str, list[str]] = {}
        for url in wanted:
            path = (url, *follow(url, self._redirects)[0])
            if moved.isdisjoint(path):
                names.setdefault(path[-1], []).append(url)
        missing: dict[str, set[str]] = {}
        seen = set()
        for page, parts in record.parts(names):
            if isinstance(parts, list):
                seen.add(page)
                known = frozenset(parts)
                for url in names[page]:
                    lacks = {part for part in wanted[url] if not has_part(known, part)}
                    missing[url] = lacks & missing.get(url, lacks)
            elif parts:
                seen.add(page)
                self.unseen["script"] += sum(len(wanted[url]) for url in names[page])
        for page in names.keys() - seen - self._failed:
            self.unseen["unread"] += sum(len(wanted[url]) for url in names[page])
        return {url: parts for url, parts in missing.items() if parts}

    def _find_places(self, record: CheckReader) -> None:
        urls = {link.url for link in self.links}
        pages = set(chain.from_iterable(self.pages(number) for number in range(len(self))))
        # The page of a part is told where its parts are not.
        told = urls | {url.partition("#")[0] for url in urls}
        for page, places in record.places(pages):
            for to in told.intersection(places):
                for part, (line, text) in places[to].items():
                    url = _with_part(to, part) if part else to
                    if len(self._places) < _MOST_PLACES:
                        if url in urls:
                            self._places[page, url] = line, text
                        elif to in urls:
                            self._places.setdefault((page, to), (line, text))

    @property
    def has_places(self) -> bool:
        """Whether it is known where in their pages links are."""
        return bool(self._places)

    def places_of(self, number: int) -> Iterator[tuple[str, int, str]]:
        """The pages that have the link `number`, with the line, 0 if unknown, and its text."""
        url, places = self.links[number].url, self._places
        return ((page, *places.get((page, url), (0, ""))) for page in self.pages(number))

    @property
    def mended(self) -> list[str]:
        """The known faults that were not found."""
        found = {link.url for link in self.links}
        return [url for url in self._judging.known if url not in found]

    def _append(self, url: str, failure: Failure, pages: Sequence[str]) -> None:
        group = self._judging.group(url, failure) or Group.BROKEN
        self.links.append(BrokenLink(url, failure, group))
        self._on.append(PageNumbers())
        self._add([(self._on[-1], pages)])

    def _search_in(self, folder: Path) -> None:
        try:
            self._search(LinkReader(folder / NAME))
        except FileNotFoundError:
            self.unknown = "keepLinks was off, so only the first page of each is known"
        except OSError as error:
            self.unknown = f"{what_failed(error)}, so only the first page of each is known"
        except UserError as error:
            self.unknown = f"{error}; only the first page of each is known"

    def _add_from_log(self) -> None:
        """Take from the log the page of each link that has none in the record.

        A robots.txt, for instance, names sitemaps. A URL that only a broken redirect leads to
        is no link of its own. Of the links that are no URLs, the log has all pages.
        """
        redirects = {link.url for link in self.links if link.hops}
        rows, self.links, self._on = zip(self.links, self._on, strict=True), [], []
        more: list[tuple[PageNumbers, list[str]]] = []
        for link, pages in rows:
            via = link.failure.via
            if not pages and via in redirects:
                continue
            if not pages and via is not None:
                more.append((pages, [via]))
            self.links.append(link)
            self._on.append(pages)
        self._add(more)
        for reference, urls in self._malformed.items():
            failure = Failure(Outcome.BAD_URL.value, 0, "not a URL", urls[0])
            self._append(reference, failure, urls)

    def _add(self, more: Sequence[tuple[PageNumbers, Sequence[str]]]) -> None:
        """Add pages by their URLs, which the record may have named."""
        known = self._pages.numbers({url for _, urls in more for url in urls})
        numbers = {url: found[0] for url, found in known.items()}
        for pages, urls in more:
            for url in urls:
                if url not in numbers:
                    numbers[url] = len(self._pages)
                    self._pages.add(url)
            for number in sorted({numbers[url] for url in urls}):
                pages.add(number, number)

    def _search(self, record: LinkReader) -> None:
        numbers = {record.hash.one(link.url): number for number, link in enumerate(self.links)}
        unlinked = [url for url in self._redirects if url not in self.linked_redirects]
        redirects = {record.hash.one(url): url for url in unlinked}
        wanted = frozenset((*numbers, *redirects))
        # Often all pages of a site have the same broken links: those of its frame.
        same: Set[int] = frozenset()
        on: list[PageNumbers] = []
        first = 0
        for page, hashes in record.pages():
            if wanted.isdisjoint(hashes):
                continue
            found = wanted.intersection(hashes)
            if found != same:
                self._note(on, first)
                same, first = found, len(self._pages)
                on = [self._on[numbers[each]] for each in found if each in numbers]
                self.linked_redirects.update(redirects[each] for each in found if each in redirects)
            if on:
                self._pages.add(page)
        self._note(on, first)

    def _note(self, on: Iterable[PageNumbers], first: int) -> None:
        """The links `on` are on all pages from number `first`."""
        for pages in on:
            pages.add(first, len(self._pages) - 1)

    def pages(self, number: int) -> Iterator[str]:
        """The pages that have the link `number`, each once."""
        return chain.from_iterable(self.page_pieces(number))

    def page_pieces(self, number: int) -> Iterator[list[str]]:
        """The same in lists, of some thousands at most."""
        piece: list[str] = []
        for first, last in self._runs(number):
            for start in range(first, last + 1, _PIECE):
                piece += self._pages.between(start, min(start + _PIECE - 1, last))
                if len(piece) >= _PIECE:
                    yield piece
                    piece = []
        if piece:
            yield piece

    def count(self, number: int) -> int:
        """The number of these pages."""
        return sum(last + 1 - first for first, last in self._runs(number))

    def _runs(self, number: int) -> Iterator[tuple[int, int]]:
        """The numbers of these pages, as runs from a first to a last."""
        runs, repeats = self._on[number].runs(), self._repeats
        if not repeats:
            yield from runs
            return
        shown: set[int] = set()
        for page in chain.from_iterable(range(first, last + 1) for first, last in runs):
            if page not in repeats:
                yield page, page
            elif repeats[page] not in shown:
                shown.add(repeats[page])
                yield page, page


def _broken(summary: LogSummary, judging: Judging) -> Iterator[BrokenLink]:
    for url, failure in summary.broken.items():
        group = judging.group(url, failure)
        if group is not None:
            yield BrokenLink(url, failure, group, seed=failure.via is None)
    for url, redirect in summary.redirects.items():
        hops, end = _end(url, redirect, summary)
        group = None if end is None else judging.group(url, end)
        if end is not None and group is not None:
            yield BrokenLink(url, end, group, hops, seed=redirect.via is None)


def _end(
    url: str, redirect: Redirect, summary: LogSummary
) -> tuple[tuple[str, ...], Failure | None]:
    """The hops of a redirect, and why it is broken; None if it is not."""
    hops, failure = follow(url, summary.redirects)
    via = redirect.via
    last = summary.redirects.get(hops[-1] if hops else url)
    if failure:
        return hops, Failure(Outcome.ERR_30X.value, redirect.status, failure, via)
    if last is not None and last.leads_nowhere:
        return hops, Failure(Outcome.ERR_30X.value, last.status, last.target, via)
    found = summary.broken.get(hops[-1]) if hops else None
    return hops, None if found is None else found._replace(via=via)


def follow(url: str, redirects: Mapping[str, Redirect]) -> tuple[tuple[str, ...], str]:
    """The hops from a redirect at `url`, and what is wrong with them: a circle, or too many."""
    hops: list[str] = []
    while (redirect := redirects.get(hops[-1] if hops else url)) is not None:
        if not redirect.target or redirect.leads_nowhere:
            break
        if redirect.target == url or redirect.target in hops:
            circle = (*hops, redirect.target)
            return circle, circle_of({url, *circle})
        hops.append(redirect.target)
        if len(hops) > _MOST_HOPS:
            return tuple(hops), f"more than {_MOST_HOPS} redirects in a row"
    return tuple(hops), ""


def chains(redirects: Mapping[str, Redirect], linked: Container[str]) -> Iterator[RedirectChain]:
    """The redirects that are `linked`, with those that follow them."""
    for url, redirect in redirects.items():
        if url in linked:
            hops, _ = follow(url, redirects)
            steps = [redirect, *(redirects[hop] for hop in hops[:-1])]
            permanent = all(step.permanent for step in steps)
            yield RedirectChain(url, redirect.status, permanent, hops)
