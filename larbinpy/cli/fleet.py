"""``larbinpy fleet``."""

import json

import click

from larbinpy.cli.common import file_option, plain_errors
from larbinpy.cli.joining import join_of, join_option, open_remote
from larbinpy.config import ConfigError


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
            from larbinpy.crawl.fleet.text import fleet_lines, redis_of, status_of

            status = status_of(remote.name, remote.board(), remote.shards())
            redis = redis_of(remote.servers())
        if as_json:
            click.echo(json.dumps({**status, "redis": redis}))
        else:
            click.echo("\n".join(fleet_lines(status, redis)))
