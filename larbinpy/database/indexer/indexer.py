"""Takes the pages of a spool into a database, as far as a checkpoint covers them."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path

from larbinpy.database.base import DatabaseError, Unavailable, Writer
from larbinpy.database.indexer.messages import Covered, Report
from larbinpy.database.indexer.window import Job, Window
from larbinpy.database.prepared import Gone, Visit
from larbinpy.errors import DamagedError, what_failed
from larbinpy.loop.backoff import Backoff
from larbinpy.loop.clock import Clock
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, RecordPlace

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

    def __repr__(self) -> str:
        return f"<Indexer {self.window!r} {self._trouble or 'well'}>"

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
