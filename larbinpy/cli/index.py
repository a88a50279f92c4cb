"""``larbinpy index``."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TextIO

import click

from larbinpy.cli.common import complain, files, load_config, plain_errors
from larbinpy.cli.database import database_errors, database_of, database_options
from larbinpy.config import Config, ConfigError
from larbinpy.console.terminal.progress import PagesBar
from larbinpy.console.text import counted, printable
from larbinpy.database.base import Finder, is_server
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.indexer.indexer import Report
from larbinpy.database.indexer.process import drain, fill
from larbinpy.database.indexer.reader import ReadOptions
from larbinpy.database.maintenance import optimize, rebuild, verify
from larbinpy.database.salvage import salvage
from larbinpy.database.sources import DAMAGED, PageSource, Payloads, SourceError, find
from larbinpy.database.writer import Visit, Writer, copied
from larbinpy.errors import Ending, UserError
from larbinpy.loop.clock import wall
from larbinpy.page import Outcome, timestamp
from larbinpy.storage.files import make_folder
from larbinpy.storage.spool import Spooled

_DAMAGED = Ending.DISK.code
#: How a file of SQLite begins.
_SQLITE = b"SQLite format 3\0"


@click.command()
@click.argument("paths", metavar="[FILE]...", nargs=-1, shell_complete=files)
@database_options
@click.option("--verify", "care", flag_value="verify", help="Check the database and its index.")
@click.option(
    "--rebuild", "care", flag_value="rebuild", help="Make the index again from the texts."
)
@click.option("--optimize", "care", flag_value="optimize", help="Make it smaller and faster.")
@click.option(
    "--salvage",
    "care",
    flag_value="salvage",
    help="Take what can be read out of the damaged file OLD into a new one: --salvage OLD NEW.",
)
def index(
    paths: tuple[str, ...], database: str | None, config_file: str | None, care: str | None
) -> None:
    """Put pages of archives and mirrors into a database, or take care of one.

    FILE is a WARC or ARC file of any program (.warc, .arc, also .gz and .zst), a WACZ file, or a
    folder with such files, with a mirror or with the numbered files of save mode. The latest
    capture of a URL counts; redirects and errors are no pages. The command can be stopped by Ctrl-C
    and run again. FILE may also be another database, whose pages are taken as it has them.

    Without a FILE, it takes what a stopped crawl has left in its stateDir for the database.

    --verify, --rebuild and --optimize need no FILE, and no crawl that writes the database. Searches
    go on meanwhile. --salvage needs two: the damaged database, which stays as it is, and the name
    of the new one.

    The exit status is 3 if a file is damaged (what could be read of it is in the database), or if
    --verify finds trouble.
    """
    with database_errors():
        if care == "salvage":
            if not _salvage(paths):
                sys.exit(_DAMAGED)
            return
        config = load_config(config_file, ())
        where = database_of(database, config_file)
        if care is not None:
            if paths:
                raise ConfigError(f"--{care} takes no files; run one after the other")
            if not _take_care(care, where):
                sys.exit(_DAMAGED)
            return
        if not paths:
            _take_rest(config, where)
            return
        if not (database or config.database):
            make_folder(config.output_dir)
        databases = [path for path in paths if _is_database(path)]
        for other in databases:
            _merge(other, where)
        others = [path for path in paths if path not in databases]
        if others and not _take_files(others, config, where):
            sys.exit(_DAMAGED)


def _take_care(care: str, where: str) -> bool:
    """Verify, rebuild or optimize a database; whether it is sound."""
    with closing(_Steps(sys.stderr)) as steps:
        if care == "verify":
            troubles = verify(where, steps.update)
        elif care == "rebuild":
            count = rebuild(where, steps.update)
        else:
            optimize(where, steps.update)
    if care == "rebuild":
        click.echo(f"{where}: {counted(count, 'page')} indexed")
    elif care == "verify":
        for trouble in troubles or [f"{where}: sound"]:
            click.echo(printable(trouble))
        return not troubles
    return True


def _salvage(paths: Sequence[str]) -> bool:
    """Take what can be read out of a damaged database; whether that is all."""
    if len(paths) != 2:
        raise ConfigError("--salvage takes two files: --salvage OLD NEW")
    old, new = paths
    with closing(_Steps(sys.stderr)) as steps:
        found = salvage(old, new, steps.update)
    click.echo(f"{new}: {counted(found.pages, 'page')} of {old}")
    if found.cut:
        click.echo(f"  {found.cut} of them without text, or without links and the like")
    if found.lost:
        click.echo(f"  {counted(found.lost, 'page')} lost")
    return not found.cut and not found.lost


class _Steps:
    """A bar for each step of what takes long."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""
        self._bar: PagesBar | None = None

    def update(self, name: str, done: int, total: int) -> None:
        if name != self._name:
            self.close()
            self._name, self._bar = name, PagesBar(self._stream, name, total)
        if self._bar is not None:
            self._bar.update(done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _take_rest(config: Config, where: str) -> None:
    """Take what a crawl left in its spool."""
    if not Path(config.state_dir).is_dir():
        raise ConfigError(f"{config.state_dir}: no saved crawl here; or name files to index")
    troubles = _Troubles()
    options = ReadOptions(config.keep_bodies, near_duplicates=config.near_duplicates)
    report = drain(Path(config.state_dir), where, troubles.report, options)
    click.echo(f"{where}: {counted(report.pages, 'page')} written")


#: Pages of a database that are written at once.
_AT_ONCE = 200


def _is_database(path: str) -> bool:
    if is_server(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _merge(other: str, where: str) -> None:
    """Take the pages of another database that this one does not have as new or newer."""
    if not is_server(where) and os.path.exists(where) and os.path.samefile(other, where):
        raise ConfigError(f"{other}: the database itself; name another one with -d")
    count = known = 0
    with closing(DatabaseFinder(other)) as finder, closing(Writer(where)) as writer:
        with closing(DatabaseFinder(where)) as own:
            total = finder.counts()["pages"]
            batch: list[Visit] = []
            with closing(PagesBar(sys.stderr, other, total)) as bar:
                for done, page in enumerate(finder.pages(), 1):
                    fetched = own.fetched(page.columns["url"])
                    if fetched is not None and fetched >= page.columns["fetched"]:
                        known += 1
                        continue
                    count += 1
                    batch.append(copied(page, finder.body(page.columns["url"])))
                    if len(batch) == _AT_ONCE:
                        writer.write(batch)
                        batch.clear()
                    bar.update(done, count)
        writer.write(batch)
        while writer.tend():
            pass
    click.echo(f"{other}: {counted(count, 'page')}")
    if known:
        click.echo(f"  {known} left out: in the database already, as new or newer")


def _take_files(paths: Sequence[str], config: Config, where: str) -> bool:
    """Take the pages of files and folders; whether all of them could be read."""
    with closing(Payloads()) as payloads:
        reading = _Reading(find(paths, payloads, config.max_page_size), where)
        # Makes the database if it is missing, and says at once if another process writes.
        Writer(where).close()
        with closing(reading):
            report = fill(
                reading.pages(),
                where,
                reading.written,
                ReadOptions(
                    config.keep_bodies,
                    obey_noindex=not config.ignore_robots,
                    near_duplicates=config.near_duplicates,
                ),
            )
        click.echo(f"{where}: {counted(report.pages, 'page')} written")
        return not reading.is_damaged


class _Troubles:
    """Says what hinders the indexer, once."""

    def __init__(self) -> None:
        self._said = ""

    def report(self, report: Report) -> None:
        if report.trouble and report.trouble != self._said:
            complain(report.trouble)
        self._said = report.trouble


class _Reading:
    """Reads sources one after the other, with a bar, and says what each had.

    When all are read, the bar shows how many pages `where`, the database, has of them.
    """

    def __init__(self, sources: Sequence[PageSource], where: str) -> None:
        self._sources = sources
        self._where = where
        self._troubles = _Troubles()
        self._given = 0
        self._bar: PagesBar | None = None
        self.is_damaged = False

    def written(self, report: Report) -> None:
        """Show the progress of the indexer."""
        self._troubles.report(report)
        if self._bar is not None and report.taken is not None:
            self._bar.update(report.taken, report.pages)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def pages(self) -> Iterator[Spooled]:
        """The pages that the database does not have as new or newer."""
        with closing(DatabaseFinder(self._where)) as finder:
            for source in self._sources:
                yield from self._pages_of(source, finder)
        self._bar = PagesBar(sys.stderr, self._where, self._given)

    def _pages_of(self, source: PageSource, finder: Finder) -> Iterator[Spooled]:
        count = 0
        with closing(PagesBar(sys.stderr, source.name, source.size)) as bar:
            try:
                for done, spooled in source.pages():
                    bar.update(done, count)
                    known = finder.fetched(spooled.page.url.href)
                    if known is not None and known >= timestamp(spooled.at):
                        source.left_out["in the database already, as new or newer"] += 1
                        continue
                    count += spooled.page.outcome is Outcome.SUCCESS
                    self._given += 1
                    yield spooled
            except SourceError as error:
                complain(f"{source.name}: {error}")
                self.is_damaged = True
        self.is_damaged |= DAMAGED in source.left_out
        click.echo(f"{source.name}: {counted(count, 'page')}")
        for reason, number in source.left_out.items():
            click.echo(f"  {number} left out: {reason}")


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, shell_complete=files)
@click.option("-o", "target", metavar="FILE", help="The WACZ file [NAME.wacz beside the first].")
@click.option("-d", "database", metavar="DATABASE", help="Add the texts of pages that it has.")
def pack(paths: tuple[str, ...], target: str | None, database: str | None) -> None:
    """Pack WARC files into one WACZ file, which replay software opens as it is.

    FILE is a WARC file of any program (.warc.gz, .warc), or a folder with such files. They stay as
    they are. The WACZ file has them with an index of all captures and a list of the HTML pages by
    title, and opens in ReplayWeb.page or pywb.
    """
    # Here, since the other commands need no archives.
    from larbinpy.output.warc.wacz import ENDING, archives_in, no_text, said, stem, texts_in
    from larbinpy.output.warc.wacz import pack as pack_archives

    with plain_errors():
        archives, growing = archives_in(map(Path, paths))
        for each in growing:
            complain(f"{each} is left out: a crawl writes it, or was killed; --resume completes it")
        if not archives:
            raise UserError(f"{paths[0]}: no WARC file here (.warc.gz, .warc)")
        name = Path(target or f"{stem(archives[0])}{ENDING}")
        if target is None and name.exists():
            raise UserError(f"{name} exists; -o FILE gives another name, or replaces it")
        with texts_in(database) if database else nullcontext(no_text) as text_of:
            click.echo(printable(said(pack_archives(archives, name, wall(), text_of), name)))
