"""A vault in memory, for tests and simulations: an engine, and connections that can fail.

The engine is Redis in memory, whose time is told. It can forget its last writes, as Redis does when
it is restarted or fails over. A connection to it can stall and break: a verb travels for some time,
is executed, and its answer travels back.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from larbinpy.fleet.identity import are_namesakes
from larbinpy.fleet.vault import (
    NOBODY,
    Answered,
    Away,
    Behind,
    Commit,
    FleetState,
    Gained,
    Owned,
    Part,
    Present,
    ShardLook,
    SharedCrawl,
    SiteWait,
    Then,
    Vault,
)


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

    crawl: SharedCrawl | None = None
    state: FleetState = FleetState.NEW
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
    def state(self) -> FleetState:
        return self._masters[0].data.state

    @property
    def sessions(self) -> list[str]:
        return list(self._masters[0].data.beats)

    @property
    def standings(self) -> list[ShardLook]:
        """All shards as they are."""
        data = [self._masters[self.of_shard(k)].data.shard(k) for k in range(self.shards)]
        return [ShardLook(s.own, s.n, s.owing, len(s.inbox)) for s in data]

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


#: Blocks in a part of a load, and inbox elements of a shard in an answer.
_BLOCKS = 4
_ELEMENTS = 8


#: In place of the answer to a command that was not executed.
_NONE = object()


@dataclass(slots=True)
class _Request:
    """A verb under way: its commands with their times by master, and their answers."""

    commands: list[tuple[float, int, Command]]
    combine: Callable[[list[Any]], Any]
    then: Then[Any]
    answers: list[Any]
    #: How many commands have no answer.
    awaited: int
    #: When the answer arrives, after all commands were executed.
    due: float = float("inf")


class MemoryVault(Vault):
    """A connection to an engine."""

    def __init__(self, engine: Engine, delay: Callable[[], float] = float) -> None:
        """`delay` returns the seconds that the next command or answer travels."""
        self._engine = engine
        self._delay = delay
        self._requests: list[_Request] = []
        # By master: the time when the last command arrives, as none overtakes another.
        self._arrivals = [float("-inf") for _ in engine.masters]
        self._failed: list[Then[Any]] = []
        self._stalled_until = float("-inf")
        self._down_until = float("-inf")
        self._is_up = True
        self._epoch = engine.epoch
        self._lost = ""
        self._session = ""
        self._turns = 0
        self._tokens: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<MemoryVault {len(self._requests)} under way>"

    # -- what the driver does

    def step(self) -> None:
        """Let requests and answers travel until the engine's present time."""
        failed, self._failed = self._failed, []
        for then in failed:
            then(Away("the connection was lost"))
        self.travel()
        now = self._engine.now
        if now < self._stalled_until:
            return
        arrived = [request for request in self._requests if request.due <= now]
        self._requests = [request for request in self._requests if request.due > now]
        for request in arrived:
            request.then(request.combine(request.answers))

    def travel(self) -> None:
        """Let requests travel, but deliver no answers: the process is stopped."""
        now = self._engine.now
        if now < max(self._stalled_until, self._down_until):
            return
        if not self._is_up:
            self._is_up = True
            if self._epoch != self._engine.epoch:
                self._epoch = self._engine.epoch
                self._lost = "Redis was restarted"
        for request in self._requests:
            if not request.awaited:
                continue
            for k, (due, master, command) in enumerate(request.commands):
                if request.answers[k] is _NONE and due <= now:
                    request.answers[k] = self._engine.execute(master, command)
                    request.awaited -= 1
            if not request.awaited:
                request.due = now + self._delay()

    def stall(self, until: float) -> None:
        """Let nothing travel until then."""
        self._stalled_until = until

    def cut(self, until: float, fate: Callable[[], float | None]) -> None:
        """Lose the connection until then.

        `fate` of each command that was not executed: None if it is lost, or when it will be.
        """
        for request in self._requests:
            for answer, (_, master, command) in zip(request.answers, request.commands, strict=True):
                at = fate() if answer is _NONE else None
                if at is not None:
                    self._engine.later(at, master, command)
            self._failed.append(request.then)
        self._requests.clear()
        self._down_until = until
        self._stalled_until = float("-inf")
        self._is_up = False

    # -- how verbs travel

    def _send(
        self,
        commands: Sequence[tuple[int, Command]],
        then: Then[Any],
        combine: Callable[[list[Any]], Any] = lambda answers: answers[0],
    ) -> None:
        if not self._is_up:
            self._failed.append(then)
            return
        sent = []
        for master, command in commands:
            due = max(self._engine.now + self._delay(), self._arrivals[master])
            self._arrivals[master] = due
            sent.append((due, master, command))
        self._requests.append(_Request(sent, combine, then, [_NONE] * len(sent), len(sent)))

    def _send_each(
        self, shards: Sequence[int], command: Callable[[int], Command], then: Then[Any]
    ) -> None:
        """Send a command for each shard; the answer is a list."""
        sent = [(self._engine.of_shard(shard), command(shard)) for shard in shards]
        self._send(sent, then, list)

    # -- the vault

    @property
    def lost(self) -> str:
        return self._lost

    @property
    def up(self) -> float:
        return self._engine.now - self._engine.begun_at

    def open(self, settings: Mapping[str, str], then: Then[SharedCrawl], id: str = "crawl") -> None:
        def command(data: Data, now: float) -> SharedCrawl:
            created = data.crawl is None
            if data.crawl is None:
                data.crawl = SharedCrawl(id, dict(settings), FleetState.NEW, created=False)
            return data.crawl._replace(state=data.state, created=created)

        self._send([(0, command)], then)

    def declare(self, old: FleetState, new: FleetState, then: Then[FleetState]) -> None:
        def command(data: Data, now: float) -> FleetState:
            if data.state is old:
                data.state = new
            return data.state

        self._send([(0, command)], then)

    def join(self, session: str, then: Then[Present | Answered]) -> None:
        def command(data: Data, now: float) -> Present | Answered:
            if data.crawl is None:
                return Answered.GONE
            if any(are_namesakes(session, other) for other in data.beats):
                return Answered.TAKEN
            data.beats.setdefault(session, 0)
            return Present(dict(data.beats), data.state)

        self._lost = ""
        self._session = session
        self._send([(0, command)], then)

    def beat(self, session: str, then: Then[Present | Answered]) -> None:
        def command(data: Data, now: float) -> Present | Answered:
            if session not in data.beats:
                return Answered.GONE
            data.beats[session] += 1
            return Present(dict(data.beats), data.state)

        self._send([(0, command)], then)

    def bury(self, session: str, counter: int, then: Then[Answered]) -> None:
        def command(data: Data, now: float) -> Answered:
            if data.beats.get(session) == counter:
                del data.beats[session]
            return Answered.DONE

        self._send([(0, command)], then)

    def quit(self, session: str, then: Then[Answered]) -> None:
        def command(data: Data, now: float) -> Answered:
            data.beats.pop(session, None)
            return Answered.DONE

        self._send([(0, command)], then)

    def look(self, then: Then[Sequence[ShardLook]]) -> None:
        def command(number: int) -> Command:
            def look(data: Data, now: float) -> ShardLook:
                shard = data.shard(number)
                return ShardLook(shard.own, shard.n, shard.owing, len(shard.inbox))

            return look

        self._send_each(range(self._engine.shards), command, then)

    def take(self, shard: int, own: str, n: int, session: str, then: Then[Gained | Owned]) -> None:
        def command(data: Data, now: float) -> Gained | Owned:
            entry = data.shard(shard)
            if (entry.own, entry.n) == (own, n):
                entry.own, entry.n = session, n + 1
            elif (entry.own, entry.n) != (session, n + 1):
                return Owned(entry.own, entry.n)
            return Gained(entry.n)

        self._send([(self._engine.of_shard(shard), command)], then)

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        def command(data: Data, now: float) -> Part:
            entry = data.shard(shard)
            numbers = sorted(block for block in entry.blocks if block >= int(cursor or 0))
            some = [(k, entry.blocks[k], entry.owed.get(k, b"")) for k in numbers[:_BLOCKS]]
            rest = str(numbers[_BLOCKS]) if len(numbers) > _BLOCKS else None
            if cursor:
                return Part(b"", some, {}, {}, rest)
            return Part(entry.fingerprints, some, entry.counts.copy(), entry.waits_at(now), rest)

        self._send([(self._engine.of_shard(shard), command)], then)

    def read_blocks(
        self, shard: int, blocks: Sequence[int], then: Then[Sequence[tuple[int, bytes, bytes]]]
    ) -> None:
        def command(data: Data, now: float) -> Sequence[tuple[int, bytes, bytes]]:
            entry = data.shard(shard)
            there = [block for block in blocks if block in entry.blocks]
            return [(block, entry.blocks[block], entry.owed.get(block, b"")) for block in there]

        self._send([(self._engine.of_shard(shard), command)], then)

    def commit(
        self, shard: int, session: str, n: int, commit: Commit, then: Then[Answered | Behind]
    ) -> None:
        self._fenced(shard, session, n, then, lambda entry, now: entry.apply(commit, now))

    def leave(self, shard: int, session: str, n: int, then: Then[Answered | Behind]) -> None:
        def leave(entry: StoredShard, now: float) -> None:
            entry.own = NOBODY

        self._fenced(shard, session, n, then, leave)

    def _fenced(
        self,
        shard: int,
        session: str,
        n: int,
        then: Then[Answered | Behind],
        change: Callable[[StoredShard, float], None],
    ) -> None:
        def command(data: Data, now: float) -> Answered | Behind:
            entry = data.shard(shard)
            if entry.own != session:
                return Answered.FENCED
            if entry.n != n:
                return Behind(entry.n)
            change(entry, now)
            return Answered.DONE

        self._send([(self._engine.of_shard(shard), command)], then)

    def post(self, letters: Mapping[int, bytes], then: Then[Answered]) -> None:
        def command(number: int) -> Command:
            return lambda data, now: data.shard(number).inbox.append(letters[number])

        def sent(answer: Any) -> None:
            then(answer if isinstance(answer, Away) else Answered.DONE)

        self._send_each(list(letters), command, sent)

    def collect(
        self, positions: Mapping[int, int], then: Then[Mapping[int, Sequence[bytes]]]
    ) -> None:
        def command(number: int) -> Command:
            at = positions[number]
            return lambda data, now: data.shard(number).inbox[at : at + _ELEMENTS]

        def collected(answer: Any) -> None:
            if not isinstance(answer, Away):
                pairs: Iterator[tuple[int, list[bytes]]] = zip(positions, answer, strict=True)
                answer = {number: found for number, found in pairs if found}
            then(answer)

        self._send_each(list(positions), command, collected)

    def flush(self, then: Then[Answered]) -> None:
        # A command of the connection is safe when a write after it is.
        def command(master: int) -> Command:
            return lambda data, now: self._engine.flush(master, data)

        sent = [(master, command(master)) for master in self._engine.masters]
        self._send(sent, then, lambda answers: Answered.DONE)

    # -- turns

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        self._turns += 1
        token = f"{self._session}:{self._turns}"

        def command(data: Data, now: float) -> int:
            _, until = data.turns.get(address, ("", now))
            if until > now:
                return max(1, int((until - now) * 1000))
            data.turns[address] = token, now + ms / 1000
            return 0

        def granted(answer: int | Away) -> None:
            if answer == 0:
                self._tokens[address] = token
            then(answer)

        self._send([(self._engine.of_address(address), command)], granted)

    def renew(self, addresses: Sequence[str], ms: int) -> None:
        for address in addresses:
            self._set_turn(address, self._tokens[address], ms)

    def rest(self, address: str, ms: int) -> None:
        self._set_turn(address, self._tokens.pop(address), ms)

    def _set_turn(self, address: str, token: str, ms: int) -> None:
        def command(data: Data, now: float) -> None:
            if data.turns.get(address, ("", 0.0))[0] == token:
                data.turns[address] = token, now + ms / 1000

        self._send([(self._engine.of_address(address), command)], lambda answer: None)
