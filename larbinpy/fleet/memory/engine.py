"""The engine: Redis in memory, whose time is told.

It can forget its last writes, as Redis does when it is restarted or fails over.
"""

from collections import Counter, deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from larbinpy.fleet.vault import NOBODY, Commit, Crawl, CrawlState, SiteWait, Standing


@dataclass(slots=True)
class StoredShard:
    own: str = NOBODY
    n: int = 0
    owing: int = 0
    fingerprints: bytes = b""
    blocks: dict[int, bytes] = field(default_factory=dict)
    owed: dict[int, bytes] = field(default_factory=dict)
    inbox: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    #: By site: the waits, and when they were these.
    waits: dict[str, tuple[SiteWait, float]] = field(default_factory=dict)

    def apply(self, commit: Commit, now: float) -> None:
        self.n += 1
        self.fingerprints += commit.fingerprints
        self.blocks.update(commit.blocks)
        self.owed.update(commit.owed)
        for block in commit.finished:
            self.blocks.pop(block, None)
            self.owed.pop(block, None)
        self.owing = commit.owing
        del self.inbox[: commit.received]
        self.counts.update(commit.counts)
        self.waits.update((site, (wait, now)) for site, wait in commit.waits.items())

    def waits_at(self, now: float) -> dict[str, SiteWait]:
        return {
            site: wait._replace(seconds=wait.seconds - (now - at))
            for site, (wait, at) in self.waits.items()
        }


@dataclass(slots=True)
class Data:
    """The keys of a master."""

    crawl: Crawl | None = None
    state: CrawlState = CrawlState.NEW
    beats: dict[str, int] = field(default_factory=dict)
    shards: dict[int, StoredShard] = field(default_factory=dict)
    #: By address: who has the turn, and until when.
    turns: dict[str, tuple[str, float]] = field(default_factory=dict)

    def shard(self, number: int) -> StoredShard:
        return self.shards.setdefault(number, StoredShard())


#: Changes a master's data, or reads it, at a time; must repeat when it is executed again.
Command = Callable[[Data, float], Any]


class _Master:
    """The data of a master, and those of some time ago with all commands since then."""

    def __init__(self, window: float) -> None:
        self._window = window
        self.data = Data()
        self._base = Data()
        self._since: deque[tuple[float, Command]] = deque()
        #: How many of these commands a replica has.
        self._safe = 0

    def execute(self, command: Command, now: float) -> Any:
        if self._window:
            self._since.append((now, command))
            self._settle(now)
        return command(self.data, now)

    def _settle(self, now: float) -> None:
        while self._since and self._since[0][0] < now - self._window:
            at, old = self._since.popleft()
            old(self._base, at)
            self._safe = max(0, self._safe - 1)

    def flush(self) -> None:
        self._safe = len(self._since)

    def forget(self, keep: float, now: float) -> None:
        """Forget the last commands; of those that may be lost, the part `keep` remains."""
        self._settle(now)
        kept = self._safe + int(keep * (len(self._since) - self._safe))
        for at, command in list(self._since)[:kept]:
            command(self._base, at)
        self._since.clear()
        self._safe = 0
        self.data = deepcopy(self._base)


class Engine:
    """Redis: one master, or several, each with replicas.

    `window`: seconds of writes that it can forget, but none that a replica has. With 0 it must
    not be told to forget any.
    """

    def __init__(self, shards: int, masters: int = 1, window: float = 1.0) -> None:
        self.shards = shards
        self.now = 0.0
        self._replicated = masters > 1
        self._masters = [_Master(window) for _ in range(masters)]
        self._late: list[tuple[float, int, Command]] = []
        #: Number of times that writes may have been forgotten, and when that was last.
        self.epoch = 0
        self.begun_at = float("-inf")

    @property
    def masters(self) -> range:
        return range(len(self._masters))

    @property
    def state(self) -> CrawlState:
        return self._masters[0].data.state

    @property
    def sessions(self) -> list[str]:
        return list(self._masters[0].data.beats)

    @property
    def standings(self) -> list[Standing]:
        """All shards as they are."""
        data = [self._masters[self.of_shard(k)].data.shard(k) for k in range(self.shards)]
        return [Standing(s.own, s.n, s.owing, len(s.inbox)) for s in data]

    @property
    def counts(self) -> Counter[str]:
        """The counts of all sites."""
        data = [self._masters[self.of_shard(k)].data.shard(k) for k in range(self.shards)]
        return sum((shard.counts for shard in data), Counter())

    def of_shard(self, shard: int) -> int:
        return shard % len(self._masters)

    def of_address(self, address: str) -> int:
        return crc32(address.encode()) % len(self._masters)

    def execute(self, master: int, command: Command) -> Any:
        return self._masters[master].execute(command, self.now)

    def flush(self, master: int, data: Data) -> None:
        # Not when the command is executed again.
        if self._replicated and data is self._masters[master].data:
            self._masters[master].flush()

    def later(self, at: float, master: int, command: Command) -> None:
        """Execute a command of a connection that is closed by then."""
        self._late.append((at, master, command))

    def step(self, now: float) -> None:
        self.now = now
        due = [late for late in self._late if late[0] <= now]
        self._late = [late for late in self._late if late[0] > now]
        for _, master, command in due:
            self.execute(master, command)

    def remove(self) -> None:
        """Remove the crawl."""
        for master in self._masters:
            master.data = Data()

    def forget(self, master: int, keep: float) -> None:
        """Restart `master`, or let a replica take its place; all connections must be cut.

        The part `keep`, 0 to 1, remains of what it may forget.
        """
        self._masters[master].forget(keep, self.now)
        self._late = [late for late in self._late if late[1] != master]
        self.epoch += 1
        self.begun_at = self.now
