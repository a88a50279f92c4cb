"""``larbinpy index``."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing

import click

from larbinpy.cli.common import complain, files, load_config
from larbinpy.cli.database import database_errors, database_options
from larbinpy.config import Config
from larbinpy.console.terminal.progress import PagesBar
from larbinpy.console.text import counted
from larbinpy.database.base import Finder, Writer
from larbinpy.database.opening import open_finder, open_writer
from larbinpy.database.prepared import Gone, Prepared, prepare
from larbinpy.database.sources.found import find
from larbinpy.database.sources.payloads import Payloads
from larbinpy.database.sources.source import Source, SourceError, Taken
from larbinpy.exit_status import Ending
from larbinpy.outcome import Outcome
from larbinpy.page import timestamp
from larbinpy.storage.files import make_folder

_DAMAGED = Ending.DISK.code
#: Pages, and bytes of their texts, that are written at once.
_BATCH, _BATCH_BYTES = 500, 16 << 20


@click.command()
@click.argument("paths", metavar="[FILE]...", nargs=-1, shell_complete=files)
@database_options
def index(paths: tuple[str, ...], database: str | None, config_file: str | None) -> None:
    """Put pages of archives and mirrors into a database.

    FILE is a WARC file of any program (.warc, .warc.gz), or a folder with such files, with a mirror
    or with the numbered files of save mode. The latest capture of a URL counts; redirects and
    errors are no pages. The command can be stopped by Ctrl-C and run again.

    The exit status is 3 if a file is damaged; what could be read of it is in the database.
    """
    with database_errors():
        config = load_config(config_file, ())
        where = database or config.content_database
        if not (database or config.database):
            make_folder(config.output_dir)
        with closing(Payloads()) as payloads:
            sources = find(paths, payloads, config.max_page_size)
            with closing(open_writer(where)) as writer, closing(open_finder(where)) as finder:
                damaged = [not _take(source, writer, finder, config) for source in sources]
                while writer.tend():
                    pass
        if any(damaged):
            sys.exit(_DAMAGED)


def _take(source: Source, writer: Writer, finder: Finder, config: Config) -> bool:
    """Write the pages of a source; whether all of it could be read."""
    count, is_whole = 0, True
    pages = _news(source, finder)
    with closing(PagesBar(sys.stderr, source.name, source.size)) as bar:
        try:
            for done, batch in _batches(pages, config):
                writer.write(batch)
                count += sum(isinstance(each, Prepared) for each in batch)
                bar.update(done, count)
        except SourceError as error:
            complain(f"{source.name}: {error}")
            is_whole = False
    click.echo(f"{source.name}: {counted(count, 'page')}")
    for reason, number in source.left_out.items():
        click.echo(f"  {number} left out: {reason}")
    return is_whole


def _news(source: Source, finder: Finder) -> Iterator[Taken]:
    """The pages of a source, without those that the database has from then or from later."""
    for taken in source.pages():
        known = finder.fetched(taken.spooled.page.url.href)
        if known is None or known < timestamp(taken.spooled.at):
            yield taken
        else:
            source.left_out["in the database already, as new or newer"] += 1


def _batches(pages: Iterable[Taken], config: Config) -> Iterator[tuple[int, list[Prepared | Gone]]]:
    """Batches for the writer, each with how much of the source is read."""
    batch: list[Prepared | Gone] = []
    size = done = 0
    fault = None
    try:
        for done, (at, page) in pages:
            if page.outcome is Outcome.SUCCESS:
                batch.append(
                    prepare(page, at, config.keep_bodies, ignore_robots=config.ignore_robots)
                )
            else:
                batch.append(Gone(page.url.href, timestamp(at), page.status))
            size += len(page.body)
            if len(batch) == _BATCH or size > _BATCH_BYTES:
                yield done, batch
                batch, size = [], 0
    except SourceError as error:
        fault = error
    yield done, batch
    if fault is not None:
        raise fault
