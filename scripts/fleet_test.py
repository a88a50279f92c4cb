"""Command of scripts/fleet-test."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
from experiments import nginx
from experiments.runs import PYTHON, say

_BRANCHES = 3
_CROSS_LINKS = 4
#: Seconds that the log of nginx may be wrong: it has milliseconds, for both ends of a gap.
_BLUR = 0.002
_LONGEST = 1500.0


class Web:
    """`pages` pages on some loopback addresses, each linked from others of other addresses."""

    def __init__(self, pages: int, addresses: int, port: int, folder: Path) -> None:
        self.pages = pages
        self.port = port
        self.addresses = [f"127.0.9.{n + 1}" for n in range(addresses)]
        self._folder = folder

    def url(self, number: int) -> str:
        address = self.addresses[number * 31 % len(self.addresses)]
        return f"http://{address}:{self.port}/p{number % 100}/{number}.html"

    def write(self) -> None:
        random = Random(1)
        for folder in range(100):
            (self._folder / f"p{folder}").mkdir(parents=True)
        for number in range(self.pages):
            first = number * _BRANCHES + 1
            links = [n for n in range(first, first + _BRANCHES) if n < self.pages]
            links += [random.randrange(self.pages) for _ in range(_CROSS_LINKS)]
            text = "".join(f'<a href="{self.url(n)}">{n}</a>\n' for n in links)
            path = self._folder / f"p{number % 100}" / f"{number}.html"
            path.write_text(f"<title>{number}</title>{text}")

    @contextmanager
    def served(self, folder: Path) -> Iterator[Path]:
        """Serve it; the value is the log of nginx: start, end, address and path of each request."""
        log = folder / "access.log"
        text = f"""
            worker_processes 1; daemon off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 4000; }}
            http {{
                {nginx.temporary_paths(folder)}
                log_format all '$msec $request_time $server_addr $request_uri';
                access_log {log} all;
                server {{ listen 0.0.0.0:{self.port}; root {self._folder};
                    keepalive_requests 1000000; types {{ text/html html; }} }}
            }}"""
        with nginx.running(text, folder, self.port):
            yield log


class Request(NamedTuple):
    start: float
    end: float
    path: str


class Politeness(NamedTuple):
    """Gaps between two requests to one address: their number, the least, and those too short."""

    gaps: int
    least: float
    faults: list[tuple[str, Request, Request]]

    @classmethod
    def of(cls, log: Path, wait: float) -> "Politeness":
        by_address = defaultdict(list)
        for line in log.read_text().splitlines():
            end, took, address, path = line.split(" ", 3)
            by_address[address].append(Request(float(end) - float(took), float(end), path))
        gaps, faults = [], []
        for address, requests in by_address.items():
            for first, second in pairwise(sorted(requests)):
                gap = second.start - first.end
                gaps.append(gap)
                if gap < wait - _BLUR:
                    faults.append((address, first, second))
        return cls(len(gaps), min(gaps, default=0.0), faults)


class Nodes:
    """The nodes of a fleet as processes."""

    def __init__(self, folder: Path, lines: str, seed: str, names: list[str]) -> None:
        self._folder = folder
        self._lines = lines
        self._seed = seed
        self.names = names
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.codes: dict[str, int] = {}

    def start(self, name: str) -> None:
        conf = self._folder / f"{name}.conf"
        conf.write_text(f"{self._lines} node {name}\n")
        command = [PYTHON, "-m", "larbinpy", "crawl", "-c", str(conf), self._seed]
        with (self._folder / f"{name}.out").open("ab") as out:
            self._processes[name] = subprocess.Popen(command, stdout=out, stderr=out)

    def look(self) -> list[str]:
        """The nodes that run; those that ended have `codes`."""
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                self.codes[name] = process.returncode
                del self._processes[name]
        return list(self._processes)

    def signal(self, name: str, number: int) -> None:
        self._processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        for name in list(self._processes):
            self.kill(name)

    def fetched(self) -> Counter[str]:
        """How often each page was fetched, by the logs of all nodes."""
        found: Counter[str] = Counter()
        for name in self.names:
            log = self._folder / "state" / name / "crawl.jsonl"
            for line in log.read_text().splitlines() if log.exists() else ():
                fate = json.loads(line)
                if fate["outcome"] == "success":
                    found[fate["url"]] += 1
        return found

    def said(self) -> set[str]:
        """The lines of tracebacks."""
        texts = (path.read_text(errors="replace") for path in self._folder.glob("*.out"))
        return {line for text in texts for line in text.splitlines() if "Error" in line}


class Redis:
    """A redis-server that may be killed."""

    def __init__(self, folder: Path, fsync: str) -> None:
        self.port = _free_port()
        self._command = ["redis-server", "--port", str(self.port), "--appendonly", "yes"]
        self._command += ["--appendfsync", fsync, "--dir", str(folder), "--save", ""]
        self._command += ["--bind", "127.0.0.1"]
        self._log = folder / "redis.out"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as out:
            self.process = subprocess.Popen(self._command, stdout=out, stderr=out)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def _free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


@click.command()
@click.option("--pages", default=5000, show_default=True)
@click.option("--addresses", default=64, show_default=True)
@click.option("--nodes", default=3, show_default=True, help="Nodes at most.")
@click.option("--kills", default=10, show_default=True, help="Nodes that are killed.")
@click.option("--stops", default=0, show_default=True, help="Nodes stopped, for 3, 8 or 20 s.")
@click.option("--redis-kills", default=0, show_default=True)
@click.option("--wait", default=0.05, show_default=True, help="waitDuration (s).")
@click.option("--wait-by", default="ip", show_default=True, help="waitBy: ip or site.")
@click.option("--every", default=3.0, show_default=True, help="Seconds between two faults.")
@click.option("--fsync", default="everysec", show_default=True, help="appendfsync of Redis.")
@click.option("--seed", default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep all files in this folder.")
def main(
    pages: int,
    addresses: int,
    nodes: int,
    kills: int,
    stops: int,
    redis_kills: int,
    wait: float,
    wait_by: str,
    every: float,
    fsync: str,
    seed: int,
    keep: Path | None,
) -> None:
    """Crawl a web with a fleet whose nodes and Redis fail, and check what it did."""
    random = Random(seed)
    faults = ["kill"] * kills + ["stop"] * stops + ["redis"] * redis_kills
    random.shuffle(faults)
    with ExitStack() as closing:
        folder = keep or Path(closing.enter_context(TemporaryDirectory(prefix="fleet-")))
        web = Web(pages, addresses, _free_port(), folder / "web")
        for name in ("web", "nginx", "redis"):
            (folder / name).mkdir(parents=True)
        # nginx reads it as another user.
        folder.chmod(0o755)
        web.write()
        log = closing.enter_context(web.served(folder / "nginx"))
        redis = Redis(folder / "redis", fsync)
        closing.callback(redis.kill)
        lines = (
            f"join redis://127.0.0.1:{redis.port}/test waitDuration {wait} waitBy {wait_by} "
            f"allowPrivate outputMode none stateDir {folder / 'state'} outputDir {folder / 'save'} "
            "pagesConnexions 200 depthInSite 1000 retries 10 maxConnexionsBySite 1"
        )
        fleet = Nodes(folder, lines, web.url(0), [f"n{k}" for k in range(nodes)])
        closing.callback(fleet.close)
        began = time.monotonic()
        last = _run(fleet, redis, faults, random, every, log)
        took = time.monotonic() - began
        sys.exit(_report(web, fleet, Politeness.of(log, wait), took, last, len(faults)))


def _run(
    fleet: Nodes, redis: Redis, faults: list[str], random: Random, every: float, log: Path
) -> float:
    """Run the fleet to its end; return the seconds from the last request to it."""
    for name in fleet.names:
        fleet.start(name)
    began = time.monotonic()
    next_at, stopped = began + every, dict[str, float]()
    while True:
        running, now = fleet.look(), time.monotonic()
        if not running or now > began + _LONGEST:
            break
        for name in [name for name, until in stopped.items() if now >= until]:
            del stopped[name]
            if name in running:
                fleet.signal(name, signal.SIGCONT)
        if faults and now >= next_at:
            next_at = now + every * random.uniform(0.5, 1.5)
            fault = faults.pop()
            free = [name for name in running if name not in stopped]
            if fault == "redis":
                redis.kill()
                time.sleep(random.uniform(0, 2))
                redis.start()
            elif free and fault == "stop":
                name = random.choice(free)
                fleet.signal(name, signal.SIGSTOP)
                stopped[name] = now + random.choice((3, 8, 20))
            elif free:
                fleet.kill(random.choice(free))
        lacking = [name for name in fleet.names if name not in running and name not in fleet.codes]
        if lacking and random.random() < 0.05:
            fleet.start(random.choice(lacking))
        time.sleep(0.05)
    return time.time() - os.stat(log).st_mtime


def _report(
    web: Web, fleet: Nodes, politeness: Politeness, took: float, last: float, faults: int
) -> int:
    found = fleet.fetched()
    lost = [n for n in range(web.pages) if not found[web.url(n)]]
    again = sum(count - 1 for count in found.values())
    say(f"{web.pages} pages in {took:.1f} s, {faults} faults left; exit {fleet.codes}")
    say(f"lost {len(lost)}: {lost[:5]}; fetched again {again}; end {last:.1f} s after the last")
    say(
        f"{politeness.gaps} gaps, least {politeness.least:.4f} s, too short {politeness.faults[:3]}"
    )
    say(f"{len(politeness.faults)} too short; errors said: {sorted(fleet.said())[:5]}")
    return bool(lost or politeness.faults or any(fleet.codes.values()))


if __name__ == "__main__":
    main()
