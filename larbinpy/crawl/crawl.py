"""A crawl as an object: its configuration, its one run, and its report."""

import sys
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from itertools import chain
from typing import TextIO

from larbinpy._version import __version__
from larbinpy.config import Config, ConfigError, texts
from larbinpy.config.request_kinds import SEED
from larbinpy.crawl.assembly import Assembly
from larbinpy.crawl.control.restart import Restart
from larbinpy.crawl.own_plug import guarded
from larbinpy.crawl.resources.surroundings import DEFAULT, Surroundings, Tuning
from larbinpy.crawl.run import Run
from larbinpy.errors import FULL, what_failed
from larbinpy.loop.clock import Clock, clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.loop.signals import Signals
from larbinpy.output import Output
from larbinpy.storage.state import Start


class Crawl:
    """One crawl, from a configuration to an exit status.

    `output` is a plug of your own (`larbinpy.output.Output`), called besides those of
    outputMode. `seeds` are added to those of startUrl. A resumed crawl keeps the settings that
    its console has changed, except for keywords in `fixed`. `progress` is auto, bar, log or none.
    `clock`, `wall`, `poller` and `tuning` are for tests; the caller closes a given `poller`.
    Raises ConfigError for a seed that is not a URL to crawl.
    """

    def __init__(
        self,
        config: Config,
        *,
        output: Output | None = None,
        seeds: Iterable[str] = (),
        start: Start = Start.REFUSE,
        fixed: Collection[str] = (),
        progress: str = "none",
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        clock: Clock = clock,
        wall: Clock = wall,
        poller: Poller | None = None,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self._config = config
        self._own_output = None if output is None else guarded(output)
        self._seeds = _parsed(chain(config.start_url, seeds))
        self._start = start
        self._fixed = fixed
        self._progress = progress
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._clock = clock
        self._wall = wall
        self._poller = poller
        self._tuning = tuning
        self._signals = Signals()
        self._run: Run | None = None
        #: The report of the crawl, once `run` has returned.
        self.report: dict[str, object] = {}

    def run(self) -> int:
        """Crawl to the end; return the exit status.

        Raises ConfigError or StateError if the crawl cannot start, OSError if the disk is full at
        that time, and PlugError if a method of `output` raises an exception.
        Signals are caught if this is the main thread.
        """
        while True:
            with ExitStack() as closing:
                self._signals.catch(closing)
                try:
                    self._run = self._open(closing)
                except OSError as error:
                    if error.errno in FULL:
                        raise
                    raise ConfigError(what_failed(error)) from error
                try:
                    ending = self._run.complete()
                except Restart as reason:
                    self._run.say(f"{reason}: this node joins again")
                    self._start = Start.RESUME
                    continue
                self.report = self._run.report(ending)
                return ending.code

    def snapshot(self) -> dict[str, object]:
        """The snapshot of the crawl that the status page shows, as JSON-able values.

        Before `run` has opened the crawl, it has only `version`, `state` ("not started"), `config`
        and `seeds`, their number.
        """
        if self._run is None:
            return {
                "version": __version__,
                "state": "not started",
                "config": texts(self._config),
                "seeds": len(self._seeds),
            }
        return self._run.control.status()

    def add(
        self, url: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> str | None:
        """Add a seed; returns the reason if it is refused, else None.

        `depth` is the number of links to follow (default: depthInSite); `again` fetches a URL that
        was fetched before. Only while the crawl runs, from its thread: from a method of the plug.
        Raises RuntimeError before that.
        """
        return self._running.control.add(url, depth=depth, priority=priority, again=again)

    def stop(self) -> None:
        """End the crawl as the command `stop` does; the state is saved. Called like `add`."""
        self._running.control.stop()

    @property
    def _running(self) -> Run:
        if self._run is None:
            raise RuntimeError("the crawl does not run yet; pass `seeds` to Crawl")
        return self._run

    def _open(self, closing: ExitStack) -> Run:
        poller = self._poller
        if poller is None:
            poller = Poller()
            closing.callback(poller.close)
        around = Surroundings(
            poller=poller,
            clock=self._clock,
            wall=self._wall,
            stdout=self._stdout,
            stderr=self._stderr,
            closing=closing,
            tuning=self._tuning,
        )
        config, fleet = self._config, None
        if config.join:
            # Here, since only a node needs these modules.
            from larbinpy.fleet import require

            require()
            from larbinpy.crawl.fleet.joining import Fleet

            fleet = Fleet.open(
                config,
                poller,
                self._clock,
                closing,
                start=self._start,
                seeds=bool(self._seeds),
                is_stopped=lambda: self._signals.stops > 0,
            )
            config = fleet.config
        parts = Assembly(
            config,
            start=self._start,
            seeds=self._seeds,
            own_output=self._own_output,
            progress=self._progress,
            around=around,
            fixed=self._fixed if fleet is None else [*self._fixed, *fleet.changed],
            fleet=fleet,
        )
        if fleet is None or fleet.has_seeds:
            # The seeds are queued now; there may be millions, so the list is freed. A node whose
            # session ends before the crawl has its first seeds gives them again.
            self._seeds.clear()
        self._signals.wake(poller, closing)
        return Run(config, parts, self._signals)


def _parsed(seeds: Iterable[str]) -> list[str]:
    """The seeds as canonical URLs, with their logins.

    There may be millions, so only one list of them is made.
    """
    try:
        return [SEED.parse(seed.strip()) for seed in seeds]
    except ValueError as error:
        raise ConfigError(str(error)) from None
