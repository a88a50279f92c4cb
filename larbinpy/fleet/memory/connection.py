"""A connection to an engine in memory, which can stall and break.

A verb travels for some time, is executed, and its answer travels back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from larbinpy.fleet.identity import are_namesakes
from larbinpy.fleet.memory.engine import Command, Data, Engine, StoredShard
from larbinpy.fleet.vault import (
    NOBODY,
    Away,
    Behind,
    Commit,
    Crawl,
    CrawlState,
    Owned,
    Part,
    Present,
    Standing,
    Taken,
    Then,
    Vault,
    Verdict,
)

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

    def open(self, settings: Mapping[str, str], then: Then[Crawl], id: str = "crawl") -> None:
        def command(data: Data, now: float) -> Crawl:
            created = data.crawl is None
            if data.crawl is None:
                data.crawl = Crawl(id, dict(settings), CrawlState.NEW, created=False)
            return data.crawl._replace(state=data.state, created=created)

        self._send([(0, command)], then)

    def declare(self, old: CrawlState, new: CrawlState, then: Then[CrawlState]) -> None:
        def command(data: Data, now: float) -> CrawlState:
            if data.state is old:
                data.state = new
            return data.state

        self._send([(0, command)], then)

    def join(self, session: str, then: Then[Present | Verdict]) -> None:
        def command(data: Data, now: float) -> Present | Verdict:
            if data.crawl is None:
                return Verdict.GONE
            if any(are_namesakes(session, other) for other in data.beats):
                return Verdict.TAKEN
            data.beats.setdefault(session, 0)
            return Present(dict(data.beats), data.state)

        self._lost = ""
        self._session = session
        self._send([(0, command)], then)

    def beat(self, session: str, then: Then[Present | Verdict]) -> None:
        def command(data: Data, now: float) -> Present | Verdict:
            if session not in data.beats:
                return Verdict.GONE
            data.beats[session] += 1
            return Present(dict(data.beats), data.state)

        self._send([(0, command)], then)

    def bury(self, session: str, counter: int, then: Then[Verdict]) -> None:
        def command(data: Data, now: float) -> Verdict:
            if data.beats.get(session) == counter:
                del data.beats[session]
            return Verdict.DONE

        self._send([(0, command)], then)

    def quit(self, session: str, then: Then[Verdict]) -> None:
        def command(data: Data, now: float) -> Verdict:
            data.beats.pop(session, None)
            return Verdict.DONE

        self._send([(0, command)], then)

    def look(self, then: Then[Sequence[Standing]]) -> None:
        def command(number: int) -> Command:
            def look(data: Data, now: float) -> Standing:
                shard = data.shard(number)
                return Standing(shard.own, shard.n, shard.owing, len(shard.inbox))

            return look

        self._send_each(range(self._engine.shards), command, then)

    def take(self, shard: int, own: str, n: int, session: str, then: Then[Taken | Owned]) -> None:
        def command(data: Data, now: float) -> Taken | Owned:
            entry = data.shard(shard)
            if (entry.own, entry.n) == (own, n):
                entry.own, entry.n = session, n + 1
            elif (entry.own, entry.n) != (session, n + 1):
                return Owned(entry.own, entry.n)
            return Taken(entry.n)

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
        self, shard: int, session: str, n: int, commit: Commit, then: Then[Verdict | Behind]
    ) -> None:
        self._fenced(shard, session, n, then, lambda entry, now: entry.apply(commit, now))

    def leave(self, shard: int, session: str, n: int, then: Then[Verdict | Behind]) -> None:
        def leave(entry: StoredShard, now: float) -> None:
            entry.own = NOBODY

        self._fenced(shard, session, n, then, leave)

    def _fenced(
        self,
        shard: int,
        session: str,
        n: int,
        then: Then[Verdict | Behind],
        change: Callable[[StoredShard, float], None],
    ) -> None:
        def command(data: Data, now: float) -> Verdict | Behind:
            entry = data.shard(shard)
            if entry.own != session:
                return Verdict.FENCED
            if entry.n != n:
                return Behind(entry.n)
            change(entry, now)
            return Verdict.DONE

        self._send([(self._engine.of_shard(shard), command)], then)

    def post(self, letters: Mapping[int, bytes], then: Then[Verdict]) -> None:
        def command(number: int) -> Command:
            return lambda data, now: data.shard(number).inbox.append(letters[number])

        def sent(answer: Any) -> None:
            then(answer if isinstance(answer, Away) else Verdict.DONE)

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

    def flush(self, then: Then[Verdict]) -> None:
        # A command of the connection is safe when a write after it is.
        def command(master: int) -> Command:
            return lambda data, now: self._engine.flush(master, data)

        sent = [(master, command(master)) for master in self._engine.masters]
        self._send(sent, then, lambda answers: Verdict.DONE)

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
