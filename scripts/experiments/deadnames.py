"""What names that nobody ever answers for cost the others.

`larbinpy resolve` gets a list with 1 % of dead names, and the same list without them; what
counts is when the last of the other names is written. The server is ours, as nsd cannot
keep silent about single names.
"""

import os
import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from experiments import names
from experiments.nameservers import slow_server
from experiments.runs import CLIENT, PYTHON, Spread, kept_on, say

DEAD_SHARE = 0.01
_BLOCK = 1 << 16


@dataclass(slots=True)
class DeadNames:
    """Seconds from the first line of the output to the last that is no dead name's."""

    without: list[float] = field(default_factory=list)
    among: list[float] = field(default_factory=list)

    @property
    def change(self) -> float:
        """How much later the others are done; 0.05 is 5 %."""
        return Spread.of(self.among).median / Spread.of(self.without).median - 1


def measure(count: int, rounds: int, folder: Path) -> DeadNames:
    live = [names.host(n) for n in range(count)]
    alone = names.write_lines(folder / "live.txt", live)
    mixed = names.write_lines(folder / "mixed.txt", _with_dead(live))
    found = DeadNames()
    with slow_server(delays=False) as port:
        for _ in range(rounds):
            found.without.append(_seconds(alone, port, count))
            found.among.append(_seconds(mixed, port, count))
            say(f"  without dead names {found.without[-1]:.2f} s, with {found.among[-1]:.2f} s")
    return found


def _with_dead(live: list[str]) -> list[str]:
    """`live` in its order, with dead names at random places."""
    rng = random.Random(1)
    mixed: list[str] = []
    for number, name in enumerate(live):
        if rng.random() < DEAD_SHARE:
            mixed.append(f"dead{number:07d}.bench")
        mixed.append(name)
    return mixed


def _seconds(file: Path, port: int, count: int) -> float:
    """From the first line to the `count`th of a live name; the rest is not waited for."""
    server = f"127.0.0.1:{port}"
    command = [PYTHON, "-m", "larbinpy", "resolve", str(file), "--server", server]
    with kept_on(CLIENT):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            return _last_live(process, count)
        finally:
            process.kill()


def _last_live(process: subprocess.Popen[bytes], count: int) -> float:
    first = 0.0
    live = 0
    for at, block in _blocks(process):
        first = first or at
        live += block.count(b" 10.")
        if live == count:
            return at - first
    raise RuntimeError(f"only {live} of {count} names were resolved")


def _blocks(process: subprocess.Popen[bytes]) -> Iterator[tuple[float, bytes]]:
    """What is written, in whole lines, and when it could be read."""
    assert process.stdout is not None
    rest = b""
    while block := os.read(process.stdout.fileno(), _BLOCK):
        at = time.perf_counter()
        whole, _, rest = (rest + block).rpartition(b"\n")
        yield at, whole
