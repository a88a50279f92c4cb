"""Sections of the overview: findings, speed and progress; also plots and histograms."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from larbinpy.console.status import charts
from larbinpy.console.status.charts import Unit, plot
from larbinpy.console.status.format import (
    Snapshot,
    figure,
    group,
    label,
    none,
    number,
    percent,
    section,
)
from larbinpy.console.status.health import findings
from larbinpy.console.status.markup import Child, Html, el, join
from larbinpy.console.text import estimate
from larbinpy.exit_status import CrawlState

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
        charts.PER_SECOND,
        "success",
    ),
    Plot("Received", {"bytes": "bytes"}, charts.BYTES_PER_SECOND, "bytes_received"),
    Plot("Links found", {"links": "links"}, charts.PER_SECOND, "links"),
    Plot("Names resolved", {"names": "names"}, charts.PER_SECOND),
)
LEVELS = (
    Plot("URLs queued", {"queued": "urls_queued"}, charts.NUMBER),
    Plot("Transfers running", {"busy": "busy"}, charts.NUMBER),
    Plot("Memory", {"memory": "rss_bytes"}, charts.BYTES),
    Plot("Longest turn of the loop", {"turn": "turn_ms"}, charts.MILLISECONDS),
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
        "Median request time": _small(
            charts.within(took, 0.5), f"95 %: {charts.within(took, 0.95)}"
        ),
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
        el("div", el("h3", titles.get(name, label(name))), charts.distribution(group(found, name)))
        for name in found
    ]
    content = el("div", *parts, class_="plots") if parts else none("Nothing yet.")
    return section("Durations", content)
