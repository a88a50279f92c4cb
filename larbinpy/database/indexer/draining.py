"""Fills a database without a crawl: from the spool that one has left, or from pages that are given.

It is done in this process, with readers beside it.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from larbinpy.database.indexer.messages import Covered, Report
from larbinpy.database.indexer.process import Process
from larbinpy.database.opening import open_writer
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.storage.spool import FOLDER, Position, Spooled, SpoolMark, SpoolWriter
from larbinpy.storage.state import State

#: Takes a report whenever something has changed.
Progress = Callable[[Report], None]

#: Bytes of given pages that wait for the database.
_MOST_WAITING = 64 << 20


def drain(
    state_dir: Path, database: str, progress: Progress, *, keep_bodies: bool = False
) -> Report:
    """Take the rest of the spool of a stopped crawl in `state_dir`; return the last report.

    Waits, and says so in reports, while the database cannot be used. Raises `StateError` if there
    is no crawl or if it runs, `DatabaseError` if the database cannot be used at all.
    """
    state = State(state_dir)
    with state.at_rest(), state.reading() as manifest:
        mark: SpoolMark | None = manifest.get("outputs", {}).get("database")
        if mark is None:
            return Report(taken=0, done=True)
        with _process(state_dir / FOLDER, database, progress, keep_bodies, False) as process:
            process.indexer.cover(covered_by(mark))
            return _finish(process)


def fill(
    pages: Iterable[Spooled],
    database: str,
    progress: Progress,
    *,
    keep_bodies: bool = False,
    ignore_robots: bool = False,
    most_waiting: int = _MOST_WAITING,
) -> Report:
    """Put `pages` into a database; return the last report.

    A page that wants no index is gone, unless `ignore_robots`.

    They wait in a temporary spool beside it. Raises as `drain`, and what `pages` raises; the
    database then has some of the pages.
    """
    with tempfile.TemporaryDirectory(prefix="larbinpy-index-") as folder:
        spool = SpoolWriter(Path(folder) / FOLDER)
        obey = not ignore_robots
        with _process(spool.folder, database, progress, keep_bodies, obey) as process:
            for spooled in pages:
                spool.append(spooled.page, spooled.at)
                if spool.size > most_waiting / 2:
                    process.indexer.cover(covered_by(spool.cut()))
                while spool.size > most_waiting:
                    process.turn()
                    spool.removed(process.indexer.kept)
            process.indexer.cover(covered_by(spool.cut()))
            report = _finish(process)
        spool.close()
        return report


def covered_by(mark: SpoolMark) -> Covered:
    """The part of the spool before a mark."""
    return Covered(mark["spool"], Position(mark["segment"], mark["offset"]), mark["records"])


@contextmanager
def _process(
    folder: Path, database: str, progress: Progress, keep_bodies: bool, obey_noindex: bool
) -> Iterator[Process]:
    poller = Poller()
    process = Process(
        folder,
        partial(open_writer, database),
        progress,
        poller,
        keep_bodies=keep_bodies,
        obey_noindex=obey_noindex,
        clock=clock,
    )
    try:
        yield process
    finally:
        process.close()
        process.indexer.leave()
        poller.close()


def _finish(process: Process) -> Report:
    process.indexer.finish()
    while not process.indexer.done:
        process.turn()
    return process.indexer.report
