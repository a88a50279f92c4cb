"""A resolver, loopback name servers and a simulated clock."""

from collections.abc import Callable, Iterable
from random import Random
from types import TracebackType
from typing import Self

from larbinpy.dns.cache import NameCache
from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import Resolver
from larbinpy.loop.poller import Poller
from tests.support.nameserver import NameServer

#: A test that takes more turns than this is considered endless.
MOST_TURNS = 20_000

ZONE = {
    "www.test": ["192.0.2.1"],
    "many.test": [f"192.0.2.{n}" for n in range(1, 9)],
    "six.test": ["2001:db8::1"],
    "both.test": ["192.0.2.7", "2001:db8::7"],
    "empty.test": [],
    "alias.test": ["mid.test."],
    "mid.test": ["www.test."],
    "alias6.test": ["six.test."],
    "loop.test": ["pool.test."],
    "pool.test": ["loop.test."],
    **{f"chain{n}.test": [f"chain{n + 1}.test."] for n in range(20)},
    "chain20.test": ["192.0.2.20"],
}


class World:
    """A resolver, its name servers, and a clock that moves when no packet is on its way."""

    def __init__(self) -> None:
        self.poller = Poller()
        self.servers: list[NameServer] = []
        self.now = 1000.0
        self.answers: list[Answer] = []
        #: Addresses that name servers sent.
        self.reported: list[Answer] = []
        self.cache = NameCache(1000, 1000, 3600.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.it.close()
        for server in self.servers:
            server.close()
        self.poller.close()

    def server(
        self, zone: dict[str, list[str]] | None = None, kind: type[NameServer] = NameServer
    ) -> NameServer:
        self.servers.append(kind(zone or ZONE, self.poller))
        return self.servers[-1]

    def resolver(
        self,
        *,
        in_flight: int = 100,
        send_queue: int = 100,
        rng: Random | None = None,
    ) -> Resolver:
        """A resolver with a seeded generator, or with `rng`."""
        servers = [server.address for server in self.servers or [self.server()]]
        generator = rng or Random(5)

        class Seeded(Resolver):
            rng = generator

        self.it: Resolver = Seeded(
            self.poller,
            servers,
            self.cache,
            {"known.test": ("192.0.2.99",)},
            in_flight=in_flight,
            send_queue=send_queue,
            timeout=1.0,
            address_time=1800,
        )
        return self.it

    def is_idle(self) -> bool:
        return self.it.in_flight + self.it.queued == 0

    def turn(self, until: Callable[[], bool] = lambda: False) -> bool:
        """Step; then let the servers answer, or move the clock to the next deadline.

        Returns whether `until` holds.
        """
        self.answers += self.it.step(self.now, self.reported.append)
        if until():
            return True
        if self.poller.wait(0.01) == 0 and self.it.deadline is not None:
            self.now = max(self.now, self.it.deadline)
        return False

    def run(self, until: Callable[[], bool] | None = None) -> list[Answer]:
        until = until or self.is_idle
        for _ in range(MOST_TURNS):
            if self.turn(until):
                break
        else:
            raise AssertionError("no end")
        answers, self.answers = self.answers, []
        return answers

    def resolve(self, name: str, *, refresh: bool = False) -> Answer:
        at_once = self.it.ask(name, self.now, refresh=refresh)
        if at_once is not None:
            return at_once
        (answer,) = self.run()
        return answer

    def resolve_all(self, names: Iterable[str]) -> dict[str, Answer]:
        """Ask for all `names` as there is room; each must be new and get exactly one answer."""
        waiting = list(names)[::-1]
        found: dict[str, Answer] = {}
        while waiting or not self.is_idle():
            while waiting and self.it.room:
                assert self.it.ask(waiting.pop(), self.now) is None
            self.turn(self.is_idle)
            for answer in self.answers:
                assert found.setdefault(answer.name, answer) is answer
            self.answers.clear()
        return found


def found(name: str, *addresses: str) -> Answer:
    return Answer(name, addresses, None)


def failed(name: str, reason: str) -> Answer:
    return Answer(name, (), reason)
