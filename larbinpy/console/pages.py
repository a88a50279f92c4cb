"""The status pages, rendered from a snapshot at Larbin's addresses.

A page is a list of sections and a section is a function of the snapshot, so that a page is
changed in the table `PAGES`. Crawled text passes through `markup.el` alone, and is never
made a link. A key that a snapshot lacks leaves its place empty: a crawl does not end
because someone looked at it.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from larbinpy.console.charts import histogram, share
from larbinpy.console.markup import Child, Html, el, join, raw, table
from larbinpy.console.style import STYLE
from larbinpy.console.text import duration, grouped, size

Snapshot = Mapping[str, Any]
Section = Callable[[Snapshot], Html]


def _group(snapshot: Snapshot, name: str) -> Mapping[str, Any]:
    found = snapshot.get(name)
    return found if isinstance(found, Mapping) else {}


def _rows(group: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = group.get(name)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _figure(key: str, value: object) -> str:
    """A value as people read it; what it measures is told by how its key ends."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return value if isinstance(value, str) else json.dumps(value, default=str)
    if "bytes" in key:
        return size(value)
    if key.endswith("_ms"):
        return f"{grouped(value)} ms"
    return f"{grouped(value)} s" if key.endswith("_s") else grouped(value)


def _percent(part: object, whole: object) -> str:
    if not isinstance(part, int) or not isinstance(whole, int) or not whole:
        return "-"
    return f"{100 * part / whole:.1f} %"


#: Where a key with its first letter in capitals does not say it.
_LABELS = {
    "ip_sites": "IP sites",
    "cpu_s": "Processor time",
    "rss_bytes": "Memory",
    "fds": "Open descriptors",
    "loop_lag_ms": "Turn of the loop",
    "loop_lag_max_ms": "Longest turn",
    "busy": "Busy handles",
    "early": "Asked in advance",
    "overdue": "Asked again",
    "evicted": "Pushed out",
    "absent": "Absent names",
    "absent_size": "Absent names at most",
    "absent_bytes": "Memory for absent names",
    "failures": "Other failures",
    "stale_served": "Old addresses used",
}

#: Dicts within dicts that are shown with headings of their own.
_DEEPEST = 3


def _label(key: str) -> str:
    if not (key.isidentifier() and key.islower()):  # a type, a host, an outcome
        return key
    if key in _LABELS:
        return _LABELS[key]
    words = key.removesuffix("_ms").removesuffix("_s").replace("_", " ")
    return words[:1].upper() + words[1:]


def _list(group: Mapping[str, Any]) -> Html:
    """All plain values of a group, one below the other."""
    items = [
        el("div", el("dt", _label(key)), el("dd", _figure(key, value)))
        for key, value in group.items()
        if not isinstance(value, list | dict)
    ]
    return el("dl", *items, class_="list") if items else el("p", "None.", class_="none")


def _tree(group: Mapping[str, Any], depth: int = 0) -> Html:
    """The plain values and short lists of a group, then the groups within it by name."""
    within = {key: value for key, value in group.items() if isinstance(value, Mapping)}
    plain = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in group.items()
        if key not in within
    }
    parts = [_list(plain)] if plain or not within else []
    if depth < _DEEPEST:
        for key, value in within.items():
            parts += [el("h3", _label(key)), _tree(value, depth + 1)]
    return join(parts)


def _moment(seconds: object) -> str:
    """Unix time as people read it, in UTC; a time that is text already stays."""
    if not isinstance(seconds, int | float):
        return str(seconds or "-")
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _section(title: str, *content: Child) -> Html:
    return el("section", el("h2", title), *content)


def totals(snapshot: Snapshot) -> Html:
    """The figures people come for."""
    counts, rates = _group(snapshot, "totals"), _group(snapshot, "rates")

    def tile(name: str, key: str, rate: str | None = None) -> Html:
        figure: list[Child] = [_figure(key, counts.get(key))]
        if rate is not None and rate in rates:
            figure.append(el("small", f"{_figure(rate, rates[rate])}/s now"))
        return el("div", el("dt", name), el("dd", *figure))

    tiles = [
        tile("Pages", "pages", "pages"),
        tile("Success", "success", "success"),
        tile("Links found", "links", "links"),
        tile("URLs seen", "urls_seen"),
        tile("URLs queued", "urls_queued"),
        tile("Received", "bytes_received", "bytes"),
        tile("Sites", "sites", "names"),
        tile("Addresses", "addresses"),
        tile("Retries", "retries"),
    ]
    return _section("The crawl", el("dl", *tiles))


def outcomes(snapshot: Snapshot) -> Html:
    """How the URLs ended, the most frequent first."""
    counts = _group(snapshot, "outcomes")
    whole = sum(counts.values())
    rows = [
        (name, grouped(count), _percent(count, whole), share(count, whole))
        for name, count in sorted(counts.items(), key=lambda item: -item[1])
        if count
    ]
    head = ("Outcome", "#URLs", "#Share", "")
    return _section("How URLs ended", table(head, rows, "No URL has ended yet."))


def histograms(snapshot: Snapshot) -> Html:
    """The last minute, a bar a second."""
    history = _group(snapshot, "history")
    figures = [
        histogram(_label(name), values, is_bytes="bytes" in name)
        for name, values in history.items()
    ]
    return _section("The last minute", *(figures or [el("p", "No history yet.", class_="none")]))


def recent(snapshot: Snapshot) -> Html:
    """The URLs that ended last, newest first."""
    rows = [
        (
            fate.get("url"),
            fate.get("outcome"),
            fate.get("status") or "-",
            size(fate.get("size") or 0),
            _figure("_ms", fate.get("ms")),
            fate.get("attempt"),
        )
        for fate in _rows(snapshot, "recent")
    ]
    head = ("URL", "Outcome", "#Status", "#Size", "#Time", "#Attempt")
    return _section("Last URLs", table(head, rows, "No URL has ended yet."))


