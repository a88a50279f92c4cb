"""CPU time of a page, and bytes of a URL, of a crawl whose truth is in Redis.

    python -m experiments.vaultcost pages [APPENDFSYNC]
    python -m experiments.vaultcost bytes [APPENDFSYNC [SEEN [OWED [NEW]]]]

`pages`: one node at full speed. Each page takes a turn and ends it; each second of pages there are
letters to some shards and a commit of each shard that changed, and inboxes are collected ten times.
The time to find links and to pack lines is not in it. `bytes`: the journal of a node writes rounds
of NEW URLs a shard until SEEN were seen, and all but OWED of them are done; then Redis is started
anew. Needs redis-server; prints lines of JSON.
"""

import json
import os
import random
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from signal import SIGTERM
from tempfile import TemporaryDirectory
from typing import Any

from larbinpy.fleet import letters
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import Address, Server, pack, read_info
from larbinpy.fleet.vault import Commit, Verdict
from larbinpy.loop.poller import Poller
from tests.support.redisserver import RedisServer, program_of

SHARDS = 1024
#: Shards of the node; pages a second; new URLs a page (IRLbot), and those for other nodes.
OWN = 512
RATE = 1300
NEW = 6.5
FOREIGN = 0.3
#: Requests that begin in one turn of the loop.
TURN = 20
#: Lines of a block when it is written.
LINES = 128
#: Sites of a shard. The first has most URLs, the second half as many, and so on.
SITES = 64
_SHARES = [1 / (site + 1) for site in range(SITES)]
_WAIT_MS = 12_000


class Node:
    """One node on a server at a socket."""

    def __init__(self, path: Path) -> None:
        self._poller = Poller()
        address = Address((Server(str(path), 0),), "cost")
        self._client = Client(self._poller, time.monotonic, address)
        self.vault = RedisVault(self._client)
        self.ask("open", {"shards": str(SHARDS)})
        self.ask("join", "node.1")

    def pump(self, wait: float = 0.0) -> None:
        self._client.step(time.monotonic())
        self._poller.wait(wait)

    def until(self, holds: Callable[[], Any]) -> None:
        while not holds():
            self.pump(0.01)

    def ask(self, verb: str, *arguments: Any) -> Any:
        answers: list[Any] = []
        getattr(self.vault, verb)(*arguments, answers.append)
        self.until(lambda: answers)
        return answers[0]

    def info(self) -> dict[str, str]:
        found: list[bytes] = []
        self._client.send(0, pack("INFO"), found.append)
        self.until(lambda: found)
        return read_info(found[0])


def url(chooser: random.Random, shard: int) -> str:
    """A line of the length and likeness of those of a documentation."""
    path = "/".join(
        chooser.choice(("library", "reference", "howto", "tutorial", "modules", "whatsnew"))
        for _ in range(3)
    )
    number = chooser.randrange(10**6)
    return f"1 0 https://www{shard}.example.org/3/{path}/page-{number}.html#s{number % 97}"


