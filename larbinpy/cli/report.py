"""The commands that look back: ``report``, ``log``, ``frontier`` and ``explain``."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from larbinpy.cli.common import (
    collect_rarely,
    config_of,
    config_options,
    file_option,
    folders,
    join_of,
    join_option,
    load_config,
    open_remote,
    place_of,
    plain_errors,
    state_option,
)
from larbinpy.config import Config, ConfigError, Given
from larbinpy.config.patterns import HostPattern
from larbinpy.console.terminal.client import follow_log as follow_files
from larbinpy.console.terminal.layout import laid_out
from larbinpy.console.terminal.prompt import Console
from larbinpy.console.text import printable, size
from larbinpy.errors import UserError
from larbinpy.fleet.identity import saved_node
from larbinpy.loop.clock import sleep
from larbinpy.observe.report.log import (
    LogFiles,
    by_time,
    decode,
    first_time_saved,
    of_nodes,
    states_in,
)
from larbinpy.page import Outcome, detail_in_words
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State, StateInUse
from larbinpy.url import split


@click.command()
@click.argument("state_dir", metavar="[STATE_DIR]", required=False, shell_complete=folders)
@file_option
@state_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the broken links as CSV.")
@click.option("--all", "everything", is_flag=True, help="Print whole lists.")
def report(
    state_dir: str | None,
    config_file: str | None,
    state: str | None,
    as_json: bool,
    as_csv: bool,
    everything: bool,
) -> None:
    """Report what a crawl found: broken links and their pages, redirects, sites.

    STATE_DIR is the stateDir of a crawl, which may still run, or the folder of a mirror [stateDir
    of the configuration]. After `crawl --nodes`, it is that of all nodes together.

    --csv prints a line for each broken link and each page that has it: url, status, outcome,
    page, target. The target is the URL that is broken, if the link redirects to it.

    The exit status is 0 whatever was found; scripts read --json or --csv.
    """
    # Here, since the other commands need no links.
    from larbinpy.observe.report.formats import Report, csv_pieces, json_pieces, whole

    with plain_errors():
        if as_json and as_csv:
            raise ConfigError("--json and --csv cannot be used together")
        folder = state_dir or state or load_config(config_file, ()).state_dir
        collect_rarely()
        found = Report(Path(folder))
        if as_json or as_csv:
            pieces = json_pieces(found) if as_json else csv_pieces(found)
        else:
            pieces = (f"{line}\n" for line in whole(found, everything=everything))
        sys.stdout.writelines(found.shown(pieces))


_Line = dict[str, Any]


@click.command()
@click.argument("state_dir", metavar="[STATE_DIR]", required=False, shell_complete=folders)
@file_option
@click.option("--outcome", metavar="NAME", help="Only this outcome, or those that begin so (err).")
@click.option("--site", metavar="HOST", help="Only this host and its subdomains.")
@click.option("--follow", is_flag=True, help="Print the last lines, then each new one.")
@click.option("--json", "as_json", is_flag=True, help="Print lines as they are in the log.")
def log(
    state_dir: str | None,
    config_file: str | None,
    outcome: str | None,
    site: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Show the crawl log: time, outcome, status, size, duration, URL, reason.

    STATE_DIR is the stateDir of a crawl, which may still run, or the folder of a mirror [stateDir
    of the configuration]. After `crawl --nodes`, the lines of all nodes are shown by time.
    Rotated logs are read, too, except for lines of an earlier crawl (--scratch).
    """
    with plain_errors():
        wanted = _filter(outcome, site)
        folder = Path(state_dir or load_config(config_file, ()).state_dir)
        logs = [LogFiles(each) for each in states_in(folder)]
        lines = _followed(logs) if follow else by_time([_of_this_crawl(log) for log in logs])
        for line in filter(wanted, lines):
            text = json.dumps(line) if as_json else _text(line)
            sys.stdout.write(f"{text}\n")
            if follow:
                sys.stdout.flush()
        for error in (error for log in logs for error in log.errors):
            click.echo(f"larbinpy: {printable(error)}", err=True)


def _of_this_crawl(log: LogFiles) -> Iterator[_Line]:
    began = first_time_saved(log.folder)
    return (line for line in log.lines() if line["ts"] >= began)


def _followed(logs: Sequence[LogFiles]) -> Iterator[_Line]:
    began = min(first_time_saved(log.folder) for log in logs)
    lines = filter(None, map(decode, follow_files([log.paths[-1] for log in logs], sleep)))
    return (line for line in lines if line["ts"] >= began)


