"""Fills a database without a crawl: from the spool that one has left, or from pages that are given.

It is done in this process, with readers beside it.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from larbinpy.database.indexer.loop import IndexerLoop
from larbinpy.database.indexer.messages import Covered, Report
from larbinpy.database.indexer.options import ReadOptions
from larbinpy.database.opening import open_writer
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.storage.spool import FOLDER, Spooled, SpoolMark, SpoolWriter
from larbinpy.storage.state import State

#: Takes a report whenever something has changed.
Progress = Callable[[Report], None]

#: Bytes of given pages that wait for the database.
_MOST_WAITING = 64 << 20


def drain(state_dir: Path, database: str, progress: Progress, options: ReadOptions) -> Report:
    """Take the rest of the spool of a stopped crawl in `state_dir`; return the last report.

    Waits, and says so in reports, while the database cannot be used. Raises `StateError` if there
    is no crawl or if it runs, `DatabaseError` if the database cannot be used at all.
    """
    state = State(state_dir)
    with state.at_rest(), state.reading() as manifest:
        mark: SpoolMark | None = manifest.get("outputs", {}).get("database")
        if mark is None:
            return Report(taken=0, done=True)
        with _opened(state_dir / FOLDER, database, progress, options) as loop:
            loop.indexer.cover(Covered.before(mark))
            return _finish(loop)


def fill(
    pages: Iterable[Spooled],
    database: str,
    progress: Progress,
    options: ReadOptions,
    *,
    most_waiting: int = _MOST_WAITING,
) -> Report:
    """Put `pages` into a database; return the last report.

    They wait in a temporary spool beside it. Raises as `drain`, and what `pages` raises; the
    database then has some of the pages.
    """
    with tempfile.TemporaryDirectory(prefix="larbinpy-index-") as folder:
        spool = SpoolWriter(Path(folder) / FOLDER)
        with _opened(spool.base, database, progress, options) as loop:
            for spooled in pages:
                spool.append(spooled.page, spooled.at)
                if spool.size > most_waiting / 2:
                    loop.indexer.cover(Covered.before(spool.cut()))
                while spool.size > most_waiting:
                    loop.turn()
                    spool.removed(loop.indexer.kept)
            loop.indexer.cover(Covered.before(spool.cut()))
            report = _finish(loop)
        spool.close()
        return report


@contextmanager
def _opened(
    folder: Path, database: str, progress: Progress, options: ReadOptions
) -> Iterator[IndexerLoop]:
    poller = Poller()
    opened = partial(open_writer, database, skip_near=options.skip_near)
    loop = IndexerLoop(folder, opened, progress, poller, options, clock)
    try:
        yield loop
    finally:
        loop.close()
        loop.indexer.leave()
        poller.close()


def _finish(loop: IndexerLoop) -> Report:
    loop.indexer.finish()
    while not loop.indexer.done:
        loop.turn()
    return loop.indexer.report
