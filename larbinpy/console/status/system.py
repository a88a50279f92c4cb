"""Sections about the program: name resolution, process, configuration, outputs."""

from collections.abc import Mapping
from typing import Any

from larbinpy.config import SETTINGS
from larbinpy.console.status.charts import within
from larbinpy.console.status.format import (
    Snapshot,
    figure,
    group,
    listing,
    none,
    percent,
    rows,
    section,
    tree,
)
from larbinpy.console.status.markup import Child, Html, el, join, table
from larbinpy.console.status.overview import LEVELS, RATES, default_span, draw


def names(snapshot: Snapshot) -> Html:
    """The resolver, its cache and its servers."""
    dns = group(snapshot, "dns")
    took = group(group(snapshot, "histograms"), "dns")
    hits = percent(dns.get("cached"), dns.get("asked"))
    return section(
        "Name resolution",
        el("div", draw(snapshot, RATES[-1], default_span(snapshot)), class_="plots"),
        listing(
            {
                "Median lookup time": within(took, 0.5),
                "95 % of lookups": within(took, 0.95),
                **dns,
            }
        ),
        el("h3", "Cache"),
        listing({"hits": hits, **group(dns, "cache")}),
        el("h3", "Servers"),
        _servers(dns),
    )


def _servers(dns: Mapping[str, Any]) -> Html:
    lines = [
        (
            server.get("address"),
            _resting(server.get("resting")),
            figure("", server.get("sent")),
            figure("", server.get("answered")),
            figure("", server.get("lost")),
            figure("rtt_ms", server.get("rtt_ms")),
            figure("", server.get("keeps_case")),
        )
        for server in rows(dns, "servers")
    ]
    head = ("*Server", "State", "#Sent", "#Answered", "#Lost", "#Round trip", "Keeps case")
    return table(head, lines)


def _resting(resting: object) -> Html:
    return el("b", "resting" if resting else "in use", class_="warning" if resting else "good")


def system(snapshot: Snapshot) -> Html:
    """Memory, descriptors and loop of the process."""
    plots = [draw(snapshot, level, default_span(snapshot)) for level in LEVELS]
    return section(
        "The process",
        el("div", *plots, class_="plots"),
        listing(group(snapshot, "system")),
    )


def config(snapshot: Snapshot) -> Html:
    """The settings in use: those that were set, then the defaults."""
    texts = group(snapshot, "config")
    changed: list[tuple[Child, Child]] = []
    defaults: list[tuple[Child, Child]] = []
    for keyword, text in texts.items():
        row = SETTINGS.get(keyword.lower())
        line = (join([keyword, el("small", row.help) if row else None]), text or "-")
        is_default = row is not None and row.text(row.default) == text
        (defaults if is_default else changed).append(line)
    head = ("*Keyword", "*Value")
    return section(
        "Configuration",
        el("h3", f"Changed settings ({len(changed)})"),
        table(head, changed, "All settings have their defaults."),
        el("details", el("summary", f"Defaults ({len(defaults)})"), table(head, defaults)),
    )


def output(snapshot: Snapshot) -> Html:
    """The counts of each output."""
    plugs = group(snapshot, "output")
    if not plugs:
        return section("Output", none("No output is configured: pages are not kept."))
    return join(section(f"Output: {name}", tree(group(plugs, name))) for name in plugs)
