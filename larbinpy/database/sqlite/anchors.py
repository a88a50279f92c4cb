"""Texts of links, by the page they lead to.

Targets are hashes, so that each new text would change another block of the table. Texts stay in
memory (and in the table `fresh`, in the order of their arrival) until the next turn of their slice
of the targets: then they are sorted, and many of them share a block.
"""

import sqlite3
from collections.abc import Iterable, Iterator

from larbinpy.database.prepared import Anchor

#: Texts that are kept for one target, and the characters of one text.
MOST = 16
LONGEST = 120
#: Slices of the targets; each transaction merges one.
_SLICES = 16
_SHIFT = 64 - 4
#: Texts in memory above which a transaction merges more than one slice.
_CROWDED = 200_000
#: Targets with new texts that are remembered until `take`. Beyond, all pages are looked at.
_MOST_LATE = 100_000


class Anchors:
    """The table `anchor` of one database; `base` has to be in a transaction.

    After a transaction that failed, make a new one: this one counts on what was rolled back.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._slices: list[dict[int, list[str]]] = [{} for _ in range(_SLICES)]
        self._count = 0
        self._turn = 0
        #: Highest rows of `fresh` after the latest turns.
        self._rows: list[int] = []
        self._last = 0
        self._late: dict[int, None] = {}
        #: All pages up to this row have been looked at; None: no need to.
        self._swept: int | None = None
        for row, target, text in base.execute("SELECT id, target, text FROM fresh ORDER BY id"):
            self._remember(target, text)
            self._last = row
        if base.execute("SELECT 1 FROM meta WHERE key = 'late'").fetchone():
            self._swept = 0

    def known(self, target: int) -> list[str]:
        """The texts of links to a page, at most `MOST`."""
        rows = self._base.execute(
            "SELECT text FROM anchor WHERE target = ? LIMIT ?", (target, MOST)
        )
        texts = dict.fromkeys(text for (text,) in rows)
        texts.update(dict.fromkeys(self._slices[target >> _SHIFT].get(target, ())))
        return list(texts)[:MOST]

    def add(self, anchors: Iterable[Anchor]) -> None:
        """Take in the texts of the links of a page."""
        new = []
        for target, text in anchors:
            if len(text) > LONGEST:
                text = text[:LONGEST]
            if self._remember(target, text):
                self._last += 1
                new.append((self._last, target, text))
        self._base.executemany("INSERT INTO fresh VALUES (?, ?, ?)", new)

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
        """Move the texts of one slice into the table, or of more if there are many."""
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
            self._base.execute("DELETE FROM fresh WHERE id <= ?", (self._rows.pop(0),))

    def _insert(self, texts: dict[int, list[str]]) -> None:
        before = self._base.total_changes
        self._base.executemany(
            "INSERT OR IGNORE INTO anchor SELECT ?1, ?2"
            f" WHERE (SELECT count(*) FROM anchor WHERE target = ?1) < {MOST}",
            [(target, text) for target in sorted(texts) for text in texts[target]],
        )
        if self._base.total_changes > before:
            self.note(texts)

    def note(self, targets: Iterable[int]) -> None:
        """Have the pages of these targets looked at."""
        if self._swept is None and not self._late:
            self._base.execute("INSERT OR REPLACE INTO meta VALUES ('late', 1)")
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
            self._base.execute("DELETE FROM fresh")
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
            self._base.execute("DELETE FROM meta WHERE key = 'late'")

    @property
    def is_done(self) -> bool:
        """Whether no page lacks texts."""
        return not self._late and self._swept is None and not self._count
