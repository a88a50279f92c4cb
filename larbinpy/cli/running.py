"""The commands that talk to a running crawl: ``seed``, ``console``, ``status`` and ``fleet``."""

import json
import sys
from collections.abc import Sequence
from itertools import islice

import click

from larbinpy.cli.common import (
    complain,
    file_option,
    host_option,
    input_option,
    join_of,
    join_option,
    lines,
    open_remote,
    place_of,
    plain_errors,
    port_option,
    refuse_files,
    state_option,
)
from larbinpy.config import MOST_DEPTH, ConfigError
from larbinpy.console.terminal import client
from larbinpy.console.terminal.progress import status_line
from larbinpy.console.terminal.prompt import converse, hold
from larbinpy.errors import USAGE
from larbinpy.url import fault, login_of, masked_typed


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@file_option
@state_option
@input_option
@host_option
@port_option
@join_option
@click.option("--priority", is_flag=True, help="Fetch before all other URLs.")
@click.option(
    "--depth",
    type=click.IntRange(0, MOST_DEPTH),
    metavar="NUMBER",
    help="Links to follow from these URLs [depthInSite of the crawl].",
)
@click.option("--again", is_flag=True, help="Also fetch URLs that were seen already.")
def seed(
    urls: tuple[str, ...],
    config_file: str | None,
    state: str | None,
    input_file: str | None,
    host: str | None,
    port: int | None,
    join: str | None,
    priority: bool,
    depth: int | None,
    again: bool,
) -> None:
    """Add seeds to a running crawl, or to one on Redis.

    The crawl is found by its folder (--state, or stateDir of the configuration), or by its input
    port.
    """
    with plain_errors():
        refuse_files(urls)
        seeds = [*urls, *(url for url, _ in lines(input_file))]
        if not seeds:
            raise ConfigError(f"{input_file}: no URL in it" if input_file else "no URL given")
        address = join_of(config_file, join, state) if host is None and port is None else ""
        if address:
            sys.exit(_seed_all(address, seeds, priority, depth, again))
        with place_of("input", config_file, state, host, port) as place:
            refusals = client.seed(*place, seeds, priority, depth, again)
        for refusal in refusals:
            complain(f"{refusal.url}: {refusal.reason}")
        sys.exit(_said(len(refusals), len(seeds)))


def _seed_all(
    address: str, seeds: Sequence[str], priority: bool, depth: int | None, again: bool
) -> int:
    """Give seeds to a crawl on Redis; whether its nodes have seen one, they find out themselves."""
    from larbinpy.crawl.fleet.remote import LOGINS_STAY

    with open_remote(address) as remote:
        refused = remote.seed(seeds, priority=priority, depth=depth, again=again)
    for url in refused:
        complain(f"{masked_typed(url)}: {fault(url)}")
    if any(map(login_of, seeds)):
        complain(LOGINS_STAY)
    return _said(len(refused), len(seeds))


def _said(refused: int, seeds: int) -> int:
    """Print how many were accepted; return the exit status."""
    click.echo(f"{seeds - refused} of {seeds} URLs accepted")
    return USAGE if refused == seeds else 0


#: Exit status of a script with a command that failed.
_FAILED = 1


@click.command()
@file_option
@state_option
@host_option
@port_option
@join_option
@click.option("--json", "form", flag_value="json", help="Print answers as JSON on a terminal, too.")
@click.option("--text", "form", flag_value="text", help="Print answers as text in a script, too.")
def console(
    config_file: str | None,
    state: str | None,
    host: str | None,
    port: int | None,
    join: str | None,
    form: str | None,
) -> None:
    """Control a running crawl, from a terminal or a script; or one on Redis, with all its nodes.

    The crawl is found by its folder (--state, or stateDir of the configuration), or by its input
    port.

    Type help for the commands. Input that is not a terminal is a script: each of its lines is
    a command, each line of output a JSON answer. The exit status of a script is 1 if one of its
    commands failed.
    """
    as_json = None if form is None else form == "json"
    with plain_errors():
        address = join_of(config_file, join, state) if host is None and port is None else ""
        if address:
            well = _converse_with_all(address, as_json)
        else:
            with place_of("input", config_file, state, host, port) as place:
                well = converse(*place, sys.stdin, sys.stdout, as_json=as_json)
    sys.exit(0 if well else _FAILED)


def _converse_with_all(address: str, as_json: bool | None) -> bool:
    with open_remote(address) as remote:
        from larbinpy.crawl.fleet.remote import FleetConsole

        as_json = not sys.stdin.isatty() if as_json is None else as_json
        session = FleetConsole(remote, sys.stdout, as_json=as_json)
        return hold(session, sys.stdin, sys.stdout)


@click.command()
@file_option
@state_option
@click.option("--url", help="Status page [httpHost and httpPort of FILE, http://127.0.0.1:8081/].")
@join_option
@click.option("--follow", is_flag=True, help="Print it every second, until the crawl ends.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(
    config_file: str | None,
    state: str | None,
    url: str | None,
    join: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Print the status of a running crawl, in a line; of one on Redis, a line a node, too."""
    with plain_errors():
        address = join_of(config_file, join, state) if url is None else ""
        if address:
            _show_all(address, follow, as_json)
            return
        with place_of("http", config_file, state, *_address(url)) as (host, port):
            for snapshot in islice(client.follow(host, port), None if follow else 1):
                click.echo(json.dumps(snapshot) if as_json else status_line(snapshot))


def _show_all(address: str, follow: bool, as_json: bool) -> None:
    """The status of a crawl on Redis; followed until no node runs."""
    with open_remote(address) as remote:
        from larbinpy.crawl.fleet.remote import status_lines

        while True:
            found = remote.status()
            click.echo(json.dumps(found) if as_json else "\n".join(status_lines(found)))
            if not follow or not found["running"]:
                return
            remote.rest(1.0)


def _address(url: str | None) -> tuple[str | None, int | None]:
    return (None, None) if url is None else client.address(url)


@click.command()
@file_option
@join_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--forget", is_flag=True, help="Remove the crawl from Redis, if no node runs.")
@click.option("--yes", is_flag=True, help="Do not ask before that.")
def fleet(
    config_file: str | None, join: str | None, as_json: bool, forget: bool, yes: bool
) -> None:
    """Show the nodes of a crawl on Redis, its shards, and Redis itself.

    For each node: since when it takes part, its pages, the shards of the web that it fetches, how
    long its last write to Redis took, its status page, and what troubles it.

    --forget removes all that Redis has of the crawl: what was seen, what is owed, and settings.
    The folders of its nodes stay. It is refused while a node runs.
    """
    with plain_errors():
        address = join_of(config_file, join)
        if not address:
            raise ConfigError(
                "no crawl given, and no crawl by --nodes runs in stateDir; "
                "--join redis://HOST/NAME names one"
            )
        with open_remote(address, forgets=forget) as remote:
            if forget:
                if not yes:
                    question = f"Remove the crawl {remote.name} from Redis?"
                    click.confirm(question, abort=True, err=True)
                remote.forget()
                click.echo(f"{remote.name} is forgotten")
                return
            from larbinpy.crawl.fleet.remote import fleet_lines, redis_of

            status = remote.status()
            redis = redis_of(remote.servers())
        if as_json:
            click.echo(json.dumps({**status, "redis": redis}))
        else:
            click.echo("\n".join(fleet_lines(status, redis)))
