"""The output of database mode in a crawl that visits pages again."""

from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path

from larbinpy.database.indexer.messages import Report
from larbinpy.outcome import Outcome
from larbinpy.output.database.child import Child
from larbinpy.output.database.database import DatabaseOutput
from larbinpy.output.plug import Refresher
from larbinpy.page import Page
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.revisit.visits import Visits
from larbinpy.storage.spool import FAILED
from larbinpy.url import Url

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
        child: Callable[[Callable[[Report], None]], Child],
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

    def __repr__(self) -> str:
        return f"<Conditions of {self._visits!r}>"

    def begin(self) -> None:
        pass

    def conditions(self, url: str) -> Sequence[str]:
        return self._visits.conditions(url)

    def unchanged(self, page: Page) -> None:
        if self._visits.conditions(page.url.href):
            page.outcome = Outcome.SUCCESS

    def moved(self, url: str, target: str) -> None:
        pass

    def finish(self, *, complete: bool) -> Iterator[None]:
        return iter(())
