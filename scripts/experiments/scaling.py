"""Pages a second of a fleet by its number of nodes: ``python -m experiments.scaling NODES...``.

All nodes crawl the same documentation, served by nginx on loopback, from a Redis of their own. With
--share each node gets a part of one core, by a control group (version 1), as on a machine of its
own; that takes root. Nodes join first, then they get their seeds.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from benchmarks.corpora import Source, chosen
from benchmarks.programs import Ground, Job
from benchmarks.scenarios import BROAD
from benchmarks.serving import nginx

from experiments.report import Table
from experiments.runs import PYTHON, say

_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD = 20_000
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "larbinpy-bench"


@contextmanager
def group(name: str, share: float) -> Iterator[Path | None]:
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
def redis(folder: Path) -> Iterator[str]:
    """A redis-server; the value is the address of a crawl there."""
    socket = folder / "socket"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--appendonly", "yes"]
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL) as process:
        try:
            while not socket.exists():
                time.sleep(0.05)
            yield f"unix:{socket}?crawl=scaling"
        finally:
            process.terminate()


def crawl(job: Job, nodes: int, share: float, *, joined: bool, wait: float, most: int) -> float:
    """Pages a second of all nodes together."""
    with ExitStack() as closing:
        address = closing.enter_context(redis(job.folder)) if joined else ""
        processes = []
        for k in range(nodes):
            conf = job.folder / f"{k}.conf"
            conf.write_text(
                f"waitDuration {wait} depthInSite 1000000 pagesConnexions {most} allowPrivate\n"
                f"outputMode none stateDir {job.folder / f'state{k}'} outputDir {job.folder}/o{k}\n"
                + (f"join {address} node n{k}\n" if joined else "")
            )
            command: list[str | Path] = [
                PYTHON,
                "-m",
                "larbinpy",
                "crawl",
                "-c",
                conf,
                "-i",
                job.seeds(),
            ]
            held = closing.enter_context(group(str(k), share))
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            if held is not None:
                (held / "cgroup.procs").write_text(str(process.pid))
            processes.append(process)
        for process in processes:
            process.wait()
    times = []
    for log in job.folder.glob("state*/**/crawl.jsonl"):
        fates = map(json.loads, log.read_text().splitlines())
        times += [datetime.fromisoformat(fate["ts"]).timestamp() for fate in fates]
    times.sort()
    if len(times) < job.expected:
        raise click.ClickException(f"{len(times)} of {job.expected} pages")
    first, last = len(times) // 4, len(times) * 9 // 10
    return (last - first) / (times[last] - times[first])


@click.command()
@click.argument("nodes", nargs=-1, type=int)
@click.option("--hosts", default=400, show_default=True)
@click.option("--share", default=0.0, help="Part of a core for each node.  [default: all cores]")
@click.option("--rounds", default=1, show_default=True)
@click.option("--wait", default=0.0, show_default=True, help="waitDuration (s).")
@click.option("--connexions", default=100, show_default=True, help="pagesConnexions.")
def main(
    nodes: tuple[int, ...], hosts: int, share: float, rounds: int, wait: float, connexions: int
) -> None:
    """Compare fleets of so many NODES with one process that is alone."""
    source = Source(chosen(["python"], ())[0], _CACHE)
    site = source.site(BROAD, hosts)
    table = Table("scaling", "nodes", "round", "pages/s", "times one joined", "times alone")
    with TemporaryDirectory(prefix="scaling-", dir=_CACHE) as name:
        folder = Path(name)
        with nginx(site.folder, folder) as server:
            ground = Ground(site, server, 9, folder)
            for number in range(rounds):
                rates: dict[int, float] = {}
                for count in (0, *nodes):
                    rate = crawl(
                        ground.job(hosts),
                        count or 1,
                        share,
                        joined=count > 0,
                        wait=wait,
                        most=connexions,
                    )
                    rates[count] = rate
                    one = rate / rates[1] if 1 in rates else 0.0
                    say(f"{count or 'alone'}: {rate:,.0f} pages/s")
                    table.add(count or "alone", number + 1, rate, one, rate / rates[0])
    print(table.markdown())


if __name__ == "__main__":
    main()
