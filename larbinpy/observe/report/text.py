"""The report for a terminal: lines of 80 columns, except that URLs are never cut."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import TypeVar

from larbinpy.console.text import counted, grouped, printable, roughly, size
from larbinpy.observe.report.broken import RedirectChain
from larbinpy.observe.report.formats import Report
from larbinpy.observe.report.log_summary import SiteCount
from larbinpy.outcome import Outcome, in_words
from larbinpy.reason import left_out_in_words, status_in_words

T = TypeVar("T")

#: Entries of a list, and pages of a broken link, without --all.
_SHOWN = 20
_PAGES = 5
_TOP = 10


def broken_links(report: Report, *, everything: bool, so_far: bool = False) -> Iterator[str]:
    """The broken links with their pages. `so_far`: more links are to be checked."""
    broken = report.broken
    if not len(broken):
        yield "No broken links so far." if so_far else "No broken links."
        return
    yield f"Broken links: {grouped(len(broken))}, on {counted(broken.page_count, 'page')}"
    if broken.unknown:
        yield f"  ({printable(broken.unknown)})"
    for number in range(_shown(len(broken), everything)):
        link = broken.links[number]
        yield f"  {_code(link.status)} {printable(link.url)}"
        for hop in link.hops:
            yield f"      -> {printable(hop)}"
        if link.reason != status_in_words(link.status):
            yield f"      {printable(link.reason)}"
        pages = broken.count(number)
        shown = _shown(pages, everything, _PAGES)
        for page in islice(broken.pages(number), shown):
            yield f"      on {printable(page)}"
        if shown < pages:
            yield f"      and {grouped(pages - shown)} more; --all shows them"
        if link.seed:
            yield "      it was given as a seed"
    yield from _more(len(broken), everything)


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
    yield from left_out(report)


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


def left_out(report: Report) -> Iterator[str]:
    """The links and URLs that were not fetched, and why; nothing if all were."""
    outcomes = report.summary.outcomes
    private = outcomes[Outcome.PRIVATE_ADDRESS.value]
    limited = outcomes[Outcome.SITE_LIMIT.value]
    rows = [
        (report.robots, "by robots.txt"),
        (private, "by their address, which is not public (allowPrivate)"),
        (limited, "by limits by site (limitPageBySite, limitBytesBySite)"),
        *((count, f"by {rule}") for rule, count in report.rules.most_common()),
        *(
            (count, f"links: {left_out_in_words(name)}")
            for name, count in report.limits.most_common()
        ),
    ]
    if any(count for count, _ in rows):
        yield "Left out:"
        yield from (f"{grouped(count):>12}  {printable(why)}" for count, why in rows if count)


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
