"""Joining a fleet: the crawl is made or found in Redis before the node is assembled."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from larbinpy.config import Config
from larbinpy.crawl.control.mode import Mode
from larbinpy.errors import UserError
from larbinpy.fleet.frontier import SharedFrontier
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.membership import Membership
from larbinpy.fleet.redis.vault import RedisVault
from larbinpy.fleet.redis.wire import Address
from larbinpy.fleet.settings import joined, shared
from larbinpy.fleet.vault import Away, Crawl, CrawlState
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller
from larbinpy.output.plug import Feeder
from larbinpy.storage.state import SavedValue, StateError

#: Seconds for Redis to answer at the start.
_PATIENCE = 30.0


class Fleet:
    """A crawl in Redis that this process joins. `config` has the settings that all nodes share."""

    def __init__(self, config: Config, vault: RedisVault, crawl: Crawl, clock: Clock) -> None:
        self.config = config
        self.vault = vault
        self.crawl = crawl
        self.journal = Journal()
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Fleet {self.vault!r}>"

    @property
    def has_seeds(self) -> bool:
        """Whether the crawl had its first seeds when it was opened."""
        return self.crawl.state is not CrawlState.NEW

    @classmethod
    def open(cls, config: Config, poller: Poller, clock: Clock, closing: ExitStack) -> "Fleet":
        """Make the crawl that `config` names, or find it; its state and outputs get folders.

        Raises UserError if Redis does not answer or may not be used, ConfigError for a setting
        that differs from the crawl's.
        """
        vault = RedisVault(poller, clock, Address.of(config.join))
        closing.callback(vault.close)
        settings = {**shared(config), "shards": str(config.shards)}
        crawl = _answer(vault, poller, clock, lambda then: vault.open(settings, then))
        if crawl.state is CrawlState.STOPPED:
            _answer(
                vault,
                poller,
                clock,
                lambda then: vault.declare(CrawlState.STOPPED, CrawlState.RUNNING, then),
            )
        theirs = {name: text for name, text in crawl.settings.items() if name != "shards"}
        config = joined(config, theirs)
        config = replace(
            config,
            shards=int(crawl.settings["shards"]),
            state_dir=os.path.join(config.state_dir, config.node),
            output_dir=os.path.join(config.output_dir, config.node),
        )
        return cls(config, vault, crawl, clock)

    def membership(self, frontier: SharedFrontier, mode: Mode, inner: Feeder) -> Membership:
        """The node of an assembled crawl."""
        config = self.config
        return Membership(
            self.vault,
            self.journal,
            frontier,
            lambda: f"{config.node}.{os.urandom(6).hex()}",
            config.shards,
            config.wait_duration,
            mode,
            self._clock,
            inner,
        )

    def identity(self) -> SavedValue:
        """The value in a node's state that says which crawl it belongs to."""
        return _Identity(self.crawl.id, Path(self.config.state_dir))


class _Identity(SavedValue):
    def __init__(self, crawl: str, folder: Path) -> None:
        self._crawl = crawl
        self._folder = folder

    def cut(self, now: float, *, ended: bool) -> str:
        return self._crawl

    def load(self, value: str, now: float) -> None:
        if value != self._crawl:
            raise StateError(f"{self._folder}: holds a node of another crawl; --scratch forgets it")


def _answer(
    vault: RedisVault, poller: Poller, clock: Clock, ask: Callable[[Callable[[Any], None]], None]
) -> Any:
    """Ask and wait for the answer. Raises UserError."""
    answers: list[Any] = []
    until = clock() + _PATIENCE
    ask(answers.append)
    while True:
        now = clock()
        vault.step(now)
        if answers and not isinstance(answers[0], Away):
            return answers[0]
        if answers:
            answers.clear()
            ask(answers.append)
        if now >= until:
            raise UserError(vault.trouble or "Redis does not answer")
        poller.wait(min(max(0.0, vault.deadline - now), until - now))
