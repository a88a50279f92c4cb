"""A writer that keeps pages in memory, and refuses when a test says so."""

from collections.abc import Sequence

from larbinpy.database.base import DatabaseError
from larbinpy.database.preparation import Gone, Prepared, Visit
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position


class FakeDatabase:
    """A database as its writers leave it. `open` makes a writer."""

    def __init__(self) -> None:
        #: URL -> fetched; None for a page that is gone.
        self.rows: dict[str, str | None] = {}
        #: Name of a spool -> the run, and the position.
        self.positions: dict[str, tuple[str, Position]] = {}
        #: Rows and positions that a power cut leaves.
        self._durable: tuple[dict[str, str | None], dict[str, tuple[str, Position]]] = (
            {},
            {},
        )
        #: Pages of each transaction.
        self.batches: list[int] = []
        #: Raised by the next calls, the first one first; None for a call that works.
        self.refusals: list[DatabaseError | None] = []
        #: Whether the next refused write takes place all the same, and only its answer is lost.
        self.answer_lost = False
        self.tends = 0
        #: The answer to each question for pages that are due.
        self.due: list[DuePage] = []
        self.troubles: dict[str, str] = {}
        self.open_writers = 0
        #: URLs whose pages no writer survives, unless they have no content.
        self.poison: set[str] = set()
        #: URLs whose pages are not taken whole.
        self.long: set[str] = set()

    def open(self) -> "FakeWriter":
        self.refuse()
        self.open_writers += 1
        return FakeWriter(self)

    @property
    def is_durable(self) -> bool:
        """Whether a power cut would lose nothing."""
        return self._durable == (self.rows, self.positions)

    def made_durable(self) -> None:
        self._durable = (dict(self.rows), dict(self.positions))

    def power_cut(self) -> None:
        rows, positions = self._durable
        self.rows, self.positions = dict(rows), dict(positions)

    def refuse(self) -> None:
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            raise refusal


def is_whole(page: Visit) -> bool:
    return isinstance(page, Prepared) and "cannot be written" not in page.more.decode()


class FakeWriter(Writer):
    def __init__(self, database: FakeDatabase) -> None:
        self._database = database

    def position(self, spool: str) -> Position | None:
        name, _, run = spool.partition("-")
        known, position = self._database.positions.get(name, ("", None))
        return position if position is None or known == run else Position(0, 0)

    def write(
        self,
        pages: Sequence[Visit],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> list[str]:
        database = self._database
        if not database.answer_lost:
            database.refuse()
        if any(page.url in database.poison and is_whole(page) for page in pages):
            raise OverflowError("too large")
        for page in pages:
            database.rows[page.url] = None if isinstance(page, Gone) else page.fetched
            if isinstance(page, Prepared):
                database.troubles[page.url] = page.more.decode()
        if pages:
            database.batches.append(len(pages))
        if spool is not None and position is not None:
            name, _, run = spool.partition("-")
            database.positions[name] = run, position
        if durable:
            database.made_durable()
        if database.answer_lost:
            database.answer_lost = False
            database.refuse()
        return [f"{page.url}: cut" for page in pages if page.url in database.long]

    def due(self, ask: DueAsk) -> list[DuePage]:
        self._database.refuse()
        return self._database.due[: ask.most]

    def tend(self) -> bool:
        if self._database.tends:
            self._database.tends -= 1
        return self._database.tends > 0

    def close(self) -> None:
        self._database.open_writers -= 1
