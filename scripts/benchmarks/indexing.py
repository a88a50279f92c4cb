"""The scenario "database": the broad crawl into a content database, and without one."""

import json
import resource
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from experiments.report import Table
from experiments.runs import PYTHON, Spread, say

from benchmarks.corpora import Source
from benchmarks.crawling import mean_page, ratios_table
from benchmarks.programs import Ground, Job
from benchmarks.ratios import Found
from benchmarks.scenarios import BROAD, Given, Outcome, Size
from benchmarks.serving import nginx

_HOSTS = 1000
#: A spool that is full most of the time.
_SMALL_SPOOL = 64 << 20
#: Pages a second of the crawl whose delay is measured, and its share of the hosts.
_CALM = 250
_CALM_SHARE = 4
#: Pages in flight at a time.
_PARALLEL = 100


@dataclass(frozen=True)
class Way:
    """A way to crawl."""

    name: str
    lines: tuple[str, ...]


_WAYS = (
    Way("none", ("outputMode none",)),
    Way("database, room in the spool", ("outputMode database", "spoolMax 100G")),
    Way("database, spool full", ("outputMode database", f"spoolMax {_SMALL_SPOOL}")),
)


@dataclass(frozen=True)
class Run:
    """The notes of `benchmarks.indexed`."""

    pages: int
    #: Pages a second while pages were fetched: of all, and of the second half.
    rate: float
    late_rate: float
    #: CPU seconds of the loop a page.
    cpu: float
    #: The 99th percentile of turns (s).
    turn: float
    #: From the last page to the end of the crawl (s).
    rest: float
    #: CPU seconds of all its processes a page.
    all_cpu: float

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Run":
        marks, turns = found["marks"], found["turns"]
        first, middle, last = marks[0], marks[len(marks) // 2], marks[-1]
        return cls(
            found["pages"],
            (last[0] - first[0]) / (last[1] - first[1]),
            (last[0] - middle[0]) / (last[1] - middle[1]),
            (last[2] - first[2]) / (last[0] - first[0]),
            turns[int(len(turns) * 0.99)],
            found["ended"] - last[1],
            found["all_cpu"] / found["pages"],
        )


def indexing(size: Size, source: Source, _given: Given, folder: Path) -> Outcome:
    """Run all ways in turn, then a calm crawl whose pages are looked for in the database."""
    hosts = size.of(_HOSTS, BROAD)
    site = source.site(BROAD, hosts)
    runs: dict[str, list[Run]] = {way.name: [] for way in _WAYS}
    with nginx(site.folder, folder) as server:
        ground = Ground(site, server, 9, folder)
        _crawl(ground.job(hosts), _WAYS[0])
        for number in range(size.rounds):
            for way in _WAYS:
                run = Run.of(_crawl(ground.job(hosts), way))
                runs[way.name].append(run)
                say(f"  round {number + 1}, {way.name}: {run.rate:,.0f} pages/s, {run}")
        delays = _delays(ground.job(max(1, hosts // _CALM_SHARE)))
    about = f"{hosts:,} hosts of {BROAD.pages} pages, {mean_page(site.size, site.links, site.urls)}"
    return _outcome(f"database, {source.corpus.name}: {about}", runs, delays)


def _outcome(title: str, runs: dict[str, list[Run]], delays: list[float]) -> Outcome:
    outcome = Outcome(title)
    columns = (
        "pages/s",
        "second half",
        "loop's CPU us/page",
        "all CPU us/page",
        "p99 of turns ms",
        "rest s",
    )
    table = Table(title, "output", "pages", *columns)
    for name, values in runs.items():
        table.add(
            name,
            values[0].pages,
            Spread.of([run.rate for run in values]),
            Spread.of([run.late_rate for run in values]),
            Spread.of([run.cpu * 1e6 for run in values]),
            Spread.of([run.all_cpu * 1e6 for run in values]),
            Spread.of([run.turn * 1000 for run in values]),
            Spread.of([run.rest for run in values]),
        )
    without, room, full = runs.values()
    pairs = list(zip(without, room, strict=True))
    rate = Spread.of([b.rate / a.rate for a, b in pairs])
    cpu = Spread.of([(b.cpu - a.cpu) * 1e6 for a, b in pairs])
    turn = Spread.of([(b.turn - a.turn) * 1000 for a, b in pairs])
    lasting = Spread.of([run.late_rate for run in full])
    outcome.ratios = [
        Found("times the pages/s without a database", rate, True, 0.75),
        Found("more CPU us a page in the loop", cpu, False, 40),
        Found("more ms in the 99th percentile of turns", turn, False, 3),
        Found("pages/s while the spool is full", lasting, True, 700),
        Found(f"s until a page is found, at {_CALM} pages/s", Spread.of(delays), False, 8),
    ]
    outcome.tables = [table, ratios_table(outcome.ratios)]
    outcome.raw = {"median delay": median(delays)}
    return outcome


def _crawl(job: Job, way: Way) -> dict[str, Any]:
    command, result = _command(job, way)
    before = _cpu_of_children()
    with (job.folder / "out").open("wb") as out:
        subprocess.run(command, stdout=out, check=True)
    found: dict[str, Any] = json.loads(result.read_text())
    return {**found, "all_cpu": _cpu_of_children() - before}


def _cpu_of_children() -> float:
    """CPU seconds of the processes that have ended, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _command(job: Job, way: Way) -> tuple[list[str | Path], Path]:
    conf, result = job.folder / "larbin.conf", job.folder / "result"
    lines = (
        f"waitDuration 0 depthInSite 1000000 pagesConnexions {_PARALLEL} allowPrivate",
        f"stateDir {job.folder / 'state'} outputDir {job.folder / 'save'}",
        *way.lines,
    )
    conf.write_text("\n".join(lines) + "\n")
    command: list[str | Path] = [PYTHON, "-m", "benchmarks.indexed", result, conf]
    command += [job.seeds(), str(job.expected)]
    return command, result


def _delays(job: Job) -> list[float]:
    """The delays from a page's fetch until it can be found (s): the least, median and greatest."""
    bytes_a_second = int(_CALM * job.site.size)
    way = Way("calm", ("outputMode database", f"bondWidth {bytes_a_second}"))
    command, _ = _command(job, way)
    database = job.folder / "save" / "larbinpy.db"
    found: dict[str, float] = {}
    with (job.folder / "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        while process.poll() is None:
            time.sleep(0.1)
            if database.exists():
                _look(database, found)
    _look(database, found)
    log = (job.folder / "state" / "crawl.jsonl").read_text().splitlines()
    fetched = {fate["url"]: _unix(fate["ts"]) for fate in map(json.loads, log)}
    delays = sorted(seen - fetched[url] for url, seen in found.items())
    say(f"  calm: {len(delays)} pages, the latest after {delays[-1]:.1f} s")
    return [delays[0], median(delays), delays[-1]]


def _look(database: Path, found: dict[str, float]) -> None:
    """Add the pages that the database has now."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as base:
        try:
            rows = base.execute("SELECT url FROM page WHERE id > ?", (len(found),)).fetchall()
        except sqlite3.OperationalError:
            return
        now = time.time()
    for (url,) in rows:
        found.setdefault(url, now)


def _unix(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()
