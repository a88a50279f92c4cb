"""The store and seen on top of SQLite and of LMDB, each in the fastest form found.

`Queues` and the two `...Seen` classes do the work of larbinpy's `Store` and `Seen`. The line of a
URL is written once, under an increasing number. A URL that is set aside gets an entry (site,
number) in a second table. A URL that left its queue stays in the database until it is decided. A
checkpoint saves the numbers of these URLs, so that the next run takes them first.

Everything between two checkpoints is one transaction, and rows are written and deleted in
batches of `BATCH`. Priorities are left out, because each would only be a second queue.

Other forms of seen are slower or larger. In SQLite, with a million fingerprints: INSERT OR
IGNORE for one at a time (1.5 times the CPU), SELECT ... IN before the INSERT (1.3 times), and a
table with rowids, which costs 1.2 times as much at ten million. A log that is only emptied at
every sixth checkpoint (synchronous = FULL) writes 40 % less at four million, and takes three times
the disk. In LMDB, a key for each fingerprint takes 2.3 times the disk; as values of one key they
lie packed.
"""

import sqlite3
import struct
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import lmdb

from larbinpy.storage.store import encode
from larbinpy.url import Url

#: Rows written or read at once, as many as the lines of a block of the store.
BATCH = 1000
#: URLs of a site read at once.
_SITE_BATCH = 50
#: Size of SQLite's cache (kB); the default is 2,000.
_CACHE = 256_000
#: Bytes of address space for LMDB's map; they are not memory.
_MAP_SIZE = 1 << 36
#: SQLite has signed integers.
_HALF = 1 << 63
#: Fingerprints in one statement.
_MOST_FINGERPRINTS = 100

Row = tuple[int, str]


class Rows(Protocol):
    """The tables of `Queues`. Changes are one transaction until `commit`, which is durable."""

    def append(self, rows: list[Row]) -> None:
        """Add lines; their numbers are greater than all others."""

    def after(self, number: int) -> list[Row]:
        """The first rows after `number`, at most `BATCH`."""

    def lines(self, numbers: Iterable[int]) -> list[Row]: ...

    def remove(self, numbers: list[int]) -> None:
        """Delete lines; `numbers` are sorted."""

    def set_aside(self, entries: list[tuple[str, int]]) -> None: ...

    def aside(self, site: str) -> list[Row]:
        """The first rows of `site` that were set aside."""

    def come_back(self, entries: list[tuple[str, int]]) -> None:
        """Delete the entries of each site up to a number."""

    def sites(self) -> Iterator[tuple[str, int]]:
        """Each site with entries, and their number."""

    def commit(self, taken: bytes) -> Iterator[None]:
        """Save `taken` and make everything durable; yields between turns."""

    def taken(self) -> bytes: ...

    def last(self) -> int:
        """The greatest number; 0 if there is no row."""

    def close(self) -> None: ...


