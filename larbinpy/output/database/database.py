"""The output of database mode: appends pages to the spool, and says when that is too full.

Beside pages it gets what says that there is none: 404, 410, a redirect, a page that asks for no
index; and that a page has not changed. Of other failures it hears nothing.
"""

from collections.abc import Callable, Iterable
from errno import EIO
from http import HTTPStatus
from pathlib import Path
from typing import Any

from larbinpy.database.indexer.messages import Covered, Report
from larbinpy.outcome import Outcome
from larbinpy.output.database.ages import Ages
from larbinpy.output.database.child import Child
from larbinpy.output.database.notes import Notes
from larbinpy.output.plug import SEEDS
from larbinpy.page import Page
from larbinpy.parse import is_sitemap
from larbinpy.storage.spool import SEGMENT, SpoolMark, SpoolWriter
from larbinpy.storage.state import SavedPart
from larbinpy.url import Url

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
        child: Callable[[Callable[[Report], None]], Child],
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

    def __repr__(self) -> str:
        return f"DatabaseOutput({self._spool!r}, {self._child!r})"

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
