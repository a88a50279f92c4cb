"""The sections about the fleet that a crawl is a node of."""

from collections.abc import Mapping
from typing import Any

from larbinpy.console.status.format import Snapshot, figure, group, none, number, rows, section
from larbinpy.console.status.markup import Child, Html, el, join, table
from larbinpy.console.text import grouped, roughly

_ALONE = "This crawl has no other nodes; larbinpy crawl --join makes it one of several."


def fleet(snapshot: Snapshot) -> Html:
    """The whole crawl: sums over its nodes, shards, and what it waits for."""
    found = group(snapshot, "fleet")
    if not found:
        return section("Fleet", none(_ALONE))
    nodes = rows(found, "nodes")
    alive = [node for node in nodes if node.get("alive")]
    sums: dict[str, Child] = {
        "Pages": f"{_sum(nodes, 'pages')}",
        "Pages a second": f"{_sum(alive, 'pages_s')}",
        "Received": figure("bytes", sum(number(node, "bytes") for node in nodes)),
        "URLs waiting": f"{_sum(alive, 'queued')}",
        "Nodes": f"{grouped(len(alive))}",
        "Shards served": f"{_figure(found, 'shards_served')} of {_figure(found, 'shards_of_all')}",
    }
    if found.get("limit"):
        left = grouped(max(0, number(found, "left")))
        note = el("small", f"{left} not given to nodes yet")
        sums["limitPage"] = join([_figure(found, "limit"), note])
    figures = [el("div", el("dt", name), el("dd", value)) for name, value in sums.items()]
    trouble = found.get("trouble")
    return section(
        f"Fleet {found.get('name') or ''}: {found.get('state') or ''}",
        el("dl", *figures),
        el("p", el("b", trouble, class_="warning"), class_="gate") if trouble else None,
    )


def nodes(snapshot: Snapshot) -> Html | None:
    """A line for each node that takes part, and for those that have left."""
    found = group(snapshot, "fleet")
    if not found:
        return None
    lines = [_line(node, node.get("name") == found.get("node")) for node in rows(found, "nodes")]
    head = ("*Node", "State", "#Pages", "#Pages/s", "#Waiting", "#Shards", "#Lag", "Status page")
    return section("Nodes", table(head, lines, "No node has reported yet."))


def _line(node: Mapping[str, Any], is_this: bool) -> tuple[Html | str | None, ...]:
    words = [f"for {roughly(number(node, 'joined_s') + number(node, 'age_s'))}"]
    if not node.get("alive"):
        words = [f"last seen {roughly(number(node, 'age_s'))} ago"]
    words += ["this one"] if is_this else []
    words += [str(node.get("trouble"))] if node.get("alive") and node.get("trouble") else []
    name = join([node.get("name"), el("small", ", ".join(words))])
    if not node.get("alive"):
        gone = el("b", "gone", class_="note")
        return name, gone, _figure(node, "pages"), "-", "-", "-", "-", "-"
    kind = "warning" if node.get("trouble") else "good"
    return (
        name,
        el("b", node.get("state"), class_=kind),
        _figure(node, "pages"),
        _figure(node, "pages_s"),
        _figure(node, "queued"),
        _figure(node, "shards"),
        figure("lag_s", node.get("lag_s")),
        str(node.get("http") or "-"),
    )


def _figure(within: Mapping[str, Any], name: str) -> str:
    return figure("", within.get(name))


def _sum(nodes: Any, name: str) -> str:
    return grouped(sum(number(node, name) for node in nodes))
