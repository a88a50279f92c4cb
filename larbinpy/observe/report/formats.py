"""The report of a crawl's files: JSON, CSV and JUnit XML for programs, and text for a terminal.

Lines of text have 80 columns, except that URLs are never cut.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import escape, quoteattr

from larbinpy.console.text import counted, grouped, printable, roughly, size
from larbinpy.observe.report.broken import BrokenLinks, Group, RedirectChain, chains, judging_of
from larbinpy.observe.report.log import (
    Line,
    LogFiles,
    LogSummary,
    SiteCount,
    by_time,
    first_time,
    states_in,
    until_of,
)
from larbinpy.observe.snapshot import Counts, counts_of, left_out
from larbinpy.page import Outcome, Trait, having, in_words, left_out_lines, status_in_words
from larbinpy.storage.state import State, StateError

_END = "\r\n"
#: Marks for which a field of CSV is quoted.
_QUOTED = frozenset('",\r\n')
_COLUMNS = ("url", "status", "outcome", "page", "target", "group", "line", "text")
#: Outcomes of URLs that were found and not asked for, or whose answer a rule refused.
_UNCHECKED = {outcome.value for outcome in having(Trait.ROBOTS)} | {
    *(Outcome.PRIVATE_ADDRESS.value, Outcome.SITE_LIMIT.value, Outcome.REJECTED.value),
    *(Outcome.TRAP.value, Outcome.TOO_DEEP.value, Outcome.OUT_SITE.value),
}


class Report:
    """The findings of a crawl so far, read from the files in its state folder.

    Raises `UserError` if there is no crawl log.
    """

    def __init__(self, folder: Path) -> None:
        logs = [LogFiles(each) for each in states_in(folder)]
        #: The folder with the state, or with those of all nodes.
        self.folder = logs[0].folder if len(logs) == 1 else folder
        self.summary = LogSummary()
        counts: Counts = defaultdict(Counter)
        self._logs = []
        for log in logs:
            started, own, put_back = _read_totals(log.folder)
            for name, counter in own.items():
                counts[name] += counter
            self._logs.append((log, started, put_back))
        for line in self._lines():
            self.summary.add(line)
        self.summary.finish()
        self._judging = judging_of(self.folder)
        self.broken = BrokenLinks(self.summary, self._judging)
        self.broken.find_pages([log.folder for log in logs])
        #: What was left out, as `observe.snapshot.left_out` counts it.
        self.left_out = left_out(counts, self.summary.outcomes)
        self.left_out["parts"] = dict(self.broken.unseen.most_common())
        #: A line for each thing that could not be read.
        self.errors = [error for log in logs for error in log.errors]
        if damaged := sum(log.damaged for log in logs):
            self.errors.append(f"{damaged} damaged lines of the log were left out")

    def _lines(self) -> Iterator[Line]:
        """The lines of all logs that count."""
        return by_time([_counted(log.lines(), began, back) for log, began, back in self._logs])

    def shown(self, pieces: Iterable[str]) -> Iterator[str]:
        """Text with URLs, in which those of a folder that was checked are its paths."""
        origin, folder = self._judging.origin, self._judging.folder
        return (piece.replace(origin, folder) for piece in pieces) if folder else iter(pieces)

    def sound(self) -> Iterator[tuple[str, str]]:
        """All URLs except for broken links, each with the outcome if that left it unchecked.

        One that was fetched again comes again.
        """
        faulty = {link.url for link in self.broken.links}
        for line in self._lines():
            if line["url"] not in faulty:
                yield line["url"], line["outcome"] if line["outcome"] in _UNCHECKED else ""

    @property
    def checked(self) -> int:
        """Number of URLs that were asked for, and whose answer no rule refused."""
        return self.summary.urls - sum(self.summary.outcomes[name] for name in _UNCHECKED)

    @property
    def chains(self) -> Iterator[RedirectChain]:
        """The redirects that a page links to, or that were seeds."""
        return chains(self.summary.redirects, self.broken.linked_redirects)

    @property
    def is_clean(self) -> bool:
        """Whether no link is broken; those that are refused or known to be do not count."""
        return not self.broken.of_group(Group.BROKEN)


def _read_totals(folder: Path) -> tuple[str, Counts, dict[str, str]]:
    """The second when the crawl began, and its counts, as it saved them last; empty if not.

    And for outcomes the time before which all URLs with that outcome were queued again.
    """
    try:
        with State(folder).reading() as manifest:
            totals = manifest["totals"]
            counts = counts_of(totals["counts"])
            put_back = until_of(manifest.get("put_back", {"until": {}}))
            return first_time(float(totals["started"])), counts, put_back
    except StateError:
        return "", {}, {}


def _counted(lines: Iterable[Line], started: str, put_back: Mapping[str, str]) -> Iterator[Line]:
    """Those of `lines` that count.

    A log that was rotated away may be that of an earlier crawl (--scratch). URLs that were queued
    again have another line, or will have one.
    """
    return (line for line in lines if line["ts"] >= put_back.get(line["outcome"], started))


def json_pieces(report: Report) -> Iterator[str]:
    """The report as one JSON object, in pieces: it may have hundreds of megabytes."""
    summary = report.summary
    values: dict[str, Any] = {
        "folder": str(report.folder),
        "urls": summary.urls,
        "began": summary.began or None,
        "ended": summary.ended or None,
        "errors": report.errors,
        "outcomes": dict(summary.outcomes.most_common()),
        "pages_unknown": report.broken.unknown or None,
        "slowest": [{"url": url, "ms": ms} for ms, url in summary.slowest],
        "largest": [{"url": url, "size": size} for size, url in summary.largest],
        "left_out": report.left_out,
    }
    lists: dict[str, Iterable[Iterable[str]]] = {
        **{group.value: _broken(report.broken, group) for group in Group},
        "read_in_part": (
            [json.dumps({"url": url, "reason": detail})] for url, detail in summary.parts.items()
        ),
        "redirects": ([json.dumps(_chain(each))] for each in report.chains),
        "sites": (
            [json.dumps(_site(site))]
            for site in sorted(summary.sites, key=lambda site: -site.pages)
        ),
    }
    yield json.dumps(values)[:-1]
    for name, entries in lists.items():
        yield f', "{name}": ['
        mark = "\n"
        for entry in entries:
            yield mark
            yield from entry
            mark = ",\n"
        yield "]"
    yield "}\n"


def _broken(broken: BrokenLinks, group: Group) -> Iterator[Iterator[str]]:
    for number in broken.of_group(group):
        yield _broken_link(broken, number)


def _broken_link(broken: BrokenLinks, number: int) -> Iterator[str]:
    """A broken link in pieces; its pages are last."""
    link = broken.links[number]
    values: dict[str, Any] = {
        "url": link.url,
        "status": link.status,
        "outcome": link.failure.outcome,
        "reason": link.reason,
        "hops": list(link.hops),
        "seed": link.seed,
    }
    if broken.has_places:
        values["places"] = [
            {"page": page, "line": line, "text": text}
            for page, line, text in broken.places_of(number)
        ]
    yield json.dumps(values)[:-1]
    mark = ', "pages": ['
    for pages in broken.page_pieces(number):
        yield mark + json.dumps(pages)[1:-1]
        mark = ", "
    yield "]}" if mark == ", " else ', "pages": []}'


def _site(site: SiteCount) -> dict[str, Any]:
    return {
        "site": site.site,
        "pages": site.pages,
        "bytes": site.bytes,
        "failures": site.failures,
        "robots": site.robots,
    }


def _chain(chain: RedirectChain) -> dict[str, Any]:
    return {
        "url": chain.url,
        "status": chain.status,
        "permanent": chain.permanent,
        "hops": list(chain.hops),
    }


def csv_pieces(report: Report) -> Iterator[str]:
    """The broken links as CSV (RFC 4180): a line for each link and page, after the columns.

    `target` is the URL that is broken, if the link redirects to it; `group` is that of the link,
    and line and text are those of the link in the page, after a check of links.
    """
    yield _row(_COLUMNS)
    broken = report.broken
    for number, link in enumerate(broken.links):
        target = link.hops[-1] if link.hops else ""
        before = _row((link.url, link.status, link.failure.outcome)).removesuffix(_END) + ","
        after = _row(("", target, link.group.value, "", ""))
        pieces: Iterable[list[str]] = broken.page_pieces(number)
        if not broken.count(number):
            pieces = [[""]]
        elif broken.has_places:
            yield from _placed_rows(broken, number, before, target)
            continue
        for pages in pieces:
            # For 30 million rows, csv.writer takes a minute.
            quoted = map(_field, pages) if _has_marks("".join(pages)) else pages
            yield f"{before}{f'{after}{before}'.join(quoted)}{after}"


def _placed_rows(broken: BrokenLinks, number: int, before: str, target: str) -> Iterator[str]:
    for page, line, text in broken.places_of(number):
        more = (page, target, broken.links[number].group.value, line or "", printable(text))
        yield before + _row(more)


def _has_marks(text: str) -> bool:
    return any(mark in text for mark in _QUOTED)


def _field(text: str) -> str:
    if not _has_marks(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _row(values: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()


def junit_pieces(report: Report) -> Iterator[str]:
    """The report as JUnit XML, with a test for each URL.

    Broken links have failed; those that are refused, known or not checked were skipped.
    """
    broken = report.broken
    failed = broken.of_group(Group.BROKEN)
    unchecked = sum(bool(outcome) for _, outcome in report.sound())
    count = len(broken) + sum(1 for _ in report.sound())
    numbers = f'tests="{count}" failures="{len(failed)}" errors="0"'
    numbers += f' skipped="{len(broken) - len(failed) + unchecked}"'
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {numbers}>\n'
    yield f'<testsuite name="larbinpy: links" {numbers}>\n'
    for number, link in enumerate(broken.links):
        pages = "\n".join(_details(broken, number, everything=True))
        said = quoteattr(f"{link.group.value}: {printable(link.reason)}")
        inner = f"<skipped message={said}/>"
        if link.group is Group.BROKEN:
            inner = f"<failure message={said}>{escape(pages)}</failure>"
        yield _case(link.url, inner)
    for url, outcome in report.sound():
        words = quoteattr(f"not checked: {in_words(outcome)}")
        yield _case(url, f"<skipped message={words}/>" if outcome else "")
    yield "</testsuite>\n</testsuites>\n"


def _case(url: str, inner: str) -> str:
    site = "/".join(printable(url).split("/", 3)[:3])
    names = f"classname={quoteattr(site)} name={quoteattr(printable(url))}"
    return f"<testcase {names}>{inner}</testcase>\n"


T = TypeVar("T")

#: Entries of a list, and pages of a broken link, without --all.
_SHOWN = 20
_PAGES = 5
_TOP = 10


def broken_links(report: Report, *, everything: bool, so_far: bool = False) -> Iterator[str]:
    """The broken links with their pages, then those that are refused, and what is known of them.

    `so_far`: more links are to be checked.
    """
    broken = report.broken
    numbers = broken.of_group(Group.BROKEN)
    if numbers:
        count = counted(broken.page_count(Group.BROKEN), "page")
        yield f"Broken links: {grouped(len(numbers))}, on {count}"
    else:
        yield "No broken links so far." if so_far else "No broken links."
    if broken.unknown and len(broken):
        yield f"  ({printable(broken.unknown)})"
    for number in numbers[: _shown(len(numbers), everything)]:
        link = broken.links[number]
        words = status_in_words(link.status) + ":" if link.status else _code(0)
        yield f"  {words} {printable(link.url)}"
        yield from _details(broken, number, everything)
    yield from _more(len(numbers), everything)
    yield from _refused(broken, everything)
    known = len(broken.of_group(Group.KNOWN))
    if known:
        yield f"Known faults: {grouped(known)}, which do not count (knownFaults)"
    if broken.mended:
        yield "Known faults that are none any more:"
        yield from (f"  {printable(url)}" for url in broken.mended)


def _refused(broken: BrokenLinks, everything: bool) -> Iterator[str]:
    """The links that visitors may be able to follow."""
    numbers = broken.of_group(Group.REFUSED)
    if not numbers:
        return
    count = counted(broken.page_count(Group.REFUSED), "page")
    yield f"Refused to us, so perhaps not broken: {grouped(len(numbers))}, on {count}"
    for number in numbers[: _shown(len(numbers), everything)]:
        link = broken.links[number]
        yield f"  {status_in_words(link.status)}: {printable(link.url)}"
        yield from _details(broken, number, everything)
    yield from _more(len(numbers), everything)


def _details(broken: BrokenLinks, number: int, everything: bool) -> Iterator[str]:
    """Where a link leads, why it is broken, and the pages that have it."""
    link = broken.links[number]
    for hop in link.hops:
        yield f"      -> {printable(hop)}"
    if link.reason != status_in_words(link.status):
        yield f"      {printable(link.reason)}"
    pages = broken.count(number)
    shown = _shown(pages, everything, _PAGES)
    for page, line, text in islice(broken.places_of(number), shown):
        where = [f"line {line}"] if line else []
        where += [f'"{text}"'] if text else []
        place = f"  ({', '.join(where)})" if where else ""
        yield f"      on {printable(page + place)}"
    if shown < pages:
        yield f"      and {grouped(pages - shown)} more; --all shows them"
    if link.seed:
        yield "      it was given as a seed"


def whole(report: Report, *, everything: bool) -> Iterator[str]:
    """All sections."""
    summary = report.summary
    times = f", {_time(summary.began)} to {_time(summary.ended)} UTC" if summary.urls else ""
    yield f"{printable(str(report.folder))}: {counted(summary.urls, 'URL')} decided{times}"
    yield from (f"  {printable(error)}" for error in report.errors)
    yield ""
    for outcome, count in summary.outcomes.most_common():
        yield f"{grouped(count):>12}  {printable(outcome, 20):<16} {printable(in_words(outcome))}"
    yield ""
    yield from broken_links(report, everything=everything)
    yield ""
    yield from _redirects(list(report.chains), everything)
    yield from _parts(report, everything)
    yield from _top("Slowest pages", ((roughly(ms / 1000), url) for ms, url in summary.slowest))
    yield from _top("Largest pages", ((size(n), url) for n, url in summary.largest))
    yield from _sites(list(summary.sites), everything)
    yield from left_out_lines(summary.outcomes, report.left_out)


def _redirects(chains: Sequence[RedirectChain], everything: bool) -> Iterator[str]:
    if not chains:
        return
    kept = sum(chain.permanent for chain in chains)
    yield f"Redirects: {grouped(len(chains))}, {grouped(kept)} of them permanent"
    for chain in chains[: _shown(len(chains), everything)]:
        kind = "permanent" if chain.permanent else "temporary"
        yield f"  {_code(chain.status)} {printable(chain.url)}"
        for number, hop in enumerate(chain.hops, 1):
            last = f"  ({kind})" if number == len(chain.hops) else ""
            yield f"      -> {printable(hop)}{last}"
    yield from _more(len(chains), everything)
    yield ""


def _parts(report: Report, everything: bool) -> Iterator[str]:
    parts = report.summary.parts
    if not parts:
        return
    yield f"Sitemaps and feeds that were read in part: {grouped(len(parts))}"
    for url, detail in islice(parts.items(), _shown(len(parts), everything)):
        yield f"  {printable(url)}"
        yield f"      {printable(detail)}"
    yield from _more(len(parts), everything)
    yield ""


def _top(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    shown = list(islice(rows, _TOP))
    if shown:
        yield f"{title}:"
        yield from (f"{amount:>12}  {printable(url)}" for amount, url in shown)
        yield ""


def _sites(sites: Sequence[SiteCount], everything: bool) -> Iterator[str]:
    if not sites:
        return
    yield f"Sites: {grouped(len(sites))}"
    yield f"{'pages':>12} {'bytes':>10} {'failures':>9} {'robots.txt':>10}  site"
    shown = _shown(len(sites), everything)
    for site in nlargest(shown, sites, key=lambda s: (s.pages, s.bytes, s.failures)):
        yield _site_line(site)
    yield from _more(len(sites), everything)
    failing = [site for site in sites if site.failures]
    if failing and shown < len(sites):
        yield "Sites with most failures:"
        for site in nlargest(_TOP, failing, key=lambda s: s.failures):
            yield _site_line(site)
    yield ""


def _site_line(site: SiteCount) -> str:
    return (
        f"{grouped(site.pages):>12} {size(site.bytes):>10} {grouped(site.failures):>9} "
        f"{grouped(site.robots):>10}  {printable(site.site)}"
    )


def _more(count: int, everything: bool) -> Iterator[str]:
    shown = _shown(count, everything)
    if shown < count:
        yield f"  and {grouped(count - shown)} more; --all shows them"


def _shown(count: int, everything: bool, most: int = _SHOWN) -> int:
    """How many entries of a list are shown; a line that stands for one entry saves nothing."""
    return count if everything or count <= most + 1 else most


def _time(ts: str) -> str:
    return printable(ts[:19].replace("T", " "))


def _code(status: int) -> str:
    return f"{status or '---':>3}"
