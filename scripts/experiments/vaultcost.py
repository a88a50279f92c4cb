"""CPU time of a page, and bytes of a URL, of a crawl whose truth is in Redis.

    python -m experiments.vaultcost pages|bytes [APPENDFSYNC]

`pages`: one node at full speed. Each page takes a turn and ends it; each second of pages there are
letters to some shards and a commit of each shard that changed, and inboxes are collected ten times.
The time to find links and to pack lines is not in it. `bytes`: 10^6 fingerprints and 10^6 owed URLs
in rounds of the same kind. Needs redis-server; prints lines of JSON.
"""

import json
import os
import random
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from larbinpy.fleet import letters
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import Address, Server, pack, read_info
from larbinpy.fleet.vault import Commit, Verdict
from larbinpy.loop.poller import Poller

SHARDS = 1024
#: Shards of the node; pages a second; new URLs a page (IRLbot), and those for other nodes.
OWN = 512
RATE = 1300
NEW = 6.5
FOREIGN = 0.3
#: Requests that begin in one turn of the loop.
TURN = 20
#: Lines of a block when it is written (they grow from 1 to 256), and of a shard in the end.
LINES = 128
_WAIT_MS = 12_000


class Node:
    """One node on a server at a socket."""

    def __init__(self, path: Path) -> None:
        self._poller = Poller()
        address = Address((Server(str(path), 0),), "cost")
        self.vault = RedisVault(self._poller, time.monotonic, address)
        self.ask("open", {"shards": str(SHARDS)})
        self.ask("join", "node.1")

    def pump(self, wait: float = 0.0) -> None:
        self.vault.step(time.monotonic())
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
        self.vault._servers.send(0, pack("INFO"), found.append)
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
        node.vault.beat("node.1", b"x" * 300, answer)
        node.vault.post(
            {chooser.choice(foreign): letter for _ in range(int(RATE * FOREIGN))}, answer
        )
        prints = array(
            "Q", [chooser.getrandbits(64) for _ in range(int(RATE * NEW / len(changed)))]
        )
        for shard in changed:
            made = Commit(prints.tobytes(), {1: block}, {1: b"x" * 32}, (), LINES, 0, None)
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


def bytes_of(node: Node, count: int) -> dict[str, float]:
    """Bytes of Redis' memory for a fingerprint and for an owed URL."""
    chooser = random.Random(1)
    empty = int(node.info()["used_memory"])
    numbers = {shard: node.ask("take", shard, "", 0, "node.1").n for shard in range(SHARDS)}
    shards_made = int(node.info()["used_memory"])

    def commit(shard: int, prints: bytes, blocks: dict[int, bytes], owed: dict[int, bytes]) -> None:
        made = Commit(prints, blocks, owed, (), 1, 0, None)
        node.vault.commit(shard, "node.1", numbers[shard], made, assert_done)
        numbers[shard] += 1

    some = 16
    for _ in range(count // SHARDS // some):
        for shard in range(SHARDS):
            prints = array("Q", [chooser.getrandbits(64) for _ in range(some)])
            commit(shard, prints.tobytes(), {}, {})
        node.ask("look")
    seen = int(node.info()["used_memory"])
    lines = 250
    for number in range(count // SHARDS // lines):
        for shard in range(SHARDS):
            block = letters.pack([url(chooser, shard % 64 + k) for k in range(lines)])
            commit(shard, b"", {number: block}, {number: b"\xff" * 32})
        node.ask("look")
    owed = int(node.info()["used_memory"])
    return {
        "a shard": round((shards_made - empty) / SHARDS),
        "a fingerprint": round((seen - shards_made) / (count // SHARDS // some * some * SHARDS), 2),
        "an owed URL": round((owed - seen) / (count // SHARDS // lines * lines * SHARDS), 2),
    }


def assert_done(answer: Any) -> None:
    assert answer is Verdict.DONE, answer


def main(kind: str, fsync: str = "everysec") -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--dir", folder]
        command += ["--save", "", "--appendonly", "no" if fsync == "off" else "yes"]
        command += ["--appendfsync", "everysec" if fsync == "off" else fsync]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not path.exists():
                time.sleep(0.01)
            node = Node(path)
            made = pages(node, 30) if kind == "pages" else bytes_of(node, 10**6)
            print(json.dumps({"kind": kind, "fsync": fsync, "cores": os.cpu_count(), **made}))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
