"""What people come for: is all well, how fast does it go, how far is it."""

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

#: Words for the left end of each span.
SINCE = {"minute": "1 min ago", "hour": "1 h ago", "day": "24 h ago"}
#: A crawl younger than this (s) has its best picture in a shorter span.
_YOUNG = (("minute", 5 * 60), ("hour", 3 * 3600))


class Plot(NamedTuple):
    """What one picture shows: series of the history by the name that is shown."""

    title: str
    series: Mapping[str, str]
    unit: Unit
    #: The total below the rate, for the overview.
    total: str = ""


RATES = (
    Plot(
        "Pages",
        {"replies": "pages", "success": "success", "failed": "failed"},
        charts.PER_SECOND,
        "pages",
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


def draw(snapshot: Snapshot, what: Plot, span: str, *, titled: bool = True) -> Html:
    """One plot over one span."""
    told = group(group(snapshot, "history"), span)
    series = group(told, "series")
    lines: dict[str, Sequence[float]] = {
        name: series.get(key) or () for name, key in what.series.items()
    }
    cells = int(number(told, "cells")) or 60
    return plot(what.title, lines, cells, SINCE[span], what.unit, titled=titled)


def default_span(snapshot: Snapshot) -> str:
    elapsed = number(snapshot, "elapsed_s")
    return next((span for span, age in _YOUNG if elapsed < age), "day")


def health(snapshot: Snapshot) -> Html:
    """Whether somebody is needed."""
    found = findings(snapshot)
    items = [
        el("li", el("b", level.value, class_=level.name.lower()), " ", text)
        for level, text in found
    ]
    return el(
        "section", el("h2", "How it is", class_="unseen"), el("ul", *items), class_="health",
        aria_label="How it is",
    )  # fmt: skip


def rates(snapshot: Snapshot, span: str) -> Html:
    """Now, in all, and over `span`; the other spans are a click away."""
    links = [
        el("a", name, href=f"?span={name}", aria_current="true" if name == span else None)
        for name in SINCE
    ]
    cards = [_card(snapshot, what, span) for what in RATES]
    head = el("h2", "Speed", el("nav", *links, aria_label="Time shown"))
    return el("section", head, el("div", *cards, class_="cards"))


def _card(snapshot: Snapshot, what: Plot, span: str) -> Html:
    per_second, totals = group(snapshot, "rates"), group(snapshot, "totals")
    key = next(iter(what.series.values()))
    now = per_second.get(key)
    figures = [el("b", what.title), el("strong", "-" if now is None else what.unit(now))]
    if what.total:
        figures.append(el("span", f"{figure(what.total, totals.get(what.total))} in all"))
    return el("div", el("p", *figures, class_="now"), draw(snapshot, what, span, titled=False))


def facts(snapshot: Snapshot) -> Html:
    """How far it is."""
    totals, system, queues = (group(snapshot, n) for n in ("totals", "system", "queues"))
    took = group(group(snapshot, "histograms"), "fetch")
    rows: Mapping[str, Child] = {
        "Success": _small(figure("", totals.get("success")), _success(totals)),
        "URLs queued": figure("", totals.get("urls_queued")),
        "URLs seen": figure("", totals.get("urls_seen")),
        "In flight": _small(
            figure("", queues.get("in_flight")), f"of {figure('', system.get('handles'))} at most"
        ),
        "A request takes": _small(charts.within(took, 0.5), f"95 %: {charts.within(took, 0.95)}"),
        "Sites": figure("", totals.get("sites")),
        "Addresses": figure("", totals.get("addresses")),
        "Tried again": figure("", totals.get("retries")),
        "Refused by robots.txt": figure("", group(snapshot, "robots").get("denied")),
        "Memory": figure("bytes", system.get("rss_bytes")),
        "Longest turn": _small(figure("_ms", system.get("loop_lag_max_ms")), "so far"),
    }
    tiles = [el("div", el("dt", name), el("dd", value)) for name, value in rows.items()]
    return section("The crawl", el("dl", *tiles))


def _success(totals: Mapping[str, Any]) -> str:
    return f"{percent(totals.get('success'), totals.get('pages'))} of replies"


def _small(value: str, beside: str) -> Html:
    return join([value, el("small", beside)])


def plots(snapshot: Snapshot) -> Html:
    """Everything over every span."""
    return join(
        section(f"The last {span}", el("div", *_all(snapshot, span), class_="plots"))
        for span in SINCE
    )


def _all(snapshot: Snapshot, span: str) -> list[Html]:
    return [draw(snapshot, what, span) for what in (*RATES, *LEVELS)]


def no_plots(_snapshot: Snapshot) -> Html:
    off = (
        "Histograms are off: the keyword histograms of larbin.conf switches them on. "
        "The last minute, hour and day are plotted on the overview all the same."
    )
    return section("Histograms", none(off))


def histograms(snapshot: Snapshot) -> Html:
    """How long things take, as bars."""
    found = group(snapshot, "histograms")
    titles = {"fetch": "A request", "dns": "A name", "turn": "A turn of the loop"}
    parts = [
        el("div", el("h3", titles.get(name, label(name))), charts.distribution(group(found, name)))
        for name in found
    ]
    content = el("div", *parts, class_="plots") if parts else none("Nothing yet.")
    return section("How long it takes", content)
