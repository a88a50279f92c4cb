"""Database mode: pages go to a spool, from which a child process fills the content database.

The output appends pages to the spool, and says when that is too full. Beside pages it gets what
says that there is none: 404, 410, a redirect, a page that asks for no index; and that a page has
not changed. Of other failures it hears nothing.

The child, the indexer, is started, watched, and started again. The user is told when trouble
begins, and when it is over. A crawl that visits pages again has an output of its own.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from larbinpy.context import Context
from larbinpy.database.indexer.indexer import Covered, Lines, Report, ask_line, due_of, encoded
from larbinpy.database.indexer.reader import ReadOptions
from larbinpy.database.revisit.plan import ScheduleSettings
from larbinpy.database.revisit.round import DueAsk, DuePage, Visits
from larbinpy.errors import UserError
from larbinpy.loop.child import Piped, command
from larbinpy.loop.clock import Backoff, Clock
from larbinpy.loop.poller import Poller
from larbinpy.output.plug import SEEDS, LeftOut, Refresher
from larbinpy.page import Outcome, Page
from larbinpy.parse import is_sitemap
from larbinpy.storage.spool import FAILED, SEGMENT, SpoolMark, SpoolWriter
from larbinpy.storage.state import SavedPart
from larbinpy.url import Url

#: Seconds between two samples of the spool; ages are right to this.
_EVERY = 1.0


class Ages:
    """When the records of a spool were fetched, by samples: the age of the oldest that waits."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._next = 0.0

    def added(self, record: int, at: float) -> None:
        """`record` was fetched at the Unix time `at`."""
        if at >= self._next or not self._samples:
            self._samples.append(_Sample(record, at))
            self._next = at + _EVERY

    def oldest(self, taken: int) -> float | None:
        """About when the record `taken` was fetched, the first that waits; None if unknown."""
        samples = self._samples
        while len(samples) > 1 and samples[1].record <= taken:
            samples.popleft()
        return samples[0].at if samples and samples[0].record <= taken else None


class _Sample(NamedTuple):
    record: int
    at: float


class Notes:
    """Turns the trouble of each second into lines."""

    def __init__(self) -> None:
        self._troubled = False

    def look(self, trouble: str) -> Iterator[str]:
        """The line to print now, if there is one."""
        if bool(trouble) is not self._troubled:
            self._troubled = not self._troubled
            yield f"database: {trouble or 'pages are taken again'}"


#: Seconds for its first message, which says whether the database can be used. It comes in half a
#: second; a crawl begins without it.
_START = 20.0
#: Seconds for its end, once it knows that the crawl ends. Then it is killed, which costs nothing.
_END = 5.0
#: Seconds for its end once its output has ended, which comes with it; the crawl stands still.
_LAST = 0.2
#: Starts at the beginning of the crawl, as long as a signal ends it.
_STARTS = 5
#: Ends in a row, without a page written, after which a crawl that ends does not wait for it.
_HOPELESS = 5