def sites(snapshot: Snapshot) -> Html:
    """Which sites have most waiting, and which are held."""
    group = _group(snapshot, "sites")
    busiest = [
        (
            site.get("site"),
            site.get("state"),
            _figure("", site.get("waiting")),
            _figure("delay_s", site.get("delay_s")),
            _figure("", site.get("fetched")),
            _figure("", site.get("failed")),
        )
        for site in _rows(group, "busiest")
    ]
    head = ("Site", "State", "#Waiting", "#Delay", "#Fetched", "#Failed")
    return _section(
        f"Sites ({_figure('', group.get('total', 0))})",
        _list(_group(group, "by_state")),
        el("h3", "Most URLs waiting"),
        table(head, busiest, "No site has URLs waiting."),
        el("h3", "Held"),
        _held(group),
    )


def _held(group: Mapping[str, Any]) -> Html:
    rows = [
        (site.get("site"), _figure("until_s", site.get("until_s")), site.get("reason"))
        for site in _rows(group, "suspended")
    ]
    return table(("Site", "#For", "Reason"), rows, "No site is held.")


def queues(snapshot: Snapshot) -> Html:
    """Where the URLs wait, and whether the gate lets more of them out."""
    gate = _group(snapshot, "gate")
    state = "open" if gate.get("open") else f"closed: {gate.get('reason', '')}"
    return _section("Queues", _list({"gate": state, **_group(snapshot, "queues")}))


def names(snapshot: Snapshot) -> Html:
    """The resolver and its servers."""
    dns = _group(snapshot, "dns")
    hits = _percent(dns.get("cached"), dns.get("asked"))
    servers = [
        (
            server.get("address"),
            _figure("", server.get("sent")),
            _figure("", server.get("answered")),
            _figure("", server.get("lost")),
            _figure("rtt_ms", server.get("rtt_ms")),
            _figure("", server.get("keeps_case")),
            _figure("", server.get("resting")),
        )
        for server in _rows(dns, "servers")
    ]
    head = ("Server", "#Sent", "#Answered", "#Lost", "#Round trip", "Keeps case", "Resting")
    return _section(
        "Names",
        _list(dns),
        el("h3", "Cache"),
        _list({"hits": hits, **_group(dns, "cache")}),
        el("h3", "Servers"),
        table(head, servers),
    )


def robots(snapshot: Snapshot) -> Html:
    return _section("robots.txt", _list(_group(snapshot, "robots")))


def system(snapshot: Snapshot) -> Html:
    return _section("The process", _list(_group(snapshot, "system")))


def config(snapshot: Snapshot) -> Html:
    rows = _group(snapshot, "config").items()
    return _section("Configuration", table(("Keyword", "Value"), rows))


def output(snapshot: Snapshot) -> Html:
    """What each plug has done with the pages."""
    plugs = _group(snapshot, "output")
    if not plugs:
        return _section("Output", el("p", "Pages are not kept.", class_="none"))
    return join(_section(f"Output: {name}", _tree(_group(plugs, name))) for name in plugs)


#: Address -> name in the navigation, and sections.
PAGES: dict[str, tuple[str, tuple[Section, ...]]] = {
    "/": ("Overview", (totals, histograms, outcomes, recent)),
    "/stats.html": ("Stats", (totals, outcomes, robots)),
    "/histograms.html": ("Histograms", (histograms,)),
    "/urls.html": ("URLs", (sites, recent)),
    "/dns.html": ("DNS", (names,)),
    "/system.html": ("System", (queues, system, config)),
    "/output.html": ("Output", (output,)),
    "/all.html": (
        "All",
        (
            totals,
            histograms,
            outcomes,
            sites,
            queues,
            names,
            robots,
            system,
            output,
            recent,
            config,
        ),
    ),
}


def render(path: str, snapshot: Snapshot, *, with_histograms: bool = True) -> str:
    """The page at `path`, a key of `PAGES`, as an HTML document.

    Without histograms their section is left out, except on the page that is theirs.
    """
    _, sections = PAGES[path]
    if not with_histograms:
        sections = tuple(s for s in sections if s is not histograms) or (_no_histograms,)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"larbinpy: {PAGES[path][0]}"),
        raw("style", STYLE),
    )
    body = el(
        "body",
        _header(path, snapshot),
        el("main", *(section(snapshot) for section in sections)),
        _footer(snapshot),
    )
    return "<!doctype html>\n" + el("html", head, body, lang="en")


def _no_histograms(_snapshot: Snapshot) -> Html:
    off = "Histograms are off: the keyword histograms of larbin.conf switches them on."
    return _section("The last minute", el("p", off, class_="none"))


def _header(path: str, snapshot: Snapshot) -> Html:
    state = str(snapshot.get("state", "unknown"))
    elapsed = duration(float(snapshot.get("elapsed_s") or 0))
    links = [
        el("a", name, href=at, aria_current="page" if at == path else None)
        for at, (name, _) in PAGES.items()
    ]
    kind = "state running" if state == "running" else "state"
    title = el("h1", "larbinpy", el("span", state, class_=kind), el("small", elapsed))
    return el("header", title, el("nav", *links, aria_label="Pages"))


def _footer(snapshot: Snapshot) -> Html:
    return el(
        "footer",
        f"larbinpy {snapshot.get('version', '')}, started {_moment(snapshot.get('started'))}. ",
        el("a", "status.json", href="/status.json"),
        ", ",
        el("a", "metrics", href="/metrics"),
    )
