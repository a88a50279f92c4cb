"""Kills around a content database: of the crawl, its indexer, readers, or all; and the checks.

For `KillTest`: rows are at any time those of the last checkpoint at most, and in the end those of
the log, each once.
"""

import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.support.databases import OnServer
from tests.support.killcheck import Checker, Life
from tests.support.killweb import KnownWeb
from tests.support.mariadb import MariaDb
from tests.support.processes import indexer_of, kill, readers_of

#: Seconds between two kills of children, and the most of them in the life of a crawl: then the
#: waits before the indexer is started again have become long.
_PAUSES = (0.5, 2.0)
_MOST = 4

#: For the configuration: mirror mode has its own checks.
CONF = "outputMode mirror,database\ndatabase crawl.db"


class Row(NamedTuple):
    """A page that is not gone."""

    url: str
    title: str
    visits: int


class Found(NamedTuple):
    """All that the database has; `faults` are those that it finds in itself."""

    rows: list[Row]
    faults: list[str]


def in_sqlite(path: Path) -> Found:
    """The content of the database `path`; nothing if there is none yet."""
    if not path.exists():
        return Found([], [])
    with closing(sqlite3.connect(path, timeout=30)) as base:
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'page'").fetchall():
            return Found([], [])
        rows = base.execute("SELECT url, title, visits FROM page WHERE gone IS NULL").fetchall()
        checks = base.execute("PRAGMA integrity_check").fetchall()
    return Found([Row(*row) for row in rows], [fault for (fault,) in checks if fault != "ok"])


def in_mysql(database: OnServer) -> Found:
    """The content of a database on a server; nothing if there is none yet."""
    if not database.rows("SHOW TABLES LIKE 'page'"):
        return Found([], [])
    rows = database.rows("SELECT url, title, visits FROM page WHERE gone IS NULL")
    return Found([Row(*row) for row in rows], [])


class DatabaseKills:
    """Kills children of the crawls of a `KillTest`, and checks what `read` finds."""

    def __init__(self, read: Callable[[], Found], seed: int) -> None:
        self._read = read
        self._random = Random(seed)
        self._next = 0.0
        self._life = self._left = 0
        #: Children are killed in turn, so that a test may count on both.
        self._turn = cycle(("indexer", "reader"))
        self._victim = next(self._turn)
        self.kills: Counter[str] = Counter()
        self.findings: list[str] = []

    def meanwhile(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill a child now and then. Called often while a crawl runs."""
        if process.pid != self._life:
            self._life, self._left = process.pid, _MOST
        if time.time() < self._next or not self._left:
            return
        if self._victim == "indexer":
            killed = int(kill(indexer_of(process.pid)))
        else:
            killed = sum(map(kill, readers_of(process.pid)))
        if not killed:
            self._next = time.time() + 0.1
            return
        self.kills[self._victim] += killed
        self._victim = next(self._turn)
        self._left -= 1
        self._next = time.time() + self._random.uniform(*_PAUSES)

    def before(self, process: "subprocess.Popen[bytes]") -> None:
        """The crawl is about to be killed; in every second case its indexer is, too."""
        if self._random.random() < 0.5:
            self.kills["both"] += kill(indexer_of(process.pid))

    def after(self, life: Life, web: KnownWeb) -> None:
        """Check that the database has what the checkpoint of `life` covers, and no more."""
        found = self._read()
        self.findings += found.faults
        numbers = {web.numbers.get(row.url, -1) for row in found.rows}
        beyond = numbers - life.decided
        if beyond:
            some = sorted(beyond)[:5]
            self.findings.append(f"{life.kind}: {len(beyond)} rows beyond the checkpoint: {some}")

    def at_the_end(self, checker: Checker, web: KnownWeb) -> None:
        """Check that the database has all pages of the log, each once and as it is."""
        found = self._read()
        self.findings += found.faults
        rows = {row.url: row for row in found.rows}
        decided = checker.lives[-1].decided
        expected = {web.url(number) for number in decided if web.outcome(number) == "success"}
        if len(rows) != len(found.rows):
            self.findings.append("URLs have more than one row")
        for what, urls in (
            ("have no row", expected - rows.keys()),
            ("have a row and should not", rows.keys() - expected),
            ("were written twice", {url for url, row in rows.items() if row.visits != 1}),
            (
                "have another content",
                {url for url, row in rows.items() if row.title != str(web.numbers.get(url))},
            ),
        ):
            if urls:
                self.findings.append(f"{len(urls)} pages {what}: {sorted(urls)[:5]}")


class ServerKills(DatabaseKills):
    """Also stops or kills the server of the database, and starts it again."""

    def __init__(self, server: MariaDb, database: OnServer, seed: int) -> None:
        super().__init__(lambda: in_mysql(database), seed)
        self._server = server
        self._begun = 0
        self._signals = cycle((signal.SIGTERM, signal.SIGKILL))

    def meanwhile(self, process: "subprocess.Popen[bytes]") -> None:
        super().meanwhile(process)
        if process.pid == self._begun or self._next > time.time() + 1:
            return
        # Once in the life of a crawl, some time after a kill of its children.
        self._begun = process.pid
        number = next(self._signals)
        self._server.end(number)
        self._server.start()
        self.kills[f"server {number.name}"] += 1
