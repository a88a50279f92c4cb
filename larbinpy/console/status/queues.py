"""Where URLs are: the queues from the store to the wire, and the sites they wait for."""

from collections.abc import Mapping, Sequence
from typing import Any

from larbinpy.console.status.format import Snapshot, figure, group, label, listing, rows, section
from larbinpy.console.status.markup import Html, el, table

#: The way of a URL: a name, and the queues of the snapshot that make it up.
_WAY = (
    ("In the store", ("priority", "ordinary")),
    ("Set aside there", ("priority_wait", "ordinary_wait")),
    ("With their sites", ("named_sites",)),
    ("Ready, by address", ("ip_sites",)),
    ("In flight", ("in_flight",)),
)
_WHAT = {
    "In the store": "not looked at yet",
    "Set aside there": "their sites have enough",
    "With their sites": "for address or robots.txt",
    "Ready, by address": "for politeness",
    "In flight": "requests under way",
}


def queues(snapshot: Snapshot) -> Html:
    """How many URLs are at which point of their way, and the gate between store and sites."""
    counts = group(snapshot, "queues")
    steps = [
        el(
            "li",
            el("span", name),
            el("strong", figure("", sum(counts.get(queue) or 0 for queue in queues))),
            el("small", _WHAT[name]),
        )
        for name, queues in _WAY
    ]
    known = {queue for _, queues in _WAY for queue in queues}
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
    is_open, why = gate["open"], gate.get("reason")
    state = "open" if is_open else f"closed: {why}"
    words = el("b", state, class_="good" if is_open else "note")
    return el("p", "The isGet gate between store and sites is ", words, ".", class_="gate")


def sites(snapshot: Snapshot) -> Html:
    """Which sites have most waiting, which are slow, and which are left alone."""
    found = group(snapshot, "sites")
    return section(
        f"Sites ({figure('', found.get('total', 0))})",
        _states(group(found, "by_state")),
        el("h3", "Busiest: most URLs waiting"),
        _sites(rows(found, "busiest"), "No site has URLs waiting."),
        el("h3", "Slowest: longest until the first byte"),
        _sites(rows(found, "slowest"), "No site with URLs waiting has answered yet."),
        el("h3", "Suspended: left alone for a while"),
        _suspended(found),
    )


def _states(counts: Mapping[str, Any]) -> Html:
    items = [
        el("span", el("b", figure("", count)), f" {label(name).lower()}")
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
    head = ("*Site", "State", "#Waiting", "#Answers in", "#Asked every", "#Fetched", "#Failed")
    return table(head, lines, empty)


def _suspended(found: Mapping[str, Any]) -> Html:
    lines = [
        (site.get("site"), site.get("reason"), figure("until_s", site.get("until_s")))
        for site in rows(found, "suspended")
    ]
    return table(("*Site", "Why", "#For another"), lines, "No site is suspended.")
