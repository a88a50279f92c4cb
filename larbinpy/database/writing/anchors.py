"""Texts of links, by the page they lead to.

Targets are hashes, so that each new text would change another block of the table. Texts stay in
memory (and in the table `fresh`, in the order of their arrival) until the next turn of their slice
of the targets: then they are sorted, and many of them share a block.

Several processes may write one database in turns. Each has a seat, a number from 0: the rows of
`fresh` and the row `late` of `meta` are those of a seat, and so is what a process has in memory.
"""

from collections.abc import Iterable, Iterator

from larbinpy.database.base import Tables
from larbinpy.database.preparation import Anchor

#: Texts that are kept for one target, and the characters of one text.
MOST = 16
LONGEST = 120
#: Slices of the targets; each transaction merges one.
_SLICES = 16
_SHIFT = 64 - 4
#: Texts in memory above which a transaction merges more than one slice.
_CROWDED = 200_000
#: Texts that the table holds at most, for each page of the database and in all. Beyond, texts of
#: links to URLs that are no pages of it are removed.
A_PAGE, AT_LEAST = 8, 100_000
#: Ranges of the targets that are looked through for such texts.
_RANGES = 1 << 12
#: Targets whose texts are looked up by one statement.
_ASKED = 500
#: The rows of a seat in `fresh`, as a power of two.
_SEAT = 40
#: Targets with new texts that are remembered until `take`. Beyond, all pages are looked at.
_MOST_LATE = 100_000


