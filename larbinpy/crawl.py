"""A crawl as an object: wires the rooms, turns the engine, and ends well."""

import errno
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TextIO

from larbinpy import stats as statistics
from larbinpy import wiring
from larbinpy.clock import clock, wall
from larbinpy.config import Config, ConfigError, texts
from larbinpy.console.progress import PrintStats, Progress, make_progress, status_line
from larbinpy.console.reasons import words
from larbinpy.console.text import printable
from larbinpy.control import Control
from larbinpy.dns import Outage
from larbinpy.ending import FULL, Ending, Start, disk_error
from larbinpy.engine import Engine, Listener, Mode
from larbinpy.files import Reserve
from larbinpy.finishing import Finishing
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.state import State, StateError
from larbinpy.outcome import Outcome
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.poller import Poller
from larbinpy.resolving import make_resolver
from larbinpy.signals import Signals

#: Transfers in flight get this long to finish after the first signal (s).
_GRACE = 10.0
#: What passes when somebody makes room.
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT})
#: A full disk is tried again after this (s).
_ROOM_WAIT = 1.0
_NEVER = float("-inf")


class Crawl:
    """One crawl, from a configuration to an exit status.

    `output` is a plug of your own (`larbinpy.output.Output`), called beside those of
    outputMode. `seeds` come on top of startUrl. `progress` is auto, bar, log or none.
    """

    def __init__(
        self,
        config: Config,
        *,
        output: Output | None = None,
        seeds: Iterable[str] = (),
        start: Start = Start.REFUSE,
        progress: str = "none",
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._config = config
        self._own_output = output
        self._seeds = [*config.start_url, *seeds]
        self._start = start
        self._progress_mode = progress
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._signals = Signals()
        self._asked_to_stop = False
        self._ending: Ending | None = None
        self._drain_until = 0.0
        self._next_second = 0.0
        self._saved_fates = 0
        self._full = False
        #: The report of the crawl, once `run` has returned.
        self.report: dict[str, object] = {}

    def run(self) -> int:
        """Crawl to the end; the exit status.

        Raises ConfigError or StateError before anything starts, OSError where the disk is
        full by then. Signals are caught where this is the main thread.
        """
        with ExitStack() as closing:
            self._signals.catch(closing)
            try:
                self._open(closing)
            except OSError as error:
                if error.errno in FULL:
                    raise
                where = f"{error.filename}: " if error.filename else ""
                raise ConfigError(f"{where}{error.strerror or error}") from error
            return self._run().code

    # Opening.

    def _open(self, closing: ExitStack) -> None:
        """Make all rooms; what can refuse comes before anything of an old crawl is touched."""
        config = self._config
        folder = Path(config.state_dir)
        self._terminal = make_progress(self._progress_mode, self._stderr, config.limit_page)
        closing.callback(self._terminal.close)
        self._state = State(folder)
        closing.callback(self._state.unlock)
        self._state.lock()
        self._check_state()
        self._poller = Poller()
        closing.callback(self._poller.close)
        self._signals.wake(self._poller, closing)
        self._waits = Waits(config.wait_duration, config.max_wait)
        proxy = wiring.proxy_address(config)
        self._frontier = wiring.make_frontier(config, folder, self._waits)
        self._resolver = make_resolver(config, self._poller)
        closing.callback(self._resolver.close)
        self._servers = Outage()
        self._fetcher = wiring.make_fetcher(config, self._poller, proxy)
        closing.callback(self._fetcher.close)
        if self._fetcher.size < config.pages_connexions:
            few = f"{self._fetcher.size}, not {config.pages_connexions}"
            self._tell(f"pagesConnexions is {few}: the limit of open files (ulimit -n)")
        self._stats = statistics.Stats(clock(), wall())
        limit = self._stats.started + config.limit_time if config.limit_time else None
        self._mode = Mode(limit_page=config.limit_page, until=limit)
        self._control = self._make_control()
        self._listen(closing)
        self._output = wiring.make_output(config, self._own_output)
        closing.callback(self._output.close)
        self._log = CrawlLog(folder / "crawl.jsonl")
        closing.callback(_close_after_all, self._log)
        closing.callback(self._frontier.store.close)
        self._take_up_state()
        self._reserve = Reserve(folder / "reserve")
        closing.callback(self._reserve.release)
        disk = wiring.make_syncing(config, self._poller, closing)
        self._checkpoints = wiring.make_checkpoints(
            config, self._state, self._frontier, self._log, self._output, disk
        )
        self._engine = Engine(
            wiring.make_engine_settings(config),
            self._mode,
            self._poller,
            self._frontier,
            self._resolver,
            self._fetcher,
            wiring.make_types(config),
            self._output,
            wiring.make_registers(config, self._log, self._control.watchers, self._stdout),
            self._stats,
            self._listeners,
            self._output.keeper,
        )
        self._finishing = Finishing(self._output.keeper)
        self._progress: list[Progress] = [self._terminal]
        if config.print_stats:
            self._progress.append(PrintStats(self._stdout, config.limit_time))
            closing.callback(self._progress[-1].close)

    def _make_control(self) -> Control:
        return Control(
            self._config,
            self._mode,
            self._waits,
            self._frontier,
            self._fetcher,
            status=self.snapshot,
            save=lambda: self._checkpoints.save_now(clock),
            stop=self._stop,
            log=lambda: self._log,
            now=clock,
        )

    def _check_state(self) -> None:
        if self._start is Start.REFUSE and self._state.exists:
            raise StateError(
                f"{self._config.state_dir}: holds a crawl already; "
                "--resume goes on with it, --scratch forgets it"
            )

    def _take_up_state(self) -> None:
        if self._start is Start.SCRATCH:
            self._state.clear(self._frontier, self._log)
        elif self._start is Start.RESUME:
            self._state.load(self._frontier, self._log, clock(), self._output)
        for url in self._seeds:
            self._frontier.seed(url)
        self._had_work = self._start is Start.RESUME or self._frontier.owed > 0

    def _listen(self, closing: ExitStack) -> None:
        config, poller = self._config, self._poller
        self._input = wiring.open_input_port(config, poller, self._control, closing)
        status = wiring.open_status_server(config, poller, self.snapshot, self._control, closing)
        self._listeners: list[Listener] = [
            listener for listener in (self._input, status) if listener is not None
        ]

    # Running.

    def _run(self) -> Ending:
        try:
            self._save()
            while not self._turn():
                pass
            ending = self._ending or Ending.FINISHED
        except OSError as error:
            ending = Ending.DISK
            folders = f"outputDir {self._config.output_dir} or stateDir {self._config.state_dir}"
            told = disk_error(error, folders, saved=self._save_at_last())
            self._tell(printable(told))
        except Exception:
            # A bug, here or in a plug: its traceback is wanted, and so is the crawl.
            self._save_at_last()
            raise
        self._show(ending.reason)
        if ending is Ending.FINISHED and self._nothing_fetched:
            ending = Ending.NOTHING
            self._tell(f"{ending.reason}: {self._failures()}")
        self.report = statistics.report(
            ending, self._stats, self._frontier, self._resolver, clock()
        )
        return ending

    def _turn(self) -> bool:
        """One turn, and what is done between turns; is the crawl over?"""
        try:
            if self._told_to_stop:
                self._mode.stalled_until = _NEVER
            now = self._engine.turn()
            over = self._over(now) and now >= self._mode.stalled_until
            self._save_now_and_then(now)
            if over:
                self._save(ended=True)
        except OSError as error:
            if error.errno not in _PASSING or self._told_to_stop:
                raise
            self._wait_for_room(error)
            return False
        if self._full and now >= self._mode.stalled_until:
            self._full = False
            self._tell("there is room again, the crawl goes on")
        return over

    def _wait_for_room(self, error: OSError) -> None:
        """The disk is full: nothing is fetched, and all is tried again a little later."""
        if not self._full:
            where = f"{error.filename}: " if error.filename else ""
            self._tell(f"{where}{error.strerror}; the crawl waits until there is room")
        self._full = True
        self._mode.stalled_until = clock() + _ROOM_WAIT

    def _over(self, now: float) -> bool:
        """Is the crawl over after a turn that began at `now`?"""
        if now >= self._next_second:
            self._second(now)
        self._answer_signals()
        if self._signals.stops > 1:
            self._ending = Ending.FORCED
            return True
        self._mode.staying = self._awaits_people
        if not self._mode.draining:
            self._ending = self._why_to_end(now)
            if self._ending is not None:
                self._mode.draining = True
                self._mode.until = self._drain_until = now + _GRACE
        ended = self._mode.draining and (self._engine.idle or now >= self._drain_until)
        if ended:
            stalled = now < self._mode.stalled_until
            ended = not stalled and self._finishing.step(now, self._told_to_stop)
            self._mode.until = None if ended or stalled else now
            self._ending = Ending.STOPPED if self._finishing.left else self._ending
        return ended and not self._stays_up

    def _why_to_end(self, now: float) -> Ending | None:
        done = self._engine.done
        if self._told_to_stop:
            return Ending.FINISHED if done and self._had_work else Ending.STOPPED
        if self._engine.limit_reached:
            return Ending.LIMIT_PAGE
        if 0 < self._config.limit_time <= now - self._stats.started:
            return Ending.LIMIT_TIME
        return Ending.FINISHED if done and not self._mode.staying else None

    @property
    def _awaits_people(self) -> bool:
        """With nothing to do, is there still a reason to stay?

        With an input port: before there was anything to do, and while someone is there.
        """
        self._had_work = self._had_work or self._frontier.owed > 0
        if self._input is not None and (self._input.awaited or not self._had_work):
            return True
        return self._stays_up

    @property
    def _stays_up(self) -> bool:
        """highLevelWebServer: the status page outlives the crawl, until someone says stop."""
        wanted = self._config.high_level_web_server and bool(self._config.http_port)
        return wanted and not self._told_to_stop

    @property
    def _told_to_stop(self) -> bool:
        return self._asked_to_stop or self._signals.stops > 0

    def _stop(self) -> None:
        self._asked_to_stop = True

    def _second(self, now: float) -> None:
        """Larbin's cron: what is done once a second."""
        self._next_second = now + 1.0
        self._stats.second(now, self._resolver.answered, self._frontier.owed, self._fetcher.busy)
        self._log.flush()
        self._show(self._state_name())
        for change in self._servers.look(self._resolver.stats()["servers"], now):
            self._tell(change)
        if self._config.debug:
            self._terminal.say(repr(self._engine))

    def _save_now_and_then(self, now: float) -> None:
        """And at once for seeds, and when all that came is decided."""
        fates = self._stats.outcomes.total()
        if self._checkpoints.under_way:
            self._checkpoints.step()
        elif (
            self._checkpoints.is_due(now)
            or self._control.take_news()
            or (fates > self._saved_fates and self._state_name() == "finished")
        ):
            self._saved_fates = fates
            self._checkpoints.begin(now)
        self._mode.wake_at = self._checkpoints.deadline

    def _answer_signals(self) -> None:
        if self._signals.reopen:
            self._log.reopen()
            self._signals.reopened()
        if self._signals.take_status():
            self._terminal.say(status_line(self.snapshot()))

    def _tell(self, text: str) -> None:
        self._terminal.say(f"larbinpy: {text}")

    def _show(self, state: str) -> None:
        if self._progress_mode != "none" or self._config.print_stats:
            snapshot = self.snapshot(state)
            for progress in self._progress:
                progress.update(snapshot)

    def _state_name(self) -> str:
        if self._mode.draining:
            return "finished" if self._engine.idle else "stopping"
        if self._full:
            return "disk full"
        if self._mode.paused:
            return "paused"
        return "finished" if self._engine.done else "running"

    def snapshot(self, state: str | None = None) -> dict[str, object]:
        """Everything there is to see of the crawl, as JSON-able values."""
        return statistics.snapshot(
            state or self._state_name(),
            texts(self._control.config),
            self._stats,
            self._frontier,
            self._resolver,
            self._fetcher,
            self._output,
            clock(),
            wall(),
        )

    # Ending.

    def _save(self, *, ended: bool = False) -> None:
        self._saved_fates = self._stats.outcomes.total()
        self._checkpoints.save(clock(), ended=ended)

    def _save_at_last(self) -> bool:
        """Save after a disk error, into the room that was reserved for that; did it work?"""
        self._reserve.release()
        try:
            self._save()
        except OSError:
            return False
        return True

    @property
    def _nothing_fetched(self) -> bool:
        tried = self._stats.outcomes.total() > 0 and self._start is not Start.RESUME
        return tried and self._stats.success == 0

    def _failures(self) -> str:
        """How the URLs ended, and what may help."""
        ended = self._stats.outcomes.most_common(3)
        text = ", ".join(f"{words(outcome.value)} ({count})" for outcome, count in ended if count)
        if self._stats.outcomes[Outcome.PRIVATE_ADDRESS]:
            text += "; --allow-private fetches from private addresses"
        return text


def _close_after_all(log: CrawlLog) -> None:
    """Lines that wait even now could not be written, which was told when it was tried."""
    with suppress(OSError):
        log.close()
