"""The status pages, rendered from a snapshot at Larbin's addresses.

A page is a list of sections, and a section is a function of the snapshot: to change a page,
change the table `PAGES`. Crawled text passes only through `markup.el` and never becomes a
link. A snapshot may lack any key; its value is then empty.
"""

from collections.abc import Callable

from larbinpy.console.status import overview
from larbinpy.console.status.markup import (
    FLEET,
    SCRIPT,
    TABS,
    Html,
    Snapshot,
    document,
    el,
    group,
    header,
    moment,
    raw,
    tabs,
)
from larbinpy.console.status.overview import (
    Level,
    findings,
    health,
    histograms,
    no_plots,
    plots,
    progress,
    queues,
    sites,
)
from larbinpy.console.status.sections import (
    broken_links,
    config,
    failures,
    few_failures,
    fleet,
    left_out,
    names,
    nodes,
    outcomes,
    output,
    recent,
    robots,
    rules,
    system,
    traps,
)
from larbinpy.console.text import duration
from larbinpy.errors import CrawlState

#: The one section that also takes the span.
_RATES = overview.rates

#: Address -> sections.
PAGES: dict[str, tuple[Callable[..., Html | None], ...]] = {
    "/": (health, _RATES, progress, queues, few_failures, outcomes),
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
