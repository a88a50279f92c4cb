"""The delay that names without any answer cause for other names.

`larbinpy resolve` resolves a list with 1 % of dead names and the same list without them. The
time until the last of the other names is written counts. `slowserver` answers, because nsd
cannot ignore single names.
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
    """Seconds from the first line of the output to that of the last live name."""

    without: list[float] = field(default_factory=list)
    among: list[float] = field(default_factory=list)

    @property
    def change(self) -> float:
        """The relative delay of the other names; 0.05 is 5 %."""
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
    """`live` in its order, with dead names inserted at random places."""
    rng = random.Random(1)
    mixed: list[str] = []
    for number, name in enumerate(live):
        if rng.random() < DEAD_SHARE:
            mixed.append(f"dead{number:07d}.bench")
        mixed.append(name)
    return mixed


def _seconds(file: Path, port: int, count: int) -> float:
    """Time from the first line to the `count`th live name; does not wait for the rest."""
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
    """Blocks of whole lines, each with the time when it could be read."""
    assert process.stdout is not None
    rest = b""
    while block := os.read(process.stdout.fileno(), _BLOCK):
        at = time.perf_counter()
        whole, _, rest = (rest + block).rpartition(b"\n")
        yield at, whole