def _filter(outcome: str | None, site: str | None) -> Callable[[_Line], bool]:
    """Whether a line has the outcome and the site in question."""
    begin = (outcome or "").lower()
    if begin and not any(each.value.lower().startswith(begin) for each in Outcome):
        known = ", ".join(each.value for each in Outcome)
        raise ConfigError(f"command line, --outcome: no outcome begins with {begin!r}: {known}")
    pattern = None
    if site is not None:
        try:
            pattern = HostPattern.parse(site)
        except ValueError as error:
            raise ConfigError(f"command line, --site: {error}") from None

    def wanted(line: _Line) -> bool:
        if not line["outcome"].lower().startswith(begin):
            return False
        if pattern is None:
            return True
        parts = split(line["url"])
        return pattern.match(parts.host, parts.port)

    return wanted


def _text(line: _Line) -> str:
    detail = detail_in_words(line["outcome"], line.get("detail") or "")
    text = (
        f"{line['ts'][:19].replace('T', ' ')} {line['outcome']:<15} {line['status'] or '-':>3} "
        f"{size(line['size']):>8} {line['ms']:>5} ms  {line['url']}"
    )
    return printable(f"{text}  {detail}" if detail else text)


@click.command()
@click.argument("state_dir", metavar="STATE_DIR", shell_complete=folders)
@click.option("--count", is_flag=True, help="Print only their number.")
def frontier(state_dir: str, count: bool) -> None:
    """List the URLs that a stopped crawl has not fetched yet."""
    with plain_errors():
        folder = Path(state_dir)
        if of_nodes(folder) or saved_node(folder) is not None:
            raise UserError(
                f"{state_dir}: a crawl by nodes, whose queue is in Redis; larbinpy status has its "
                "length while it runs, and urls_queued of --report after it"
            )
        urls = owed_urls(State(folder))
        if count:
            click.echo(sum(1 for _ in urls))
        else:
            for url in urls:
                click.echo(url.href)


#: Exit status if no node of a crawl could tell.
_UNANSWERED = 1


@click.command()
@click.argument("url")
@click.argument("state_dir", metavar="[STATE_DIR]", required=False, shell_complete=folders)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@join_option
@state_option
@config_options
def explain(
    url: str,
    state_dir: str | None,
    state: str | None,
    as_json: bool,
    join: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Say where a URL stands in a crawl, or why it was left out.

    STATE_DIR is the stateDir of a crawl [that of the configuration]. A crawl that runs is asked
    itself. Of one that does not, the state is read and not changed; its rules
    are those of the configuration that it had. Before the first crawl, the configuration alone
    answers, so that rules can be tried; stay and lockSite then go by its startUrl. In a crawl on
    Redis, the node that has the host of the URL is asked.
    """
    with plain_errors():
        state_dir = state_dir or state
        address = join_of(config_file, join) if state_dir is None else ""
        if address:
            with open_remote(address) as remote:
                answer = remote.explain(url)
            reply = json.dumps(answer)
            sys.stdout.write(f"{reply}\n" if as_json else laid_out("explain", reply))
            if not answer["ok"]:
                sys.exit(_UNANSWERED)
            return
        given = Given.by(config_file, settings, allow_private)
        folder = given.config().state_dir if state_dir is None else state_dir
        config = replace(_as_it_ran(given, folder), state_dir=folder)
        if of_nodes(Path(folder)):
            raise UserError(f"{folder}: a crawl by nodes; {_how_to_ask(config)}")
        # Here, since a crawl by nodes answers itself.
        from larbinpy.crawl.control import explain_planned, explain_stopped

        stopped = explain_stopped
        if state_dir is None and not State(Path(config.state_dir)).exists:
            stopped = explain_planned
        try:
            answer = {"ok": True, **stopped(config, url)}
        except StateInUse:
            answer = json.loads(_ask(config, config_file, url))
        if config.fills_database and answer.get("reason") == Outcome.SUCCESS.value:
            # Here, since a report needs no database.
            from larbinpy.cli.database import in_database

            answer |= in_database(config.content_database, answer["url"])
        reply = json.dumps(answer)
        sys.stdout.write(f"{reply}\n" if as_json else laid_out("explain", reply))


def _as_it_ran(given: Given, folder: str) -> Config:
    """The configuration `given`, and what the crawl in `folder` was given besides."""
    try:
        return config_of(given, folder, says=False)
    except ConfigError:
        # The file that it was given is not here, or has an error now.
        return given.config()


def _how_to_ask(config: Config) -> str:
    """How to explain a URL of a crawl by nodes, which has its queue in Redis."""
    # A Redis of its own is found in the folder while it runs.
    is_own = Path(config.state_dir, "redis").exists()
    asks = "ask" if is_own else "give its address (--join or LARBINPY_JOIN)"
    return f"{asks} while it runs, or read its log (larbinpy log --site HOST)"


def _ask(config: Config, config_file: str | None, url: str) -> str:
    """The answer of the crawl that runs."""
    state = None if config.input_port else config.state_dir
    with place_of("input", config_file, state) as (host, port):
        console = Console(host, port, sys.stdout, as_json=True)
        try:
            return console.ask(f"explain {' '.join(url.split())}").decode().strip()
        finally:
            console.close()
