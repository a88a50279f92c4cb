"""How many times faster a fleet is than one node: ``scripts/experiments/scaling CASE``.

half: 1, 2 and 3 nodes with half a core each, and as many processes that crawl apart.
pairs: one node beside one process alone, and beside 2 and 3 nodes, at the same time, with two
fifths of a core for each process. What others do on the machine is the same for both.
free: one process alone on all cores, `--nodes 2`, and two processes that crawl apart.
slow: 1 and 4 nodes with 300 connexions each, on a web whose replies take 500 ms.

Processes apart are a control: they share nothing but the machine, so they are as fast as a fleet
that costs nothing. The web grows with the processes: each has as many hosts, so that all are
measured on the same part of each host. Nodes join before the seeds come. The rate is that of a
window: from the page of each node by which all have found their speed to the first node that has so
many that it may run short. So neither joining nor an uneven end counts. A share of a core is a
control group (version 1), as on a machine of its own; that takes root.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from threading import Barrier
from typing import NamedTuple

import click
from benchmarks.corpora import Source, chosen
from benchmarks.scenarios import BROAD
from benchmarks.serving import nginx
from benchmarks.web import address

from experiments.report import Table
from experiments.runs import PYTHON, say, warn_of_load

_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD = 20_000
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "larbinpy-bench"
#: Pages of a host that count; a host of the documentation has so many.
_PAGES = BROAD.pages
#: The window, as parts of a node's pages.
_FIRST, _LAST = 0.15, 0.7
#: Seconds until all nodes have joined, and until a window is over.
_JOINING, _LONGEST = 120.0, 240.0
_SLOW = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


class Group(NamedTuple):
    """So many nodes of a fleet, or processes that crawl apart."""

    processes: int
    joined: bool = True

    def __str__(self) -> str:
        return f"{self.processes} {'joined' if self.joined else 'apart'}"


ALONE, ONE = Group(1, joined=False), Group(1)

#: Groups that are measured at the same time.
Bout = tuple[Group, ...]


@dataclass(frozen=True)
class Case:
    """The groups that are compared, each with the first of its bout and of the round."""

    bouts: tuple[Bout, ...]
    #: Part of a core for each node; 0 for all cores.
    share: float = 0.0
    #: Whether one command starts the nodes (--nodes).
    one_command: bool = False
    connexions: int = 100
    #: Whether the web is the slow one.
    slow: bool = False


CASES = {
    "half": Case(
        (
            (ALONE,),
            (ONE,),
            (Group(2),),
            (Group(2, joined=False),),
            (Group(3),),
            (Group(3, joined=False),),
        ),
        share=0.5,
    ),
    "pairs": Case(((ALONE, ONE), (ONE, Group(2)), (ONE, Group(3))), share=0.4),
    "free": Case(((ALONE,), (Group(2),), (Group(2, joined=False),)), one_command=True),
    "slow": Case(((ONE,), (Group(4),)), connexions=300, slow=True),
}


@dataclass(frozen=True)
class Served:
    """A web: the process of its server, and the start page of a host by its number."""

    pid: int
    seed: Callable[[int], str]


@dataclass(frozen=True)
class Rate:
    """The figures of a window: pages a second, and microseconds of processor for a page."""

    pages: float
    nodes: float
    redis: float
    server: float


# -- processes


def cpu(pid: int) -> float:
    """Seconds of processor of a process and all that it has started."""
    total, left = 0, [pid]
    while left:
        each = Path("/proc", str(left.pop()))
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
            left += map(int, (each / "task" / each.name / "children").read_text().split())
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


@contextmanager
def control_group(name: str, share: float) -> Iterator[Path | None]:
    """A control group with a part of a core; None for all cores."""
    if not share:
        yield None
        return
    folder = _GROUPS / f"larbinpy-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "cpu.cfs_period_us").write_text(str(_PERIOD))
    (folder / "cpu.cfs_quota_us").write_text(str(int(share * _PERIOD)))
    try:
        yield folder
    finally:
        folder.rmdir()


@contextmanager
def started(
    command: Sequence[str | Path], stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with the block."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=stdout) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def redis(folder: Path) -> Iterator[tuple[str, int]]:
    """A redis-server: the address of a crawl there, and its process."""
    path = folder / "socket"
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--appendonly", "yes"]
    with started([*command, "--dir", str(folder)]) as process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.05)
        yield f"unix:{path}?crawl=scaling", process.pid


@contextmanager
def slow_web() -> Iterator[Served]:
    command = [PYTHON, "-m", "experiments.fixedserver", str(_SLOW), "links"]
    with started(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Served(process.pid, lambda host: f"http://{address(host)}:{port}/")


@contextmanager
def documentation(hosts: int, folder: Path) -> Iterator[Served]:
    """The web of `scripts/bench broad`, on nginx, in the memory of the system."""
    site = Source(chosen(["python"], ())[0], _CACHE).site(BROAD, hosts)
    for host in range(hosts):
        for file in (site.folder / BROAD.host(host)).rglob("*.*"):
            file.read_bytes()
    with nginx(site.folder, folder):
        yield Served(int((folder / "pid").read_text()), site.web.base)


def larbinpy(*arguments: str | Path) -> list[str | Path]:
    return [PYTHON, "-m", "larbinpy", *arguments]


# -- a crawl


class Crawl:
    """A group, from its start to the end of its window."""

    def __init__(
        self,
        case: Case,
        group: Group,
        hosts: int,
        web: Served,
        folder: Path,
        ready: Callable[[], object],
    ) -> None:
        """`ready` is called before the seeds come; it returns when all of the bout may begin."""
        self._ready = ready
        self._case = case
        self._group = group
        self._hosts = hosts
        self._web = web
        self._folder = folder
        self._first, self._last = (int(part * hosts * _PAGES) for part in (_FIRST, _LAST))

    def _seeds(self, first: int, last: int) -> Path:
        """A file with the start pages of some hosts."""
        path = self._folder / f"seeds-{first}"
        path.write_text("".join(f"{self._web.seed(host)}\n" for host in range(first, last)))
        return path

    def measure(self) -> Rate:
        with ExitStack() as closing:
            pids: dict[str, list[int]] = {"nodes": [], "redis": [], "server": [self._web.pid]}
            count, hosts = self._group.processes, self._hosts
            if not self._group.joined:
                self._ready()
                for k in range(count):
                    seeds = self._seeds(k * hosts, (k + 1) * hosts)
                    pids["nodes"].append(self._start(closing, f"n{k}", "", "-i", seeds))
            else:
                join, pid = closing.enter_context(redis(self._folder))
                pids["redis"].append(pid)
                # A crawl begins with a seed; this one keeps it going until the others come.
                silent = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
                begin = "http://{}:{}/".format(*silent.getsockname())
                if self._case.one_command:
                    many = ("--nodes", str(count))
                    pids["nodes"].append(self._start(closing, "n", join, begin, *many))
                else:
                    for k in range(count):
                        pids["nodes"].append(self._start(closing, f"n{k}", join, begin))
                self._wait(join)
                self._ready()
                seeds = self._seeds(0, count * hosts)
                subprocess.run(larbinpy("seed", "--join", join, "-i", seeds), check=True)
            return self._window(pids)

    def _start(self, closing: ExitStack, name: str, join: str, *more: str | Path) -> int:
        conf = self._folder / f"{name}.conf"
        conf.write_text(
            f"waitDuration 0 depthInSite 1000000 pagesConnexions {self._case.connexions}\n"
            f"allowPrivate outputMode none outputDir {self._folder / 'out'}\n"
            + (
                f"stateDir {self._folder / 'state'} join {join} node {name}\n"
                if join
                else f"stateDir {self._folder / 'state' / name}\n"
            )
        )
        held = closing.enter_context(control_group(f"{self._folder.name}-{name}", self._case.share))
        process = closing.enter_context(started(larbinpy("crawl", "-c", conf, *more)))
        if held is not None:
            (held / "cgroup.procs").write_text(str(process.pid))
        # Ends without leaving in order: a crawl that has been measured is of no use.
        closing.callback(process.send_signal, signal.SIGINT)
        return process.pid

    def _wait(self, join: str) -> None:
        """Wait until each node has its share of the shards."""
        deadline = time.monotonic() + _JOINING
        while time.monotonic() < deadline:
            time.sleep(1.0)
            told = subprocess.run(
                larbinpy("fleet", "--json", "--join", join), capture_output=True, check=False
            ).stdout
            if told:
                status = json.loads(told)
                shares = [node.get("shards") or 0 for node in status["nodes"]]
                count = self._group.processes
                least = status["shards"]["all"] // count - count
                if len(shares) == count and min(shares) >= least:
                    return
        raise click.ClickException("the nodes did not get their shares")

    def _window(self, pids: Mapping[str, Sequence[int]]) -> Rate:
        """Wait for the first node that may run short; then look what all did in the window."""
        deadline = time.monotonic() + _LONGEST
        samples: list[tuple[float, Mapping[str, float]]] = []
        while time.monotonic() < deadline:
            used = {kind: sum(map(cpu, each)) for kind, each in pids.items()}
            samples.append((time.time(), used))
            time.sleep(0.5)
            logs = list(self._folder.glob("state/**/crawl.jsonl"))
            if any(_lines(log) >= self._last for log in logs):
                break
        nodes = [_times(log) for log in self._folder.glob("state/**/crawl.jsonl")]
        if len(nodes) != self._group.processes or min(map(len, nodes)) <= self._first:
            have = ", ".join(f"{len(times):,}" for times in nodes)
            raise click.ClickException(f"no window: the nodes have {have or 'no'} pages")
        start = max(times[self._first] for times in nodes)
        end = min((times[: self._last][-1]) for times in nodes)
        inside = [sample for sample in samples if start <= sample[0] <= end]
        if len(inside) < 2:
            raise click.ClickException("the window is too short; take more --hosts")
        (begun, before), (ended, after) = inside[0], inside[-1]
        pages = sum(begun <= at < ended for times in nodes for at in times)
        cost = {kind: 1e6 * (after[kind] - before[kind]) / pages for kind in pids}
        return Rate(pages / (ended - begun), **cost)


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def _times(log: Path) -> list[float]:
    """When the pages of a node were fetched, in order."""
    fates = (json.loads(line) for line in log.read_text().splitlines() if line.endswith("}"))
    return sorted(datetime.fromisoformat(fate["ts"]).timestamp() for fate in fates)


def measured(case: Case, bout: Bout, hosts: int, web: Served, folder: Path) -> list[Rate]:
    """The rates of groups that crawl at the same time."""
    barrier = Barrier(len(bout))

    def measure(group: Group) -> Rate:
        own = folder / str(group).replace(" ", "-")
        own.mkdir()
        try:
            return Crawl(case, group, hosts, web, own, barrier.wait).measure()
        except BaseException:
            # The others would wait for it.
            barrier.abort()
            raise

    with ThreadPoolExecutor(len(bout)) as threads:
        return list(threads.map(measure, bout))


@click.command(help=__doc__)
@click.argument("case", type=click.Choice(list(CASES)))
@click.option("--hosts", default=1000, show_default=True, help="Hosts for each node.")
@click.option("--rounds", default=2, show_default=True)
def main(case: str, hosts: int, rounds: int) -> None:
    compared = CASES[case]
    warn_of_load()
    columns = ("pages/s", "us a page: nodes", "Redis", "server", "times the first")
    table = Table(f"scaling, {case}", "processes", "round", *columns)
    rates: defaultdict[Group, list[float]] = defaultdict(list)
    ratios: defaultdict[tuple[Group, Group], list[float]] = defaultdict(list)
    _CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="scaling-", dir=_CACHE) as name, ExitStack() as closing:
        folder = Path(name)
        all_hosts = hosts * max(map(max, compared.bouts)).processes
        served = slow_web() if compared.slow else documentation(all_hosts, folder)
        web = closing.enter_context(served)
        for number in range(rounds):
            base = 0.0
            for place, bout in enumerate(compared.bouts):
                own = folder / f"{number}-{place}"
                own.mkdir()
                found = measured(compared, bout, hosts, web, own)
                base = found[0].pages if len(bout) > 1 or not place else base
                for group, rate in zip(bout, found, strict=True):
                    rates[group].append(rate.pages)
                    if group != bout[0]:
                        ratios[group, bout[0]].append(rate.pages / base)
                    say(f"{group}: {rate}")
                    cost = (rate.nodes, rate.redis, rate.server)
                    table.add(str(group), number + 1, rate.pages, *cost, rate.pages / base)
    print(table.markdown())
    for (group, like), each in ratios.items():
        print(f"{group} / {like}, at the same time: {median(each):.3f}")
    if not ratios:
        for group, like in _pairs([group for bout in compared.bouts for group in bout]):
            print(f"{group} / {like}: {mean(rates[group]) / mean(rates[like]):.2f}")


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    """Each group with the first, with one of its kind, and with as many processes apart."""
    for group in groups[1:]:
        likes = (groups[0], Group(1, group.joined), Group(group.processes, joined=False))
        yield from (
            (group, like) for like in dict.fromkeys(likes) if like in groups and like != group
        )


if __name__ == "__main__":
    main()
