"""``larbinpy revisit``."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from larbinpy.cli.common import (
    check_writable,
    collect_rarely,
    complain,
    config_options,
    files,
    going_on,
    plain_errors,
    progress_option,
)
from larbinpy.config import Config, ConfigError, Given
from larbinpy.console.text import counted, grouped
from larbinpy.crawl.crawl import Crawl
from larbinpy.crawl.revisiting import check
from larbinpy.database.base import is_server
from larbinpy.errors import Ending
from larbinpy.output.log import write_report
from larbinpy.storage.spool import FOLDER
from larbinpy.storage.state import Start, State

_REPORTED = (Ending.NOTHING.code, Ending.DISK.code)


@click.command()
@config_options
@click.option(
    "--budget",
    metavar="NUMBER",
    help="Most pages to visit in this round, or a day with --follow [revisitBudget].",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on with what becomes due, until the command is stopped.",
)
@click.option(
    "--report", metavar="FILE", help="Write a JSON report to FILE at the end.", shell_complete=files
)
@progress_option
def revisit(
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    budget: str | None,
    follow: bool,
    report: str | None,
    progress: str,
) -> None:
    """Visit the pages of a crawl again that are due, and fetch the new ones that they link to.

    The crawl is the one in stateDir, with outputMode database. Its database says when each page is
    due, by how often it has changed so far. A page that has not changed is not sent again where
    the server can tell that (ETag, Last-Modified); one that fails keeps its old copy, and is tried
    again later.

    Without --follow this is one round: it ends when the pages that were due at its beginning have
    been visited, and the new ones that they link to. A round that was stopped goes on with the
    next call. larbinpy changes then says what is new, changed and gone.
    """
    with plain_errors():
        more = [("revisit", "on" if follow else "round")]
        more += [("revisitBudget", budget)] if budget is not None else []
        typed = Given.by(config_file, settings, allow_private, more)
        state = typed.values().get("state_dir", Config().state_dir)
        config = replace(going_on(typed, state).config(), state_dir=state)
        _check(config)
        if report is not None:
            check_writable(report)
        crawl = Crawl(
            config,
            start=Start.RESUME,
            fixed=typed.keywords,
            progress=progress,
        )
        collect_rarely()
        code = crawl.run()
        if report is not None:
            write_report(report, crawl.report)
        if progress != "none" and code not in _REPORTED:
            complain(_summary(crawl))
        sys.exit(code)


def _check(config: Config) -> None:
    """Raise ConfigError if there is no crawl whose pages could be visited again."""
    check(config)
    if not State(Path(config.state_dir)).exists:
        raise ConfigError(
            f"{config.state_dir}: no saved crawl here; larbinpy crawl with outputMode database"
            " makes one"
        )
    # A crawl that was killed may have all its pages in the spool still.
    spooled = any(each.is_file() for each in Path(config.state_dir, FOLDER).rglob("*"))
    where = config.content_database
    if not (is_server(where) or spooled or _has_content(Path(where))):
        raise ConfigError(
            f"{where}: no database here, so no page is due; put the file back, or crawl anew"
            " (larbinpy crawl --scratch)"
        )


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _summary(crawl: Crawl) -> str:
    """One line about the visits of this run.

    Whether the text of a page that was sent again has changed is known to the database alone.
    """
    output = crawl.snapshot()["output"]
    assert isinstance(output, dict)
    visits = output["database"]
    if not visits["visited"]:
        return f"{crawl.report['stop_reason']}: no page was due"
    return (
        f"{crawl.report['stop_reason']}: {counted(visits['visited'], 'page')} visited"
        f" (304 Not Modified: {grouped(visits['not_modified'])},"
        f" failed: {grouped(visits['visits_failed'])}); larbinpy changes says which have changed"
    )
