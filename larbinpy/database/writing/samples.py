"""A page of each host, by which the others are compressed.

Menus, footers and headers are the same on most pages of a site. With those of another page at hand,
what a page has beside its main text takes half the room, or less. The sample of a host never
changes, as its pages cannot be read without it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from larbinpy.database.prepared import Packed
from larbinpy.database.records import LONGEST_SAMPLE, unpacked, unpacked_sample
from larbinpy.database.writing.tables import Tables

#: Bytes of a page that is worth being a sample.
_LEAST = 1000
#: Samples that are kept in memory.
_KEPT = 2000
#: The key of `meta` that counts the times when samples were removed.
_REMOVALS = "samples"


class Samples:
    """The samples of one database; `base` has to be in a transaction.

    After a transaction that failed, make a new one.
    """

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._known: dict[int, bytes] = {}
        self._removals = 0

    def renew(self) -> None:
        """Forget what is in memory if another process has removed samples."""
        removals = _removals(self._base)
        if removals != self._removals:
            self._known.clear()
            self._removals = removals

    def packed(self, more: bytes, host: int, key: int) -> Packed:
        """Compress `more` of the page `key`, which is on `host`."""
        return Packed.of_bytes(more, self._sample(host, key))

    def _sample(self, host: int, key: int) -> bytes:
        """The sample of a host; it is made when a second page comes. b"" before."""
        sample = self._known.get(host)
        if sample is None:
            sample = self._stored(host) or self._made(host, key)
            if sample:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[host] = sample
        return sample

    def _stored(self, host: int) -> bytes:
        row = self._base.execute("SELECT sample, sample_size FROM host WHERE id = ?", (host,))
        try:
            return unpacked_sample(*row.fetchone())
        except ValueError:
            # Pages that need it are lost already: let there be another one.
            return b""

    def _made(self, host: int, key: int) -> bytes:
        """Make the latest page beside `key` the sample, if it is long enough."""
        row = self._base.execute(
            "SELECT page.key, more, more_size FROM page JOIN content ON content.page = page.id"
            " WHERE host = ? AND page.key <> ? ORDER BY page.id DESC LIMIT 1",
            (host, key),
        ).fetchone()
        if row is None or row[2] < _LEAST:
            return b""
        other, *more = row
        try:
            sample = unpacked(*more)[:LONGEST_SAMPLE]
        except ValueError:
            return b""
        self._base.execute(
            "UPDATE host SET sample = ?, sample_size = ?, sample_of = ? WHERE id = ?",
            (*Packed.of_bytes(sample), other, host),
        )
        return sample


def forget_deleted_samples(base: Tables) -> int:
    """Remove samples of deleted pages, and return their number; other pages do without them."""
    hosts = base.execute(
        "SELECT id, sample, sample_size FROM host WHERE sample_of IS NOT NULL"
        " AND sample_of NOT IN (SELECT key FROM page)"
    ).fetchall()
    for host, *packed in hosts:
        pages = base.execute("SELECT id FROM page WHERE host = ?", (host,)).fetchall()
        for (page,) in pages:
            row = base.execute("SELECT more, more_size FROM content WHERE page = ?", (page,))
            for more in row.fetchall():
                with suppress(ValueError):  # damaged ones stay so
                    alone = _without(more, packed)
                    base.execute("UPDATE content SET more = ? WHERE page = ?", (alone.data, page))
        base.execute(
            "UPDATE host SET sample = NULL, sample_size = NULL, sample_of = NULL WHERE id = ?",
            (host,),
        )
    if hosts:
        removals = _removals(base) + 1
        base.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_REMOVALS, removals))
    return len(hosts)


def _removals(base: Tables) -> int:
    row = base.execute("SELECT value FROM meta WHERE key = ?", (_REMOVALS,)).fetchone()
    return int(row[0]) if row else 0


def _without(more: tuple[bytes | None, int | None], sample: Sequence[Any]) -> Packed:
    """Compress what `more` has again, without the sample."""
    return Packed.of_bytes(unpacked(*more, unpacked_sample(*sample)))
