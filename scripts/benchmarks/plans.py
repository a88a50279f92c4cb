"""Input of the processes of a benchmark.

A separate module, so that the process that starts them does not load larbinpy, libcurl or a
parser. Linux counts a process's peak memory from before its exec, so no program seems smaller
than the process that started it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments import runs
from experiments.runs import PYTHON

ALL_CORES = os.sched_getaffinity(0)


@dataclass(frozen=True)
class Host:
    """The URLs of a host."""

    base: str
    #: Address to connect to; None for that in the URL.
    address: str | None
    paths: list[str]


@dataclass(frozen=True)
class FloorPlan:
    """Input of `floor`."""

    hosts: list[Host]
    #: Transfers at a time.
    parallel: int
    parse: bool
    #: File of trusted certificates.
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
    """Input of `hanging`."""

    seeds: list[str]
    #: Pages that can be reached from the seeds.
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
    """Run a server of this package in its own process; gives the line that it prints first."""
    command = [PYTHON, "-m", f"benchmarks.{module}", *arguments]
    with runs.serving(command, ALL_CORES) as (line, _):
        yield line
