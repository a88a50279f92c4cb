"""A crawl of a site that changes, visited again, and killed meanwhile if that is wanted."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from larbinpy.page import timestamp
from tests.support.changingweb import ChangingWeb
from tests.support.checkout import ROOT
from tests.support.processes import indexer_of, kill

LARBINPY = (sys.executable, "-m", "larbinpy")
_PATIENCE = 1200.0

_CONF = """\
From t@example.com
UserAgent larbinpy
allowPrivate
waitDuration 0
maxConnexionsBySite 8
depthInSite 100
retries 0
limitByShape 0
outputMode database
database crawl.db
stateDir state
canReload
revisitMin 1s
revisitMax 1s
"""


class Request(NamedTuple):
    """A line of the log of the site."""

    at: float
    path: str
    status: int
    size: int


class Site:
    """The process of a `ChangingWeb`, and the log of its requests."""

    def __init__(self, web: ChangingWeb, orders: Any, log: Path) -> None:
        self.web = web
        self._orders = orders
        self._log = log

    def set(self, generation: int, rate: float = 0.0) -> None:
        self._orders.write(f"{generation} {rate}\n".encode())
        self._orders.flush()

    def requests(self, since: float = 0.0) -> list[Request]:
        found = []
        for line in self._log.read_text().splitlines():
            at, path, status, size = line.split()
            found.append(Request(float(at), path, int(status), int(size)))
        return [each for each in found if each.at >= since]


@contextmanager
def served(folder: Path, pages: int, *, has_etags: bool = True) -> Iterator[Site]:
    """The site, while the block runs; it is configured to be crawled in `folder`."""
    log = folder / "requests"
    options = [] if has_etags else ["--no-etags"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.changingweb", str(pages), str(log), *options],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin and process.stdout
    try:
        web = ChangingWeb(pages, json.loads(process.stdout.readline())["port"], has_etags)
        (folder / "larbin.conf").write_text(f"{_CONF}startUrl {web.url(0)}\n")
        yield Site(web, process.stdin, log)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def start(folder: Path, *command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*LARBINPY, *command],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(folder: Path, *command: str) -> str:
    """Run a command to its end; returns its standard output."""
    process = start(folder, *command)
    out, err = process.communicate(timeout=_PATIENCE)
    assert process.returncode == 0, err.decode()
    return out.decode()


def rows(folder: Path, question: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(folder / "crawl.db", timeout=30)) as base:
        return base.execute(question, values).fetchall()


def all_due(folder: Path) -> None:
    """Wait until all pages are due."""
    [(due,)] = rows(folder, "SELECT max(due) FROM page")
    while timestamp(time.time()) <= due:
        time.sleep(0.05)


class KilledRound:
    """A round that is killed `kills` times, with its indexer or without, and goes on each time.

    `findings` says what is wrong: a URL that was asked for again although the state that was saved
    at a kill knew its outcome.
    """

    def __init__(self, folder: Path, site: Site, kills: int, seed: int) -> None:
        self._folder = folder
        self._site = site
        self._left = kills
        self._random = Random(seed)
        self.findings: list[str] = []
        self.kills: Counter[str] = Counter()
        # Paths that were decided in the state of a kill, each with the time of that.
        self._decided: set[tuple[float, str]] = set()
        #: When the round began.
        self.began = 0.0

    def run(self) -> None:
        self.began = time.time()
        numbers = {self._site.web.url(n): n for ns in self._site.web.groups.values() for n in ns}
        while True:
            process = start(self._folder, "revisit", "--progress", "none")
            ended = self._live(process)
            _, errors = process.communicate(timeout=_PATIENCE)
            lines = [line for line in errors.splitlines() if b"database: " not in line]
            if lines or (ended and process.returncode):
                self.findings.append(f"exit status {process.returncode}: {lines[-1:]}")
            if ended:
                break
            died = time.time()
            self._decided |= {(died, self._site.web.path(numbers[url])) for url in self._covered()}
        self._check()

    def _live(self, process: "subprocess.Popen[bytes]") -> bool:
        """Kill a process of a round; returns whether it came to its end instead."""
        if not self._left:
            process.wait(_PATIENCE)
            return True
        until = time.time() + self._random.uniform(0.5, 5.0)
        is_indexer = self._random.random() < 0.4
        while time.time() < until and process.poll() is None:
            time.sleep(0.01)
        if self._left == 1 and not self._decided:
            # On a busy machine no checkpoint has come so far, and one is wanted.
            is_indexer = False
            while not self._covered() and process.poll() is None:
                time.sleep(0.05)
        if process.poll() is not None:
            self.findings.append(f"the round ended before the last {self._left} kills")
            self._left = 0
            return True
        self._left -= 1
        if is_indexer and kill(indexer_of(process.pid)):
            self.kills["indexer"] += 1
            if self._random.random() < 0.5:
                return self._live(process)
        process.kill()
        self.kills["crawl"] += 1
        return False

    def _covered(self) -> set[str]:
        """URLs whose outcome in this round is in the saved state."""
        manifest = json.loads((self._folder / "state" / "state.json").read_bytes())
        data = (self._folder / "state" / "crawl.jsonl").read_bytes()[: manifest["log"]["length"]]
        fates = map(json.loads, data.splitlines())
        first = timestamp(self.began, "milliseconds")
        return {fate["url"] for fate in fates if fate["ts"] >= first}

    def _check(self) -> None:
        if self.kills["crawl"] and not self._decided:
            self.findings.append("no kill came after a checkpoint")
        known: dict[str, float] = {}
        for died, path in self._decided:
            known[path] = min(died, known.get(path, died))
        again = {
            each.path
            for each in self._site.requests(self.began)
            # Replies to a process that was killed may be on their way.
            if each.at > known.get(each.path, each.at) + 0.2
        }
        if again:
            self.findings.append(f"{len(again)} pages were visited twice: {sorted(again)[:5]}")


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def report(folder: Path, since: str) -> dict[str, list[str]]:
    """The URLs that `larbinpy changes` tells, by the kind of their change."""
    lines: Sequence[str] = run(
        folder, "changes", "--since", since, "--json", "-d", "crawl.db"
    ).splitlines()
    found: dict[str, list[str]] = {}
    for change in map(json.loads, lines):
        found.setdefault(change["kind"], []).append(change["url"])
    return {kind: sorted(urls) for kind, urls in found.items()}


def check_report(folder: Path, web: ChangingWeb, began: float) -> None:
    """Assert that the database says exactly how the site has changed, and keeps what failed."""
    since = timestamp(began)
    urls = {kind: sorted(map(web.url, numbers)) for kind, numbers in web.groups.items()}
    gone = sorted(web.url(number) for number in web.groups["gone"][1::2])
    assert report(folder, since) == {
        "changed": urls["changed"],
        "gone": gone,
        "new": urls["new"],
    }
    # A 404 counts when it is one a day later, too.
    missing = rows(folder, "SELECT url FROM page WHERE missing IS NOT NULL ORDER BY url")
    assert {url for (url,) in missing} >= {*urls["gone"]} - {*gone}
    kept = "SELECT url FROM page WHERE gone IS NULL AND fetched < ? ORDER BY url"
    assert [url for (url,) in rows(folder, kept, since)] == urls["failing"]
    visits = dict(rows(folder, "SELECT visits, count(*) FROM page GROUP BY visits"))
    once = len(urls["failing"]) + len(urls["new"])
    assert visits == {1: once, 2: web.pages - len(urls["failing"])}
