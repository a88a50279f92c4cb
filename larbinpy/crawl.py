"""A crawl as an object: wires the rooms, turns the engine, and ends well."""

import errno
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TextIO

from larbinpy import stats as statistics
from larbinpy import wiring
from larbinpy._version import __version__
from larbinpy.config import Config, texts
from larbinpy.console.http import StatusServer
from larbinpy.console.info import FetchInfo
from larbinpy.console.input_port import InputPort
from larbinpy.console.progress import PrintStats, make_progress, status_line
from larbinpy.console.stream import reader_may_leave
from larbinpy.console.text import printable
from larbinpy.control import Control
from larbinpy.engine import Engine, Listener, Mode, clock, wall
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.state import State, StateError
from larbinpy.output import Output, open_output
from larbinpy.output.files import Reserve
from larbinpy.output.log import CrawlLog
from larbinpy.output.report import build_report
from larbinpy.poller import Poller
from larbinpy.signals import Signals

#: Transfers in flight get this long to finish after the first signal (s).
_GRACE = 10.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: With canReload the state is saved this often (s).
_CHECKPOINT = 5.0


class Start(Enum):
    """What to do about a state folder that holds a crawl."""

    REFUSE = "refuse"
    RESUME = "resume"
    SCRATCH = "scratch"


class Ending(Enum):
    """Why a crawl ended, and its exit status."""

    FINISHED = ("finished", 0)
    LIMIT_PAGE = ("limitPage", 0)
    LIMIT_TIME = ("limitTime", 0)
    DISK = ("disk", 3)
    NOTHING = ("no page could be fetched", 4)
    STOPPED = ("stopped", 11)
    FORCED = ("stopped at once", 13)

    def __init__(self, reason: str, code: int) -> None:
        self.reason = reason
        self.code = code


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
        self._next_checkpoint = 0.0
        self._shown = ""
        #: The report of the crawl, once `run` has returned.
        self.report: dict[str, object] = {}

    def run(self) -> int:
        """Crawl to the end; the exit status.

        Raises ConfigError or StateError before anything starts; OSError where a port or
        a folder cannot be had.
        """
        with ExitStack() as closing:
            self._open(closing)
            ending = self._run()
        return ending.code

    # Opening.

    def _open(self, closing: ExitStack) -> None:
        config = self._config
        folder = Path(config.state_dir)
        self._state = State(folder)
        closing.callback(self._state.unlock)
        self._state.lock()
        self._check_state()
        self._reserve = Reserve(folder / "reserve")
        closing.callback(self._reserve.release)
        now = clock()
        self._poller = Poller()
        closing.callback(self._poller.close)
        self._waits = Waits(config.wait_duration, config.max_wait)
        self._frontier = wiring.make_frontier(config, folder, self._waits)
        if self._start is Start.RESUME:
            self._state.load(self._frontier)
        self._resolver = wiring.make_resolver(config, self._poller)
        closing.callback(self._resolver.close)
        proxy = wiring.proxy_address(config)
        self._fetcher = wiring.make_fetcher(config, self._poller, proxy)
        closing.callback(self._fetcher.close)
        if self._fetcher.size < config.pages_connexions:
            self._tell(
                f"larbinpy: pagesConnexions is {self._fetcher.size}, not "
                f"{config.pages_connexions}: no more files may be open at once (ulimit -n)"
            )
        self._stats = statistics.Stats(now, wall())
        self._mode = Mode(limit_page=config.limit_page)
        self._control = Control(
            config,
            self._mode,
            self._waits,
            self._frontier,
            self._fetcher,
            status=self.snapshot,
            save=self._save,
            stop=self._stop,
            now=clock,
        )
        listeners = self._listen(closing)
        self._output = self._make_output()
        closing.callback(self._output.close)
        self._log = CrawlLog(folder / "crawl.jsonl")
        closing.callback(_close_after_all, self._log)
        self._engine = Engine(
            wiring.make_engine_settings(config, proxy),
            self._mode,
            self._poller,
            self._frontier,
            self._resolver,
            self._fetcher,
            wiring.make_types(config),
            self._output,
            self._log,
            self._stats,
            listeners,
        )
        self._progress = [make_progress(self._progress_mode, self._stderr, config.limit_page)]
        if config.print_stats:
            self._progress.append(PrintStats(self._stdout, config.limit_time))
        for progress in self._progress:
            closing.callback(progress.close)
        self._signals.catch(self._poller, closing)
        for url in self._seeds:
            self._frontier.seed(url)

    def _check_state(self) -> None:
        if self._start is Start.SCRATCH:
            self._state.clear()
        elif self._start is Start.REFUSE and self._state.exists:
            raise StateError(
                f"{self._config.state_dir}: holds a crawl already; "
                "--resume goes on with it, --scratch forgets it"
            )

    def _listen(self, closing: ExitStack) -> list[Listener]:
        config = self._config
        listeners: list[Listener] = []
        if config.input_port:
            port = InputPort(self._poller, self._control, config.input_host, config.input_port)
            closing.callback(port.close)
            listeners.append(port)
        if config.http_port:
            server = StatusServer(
                self._poller, self.snapshot, config.http_host, config.http_port, config.histograms
            )
            closing.callback(server.close)
            listeners.append(server)
        return listeners

    def _make_output(self) -> Output:
        config = self._config
        more: dict[str, Output] = {}
        if config.fetch_info:
            more["info"] = FetchInfo(self._stdout)
        if self._own_output is not None:
            more["own"] = self._own_output
        return open_output(config.output_mode, config.output_dir, more)

    # Running.

    def _run(self) -> Ending:
        try:
            self._save()
            while not self._over(self._engine.turn()):
                pass
            ending = self._ending or Ending.FINISHED
            self._save()
        except OSError as error:
            ending = Ending.DISK
            self._tell(self._disk_error(error, saved=self._save_at_last()))
        if ending is Ending.FINISHED and self._nothing_fetched:
            ending = Ending.NOTHING
        self._show("finished")
        self.report = self._make_report(ending)
        return ending

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
            self._mode.draining = self._ending is not None
            self._drain_until = now + _GRACE
        ended = self._mode.draining and (self._engine.idle or now >= self._drain_until)
        return ended and not self._stays_up

    def _why_to_end(self, now: float) -> Ending | None:
        done = self._engine.done
        if self._told_to_stop:
            return Ending.FINISHED if done and len(self._frontier.seen) else Ending.STOPPED
        if self._engine.limit_reached:
            return Ending.LIMIT_PAGE
        if 0 < self._config.limit_time <= now - self._stats.started:
            return Ending.LIMIT_TIME
        return Ending.FINISHED if done and not self._mode.staying else None

    @property
    def _awaits_people(self) -> bool:
        """With nothing to do, is there still a reason to stay?"""
        config = self._config
        if config.input_port and not len(self._frontier.seen):
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
        self._stats.second(self._resolver.stats()["answered"])
        self._log.flush()
        state = self._state_name()
        if self._wants_saving(state, now):
            self._next_checkpoint = now + _CHECKPOINT
            self._save()
        self._shown = state
        self._show(state)
        if self._config.debug:
            self._tell(repr(self._engine))

    def _wants_saving(self, state: str, now: float) -> bool:
        """With canReload every few seconds; and once when it only stays up for people."""
        if state == "finished":
            return self._shown != state
        return self._config.can_reload and now >= self._next_checkpoint

    def _answer_signals(self) -> None:
        if self._signals.take_reopen():
            self._log.reopen()
        if self._signals.take_status():
            self._tell(status_line(self.snapshot()))

    def _tell(self, text: str) -> None:
        with reader_may_leave(self._stderr):
            print(text, file=self._stderr, flush=True)

    def _show(self, state: str) -> None:
        if self._progress_mode != "none" or self._config.print_stats:
            snapshot = self.snapshot(state)
            for progress in self._progress:
                progress.update(snapshot)

    def _state_name(self) -> str:
        if self._mode.draining:
            return "finished" if self._engine.idle else "stopping"
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

    def _save(self) -> None:
        """The log first: what the state no longer owes must be in it."""
        self._log.flush()
        self._state.save(self._frontier, clock())

    def _save_at_last(self) -> bool:
        """Save after a disk error, into the room that was reserved for that; did it work?"""
        self._reserve.release()
        try:
            self._save()
        except OSError:
            return False
        return True

    def _disk_error(self, error: OSError, *, saved: bool) -> str:
        """What happened, where, and what to do, in one line."""
        config = self._config
        where = f"{error.filename}: " if error.filename else ""
        remedy = "make room" if error.errno in _FULL else "mend that"
        since = "" if saved else " from where it was last saved, as its end could not be"
        return printable(
            f"larbinpy: {where}{error.strerror or error}, below outputDir {config.output_dir} or "
            f"stateDir {config.state_dir}; {remedy} and go on with --resume{since}"
        )

    @property
    def _nothing_fetched(self) -> bool:
        return self._stats.success == 0 and self._stats.outcomes.total() > 0

    def _make_report(self, ending: Ending) -> dict[str, object]:
        outcomes = statistics.outcomes(self._stats, self._frontier)
        dns: Mapping[str, object] = self._resolver.stats()
        started = datetime.fromtimestamp(self._stats.started_wall, UTC)
        return build_report(
            version=__version__,
            started=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
            elapsed_s=clock() - self._stats.started,
            cpu_s=statistics.cpu_seconds(),
            peak_rss_bytes=statistics.peak_rss_bytes(),
            stop_reason=ending.reason,
            exit_code=ending.code,
            totals=statistics.totals(self._stats, self._frontier),
            outcomes=outcomes,
            robots=statistics.robots(self._frontier, outcomes),
            dns=dns,
        )


def _close_after_all(log: CrawlLog) -> None:
    """Lines that wait even now could not be written, which was told when it was tried."""
    with suppress(OSError):
        log.close()