class Queues:
    """The part of a `Store` that `Sequencer` uses, on top of `Rows`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        # Numbers of URLs that left the FIFO or the queue of their site, and are owed.
        self._owed: set[int] = set()
        self._left: list[int] = []
        self.ordinary = _Fifo(rows, self._owed)
        self.ordinary_wait = _Aside(rows, self._owed)
        # No URL has priority.
        self.priority = SimpleNamespace(length=0)
        self.priority_wait = SimpleNamespace(sites=())
        if saved := rows.taken():
            cursor, *owed = array("Q", saved)
            self.ordinary.load(cursor, max(cursor, rows.last()), rows.lines(owed))
            self.ordinary_wait.load()

    def __len__(self) -> int:
        return self.ordinary.length + len(self.ordinary_wait)

    def put(self, url: Url) -> None:
        self.ordinary.put(encode(url))

    def spill(self) -> None:
        self.ordinary.spill()

    def has_waiting(self, site: str) -> bool:
        return site in self.ordinary_wait.sites

    def waiting_sites(self) -> Iterator[str]:
        yield from self.ordinary_wait.sites

    def leave(self, number: int) -> None:
        self._owed.discard(number)
        self._left.append(number)
        if len(self._left) >= BATCH:
            self._remove()

    def _remove(self) -> None:
        self._rows.remove(sorted(self._left))
        self._left.clear()

    def save(self) -> Iterator[None]:
        """Make a checkpoint; yields between turns."""
        self.ordinary.write()
        self.ordinary_wait.write()
        self._remove()
        yield
        taken = array("Q", [self.ordinary.cursor, *sorted(self._owed)]).tobytes()
        yield from self._rows.commit(taken)

    def close(self) -> None:
        self._rows.close()


class _Fifo:
    def __init__(self, rows: Rows, owed: set[int]) -> None:
        self._rows = rows
        self._owed = owed
        self._head: deque[Row] = deque()
        self._read = 0
        self._tail: list[Row] = []
        self._last = 0
        self.length = 0

    @property
    def cursor(self) -> int:
        """The number up to which all URLs have left."""
        return self._head[0][0] - 1 if self._head else self._read

    def load(self, cursor: int, last: int, owed: list[Row]) -> None:
        # Numbers after the cursor have no gaps.
        self._head.extend(owed)
        self._read, self._last = cursor, last
        self.length = last - cursor + len(owed)

    def put(self, line: str) -> None:
        self._last += 1
        self._tail.append((self._last, line))
        self.length += 1

    def spill(self) -> None:
        if len(self._tail) >= BATCH:
            self.write()

    def write(self) -> None:
        self._rows.append(self._tail)
        self._tail = []

    def take(self) -> Row | None:
        if not self._head:
            if self._read + len(self._tail) == self._last:
                self.write()
            self._head.extend(self._rows.after(self._read))
            if not self._head:
                return None
            self._read = self._head[-1][0]
        self.length -= 1
        row = self._head.popleft()
        self._owed.add(row[0])
        return row


class _Aside:
    def __init__(self, rows: Rows, owed: set[int]) -> None:
        self._rows = rows
        self._owed = owed
        #: Number of URLs of each site.
        self.sites: dict[str, int] = {}
        self._heads: dict[str, list[Row]] = {}
        self._new: list[tuple[str, int]] = []
        # Site -> the last number that came back while its entry still exists.
        self._back: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(self.sites.values())

    def load(self) -> None:
        self.sites = dict(self._rows.sites())

    def put(self, site: str, number: int, line: str) -> None:
        self._owed.discard(number)
        self._new.append((site, number))
        self.sites[site] = self.sites.get(site, 0) + 1
        if site in self._heads and number < self._heads[site][0][0]:
            # It was owed before a restart, and comes before the URLs that were read.
            del self._heads[site]
        if len(self._new) >= BATCH:
            self.write()

    def write(self) -> None:
        # In this order, because a new entry may precede one that has come back; see `put`.
        self._rows.come_back(sorted(self._back.items()))
        self._back.clear()
        self._rows.set_aside(sorted(self._new))
        self._new.clear()

    def take(self, site: str) -> Row:
        head = self._heads.get(site)
        if not head:
            self.write()
            head = self._heads[site] = self._rows.aside(site)[::-1]
        row = head.pop()
        if not head:
            del self._heads[site]
        self._owed.add(row[0])
        self._back[site] = row[0]
        self.sites[site] -= 1
        if not self.sites[site]:
            del self.sites[site]
        return row


# -- SQLite


def _connect(path: Path, *tables: str) -> sqlite3.Connection:
    """Open a database with a write-ahead log that `_commit` empties, and begin a transaction."""
    base = sqlite3.connect(path, isolation_level=None)
    for setting in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "wal_autocheckpoint = 0",
        f"cache_size = -{_CACHE}",
    ):
        base.execute(f"PRAGMA {setting}")
    for table in tables:
        base.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    base.execute("BEGIN")
    return base


def _commit(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("COMMIT")
    yield
    # Calls fsync for the log and for the database; with NORMAL, COMMIT does not.
    base.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    base.execute("BEGIN")


class SqliteRows:
    def __init__(self, folder: Path) -> None:
        self._base = _connect(
            folder / "queues.db",
            "urls (number INTEGER PRIMARY KEY, line TEXT)",
            "aside (site TEXT, number INTEGER, PRIMARY KEY (site, number)) WITHOUT ROWID",
            "taken (name INTEGER PRIMARY KEY, numbers BLOB)",
        )

    def append(self, rows: list[Row]) -> None:
        self._base.executemany("INSERT INTO urls VALUES (?, ?)", rows)

    def after(self, number: int) -> list[Row]:
        return self._base.execute(
            "SELECT number, line FROM urls WHERE number > ? ORDER BY number LIMIT ?",
            (number, BATCH),
        ).fetchall()

    def lines(self, numbers: Iterable[int]) -> list[Row]:
        query = "SELECT number, line FROM urls WHERE number = ?"
        return [self._base.execute(query, (number,)).fetchone() for number in numbers]

    def remove(self, numbers: list[int]) -> None:
        self._base.executemany("DELETE FROM urls WHERE number = ?", zip(numbers, strict=True))

    def set_aside(self, entries: list[tuple[str, int]]) -> None:
        self._base.executemany("INSERT INTO aside VALUES (?, ?)", entries)

    def aside(self, site: str) -> list[Row]:
        return self._base.execute(
            "SELECT number, line FROM aside JOIN urls USING (number)"
            " WHERE site = ? ORDER BY number LIMIT ?",
            (site, _SITE_BATCH),
        ).fetchall()

    def come_back(self, entries: list[tuple[str, int]]) -> None:
        self._base.executemany("DELETE FROM aside WHERE site = ? AND number <= ?", entries)

    def sites(self) -> Iterator[tuple[str, int]]:
        yield from self._base.execute("SELECT site, count(*) FROM aside GROUP BY site")

    def commit(self, taken: bytes) -> Iterator[None]:
        self._base.execute("INSERT OR REPLACE INTO taken VALUES (0, ?)", (taken,))
        yield from _commit(self._base)

    def taken(self) -> bytes:
        row = self._base.execute("SELECT numbers FROM taken").fetchone()
        return row[0] if row else b""

    def last(self) -> int:
        number: int | None = self._base.execute("SELECT max(number) FROM urls").fetchone()[0]
        return number or 0

    def close(self) -> None:
        self._base.close()


class SqliteSeen:
    def __init__(self, folder: Path) -> None:
        self._base = _connect(folder / "seen.db", "seen (f INTEGER PRIMARY KEY) WITHOUT ROWID")

    def __len__(self) -> int:
        count: int = self._base.execute("SELECT count(*) FROM seen").fetchone()[0]
        return count

    def add(self, batch: list[int]) -> list[bool]:
        """Whether each fingerprint of `batch`, which has no duplicates, was new."""
        fresh: list[bool] = []
        for start in range(0, len(batch), _MOST_FINGERPRINTS):
            some = [f - _HALF for f in batch[start : start + _MOST_FINGERPRINTS]]
            values = ",".join(["(?)"] * len(some))
            rows = self._base.execute(
                f"INSERT OR IGNORE INTO seen VALUES {values} RETURNING f", some
            )
            added = {f for (f,) in rows}
            fresh += [f in added for f in some]
        return fresh

    def save(self) -> Iterator[None]:
        yield from _commit(self._base)

    def close(self) -> None:
        self._base.close()


# -- LMDB

_number = struct.Struct("@Q")


class LmdbRows:
    """Numbers are keys of lines. The entries of a site are packed values of one key."""

    def __init__(self, folder: Path) -> None:
        self._base = lmdb.open(str(folder / "queues"), map_size=_MAP_SIZE, max_dbs=3)
        self._urls = self._base.open_db(b"urls", integerkey=True)
        self._aside = self._base.open_db(b"aside", dupsort=True, integerdup=True, dupfixed=True)
        self._taken = self._base.open_db(b"taken")
        self._transaction = self._base.begin(write=True)

    def append(self, rows: list[Row]) -> None:
        items = [(_number.pack(number), line.encode()) for number, line in rows]
        self._transaction.cursor(self._urls).putmulti(items, append=True)

    def after(self, number: int) -> list[Row]:
        cursor = self._transaction.cursor(self._urls)
        found: list[Row] = []
        if cursor.set_range(_number.pack(number + 1)):
            for key, line in cursor:
                found.append((_number.unpack(key)[0], line.decode()))
                if len(found) == BATCH:
                    break
        return found

    def lines(self, numbers: Iterable[int]) -> list[Row]:
        return [(number, self._line(_number.pack(number))) for number in numbers]

    def _line(self, key: bytes) -> str:
        line = self._transaction.get(key, db=self._urls)
        assert line is not None
        return bytes(line).decode()

    def remove(self, numbers: list[int]) -> None:
        delete = self._transaction.delete
        for number in numbers:
            delete(_number.pack(number), db=self._urls)

    def set_aside(self, entries: list[tuple[str, int]]) -> None:
        items = [(site.encode(), _number.pack(number)) for site, number in entries]
        self._transaction.cursor(self._aside).putmulti(items)

    def aside(self, site: str) -> list[Row]:
        cursor = self._transaction.cursor(self._aside)
        keys: list[bytes] = []
        if cursor.set_key(site.encode()):
            for key in cursor.iternext_dup():
                keys.append(bytes(key))
                if len(keys) == _SITE_BATCH:
                    break
        return [(_number.unpack(key)[0], self._line(key)) for key in keys]

    def come_back(self, entries: list[tuple[str, int]]) -> None:
        cursor = self._transaction.cursor(self._aside)
        for site, number in entries:
            key = site.encode()
            # After a deletion the cursor is at the next entry, possibly of another site.
            going = cursor.set_key(key)
            while going and cursor.key() == key and _number.unpack(cursor.value())[0] <= number:
                going = cursor.delete()

    def sites(self) -> Iterator[tuple[str, int]]:
        cursor = self._transaction.cursor(self._aside)
        for key in cursor.iternext_nodup(keys=True, values=False):
            yield bytes(key).decode(), cursor.count()

    def commit(self, taken: bytes) -> Iterator[None]:
        self._transaction.put(b"taken", taken, db=self._taken)
        self._transaction.commit()
        self._transaction = self._base.begin(write=True)
        yield

    def taken(self) -> bytes:
        return bytes(self._transaction.get(b"taken", b"", db=self._taken))

    def last(self) -> int:
        cursor = self._transaction.cursor(self._urls)
        return _number.unpack(cursor.key())[0] if cursor.last() else 0

    def close(self) -> None:
        self._transaction.abort()
        self._base.close()


class LmdbSeen:
    _KEY = b"seen"

    def __init__(self, folder: Path) -> None:
        self._base = lmdb.open(str(folder / "seen"), map_size=_MAP_SIZE, max_dbs=1, readahead=False)
        self._seen = self._base.open_db(b"seen", dupsort=True, integerdup=True, dupfixed=True)
        self._transaction = self._base.begin(self._seen, write=True)

    def __len__(self) -> int:
        count: int = self._transaction.stat(self._seen)["entries"]
        return count

    def add(self, batch: list[int]) -> list[bool]:
        data, size = array("Q", batch).tobytes(), _number.size
        put, key = self._transaction.cursor().put, self._KEY
        return [put(key, data[at : at + size], dupdata=False) for at in range(0, len(data), size)]

    def save(self) -> Iterator[None]:
        self._transaction.commit()
        self._transaction = self._base.begin(self._seen, write=True)
        yield

    def close(self) -> None:
        self._transaction.abort()
        self._base.close()
