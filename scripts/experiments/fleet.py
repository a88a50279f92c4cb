"""Simulates fleets that have met ten billion URLs: the real deciders over a vault in memory.

Members, takes, loads, rounds, letters and looks are real messages, and are counted. URLs are
counts: a line stands for all new URLs of a shard in a round. Costs are figures measured with one
Redis on loopback (see `_REDIS`), so times are estimates. A node is killed, one joins and one
leaves, at times drawn by the seed.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from random import Random

from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.node import Local, Node
from larbinpy.fleet.vault import Part, ShardLook, Then
from tests.support.memoryvault import Command, Data, Engine, MemoryVault

_STEP = 0.1
#: Seconds of a node's processor for a page, with its share of the fleet's work.
_PAGE = 804e-6
#: Seconds for a fingerprint that is loaded, and for a queued URL.
_LOAD, _LINE = 1.06e-6, 3.3e-6
#: New URLs of a page, and lines of it that go to other owners in a large fleet.
_NEW, _LETTERS = 6.5, 2.0
#: Bytes in Redis: a URL met, a URL owed, a shard, a turn.
_MET, _OWED, _SHARD, _TURN = 8.5, 24.0, 2560, 163
#: Seconds of a turn in Redis: waitDuration, with a request.
_WAIT = 31.0
#: Microseconds of Redis by verb, and for a page's two operations on its turn.
_REDIS = {"commit": 12.0, "post": 1.2, "collect": 0.5, "look": 0.5, "take": 3.0, "load": 50.0}
_OTHER = 2.0
_TURNS = 4.0
#: Pages that share the URLs of a shard: sites have as many as a Pareto distribution draws.
_SITES, _ALPHA = 500, 1.2


class CountingEngine(Engine):
    """Counts the commands by verb."""

    def __init__(self, shards: int) -> None:
        super().__init__(shards, masters=1, window=0.0)
        self.calls: Counter[str] = Counter()

    def execute(self, master: int, command: Command) -> object:
        verb = command.__qualname__.split(".")[1]
        self.calls["commit" if verb == "_fenced" else verb] += 1
        return super().execute(master, command)


class Connection(MemoryVault):
    """A connection whose loads take the time that the node needs for their fingerprints."""

    def __init__(self, engine: Engine, simulation: "Simulation") -> None:
        super().__init__(engine, lambda: simulation.random.uniform(0.0, 0.002))
        self._simulation = simulation
        self._loads: list[tuple[float, Then[Part], Part]] = []
        self._free_at = 0.0

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        def loaded(part: Part) -> None:
            start = max(self._free_at, self._simulation.now)
            met, owed = self._simulation.met(shard), self._simulation.owed(shard)
            self._free_at = start + met * _LOAD + owed * _LINE
            self._loads.append((self._free_at, then, part))

        super().load(shard, cursor, loaded)  # type: ignore[arg-type]  # nothing is cut here

    def look(self, then: Then[Sequence[ShardLook]]) -> None:
        simulation = self._simulation

        def look(data: Data, now: float) -> Sequence[ShardLook]:
            # This was counted once, and is about all shards.
            simulation.engine.calls["look"] += simulation.engine.shards - 1
            return simulation.look()

        self._send([(0, look)], then)

    def step(self) -> None:
        super().step()
        due = [load for load in self._loads if load[0] <= self._simulation.now]
        self._loads = [load for load in self._loads if load[0] > self._simulation.now]
        for _, then, part in due:
            then(part)

    @property
    def is_loading(self) -> bool:
        return bool(self._loads)


class Crawl(Local):
    """A node; its pages are a count."""

    def __init__(self, name: str, simulation: "Simulation") -> None:
        self._simulation = simulation
        self.vault = Connection(simulation.engine, simulation)
        self.journal = ShardJournal()
        self._names = 0
        self._name = name
        self.node = Node(
            self.vault,
            self,
            self.journal,
            self._name_session,
            lambda session: False,
            simulation.engine.shards,
            0.0,
        )
        self.pages = 0.0
        self._letters = 0.0
        self._served: set[int] = set()
        self._owed: list[int] = []
        self._save_at = simulation.random.random()

    def _name_session(self) -> str:
        self._names += 1
        return f"{self._name}.{self._names}"

    def seed(self) -> bool:
        self.journal.letter(0, "seed")
        return True

    def loaded(self, shard: int, part: Part, lines: Sequence[tuple[int, str]]) -> None:
        self._served.add(shard)
        self._owed += [origin for origin, _ in lines]

    def receive(self, shard: int, lines: Sequence[str]) -> None:
        """The seed is never done, so the crawl does not end."""
        if "seed" in lines:
            self.journal.put(shard, 1, "seed")

    def withdraw(self, shard: int) -> None:
        self._served.discard(shard)

    def busy(self, shard: int) -> bool:
        return False

    @property
    def is_spent(self) -> bool:
        return False

    def interrupt(self) -> None:
        return

    def clear(self) -> None:
        self._served.clear()
        self._owed.clear()

    def serving(self) -> list[int]:
        return [shard for shard in self._served if self.journal.serves(shard)]

    def step(self, now: float) -> None:
        self.vault.step()
        self.node.step(now)
        if self._served and self.node.may_open(now) and not self.vault.is_loading:
            pages = _STEP / _PAGE
            self.pages += pages
            self._letters += pages * _LETTERS
        if now >= self._save_at:
            self._save_at = now + 1.0
            self._make_round()

    def _make_round(self) -> None:
        """Note the changes of a second: in each shard served, and letters to a part of all."""
        random, shards = self._simulation.random, self._simulation.engine.shards
        for origin in self._owed:
            self.journal.done(origin)
        self._owed = [self.journal.put(shard, 1, "line") for shard in self.serving()]
        hit = {random.randrange(shards) for _ in range(int(self._letters))}
        for shard in hit - self._served:
            self.journal.letter(shard, "line")
        self._letters = 0.0
        self.journal.tidy(self.journal.cut())


class Simulation:
    """A fleet for some time."""

    def __init__(self, nodes: int, shards: int, seed: int) -> None:
        self.random = Random(seed)
        #: How many URLs were met.
        self.urls = 0.0
        self.engine = CountingEngine(shards)
        sites = [
            sum(self.random.paretovariate(_ALPHA) for _ in range(_SITES)) for _ in range(shards)
        ]
        total = sum(sites)
        self.weights = [weight / total for weight in sites]
        self.now = 0.0
        opening = MemoryVault(self.engine)
        opening.open({}, lambda answer: None)
        opening.step()
        self.crawls = [Crawl(f"n{k}", self) for k in range(nodes)]
        #: Sums of the seconds without a serving owner, over all shards.
        self.ownerless = 0.0
        self.moves = 0
        self._owners = [""] * shards
        self._look: Sequence[ShardLook] = ()
        self._looked_at = -1.0

    def met(self, shard: int) -> float:
        return self.urls * self.weights[shard]

    def owed(self, shard: int) -> int:
        return int(self.met(shard) * (_NEW - 1) / _NEW)

    def look(self) -> Sequence[ShardLook]:
        """All shards with the URLs that the counts stand for; made once for all at a time."""
        if self._looked_at != self.now:
            self._looked_at = self.now
            standings = enumerate(self.engine.standings)
            self._look = [each._replace(owing=each.owing + self.owed(k)) for k, each in standings]
        return self._look

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += _STEP
            self.engine.step(self.now)
            for crawl in list(self.crawls):
                crawl.step(self.now)
                if crawl.node.is_over:
                    self.crawls.remove(crawl)
            serving = {
                shard: crawl.node.session for crawl in self.crawls for shard in crawl.serving()
            }
            self.ownerless += _STEP * (self.engine.shards - len(serving))
            for shard, owner in serving.items():
                self.moves += owner != self._owners[shard]
                self._owners[shard] = owner

    def served(self) -> set[int]:
        return {shard for crawl in self.crawls for shard in crawl.serving()}

    def pages(self) -> float:
        return sum(crawl.pages for crawl in self.crawls)


def simulate(nodes: int, shards: int, urls: float, seed: int, seconds: float) -> None:
    """Print a line for a fleet at rest, and one for each change."""
    began = time.process_time()
    fleet = Simulation(nodes, shards, seed)
    while len(fleet.served()) < shards:
        fleet.run(1.0)
    fleet.urls = urls
    fleet.run(5.0)
    fleet.engine.calls.clear()
    before = fleet.pages()
    fleet.run(seconds)
    rate = (fleet.pages() - before) / seconds
    calls = fleet.engine.calls
    busy = {verb: count * _REDIS.get(verb, _OTHER) / seconds / 1e6 for verb, count in calls.items()}
    busy["turns"] = rate * _TURNS / 1e6
    owed = urls * (_NEW - 1) / _NEW
    memory = urls * _MET + owed * _OWED + shards * _SHARD + rate * _WAIT * _TURN
    loads = [sum(fleet.weights[shard] for shard in crawl.serving()) for crawl in fleet.crawls]
    print(
        f"{nodes} nodes, {shards} shards, {urls:.0e} URLs: {rate:,.0f} pages/s, Redis "
        f"{sum(busy.values()):.2f} cores and {memory / 1e9:,.0f} GB; largest node "
        f"{max(loads) * nodes:.2f} of the mean, {urls * max(loads) * 15 / 1e9:.1f} GB of seen"
    )
    walls = sorted(busy.items(), key=lambda item: -item[1])
    print("  Redis: " + ", ".join(f"{verb} {cores:.3f}" for verb, cores in walls[:6]))
    for change in ("kill", "join", "leave"):
        fleet.ownerless, fleet.moves = 0.0, 0
        if change == "kill":
            fleet.crawls.pop(fleet.random.randrange(len(fleet.crawls)))
        elif change == "join":
            fleet.crawls.append(Crawl(f"new{seed}", fleet))
        else:
            fleet.random.choice(fleet.crawls).node.leave()
        start = fleet.now
        fleet.run(10.0)
        while len(fleet.served()) < shards:
            fleet.run(0.5)
        mean = fleet.ownerless / max(1, fleet.moves)
        print(
            f"  {change}: {fleet.moves} shards moved, {mean:.1f} s without an owner each, "
            f"all served after {fleet.now - start:.0f} s"
        )
    print(f"  ({time.process_time() - began:.0f} s of CPU)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="2,10,100", help="sizes of the fleets [2,10,100]")
    parser.add_argument("--urls", type=float, default=1e10, help="URLs met [1e10]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="time at rest [10]")
    options = parser.parse_args()
    for nodes in map(int, options.nodes.split(",")):
        shards = 256 if nodes <= 16 else 4096
        simulate(nodes, shards, options.urls, options.seed, options.seconds)


if __name__ == "__main__":
    main()