class IndexerChild:
    """Runs `command`, which speaks `larbinpy.database.indexer.indexer`.

    A process that ends before all is done is started again, after growing waits. `changed` is
    called after each report.
    """

    def __init__(
        self,
        command: Sequence[str],
        poller: Poller,
        clock: Clock,
        changed: Callable[[Report], None],
    ) -> None:
        self._command = command
        self._poller = poller
        self._clock = clock
        self._changed = changed
        self._process: Piped | None = None
        self._lines = Lines()
        self._to_send = b""
        self._backoff = Backoff()
        self._error = ""
        self._covered: Covered | None = None
        # A question for pages that are due, until it is answered, and who takes the answer.
        self._asked: DueAsk | None = None
        self._take_due: Callable[[list[DuePage]], None] | None = None
        self._finishing = False
        # Whether the last process was ended by a signal.
        self._killed = False
        #: Ends in a row without a page written.
        self._failures = 0
        # Pages of the processes before this one.
        self._pages = self._gone = 0
        self.report = Report()
        #: Why there is no process; empty if there is one.
        self.down = ""

    @property
    def pid(self) -> int | None:
        """The number of the process; None if there is none."""
        return None if self._process is None else self._process.process.pid

    @property
    def pages(self) -> int:
        """Pages written in this run of the crawl."""
        return self._pages + self.report.pages

    @property
    def gone(self) -> int:
        """Pages found to be gone in this run of the crawl."""
        return self._gone + self.report.gone

    @property
    def trouble(self) -> str:
        """One line about the thing that hinders it; empty if nothing does."""
        return self.down or self.report.trouble

    @property
    def hopeless(self) -> bool:
        """Whether it ends again and again, so that it is of no use to wait."""
        return self._failures >= _HOPELESS

    def open(self) -> None:
        """Start it, and wait until it knows the database. Raises UserError if that is of no use."""
        for _ in range(_STARTS):
            self._killed = False
            self._start()
            if self._process is not None:
                self._await_message(self._process)
            if not self._killed:
                break
        if self._error and self._process is not None:
            self._close(_END)
        if self._error or self.down:
            raise UserError(self._error or self.down)

    def _await_message(self, process: Piped) -> None:
        poller = Poller()
        try:
            process.listen(poller)
            poller.wait(_START)
        finally:
            poller.close()

    def cover(self, covered: Covered) -> None:
        """A checkpoint that covers so much of the spool is on the disk."""
        self._covered = covered
        self._send(covered.line())

    def ask(self, ask: DueAsk, take: Callable[[list[DuePage]], None]) -> None:
        """Ask for pages that are due; `take` is called once, with the answer."""
        self._asked, self._take_due = ask, take
        self._send(ask_line(ask))

    def finish(self) -> None:
        """Nothing more comes."""
        if not self._finishing:
            self._finishing = True
            self._send(encoded({"finish": True}))

    def second(self, now: float) -> None:
        """Start it again if it is time; called about once a second."""
        if self._process is not None:
            self._send(b"")
        elif not self.report.done and now >= self._backoff.due:
            self._start()
            if self._covered is not None:
                self.cover(self._covered)
            if self._asked is not None:
                self._send(ask_line(self._asked))
            if self._finishing:
                self._send(encoded({"finish": True}))

    def _start(self) -> None:
        self._lines, self._to_send, self._error = Lines(), b"", ""
        try:
            # Ctrl-C is for the crawl, which says what is to be done.
            self._process = Piped(self._poller, self._command, self._heard, start_new_session=True)
        except OSError as error:
            self._ended(f"the indexer cannot be started: {error.strerror}")
            return
        self.down = ""

    def _send(self, line: bytes) -> None:
        """Send what its pipe has room for, the rest later."""
        self._to_send += line
        if self._process is not None and self._to_send:
            self._to_send = self._to_send[self._process.send(self._to_send) :]

    def _heard(self, data: bytes) -> None:
        if not data:
            self._collect()
            return
        for message in self._lines.feed(data):
            if "error" in message:
                self._error = message["error"]
                continue
            if (due := due_of(message)) is not None:
                self._answered(due)
                continue
            self.report = Report(**message)
            if self.report.pages:
                self._failures = 0
                self._backoff.succeeded()
            self._changed(self.report)

    def _answered(self, due: list[DuePage]) -> None:
        take, self._asked, self._take_due = self._take_due, None, None
        if take is not None:
            take(due)

    def _collect(self) -> None:
        """Collect the process, whose output has ended."""
        status = self._close(_LAST)
        self._killed = status < 0
        if not self.report.done:
            end = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            self._ended(self._error or f"the indexer {end}")

    def _ended(self, why: str) -> None:
        self._failures += 1
        self._pages, self._gone = self.pages, self.gone
        taken, kept = self.report.taken, self.report.kept
        self.report = Report(taken=taken, kept=kept)
        wait = self._backoff.failed(self._clock())
        self.down = f"{why}; it is started again in {wait:.0f} s"

    def _close(self, patience: float) -> int:
        """Close the pipes and wait for the end; return the exit status."""
        process, self._process = self._process, None
        assert process is not None
        return process.close(patience)

    def close(self) -> None:
        """Let it write what it has read already, and end it."""
        if self._process is not None:
            self._close(_END)


def indexer_command(context: Context, folder: Path) -> list[str]:
    """The command of the indexer of contentDatabase, whose spool is in `folder`."""
    config = context.config
    options = ReadOptions(config.keep_bodies, near_duplicates=config.near_duplicates)
    schedule = ScheduleSettings(config.revisit_min, config.revisit_max, config.revisit_budget)
    arguments = [*options.arguments(), *schedule.arguments()]
    database = config.content_database
    return command("larbinpy.database.indexer.process", database, str(folder), *arguments)


