"""Takes the pages of a spool into a database, as far as a checkpoint covers them.

Pages between the two are in a `Window`, in the order of the spool. The crawl and the indexer send
each other JSON objects, one a line. The crawl sends `Covered`, and at its end ``{"finish": true}``.
The indexer sends a `Report` whenever something has changed, or ``{"error": "..."}`` before it ends
because it cannot work. A crawl that visits pages again sends a `DueAsk`, and the next when it has
the `DuePage`s for it.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Self

from larbinpy.database.base import DatabaseError, Unavailable
from larbinpy.database.preparation import Gone, Visit
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.database.writer import Writer
from larbinpy.errors import DamagedError, what_failed
from larbinpy.loop.clock import Backoff, Clock
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, RecordPlace, SpoolMark


class Covered(NamedTuple):
    """The part of the spool of this name that a checkpoint covers."""

    spool: str
    until: Position
    #: Number of records up to there.
    records: int

    @classmethod
    def before(cls, mark: SpoolMark) -> Self:
        """The part of a spool before `mark`."""
        return cls(mark["spool"], Position(mark["segment"], mark["offset"]), mark["records"])

    @classmethod
    def of(cls, message: dict[str, Any]) -> Self:
        return cls(message["spool"], Position(*message["until"]), message["records"])

    def line(self) -> bytes:
        return encoded(self._asdict())


@dataclass(slots=True, frozen=True)
class Report:
    """The state of the indexer."""

    #: Number of the spool's records that the database has; None while that is not known.
    taken: int | None = None
    #: The first segment that is still needed.
    kept: int = 0
    #: Pages that were written, and pages found to be gone, since the indexer was started.
    pages: int = 0
    gone: int = 0
    #: Unix time at which the oldest covered page was fetched that is not written yet.
    oldest: float | None = None
    #: One line about the thing that hinders it; empty if nothing does.
    trouble: str = ""
    #: All is done, the deferred work of the database included.
    done: bool = False

    def line(self) -> bytes:
        return encoded(asdict(self))


def ask_line(ask: DueAsk) -> bytes:
    """The question of a crawl for pages that are due."""
    return encoded({"ask": ask})


def ask_of(message: dict[str, Any]) -> DueAsk | None:
    """The question that a message is; None if it is another one."""
    if "ask" not in message:
        return None
    until, after, most, without = message["ask"]
    return DueAsk(until, after and (after[0], after[1]), most, without)


def due_line(pages: Sequence[DuePage]) -> bytes:
    """The answer of the indexer."""
    return encoded({"due": pages})


def due_of(message: dict[str, Any]) -> list[DuePage] | None:
    """The answer that a message is; None if it is another one."""
    return [DuePage(*page) for page in message["due"]] if "due" in message else None


def encoded(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


class Lines:
    """Takes bytes as they come, and gives the messages of complete lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)


#: A batch is written if it has so many pages, so many packed bytes, or is so old (s).
_PAGES = 500
_BYTES = 32 << 20
_AGE = 0.5


@dataclass(slots=True, eq=False)
class Job:
    """A page that is to be read and written."""

    place: RecordPlace
    #: Readers that ended while they read it.
    deaths: int = 0
    #: None before it is read; and then, if the spool is damaged there.
    result: Visit | None = None
    #: Bytes of the result, packed.
    size: int = 0
    done: bool = False
    #: The database could not take the result: it has another one now.
    refused: bool = False
    #: The window was cleared, so its result is not wanted any more.
    dropped: bool = False


