"""The places of payloads in WARC files, for records that refer to one."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from larbinpy.database.prepared import signed_hash


class At(NamedTuple):
    """The place of a record: the number of the file, and the offset in it in bytes."""

    file: int
    offset: int


class Payloads:
    """The places of payloads, by what revisit records say: a digest, or a URL.

    They are in a temporary file of SQLite, which is deleted when it is closed, so that the memory
    does not grow with the archive.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript(
            "PRAGMA journal_mode=OFF;"
            "CREATE TABLE payload (name INTEGER PRIMARY KEY, file INTEGER, start INTEGER);"
        )

    def __repr__(self) -> str:
        return "<Payloads>"

    def note(self, names: Iterable[str], at: At) -> None:
        """Note that the payload that `names` name is in the record at `at`, the latest so far."""
        self._base.executemany(
            "INSERT OR REPLACE INTO payload VALUES (?, ?, ?)",
            [(signed_hash(name), at.file, at.offset) for name in names],
        )

    def find(self, names: Iterable[str]) -> At | None:
        """The place of the payload that the first of `names` that is known names."""
        for name in names:
            row = self._base.execute(
                "SELECT file, start FROM payload WHERE name = ?", (signed_hash(name),)
            ).fetchone()
            if row is not None:
                return At(*row)
        return None

    def close(self) -> None:
        self._base.close()
