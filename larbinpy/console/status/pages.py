"""The status pages, rendered from a snapshot at Larbin's addresses.

A page is a list of sections, and a section is a function of the snapshot: to change a page,
change the table `PAGES`. Crawled text passes only through `markup.el` and never becomes a
link. A snapshot may lack any key; its value is then empty.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from larbinpy.config import LIVE, SETTINGS
from larbinpy.console.status import overview
from larbinpy.console.status.markup import (
    FLEET,
    SCRIPT,
    TABS,
    Child,
    Html,
    Snapshot,
    ago,
    document,
    el,
    figure,
    group,
    header,
    join,
    listing,
    moment,
    none,
    number,
    percent,
    raw,
    rows,
    section,
    table,
    tabs,
    tree,
)
from larbinpy.console.status.overview import (
    LEVELS,
    RATES,
    Level,
    default_span,
    draw,
    findings,
    health,
    histograms,
    no_plots,
    plots,
    progress,
    queues,
    share,
    sites,
    within,
)
from larbinpy.console.text import duration, grouped, roughly, size
from larbinpy.errors import CrawlState
from larbinpy.page import Trait, cure, having, in_words, left_out_in_words, reason

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


_BROKEN = [outcome.value for outcome in having(Trait.BROKEN)]


def broken_links(snapshot: Snapshot) -> Html:
    """How many links are broken, and the last ones with the first page that has each."""
    counts = group(snapshot, "outcomes")
    count = sum(counts.get(name, 0) for name in _BROKEN)
    last = rows(snapshot, "broken")
    lines = [
        (
            ago(fate.get("ts"), snapshot.get("now")),
            join(
                [
                    fate.get("url"),
                    el(
                        "small",
                        reason(str(fate.get("outcome")), fate.get("status"), fate.get("detail")),
                    ),
                ]
            ),
            fate.get("via") or "a seed",
        )
        for fate in last
    ]
    head = ("#Ago", "*URL and reason", "*First page with it")
    folder = group(snapshot, "config").get("stateDir") or "STATE_DIR"
    note = f"So far {grouped(count)}; the last {len(last)} are shown. "
    note += f"All of them, with all pages that have them: larbinpy report {folder}"
    return section("Broken links", el("p", note), table(head, lines, "No link is broken."))


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


def browser(snapshot: Snapshot) -> Html | None:
    """Pages that a browser reads, what they asked for, and its memory."""
    found = group(snapshot, "browser")
    return section("The browser", listing(found)) if found else None


def system(snapshot: Snapshot) -> Html:
    """Memory, descriptors and loop of the process."""
    plots = [draw(snapshot, level, default_span(snapshot)) for level in LEVELS]
    return section(
        "The process",
        el("div", *plots, class_="plots"),
        listing(group(snapshot, "system")),
    )


def config(snapshot: Snapshot) -> Html:
    """The settings in use: those that were set, with what set them, then the defaults."""
    texts, sources = group(snapshot, "config"), group(snapshot, "config_from")
    changed: list[tuple[Child, Child]] = []
    defaults: list[tuple[Child, Child]] = []
    for keyword, text in texts.items():
        row, source = SETTINGS.get(keyword.lower()), sources.get(keyword)
        about = join([keyword, el("small", row.help) if row else None])
        if row is not None and row.text(row.default) == text:
            defaults.append((about, text or "-"))
        else:
            value = join([text or "-", el("small", f"from {source}") if source else None])
            changed.append((about, value))
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


#: The one section that also takes the span.
_RATES = overview.rates

#: Address -> sections.
PAGES: dict[str, tuple[Callable[..., Html | None], ...]] = {
    "/": (health, _RATES, progress, queues, browser, few_failures, outcomes),
    FLEET: (fleet, nodes),
    "/stats.html": (outcomes, failures, rules, left_out, robots, traps),
    "/report.html": (broken_links,),
    "/histograms.html": (plots, histograms),
    "/urls.html": (queues, sites, recent),
    "/dns.html": (names,),
    "/system.html": (queues, system, config),
    "/output.html": (output,),
    "/all.html": (
        health,
        progress,
        plots,
        histograms,
        queues,
        browser,
        sites,
        outcomes,
        failures,
        broken_links,
        rules,
        left_out,
        robots,
        traps,
        recent,
        names,
        system,
        output,
        config,
        fleet,
        nodes,
    ),
}


def render(
    path: str,
    snapshot: Snapshot,
    *,
    span: str | None = None,
    with_histograms: bool = True,
    with_control: bool = False,
    with_search: bool = False,
) -> str:
    """The page at `path`, a key of `PAGES`, as an HTML document.

    `span` is minute, hour or day; anything else means the default. Without histograms their
    sections are left out, and their own page says so. `with_control`: commands are accepted.
    `with_search`: there is a Search page.
    """
    sections = PAGES[path]
    if not with_histograms:
        sections = tuple(s for s in sections if s not in (plots, histograms)) or (no_plots,)
    if span not in overview.SINCE:
        span = overview.default_span(snapshot)
    content = [
        section(snapshot, span) if section is _RATES else section(snapshot) for section in sections
    ]
    return document(
        _title(TABS[path], snapshot),
        _header(path, snapshot, with_search),
        _live(),
        _control(snapshot) if with_control else None,
        el("main", *content),
        _footer(snapshot),
        raw("script", SCRIPT),
        with_search=with_search,
    )


def _title(name: str, snapshot: Snapshot) -> str:
    """The title of the browser tab, with the level of the worst finding."""
    level = findings(snapshot)[0].level
    alarm = f"{level.value}! " if level in (Level.WARNING, Level.TROUBLE) else ""
    crawl, state = snapshot.get("name"), snapshot.get("state", "")
    # The crawl comes first, because a tab shows the beginning.
    whole = f"{crawl} {state}: {name} - larbinpy" if crawl else f"larbinpy {state}: {name}"
    return alarm + whole


def _header(path: str, snapshot: Snapshot, with_search: bool) -> Html:
    state = str(snapshot.get("state", "unknown"))
    elapsed = duration(float(snapshot.get("elapsed_s") or 0))
    kind = "state running" if state == CrawlState.RUNNING.value else "state"
    name = el("b", snapshot.get("name")) if snapshot.get("name") else None
    mark = el("span", state, class_=kind)
    shown = tabs(with_search=with_search, with_fleet="fleet" in snapshot)
    return header(shown, path, name, mark, el("small", elapsed))


def _live() -> Html:
    """The elements of the script: a switch, and a message for when the crawl does not answer."""
    switch = el("label", el("input", id="live", type="checkbox", checked=""), "Live")
    lost = el("p", id="lost", hidden="", role="status")
    return el("div", el("div", switch, id="bar", hidden=""), lost, class_="live")


_COMMANDS = [
    ("add", "Add seed"),
    ("reject", "Reject URLs"),
    ("accept", "Accept URLs"),
    ("drop", "Drop rule"),
    ("rules", "List rules"),
]


def _control(snapshot: Snapshot) -> Html:
    """The elements for commands; without the script they stay hidden."""
    verbs = ("Pause", "Resume", "Stop")
    buttons = [el("button", verb, type="button", id=verb.lower()) for verb in verbs]
    token = f"{group(snapshot, 'config').get('stateDir') or 'stateDir'}/token"
    return el(
        "section",
        el(
            "div",
            *buttons,
            el(
                "form",
                _field("url", "URL to explain", placeholder="URL"),
                el("button", "Explain"),
                id="explain",
            ),
        ),
        el(
            "form",
            el("select", *_changes(), id="what", aria_label="What to change"),
            _field("value", "Its value", placeholder="URL, pattern or value"),
            el("button", "Do"),
            id="change",
        ),
        el(
            "form",
            _field("token", f"Token (the line in {token})", class_="secret"),
            el("button", "Use"),
            id="ask",
            hidden="",
        ),
        el("pre", id="answer", hidden="", role="status"),
        id="control",
        hidden="",
        aria_label="Commands",
    )


def _changes() -> list[Html]:
    """What the form changes, as options; the values are commands without their last word."""
    settings = [(f"set {row.keyword}", f"Set {row.keyword}") for row in LIVE.values()]
    return [el("option", text, value=command) for command, text in [*_COMMANDS, *settings]]


def _field(name: str, text: str, **attributes: str) -> Html:
    """A text field whose content browsers do not keep, and its label."""
    field = el(
        "input", id=name, name=name, type="text", autocomplete="off", spellcheck="false",
        autocapitalize="none", **attributes,
    )  # fmt: skip
    return el("label", el("span", text), field)


def _footer(snapshot: Snapshot) -> Html:
    return el(
        "footer",
        f"larbinpy {snapshot.get('version', '')}, started {moment(snapshot.get('started'))}. ",
        "Data: ",
        el("a", "status.json", href="/status.json"),
        ", ",
        el("a", "metrics", href="/metrics"),
    )
