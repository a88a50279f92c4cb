"""Waits for an answer of Redis, where there is nothing else to do: before and after a crawl."""

from collections.abc import Callable
from math import ceil
from typing import Any

from larbinpy.fleet.members import DEAD
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.overview import Found, Overview
from larbinpy.fleet.redis.topology import RedisAway
from larbinpy.fleet.vault import Away
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller

#: Seconds for Redis to answer.
PATIENCE = 30.0
#: Seconds in which a living session beats, even if an answer is late; and between two looks.
_WATCHED = 2.5
_LOOK = 0.5
#: Seconds between two looks for a signal.
_TICK = 0.1


class Asker:
    """Asks, and waits in a loop of its own. `is_stopped` ends the wait by KeyboardInterrupt."""

    def __init__(
        self,
        client: Client,
        poller: Poller,
        clock: Clock,
        is_stopped: Callable[[], bool] = lambda: False,
        patience: float = PATIENCE,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """With `say`, Redis is waited for as long as it is away, and `say` gets the reasons."""
        self._client = client
        self._poller = poller
        self._clock = clock
        self._is_stopped = is_stopped
        self._patience = patience
        self._say = say
        self._said = ""

    def __repr__(self) -> str:
        return f"<Asker {self._client!r}>"

    def ask(self, verb: Callable[[Callable[[Any], None]], None]) -> Any:
        """The answer to `verb`; it is asked again if the connection ended before.

        Raises RedisAway if none comes, UserError.
        """
        answers: list[Any] = []
        until = self._clock() + self._patience
        self._client.resume()
        verb(answers.append)
        while True:
            self._turn(until)
            if answers and not isinstance(answers[0], Away):
                return answers[0]
            if answers:
                answers.clear()
                self._client.resume()
                verb(answers.append)
            if self._clock() >= until:
                self._away(RedisAway(self._client.trouble or "Redis does not answer"))
                until += self._patience

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until = self._clock() + seconds
        while self._clock() < until:
            self._turn(until)

    def living(self, overview: Overview, first: Found, *, until_dead: bool = False) -> list[str]:
        """The nodes of a crawl that was found that beat, after watching them for a while.

        `until_dead`: as long as nodes watch before they bury one.
        """
        if not first.sessions:
            return []
        living: list[str] = []
        for _ in range(ceil((DEAD if until_dead else _WATCHED) / _LOOK)):
            self.wait(_LOOK)
            now: Found | None = self.ask(overview.find)
            if now is not None and (living := now.living(first)):
                break
        return living

    def _turn(self, until: float) -> None:
        if self._is_stopped():
            raise KeyboardInterrupt
        try:
            self._client.step(self._clock())
        except RedisAway as away:
            self._away(away)
        now = self._clock()
        self._poller.wait(min(max(0.0, self._client.deadline - now), max(0.0, until - now), _TICK))

    def _away(self, away: RedisAway) -> None:
        """Say why Redis is waited for, once; or raise it."""
        if self._say is None:
            raise away
        if str(away) != self._said:
            self._said = str(away)
            self._say(f"{away}; this node waits")
