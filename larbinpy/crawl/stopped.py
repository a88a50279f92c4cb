"""Looks at a crawl that does not run: its state is read, and never changed.

Before the first run there is no state, and the configuration alone answers.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from larbinpy.config import Config
from larbinpy.config.kinds import ALWAYS
from larbinpy.context import Context
from larbinpy.crawl.parts import SettingsBySite, make_frontier, read_login_links
from larbinpy.crawl.requests import SiteConfigs
from larbinpy.observe.explain import explain
from larbinpy.observe.log_search import StoppedLog
from larbinpy.observe.report.log import first_time
from larbinpy.storage.state import State
from larbinpy.url import site_of, typed

#: The state has no texts of links.
_UNKNOWN_LINKS = "links whose texts say that they log out were left out (loginFile)"


def explain_stopped(config: Config, text: str) -> dict[str, object]:
    """The answer to `explain URL` about the crawl in stateDir, with the rules of `config`.

    The rules of robots.txt files are not saved, so they are not in the answer. Raises StateInUse
    if the crawl runs, StateError if there is none.
    """
    state = State(Path(config.state_dir))
    with state.at_rest(), state.reading() as manifest, ExitStack() as closing:
        context = Context.open(config, closing)
        settings = SettingsBySite(config, SiteConfigs(config))
        links = read_login_links(config)
        frontier = make_frontier(context, settings, sessions=links)
        closing.callback(frontier.close)
        frontier.read(manifest, context.clock())
        log = StoppedLog(context.folder / "crawl.jsonl")
        began = first_time(float(manifest["totals"]["started"]))
        steps = explain(frontier, log, text, context.clock, began)
        found = next(found for found in steps if found)
    if found["state"] == "queued":
        hours = settings.of(site_of(str(found["url"]))).hours.configured
        if hours != ALWAYS:
            found["why"] = f"{found['why']}; its site is asked {hours.in_words()} only (hours)"
    if found["state"] == "never seen" and links and links.has(site_of(str(found["url"]))):
        found["why"] = f"{found['why']}; {_UNKNOWN_LINKS}"
    return found


def explain_planned(config: Config, text: str) -> dict[str, object]:
    """Whether a crawl by `config` that has not begun would take a link to a URL on its site.

    The answer has the keys of `explain`. Traps and robots.txt are not known before the crawl.
    """
    settings = SettingsBySite(config, SiteConfigs(config))
    links = read_login_links(config)
    with ExitStack() as closing:
        context = Context.open(config, closing)
        frontier = make_frontier(context, settings, sessions=links)
        closing.callback(frontier.close)
        seeds = [seed for seed in map(typed, config.start_url) if seed is not None]
        frontier.scope.area.add(seeds)
        log = StoppedLog(context.folder / "crawl.jsonl")
        steps = explain(frontier, log, text, context.clock)
        found = next(found for found in steps if found)
    none = f"no crawl in {config.state_dir} yet"
    if found["state"] != "never seen":
        return {**found, "why": f"{found['why']} ({none})"}
    # The first sentence says that no page links to it.
    accepted = str(found["why"]).split("; ")[1:]
    why = "it is a seed" if found["url"] in seeds else "a link to it would be queued"
    types = f"its type has to be one of: {', '.join(_types(config))}"
    reasons = [f"{none}; {why}", *accepted, *([] if config.any_type else [types])]
    return {**found, "state": "wanted", "why": "; ".join(reasons)}


def _types(config: Config) -> Iterator[str]:
    """The types that a crawl takes, with the keywords that ask for them."""
    yield "pages"
    if config.get_image:
        yield "images (getImage)"
    if config.requisites != "off":
        yield f"what pages need to be displayed (requisites {config.requisites})"
    if config.specific_search:
        yield from (f"{media_type} (specificSet)" for media_type, _ in config.specific_set)
    for rule in config.rules:
        if rule.accept and rule.has_type:
            yield f"those of {rule.described}"