class Window:
    """The pages that are under way; they are read in any order, and written in theirs.

    Invariants: `ready` and `_open` together are consecutive records of the spool; all jobs of
    `ready` are done, the first of `_open` is not. `to_read` holds jobs of `_open`.
    """

    def __init__(self, most: int = 2 * _PAGES, most_bytes: int = 2 * _BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._since = inf
        self._ready_bytes = 0
        self.ready: deque[Job] = deque()
        self._open: deque[Job] = deque()
        #: Jobs that no reader has.
        self.to_read: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self.ready) + len(self._open)

    @property
    def has_room(self) -> bool:
        return len(self) < self._most and self._bytes < self._most_bytes

    @property
    def oldest(self) -> RecordPlace | None:
        """The first record that is not written."""
        first = self.ready or self._open
        return first[0].place if first else None

    def add(self, place: RecordPlace) -> None:
        """Take the next record of the spool."""
        job = Job(place)
        self._open.append(job)
        self.to_read.append(job)

    def done(self, job: Job, result: Visit | None, size: int, now: float) -> None:
        """`job` was read; `size` is that of the result in bytes."""
        if job.dropped:
            return
        job.result, job.size, job.done = result, size, True
        self._bytes += size
        while self._open and self._open[0].done:
            first = self._open.popleft()
            if not self.ready:
                self._since = now
            self.ready.append(first)
            self._ready_bytes += first.size

    def put_back(self, jobs: list[Job]) -> None:
        """`jobs`, in order, lost their reader."""
        self.to_read.extendleft(job for job in reversed(jobs) if not job.dropped)

    @property
    def deadline(self) -> float:
        """When a batch is to be written: at once, if no other page is left to wait for."""
        if len(self.ready) >= _PAGES or self._ready_bytes >= _BYTES:
            return -inf
        return self._since + _AGE if self._open or not self.ready else -inf

    def batch(self, now: float) -> list[Job]:
        """The jobs to write now; empty if that can wait. They stay until `written`."""
        return list(self._first()) if now >= self.deadline else []

    def _first(self) -> Iterator[Job]:
        size = 0
        for number, job in enumerate(self.ready):
            if number == _PAGES or size >= _BYTES:
                break
            size += job.size
            yield job

    def written(self, until: Position, now: float) -> None:
        """The database has everything up to `until`."""
        while self.ready and self.ready[0].place.end <= until:
            job = self.ready.popleft()
            self._bytes -= job.size
            self._ready_bytes -= job.size
        self._since = now if self.ready else inf

    def clear(self) -> None:
        """Drop all jobs, also those that readers have."""
        for job in (*self.ready, *self._open):
            job.dropped = True
        for jobs in (self.ready, self._open, self.to_read):
            jobs.clear()
        self._bytes = self._ready_bytes = 0
        self._since = inf


#: The position of a database that has pages of the spool, but none of this run.
_FIRST = Position(0, 0)


