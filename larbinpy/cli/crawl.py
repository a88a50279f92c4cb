"""Commands that crawl, and those that look at what a crawl is told and has left."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from larbinpy.cli.common import (
    USAGE,
    collect_rarely,
    complain,
    config_options,
    files,
    folders,
    input_option,
    lines,
    load_config,
    plain_errors,
    progress_option,
    set_option,
)
from larbinpy.config import Config, ConfigError, assignment, check, describe, in_environment, load
from larbinpy.config.kinds import URL
from larbinpy.console.text import grouped, roughly, size
from larbinpy.crawl.crawl import Crawl
from larbinpy.demo import FIRST_LINE, serve
from larbinpy.exit_status import Ending, Start
from larbinpy.frontier.state import State
from larbinpy.outcome import Trait, having
from larbinpy.output.report import write_report

_EARLY = (Ending.STOPPED.code, Ending.FORCED.code)
#: Ends of which all was said by then.
_TOLD = (Ending.NOTHING.code, Ending.DISK.code)


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@config_options
@input_option
@click.option(
    "-o", "output_dir", metavar="DIR", help="Where pages are written.", shell_complete=folders
)
@click.option("--resume", "--reload", is_flag=True, help="Go on with the crawl in stateDir.")
@click.option("--scratch", is_flag=True, help="Forget the crawl in stateDir.")
@click.option(
    "--report", metavar="FILE", help="Write a JSON report at the end.", shell_complete=files
)
@progress_option
def crawl(
    urls: tuple[str, ...],
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    input_file: str | None,
    output_dir: str | None,
    resume: bool,
    scratch: bool,
    report: str | None,
    progress: str,
) -> None:
    """Crawl from the URLs given here, in a file, and as startUrl together."""
    with plain_errors():
        if resume and scratch:
            raise ConfigError("--resume and --scratch exclude each other")
        more = [("outputDir", output_dir)] if output_dir else []
        config = load_config(config_file, settings, allow_private, more)
        if output_dir and not config.output_mode:
            # Who names a folder wants something in it.
            config = replace(config, output_mode=("mirror",))
        start = Start.RESUME if resume else Start.SCRATCH if scratch else Start.REFUSE
        crawl = _made(config, chain(urls, lines(input_file)), start, progress)
        code = _run(crawl, report)
        if progress != "none" and sys.stderr.isatty() and code not in _TOLD:
            complain(summary(crawl.report))
        sys.exit(code)


def _made(config: Config, texts: Iterable[str], start: Start, progress: str) -> Crawl:
    """The crawl; a wrong seed among `texts` is an error before anything starts.

    They may be millions, so nobody else keeps them.
    """
    try:
        seeds = [URL.parse(text) for text in texts]
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not (seeds or config.start_url or config.input_port or start is Start.RESUME):
        raise ConfigError("nothing to crawl: give a URL, a startUrl or an inputPort")
    return Crawl(config, seeds=seeds, start=start, progress=progress)


def _run(crawl: Crawl, report: str | None) -> int:
    if report is not None:
        _check_writable(Path(report))
    collect_rarely()
    code = crawl.run()
    if report is not None:
        write_report(report, crawl.report)
    return code


def summary(report: Mapping[str, Any]) -> str:
    """How a crawl went, in one line, from its report."""
    failed = sum(report["outcomes"][outcome.value] for outcome in having(Trait.MISSED))
    pages, refused = report["pages"], report["robots"]["denied"]
    said = (
        f"{report['stop_reason']}: {grouped(pages)} pages, {size(report['bytes_received'])} "
        f"in {roughly(report['elapsed_s'])}; {grouped(failed)} failed, "
        f"{grouped(refused)} refused by robots.txt"
    )
    left = report["urls_queued"]
    if not left and report["exit_code"] not in _EARLY:
        return said
    return f"{said}; {grouped(left)} still queued, --resume goes on"


def _check_writable(path: Path) -> None:
    """It would be late to find out after the crawl."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{path}: no report can be written there")


@click.command()
@click.option("-o", "directory", metavar="DIR", help="Keep mirror and log there.")
@progress_option
def demo(directory: str | None, progress: str) -> None:
    """Crawl and mirror an embedded web, on loopback: no network is needed."""
    with plain_errors(), ExitStack() as closing:
        if directory:
            _check_own(Path(directory))
        # As Ctrl-C: what was made is removed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        folder = Path(directory or closing.enter_context(TemporaryDirectory("", "larbinpy-demo-")))
        web = closing.enter_context(serve())
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "larbin.conf"
        conf.write_text(web.conf(folder / "mirror", folder / "state"))
        click.echo(f"larbinpy crawl -c {conf}")
        crawl = Crawl(load(str(conf), {}, ()), start=Start.SCRATCH, progress=progress)
        code = crawl.run()
        _tell(crawl.report)
        if directory:
            click.echo(f"mirror: {folder / 'mirror'}\nlog:    {folder / 'state' / 'crawl.jsonl'}")
        else:
            click.echo("All it wrote is removed; larbinpy demo -o DIR keeps mirror and log.")
        sys.exit(code)


def _check_own(folder: Path) -> None:
    """Refuse what the demo would write over, or forget, unless that is of a demo."""
    conf = folder / "larbin.conf"
    if conf.is_file() and conf.read_bytes().startswith(FIRST_LINE.encode()):
        return
    for there in (conf, folder / "state", folder / "mirror"):
        if there.exists():
            raise ConfigError(f"{there}: not the demo's, so it is left alone; name another folder")


def _tell(report: dict[str, Any]) -> None:
    """A report in some lines."""
    click.echo(
        f"{report['stop_reason']}: {report['pages']} pages of {report['sites']} sites "
        f"on {report['addresses']} addresses in {report['elapsed_s']} s, "
        f"{report['links']} links, {report['retries']} retries"
    )
    for name, count in report["outcomes"].items():
        if count:
            click.echo(f"  {name:<16}{count:>6}")


@click.command()
@click.argument("state_dir", metavar="STATE_DIR", shell_complete=folders)
@click.option("--count", is_flag=True, help="Only how many.")
def frontier(state_dir: str, count: bool) -> None:
    """List the URLs that a stopped crawl still owes."""
    with plain_errors():
        urls = State(Path(state_dir)).owed()
        if count:
            click.echo(sum(1 for _ in urls))
        else:
            for url in urls:
                click.echo(url.href)


@click.command("check-config")
@click.argument("file", shell_complete=files)
@set_option
def check_config(file: str, settings: tuple[str, ...]) -> None:
    """Say what a configuration means, every default included, or where it is wrong.

    As in a crawl, LARBINPY_KEY in the environment and --set come before what FILE says.
    """
    with plain_errors():
        overrides = [assignment(text) for text in settings]
        for name in in_environment(os.environ):
            click.echo(f"larbinpy: with {name} of the environment", err=True)
        wrong = check(file, os.environ, overrides)
        for error in wrong:
            complain(error)
        if wrong:
            sys.exit(USAGE)
        for line in describe(load(file, os.environ, overrides)):
            click.echo(line)
