"""Fills a database without a crawl: from the spool that one has left, or from pages that are given.

It is done in this process, with readers beside it.

The indexer's loop: messages of the crawl, readers, and the indexer's work.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from larbinpy.database.indexer.indexer import Covered, Indexer, Lines, Report, ask_of
from larbinpy.database.indexer.reader import MOST_MEMORY, ReadOptions
from larbinpy.database.indexer.readers import Readers
from larbinpy.database.writer import Writer
from larbinpy.loop.child import command
from larbinpy.loop.clock import Clock, clock
from larbinpy.loop.poller import READ, Poller
from larbinpy.revisit.round import DuePage
from larbinpy.stats import available_bytes
from larbinpy.storage.spool import FOLDER, Spooled, SpoolMark, SpoolWriter
from larbinpy.storage.state import State

#: Most readers: more of them than the writer can follow would only take memory.
_MOST_READERS = 8
#: epoll takes no infinite time (s).
_LONGEST_WAIT = 3600.0


class IndexerLoop:
    """An indexer with its readers."""

    def __init__(
        self,
        base: Path,
        open_writer: Callable[[], Writer],
        say: Callable[[Report], None],
        poller: Poller,
        options: ReadOptions,
        clock: Clock,
        hand_over: Callable[[Sequence[DuePage]], None] | None = None,
    ) -> None:
        """`hand_over` gets the pages that are due, when the crawl has asked for them."""
        self._poller = poller
        self._clock = clock
        self.indexer = Indexer(
            base,
            open_writer,
            say,
            hand_over,
            keep_bodies=options.keep_bodies,
            clock=clock,
        )
        self._options = options
        # They need the spool's folder, which is known with the first pages.
        self._readers: Readers | None = None

    def _made_readers(self) -> Readers:
        indexer = self.indexer
        arguments = [str(indexer.folder), *self._options.arguments()]
        reader = command("larbinpy.database.indexer.reader", *arguments)
        most = most_readers(len(os.sched_getaffinity(0)), available_bytes())
        return Readers(self._poller, reader, most, indexer.read, indexer.fatal, indexer.lost)

    def turn(self) -> None:
        """Do a piece of work, then wait for the next. Raises DatabaseError, ReadersError."""
        indexer = self.indexer
        indexer.step(self._clock())
        if indexer.window.to_read:
            self._readers = self._readers or self._made_readers()
            self._readers.feed(indexer.window.to_read)
        if not indexer.done:
            wait = indexer.deadline - self._clock()
            self._poller.wait(min(max(wait, 0.0), _LONGEST_WAIT))

    def close(self) -> None:
        """End the readers."""
        if self._readers is not None:
            self._readers.close()


def most_readers(cores: int, memory: float) -> int:
    """One for each core, as far as memory, in bytes, has room for the largest page in each."""
    return int(max(1, min(cores, _MOST_READERS, memory // MOST_MEMORY)))


class CrawlPipe:
    """The messages of the crawl, from the descriptor `fd`, until the crawl is gone."""

    def __init__(self, poller: Poller, fd: int, indexer: Indexer) -> None:
        self._poller = poller
        self._indexer = indexer
        self._lines = Lines()
        #: Whether the crawl has ended without a word.
        self.gone = False
        os.set_blocking(fd, False)
        poller.register(fd, READ, self._readable)

    def _readable(self, fd: int, _events: int) -> None:
        with suppress(BlockingIOError):
            data = os.read(fd, 1 << 16)
            for message in self._lines.feed(data):
                if "finish" in message:
                    self._indexer.finish()
                elif (ask := ask_of(message)) is not None:
                    self._indexer.ask(ask)
                else:
                    self._indexer.cover(Covered.of(message))
            if not data:
                self._poller.unregister(fd)
                self.gone = True


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
    opened = partial(Writer, database, skip_near=options.skip_near)
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
