"""How URLs ended: all in numbers, the last ones by name, and what went wrong."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from larbinpy.console.status.charts import share
from larbinpy.console.status.format import (
    Snapshot,
    ago,
    figure,
    group,
    listing,
    percent,
    rows,
    section,
)
from larbinpy.console.status.markup import Child, Html, el, join, table
from larbinpy.console.text import grouped, size
from larbinpy.outcome import in_words

#: Failures on the overview; the page of outcomes has more.
_FEW = 8


def outcomes(snapshot: Snapshot) -> Html:
    """How the URLs ended, the most frequent first."""
    counts = group(snapshot, "outcomes")
    whole = sum(counts.values())
    lines = [
        (name, grouped(count), percent(count, whole), share(count, whole))
        for name, count in sorted(counts.items(), key=lambda item: -item[1])
        if count
    ]
    head = ("Outcome", "#URLs", "#Share", "")
    return section("How URLs ended", table(head, lines, "No URL has ended yet."))


def failures(snapshot: Snapshot) -> Html:
    """What went wrong lately, and why."""
    return section("Last failures", _failed(snapshot, len(rows(snapshot, "failures"))))


def few_failures(snapshot: Snapshot) -> Html:
    """As many as one takes in at a glance."""
    more = el("p", el("a", "All outcomes and failures", href="/stats.html"), class_="more")
    return section("Last failures", _failed(snapshot, _FEW), more)


def _failed(snapshot: Snapshot, most: int) -> Html:
    lines = [
        (
            ago(fate.get("ts"), snapshot.get("now")),
            join([fate.get("url"), el("small", reason(fate))]),
            figure("", fate.get("attempt")),
        )
        for fate in rows(snapshot, "failures")[:most]
    ]
    return table(("#Ago", "*URL and reason", "#Tries"), lines, "Nothing has failed.")


def robots(snapshot: Snapshot) -> Html:
    """What robots.txt files kept us from."""
    now = snapshot.get("now")
    lines = [
        (ago(fate.get("ts"), now), fate.get("url")) for fate in rows(snapshot, "refusals")[:_FEW]
    ]
    return section(
        "robots.txt",
        listing(group(snapshot, "robots")),
        el("h3", "Refused last"),
        table(("#Ago", "*URL"), lines, "No URL was refused."),
    )


def recent(snapshot: Snapshot) -> Html:
    """The URLs that ended last, newest first."""
    lines = [_recent(fate) for fate in rows(snapshot, "recent")]
    head = ("*URL", "Outcome", "#Status", "#Size", "#Time", "#Attempt")
    return section("Last URLs", table(head, lines, "No URL has ended yet."))


def _recent(fate: Mapping[str, Any]) -> tuple[Child, ...]:
    return (
        fate.get("url"),
        fate.get("outcome"),
        fate.get("status") or "-",
        size(fate.get("size") or 0),
        figure("_ms", fate.get("ms")),
        fate.get("attempt"),
    )


def reason(fate: Mapping[str, Any]) -> str:
    """One short line: the status where it decided, else what is known."""
    outcome, status, detail = (fate.get(key) for key in ("outcome", "status", "detail"))
    if isinstance(status, int) and status >= 300:
        return _status(status)
    words = in_words(str(outcome or "-"))
    return f"{words}: {detail}" if detail else words


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"
