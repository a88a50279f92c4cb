"""Waits for an answer of Redis, where there is nothing else to do: before and after a crawl."""

from collections.abc import Callable
from typing import Any, Protocol

from larbinpy.errors import UserError
from larbinpy.fleet.redis.overview import Found, Overview
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


class Asked(Protocol):
    """A vault or an overview, which answers."""

    def step(self, now: float) -> None: ...

    @property
    def deadline(self) -> float: ...

    @property
    def trouble(self) -> str: ...

    def resume(self) -> None: ...


class Asker:
    """Asks, and waits in a loop of its own. `is_stopped` ends the wait by KeyboardInterrupt."""

    def __init__(
        self,
        poller: Poller,
        clock: Clock,
        is_stopped: Callable[[], bool] = lambda: False,
        patience: float = PATIENCE,
    ) -> None:
        self._poller = poller
        self._clock = clock
        self._is_stopped = is_stopped
        self._patience = patience

    def __repr__(self) -> str:
        return f"<Asker {self._poller!r}>"

    def ask(self, asked: Asked, verb: Callable[[Callable[[Any], None]], None]) -> Any:
        """The answer to `verb`; it is asked again if the connection ended before.

        Raises UserError if none comes.
        """
        answers: list[Any] = []
        until = self._clock() + self._patience
        asked.resume()
        verb(answers.append)
        while True:
            self._turn(asked, until)
            if answers and not isinstance(answers[0], Away):
                return answers[0]
            if answers:
                answers.clear()
                asked.resume()
                verb(answers.append)
            if self._clock() >= until:
                raise UserError(asked.trouble or "Redis does not answer")

    def wait(self, asked: Asked, seconds: float) -> None:
        """Let time pass."""
        until = self._clock() + seconds
        while self._clock() < until:
            self._turn(asked, until)

    def living(self, overview: Overview, first: Found) -> list[str]:
        """The nodes of a crawl that was found that beat, after watching them for a while."""
        if not first.sessions:
            return []
        living: list[str] = []
        for _ in range(int(_WATCHED / _LOOK)):
            self.wait(overview, _LOOK)
            now: Found | None = self.ask(overview, overview.find)
            if now is not None and (living := now.living(first)):
                break
        return living

    def _turn(self, asked: Asked, until: float) -> None:
        if self._is_stopped():
            raise KeyboardInterrupt
        asked.step(self._clock())
        now = self._clock()
        self._poller.wait(min(max(0.0, asked.deadline - now), until - now, _TICK))
