"""``larbinpy explain``."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import click

from larbinpy.cli.common import (
    config_options,
    folders,
    join_of,
    join_option,
    load_config,
    open_remote,
    plain_errors,
    port_of,
)
from larbinpy.cli.database import in_database
from larbinpy.config import Config
from larbinpy.console.terminal.layout import laid_out
from larbinpy.console.terminal.prompt import Console
from larbinpy.errors import UserError
from larbinpy.observe.report.log import of_nodes
from larbinpy.outcome import Outcome
from larbinpy.storage.state import State, StateInUse

#: Exit status if no node of a crawl could tell.
_UNANSWERED = 1


@click.command()
@click.argument("url")
@click.argument("state_dir", metavar="[STATE_DIR]", required=False, shell_complete=folders)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@join_option
@config_options
def explain(
    url: str,
    state_dir: str | None,
    as_json: bool,
    join: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Say where a URL stands in a crawl, or why it was left out.

    STATE_DIR is the stateDir of a crawl [that of the configuration]. A crawl that runs is asked
    through its input port. Of one that does not, the state is read and not changed; its rules
    are those of the configuration. Before the first crawl, the configuration alone answers, so that
    rules can be tried; stay and lockSite then go by its startUrl. In a crawl on Redis, the node
    that has the host of the URL is asked.
    """
    with plain_errors():
        address = join_of(config_file, join) if state_dir is None else ""
        if address:
            with open_remote(address) as remote:
                answer = remote.explain(url)
            reply = json.dumps(answer)
            sys.stdout.write(f"{reply}\n" if as_json else laid_out("explain", reply))
            if not answer["ok"]:
                sys.exit(_UNANSWERED)
            return
        config = load_config(config_file, settings, allow_private)
        if state_dir is not None:
            config = replace(config, state_dir=state_dir)
        if of_nodes(Path(config.state_dir)):
            raise UserError(f"{config.state_dir}: a crawl by nodes; {_how_to_ask(config)}")
        # Here, since a crawl by nodes answers itself.
        from larbinpy.crawl.stopped import explain_planned, explain_stopped

        stopped = explain_stopped
        if state_dir is None and not State(Path(config.state_dir)).exists:
            stopped = explain_planned
        try:
            answer = {"ok": True, **stopped(config, url)}
        except StateInUse as error:
            answer = json.loads(_ask(config, config_file, url, error))
        if config.fills_database and answer.get("reason") == Outcome.SUCCESS.value:
            answer |= in_database(config.content_database, answer["url"])
        reply = json.dumps(answer)
        sys.stdout.write(f"{reply}\n" if as_json else laid_out("explain", reply))


def _how_to_ask(config: Config) -> str:
    """How to explain a URL of a crawl by nodes, which has its queue in Redis."""
    # A Redis of its own is found in the folder while it runs.
    is_own = Path(config.state_dir, "redis").exists()
    asks = "ask" if is_own else "give its address (--join or LARBINPY_JOIN)"
    return f"{asks} while it runs, or read its log (larbinpy log --site HOST)"


def _ask(config: Config, config_file: str | None, url: str, running: StateInUse) -> str:
    """The answer of the crawl that runs."""
    if not config.input_port:
        raise UserError(f"{running}, and it has no inputPort to ask; wait for its end") from None
    with port_of("input", config_file) as (host, port):
        console = Console(host, port, sys.stdout, as_json=True)
        try:
            return console.ask(f"explain {' '.join(url.split())}").decode().strip()
        finally:
            console.close()
