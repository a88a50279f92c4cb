"""larbinpy, its peers and the floors as programs that crawl one site from the same seeds.

Server and client may use all cores, for each program alike. larbinpy and wget2 are measured by
the time of the whole process. Scrapy and the floors have less work, so they are measured by
their own clocks, without their start. Either all programs of a scenario write the pages, or none.
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

#: Transfers at a time: larbinpy's default, also for the floors.
PARALLEL = 100
#: The first value in Scrapy's manual for broad crawls; one core is busy with far fewer.
SCRAPY_REQUESTS = 100
#: The fastest of 5, 10 and 20 on two cores.
WGET2_THREADS = 10


@dataclass(frozen=True)
class Job:
    """A crawl for a program."""

    site: Site
    hosts: int
    server: Nginx
    #: Port of the name server; a closed port if the web has no names.
    dns_port: int
    #: An empty folder for the program's files.
    folder: Path

    @property
    def expected(self) -> int:
        return self.hosts * self.site.web.pages

    def seeds(self, step: int = 1) -> Path:
        """A file with the start page of each host, or of one in `step`."""
        file = self.folder / "seeds"
        web = self.site.web
        file.write_text("".join(f"{web.base(host)}\n" for host in range(0, self.hosts, step)))
        return file


@dataclass(frozen=True)
class Ground:
    """A served site, and a folder for the files of the programs."""

    site: Site
    server: Nginx
    dns_port: int
    folder: Path

    def job(self, hosts: int) -> Job:
        """A crawl of `hosts` hosts. Its files stay until the ground's folder is removed.

        After many files were removed, ext4 searches long for free inodes for some minutes.
        Removing the files of a run would make the next run slower.
        """
        folder = Path(mkdtemp(prefix="run-", dir=self.folder))
        return Job(self.site, hosts, self.server, self.dns_port, folder)


@dataclass(frozen=True)
class Times:
    """Times that a program measured itself."""

    seconds: float
    user_seconds: float
    system_seconds: float


@dataclass(frozen=True)
class Count:
    """Results reported by a program."""

    #: None if the program makes no files and has no log.
    pages: int | None
    #: Without its start; None if it measures none.
    times: Times | None = None
    #: Bytes, of a program that is not the process that was started; None if it is.
    max_rss: int | None = None


@dataclass(frozen=True)
class Program:
    name: str
    command: Callable[[Job], Command]
    #: Reads the results; called with the file of its standard output.
    count: Callable[[Job, Path], Count]
    #: Most hosts; None for all. Rates do not depend on the number.
    sample: int | None = None


def measure(program: Program, hosts: int, ground: Ground) -> Done:
    """Run `program` once."""
    hosts = min(hosts, ground.site.web.closed(program.sample or hosts))
    job = ground.job(hosts)
    command = program.command(job)
    job.server.take_lost()
    before = job.server.requests()
    ran = run(command, job.folder / "out", ALL_CORES)
    # Reading the counter is a request, too.
    requests = job.server.requests() - before - 1
    return _done(program.count(job, job.folder / "out"), job, ran, requests)


def _done(count: Count, job: Job, ran: Run, requests: int) -> Done:
    lost = len(job.server.take_lost())
    # Each host has a robots.txt, which is no page.
    served = requests - job.hosts - lost
    times = count.times or ran
    return Done(
        pages=served if count.pages is None else count.pages,
        expected=job.expected,
        seconds=times.seconds,
        user_seconds=times.user_seconds,
        system_seconds=times.system_seconds,
        max_rss=count.max_rss or ran.max_rss,
        requests=requests,
        lost=lost,
    )


# -- larbinpy


def settings(job: Job, output: str = "none") -> list[str | Path]:
    """Arguments of `larbinpy`: all pages of all hosts without waits, otherwise the defaults."""
    values = {
        "waitDuration": 0,
        "depthInSite": 1_000_000,
        "pagesConnexions": PARALLEL,
        "dnsServer": f"127.0.0.1:{job.dns_port}",
        "stateDir": job.folder / "state",
        "outputDir": job.folder / "save",
        "outputMode": output,
    }
    if job.site.web.tls:
        values["caFile"] = job.server.certificate
    sets = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
    report: list[str | Path] = ["--report", job.folder / "report"]
    # Ignores a larbin.conf in the current folder.
    files: list[str | Path] = ["-c", os.devnull, "-i", job.seeds()]
    return ["crawl", *files, "--allow-private", "--progress", "none", *report, *sets]


def larbinpy(output: str = "none") -> Program:
    def command(job: Job) -> Command:
        return [PYTHON, "-m", "larbinpy", *settings(job, output)]

    return Program("larbinpy", command, _larbinpy_count)


def _larbinpy_count(job: Job, _out: Path) -> Count:
    """Counts pages in the log, which has each URL once."""
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

    return Program(name, command, _reported_count)


def _reported(result: Path) -> Count:
    """The count in a JSON file that the program wrote."""
    found = json.loads(result.read_text())
    times = Times(found["seconds"], found["user"], found["system"])
    return Count(found["pages"], times, found.get("max_rss"))


def _reported_count(_job: Job, out: Path) -> Count:
    return _reported(out)


FETCH = _floor("fetch floor", parse=False)
PARSE = _floor("fetch + parse floor", parse=True)


# -- peers


def scrapy(python: Path, sample: int) -> Program:
    """Scrapy in its own environment, with `sample` of the hosts."""

    def command(job: Job) -> Command:
        script = Path(__file__).with_name("spider.py")
        return [python, script, job.seeds(), job.folder / "result", str(SCRAPY_REQUESTS)]

    def count(job: Job, _out: Path) -> Count:
        return _reported(job.folder / "result")

    return Program("Scrapy", command, count, sample)


def wget2(mirror: bool = False) -> Program:
    """wget2, which makes no files but for a mirror."""

    def command(job: Job) -> Command:
        files: list[str | Path] = ["-P", job.folder / "site"] if mirror else ["--delete-after"]
        reach = ["-r", "-l", "inf", "-H", "--tries=1", "--no-http2"]
        how = ["wget2", "-q", "--no-config", *reach, f"--max-threads={WGET2_THREADS}"]
        return [*how, *files, "-i", job.seeds()]

    return Program("wget2", command, _files_count if mirror else _served_count)


def wget() -> Program:
    """GNU wget, which writes an archive. It forgets what it has seen with each seed."""

    def command(job: Job) -> Command:
        seeds = job.seeds(job.site.web.group)
        reach = ["-r", "-l", "inf", "-H", "--tries=1", "--delete-after", f"-P{job.folder / 'site'}"]
        archive = [f"--warc-file={job.folder / 'wget'}", "--no-warc-keep-log"]
        return ["wget", "-q", "--no-config", *reach, *archive, "-i", seeds]

    return Program("wget", command, _served_count)


def larbin(binary: Path) -> Program:
    """Larbin, which measures nothing: `benchmarks.larbin` watches it."""

    def command(job: Job) -> Command:
        where = (binary, job.seeds(), job.folder)
        return [PYTHON, "-m", "benchmarks.larbin", *where, str(PARALLEL)]

    return Program("Larbin", command, _reported_count)


def _files_count(job: Job, _out: Path) -> Count:
    """Counts its files, because it reports nothing."""
    top = job.folder / "site"
    names = (name for _, _, files in os.walk(top) for name in files)
    return Count(sum(name.endswith(".html") for name in names))


def _served_count(_job: Job, _out: Path) -> Count:
    """Only the server knows the number of pages."""
    return Count(None)
