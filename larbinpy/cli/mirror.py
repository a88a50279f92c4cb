"""``larbinpy mirror``."""

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
from larbinpy.storage.store import owed_urls
from larbinpy.url import Url

#: Defaults of a mirror: deeper, faster and with longer files than a crawl, as the user chose
#: its one site.
_DEFAULTS = Config(depth_in_site=50, wait_duration=1.0, max_page_size=64 << 20)
#: Settings of every mirror; only --set overrides them.
_MIRROR = (
    ("outputMode", "mirror"),
    ("rewriteLinks", "on"),
    ("requisites", "everywhere"),
    ("lockSite", "on"),
    ("getCGI", "on"),
    ("anyType", "on"),
)
#: Settings that larbin.conf and the environment contain for other crawls. In a mirror they would
#: leave out parts of the site, end the crawl early, or use the ports of the other crawl.
_IGNORED = (
    *("noExternalLinks", "limitToDomain", "forbiddenExtensions", "specificSearch"),
    *("pageNoDuplicate", "limitTime", "limitPage", "httpPort", "inputPort"),
)
#: Failures that are printed at the end; all of them are in the log.
_SHOWN = 20


class MirrorSummary:
    """An output plug that counts unchanged files and failures for the last lines."""

    def __init__(self) -> None:
        self.unchanged = 0
        self.failed_count = 0
        #: A line for each of the first failures.
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
@click.option("--wait", metavar="TIME", help="Time between two requests [waitDuration, 1s].")
@click.option("--rate", metavar="BYTES", help="Most bytes a second [bondWidth, no limit].")
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
    """Mirror one site below DIR so that it browses offline; run again to refresh it.

    The mirror starts at URL and has all that can be reached from there on the same host,
    with any path and port.

    Settings in larbin.conf and the environment that choose how to crawl (your name, waits,
    depth, network) apply. Those that choose what to fetch, where to store it, when to stop or
    which ports to open (startUrl, forbiddenExtensions, limitPage and the like) are ignored;
    --set overrides.
    """
    with plain_errors():
        config = configuration(
            url, directory, depth, wait, rate, config_file, settings, allow_private
        )
        start = _start(directory, config.state_dir)
        if start is Start.RESUME:
            complain(f"continuing the unfinished mirror in {directory}")
        summary = MirrorSummary()
        crawl = Crawl(config, output=summary, start=start, progress=progress)
        collect_rarely()
        code = crawl.run()
        _print_summary(crawl.report, summary, config.state_dir)
        click.echo(f"mirror: {directory}")
        sys.exit(code)


def configuration(
    url: str,
    directory: str,
    depth: str | None,
    wait: str | None,
    rate: str | None,
    config_file: str | None,
    settings: Sequence[str],
    allow_private: bool,
) -> Config:
    """The settings of a mirror, from the arguments of the command.

    Prints a line if it uses larbin.conf, and one with the settings that it ignores. Raises
    ConfigError.
    """
    state = str(Path(directory) / ".larbinpy")
    options = (("depthInSite", depth), ("waitDuration", wait), ("bondWidth", rate))
    more = [
        *(("startUrl", url), ("outputDir", directory), ("stateDir", state), *_MIRROR),
        *((keyword, value) for keyword, value in options if value is not None),
    ]
    if config_file is None and Path(DEFAULT_FILE).exists():
        complain(f"using the settings in {DEFAULT_FILE}")
    own = [*more, *((keyword, "") for keyword in _IGNORED)]
    asked, config = (
        load_config(config_file, settings, allow_private, each, _DEFAULTS) for each in (more, own)
    )
    taken = texts(config)
    left = [keyword for keyword, text in texts(asked).items() if text != taken[keyword]]
    if left:
        complain(f"ignored for a mirror, unless given with --set: {', '.join(left)}")
    return config


def _start(directory: str, folder: str) -> Start:
    """How to start: an unfinished mirror is continued, a finished one is refreshed."""
    state = State(Path(folder))
    if not state.exists:
        return Start.SCRATCH
    # The lock keeps other processes from changing the state meanwhile.
    try:
        state.lock()
    except OSError:
        return Start.SCRATCH  # the crawl reports the error
    try:
        owes = next(iter(owed_urls(state)), None) is not None
    except StateError as error:
        complain(f"{error}; starting anew")
        return Start.SCRATCH
    finally:
        state.unlock()
    unfinished = owes or not is_rewritten(directory)
    if unfinished and _lost_catalog(directory):
        raise UserError(
            f"{directory}: an unfinished mirror without its catalog {NAME}; mirror into another"
            f" folder, or remove {folder} to fetch everything again over the files here"
        )
    return Start.RESUME if unfinished else Start.SCRATCH


def _lost_catalog(directory: str) -> bool:
    """Whether there are files of a mirror, but not the catalog with their URLs."""
    root = Path(directory)
    return not (root / NAME).exists() and any(path.name[0] != "." for path in root.iterdir())


def _print_summary(report: dict[str, Any], summary: MirrorSummary, state: str) -> None:
    if report["exit_code"] != NOTHING:  # the crawl has printed the reasons
        click.echo(
            f"{report['stop_reason']}: {report['success']} pages and files of "
            f"{report['sites']} sites, {summary.unchanged} of them unchanged, "
            f"{size(report['bytes_received'])} in {report['elapsed_s']} s"
        )
    failed = summary.failed_count
    if failed:
        click.echo(f"{failed} could not be fetched:")
        click.echo("\n".join(summary.lines))
    if failed > len(summary.lines):
        click.echo(
            f"  and {failed - len(summary.lines)} more; {Path(state) / 'crawl.jsonl'} has all"
        )
    if report["urls_queued"] or report["exit_code"] == STOPPED:
        click.echo("The mirror is unfinished; run the same command to continue.")
