"""The overview of a crawl: findings, speed, progress, plots, histograms and waiting URLs.

`findings` say at a glance how the crawl is doing. Charts are SVG, without scripts and style
attributes (the Content-Security-Policy forbids both). A picture is stretched to the available
width. Its text is HTML beside it, which is not stretched, and its label has the same content for
screen readers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import accumulate
from typing import Any, NamedTuple

from larbinpy.console.status.markup import (
    Child,
    Html,
    Snapshot,
    el,
    figure,
    group,
    join,
    label,
    listing,
    none,
    number,
    percent,
    rows,
    section,
    table,
)
from larbinpy.console.text import estimate, grouped, roughly, size
from larbinpy.errors import CrawlState

_HEIGHT = 100
#: First digits of the top of a scale; all are easy to divide by two.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)

Values = Sequence[float]


class Unit(NamedTuple):
    """How the values of a plot are written."""

    show: Callable[[float], str]
    #: Written after each value.
    suffix: str = ""
    #: The smallest top of a scale, so that noise looks small.
    least: float = 0.0

    def __call__(self, value: float) -> str:
        return f"{self.show(value)}{self.suffix}"


def _count(value: float) -> str:
    return grouped(int(value) if value == int(value) else value)


PER_SECOND = Unit(_count, "/s", 1)
BYTES_PER_SECOND = Unit(size, "/s", 1000)
NUMBER = Unit(lambda value: grouped(round(value)), "", 10)
BYTES = Unit(size, "", 1000)
MILLISECONDS = Unit(lambda value: roughly(value / 1000), "", 10)


def share(part: float, whole: float) -> Html:
    """A bar of length `part` of `whole`; hidden from screen readers, as the number is beside it."""
    width = 100 * part / whole if whole > 0 else 0.0
    bar = el("rect", x=0, y=0, width=f"{width:.2f}", height=8)
    return el(
        "svg", bar, class_="share", viewBox="0 0 100 8", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def round_up(value: float) -> float:
    """The smallest number of at least `value` that may be the top of a scale."""
    power = 1.0
    while power * 10 < value:
        power *= 10
    while power > value > 0:
        power /= 10
    return next(step * power for step in _STEPS if step * power >= value)


def plot(
    title: str,
    series: Mapping[str, Values],
    cells: int,
    since: str,
    unit: Unit,
    *,
    titled: bool = True,
) -> Html:
    """Lines over `cells` steps of time, the newest at the right; the scale starts at 0.

    `series` are values by name; the area below the first is filled, and a series with fewer
    values starts later. `since` is the time at the left end, as text. Without `titled` the title
    is left out, for plots below a heading of their own.
    """
    top = round_up(max([unit.least, *(max(values, default=0) for values in series.values())]))
    width = max(cells - 1, 1)
    heading = el("b", title) if titled else None
    drawn = [el("path", class_="grid", d=f"M0 0H{width}M0 50H{width}M0 100H{width}")]
    for index, values in enumerate(series.values()):
        drawn += _line(values, top, width, index)
    picture = el(
        "svg", *drawn, viewBox=f"0 0 {width} {_HEIGHT}", preserveAspectRatio="none", role="img",
        aria_label=f"{title}, since {since}: {_summary(series, unit)}",
    )  # fmt: skip
    marks = [unit(top * part).replace(".0 ", " ") for part in (1, 0.5, 0)]
    scale = el("div", *(el("span", mark) for mark in marks), class_="scale")
    axis = el("div", el("span", since), el("span", "now"), class_="axis")
    return el(
        "figure", _caption(heading, series, unit), el("div", picture, scale, axis, class_="plot")
    )


def _caption(heading: Html | None, series: Mapping[str, Values], unit: Unit) -> Html:
    first = next(iter(series.values()), ())
    names = [
        el("span", name, class_=f"key s{index}")
        for index, name in enumerate(series)
        if len(series) > 1
    ]
    mean = f"mean {unit(sum(first) / len(first))}, highest {unit(max(first))}" if first else ""
    return el("figcaption", heading, *names, el("span", mean, class_="mean"))


def _summary(series: Mapping[str, Values], unit: Unit) -> str:
    parts = [
        f"{name} now {unit(values[-1])}, highest {unit(max(values))}"
        for name, values in series.items()
        if values
    ]
    return "; ".join(parts) or "nothing yet"


def _line(values: Values, top: float, width: int, index: int) -> list[Html]:
    """The path of one series; for the first one, also the area below it."""
    if not values:
        return []
    first = width + 1 - len(values)
    points = "L".join(
        f"{first + at} {_HEIGHT - _HEIGHT * value / top:.1f}" for at, value in enumerate(values)
    )
    # A line of length 0 makes a single point visible.
    line = el("path", class_=f"line s{index}", d=Html(f"M{points}h0"))
    if index:
        return [line]
    area = Html(f"M{first} {_HEIGHT}L{points}V{_HEIGHT}Z")
    return [el("path", class_=f"area s{index}", d=area), line]


def distribution(histogram: Mapping[str, object]) -> Html:
    """The buckets of a `Histogram.describe`, from the first to the last that is not empty."""
    bounds, counts = _numbers(histogram, "bounds_s"), _numbers(histogram, "counts")
    filled = [at for at, count in enumerate(counts) if count]
    if not filled or len(counts) != len(bounds) + 1:
        return el("p", "Nothing yet.", class_="none")
    most, names = max(counts), _names(bounds)
    rows = [
        (names[at], grouped(int(counts[at])), share(counts[at], most))
        for at in range(filled[0], filled[-1] + 1)
    ]
    parts = ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
    words = "; ".join(f"{name} {within(histogram, part)}" for part, name in parts)
    return join([el("p", words, class_="mean"), table(("Time", "#Number", ""), rows)])


def within(histogram: Mapping[str, object], part: float) -> str:
    """The time within which the share `part` of all ended, as text; a dash if there are none."""
    bounds, counts = _numbers(histogram, "bounds_s"), _numbers(histogram, "counts")
    if not sum(counts) or len(counts) != len(bounds) + 1:
        return "-"
    wanted, reached = part * sum(counts), accumulate(counts)
    return next(name for name, sum_ in zip(_names(bounds), reached, strict=True) if sum_ >= wanted)


def _names(bounds: Values) -> list[str]:
    return [*(f"up to {roughly(bound)}" for bound in bounds), f"over {roughly(bounds[-1])}"]


def _numbers(histogram: Mapping[str, object], name: str) -> list[float]:
    found = histogram.get(name)
    return found if isinstance(found, list) else []


#: A turn of the loop this long (ms) costs speed: shorter ones are those of large pages.
_LONG_TURN = 250
#: Warnings are shown if this share of descriptors is in use, or of the last minute's URLs failed.
_NEARLY_ALL = 0.9
_MANY_FAIL = 0.25
#: No warning is shown if there are fewer failures than this.
_FEW = 10
#: Seconds after the start in which no warnings about speed are shown.
_BEGINNING = 60


class Level(Enum):
    """How urgent a finding is; the value is the word on the page."""

    GOOD = "All well"
    NOTE = "Note"
    WARNING = "Warning"
    TROUBLE = "Trouble"


class Finding(NamedTuple):
    level: Level
    text: str


_STATES = {
    CrawlState.WAITING.value: Finding(
        Level.NOTE, "The crawl has no work left and waits for seeds."
    ),
    CrawlState.PAUSED.value: Finding(Level.NOTE, "The crawl is paused: no new requests are made."),
    CrawlState.STOPPING.value: Finding(
        Level.NOTE,
        "The crawl is stopping: the transfers in flight and the outputs end their work.",
    ),
    CrawlState.FINISHED.value: Finding(Level.NOTE, "The crawl has ended; everything is saved."),
    CrawlState.DISK_FULL.value: Finding(
        Level.TROUBLE, "The disk is full: the crawl waits for free space."
    ),
}
_URGENT = tuple(reversed(Level))


def findings(snapshot: Snapshot) -> list[Finding]:
    """The findings, the most urgent first; never empty."""
    found = [*_state(snapshot), *_servers(snapshot), *_database(snapshot), *_fleet(snapshot)]
    found += [*_pages(snapshot), *_process(snapshot)]
    if not found:
        return [Finding(Level.GOOD, "Pages arrive, name servers answer, nothing is delayed.")]
    return sorted(found, key=lambda finding: _URGENT.index(finding.level))


def _state(snapshot: Snapshot) -> Iterator[Finding]:
    state = snapshot.get("state")
    if state in _STATES:
        yield _STATES[state]
    elif snapshot.get("outside_hours"):
        yield Finding(Level.NOTE, "No requests are made until the hours of a site begin (hours).")


def _servers(snapshot: Snapshot) -> Iterator[Finding]:
    servers = rows(group(snapshot, "dns"), "servers")
    silent = [str(server.get("address")) for server in servers if server.get("resting")]
    if silent and len(silent) == len(servers):
        yield Finding(Level.TROUBLE, f"No name server answers: {', '.join(silent)}.")
    elif silent:
        text = f"Name servers that do not answer: {', '.join(silent)}; the others are used."
        yield Finding(Level.WARNING, text)


def _database(snapshot: Snapshot) -> Iterator[Finding]:
    database = group(group(snapshot, "output"), "database")
    trouble = database.get("trouble")
    if trouble:
        yield Finding(Level.WARNING, f"The database takes no pages: {trouble}.")
    gate = group(snapshot, "gate")
    if database and "spoolMax" in str(gate.get("reason")):
        text = f"No page is requested: {gate.get('reason')}."
        yield Finding(Level.WARNING if trouble else Level.NOTE, text)


def _fleet(snapshot: Snapshot) -> Iterator[Finding]:
    trouble = group(snapshot, "fleet").get("trouble")
    if trouble:
        yield Finding(Level.WARNING, f"This node waits for Redis: {trouble}.")


def _pages(snapshot: Snapshot) -> Iterator[Finding]:
    """Findings about the pages of the last minute."""
    if snapshot.get("state") != CrawlState.RUNNING.value or snapshot.get("outside_hours"):
        return
    pages, success, failed = (_last_minute(snapshot, n) for n in ("pages", "success", "failed"))
    known = bool(_minute(snapshot).get("pages"))
    queued = number(group(snapshot, "totals"), "urls_queued")
    if known and not pages and queued and number(group(snapshot, "run"), "elapsed_s") >= _BEGINNING:
        text = f"No reply came in the last minute, although {grouped(queued)} URLs wait."
        yield Finding(Level.WARNING, text)
    if failed >= _FEW and failed > _MANY_FAIL * (failed + success):
        part = f"{100 * failed / (failed + success):.0f} %"
        text = f"{part} of the last minute's URLs failed: no connection, timeouts, server errors."
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    busy, handles = _minute(snapshot).get("busy") or [0], number(system, "handles")
    if (
        handles
        and min(busy) >= handles
        and number(group(snapshot, "run"), "elapsed_s") >= _BEGINNING
    ):
        text = (
            f"All {grouped(handles)} transfers were in use for the last minute (pagesConnexions)."
        )
        yield Finding(Level.NOTE, text)


def _process(snapshot: Snapshot) -> Iterator[Finding]:
    longest = max(_minute(snapshot).get("turn_ms") or [0])
    if longest >= _LONG_TURN:
        text = (
            f"The crawl stood still for {roughly(longest / 1000)} in the last minute: the machine"
            " or its disk is busy, or a plug takes long."
        )
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    fds, limit = number(system, "fds"), number(system, "fds_limit")
    if 0 < limit * _NEARLY_ALL <= fds:
        text = f"{grouped(fds)} of {grouped(limit)} descriptors are in use (ulimit -n)."
        yield Finding(Level.WARNING, text)


def _minute(snapshot: Snapshot) -> Snapshot:
    return group(group(group(snapshot, "history"), "minute"), "series")


def _last_minute(snapshot: Snapshot, name: str) -> float:
    """The sum of a series over the last minute; 0 if it is missing."""
    return round(sum(_minute(snapshot).get(name) or ()))


#: The time at the left end of a plot, by span.
SINCE = {"minute": "1 min ago", "hour": "1 h ago", "day": "24 h ago"}
#: The span shown at first for a crawl younger than this (s); otherwise the day.
_YOUNG = (("minute", 5 * 60), ("hour", 3 * 3600))


class Plot(NamedTuple):
    """A plot: series of the history by the name that is shown."""

    title: str
    series: Mapping[str, str]
    unit: Unit
    #: The total beside the rate, for the overview.
    total: str = ""


RATES = (
    Plot(
        "Pages",
        {"pages": "success", "replies": "pages", "failed": "failed"},
        PER_SECOND,
        "success",
    ),
    Plot("Received", {"bytes": "bytes"}, BYTES_PER_SECOND, "bytes_received"),
    Plot("Links found", {"links": "links"}, PER_SECOND, "links"),
    Plot("Names resolved", {"names": "names"}, PER_SECOND),
)
LEVELS = (
    Plot("URLs queued", {"queued": "urls_queued"}, NUMBER),
    Plot("Transfers running", {"busy": "busy"}, NUMBER),
    Plot("Memory", {"memory": "rss_bytes"}, BYTES),
    Plot("Longest turn of the loop", {"turn": "turn_ms"}, MILLISECONDS),
)


def draw(snapshot: Snapshot, chosen: Plot, span: str, *, titled: bool = True) -> Html:
    """One plot over one span."""
    history = group(group(snapshot, "history"), span)
    series = group(history, "series")
    lines: dict[str, Sequence[float]] = {
        name: series.get(key) or () for name, key in chosen.series.items()
    }
    cells = int(number(history, "cells")) or 60
    return plot(chosen.title, lines, cells, SINCE[span], chosen.unit, titled=titled)


def default_span(snapshot: Snapshot) -> str:
    # The series are those of this run.
    elapsed = number(group(snapshot, "run"), "elapsed_s")
    return next((span for span, age in _YOUNG if elapsed < age), "day")


def health(snapshot: Snapshot) -> Html:
    """The findings with their levels."""
    found = findings(snapshot)
    items = [
        el("li", el("b", level.value, class_=level.name.lower()), " ", text)
        for level, text in found
    ]
    # Other states have a finding of their own.
    waits_for = snapshot.get("waits_for")
    if waits_for and snapshot.get("state") == CrawlState.RUNNING.value:
        items.insert(0, el("li", el("b", "Now", class_="note"), " ", waits_for))
    node = group(snapshot, "fleet").get("node")
    if node:
        why = f"All figures here are those of node {node}; Fleet has those of all nodes."
        items.append(el("li", el("b", "Node", class_="note"), " ", why))
    return el(
        "section", el("h2", "Findings", class_="unseen"), el("ul", *items), class_="health",
        aria_label="Findings",
    )  # fmt: skip


def rates(snapshot: Snapshot, span: str) -> Html:
    """Rates, totals and plots over `span`, with links to the other spans."""
    links = [
        el("a", name, href=f"?span={name}", aria_current="true" if name == span else None)
        for name in SINCE
    ]
    cards = [_card(snapshot, each, span) for each in RATES]
    head = el("h2", "Speed", el("nav", *links, aria_label="Time shown"))
    return el("section", head, el("div", *cards, class_="cards"))


def _card(snapshot: Snapshot, shown: Plot, span: str) -> Html:
    per_second, totals = group(snapshot, "rates"), group(snapshot, "totals")
    key = next(iter(shown.series.values()))
    now = per_second.get(key)
    figures = [el("b", shown.title), el("strong", "-" if now is None else shown.unit(now))]
    if shown.total:
        figures.append(el("span", f"{figure(shown.total, totals.get(shown.total))} in total"))
    return el("div", el("p", *figures, class_="now"), draw(snapshot, shown, span, titled=False))


def progress(snapshot: Snapshot) -> Html:
    """The figures of the whole crawl."""
    totals, system, queues = (group(snapshot, n) for n in ("totals", "system", "queues"))
    took = group(group(snapshot, "histograms"), "fetch")
    left = estimate(snapshot.get("left_s"))
    rows: Mapping[str, Child] = {
        **({"Time left": left} if left else {}),
        "Pages": _small(figure("", totals.get("success")), _share(totals)),
        "URLs queued": figure("", totals.get("urls_queued")),
        "URLs seen": figure("", totals.get("urls_seen")),
        "In flight": _small(
            figure("", queues.get("in_flight")), f"of at most {figure('', system.get('handles'))}"
        ),
        "Median request time": _small(within(took, 0.5), f"95 %: {within(took, 0.95)}"),
        "Sites": figure("", totals.get("sites")),
        "Addresses": figure("", totals.get("addresses")),
        "Retries": figure("", totals.get("retries")),
        "Forbidden by robots.txt": figure("", group(snapshot, "robots").get("denied")),
        "Memory": figure("bytes", system.get("rss_bytes")),
        "Longest turn of the loop": _small(
            figure("_ms", system.get("loop_lag_max_ms")), "since the start"
        ),
    }
    tiles = [el("div", el("dt", name), el("dd", value)) for name, value in rows.items()]
    return section("The crawl", el("dl", *tiles))


def _share(totals: Mapping[str, Any]) -> str:
    replies = totals.get("pages")
    return f"{percent(totals.get('success'), replies)} of {figure('', replies)} replies"


def _small(value: str, beside: str) -> Html:
    return join([value, el("small", beside)])


def plots(snapshot: Snapshot) -> Html:
    """All plots over all spans."""
    return join(
        section(f"The last {span}", el("div", *_all(snapshot, span), class_="plots"))
        for span in SINCE
    )


def _all(snapshot: Snapshot, span: str) -> list[Html]:
    return [draw(snapshot, each, span) for each in (*RATES, *LEVELS)]


def no_plots(_snapshot: Snapshot) -> Html:
    off = (
        "Histograms are off; the keyword histograms of larbin.conf turns them on. "
        "The overview has plots of the last minute, hour and day."
    )
    return section("Histograms", none(off))


def histograms(snapshot: Snapshot) -> Html:
    """Durations as bars."""
    found = group(snapshot, "histograms")
    titles = {"fetch": "Requests", "dns": "Name lookups", "turn": "Turns of the loop"}
    parts = [
        el("div", el("h3", titles.get(name, label(name))), distribution(group(found, name)))
        for name in found
    ]
    content = el("div", *parts, class_="plots") if parts else none("Nothing yet.")
    return section("Durations", content)


#: The stages of a URL: name, the queues of the snapshot that belong to it, explanation.
_STAGES = (
    ("In the store", ("priority", "ordinary"), "not looked at yet"),
    ("Deferred", ("priority_wait", "ordinary_wait"), "in the store; their sites are full"),
    ("With their sites", ("named_sites",), "waiting for an address or robots.txt"),
    ("Ready", ("ip_sites",), "waiting for their turn (waitDuration, hours)"),
    ("In flight", ("in_flight",), "requests that run now, for robots.txt, too"),
)

#: Site blocks in the table.
_MOST_BLOCKS = 200

#: The states of sites whose names need more words.
_STATE_NAMES = {
    "resolving": "resolving their names",
    "robots": "fetching robots.txt",
    "waiting": "waiting to try again",
}


def queues(snapshot: Snapshot) -> Html:
    """The number of URLs in each stage, and the gate between store and sites."""
    counts = group(snapshot, "queues")
    steps = [
        el(
            "li",
            el("span", name),
            el("strong", figure("", sum(counts.get(queue) or 0 for queue in queues))),
            el("small", explanation),
        )
        for name, queues, explanation in _STAGES
    ]
    known = {queue for _, queues, _ in _STAGES for queue in queues}
    others = {name: count for name, count in counts.items() if name not in known}
    return section(
        "Queues",
        el("ol", *steps, class_="way"),
        listing(others) if others else None,
        _gate(group(snapshot, "gate")),
    )


def _gate(gate: Mapping[str, Any]) -> Html | None:
    if "open" not in gate:
        return None
    is_open, reason = gate["open"], gate.get("reason")
    state = "open" if is_open else f"closed: {reason}"
    words = el("b", state, class_="good" if is_open else "note")
    return el("p", "The gate between store and sites is ", words, ".", class_="gate")


def sites(snapshot: Snapshot) -> Html:
    """The sites with most URLs waiting, the slowest, and the suspended ones."""
    found = group(snapshot, "sites")
    return section(
        f"Sites ({figure('', found.get('total', 0))})",
        _states(group(found, "by_state")),
        el("h3", "Busiest: most URLs waiting"),
        _sites(rows(found, "busiest"), "No site has URLs waiting."),
        el("h3", "Slowest: longest time to the first byte"),
        _sites(rows(found, "slowest"), "No site with URLs waiting has replied yet."),
        el("h3", "Suspended: no requests for a while"),
        _suspended(found),
        *_blocks(rows(snapshot, "site_blocks")),
    )


def _blocks(found: Sequence[Mapping[str, Any]]) -> list[Html]:
    """The site blocks in their order, with the number of sites that they match."""
    lines = [
        (
            join([block.get("pattern"), el("small", _settings(block))]),
            block.get("source"),
            figure("", block.get("sites")),
        )
        for block in found[:_MOST_BLOCKS]
    ]
    more = len(found) - len(lines)
    note = [none(f"{more} more blocks are in /status.json.")] if more else []
    head = ("*Pattern and settings", "Set in", "#Sites")
    return [el("h3", "Site blocks"), table(head, lines, ""), *note] if lines else []


def _settings(block: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in group(block, "settings").items())


def _states(counts: Mapping[str, Any]) -> Html:
    items = [
        el("span", el("b", figure("", count)), f" {_STATE_NAMES.get(name, name)}")
        for name, count in counts.items()
    ]
    return el("p", *items, class_="states")


def _sites(found: Sequence[Mapping[str, Any]], empty: str) -> Html:
    lines = [
        (
            site.get("site"),
            site.get("state"),
            figure("", site.get("waiting")),
            figure("answers_in_s", site.get("answers_in_s")),
            figure("delay_s", site.get("delay_s")),
            figure("", site.get("fetched")),
            figure("", site.get("failed")),
        )
        for site in found
    ]
    head = ("*Site", "State", "#Waiting", "#First byte", "#Wait", "#Fetched", "#Failed")
    return table(head, lines, empty)


def _suspended(found: Mapping[str, Any]) -> Html:
    lines = [
        (site.get("site"), site.get("reason"), figure("until_s", site.get("until_s")))
        for site in rows(found, "suspended")
    ]
    return table(("*Site", "Reason", "#Time left"), lines, "No site is suspended.")
