"""Nodes with resolvers that share their names, through a fake of Redis."""

from collections.abc import Callable, Sequence
from typing import Any

from larbinpy.crawl.fleet.names import SharedCache, SharedNames
from larbinpy.fleet.redis.board import Shared
from larbinpy.fleet.vault import Away, Then
from tests.support.resolverworld import World

TIME = 1800.0


class FakeNames:
    """Names in memory; answers come when the test calls `answer`."""

    def __init__(self) -> None:
        self.trouble = ""
        self.known: dict[str, Shared] = {}
        self.messages: list[list[str]] = []
        self.found: list[str] = []
        self.cursors: list[str] = []
        self.pending: list[Callable[[], None]] = []
        self.away = False

    def _later(self, then: Then[Any], value: Any) -> None:
        self.pending.append(lambda: then(Away() if self.away else value()))

    def find(self, name: str, then: Then[Shared | None]) -> None:
        self.found.append(name)
        self._later(then, lambda: self.known.get(name))

    def learn(self, name: str, shared: Shared) -> None:
        self.known[name] = shared

    def learn_absent(self, names: Sequence[str]) -> None:
        self.messages.append(list(names))

    def absent(self, cursor: str, then: Then[tuple[str, Sequence[str]]]) -> None:
        self.cursors.append(cursor)
        start = int(cursor) if len(cursor) < 6 else 0
        fresh = [name for names in self.messages[start:] for name in names]
        self._later(then, lambda: (str(len(self.messages)), fresh))

    def answer(self) -> None:
        pending, self.pending = self.pending, []
        for each in pending:
            each()


class NamesWorld(World):
    """A node: `it` is its resolver, and `names` stand in front."""

    def __init__(self, redis: FakeNames) -> None:
        super().__init__()
        self.redis = redis
        self.ahead = 0.0
        self.cache = cache = SharedCache(1000, 1000, TIME)
        self.resolver()
        self.names = SharedNames(
            self.it,
            cache,
            redis,  # type: ignore[arg-type]
            lambda: self.now + 1e9 + self.ahead,
            TIME,
        )

    @property
    def asked(self) -> list[str]:
        """The names that name servers were asked for."""
        return [name for server in self.servers for name, kind in server.asked if kind == "A"]

    def get(self, name: str, *, refresh: bool = False) -> tuple[tuple[str, ...], str | None]:
        """Ask, with Redis that answers at once; the addresses and the reason."""
        answer = self.names.ask(name, self.now, refresh=refresh)
        for _ in range(1000):
            if answer is not None:
                assert answer.name == name
                return answer.addresses, answer.reason
            self.redis.answer()
            answer = next(iter(self.names.step(self.now, self.reported.append)), None)
            self.poller.wait(0.01)
        raise AssertionError("no answer")

    def second(self) -> None:
        """Let a second pass, so that absent names are exchanged."""
        self.now += 1.0
        for _ in range(3):
            assert self.names.step(self.now, self.reported.append) == []
            self.redis.answer()