class Anchors:
    """The table `anchor` of one database; `base` has to be in a transaction.

    After a transaction that failed, make a new one: this one counts on what was rolled back.
    """

    def __init__(
        self, base: Tables, seat: int = 0, *, a_page: int = A_PAGE, least: int = AT_LEAST
    ) -> None:
        self._base = base
        self._a_page, self._least = a_page, least
        self._slices: list[dict[int, list[str]]] = [{} for _ in range(_SLICES)]
        self._count = 0
        self._turn = 0
        # Rows of the table, as of the last turn of a slice.
        self._total = 0
        #: The table may grow to this size before texts are removed.
        self._room = 0
        self._range = self._removed = 0
        #: Highest rows of `fresh` after the latest turns.
        self._rows: list[int] = []
        self._first = self._last = seat << _SEAT
        #: Texts that are not in `fresh` yet.
        self._new_rows: list[tuple[int, int, str]] = []
        self._late: dict[int, None] = {}
        #: All pages up to this row have been looked at; None: no need to.
        self._swept: int | None = None
        #: The database says that pages may lack texts.
        self._noted = False
        rows = base.execute(
            "SELECT id, target, text FROM fresh WHERE id BETWEEN ? AND ? ORDER BY id",
            (self._first, self._first + (1 << _SEAT) - 1),
        )
        for row, target, text in rows:
            self._remember(target, text)
            self._last = row
        self._late_key = f"late:{seat}" if seat else "late"
        if base.execute("SELECT 1 FROM meta WHERE key = ?", (self._late_key,)).fetchone():
            self._swept = 0
            self._noted = True

    def known(self, target: int, *, is_stored: bool = True) -> list[str]:
        """The texts of links to a page, at most `MOST`; not `is_stored`: the table has none."""
        texts: dict[str, None] = {}
        if is_stored:
            rows = self._base.execute(
                "SELECT text FROM anchor WHERE target = ? LIMIT ?", (target, MOST)
            )
            texts.update(dict.fromkeys(text for (text,) in rows))
        texts.update(dict.fromkeys(self._slices[target >> _SHIFT].get(target, ())))
        return list(texts)[:MOST]

    def add(self, anchors: Iterable[Anchor]) -> None:
        """Take in the texts of the links of a page."""
        for target, text in anchors:
            if len(text) > LONGEST:
                text = text[:LONGEST]
            if self._remember(target, text):
                self._last += 1
                self._new_rows.append((self._last, target, text))

    def _remember(self, target: int, text: str) -> bool:
        targets = self._slices[target >> _SHIFT]
        texts = targets.get(target)
        if texts is None:
            targets[target] = [text]
        elif text in texts or len(texts) >= MOST:
            return False
        else:
            texts.append(text)
        self._count += 1
        return True

    def merge(self) -> None:
        """Write what was added, and move the texts of one slice into the table, or of more if
        there are many."""
        self._base.executemany("INSERT INTO fresh VALUES (?, ?, ?)", self._new_rows)
        self._new_rows.clear()
        while True:
            self._merge_slice()
            if self._count < _CROWDED:
                return

    def _merge_slice(self) -> None:
        # A negative index is a slice, too: the first bit of a target is its sign.
        number = self._turn % _SLICES - _SLICES // 2
        self._turn += 1
        texts, self._slices[number] = self._slices[number], {}
        if texts:
            self._count -= sum(map(len, texts.values()))
            self._insert(texts)
        self._rows.append(self._last)
        if len(self._rows) == _SLICES:
            # Each slice had its turn since.
            self._forget(self._rows.pop(0))

    def _forget(self, last: int) -> None:
        """Remove the rows of this seat in `fresh`, up to `last`."""
        self._base.execute("DELETE FROM fresh WHERE id BETWEEN ? AND ?", (self._first, last))

    def _insert(self, texts: dict[int, list[str]]) -> None:
        row = self._base.execute("SELECT value FROM meta WHERE key = 'anchors'").fetchone()
        self._total = int(row[0]) if row else 0
        added = 0
        targets = sorted(texts)
        for start in range(0, len(targets), _ASKED):
            new = self._new(targets[start : start + _ASKED], texts)
            self._base.executemany("INSERT OR IGNORE INTO anchor VALUES (?, ?)", new)
            added += len(new)
        self._total += added
        if self._total > self._room:
            self._make_room(added)
        self._base.execute("INSERT OR REPLACE INTO meta VALUES ('anchors', ?)", (self._total,))
        self.note(texts)

    def _new(self, targets: list[int], texts: dict[int, list[str]]) -> list[tuple[int, str]]:
        """The texts that the table lacks, as far as it has room for them."""
        known: dict[int, set[str]] = {}
        for target, text in self._base.execute(
            f"SELECT target, text FROM anchor WHERE target IN ({', '.join('?' * len(targets))})",
            targets,
        ):
            known.setdefault(target, set()).add(text)
        new: list[tuple[int, str]] = []
        for target in targets:
            old = known.get(target, set())
            others = [text for text in texts[target] if text not in old]
            new += ((target, text) for text in others[: max(0, MOST - len(old))])
        return new

    def _make_room(self, added: int) -> None:
        """Remove texts of links to URLs that are no pages: look at twice as many as were added."""
        (pages,) = self._base.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()
        self._room = max(self._room, self._least, self._a_page * pages)
        width = (1 << 64) // _RANGES
        for _ in range(2 * added * _RANGES // self._total + 1):
            if self._total <= self._room:
                return
            start = self._range * width - (1 << 63)
            removed = self._base.execute(
                "DELETE FROM anchor WHERE target BETWEEN ? AND ?"
                " AND NOT EXISTS (SELECT 1 FROM page WHERE key = anchor.target)",
                (start, start + width - 1),
            ).rowcount
            self._total -= removed
            self._removed += removed
            self._range = (self._range + 1) % _RANGES
            if not self._range:
                if self._removed < self._total // 8:
                    # Most are of pages: look through them again when there are more.
                    self._room = self._total + self._total // 8
                self._removed = 0

    def note(self, targets: Iterable[int]) -> None:
        """Have the pages of these targets looked at."""
        if not self._noted:
            self._base.execute("INSERT OR REPLACE INTO meta VALUES (?, 1)", (self._late_key,))
            self._noted = True
        self._late.update(dict.fromkeys(targets))
        if len(self._late) > _MOST_LATE:
            self._late.clear()
            self._swept = 0

    def settle(self) -> bool:
        """Merge a slice when no pages wait. Returns whether texts are left to merge."""
        if self._count:
            self._merge_slice()
            return True
        if self._rows:
            self._forget(self._last)
            self._rows.clear()
        return False

    def take(self, most: int) -> Iterator[int]:
        """Yield at most `most` targets whose pages may lack texts; no more if there are none."""
        if self._late:
            for _ in range(min(most, len(self._late))):
                yield self._late.popitem()[0]
        elif self._swept is not None:
            rows = self._base.execute(
                "SELECT id, key FROM page WHERE id > ? ORDER BY id LIMIT ?", (self._swept, most)
            ).fetchall()
            self._swept = rows[-1][0] if rows else None
            yield from (key for _, key in rows)
        else:
            self._base.execute("DELETE FROM meta WHERE key = ?", (self._late_key,))
            self._noted = False

    @property
    def is_done(self) -> bool:
        """Whether no page lacks texts."""
        return not self._noted and not self._count


def unfinished_seats(base: Tables) -> list[int]:
    """The seats of processes that write, or that have left work to another one."""
    seats = {int(seat) for (seat,) in base.execute(f"SELECT DISTINCT id >> {_SEAT} FROM fresh")}
    rows = base.execute("SELECT key FROM meta WHERE key = 'late' OR key LIKE 'late:%'")
    seats.update(int(key.partition(":")[2] or 0) for (key,) in rows)
    return sorted(seats)
