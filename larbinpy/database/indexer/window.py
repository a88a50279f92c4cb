"""The pages that are under way between spool and database, in the order of the spool."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from larbinpy.database.prepared import Visit
from larbinpy.storage.spool import Position, RecordPlace

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

    def __repr__(self) -> str:
        return f"<Window {len(self.ready)} ready, {len(self._open)} open>"

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
