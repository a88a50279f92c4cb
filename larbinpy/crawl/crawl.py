"""A crawl as an object: opens the rooms, turns the engine, and ends well."""

import errno
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from math import inf
from typing import TextIO

from larbinpy.config import Config, ConfigError, texts
from larbinpy.console.terminal.progress import PrintStats, Progress, make_progress, status_line
from larbinpy.console.text import printable
from larbinpy.crawl.assembly import Assembly
from larbinpy.crawl.ending import Stopping
from larbinpy.dns.outage import Outage
from larbinpy.errors import FULL, disk_error, what_failed
from larbinpy.exit_status import Ending
from larbinpy.loop.clock import clock, wall
from larbinpy.loop.signals import Signals
from larbinpy.observe.snapshot import report, snapshot
from larbinpy.outcome import Outcome
from larbinpy.output import Output
from larbinpy.storage.state import Start

#: What passes when somebody makes room.
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT})
#: A full disk is tried again after this (s).
_ROOM_WAIT = 1.0


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
        self._next_second = 0.0
        self._saved_fates = 0
        self._readers_lost = 0
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
                raise ConfigError(what_failed(error)) from error
            return self._run().code

    def _open(self, closing: ExitStack) -> None:
        config = self._config
        self._terminal = make_progress(self._progress_mode, self._stderr, config.limit_page)
        closing.callback(self._terminal.close)
        rooms = self._rooms = Assembly(
            config,
            self._start,
            self._seeds,
            self._own_output,
            self._stdout,
            closing,
            snapshot=self.snapshot,
            stop=self._stop,
        )
        # They are queued now, and may be millions.
        self._seeds.clear()
        self._signals.wake(rooms.poller, closing)
        if rooms.fetcher.size < config.pages_connexions:
            few = f"{rooms.fetcher.size}, not {config.pages_connexions}"
            self._tell(f"pagesConnexions is {few}: the limit of open files (ulimit -n)")
        self._stopping = Stopping(
            config,
            rooms.engine,
            rooms.mode,
            rooms.frontier,
            rooms.input,
            rooms.output.refresher,
            limit_at=inf if rooms.mode.until is None else rooms.mode.until,
            had_work=self._start is Start.RESUME or rooms.frontier.owed > 0,
        )
        self._servers = Outage()
        self._progress: list[Progress] = [self._terminal]
        if config.print_stats:
            self._progress.append(PrintStats(self._stdout, config.limit_time))
            closing.callback(self._progress[-1].close)

    # Running.

    def _run(self) -> Ending:
        try:
            self._save()
            while not self._turn():
                pass
            ending = self._stopping.ending or Ending.FINISHED
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
        self.report = report(
            ending, self._rooms.stats, self._rooms.frontier, self._rooms.resolver, clock()
        )
        return ending

    def _turn(self) -> bool:
        """One turn, and what is done between turns; is the crawl over?"""
        try:
            if self._told_to_stop:
                self._rooms.mode.stalled_until = -inf
            now = self._rooms.engine.turn()
            if now >= self._next_second:
                self._second(now)
            self._answer_signals()
            told, at_once = self._told_to_stop, self._signals.stops > 1
            over = self._stopping.step(now, told=told, at_once=at_once)
            over = over and now >= self._rooms.mode.stalled_until
            self._save_now_and_then(now)
            if over:
                self._save(ended=True)
        except OSError as error:
            if error.errno not in _PASSING or self._told_to_stop:
                raise
            self._wait_for_room(error)
            return False
        if self._full and now >= self._rooms.mode.stalled_until:
            self._full = False
            self._tell("there is room again, the crawl goes on")
        return over

    def _wait_for_room(self, error: OSError) -> None:
        """The disk is full: nothing is fetched, and all is tried again a little later."""
        if not self._full:
            self._tell(f"{what_failed(error)}; the crawl waits until there is room")
        self._full = True
        self._rooms.mode.stalled_until = clock() + _ROOM_WAIT

    @property
    def _told_to_stop(self) -> bool:
        return self._asked_to_stop or self._signals.stops > 0

    def _stop(self) -> None:
        self._asked_to_stop = True

    def _second(self, now: float) -> None:
        """Larbin's cron: what is done once a second."""
        self._next_second = now + 1.0
        self._rooms.stats.second(
            now, self._rooms.resolver.answered, self._rooms.frontier.owed, self._rooms.fetcher.busy
        )
        self._rooms.log.flush()
        self._show(self._state_name())
        for change in self._servers.look(self._rooms.resolver.stats()["servers"], now):
            self._tell(change)
        if self._rooms.reader.lost > self._readers_lost:
            self._readers_lost = self._rooms.reader.lost
            self._tell(f"a process that reads pages has ended ({self._readers_lost} so far)")
        if self._config.debug:
            self._terminal.say(repr(self._rooms.engine))

    def _save_now_and_then(self, now: float) -> None:
        """And at once for seeds, and when all that came is decided."""
        fates = self._rooms.stats.outcomes.total()
        if self._rooms.checkpoints.under_way:
            self._rooms.checkpoints.step()
        elif (
            self._rooms.checkpoints.is_due(now)
            or self._rooms.control.take_news()
            or (fates > self._saved_fates and self._all_decided)
        ):
            self._saved_fates = fates
            self._rooms.checkpoints.begin(now)
        self._rooms.mode.wake_at = self._rooms.checkpoints.deadline

    @property
    def _all_decided(self) -> bool:
        engine, draining = self._rooms.engine, self._rooms.mode.draining
        return engine.out_of_work or (draining and engine.idle)

    def _answer_signals(self) -> None:
        if self._signals.reopen:
            self._reopen_log()
        if self._signals.take_status():
            self._terminal.say(status_line(self.snapshot()))

    def _reopen_log(self) -> None:
        refused = self._rooms.log.reopen()
        if refused is not None and refused.errno in _PASSING:
            raise refused
        self._signals.reopened()
        if refused is not None:
            why = printable(what_failed(refused))
            self._tell(f"{why}; the log goes on in its old file, SIGHUP tries it again")

    def _tell(self, text: str) -> None:
        self._terminal.say(f"larbinpy: {text}")

    def _show(self, state: str) -> None:
        if self._progress_mode != "none" or self._config.print_stats:
            shown = self.snapshot(state)
            for progress in self._progress:
                progress.update(shown)

    def _state_name(self) -> str:
        mode = self._rooms.mode
        if self._full:
            return "disk full"
        if mode.draining:
            return "finished" if self._stopping.over else "stopping"
        if mode.paused:
            return "paused"
        return "waiting" if mode.staying and self._rooms.engine.out_of_work else "running"

    def snapshot(self, state: str | None = None) -> dict[str, object]:
        """Everything there is to see of the crawl, as JSON-able values."""
        return snapshot(
            state or self._state_name(),
            texts(self._rooms.control.config),
            self._rooms.stats,
            self._rooms.frontier,
            self._rooms.resolver,
            self._rooms.fetcher,
            self._rooms.output,
            clock(),
            wall(),
        )

    # Ending.

    def _save(self, *, ended: bool = False) -> None:
        self._saved_fates = self._rooms.stats.outcomes.total()
        self._rooms.checkpoints.save(clock(), ended=ended)

    def _save_at_last(self) -> bool:
        """Save after a disk error, into the room that was reserved for that; did it work?"""
        self._rooms.reserve.release()
        try:
            self._save()
        except OSError:
            return False
        return True

    @property
    def _nothing_fetched(self) -> bool:
        tried = self._rooms.stats.outcomes.total() > 0 and self._start is not Start.RESUME
        return tried and self._rooms.stats.success == 0

    def _failures(self) -> str:
        """How the URLs ended, and what may help."""
        ended = self._rooms.stats.outcomes.most_common(3)
        text = ", ".join(f"{outcome.words} ({count})" for outcome, count in ended if count)
        if self._rooms.stats.outcomes[Outcome.PRIVATE_ADDRESS]:
            text += "; --allow-private fetches from private addresses"
        return text
