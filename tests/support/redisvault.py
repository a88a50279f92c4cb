"""A node's end of a vault on Redis, for tests: each verb is asked, and its answer waited for."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import Away, Commit, SiteWait
from larbinpy.loop.poller import Poller

#: Seconds for an answer.
_PATIENCE = 20.0

SETTINGS = {"shards": "8"}


class Asker:
    """A vault in a loop of its own. `ask.verb(...)` returns the answer, an Away included."""

    def __init__(self, address: str) -> None:
        self.poller = Poller()
        self._ahead = 0.0
        self.client = Client(self.poller, self._now, CrawlAddress.of(address))
        self.vault = RedisVault(self.client)

    def close(self) -> None:
        self.client.close()
        self.poller.close()

    def leap(self, seconds: float) -> None:
        """Let the node's clock leap, as if so many seconds had passed without any answer."""
        self._ahead += seconds

    def _now(self) -> float:
        return time.monotonic() + self._ahead

    def pump(self, longest: float = 0.02) -> None:
        """One turn of the loop, of so many seconds at most."""
        self.client.step(self._now())
        due = self.client.deadline - self._now()
        self.poller.wait(min(max(due, 0.0), longest))

    def until(self, holds: Callable[[], Any], patience: float = _PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < deadline, f"no answer: {self.client.trouble}"
            self.pump()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end)

    def start(self, verb: str, *arguments: Any) -> list[Any]:
        """Ask without waiting: the answer comes into the list."""
        answers: list[Any] = []
        getattr(self.vault, verb)(*arguments, answers.append)
        assert answers == [], "answered at once"
        return answers

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return partial(self._ask, verb)

    def _ask(self, verb: str, *arguments: Any) -> Any:
        answers = self.start(verb, *arguments)
        self.until(lambda: answers)
        self.pump(0.0)
        assert len(answers) == 1, "answered more than once"
        return answers[0]

    def surely(self, verb: str, *arguments: Any) -> Any:
        """Ask until the answer is none of Away."""
        while isinstance(answer := self._ask(verb, *arguments), Away):
            pass
        return answer

    def begin(self, session: str, settings: Mapping[str, str] = SETTINGS) -> None:
        """Open the crawl and join it."""
        self._ask("open", settings)
        self._ask("join", session)


def commit_of(
    fingerprints: bytes = b"",
    blocks: Mapping[int, bytes] | None = None,
    owed: Mapping[int, bytes] | None = None,
    finished: tuple[int, ...] = (),
    owing: int = 0,
    received: int = 0,
    counts: Mapping[str, int] | None = None,
    waits: Mapping[str, SiteWait] | None = None,
) -> Commit:
    return Commit(
        fingerprints,
        blocks or {},
        owed or {},
        finished,
        owing,
        received,
        counts or {},
        waits or {},
    )
