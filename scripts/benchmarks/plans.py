"""What the processes of a benchmark are told; apart from them, so that who starts them is small.

Linux counts a process's highest memory from before its exec, so no program would seem to have
less than who started it: nothing of larbinpy, libcurl or a parser is loaded there.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.runs import PYTHON, in_background

ALL_CORES = os.sched_getaffinity(0)


@dataclass(frozen=True)
class Host:
    """A host's URLs."""

    base: str
    #: Of TCP's; None where the URL has it.
    address: str | None
    paths: list[str]


@dataclass(frozen=True)
class FloorPlan:
    """For `floor`."""

    hosts: list[Host]
    #: Transfers at a time.
    parallel: int
    parse: bool
    #: Certificates to trust.
    ca_file: str | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "FloorPlan":
        values = json.loads(path.read_text())
        hosts = [Host(**host) for host in values.pop("hosts")]
        return cls(hosts=hosts, **values)


@dataclass(frozen=True)
class HangingPlan:
    """For `hanging`."""

    seeds: list[str]
    #: All that can be reached from the seeds.
    pages: int
    #: Transfers that hang.
    hanging: int
    #: Transfers at a time.
    handles: int

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "HangingPlan":
        return cls(**json.loads(path.read_text()))


@contextmanager
def serving(module: str, *arguments: str) -> Iterator[str]:
    """A server of this package in a process of its own; gives the line that it begins with."""
    command = [PYTHON, "-m", f"benchmarks.{module}", *arguments]
    with in_background(command, ALL_CORES) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server benchmarks.{module} did not start")
        yield line.strip()
