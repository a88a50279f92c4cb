"""Names a second of whole programs, which ask the same nsd in turn."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from experiments import names
from experiments.runs import PYTHON, Run, Spread, run, say

#: Numbers of tasks to try with the two asynchronous libraries; the best counts.
PARALLEL = (20, 100, 500)


@dataclass(slots=True, frozen=True)
class Rate:
    """Names a second of one run."""

    #: By the time of the whole process.
    whole: float
    #: By the program's own clock, without its start.
    own: float
    max_rss: int


@dataclass(slots=True)
class Client:
    """A program that resolves names, and its runs."""

    name: str
    count: int
    measure: Callable[[int], Rate]
    rates: list[Rate] = field(default_factory=list)

    def once_more(self) -> None:
        rate = self.measure(self.count)
        say(f"  {self.name}: {rate.whole:,.0f} names/s")
        self.rates.append(rate)

    @property
    def whole(self) -> Spread:
        return Spread.of([rate.whole for rate in self.rates])

    @property
    def own(self) -> Spread:
        return Spread.of([rate.own for rate in self.rates])

    @property
    def max_rss(self) -> Spread:
        return Spread.of([rate.max_rss for rate in self.rates])


class Clients:
    """Runs the programs, with files in `folder`; the server at `port` knows all names."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port

    def larbinpy(self, count: int) -> Rate:
        out = self._folder / "out"
        server = f"127.0.0.1:{self._port}"
        names_file = self._list(count)
        done = run([PYTHON, "-m", "larbinpy", "resolve", names_file, "--server", server], out)
        _check(out, count)
        seconds = re.search(r" names in ([\d.]+) s", done.errors)
        assert seconds is not None, done.errors
        return _rate(done, count, float(seconds[1]))

    def peer(self, name: str, parallel: int) -> Callable[[int], Rate]:
        def measure(count: int) -> Rate:
            options = [name, str(self._list(count)), str(self._port), str(parallel)]
            done = run([PYTHON, "-m", "experiments.peers", *options], self._folder / "out")
            summary = json.loads(done.errors.splitlines()[-1])
            if summary["failed"]:
                say(f"  {name} failed for {summary['failed']} names")
            return _rate(done, count, summary["seconds"])

        return measure

    def best_peer(self, name: str, count: int) -> Client:
        """The library with its best number of tasks, found by a short run of each."""
        tries = {n: self.peer(name, n)(max(count // 5, 1)).own for n in PARALLEL}
        best = max(tries, key=lambda n: tries[n])
        return Client(f"{name}, {best} tasks", count, self.peer(name, best))

    def dnsperf(self, count: int) -> Rate:
        out = self._folder / "out"
        server = ["-s", "127.0.0.1", "-p", str(self._port)]
        done = run(["dnsperf", *server, "-n", "1", "-d", self._list(count, " A")], out)
        seconds = re.search(r"Run time \(s\):\s+([\d.]+)", out.read_text())
        assert seconds is not None
        return _rate(done, count, float(seconds[1]))

    def _list(self, count: int, suffix: str = "") -> Path:
        path = self._folder / f"{count}{suffix.strip()}.txt"
        if not path.exists():
            names.write_lines(path, (names.host(n) + suffix for n in range(count)))
        return path


def _rate(done: Run, count: int, own_seconds: float) -> Rate:
    return Rate(count / done.seconds, count / own_seconds, done.max_rss)


def _check(out: Path, count: int) -> None:
    """Raise RuntimeError unless every name has exactly the address in the zone."""
    known = bytearray(count)
    with out.open() as lines:
        for line in lines:
            name, _, address = line.rstrip().partition(" ")
            number = int(name[len("www.s") : -len(".bench")])
            known[number] += address == names.address(number)
    wrong = count - sum(known) if max(known) == 1 else -1
    if wrong:
        raise RuntimeError(f"larbinpy: {wrong} of {count} names have no or a wrong address")


def in_turn(clients: Iterable[Client], rounds: int) -> None:
    """Run each once a round, so that other load on the machine affects all alike."""
    clients = list(clients)
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for client in clients:
            client.once_more()
