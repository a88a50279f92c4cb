"""Command of scripts/fleet-ends."""

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
from experiments.fleetlog import Request
from experiments.fleetredis import FaultyRedis, FaultyServer
from experiments.runs import say
from fleet_test import Nodes, Web

from tests.support.ports import free_port

_ADDRESSES = 16
_LONGEST = 120.0
#: Seconds from the last request to the end of the crawl.
_BOUND = 5.0


class Kill(NamedTuple):
    """The end of one node: this many seconds after the log has this many requests."""

    requests: int
    after: float


class Run(NamedTuple):
    """A crawl that ended; seconds."""

    #: From the last request to the end of the last node.
    end: float
    #: From the kill to that end; None if no node was killed.
    since_kill: float | None
    #: Pages that nobody fetched.
    lost: int
    codes: list[int]

    @property
    def is_good(self) -> bool:
        return not self.lost and not any(self.codes) and self.end <= _BOUND


class Crawls:
    """Small crawls of one web, one after the other."""

    def __init__(self, folder: Path, web: Web, log: Path, redis: FaultyRedis, nodes: int) -> None:
        self._folder = folder
        self._web = web
        self._log = log
        self._redis = redis
        self._nodes = nodes

    def run(self, number: int, kill: Kill | None, random: Random) -> Run:
        folder = self._folder / str(number)
        folder.mkdir()
        lines = (
            f"join redis://{self._redis.servers}/c{number} waitDuration 0.2 allowPrivate "
            f"outputMode none stateDir {folder / 'state'} outputDir {folder / 'save'} "
            "depthInSite 1000 retries 10"
        )
        nodes = Nodes(folder, lines, self._web.url(0), self._nodes)
        before = len(self._requests(nodes, 0))
        try:
            return self._run(nodes, kill, random, before)
        finally:
            nodes.close()

    def _run(self, nodes: Nodes, kill: Kill | None, random: Random, before: int) -> Run:
        for name in nodes.addresses:
            nodes.start(name)
        codes: list[int] = []
        due = killed = None
        until = time.time() + _LONGEST
        while nodes.running and time.time() < until:
            codes += nodes.ended().values()
            if kill and killed is None and nodes.running:
                if due is None and len(self._requests(nodes, before)) >= kill.requests:
                    due = time.time() + kill.after
                if due is not None and time.time() >= due:
                    nodes.kill(random.choice(nodes.running))
                    killed = time.time()
            time.sleep(0.02)
        ended = time.time()
        requests = self._requests(nodes, before)
        fetched = {request.path for request in requests if request.status == 200}
        lost = sum(self._web.path(page) not in fetched for page in range(self._web.pages))
        last = max((request.end for request in requests), default=ended)
        codes += [-1] * len(nodes.running)
        return Run(ended - last, killed and ended - killed, lost, codes)

    def _requests(self, nodes: Nodes, first: int) -> list[Request]:
        names = {address: name for name, address in nodes.addresses.items()}
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [Request.of(line, names) for line in lines[first:]]


@click.command()
@click.option("--crawls", default=200, show_default=True)
@click.option("--pages", default=60, show_default=True, help="Pages of each.")
@click.option("--nodes", default=3, show_default=True)
@click.option("--share", default=0.9, show_default=True, help="Share of crawls with a kill.")
@click.option("--seed", default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep all files in this folder.")
def main(crawls: int, pages: int, nodes: int, share: float, seed: int, keep: Path | None) -> None:
    """Run small crawls, in most of which a node is killed, and check how each of them ends.

    A kill comes at a random number of requests, or soon after the last page. Each crawl prints a
    line of JSON: seconds from the last request to the end, seconds from the kill, pages lost.
    """
    random = Random(seed)
    with ExitStack() as closing:
        folder = keep or Path(closing.enter_context(TemporaryDirectory(prefix="fleet-")))
        for name in ("web", "nginx"):
            (folder / name).mkdir(parents=True)
        # nginx reads it as another user.
        folder.chmod(0o755)
        web = Web(pages, _ADDRESSES, free_port(), folder / "web")
        web.write()
        log = closing.enter_context(web.served(folder / "nginx"))
        redis = FaultyServer(folder / "redis", random, "everysec")
        closing.callback(redis.close)
        made = Crawls(folder, web, log, redis, nodes)
        runs = []
        for number in range(crawls):
            # robots.txt of each address counts, too.
            most = pages + _ADDRESSES
            kill = Kill(random.randint(1, most), random.uniform(0, 4))
            runs.append(made.run(number, kill if random.random() < share else None, random))
            print(json.dumps({"crawl": number, "kill": kill, **runs[-1]._asdict()}), flush=True)
        sys.exit(_report(runs))


def _report(runs: list[Run]) -> bool:
    ends = sorted(run.end for run in runs)
    say(
        f"{len(runs)} crawls, {sum(run.since_kill is not None for run in runs)} with a kill; "
        f"end after the last request: median {ends[len(ends) // 2]:.1f} s, most {ends[-1]:.1f} s"
    )
    say(f"{sum(end <= _BOUND for end in ends)} within {_BOUND:.0f} s")
    say(f"early: {sum(run.lost > 0 for run in runs)}; bad: {[r for r in runs if not r.is_good]}")
    return not all(run.is_good for run in runs)


if __name__ == "__main__":
    main()
