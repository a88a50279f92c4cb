"""The command that mirrors a site."""

import sys
from pathlib import Path
from typing import Any

import click

from larbinpy.cli.common import (
    NOTHING,
    STOPPED,
    collect_rarely,
    config_options,
    folders,
    load_config,
    plain_errors,
    progress_option,
)
from larbinpy.config import DEFAULT_FILE
from larbinpy.console.text import printable, size
from larbinpy.crawl import Crawl
from larbinpy.ending import Start, UserError
from larbinpy.frontier.state import State, StateError
from larbinpy.outcome import Outcome, in_words
from larbinpy.output.catalog import NAME, is_rewritten
from larbinpy.page import Page
from larbinpy.url import Url

#: Failures that are named at the end; all of them are in the log.
_SHOWN = 20
#: Ends that are no failures: a redirect was followed, or the mirror asked for less.
_EXPECTED = frozenset({Outcome.ERR_30X, Outcome.DUPLICATE})


class Summary:
    """An output plug that remembers what people want to know in the end."""

    def __init__(self) -> None:
        self.unchanged = 0
        self.failed_count = 0
        #: The first of the failures, a line each.
        self.lines: list[str] = []

    def loaded(self, page: Page) -> None:
        self.unchanged += page.not_modified

    def failed(self, url: Url, outcome: Outcome) -> None:
        if outcome in _EXPECTED:
            return
        self.failed_count += 1
        if len(self.lines) < _SHOWN:
            via = f" (on {url.via})" if url.via else ""
            self.lines.append(printable(f"  {url.href}{via}: {in_words(outcome.value)}"))

    def stats(self) -> dict[str, object]:
        return {"failed": self.failed_count, "unchanged": self.unchanged}

    def close(self) -> None:
        pass


@click.command()
@click.argument("url")
@click.argument("directory", metavar="DIR", shell_complete=folders)
@click.option("--depth", default=50, show_default=True, help="Links to follow from URL.")
@click.option("--wait", default="1s", show_default=True, help="Between two requests.")
@click.option("--rate", default="0", metavar="BYTES", help="Bytes a second at most.")
@config_options
@progress_option
def mirror(
    url: str,
    directory: str,
    depth: int,
    wait: str,
    rate: str,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    progress: str,
) -> None:
    """Mirror one site so that it browses offline, below DIR; again, to refresh it.

    URL is where it begins; the site is all that can be reached from there on the same host,
    whatever its path and port.
    """
    with plain_errors():
        state = str(Path(directory) / ".larbinpy")
        more = [
            ("startUrl", url),
            ("outputMode", "mirror"),
            ("rewriteLinks", "on"),
            ("requisites", "everywhere"),
            ("outputDir", directory),
            ("stateDir", state),
            ("lockSite", "on"),
            ("getCGI", "on"),
            ("anyType", "on"),
            ("depthInSite", str(depth)),
            ("waitDuration", wait),
            ("bondWidth", rate),
            ("maxPageSize", "64M"),
        ]
        if config_file is None and Path(DEFAULT_FILE).exists():
            click.echo(f"larbinpy: with the settings of {DEFAULT_FILE} here", err=True)
        config = load_config(config_file, settings, allow_private, more)
        start = _unfinished(directory, state)
        if start is Start.RESUME:
            click.echo(f"larbinpy: going on with the unfinished mirror in {directory}", err=True)
        summary = Summary()
        crawl = Crawl(config, output=summary, start=start, progress=progress)
        collect_rarely()
        code = crawl.run()
        _tell(crawl.report, summary, state)
        click.echo(f"mirror: {directory}")
        sys.exit(code)


def _unfinished(directory: str, folder: str) -> Start:
    """A mirror that was stopped goes on; one that was finished is refreshed."""
    state = State(Path(folder))
    if not state.exists:
        return Start.SCRATCH
    # Nobody else is at it, and what is said about it is so.
    try:
        state.lock()
    except OSError:
        return Start.SCRATCH  # for the crawl to find out, and to say
    try:
        owes = next(iter(state.owed()), None) is not None
    except StateError as error:
        click.echo(f"larbinpy: {error}; starting anew", err=True)
        return Start.SCRATCH
    finally:
        state.unlock()
    unfinished = owes or not is_rewritten(directory)
    if unfinished and _lost_catalog(directory):
        raise UserError(
            f"{directory}: an unfinished mirror, and its catalog {NAME} is gone; mirror into"
            f" another folder, or remove {folder} to fetch all of it anew over the files here"
        )
    return Start.RESUME if unfinished else Start.SCRATCH


def _lost_catalog(directory: str) -> bool:
    """Are there files of a mirror, and nothing that tells which URLs they are of?"""
    root = Path(directory)
    return not (root / NAME).exists() and any(path.name[0] != "." for path in root.iterdir())


def _tell(report: dict[str, Any], summary: Summary, state: str) -> None:
    """What came, and what did not."""
    if report["exit_code"] != NOTHING:  # which was told with its reasons
        click.echo(
            f"{report['stop_reason']}: {report['success']} pages and files of "
            f"{report['sites']} sites, {summary.unchanged} of them unchanged, "
            f"{size(report['bytes_received'])} in {report['elapsed_s']} s"
        )
    failed = summary.failed_count
    if failed:
        click.echo(f"{failed} could not be had:")
        click.echo("\n".join(summary.lines))
    if failed > len(summary.lines):
        click.echo(
            f"  and {failed - len(summary.lines)} more; {Path(state) / 'crawl.jsonl'} has all"
        )
    if report["urls_queued"] or report["exit_code"] == STOPPED:
        click.echo("There is more to come: the same command goes on.")
