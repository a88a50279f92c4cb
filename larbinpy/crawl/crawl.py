"""A crawl as an object: its configuration, its one run, and its report.

The run of an assembled crawl: its turns, and its end.
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from itertools import chain
from typing import TextIO

from larbinpy._version import __version__
from larbinpy.config import Config, ConfigError, Given, texts
from larbinpy.config.kinds import SEED
from larbinpy.console.text import printable
from larbinpy.crawl.assembly import Assembly
from larbinpy.crawl.mode import Restart
from larbinpy.crawl.own_plug import guarded
from larbinpy.crawl.participation import Alone, Participation
from larbinpy.crawl.parts import DEFAULT, Surroundings, Tuning
from larbinpy.errors import FULL, Ending, disk_error, passes, what_failed
from larbinpy.loop.clock import Clock, clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.loop.signals import Signals
from larbinpy.outcome import Outcome, cure, in_words, reason
from larbinpy.output import Output
from larbinpy.stats import Stats
from larbinpy.storage.state import Start


class Run:
    """Turns the engine, and does the work between two turns, until the crawl is over."""

    def __init__(self, config: Config, parts: Assembly, signals: Signals) -> None:
        self._config = config
        self._signals = signals
        self._engine = parts.engine
        self._mode = parts.mode
        self._stopping = parts.stopping
        self._saving = parts.saving
        self._housekeeping = parts.housekeeping
        self._cookie_export = parts.cookie_export
        self._log = parts.log
        self._sessions = parts.sessions
        self._reserve = parts.reserve
        self._stats = parts.stats
        self._totals = parts.totals
        self._snapshots = parts.snapshots
        #: The commands to the crawl.
        self.control = parts.control
        self._display = parts.display
        self._disk_pause = parts.disk_pause
        for note in parts.notes:
            self._display.say(printable(note))
        wanted = config.pages_connexions
        if parts.handles < wanted:
            few = f"{parts.handles}, not {wanted}"
            self._display.say(f"pagesConnexions is {few}: the limit of open files (ulimit -n)")

    def report(self, ending: Ending) -> dict[str, object]:
        """The report of the crawl that ended by `ending`."""
        return self._snapshots.report(ending)

    def complete(self) -> Ending:
        """Run the crawl to its end, also to that by a disk error; return the ending.

        Raises Restart if it must begin anew. An exception caused by a bug or a plug is raised after
        the state was saved.
        """
        try:
            self._saving.save()
            while not self._turn():
                pass
            ending = self._stopping.ending or Ending.FINISHED
        except OSError as error:
            ending = Ending.DISK
            folders = f"outputDir {self._config.output_dir} or stateDir {self._config.state_dir}"
            self._display.say(printable(disk_error(error, folders, saved=self._save_at_last())))
        except Restart:
            raise
        except Exception:
            # A bug, here or in a plug: save the crawl, and show the traceback.
            self._save_at_last()
            raise
        self._display.show(ending)
        if self._sessions is not None:
            for line in self._sessions.take_notices():
                self._display.say(printable(line))
            failed = self._sessions.failed_for_nothing()
            if ending is Ending.FINISHED and failed:
                ending = Ending.LOGIN
                self._display.say(printable(f"{ending.reason}: {', '.join(failed)}"))
        if ending is Ending.FINISHED and self._nothing_fetched:
            ending = Ending.NOTHING
            why = failures(self._totals.outcomes, self._stats)
            self._display.say(f"{ending.reason}: {printable(why)}")
        return ending

    def _turn(self) -> bool:
        """One turn of the engine, and the work between turns; True if the crawl is over."""
        try:
            if self._is_to_stop:
                self._disk_pause.cancel()
            between = (self._stopping, self._saving, self._housekeeping)
            now = self._engine.turn(min(work.deadline for work in between))
            self._housekeeping.step(now)
            self._answer_signals()
            stop, at_once = self._is_to_stop, self._signals.stops > 1
            over = self._stopping.step(now, stop=stop, at_once=at_once)
            over = over and not self._disk_pause.stalls(now)
            self.say(self._saving.step(now, all_decided=self._all_decided))
            if over:
                self._saving.save(ended=True)
                self._cookie_export.write()
        except OSError as error:
            if not passes(error) or self._is_to_stop:
                raise
            self.say(self._disk_pause.begin(error))
            return False
        self.say(self._disk_pause.turned(now))
        return over

    def say(self, message: str | None) -> None:
        """Print a line, unless it is None."""
        if message is not None:
            self._display.say(printable(message))

    @property
    def _is_to_stop(self) -> bool:
        return self._mode.stop or self._signals.stops > 0

    @property
    def _all_decided(self) -> bool:
        return self._engine.out_of_work or (self._mode.draining and self._engine.idle)

    def _answer_signals(self) -> None:
        if self._signals.reopen:
            self._reopen_log()
        if self._signals.take_status():
            self._display.say_status()

    def _reopen_log(self) -> None:
        refused = self._log.reopen()
        if refused is not None and passes(refused):
            raise refused
        self._signals.reopened()
        if refused is not None:
            why = printable(what_failed(refused))
            self._display.say(f"{why}; the log continues in its old file, SIGHUP tries again")

    def _save_at_last(self) -> bool:
        """Save after an error, into the room reserved for that; return whether it worked."""
        self._reserve.release()
        try:
            self._saving.save()
        except OSError:
            return False
        return True

    @property
    def _nothing_fetched(self) -> bool:
        outcomes = self._totals.outcomes
        return outcomes.total() > 0 and not outcomes[Outcome.SUCCESS]


def failures(outcomes: Counter[Outcome], stats: Stats) -> str:
    """Why a crawl has no page: its most frequent outcomes, each with its last reason, and cures.

    The reasons are those of this run.
    """
    last = {fate.outcome: fate for fate in (*stats.recent, *stats.refusals, *stats.failures)}
    ended = [(name.value, count) for name, count in outcomes.most_common(3) if count]
    known = [last[name] for name, _ in ended if name in last]
    why = {name: in_words(name) for name, _ in ended}
    why |= {fate.outcome: reason(fate.outcome, fate.status, fate.detail) for fate in known}
    if outcomes.total() == 1 and known:
        text = f"{known[0].url}: {why[known[0].outcome]}"
    else:
        text = ", ".join(f"{why[name]} ({count})" for name, count in ended)
    cures = dict.fromkeys(cure(fate.outcome, fate.detail) for fate in known)
    return "; ".join([text, *filter(None, cures)])


class Crawl:
    """One crawl, from a configuration to an exit status.

    `output` is a plug of your own (`larbinpy.output.Output`), called besides those of
    outputMode. `seeds` are added to those of startUrl. A resumed crawl keeps the settings that
    its console has changed, except for keywords in `fixed`. A node compares the fields `written`
    with the crawl that it joins; None: all that are not the default. `assumed` is a line about the
    others, printed unless it joins. `given` is what `config` was made of, which is kept for the
    commands that go on with the crawl; None: what was kept before. `progress` is auto, bar, log or
    none.
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
        written: Collection[str] | None = None,
        assumed: str = "",
        given: Given | None = None,
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
        self._written = written
        self._assumed = assumed
        self._given = given
        self._progress = progress
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._clock = clock
        self._wall = wall
        self._poller = poller
        self._tuning = tuning
        self._signals = Signals()
        self._run: Run | None = None
        # Why this node joins its fleet again.
        self._rejoins = ""
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
                    run, ending = self._complete(closing)
                except Restart as reason:
                    self._restarts(str(reason))
                    continue
                self.report = run.report(ending)
                return ending.code

    def _complete(self, closing: ExitStack) -> tuple[Run, Ending]:
        """Assemble the crawl and run it; return the run that makes the report."""
        try:
            run = self._opened(closing)
        except KeyboardInterrupt:
            # A signal came while this node waited for Redis, to join again.
            if self._run is None:
                raise
            return self._run, Ending.STOPPED if self._signals.stops < 2 else Ending.FORCED
        self._run = run
        return run, run.complete()

    def _restarts(self, why: str) -> None:
        if self._run is not None:
            self._rejoins = why
            self._start = Start.RESUME

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

    def _opened(self, closing: ExitStack) -> Run:
        try:
            return self._open(closing)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise ConfigError(what_failed(error)) from error

    def _say(self, line: str) -> None:
        """Print a line while there is no crawl to do it."""
        self._stderr.write(f"larbinpy: {printable(line)}\n")
        self._stderr.flush()

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
        part = self._take_part(poller, closing)
        parts = Assembly(
            part,
            start=self._start,
            seeds=self._seeds,
            own_output=self._own_output,
            progress=self._progress,
            around=around,
            fixed=self._fixed,
            given=self._given,
        )
        if self._rejoins:
            parts.notes.insert(0, f"{self._rejoins}: this node joins again")
        elif self._assumed and part.is_new:
            parts.notes.insert(0, self._assumed)
        if not part.keeps_seeds:
            # The seeds are queued now; there may be millions, so the list is freed.
            self._seeds.clear()
        self._signals.wake(poller, closing)
        return Run(part.config, parts, self._signals)

    def _take_part(self, poller: Poller, closing: ExitStack) -> Participation:
        if not self._config.join:
            return Alone(self._config, self._tuning.kinds)
        # Here, since only a node needs these modules.
        from larbinpy.fleet import require

        require()
        from larbinpy.crawl.fleet.joining import Fleet

        return Fleet.open(
            self._config,
            poller,
            self._clock,
            closing,
            start=self._start,
            written=self._written,
            seeds=bool(self._seeds),
            rejoins=bool(self._rejoins),
            is_stopped=lambda: self._signals.stops > 0,
            say=self._say,
        )


def _parsed(seeds: Iterable[str]) -> list[str]:
    """The seeds as canonical URLs, with their logins.

    There may be millions, so only one list of them is made.
    """
    try:
        return [SEED.parse(seed.strip()) for seed in seeds]
    except ValueError as error:
        raise ConfigError(str(error)) from None
