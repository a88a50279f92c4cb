"""Command of scripts/fleet-test."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import click
from experiments import nginx
from experiments.fleetlog import Fault, Politeness, Repeats, Request
from experiments.fleetredis import (
    FAILOVER,
    KILL,
    KINDS,
    MOVE,
    NOTICED,
    FaultyCluster,
    FaultyRedis,
    FaultyServer,
    Outage,
)
from experiments.runs import PYTHON, say

from larbinpy.errors import USAGE, Ending
from tests.support.ports import free_port

_BRANCHES = 3
_CROSS_LINKS = 4
_LONGEST = 3600.0
#: The fewest nodes that are wanted at a time.
_FEWEST = 2
#: Seconds that a stop of a node lasts, in turn.
_STOPS = (3, 8, 20)
#: Seconds for which nginx, on a busy machine, answers requests of a node that was killed.
_ANSWERED = 3.0
#: Seconds after a wake of a node after which it has noticed that it was stopped.
_WAKING = 1.0
#: Exit status of a node that is asked to leave, also while it starts: before it catches signals,
#: and before it has joined.
_LEFT = (Ending.STOPPED.code, -signal.SIGTERM, 130)
#: Seconds between two rounds. A node that has nothing left saves its state more often than that.
_ROUND = 0.9
#: A line of a node whose session has ended; seconds after a fault in which that is due to it, and
#: seconds before it for which Redis may not have answered, if there was no fault.
_REJOINS = b": this node joins again"
_DUE, _SILENCE = 15.0, 20.0
#: Seconds that a node needs to reach Redis after its start.
_STARTING = 10.0


class Web:
    """`pages` pages on some loopback addresses, each linked from others of other addresses."""

    def __init__(self, pages: int, addresses: int, port: int, folder: Path) -> None:
        self.pages = pages
        self.port = port
        self.addresses = [f"127.0.9.{n + 1}" for n in range(addresses)]
        self._folder = folder

    def url(self, number: int) -> str:
        address = self.addresses[number * 31 % len(self.addresses)]
        return f"http://{address}:{self.port}{self.path(number)}"

    def path(self, number: int) -> str:
        return f"/p{number % 100}/{number}.html"

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
        """Serve it; the value is the log of nginx, with lines as `Request.of` reads them."""
        log = folder / "access.log"
        text = f"""
            worker_processes 1; daemon off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 4000; }}
            http {{
                {nginx.temporary_paths(folder)}
                log_format all
                    '$msec $request_time $status $remote_addr $server_addr $request_uri';
                access_log {log} all;
                server {{ listen 0.0.0.0:{self.port}; root {self._folder};
                    keepalive_requests 1000000; types {{ text/html html; }} }}
            }}"""
        with nginx.running(text, folder, self.port):
            yield log


class Nodes:
    """The nodes of a fleet as processes. Each has an address of its own for its requests."""

    def __init__(self, folder: Path, lines: str, seed: str, most: int) -> None:
        self._folder = folder
        self._lines = lines
        self._seed = seed
        self.addresses = {f"n{k}": f"127.0.8.{k + 1}" for k in range(most)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        #: When each node was started last.
        self.started: dict[str, float] = {}
        #: The nodes that were asked to leave.
        self.leaving: set[str] = set()
        #: By node: when its state was saved, which begins a round.
        self.rounds: defaultdict[str, list[float]] = defaultdict(list)
        # By node: how many sessions have ended, by its output.
        self._sessions: Counter[str] = Counter()

    def start(self, name: str) -> None:
        conf = self._folder / f"{name}.conf"
        conf.write_text(f"{self._lines} node {name} sourceAddress {self.addresses[name]}\n")
        command = [PYTHON, "-m", "larbinpy", "crawl", "-c", str(conf), self._seed]
        with (self._folder / f"{name}.out").open("ab") as out:
            self._processes[name] = subprocess.Popen(command, stdout=out, stderr=out)
        self.started[name] = time.time()

    def ended(self) -> dict[str, int]:
        """The exit status of each node that has ended since the last call."""
        codes = {}
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                codes[name] = process.returncode
                del self._processes[name]
                self.leaving.discard(name)
        return codes

    @property
    def running(self) -> list[str]:
        return list(self._processes)

    @property
    def away(self) -> list[str]:
        return [name for name in self.addresses if name not in self._processes]

    @property
    def at_work(self) -> list[str]:
        """The nodes that have had a round since their start."""
        return [name for name in self._processes if self.started[name] < self.last_round(name)]

    def last_round(self, name: str) -> float:
        return self.rounds[name][-1] if self.rounds[name] else 0.0

    def note_rounds(self) -> None:
        for name in self._processes:
            state = self._folder / "state" / name / "state.json"
            saved = state.stat().st_mtime if state.exists() else 0.0
            if saved > max(self.started[name], self.last_round(name) + _ROUND):
                self.rounds[name].append(saved)

    def rejoined(self) -> list[str]:
        """The nodes whose sessions have ended since the last call."""
        before, self._sessions = self._sessions, Counter()
        for name in self.addresses:
            out = self._folder / f"{name}.out"
            self._sessions[name] = out.read_bytes().count(_REJOINS) if out.exists() else 0
        return list(self._sessions - before)

    def signal(self, name: str, number: int) -> None:
        self._processes[name].send_signal(number)

    def leave(self, name: str) -> None:
        self.leaving.add(name)
        self.signal(name, signal.SIGTERM)

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()
        self.leaving.discard(name)

    def close(self) -> None:
        for name in self.running:
            self.kill(name)

    def fetched(self) -> Counter[str]:
        """How often each page was fetched, by the logs of all nodes."""
        found: Counter[str] = Counter()
        for name in self.addresses:
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


class Trial:
    """A crawl with faults: nodes are killed and stopped, come and go, and so does Redis."""

    def __init__(
        self,
        nodes: Nodes,
        redis: FaultyRedis,
        kinds: Sequence[str],
        every: float,
        random: Random,
    ) -> None:
        self._nodes = nodes
        self._redis = redis
        #: The kinds of the faults that are left.
        self.left = list(kinds)
        self._every = every
        self._random = random
        self._next_at = time.time() + every
        self._wanted = len(nodes.addresses)
        # When stopped nodes go on.
        self._stopped: dict[str, float] = {}
        self._stops = 0
        #: The faults so far.
        self.faults: list[Fault] = []
        self.outages: list[Outage] = []
        # Nodes that ended in trouble: name, exit status, when it was started.
        self._troubled: list[tuple[str, int, float]] = []
        self.left_in_order = 0

    def run(self) -> bool:
        """Run the nodes to the end of the crawl; whether it came."""
        for name in self._nodes.addresses:
            self._nodes.start(name)
        until = time.time() + _LONGEST
        while time.time() < until:
            self._nodes.note_rounds()
            self._note_sessions(time.time())
            for name, code in self._nodes.ended().items():
                if code == Ending.FINISHED.code:
                    return self._await_others(until)
                self._note_end(name, code)
            self._step(time.time())
            time.sleep(0.05)
        return False

    def _await_others(self, until: float) -> bool:
        """The crawl has finished, so all nodes end."""
        for name in self._stopped:
            self._nodes.signal(name, signal.SIGCONT)
        while self._nodes.running and time.time() < until:
            self._redis.step()
            for name, code in self._nodes.ended().items():
                if code != Ending.FINISHED.code:
                    self._note_end(name, code)
            time.sleep(0.05)
        return not self._nodes.running

    def _note_sessions(self, now: float) -> None:
        """Sessions end without a fault of this trial where the disk of Redis hangs, for example."""
        for name in self._nodes.rejoined():
            if not any(name in fault.nodes and now < fault.end + _DUE for fault in self.faults):
                self.faults.append(Fault("session ended", [name], now - _SILENCE, now))

    def _note_end(self, name: str, code: int) -> None:
        if code in _LEFT:
            self.left_in_order += 1
        else:
            self._troubled.append((name, code, self._nodes.started[name]))

    @property
    def failed(self) -> list[tuple[str, int]]:
        """Names and exit status of nodes that ended for a reason of their own."""
        return [
            (name, code)
            for name, code, started in self._troubled
            if code != USAGE or not self._found_none(started)
        ]

    def _found_none(self, started: float) -> bool:
        """Whether Redis was away at that time: a node that starts says so, and ends."""
        return any(o.start - _STARTING < started < o.end for o in self.outages)

    def _step(self, now: float) -> None:
        for name in [name for name, until in self._stopped.items() if now >= until]:
            del self._stopped[name]
            self._nodes.signal(name, signal.SIGCONT)
        if (outage := self._redis.step()) is not None:
            self.outages.append(outage)
            if outage.kind != MOVE:
                everybody = list(self._nodes.addresses)
                self.faults.append(Fault(outage.kind, everybody, outage.start, now + NOTICED))
        if self.left and now >= self._next_at:
            self._next_at = now + self._every * self._random.uniform(0.5, 1.5)
            self._happen(self.left.pop(), now)
            self._wanted = self._random.randint(_FEWEST, len(self._nodes.addresses))
        self._come_and_go()

    def _happen(self, kind: str, now: float) -> None:
        free = [name for name in self._nodes.at_work if name not in self._stopped]
        if kind in KINDS and self._redis.is_free:
            self._redis.happen(kind)
        elif kind in KINDS or not free:
            self.left.insert(0, kind)
        elif kind == "stop":
            name = self._random.choice(free)
            self._nodes.signal(name, signal.SIGSTOP)
            self._stopped[name] = now + _STOPS[self._stops % len(_STOPS)]
            self._stops += 1
            self.faults.append(Fault(kind, [name], now, self._stopped[name] + _WAKING))
        else:
            name = self._random.choice(free)
            self._nodes.kill(name)
            self.faults.append(Fault(kind, [name], now, now + _ANSWERED))

    def _come_and_go(self) -> None:
        """Towards the wanted number of nodes, one in a second."""
        if self._random.random() >= 0.05:
            return
        staying = [name for name in self._nodes.running if name not in self._nodes.leaving]
        if len(staying) < self._wanted and self._nodes.away:
            self._nodes.start(self._random.choice(self._nodes.away))
        elif len(staying) > self._wanted:
            self._nodes.leave(self._random.choice(staying))


@click.command()
@click.option("--pages", default=5000, show_default=True)
@click.option("--addresses", default=64, show_default=True)
@click.option("--nodes", default=5, show_default=True, help="Nodes at most; two at least.")
@click.option("--kills", default=10, show_default=True, help="Nodes that are killed.")
@click.option("--stops", default=0, show_default=True, help="Nodes stopped: 3, 8, 20 s in turn.")
@click.option("--cluster", is_flag=True, help="Redis is a Cluster: 3 masters, 3 replicas.")
@click.option("--redis-kills", default=0, show_default=True, help="Kills of Redis, or of masters.")
@click.option("--failovers", default=0, show_default=True, help="Of a Cluster, on request.")
@click.option("--moves", default=0, show_default=True, help="Of 600 slots of a Cluster each.")
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
    cluster: bool,
    redis_kills: int,
    failovers: int,
    moves: int,
    wait: float,
    wait_by: str,
    every: float,
    fsync: str,
    seed: int,
    keep: Path | None,
) -> None:
    """Crawl a web with a fleet whose nodes and Redis fail, and check what it did."""
    random = Random(seed)
    kinds = ["kill"] * kills + ["stop"] * stops + [KILL] * redis_kills
    kinds += [FAILOVER] * failovers + [MOVE] * moves
    random.shuffle(kinds)
    with ExitStack() as closing:
        folder = keep or Path(closing.enter_context(TemporaryDirectory(prefix="fleet-")))
        web = Web(pages, addresses, free_port(), folder / "web")
        for name in ("web", "nginx"):
            (folder / name).mkdir(parents=True)
        # nginx reads it as another user.
        folder.chmod(0o755)
        web.write()
        log = closing.enter_context(web.served(folder / "nginx"))
        redis = FaultyCluster(folder, random) if cluster else FaultyServer(folder, random, fsync)
        closing.callback(redis.close)
        lines = (
            f"join redis://{redis.servers}/test waitDuration {wait} waitBy {wait_by} "
            f"allowPrivate outputMode none stateDir {folder / 'state'} outputDir {folder / 'save'} "
            "pagesConnexions 200 depthInSite 1000 retries 10 maxConnexionsBySite 1"
        )
        fleet = Nodes(folder, lines, web.url(0), nodes)
        closing.callback(fleet.close)
        trial = Trial(fleet, redis, kinds, every, random)
        began = time.time()
        over = trial.run()
        say(f"{pages} pages in {time.time() - began:.1f} s")
        is_good = _report(web, fleet, trial, log, wait)
        sys.exit(not (over and is_good))


def _report(web: Web, nodes: Nodes, trial: Trial, log: Path, wait: float) -> bool:
    ended = time.time()
    happened = Counter(fault.kind for fault in trial.faults)
    say(
        f"{dict(happened)}, {len(trial.left)} faults left; {trial.left_in_order} left in order; "
        f"failed {trial.failed}; said {sorted(nodes.said())[:5]}"
    )
    found = nodes.fetched()
    lost = [n for n in range(web.pages) if not found[web.url(n)]]
    say(f"lost {len(lost)}: {lost[:5]}; end {ended - os.stat(log).st_mtime:.1f} s after the last")
    names = {address: name for name, address in nodes.addresses.items()}
    requests = [Request.of(line, names) for line in log.read_text().splitlines()]
    pages = [r for r in requests if r.status == 200 and r.path.endswith(".html")]
    repeats = Repeats.of(pages, trial.faults, nodes.rounds)
    say(
        f"again {repeats.total}, {repeats.most} in two rounds before faults; "
        f"without reason {len(repeats.without_reason)}: {repeats.without_reason[:3]}"
    )
    politeness = Politeness.of(requests, trial.faults, wait)
    say(
        f"{politeness.gaps} gaps, least {politeness.least:.4f} s; "
        f"too short {len(politeness.too_short)}: {politeness.too_short[:3]}"
    )
    for outage in trial.outages:
        say(
            f"{outage.kind}: served after {outage.served - outage.start:.1f} s, "
            f"no request for {outage.silence(sorted(requests)):.1f} s"
        )
    is_bad = lost or trial.left or trial.failed or repeats.without_reason or politeness.too_short
    return not is_bad


if __name__ == "__main__":
    main()
