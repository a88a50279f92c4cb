"""An SQLite file whose changes are one transaction from commit to commit."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FACTS = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Database:
    """The SQLite file `path`, made if it is missing, with the tables of `schema`, and facts.

    Errors of SQLite are raised as `OSError`, as all outputs do. A symbolic link is refused.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self._path = path
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        with self._as_os_error():
            self._base = sqlite3.connect(path, isolation_level=None)
            # Each checkpoint syncs the file system, and with it the files of the database.
            self._base.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
            # No file is written elsewhere, as in /tmp.
            self._base.execute("PRAGMA temp_store=MEMORY")
            self._base.executescript(schema + _FACTS)

    def __repr__(self) -> str:
        return f"<Database {self._path}>"

    def write(self, command: str, *values: object) -> None:
        """Carry out `command` in the transaction that the next `commit` ends."""
        with self._as_os_error():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            self._base.execute(command, values)

    def first(self, command: str, *values: object) -> tuple[Any, ...] | None:
        with self._as_os_error():
            row: tuple[Any, ...] | None = self._base.execute(command, values).fetchone()
            return row

    def rows(self, command: str, *values: object) -> list[tuple[Any, ...]]:
        with self._as_os_error():
            return self._base.execute(command, values).fetchall()

    def by_id(self, command: str, batch: int) -> Iterator[Any]:
        """Yield the rows of `command`, which is completed to read `batch` rows at once.

        `command` selects `id` first and ends in a condition; rows may be added meanwhile.
        """
        last: object = 0
        while True:
            rows = self.rows(f"{command} AND id > ? ORDER BY id LIMIT {batch}", last)
            if not rows:
                return
            yield from rows
            last = rows[-1][0]

    def fact(self, name: str) -> str:
        """Return the fact `name`; empty if it was never noted."""
        row = self.first("SELECT value FROM fact WHERE name = ?", name)
        return "" if row is None else str(row[0])

    def note_fact(self, name: str, value: str) -> None:
        self.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", name, value)

    def commit(self) -> None:
        with self._as_os_error():
            if self._base.in_transaction:
                self._base.execute("COMMIT")

    def close(self) -> None:
        """Close without a commit."""
        self._base.close()

    def remove(self) -> None:
        """Remove the file of the closed database."""
        self._path.unlink(missing_ok=True)

    @contextmanager
    def _as_os_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            number = errno.ENOSPC if full else errno.EIO
            text = f"{os.strerror(number)} ({error})"
            raise OSError(number, text, self._path.name) from error
