"""The surroundings of a crawl, which each of its parts gets: none of the parts is in them.

Users cannot change its sizes and system calls; tests pass others.
"""

import os
import resource
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from larbinpy.config import Config
from larbinpy.dns.lookup import is_public
from larbinpy.loop.clock import Clock, clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.stats import Stats
from larbinpy.storage.sizes import DEFAULT_SIZES, FrontierSizes


def raise_open_files(wanted: int) -> int:
    """Raise the limit of open files to `wanted`, as far as possible; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, most = (wanted if n == resource.RLIM_INFINITY else n for n in (soft, hard))
    if limit < wanted:
        limit = min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def free_bytes(folder: str) -> int:
    """The bytes that users may still write on the disk of a folder, or where it will be made."""
    path = os.path.abspath(folder)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Sizes of a crawl, times in seconds, and the clocks and system calls that it depends on."""

    #: The state is saved at this interval. A kill costs the work since the last save, and no URL.
    checkpoint: float = 5.0
    #: The interval with canReload.
    checkpoint_can_reload: float = 1.0
    #: Pages taken in one turn: parsing is expensive, and sockets must not wait long.
    pages_a_turn: int = 32
    frontier: FrontierSizes = DEFAULT_SIZES
    #: Time after the first signal for transfers in flight, and after that for the last work of
    #: the outputs. Containers are killed 10 s after the signal, and the state is saved before that.
    grace: float = 8.0
    #: Raises the limit of open files to a number, as far as possible; returns the limit.
    open_files: Callable[[int], int] = raise_open_files
    #: The bytes that are free at a folder, which may not be there yet.
    free_bytes: Callable[[str], int] = free_bytes
    #: Whether requests may be sent to an address without allowPrivate.
    is_public: Callable[[str], bool] = is_public
    clock: Clock = clock
    wall: Clock = wall
    #: Whoever gives one closes it; None for one of the crawl's own.
    poller: Poller | None = None


DEFAULT = Tuning()


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of one crawl; `closing` finally closes everything that it opened."""

    config: Config
    poller: Poller
    clock: Clock
    wall: Clock
    stats: Stats
    closing: ExitStack
    tuning: Tuning

    @classmethod
    def open(cls, config: Config, closing: ExitStack, tuning: Tuning = DEFAULT) -> "Context":
        """The surroundings of a crawl by `config`, which begins now."""
        poller = tuning.poller
        if poller is None:
            poller = Poller()
            closing.callback(poller.close)
        clock, wall = tuning.clock, tuning.wall
        return cls(config, poller, clock, wall, Stats(clock(), wall()), closing, tuning)

    def by(self, config: Config) -> "Context":
        """The same surroundings for a crawl by `config`, which begins now."""
        return replace(self, config=config, stats=Stats(self.clock(), self.wall()))

    @property
    def folder(self) -> Path:
        """stateDir."""
        return Path(self.config.state_dir)
