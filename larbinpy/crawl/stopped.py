"""Looks at a crawl that does not run: its state is read, and never changed."""

from contextlib import closing
from pathlib import Path

from larbinpy.config import Config
from larbinpy.crawl.assembly import make_frontier
from larbinpy.crawl.sites.configs import SiteConfigs
from larbinpy.crawl.sites.settings import SettingsBySite
from larbinpy.dns.address import is_public
from larbinpy.loop.clock import clock, wall
from larbinpy.observe.explain import explain
from larbinpy.observe.log_search import StoppedLog
from larbinpy.observe.report.log_files import first_time
from larbinpy.storage.state import State


def explain_stopped(config: Config, text: str) -> dict[str, object]:
    """The answer to `explain URL` about the crawl in stateDir, with the rules of `config`.

    The rules of robots.txt files are not saved, so they are not in the answer. Raises StateInUse
    if the crawl runs, StateError if there is none.
    """
    folder = Path(config.state_dir)
    state = State(folder)
    with state.at_rest(), state.reading() as manifest:
        frontier = make_frontier(
            config, folder, SettingsBySite(config, SiteConfigs(config)), is_public, wall()
        )
        with closing(frontier):
            frontier.read(manifest, clock())
            log = StoppedLog(folder / "crawl.jsonl")
            began = first_time(float(manifest["totals"]["started"]))
            steps = explain(frontier.view, log, text, clock, began)
            return next(found for found in steps if found)
