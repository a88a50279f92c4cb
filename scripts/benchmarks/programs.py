"""larbinpy, its peers and the floors as programs that crawl one site from the same seeds.

Nothing is kept on a core: server and client have the same cores, whoever the client is.
larbinpy and wget2 are judged by their whole processes; Scrapy and the floors, which get less
to do or have less of it, by their own clocks without their start.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from experiments.runs import PYTHON, Command, Run, run

from benchmarks.building import Site
from benchmarks.plans import ALL_CORES, FloorPlan, Host
from benchmarks.ratios import Done
from benchmarks.serving import Nginx
from benchmarks.web import address

#: Transfers at a time: larbinpy's default, and the floors' for that reason.
PARALLEL = 100
#: As Scrapy's manual advises to begin with for broad crawls; one core is busy long before.
SCRAPY_REQUESTS = 100
#: Of 5, 10 and 20 the quickest on two cores.
WGET2_THREADS = 10


@dataclass(frozen=True)
class Job:
    """A crawl that a program is to make."""

    site: Site
    hosts: int
    server: Nginx
    #: Of the name server; a port where nobody answers where no names are needed.
    dns_port: int
    #: For the program's files; empty.
    folder: Path

    @property
    def expected(self) -> int:
        return self.hosts * self.site.web.pages

    def seeds(self) -> Path:
        """A file with the start page of each host."""
        file = self.folder / "seeds"
        web = self.site.web
        file.write_text("".join(f"{web.base(host)}\n" for host in range(self.hosts)))
        return file


@dataclass(frozen=True)
class Ground:
    """A site that is served, and room for those who crawl it."""

    site: Site
    server: Nginx
    dns_port: int
    room: Path

    def job(self, hosts: int) -> Job:
        """A crawl of so many hosts; what programs write stays until the room goes.

        ext4 looks long for a free inode where many were freed in the last minutes: files that
        are removed make those of the next run dearer.
        """
        folder = Path(mkdtemp(prefix="run-", dir=self.room))
        return Job(self.site, hosts, self.server, self.dns_port, folder)


@dataclass(frozen=True)
class Count:
    """What a program says it did; times without its start, where it can tell."""

    pages: int
    seconds: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Program:
    name: str
    command: Callable[[Job], Command]
    #: Called with what it wrote to standard output.
    count: Callable[[Job, Path], Count]
    #: Hosts it gets at most; None for all. A rate does not depend on it.
    sample: int | None = None


def measure(program: Program, hosts: int, ground: Ground) -> Done:
    """One run of `program`."""
    hosts = min(hosts, ground.site.web.closed(program.sample or hosts))
    job = ground.job(hosts)
    command = program.command(job)
    job.server.take_lost()
    before = job.server.requests()
    ran = run(command, job.folder / "out", ALL_CORES)
    # Asking is a request, too.
    requests = job.server.requests() - before - 1
    return _done(program.count(job, job.folder / "out"), job, ran, requests)


def _done(count: Count, job: Job, ran: Run, requests: int) -> Done:
    return Done(
        pages=count.pages,
        expected=job.expected,
        seconds=count.seconds or ran.seconds,
        cpu_seconds=count.cpu_seconds or ran.cpu_seconds,
        max_rss=ran.max_rss,
        requests=requests,
        lost=len(job.server.take_lost()),
    )


# -- larbinpy


def settings(job: Job, mirror: bool = False, readers: int = 0) -> list[str | Path]:
    """Arguments of `larbinpy`: all pages of all hosts, without waiting, else as it comes."""
    values = {
        "waitDuration": 0,
        "depthInSite": 1_000_000,
        "pagesConnexions": PARALLEL,
        "readers": readers,
        "dnsServer": f"127.0.0.1:{job.dns_port}",
        "stateDir": job.folder / "state",
        "outputDir": job.folder / "save",
        "outputMode": "mirror" if mirror else "none",
    }
    if job.site.web.tls:
        values["caFile"] = job.server.certificate
    sets = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
    report: list[str | Path] = ["--report", job.folder / "report"]
    # A larbin.conf of whoever calls is not to count.
    files: list[str | Path] = ["-c", os.devnull, "-i", job.seeds()]
    return ["crawl", *files, "--allow-private", "--progress", "none", *report, *sets]


def larbinpy(mirror: bool = False, readers: int = 0) -> Program:
    """With `readers` it reads pages in so many processes beside."""

    def command(job: Job) -> Command:
        return [PYTHON, "-m", "larbinpy", *settings(job, mirror, readers)]

    name = f"larbinpy, readers {readers}" if readers else "larbinpy"
    return Program(name, command, _larbinpy_count)


def _larbinpy_count(job: Job, _out: Path) -> Count:
    """By its log, in which each URL stands once."""
    with (job.folder / "state" / "crawl.jsonl").open() as lines:
        fates = map(json.loads, lines)
        return Count(len({fate["url"] for fate in fates if fate["outcome"] == "success"}))


# -- the floors


def _floor(name: str, parse: bool) -> Program:
    def command(job: Job) -> Command:
        web, tls = job.site.web, job.site.web.tls
        hosts = [
            Host(web.base(host), address(host) if tls else None, paths)
            for host, paths in enumerate(job.site.paths(job.hosts))
        ]
        plan = FloorPlan(hosts, PARALLEL, parse, str(job.server.certificate) if tls else None)
        plan.write(job.folder / "plan")
        return [PYTHON, "-m", "benchmarks.floor", job.folder / "plan"]

    return Program(name, command, _floor_count)


def _floor_count(_job: Job, out: Path) -> Count:
    found = json.loads(out.read_text())
    return Count(found["pages"], found["seconds"], found["cpu"])


FETCH = _floor("fetch floor", parse=False)
PARSE = _floor("fetch + parse floor", parse=True)


# -- peers


def scrapy(python: Path, sample: int) -> Program:
    """Scrapy in an environment of its own, with some of the hosts."""

    def command(job: Job) -> Command:
        script = Path(__file__).with_name("spider.py")
        return [python, script, job.seeds(), job.folder / "result", str(SCRAPY_REQUESTS)]

    def count(job: Job, _out: Path) -> Count:
        found = json.loads((job.folder / "result").read_text())
        return Count(found["pages"], found["seconds"], found["cpu"])

    return Program("Scrapy", command, count, sample)


def _wget2(job: Job) -> Command:
    where: list[str | Path] = ["-P", job.folder / "site", "-i", job.seeds()]
    reach = ["-r", "-l", "inf", "-H", "--tries=1", "--no-http2"]
    return ["wget2", "-q", "--no-config", *reach, f"--max-threads={WGET2_THREADS}", *where]


def _wget2_count(job: Job, _out: Path) -> Count:
    """It has nothing but its files to tell of its pages."""
    top = job.folder / "site"
    names = (name for _, _, files in os.walk(top) for name in files)
    return Count(sum(name.endswith(".html") for name in names))


WGET2 = Program("wget2", _wget2, _wget2_count)
