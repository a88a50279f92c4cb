"""The command that mirrors a site."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from larbinpy.cli.common import (
    NOTHING,
    STOPPED,
    collect_rarely,
    complain,
    config_options,
    folders,
    load_config,
    plain_errors,
    progress_option,
)
from larbinpy.config import DEFAULT_FILE, Config, texts
from larbinpy.console.text import printable, size
from larbinpy.crawl.crawl import Crawl
from larbinpy.errors import UserError
from larbinpy.outcome import Outcome, Trait
from larbinpy.output.mirror.catalog import NAME, is_rewritten
from larbinpy.page import Page
from larbinpy.storage.state import Start, State, StateError
from larbinpy.url import Url

#: Where neither options nor settings say how: deeper, quicker and with longer files than a
#: crawl of sites that nobody named one by one.
_DEFAULTS = Config(depth_in_site=50, wait_duration=1.0, max_page_size=64 << 20)
#: What every mirror is.
_MIRROR = (
    ("outputMode", "mirror"),
    ("rewriteLinks", "on"),
    ("requisites", "everywhere"),
    ("lockSite", "on"),
    ("getCGI", "on"),
    ("anyType", "on"),
)
#: What larbin.conf and environment say of these is for another crawl: it would leave out half
#: of a site, end early, or be in the way of that crawl's ports.
_NOT_TAKEN = (
    *("noExternalLinks", "limitToDomain", "forbiddenExtensions", "specificSearch"),
    *("pageNoDuplicate", "limitTime", "limitPage", "httpPort", "inputPort"),
)
#: Failures that are named at the end; all of them are in the log.
_SHOWN = 20


class MirrorSummary:
    """An output plug that remembers what people want to know in the end."""

    def __init__(self) -> None:
        self.unchanged = 0
        self.failed_count = 0
        #: The first of the failures, a line each.
        self.lines: list[str] = []

    def loaded(self, page: Page) -> None:
        self.unchanged += page.not_modified

    def failed(self, url: Url, outcome: Outcome) -> None:
        if Trait.SPARED in outcome.traits:
            return
        self.failed_count += 1
        if len(self.lines) < _SHOWN:
            via = f" (on {url.via})" if url.via else ""
            self.lines.append(printable(f"  {url.href}{via}: {outcome.words}"))

    def stats(self) -> dict[str, object]:
        return {"failed": self.failed_count, "unchanged": self.unchanged}

    def close(self) -> None:
        pass


@click.command()
@click.argument("url")
@click.argument("directory", metavar="DIR", shell_complete=folders)
@click.option("--depth", metavar="NUMBER", help="Links to follow from URL [depthInSite, 50].")
@click.option("--wait", metavar="TIME", help="Between two requests [waitDuration, 1s].")
@click.option("--rate", metavar="BYTES", help="Bytes a second at most [bondWidth, no limit].")
@config_options
@progress_option
def mirror(
    url: str,
    directory: str,
    depth: str | None,
    wait: str | None,
    rate: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    progress: str,
) -> None:
    """Mirror one site so that it browses offline, below DIR; again, to refresh it.

    URL is where it begins; the site is all that can be reached from there on the same host,
    whatever its path and port.

    What larbin.conf and the environment say of how to crawl (your name, waits, depth, network)
    counts here, too. What they say of what to fetch, where to put it, when to end, and of ports
    (startUrl, forbiddenExtensions, limitPage and the like) does not; --set does.
    """
    with plain_errors():
        state = str(Path(directory) / ".larbinpy")
        told = (("depthInSite", depth), ("waitDuration", wait), ("bondWidth", rate))
        more = [
            *(("startUrl", url), ("outputDir", directory), ("stateDir", state), *_MIRROR),
            *((keyword, value) for keyword, value in told if value is not None),
        ]
        config = _configured(config_file, settings, allow_private, more)
        start = _unfinished(directory, state)
        if start is Start.RESUME:
            click.echo(f"larbinpy: going on with the unfinished mirror in {directory}", err=True)
        summary = MirrorSummary()
        crawl = Crawl(config, output=summary, start=start, progress=progress)
        collect_rarely()
        code = crawl.run()
        _tell(crawl.report, summary, state)
        click.echo(f"mirror: {directory}")
        sys.exit(code)


def _configured(
    config_file: str | None,
    settings: Sequence[str],
    allow_private: bool,
    more: Sequence[tuple[str, str]],
) -> Config:
    """The configuration, of which it is told what was taken from larbin.conf and what not."""
    if config_file is None and Path(DEFAULT_FILE).exists():
        complain(f"with the settings of {DEFAULT_FILE} here")
    own = [*more, *((keyword, "") for keyword in _NOT_TAKEN)]
    asked, config = (
        load_config(config_file, settings, allow_private, each, _DEFAULTS) for each in (more, own)
    )
    taken = texts(config)
    left = [keyword for keyword, text in texts(asked).items() if text != taken[keyword]]
    if left:
        complain(f"not for a mirror, where --set does not say so: {', '.join(left)}")
    return config


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


def _tell(report: dict[str, Any], summary: MirrorSummary, state: str) -> None:
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
