"""``larbinpy demo``."""

import signal
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from larbinpy.cli.common import plain_errors, progress_option
from larbinpy.cli.database import answer, database_errors
from larbinpy.config import ConfigError, load
from larbinpy.crawl.crawl import Crawl
from larbinpy.database.base import Wish
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.search.query import parse
from larbinpy.demo import FIRST_LINE, serve
from larbinpy.loop.clock import wall
from larbinpy.storage.state import Start

#: The embedded web has random words in English, and a few sentences in other scripts.
_QUERIES = ("spider web", "蜘蛛")
_HITS = 2


@click.command()
@click.option("-o", "directory", metavar="DIR", help="Keep the mirror and the log in DIR.")
@progress_option
def demo(directory: str | None, progress: str) -> None:
    """Crawl, mirror and search an embedded web on loopback; needs no network."""
    with plain_errors(), ExitStack() as closing:
        if directory:
            _check_own(Path(directory))
        # SIGTERM raises KeyboardInterrupt, too, so that temporary files are removed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        folder = Path(directory or closing.enter_context(TemporaryDirectory("", "larbinpy-demo-")))
        web = closing.enter_context(serve())
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "larbin.conf"
        # So that commands find the database from any working directory.
        there = folder.resolve()
        conf.write_text(web.conf(there / "mirror", there / "state", modes="mirror,database"))
        click.echo(f"larbinpy crawl -c {conf}")
        config = load(str(conf), {}, ())
        crawl = Crawl(config, start=Start.SCRATCH, progress=progress)
        code = crawl.run()
        _print_report(crawl.report)
        if code == 0:
            _search(config.content_database, f"-c {conf}")
        if directory:
            click.echo(f"mirror: {folder / 'mirror'}\nlog:    {folder / 'state' / 'crawl.jsonl'}")
            click.echo(f"search: larbinpy search -c {conf} WORDS")
        else:
            click.echo(
                "Its files are removed; larbinpy demo -o DIR keeps mirror, log and database."
            )
        sys.exit(code)


def _search(database: str, option: str) -> None:
    """Show that the pages can be found now."""
    with database_errors(), closing(DatabaseFinder(database)) as finder:
        for words in _QUERIES:
            click.echo(f"\nlarbinpy search {option} -n {_HITS} {words}")
            answer(finder, parse(words, finder.languages(), wall()), Wish(n=_HITS))
        click.echo()


def _check_own(folder: Path) -> None:
    """Refuse a folder in which the demo would overwrite files that are not a demo's."""
    conf = folder / "larbin.conf"
    if conf.is_file() and conf.read_bytes().startswith(FIRST_LINE.encode()):
        return
    for there in (conf, folder / "state", folder / "mirror"):
        if there.exists():
            raise ConfigError(
                f"{there}: not a file of the demo, so not overwritten; choose another folder"
            )


def _print_report(report: dict[str, Any]) -> None:
    click.echo(
        f"{report['stop_reason']}: {report['success']} pages of {report['sites']} sites "
        f"on {report['addresses']} addresses in {report['elapsed_s']} s, "
        f"{report['links']} links, {report['retries']} retries"
    )
    for name, count in report["outcomes"].items():
        if count:
            click.echo(f"  {name:<16}{count:>6}")
