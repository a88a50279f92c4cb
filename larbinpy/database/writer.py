"""Writes pages into a database of any kind, with the position of the spool that they come from."""

from collections.abc import Sequence

from larbinpy.database.base import Opened, Stored
from larbinpy.database.dialect import dialect
from larbinpy.database.preparation import (
    Gone,
    Packed,
    Prepared,
    Unchanged,
    Visit,
    about,
    anchors,
    dumped,
    packed_body,
    packed_markdown,
    page_tokens,
    text_hash,
)
from larbinpy.database.revisit.plan import Schedule
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.database.writing.anchors import Anchors
from larbinpy.database.writing.batch import Batch, Samples
from larbinpy.database.writing.scheduling import Scheduling, due_pages
from larbinpy.loop.clock import wall
from larbinpy.page import timestamp
from larbinpy.storage.spool import Position

__all__ = ["Visit", "Writer", "copied"]

#: Names of hosts whose numbers are remembered.
_HOSTS = 100_000
#: Targets that `tend` looks at in one piece, and pages that it indexes again: 50 ms.
_LOOKS, _TENDED = 250, 12


class Writer:
    """Writes pages into the database `where`, and makes it if there is none.

    Raises `DatabaseError`, `Unavailable` if another process writes to the file.
    """

    def __init__(
        self, where: str, schedule: Schedule | None = None, *, skip_near: bool = False
    ) -> None:
        """`schedule` says when pages are due to be visited again, by default with usual bounds.
        With `skip_near`, pages that are nearly copies of others are not in the index."""
        self._schedule = schedule or Schedule()
        self._skip_near = skip_near
        self._base = dialect(where).writing(where)
        self._filling: _Filling | None = None

    def position(self, spool: str) -> Position | None:
        """The end of the last page of the spool of this name; None if it has none of it.

        The name may be that of a spool and, after a "-", of a run: if the last page came in another
        run, the position is (0, 0).
        """
        name, _, run = spool.partition("-")
        with self._base.asked(spool) as opened:
            ask = "SELECT value FROM meta WHERE key = ?"
            row = opened.base.execute(ask, (f"spool:{name}",)).fetchone()
        if row is None:
            return None
        segment, offset, *known = row[0].split()
        return Position(int(segment), int(offset)) if known == run.split() else Position(0, 0)

    def write(
        self,
        pages: Sequence[Visit],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> list[str]:
        """Write `pages` and `position` in one transaction; return a line for each page that was
        not taken whole.

        A page replaces the one of its URL unless that was fetched later, though not in the future.
        With `durable`, all that was written is on the disk afterwards. Raises `Unavailable`;
        nothing is written.
        """
        with (
            self._base.fitted(pages) as (taken, cut),
            self._base.transaction(spool, durable=durable) as opened,
        ):
            self._filled(opened).write(taken, spool, position)
        return cut

    def due(self, ask: DueAsk) -> list[DuePage]:
        """Pages that are due to be visited again, in their order. Raises as `write`."""
        with self._base.asked() as opened:
            return due_pages(opened.base, ask, wall())

    def tend(self) -> bool:
        """Do a bounded piece of deferred work (anchor texts of pages that are indexed already).

        Returns whether more is left. Called when no pages wait, and at the end of a crawl.
        """
        with self._base.transaction() as opened:
            is_more = self._filled(opened).tend()
        return is_more or self._base.tend()

    def close(self) -> None:
        self._base.close()

    def _filled(self, opened: Opened) -> "_Filling":
        if self._filling is None or self._filling.opened is not opened:
            self._filling = _Filling(opened, self._schedule, skip_near=self._skip_near)
        return self._filling


class _Filling:
    """The work of a `Writer` through one connection, within its transactions."""

    def __init__(self, opened: Opened, schedule: Schedule, *, skip_near: bool) -> None:
        self.opened = opened
        self._base, self._index = opened.base, opened.index
        self._scheduling = Scheduling(self._base, schedule)
        self._hosts: dict[str, int] = {}
        self._samples = Samples(self._base)
        self._anchors = Anchors(self._base, opened.seat)
        self._skip_near = skip_near

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


def copied(page: Stored, body: bytes | None) -> Prepared:
    """A page of another database, ready to be written into this one."""
    columns, more = page.columns, dict(page.more)
    links = more.get("links") or []
    lang = columns["lang"]
    tokens = page_tokens(
        *(columns["url"], columns["title"] or "", more.get("headings") or (), page.text),
        *(more.get("rest") or "", lang, about(columns["summary"] or "", more.get("images") or ())),
    )
    if markdown := more.get("markdown"):
        more["markdown"] = packed_markdown(markdown, page.text, links)
    return Prepared(
        url=columns["url"],
        fetched=columns["fetched"],
        columns=columns,
        tokens=tokens,
        text=Packed.of(page.text),
        more=dumped(more).encode("utf-8", "replace"),
        anchors=anchors(columns["url"], links),
        body=None if body is None else packed_body(body),
        text_hash=text_hash(page.text),
    )