def pages(node: Node, rounds: int) -> dict[str, float]:
    """CPU time by process, in us a page."""
    chooser = random.Random(1)
    numbers = {}
    for shard in range(OWN):
        numbers[shard] = node.ask("take", shard, "", 0, "node.1").n
    block = letters.pack([url(chooser, 1) for _ in range(LINES)])
    letter = letters.pack([url(chooser, 1) for _ in range(3)])
    positions = dict.fromkeys(range(OWN), 0)
    places = [f"10.{k >> 8}.{k & 255}.7" for k in range(5000)]
    foreign = range(OWN, SHARDS)
    before, ours = node.info(), time.process_time()
    answered = 0
    granted: list[str] = []

    def grant(place: str, answer: Any) -> None:
        assert answer == 0
        granted.append(place)

    def answer(_answer: Any) -> None:
        nonlocal answered
        answered += 1

    def reached(wanted: int) -> bool:
        return answered >= wanted

    at = 0
    for _ in range(rounds):
        changed = set()
        for turn in range(RATE // TURN):
            now = [places[(at + k) % len(places)] for k in range(TURN)]
            at += TURN
            for place in now:
                node.vault.turn(place, _WAIT_MS, partial(grant, place))
                changed.add(chooser.randrange(OWN))
            node.until(lambda: len(granted) == TURN)
            for place in granted:
                node.vault.rest(place, 1)
            granted.clear()
            if turn % (RATE // TURN // 10) == 0:
                node.vault.collect(positions, answer)
        node.vault.beat("node.1", answer)
        node.vault.post(
            {chooser.choice(foreign): letter for _ in range(int(RATE * FOREIGN))}, answer
        )
        prints = array(
            "Q", [chooser.getrandbits(64) for _ in range(int(RATE * NEW / len(changed)))]
        )
        for shard in changed:
            made = Commit(prints.tobytes(), {1: block}, {1: b"x" * 32}, (), LINES, 0, {}, {})
            node.vault.commit(shard, "node.1", numbers[shard], made, answer)
            numbers[shard] += 1
        node.vault.flush(answer)
        wanted = answered + len(changed) + 1
        node.until(partial(reached, wanted))
    us = 1e6 / (rounds * (RATE // TURN * TURN))
    ours = time.process_time() - ours
    after = node.info()
    theirs = sum(
        float(after[field]) - float(before[field]) for field in ("used_cpu_user", "used_cpu_sys")
    )
    return {
        "our us": round(ours * us, 1),
        "redis us": round(theirs * us, 1),
        "bytes in": round(
            (int(after["total_net_input_bytes"]) - int(before["total_net_input_bytes"])) * us / 1e6
        ),
    }


class Writer:
    """Writes what the journal of a node has that has all shards."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._chooser = random.Random(1)
        self._journal = Journal()
        for shard in range(SHARDS):
            self._journal.take_up(shard, node.ask("take", shard, "", 0, "node.1").n)
            self._journal.serve(shard)
        # By shard and site: origins of the URLs that are not done.
        self._waiting = [[deque[int]() for _ in range(SITES)] for _ in range(SHARDS)]
        self._count = [0] * SHARDS

    def put(self, new: int) -> None:
        """So many new URLs in each shard."""
        chooser = self._chooser
        for shard, waiting in enumerate(self._waiting):
            for site in chooser.choices(range(SITES), _SHARES, k=new):
                line = url(chooser, site * SHARDS + shard)
                waiting[site].append(self._journal.put(shard, chooser.getrandbits(64), line))
            self._count[shard] += new

    def finish(self, left: int) -> None:
        """All but `left` URLs of each shard are done; each site in turn, as it is polite."""
        for shard, sites in enumerate(self._waiting):
            while self._count[shard] > left:
                busy = [waiting for waiting in sites if waiting][: self._count[shard] - left]
                for waiting in busy:
                    self._journal.done(waiting.popleft())
                self._count[shard] -= len(busy)

    def write(self) -> None:
        """A round, and the blocks that are thinned out in the next one."""
        self._journal.tidy(self._journal.cut())
        made = self._journal.next_round()
        answers: list[Any] = []
        for shard, (n, commit) in made.commits.items():
            self._node.vault.commit(shard, "node.1", n, commit, answers.append)
        self._node.until(lambda: len(answers) == len(made.commits))
        assert set(answers) <= {Verdict.DONE}, answers
        self._journal.settle(made)
        while (found := self._journal.sparse()) is not None:
            shard, take, blocks = found
            self._journal.thin(take, self._node.ask("read_blocks", shard, blocks))

    def write_all(self) -> None:
        """Write done URLs two rounds later."""
        for _ in range(3):
            self.write()


def bytes_of(server: RedisServer, seen: int, owed: int, new: int) -> dict[str, float]:
    """Bytes of Redis' memory for a URL that was seen, all included, and for one that is owed."""
    empty = int(server.info("used_memory"))
    node = Node(server.path)
    writer = Writer(node)
    shards = int(server.info("used_memory")) - empty
    rounds = seen // SHARDS // new
    for number in range(1, rounds + 1):
        writer.put(new)
        writer.finish(owed // SHARDS * number // rounds)
        writer.write()
    writer.write_all()
    full = int(server.info("used_memory")) - empty
    server.end(SIGTERM)
    began = time.monotonic()
    server.start()
    loading = time.monotonic() - began
    again = int(server.info("used_memory")) - empty
    node.until(lambda: node.vault.lost)
    node._client.resume()
    writer.finish(0)
    writer.write_all()
    bare = int(server.info("used_memory")) - empty
    return {
        "a shard": round(shards / SHARDS),
        "seen": rounds * new * SHARDS,
        "a URL seen": round(bare / (rounds * new * SHARDS), 2),
        "owed": owed // SHARDS * SHARDS,
        "a URL owed": round((again - bare) / (owed // SHARDS * SHARDS), 2),
        "MB": round(full / 1e6, 1),
        "MB after a restart": round(again / 1e6, 1),
        "seconds of loading": round(loading, 1),
    }


def main(kind: str, fsync: str = "everysec", *sizes: str) -> None:
    """`sizes` are SEEN, OWED and NEW."""
    seen, owed, new = [int(size) for size in sizes] + [10**6, 10**5, 16][len(sizes) :]
    with TemporaryDirectory() as folder:
        options = {"appendonly": "no"} if fsync == "off" else {"appendfsync": fsync}
        server = RedisServer(Path(folder), program_of("redis"), 0, **options)
        server.start()
        try:
            if kind == "pages":
                made = pages(Node(server.path), 30)
            else:
                made = bytes_of(server, seen, owed, new)
            print(json.dumps({"kind": kind, "fsync": fsync, "cores": os.cpu_count(), **made}))
        finally:
            server.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
