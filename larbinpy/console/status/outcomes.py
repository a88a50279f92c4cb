"""Sections about decided URLs: counts of outcomes, the last URLs, the last failures."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from larbinpy.console.status.charts import share
from larbinpy.console.status.format import (
    Snapshot,
    ago,
    figure,
    group,
    listing,
    none,
    percent,
    rows,
    section,
)
from larbinpy.console.status.markup import Child, Html, el, join, table
from larbinpy.console.text import grouped, size
from larbinpy.outcome import in_words
from larbinpy.reason import cure, left_out_in_words, reason

#: Failures on the overview; the page "Outcomes" has more.
_FEW = 8
#: Rules in the table.
_MOST_RULES = 200


def outcomes(snapshot: Snapshot) -> Html:
    """Counts of the outcomes, the most frequent first."""
    counts = group(snapshot, "outcomes")
    whole = sum(counts.values())
    lines = [
        (
            join([name, el("small", in_words(name))]),
            grouped(count),
            percent(count, whole),
            share(count, whole),
        )
        for name, count in sorted(counts.items(), key=lambda item: -item[1])
        if count
    ]
    head = ("Outcome", "#URLs", "#Share", "")
    return section("Outcomes", table(head, lines, "No URL is finished yet."))


def failures(snapshot: Snapshot) -> Html:
    """The last failures with their reasons."""
    return section("Last failures", _failed(snapshot, len(rows(snapshot, "failures"))))


def few_failures(snapshot: Snapshot) -> Html:
    """The last failures, for the overview."""
    more = el("p", el("a", "All outcomes and failures", href="/stats.html"), class_="more")
    return section("Last failures", _failed(snapshot, _FEW), more)


def _failed(snapshot: Snapshot, most: int) -> Html:
    lines = [
        (
            ago(fate.get("ts"), snapshot.get("now")),
            join([fate.get("url"), el("small", _reason(fate))]),
            figure("", fate.get("attempt")),
        )
        for fate in rows(snapshot, "failures")[:most]
    ]
    return table(("#Ago", "*URL and reason", "#Tries"), lines, "Nothing has failed.")


def robots(snapshot: Snapshot) -> Html:
    """Counts of robots.txt files, and the URLs that they forbade last."""
    now = snapshot.get("now")
    lines = [
        (ago(fate.get("ts"), now), fate.get("url")) for fate in rows(snapshot, "refusals")[:_FEW]
    ]
    return section(
        "robots.txt",
        listing(group(snapshot, "robots")),
        el("h3", "Last forbidden URLs"),
        table(("#Ago", "*URL"), lines, "No URL was forbidden."),
    )


def left_out(snapshot: Snapshot) -> Html:
    """Counts of the links that limits left out, by limit."""
    lines = [
        (join([left_out_in_words(name), el("small", name)]), grouped(count))
        for name, count in sorted(group(snapshot, "left_out").items(), key=lambda item: -item[1])
    ]
    return section("Links left out", table(("*Reason", "#Links"), lines, "No link was left out."))


def traps(snapshot: Snapshot) -> Html:
    """Counts of the links that looked like a spider trap, by guard."""
    return section("Links into spider traps", listing(group(snapshot, "traps")))


def rules(snapshot: Snapshot) -> Html:
    """The rules in their order, with the number of links that each has decided."""
    decided, places = group(snapshot, "rules"), group(snapshot, "places_of_rules")
    lines = [
        (join([text, el("small", places.get(text))]), grouped(count))
        for text, count in islice(decided.items(), _MOST_RULES)
    ]
    more = len(decided) - len(lines)
    note = [none(f"{more} more rules are in /status.json.")] if more else []
    empty = "No rules (accept, reject): stay and other keywords decide."
    return section("Rules", table(("*Rule", "#Links"), lines, empty), *note)


def recent(snapshot: Snapshot) -> Html:
    """The last finished URLs, newest first."""
    lines = [_recent(fate) for fate in rows(snapshot, "recent")]
    head = ("*URL", "Outcome", "#Status", "#Size", "#Time", "#Try")
    return section("Last URLs", table(head, lines, "No URL is finished yet."))


def _recent(fate: Mapping[str, Any]) -> tuple[Child, ...]:
    return (
        fate.get("url"),
        fate.get("outcome"),
        fate.get("status") or "-",
        size(fate.get("size") or 0),
        figure("_ms", fate.get("ms")),
        fate.get("attempt"),
    )


def _reason(fate: Mapping[str, Any]) -> str:
    """The reason of an outcome, and its cure."""
    outcome, status, detail = (fate.get(key) for key in ("outcome", "status", "detail"))
    name = str(outcome or "-")
    why, remedy = reason(name, status, detail), cure(name, detail)
    return f"{why}; {remedy}" if remedy else why
