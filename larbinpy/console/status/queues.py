"""Sections about waiting URLs: the queues from the store to the network, and the sites."""

from collections.abc import Mapping, Sequence
from typing import Any

from larbinpy.console.status.format import Snapshot, figure, group, listing, none, rows, section
from larbinpy.console.status.markup import Html, el, join, table

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
_STATES = {
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
        el("span", el("b", figure("", count)), f" {_STATES.get(name, name)}")
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