_GONE = (HTTPStatus.NOT_FOUND.value, HTTPStatus.GONE.value)
#: The least number of segments in a full spool: room comes back in such pieces.
_SEGMENTS = 8


class DatabaseOutput(SavedPart):
    """Pages for the database, by way of a spool in `folder` of `spool_max` bytes.

    `child` makes the process that takes them; it is started at once. `wall` returns the Unix time.
    Raises UserError if the database cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        child: Callable[[Callable[[Report], None]], IndexerChild],
        wall: Callable[[], float],
        *,
        spool_max: int,
    ) -> None:
        self._wall = wall
        self._spool_max = spool_max
        segment_size = max(1, min(SEGMENT, spool_max // _SEGMENTS))
        self._spool = SpoolWriter(folder, segment_size=segment_size)
        self._covered = 0
        self._ages = Ages()
        self._notes = Notes()
        self._child = child(self._reported)
        self._child.open()

    # Pages.

    def loaded(self, page: Page) -> None:
        self._add(page)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def missed(self, page: Page) -> None:
        redirects = page.outcome is Outcome.ERR_30X and not page.not_modified
        if page.outcome is Outcome.ERR_40X and 0 < page.status < HTTPStatus.BAD_REQUEST:
            # A soft 404.
            self._add(Page(page.url, page.outcome, HTTPStatus.NOT_FOUND.value))
        elif redirects or page.status in _GONE:
            to = [each for each in page.headers if each[0] == "location"]
            self._add(Page(page.url, page.outcome, page.status, to))

    def withheld(self, page: Page) -> None:
        told = Page(page.url, Outcome.FORBIDDEN_ROBOTS, page.status)
        if is_sitemap(page):
            # Its dates count all the same.
            told.headers = [each for each in page.headers if each[0] == "content-type"]
            told.body = page.body
        self._add(told)

    def _add(self, page: Page) -> int:
        """Spool a page; returns the number of its record."""
        at = self._wall()
        self._spool.append(page, at)
        number = self._spool.records - 1
        self._ages.added(number, at)
        return number

    # The indexer.

    def _reported(self, report: Report) -> None:
        self._spool.removed(report.kept)

    @property
    def _waiting(self) -> int:
        """Number of records that the database lacks."""
        return max(0, self._spool.records - (self._child.report.taken or 0))

    @property
    def holds(self) -> str:
        if self._spool.size <= self._spool_max or not self._waiting:
            return ""
        return f"{self._waiting} pages wait for the database (spoolMax)"

    @property
    def idle(self) -> str:
        return SEEDS

    @property
    def awaits(self) -> str:
        trouble = self._child.trouble
        number = self._waiting
        pages = "1 page" if number == 1 else f"{number} pages"
        waiting = f"the database has yet to {f'take {pages}' if number else 'end its work'}"
        return f"{waiting}: {trouble}" if trouble else waiting

    def second(self, now: float) -> Iterable[str]:
        self._child.second(now)
        yield from self._notes.look(self._child.trouble)

    def finish(self) -> bool:
        if self._covered == self._spool.records:
            self._child.finish()
        if self._child.hopeless:
            raise OSError(EIO, self.awaits)
        return self._child.report.done

    def stats(self) -> dict[str, object]:
        report, waiting = self._child.report, self._waiting
        first = self._ages.oldest(report.taken or 0)
        times = [at for at in (report.oldest, first) if at is not None]
        age = self._wall() - min(times) if waiting and times else 0.0
        return {
            "spooled": self._spool.records,
            "spool_bytes": self._spool.size,
            "waiting": waiting,
            "indexed": self._child.pages,
            "gone": self._child.gone,
            "oldest_s": round(max(0.0, age), 1),
            "state": self._state,
            "trouble": self._child.trouble,
        }

    @property
    def _state(self) -> str:
        if self._child.down:
            return "down"
        if self._child.report.trouble:
            return "waiting"
        if self._child.report.done:
            return "done"
        return "indexing" if self._waiting else "idle"

    # As a part of the state:

    def cut(self) -> SpoolMark:
        return self._spool.cut()

    def sync(self) -> None:
        """Do nothing: the crawl flushes the folder of the spool."""

    def load(self, mark: Any) -> None:
        """Cut off the pages after a mark: they will be fetched again."""
        self._spool.load(mark)
        # Not `mark`: this run has a name of its own.
        self.tidy(self._spool.cut())

    def tidy(self, mark: SpoolMark) -> None:
        """The indexer may take what a checkpoint covers that is on the disk."""
        self._covered = mark["records"]
        self._child.cover(Covered.before(mark))

    def clear(self) -> None:
        self._spool.clear()

    def close(self) -> None:
        try:
            self._child.close()
        finally:
            self._spool.close()


#: Replies of success that have no page: accepted, no content, reset, a part that was not asked for.
_NO_PAGE = frozenset(
    status.value
    for status in (
        HTTPStatus.ACCEPTED,
        HTTPStatus.NO_CONTENT,
        HTTPStatus.RESET_CONTENT,
        HTTPStatus.PARTIAL_CONTENT,
    )
)

#: By robots.txt and by rules.
_REFUSED = (Outcome.FORBIDDEN_ROBOTS, Outcome.REJECTED)


class VisitingOutput(DatabaseOutput):
    """A `DatabaseOutput` that also spools visits that brought no page: 304, and failures.

    So the database learns of each visit of a page that was due, when it is due next. With
    `conditional`, pages are asked for on the conditions that the database has for them.
    """

    def __init__(
        self,
        folder: Path,
        child: Callable[[Callable[[Report], None]], IndexerChild],
        wall: Callable[[], float],
        visits: Visits,
        *,
        spool_max: int,
        conditional: bool,
    ) -> None:
        self._visits = visits
        # It takes reports at once.
        super().__init__(folder, child, wall, spool_max=spool_max)
        self.refresher: Refresher | None = Conditions(visits) if conditional else None
        self._not_modified = self._failed = self._done = 0

    def ask(self, ask: DueAsk, take: Callable[[list[DuePage]], None]) -> None:
        """Ask the database for pages that are due; `take` is called once, with the answer."""
        self._child.ask(ask, take)

    @property
    def works(self) -> bool:
        """Whether the database may still answer."""
        return not self._child.hopeless

    def loaded(self, page: Page) -> None:
        if not self._visits.is_open(page.url.href):
            super().loaded(page)
        elif page.not_modified:
            self._add(Page(page.url, page.outcome, page.status, body=page.body))
            self._not_modified += 1
        elif page.status in _NO_PAGE or not page.body.strip():
            # The old copy is better than nothing.
            self._fail(page.url.href)
        else:
            super().loaded(page)

    def missed(self, page: Page) -> None:
        super().missed(page)
        was_asked = page.status > 0 or page.outcome not in _REFUSED
        self._fail(page.url.href, was_asked=was_asked)

    def ended(self, href: str) -> None:
        """Take note that the outcome of a URL is known: an open visit without a record failed."""
        self._fail(href)

    def _fail(self, href: str, *, was_asked: bool = True) -> None:
        """Spool that an open visit brought nothing; it counts if a request was made for it."""
        if self._visits.is_open(href):
            self._add(Page(Url(href, 0), FAILED))
            self._failed += was_asked
            self._done -= not was_asked

    def _add(self, page: Page) -> int:
        number = super()._add(page)
        self._done += self._visits.is_open(page.url.href)
        self._visits.recorded(page.url.href, number)
        return number

    def _reported(self, report: Report) -> None:
        super()._reported(report)
        self._visits.taken(report.taken or 0)

    @property
    def idle(self) -> str:
        """The reason why a crawl waits that has nothing left to fetch."""
        return "it waits for pages that are due" if not len(self._visits) else self.awaits

    def stats(self) -> dict[str, object]:
        return {
            **super().stats(),
            "visits_under_way": len(self._visits),
            "visited": self._done,
            "not_modified": self._not_modified,
            "visits_failed": self._failed,
        }


class Conditions:
    """The `Refresher` of a database: it has the conditions of pages, not their bodies.

    A 304 becomes a success without a body, so the links of its page are not read again.
    """

    def __init__(self, visits: Visits) -> None:
        self._visits = visits

    def begin(self) -> None:
        pass

    def conditions(self, url: str) -> Sequence[str]:
        return self._visits.conditions(url)

    def unchanged(self, page: Page) -> None:
        if self._visits.conditions(page.url.href):
            page.outcome = Outcome.SUCCESS

    def moved(self, url: str, target: str) -> None:
        pass

    def finish(self, *, complete: bool, left_out: LeftOut = ()) -> Iterator[None]:
        return iter(())
