"""Writes pages into the database file."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from larbinpy.database.base import Position, Unavailable
from larbinpy.database.preparation import Visit
from larbinpy.database.sqlite.index import Index, Joining
from larbinpy.database.sqlite.schema import BLOCK, Lock, connect, sqlite_errors
from larbinpy.database.writing.filling import Filling
from larbinpy.revisit.plan import Schedule
from larbinpy.revisit.round import DueAsk, DuePage

#: kB of the file that are kept in memory.
_CACHE = 32 << 10
#: Blocks of the log after which they are moved into the file. Blocks that change again and again
#: are moved once.
_CHECKPOINT = (16 << 20) // BLOCK
#: Bytes of the log's file that are kept after it was moved. While readers read it grows.
_LONG_LOG = 64 << 20
#: Milliseconds to wait, at the end, for searches that read the log.
_PATIENCE = 2000
#: Shares of unused blocks from which the file is made shorter, and until which; blocks at a time.
_MANY, _FEW, _GIVEN = 0.05, 0.01, (1 << 20) // BLOCK


class Writer:
    """The `database.base.Writer` of a file."""

    def __init__(
        self, where: str, schedule: Schedule | None = None, *, skip_near: bool = False
    ) -> None:
        """`skip_near`: near copies are not in the index."""
        self._path = Path(where)
        self._schedule = schedule
        self._skip_near = skip_near
        self._lock = Lock(self._path)
        self._base: sqlite3.Connection | None = None
        # The file that is open, which need not be that of this name any more.
        self._file: os.stat_result | None = None
        self._shrinking = False
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def position(self, spool: str) -> Position | None:
        self._open()
        with sqlite_errors(self._path):
            return self._filling.position(spool)

    def write(
        self,
        pages: Sequence[Visit],
        spool: str | None = None,
        position: Position | None = None,
        *,
        durable: bool = False,
    ) -> list[str]:
        with self._transaction(durable=durable):
            self._filling.write(pages, spool, position)
        return []

    def due(self, ask: DueAsk) -> list[DuePage]:
        self._open()
        with sqlite_errors(self._path):
            return self._filling.due(ask)

    def tend(self) -> bool:
        with self._transaction() as base:
            if self._filling.tend():
                return True
            if self._joining.is_due:
                self._joining.step()
                return True
            self._shrinking = self._is_loose(base)
        if self._shrinking:
            self._give_back()
        return self._shrinking

    def _is_loose(self, base: sqlite3.Connection) -> bool:
        """Whether the file has many unused blocks; while they are given back, some."""
        (unused,) = base.execute("PRAGMA freelist_count").fetchone()
        (blocks,) = base.execute("PRAGMA page_count").fetchone()
        return bool(unused > blocks * (_FEW if self._shrinking else _MANY))

    def _give_back(self) -> None:
        """Make the file shorter by some unused blocks."""
        with sqlite_errors(self._path):
            # Not by `execute`: that does one step of a statement without rows, here one block.
            self._open().executescript(f"PRAGMA incremental_vacuum({_GIVEN})")

    def close(self) -> None:
        try:
            if self._base is not None:
                complete(self._base)
            self._disconnect()
        finally:
            self._lock.release()

    def _open(self) -> sqlite3.Connection:
        if self._base is not None and not self._is_there():
            # The log that has the old file's name would be taken for the new one's.
            complete(self._base)
            self._disconnect()
            raise Unavailable(f"{self._path}: was deleted or replaced while it was written")
        if self._base is None:
            base = connect(self._path, write=True)
            try:
                with sqlite_errors(self._path):
                    prepare_to_write(base)
                    self._filling = Filling(
                        base, Index(base), self._schedule, skip_near=self._skip_near
                    )
                    self._joining = Joining(base)
            except BaseException:
                base.close()
                raise
            self._base = base
            self._file = os.stat(self._path)
        return self._base

    def _is_there(self) -> bool:
        """Whether the open file still has its name."""
        try:
            return self._file is not None and os.path.samestat(self._file, os.stat(self._path))
        except OSError:
            return False

    def _disconnect(self) -> None:
        if self._base is not None:
            base, self._base = self._base, None
            with suppress(sqlite3.Error):
                base.close()

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """All or nothing; after an error the database is opened anew at the next call.

        `durable`: a commit with synchronous=FULL syncs the log, and with it all earlier commits.
        """
        base = self._open()
        try:
            with sqlite_errors(self._path):
                if durable:
                    base.execute("PRAGMA synchronous=FULL")
                base.execute("BEGIN IMMEDIATE")
                yield base
                if durable:
                    # A transaction without a change would not sync.
                    base.execute("UPDATE meta SET value = value WHERE key = 'format'")
                base.execute("COMMIT")
                if durable:
                    base.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            with suppress(sqlite3.Error):
                base.execute("ROLLBACK")
            self._disconnect()
            raise


def complete(base: sqlite3.Connection) -> None:
    """Move the log into the file, so that the file can be copied, also while others read it.

    The last connection that closes does so, too, but not if that one only reads.
    """
    with suppress(sqlite3.Error):
        base.execute(f"PRAGMA busy_timeout={_PATIENCE}")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def prepare_to_write(base: sqlite3.Connection) -> None:
    """Set how a connection writes: what it keeps in memory, and when it syncs."""
    for setting in (
        f"cache_size=-{_CACHE}",
        "synchronous=NORMAL",
        f"wal_autocheckpoint={_CHECKPOINT}",
        f"journal_size_limit={_LONG_LOG}",
        # Debian's SQLite overwrites what is deleted: blocks that leave the index, above all.
        "secure_delete=OFF",
    ):
        base.execute(f"PRAGMA {setting}")