class Indexer:
    """Moves pages from the spool in `base` to the database that `open_writer` opens.

    `say` gets a `Report` whenever something has changed, and `hand_over` pages that are due. Pages
    that are to be read are in `window.to_read`; whoever reads them calls `read`, `fatal` or `lost`.

    Invariant: `_position` is that of the database, as far as this process knows, and the window has
    the records after it.
    """

    def __init__(
        self,
        base: Path,
        open_writer: Callable[[], Writer],
        say: Callable[[Report], None],
        hand_over: Callable[[Sequence[DuePage]], None] | None = None,
        *,
        keep_bodies: bool,
        clock: Clock,
    ) -> None:
        self._base = base
        #: The folder of the segments, once a checkpoint covers some.
        self.folder = base
        self._open_writer = open_writer
        self._say = say
        self._hand_over = hand_over
        # A question for pages that are due, until it is answered.
        self._asked: DueAsk | None = None
        self._keep_bodies = keep_bodies
        self._clock = clock
        self.window = Window()
        self._writer: Writer | None = None
        self._backoff = Backoff()
        self._covered: Covered | None = None
        self._places: Iterator[RecordPlace] = iter(())
        # The beginning of the next record that is not in the window; None for the first there is.
        self._next: Position | None = None
        self._begun = False
        self._position: Position | None = None
        #: The first segment that is still needed.
        self.kept = 0
        # Up to there each page is written alone, as one of them cannot be written.
        self._alone: Position | None = None
        self._untended = True
        self._finishing = False
        self._taken: int | None = None
        self._pages = self._gone = 0
        self._trouble = ""
        # Pages that are lost, or not whole, in words; it stays.
        self._loss = ""
        self._has_said = False
        #: The last one.
        self.report = Report()
        #: Everything is done, after `finish`.
        self.done = False

    # Messages of the crawl.

    def cover(self, covered: Covered) -> None:
        """A checkpoint covers the spool up to there."""
        self._covered = covered
        self.folder = spool.folder_of(self._base, covered.spool)
        if self._begun:
            self._places = self._walk(self._next)

    def ask(self, ask: DueAsk) -> None:
        """The crawl wants pages that are due."""
        self._asked = ask

    def finish(self) -> None:
        """Nothing more comes: end when all is done."""
        self._finishing = True

    # Results of readers.

    def read(self, job: Job, result: Visit | None, size: int) -> None:
        """`job` was read; without a result the spool is damaged there."""
        if result is None:
            self._loss = "damaged pages of the spool were left out"
        self.window.done(job, result, size, self._clock())

    def fatal(self, job: Job, why: str) -> None:
        """No reader survives `job`: its page gets no content."""
        self.read(job, self._unreadable(job, why), 0)

    def _unreadable(self, job: Job, why: str) -> Visit | None:
        """The page of `job` without content; None if the spool is damaged there."""
        # Here, since it comes with all parsers, which this process does not need.
        from larbinpy.database.indexer.reader import unreadable

        try:
            spooled = spool.read(self.folder, job.place.start)
        except OSError:
            return None
        return unreadable(spooled, self._keep_bodies, why)

    def lost(self, jobs: list[Job]) -> None:
        """`jobs` must be read by another reader."""
        self.window.put_back(jobs)

    # The work.

    def step(self, now: float) -> None:
        """Do a piece of work. Raises `DatabaseError` if the database cannot be used at all."""
        if now >= self._backoff.due:
            try:
                self._work(now)
            except Unavailable as error:
                self._give_up(str(error), now)
            except OSError as error:
                self._give_up(what_failed(error), now)
        self._tell()

    def _work(self, now: float) -> None:
        if self._writer is None:
            self._writer = self._open_writer()
            self._begun = False
            if not self.window:
                self._trouble = ""
        writer, covered = self._writer, self._covered
        if covered is not None:
            if not self._begun:
                self._begin(writer, covered, now)
            self._fill()
            if batch := self.window.batch(now):
                self._write(writer, covered.spool, batch, now)
        if self._asked is not None and self._hand_over is not None:
            due = writer.due(self._asked)
            self._asked = None
            self._hand_over(due)
        if not self.window:
            if self._untended:
                self._untended = writer.tend()
            elif self._finishing:
                self._end(writer)

    def _begin(self, writer: Writer, covered: Covered, now: float) -> None:
        """Go on after the position of the database."""
        position = writer.position(covered.spool)
        if position is not None and position > covered.until:
            # The crawl goes on from a copy of its state that is older than the database.
            position = _FIRST
        if not self._is_expected(position):
            # This is the start, or the database has lost its last pages, as a server may do.
            self.window.clear()
        elif position is not None:
            # It took a batch, perhaps, and the connection was lost before it said so.
            self.window.written(position, now)
        end = covered.until.segment + bool(covered.until.offset)
        first = min(spool.segments(self.folder), default=end)
        if position is None and first > 0:
            self._loss = (
                "the database lacks the earlier pages of this crawl: it was deleted or replaced,"
                " or it is that of another crawl"
            )
        elif position not in (None, _FIRST) and position.segment + 1 < first:
            self._missing()
        self._position = position
        self.kept = min(first, covered.until.segment)
        if not self.window:
            self._next = None if position == _FIRST else position
        self._places = self._walk(self._next)
        self._begun = True
        self._fill()
        if self._taken is None and not self.window:
            self._taken = covered.records

    def _is_expected(self, position: Position | None) -> bool:
        """Whether the window goes on at `position`, or after a batch that it still has."""
        if position == self._position:
            return True
        return any(job.place.end == position for job in self.window.ready)

    def _walk(self, start: Position | None) -> Iterator[RecordPlace]:
        assert self._covered is not None
        return spool.walk(self.folder, start, self._covered.until)

    def _fill(self) -> None:
        """Fill the window from the spool."""
        window = self.window
        while window.has_room:
            try:
                place = next(self._places, None)
            except DamagedError as error:
                self._skip(what_failed(error))
                continue
            if place is None:
                break
            if self._taken is None:
                self._taken = place.number
            if self._next is not None and place.start.segment > self._next.segment + 1:
                self._missing()
            self._next = place.end
            window.add(place)

    def _missing(self) -> None:
        self._loss = f"pages are missing in {self.folder}, so the database lacks them"

    def _skip(self, why: str) -> None:
        """Go on with the next segment, as no other record can be found in this one."""
        self._loss = f"{why}: the pages after it are lost"
        first = min(spool.segments(self.folder), default=0)
        damaged = first if self._next is None else max(first, self._next.segment)
        self._next = Position(damaged + 1, 0)
        self._places = self._walk(self._next)

    def _write(self, writer: Writer, name: str, batch: list[Job], now: float) -> None:
        pieces = [batch] if self._alone is None else [[job] for job in batch]
        for piece in pieces:
            try:
                self._write_piece(writer, name, piece, now)
            except (DatabaseError, OSError):
                raise
            except Exception as error:
                self._refused(piece, error)
                return

    def _write_piece(self, writer: Writer, name: str, batch: list[Job], now: float) -> None:
        last = batch[-1].place
        results = [job.result for job in batch if job.result is not None]
        durable = last.end.segment > self.kept
        for line in writer.write(results, name, last.end, durable=durable):
            self._loss = line
        if self._alone is not None and last.end >= self._alone:
            self._alone = None
        self._backoff.succeeded()
        self._trouble = ""
        self.window.written(last.end, now)
        self._position = last.end
        self._taken = last.number + 1
        self._untended = True
        gone = sum(isinstance(result, Gone) for result in results)
        self._gone += gone
        self._pages += len(results) - gone
        if durable:
            self.kept = spool.remove_below(self.folder, last.end)

    def _refused(self, batch: list[Job], error: Exception) -> None:
        """The writer has a bug that some page of `batch` brings out: find that page."""
        self._close()
        job, why = batch[0], f"cannot be written: {type(error).__name__}"
        if len(batch) > 1:
            self._alone = batch[-1].place.end
        elif job.result is None:
            raise error
        elif job.refused:
            job.result = None
            self._loss = f"a page {why}"
        else:
            job.refused = True
            job.result = self._unreadable(job, why)

    def _end(self, writer: Writer) -> None:
        if self._covered is not None:
            name, until, self._taken = self._covered
            writer.write([], name, until, durable=True)
            self.kept = spool.remove_all(self.folder, until)
        writer.close()
        self._writer = None
        self.done = True

    def _give_up(self, why: str, now: float) -> None:
        """The database cannot be used now: open it again later."""
        wait = self._backoff.failed(now)
        self._trouble = f"{why}; tried again in {wait:.0f} s"
        self._close()

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def leave(self) -> None:
        """The crawl is gone: write what is read, and end. Raises `DatabaseError`."""
        writer = self._writer
        if writer is not None and self._covered is not None and self._begun:
            while self._writer is not None and (batch := self.window.batch(inf)):
                self._write(writer, self._covered.spool, batch, inf)
        self._close()

    @property
    def deadline(self) -> float:
        """When `step` must be called again, unless something else happens before."""
        if self._trouble and self._writer is None:
            return self._backoff.due
        if self._writer is None or (self._covered is not None and not self._begun) or self._asked:
            return -inf
        if self.window:
            return self.window.deadline
        return -inf if self._untended or self._finishing else inf

    def _tell(self) -> None:
        oldest = self.window.oldest
        report = Report(
            taken=self._taken,
            kept=self.kept,
            pages=self._pages,
            gone=self._gone,
            oldest=None if oldest is None else oldest.at,
            trouble=self._trouble or self._loss,
            done=self.done,
        )
        if report != self.report or not self._has_said:
            self.report, self._has_said = report, True
            self._say(report)
