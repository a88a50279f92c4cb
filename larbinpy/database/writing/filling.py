"""Pages on their way into the tables, with the position of the spool that they come from."""

from collections.abc import Sequence

from larbinpy.database.base import Position
from larbinpy.database.prepared import Gone, Prepared, Unchanged, Visit
from larbinpy.database.writing.anchors import Anchors
from larbinpy.database.writing.batch import Batch
from larbinpy.database.writing.samples import Samples
from larbinpy.database.writing.scheduling import Scheduling, due_pages
from larbinpy.database.writing.tables import Index, Tables
from larbinpy.loop.clock import wall
from larbinpy.page import timestamp
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.revisit.schedule import Schedule

#: Names of hosts whose numbers are remembered.
_HOSTS = 100_000
#: Targets that `tend` looks at in one piece, and pages that it indexes again: 50 ms.
_LOOKS, _TENDED = 250, 12


class Filling:
    """The work of a `Writer` within its transactions; after one that failed, make a new one."""

    def __init__(
        self,
        base: Tables,
        index: Index,
        schedule: Schedule | None = None,
        seat: int = 0,
        *,
        skip_near: bool = False,
    ) -> None:
        """`seat`: see `Anchors`; two processes must not have the same. `skip_near`: see `Batch`."""
        self._base = base
        self._scheduling = Scheduling(base, schedule or Schedule())
        self._index = index
        self._hosts: dict[str, int] = {}
        self._samples = Samples(base)
        self._anchors = Anchors(base, seat)
        self._skip_near = skip_near

    def position(self, spool: str) -> Position | None:
        """As `Writer.position`."""
        name, _, run = spool.partition("-")
        key = (f"spool:{name}",)
        row = self._base.execute("SELECT value FROM meta WHERE key = ?", key).fetchone()
        if row is None:
            return None
        segment, offset, *known = row[0].split()
        return Position(int(segment), int(offset)) if known == run.split() else Position(0, 0)

    def write(self, pages: Sequence[Visit], spool: str | None, position: Position | None) -> None:
        self._samples.renew()
        self._scheduling.plan(wall())
        self._scheduling.note(pages)
        batch = self._batch(pages)
        for page in pages:
            match page:
                case Gone():
                    batch.gone(page)
                case Unchanged():
                    batch.unchanged(page)
                case Prepared():
                    batch.put(page)
        batch.apply()
        self._scheduling.write(pages)
        self._anchors.merge()
        if spool is not None and position is not None:
            name, _, run = spool.partition("-")
            at = f"{position.segment} {position.offset} {run}".rstrip()
            self._base.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"spool:{name}", at))
        if len(self._hosts) > _HOSTS:
            self._hosts.clear()

    def due(self, ask: DueAsk) -> list[DuePage]:
        """As `Writer.due`."""
        return due_pages(self._base, ask, wall())

    def _batch(self, pages: Sequence[Visit] = ()) -> Batch:
        now = timestamp(wall())
        return Batch(
            *(self._base, self._index, self._hosts, self._samples, self._anchors),
            now,
            pages,
            skip_near=self._skip_near,
        )

    def tend(self) -> bool:
        """Merge texts of links, or index some pages again that links found later have texts for.

        Returns whether more is left.
        """
        if self._anchors.is_done:
            return False
        if self._anchors.settle():
            return True
        batch = self._batch()
        brought = 0
        targets = list(self._anchors.take(_LOOKS))
        for number, target in enumerate(targets, 1):
            brought += batch.bring_in(target)
            if brought >= _TENDED:
                self._anchors.note(targets[number:])
                break
        batch.apply()
        return not self._anchors.is_done
