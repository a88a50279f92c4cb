"""The indexer beside a crawl: ``python -m larbinpy.database.indexer.process DATABASE FOLDER``.

It reads messages from standard input and writes them to standard output. When standard input
ends, the crawl is gone: it writes the pages that are read already, and ends. Its `Readers` are
processes that may stall or crash, and are replaced.

`fill` fills a database without a crawl, in this process: from the spool that one has left, or from
pages that are given.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from larbinpy.database.base import DatabaseError
from larbinpy.database.indexer.indexer import (
    Covered,
    Indexer,
    Job,
    Lines,
    Report,
    ask_of,
    due_line,
    encoded,
)
from larbinpy.database.indexer.reader import (
    DAMAGED,
    FAILED,
    FRAME,
    FULL,
    GONE,
    MOST_MEMORY,
    PATIENCE,
    READY,
    REFUSED,
    UNCHANGED,
    ReadOptions,
)
from larbinpy.database.preparation import Failed, Gone, Prepared, Unchanged, Visit
from larbinpy.database.revisit.plan import Schedule, ScheduleSettings
from larbinpy.database.revisit.round import DuePage
from larbinpy.database.writer import Writer
from larbinpy.loop.child import Piped, command
from larbinpy.loop.clock import Clock, clock
from larbinpy.loop.poller import READ, Poller
from larbinpy.stats import available_bytes
from larbinpy.storage.spool import FOLDER, Spooled, SpoolMark, SpoolWriter
from larbinpy.storage.state import State

#: Pages that a reader is given ahead. It has something to do while the database is written.
_AHEAD = 128
#: Bytes of results that wait in its pipe meanwhile: as many as the system allows everybody.
_PIPE = 1 << 20
#: Readers of one page that end before it gets no content; for ends that may have nothing to do
#: with the page: somebody killed the reader, or the system refused it something.
_MOST_DEATHS = 2
_MOST_KILLS = 5
_OTHER_ENDS = (-signal.SIGKILL, REFUSED)
#: Seconds for the end of a reader that has closed its output.
_END = 1.0
#: Readers that end before they are ready: then none will work.
_MOST_FAILURES = 3

#: Takes a page that was read, its result, and the size of that in bytes.
Done = Callable[[Job, Visit | None, int], None]
#: Takes a page that no reader survives, and the reason in words.
Fatal = Callable[[Job, str], None]
#: Takes the pages of a reader that has ended, in their order.
Lost = Callable[[list[Job]], None]


class ReadersError(Exception):
    """No reader can be started; the text says why."""


class Readers:
    """Gives pages to at most `most` readers, each `command` a process.

    A reader is started when all others have enough to do.
    """

    def __init__(
        self,
        poller: Poller,
        command: Sequence[str],
        most: int,
        done: Done,
        fatal: Fatal,
        lost: Lost,
        *,
        ahead: int = _AHEAD,
    ) -> None:
        self._poller = poller
        self._command = command
        self._most = most
        self._done = done
        self._fatal = fatal
        self._lost = lost
        self._ahead = ahead
        self._all: list[_Reader] = []
        self._failures = 0
        #: Places in the spool where no page could be read.
        self.damaged = 0
        #: Readers that ended while they read a page.
        self.deaths = 0

    def feed(self, jobs: deque[Job]) -> None:
        """Take jobs off the front of `jobs` while readers have room. Raises ReadersError."""
        if self._failures >= _MOST_FAILURES:
            raise ReadersError("the processes that read pages end as soon as they are started")
        while jobs:
            reader = min(self._all, key=lambda each: len(each.jobs), default=None)
            full = reader is None or len(reader.jobs) >= self._ahead
            if full and len(self._all) < self._most:
                reader = self._start()
            elif full:
                return
            assert reader is not None
            room = self._ahead - len(reader.jobs)
            reader.give([jobs.popleft() for _ in range(min(room, len(jobs)))])

    def _start(self) -> "_Reader":
        reader = _Reader(self._poller, self._command, lambda data: self._heard(reader, data))
        self._all.append(reader)
        return reader

    def _heard(self, reader: "_Reader", data: bytes) -> None:
        if not data:
            self._ended(reader)
            return
        for kind, content in reader.frames(data):
            if kind == READY:
                reader.ready = True
                self._failures = 0
                continue
            job = reader.jobs.popleft()
            result: Visit | None = None
            if kind == DAMAGED:
                self.damaged += 1
            elif kind == GONE:
                result = Gone.unpack(content)
            elif kind == UNCHANGED:
                result = Unchanged(*json.loads(content))
            elif kind == FAILED:
                result = Failed(*json.loads(content))
            else:
                result = Prepared.unpack(content)
            self._done(job, result, len(content))

    def _ended(self, reader: "_Reader") -> None:
        self._all.remove(reader)
        status = reader.close(_END)
        jobs = list(reader.jobs)
        if not reader.ready:
            self._failures += 1
        elif jobs:
            self.deaths += 1
            jobs[0].deaths += 1
            if jobs[0].deaths >= (_MOST_KILLS if status in _OTHER_ENDS else _MOST_DEATHS):
                self._fatal(jobs.pop(0), _cause(status))
        self._lost(jobs)

    def close(self) -> None:
        """End all readers at once."""
        for reader in self._all:
            reader.process.kill()
            reader.close(_END)
        self._all.clear()


def _cause(status: int) -> str:
    if status == -signal.SIGALRM:
        return f"reading it takes more than {PATIENCE:g} s"
    if status == FULL:
        return f"reading it takes more than {MOST_MEMORY // 10**6} MB"
    if status == -signal.SIGABRT:
        # Compiled code ends so when it gets no memory.
        return f"reading it takes more than {MOST_MEMORY // 10**6} MB, or crashes"
    if status == REFUSED:
        return "the system refuses to read it"
    return "reading it crashes" + (f" (signal {-status})" if status < 0 else "")


class _Reader(Piped):
    """One process, and the pages that it was given and has not returned."""

    def __init__(
        self, poller: Poller, command: Sequence[str], heard: Callable[[bytes], None]
    ) -> None:
        # Libraries print to standard error about pages.
        super().__init__(poller, command, heard, stderr=subprocess.DEVNULL)
        with suppress(OSError):
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _PIPE)
        self._buffer = bytearray()
        self.jobs: deque[Job] = deque()
        #: Whether it has started.
        self.ready = False

    def give(self, jobs: list[Job]) -> None:
        """Send requests: at most some kilobytes, for which its pipe has room."""
        self.jobs.extend(jobs)
        lines = "".join(f"{job.place.start.segment} {job.place.start.offset}\n" for job in jobs)
        self.send(lines.encode())

    def frames(self, data: bytes) -> list[tuple[int, bytes]]:
        """The kinds and contents of the frames that are complete with `data`."""
        self._buffer += data
        frames, start = [], 0
        while len(self._buffer) - start >= FRAME.size:
            kind, length = FRAME.unpack_from(self._buffer, start)
            end = start + FRAME.size + length
            if len(self._buffer) < end:
                break
            frames.append((kind, bytes(self._buffer[start + FRAME.size : end])))
            start = end
        del self._buffer[:start]
        return frames


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


#: Its work can wait; that of the crawl and of the web server beside it cannot.
_NICE = 10
_FAILED = 1


def main(arguments: list[str]) -> int:
    database, folder = arguments[:2]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The crawl gets them, too, and says what is to be done.
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICE)
    options = ReadOptions.of(arguments[2:])
    poller = Poller()
    loop = IndexerLoop(
        Path(folder),
        partial(
            Writer,
            database,
            Schedule(ScheduleSettings.of(arguments[2:])),
            skip_near=options.skip_near,
        ),
        _send,
        poller,
        options,
        clock,
        _hand_over,
    )
    crawl = CrawlPipe(poller, sys.stdin.fileno(), loop.indexer)
    try:
        while not loop.indexer.done and not crawl.gone:
            loop.turn()
        loop.close()
        loop.indexer.leave()
    except BrokenPipeError:
        # The crawl was killed; its successor takes the rest.
        return _FAILED
    except (DatabaseError, ReadersError) as error:
        return _fail(str(error))
    except Exception as error:
        return _fail(_in_a_line(error))
    finally:
        loop.close()
    return 0


def _send(report: Report) -> None:
    _write(report.line())


def _hand_over(pages: Sequence[DuePage]) -> None:
    _write(due_line(pages))


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(sys.stdout.fileno(), line) :]


def _fail(why: str) -> int:
    with suppress(BrokenPipeError):
        _write(encoded({"error": why}))
    return _FAILED


def _in_a_line(error: Exception) -> str:
    """A bug in a line: what, and where."""
    traceback, where = error.__traceback__, ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        where = f" ({os.path.basename(code.co_filename)}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return " ".join(f"{type(error).__name__}: {error}{where}".split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
