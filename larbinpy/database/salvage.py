"""Takes what can be read out of a damaged database file into a new one.

SQLite reads a table from either end until it comes to a damaged block. Then each row between is
asked for by its number, and if need be each of its columns: a damaged block costs its own rows.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import zstandard

from larbinpy.database.base import (
    DatabaseError,
    Progress,
    Salvaged,
    is_server,
    parts_of,
    unpacked_sample,
    unpacked_text,
)
from larbinpy.database.maintenance import rebuild
from larbinpy.database.preparation import Packed, dumped, target_of
from larbinpy.database.sqlite.file import Damaged, at_rest, can_write, connect, sqlite_errors
from larbinpy.storage.files import sync_folder

#: Numbers that are looked for beyond the last one that is known.
_FAR = 1000
#: Rows of a page in the table of changes, or numbers of rows to each that is in use: at most some.
_SEVERAL = 8
#: Rows with the same key; when there are more, blocks are in the table again and again.
_MOST_AGAIN = 100
#: Rows of one transaction.
_PIECE = 2000
#: The tables in the order in which they are copied, and the columns by which they are read.
_TABLES = {
    "host": "id",
    "page": "id",
    "content": "page",
    "body": "page",
    "change": "rowid",
    "difference": "page",
    "announced": "target",
    "anchor": "target",
    "fresh": "id",
}
#: Types by the declared ones: SQLite keeps anything in any column.
_TYPES: Mapping[str, Any] = {"TEXT": str, "INTEGER": int, "REAL": (int, float), "BLOB": bytes}
_LOST = Packed.of(dumped({"trouble": "lost in a damaged database"}))
_EMPTY = Packed.of("")

#: A row by the names of its columns.
_Row = dict[str, Any]


def salvage(old: str, new: str, progress: Progress) -> Salvaged:
    """Make the database `new` of what can be read in the damaged file `old`, which stays as it is.

    Raises `DatabaseError`, if nothing can be read; there is no `new` then.
    """
    for where in (old, new):
        if is_server(where):
            raise DatabaseError(f"{where}: --salvage is for files; a server has its own repairs")
    if os.path.lexists(new):
        raise DatabaseError(f"{new}: is there already; name a file that is not")
    part = f"{new}-salvage"
    resting = at_rest(Path(old)) if can_write(old) else nullcontext()
    with closing(_opened(old)) as source, resting:
        try:
            _remove(part)
            with closing(connect(part, write=True)) as base, sqlite_errors(part):
                found = _Salvage(source, base, progress).run()
            rebuild(part, progress)
            os.rename(part, new)
        finally:
            _remove(part)
    sync_folder(Path(new).absolute().parent)
    return found


def _remove(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _opened(path: str) -> sqlite3.Connection:
    try:
        base = connect(path, lenient=True)
    except Damaged as error:
        why = f"its first block is damaged ({error.why}), so that nothing can be read"
        raise DatabaseError(f"{path}: {why}; fill a new database") from None
    # Half a letter is no reason to lose a page.
    base.text_factory = lambda text: text.decode("utf-8", "replace")
    return base


class _Salvage:
    """The work of one salvage, from `old` to `new`."""

    def __init__(
        self, old: sqlite3.Connection, new: sqlite3.Connection, progress: Progress
    ) -> None:
        self._old = old
        self._new = new
        self._progress = progress
        # Numbers of hosts by their names.
        self._hosts: dict[str, int] = {}
        # Numbers of pages: by their keys, in the index of these; those of which something could be
        # read, and those that are taken.
        self._numbers: dict[int, int] = {}
        self._known: set[int] = set()
        self._pages: set[int] = set()
        self._cut: set[int] = set()
        self._last = 0

    def run(self) -> Salvaged:
        # Each page is in both indexes: what one has lost, the other knows.
        index = _rows(self._old, "page INDEXED BY sqlite_autoindex_page_1", "key", ("key", "id"))
        self._numbers.update((row["key"], row["id"]) for row in index)
        changes = _rows(self._old, "change INDEXED BY change_page", "page", ("page",))
        self._known.update(self._numbers.values())
        self._known.update(row["page"] for row in changes if isinstance(row["page"], int))
        for number, (table, key) in enumerate(_TABLES.items()):
            self._progress("reading tables", number, len(_TABLES))
            self._copy(table, key)
            if table == "host":
                self._hosts.update(self._new.execute("SELECT name, id FROM host"))
            if table == "page":
                self._pages = {page for (page,) in self._new.execute("SELECT id FROM page")}
        self._new.execute("BEGIN")
        self._complete()
        self._new.execute("COMMIT")
        lost = sum(0 < page <= self._last for page in self._known - self._pages)
        return Salvaged(len(self._pages), len(self._cut), lost)

    def _copy(self, table: str, key: str) -> None:
        """Copy what is sound of a table."""
        columns = self._new.execute(f"PRAGMA table_info({table})").fetchall()
        types = {name: _TYPES[kind] for _, name, kind, *_ in columns}
        if table == "change":
            # It has no other key, by which a row that is read twice is one.
            types["rowid"] = int
        marks = ", ".join(f":{name}" for name in types)
        insert = f"INSERT OR IGNORE INTO {table} ({', '.join(types)}) VALUES ({marks})"
        mends: dict[str, Callable[[_Row], _Row | None]] = {
            "host": self._host,
            "page": self._page,
            "content": self._content,
            "body": self._body,
        }
        mend = mends.get(table)
        # Most numbers are in use; one that is much larger is damaged.
        self._last = min(max(self._known, default=0), len(self._known) * _SEVERAL) + _FAR
        rows = _rows(self._old, table, key, list(types), self._keys(table))
        self._new.execute("BEGIN")
        for number, row in enumerate(rows, 1):
            typed = {
                name: value if isinstance(value, types[name]) else None
                for name, value in row.items()
            }
            if typed[key] is None:
                continue
            # Changes, and much else, tell of pages whose own rows are lost.
            if isinstance(page := typed.get("page"), int):
                self._known.add(page)
            mended = mend(typed) if mend is not None else typed
            if mended is not None:
                # Rows that break a rule of the tables are damaged.
                self._new.execute(insert, mended)
            if number % _PIECE == 0:
                self._new.execute("COMMIT")
                self._new.execute("BEGIN")
        self._new.execute("COMMIT")

    def _keys(self, table: str) -> Iterable[int]:
        """The values of its key that a table may have."""
        if _TABLES[table] != "target":
            return range(1, self._last * (_SEVERAL if table == "change" else 1))
        return (key for (key,) in self._new.execute("SELECT key FROM page"))

    def _host(self, row: _Row) -> _Row:
        try:
            unpacked_sample(row["sample"], row["sample_size"])
        except ValueError:
            row |= {"sample": None, "sample_size": None, "sample_of": None}
        return row

    def _page(self, row: _Row) -> _Row | None:
        if row["url"] is None or row["key"] != target_of(row["url"]):
            return None
        number: int = row["id"]
        if number in self._pages or number > self._last:
            # The number itself is damaged, or this row was read already.
            number = self._numbers.get(row["key"], number)
            if number in self._pages or number > self._last:
                return None
        self._pages.add(number)
        self._known.add(number)
        name = row["url"].split("/", 3)[2]
        if name not in self._hosts:
            made = self._new.execute("INSERT INTO host (name) VALUES (?)", (name,))
            self._hosts[name] = int(made.lastrowid or 0)
        return row | {"id": number, "host": self._hosts[name], "indexed": None}

    def _content(self, row: _Row) -> _Row | None:
        page = row["page"]
        if page not in self._pages:
            return None
        sample = self._new.execute(
            "SELECT sample, sample_size FROM page JOIN host ON host.id = host WHERE page.id = ?",
            (page,),
        ).fetchone()
        try:
            # What could not be read is None; of a page without text it is empty.
            unpacked_text(row["text"] if row["text"] is not None else b"?", row["text_size"])
        except ValueError:
            self._cut.add(page)
            row |= {"text": _EMPTY.data, "text_size": _EMPTY.size}
        try:
            parts_of(row["more"] if row["more"] is not None else b"?", row["more_size"], *sample)
        except ValueError:
            self._cut.add(page)
            row |= {"more": _LOST.data, "more_size": _LOST.size}
        return row

    def _body(self, row: _Row) -> _Row | None:
        try:
            zstandard.decompress(row["zstd"] or b"")
        except (zstandard.ZstdError, MemoryError):
            return None
        return row

    def _complete(self) -> None:
        """Make the tables fit each other."""
        for (page,) in self._new.execute(
            "SELECT id FROM page WHERE id NOT IN (SELECT page FROM content)"
        ).fetchall():
            self._cut.add(page)
            self._new.execute(
                "INSERT INTO content VALUES (?, NULL, ?, ?, ?, ?)", (page, *_EMPTY, *_LOST)
            )
        # A copy may have kept the text that its original has lost.
        self._new.executemany(
            "UPDATE page SET same_as = NULL WHERE same_as = ?", ((page,) for page in self._cut)
        )
        self._new.execute("UPDATE page SET same_as = NULL, near = NULL WHERE gone IS NOT NULL")
        self._new.execute(
            "UPDATE page SET near = NULL WHERE near NOT IN (SELECT id FROM page"
            " WHERE near IS NULL AND same_as IS NULL AND gone IS NULL)"
        )
        with suppress(sqlite3.Error):
            # How far spools of crawls are taken: they go on after that.
            for key, value in self._old.execute("SELECT key, value FROM meta"):
                if isinstance(key, str) and key.startswith("spool:") and isinstance(value, str):
                    self._new.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))


def _rows(
    base: sqlite3.Connection, table: str, key: str, names: Sequence[str], keys: Iterable[int] = ()
) -> Iterator[_Row]:
    """The columns `names` of the rows of a table that can be read, some of them twice.

    First those from either end to a damaged block, then, of `keys`, values of the column `key`,
    those that have not come.
    """
    asked = f"SELECT {key}, {', '.join(names)} FROM {table}"
    seen: set[int] = set()
    for order in ("ASC", "DESC"):
        again = 0
        with suppress(sqlite3.Error, MemoryError):
            for at, *values in base.execute(f"{asked} ORDER BY {key} {order}"):
                yield dict(zip(names, values, strict=True))
                again += at in seen
                if again > _MOST_AGAIN * (len(seen) + _FAR):
                    break
                seen.add(at)
            else:
                break
    for at in keys:
        if at in seen:
            continue
        try:
            for _, *values in base.execute(f"{asked} WHERE {key} = ?", (at,)).fetchall():
                yield dict(zip(names, values, strict=True))
        except (sqlite3.Error, MemoryError):
            yield from _in_parts(base, table, key, names, at)


def _in_parts(
    base: sqlite3.Connection, table: str, key: str, names: Sequence[str], at: int
) -> Iterator[_Row]:
    """A row with the columns that can be read, None for the others; nothing if there is no row."""
    row: _Row = dict.fromkeys(names)
    with suppress(sqlite3.Error, MemoryError):
        # Without its key no column can be read.
        found = base.execute(f"SELECT {key} FROM {table} WHERE {key} = ?", (at,)).fetchone()
        for name in names if found is not None else ():
            with suppress(sqlite3.Error, MemoryError):
                asked = base.execute(f"SELECT {name} FROM {table} WHERE {key} = ?", (at,))
                row[name] = asked.fetchone()[0]
    if row[key] is not None:
        yield row
