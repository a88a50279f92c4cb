"""The run of an assembled crawl: its turns, and its end."""

from collections import Counter

from larbinpy.config import Config
from larbinpy.console.text import printable
from larbinpy.crawl.assembly import Assembly
from larbinpy.crawl.control.restart import Restart
from larbinpy.errors import disk_error, passes, what_failed
from larbinpy.exit_status import Ending
from larbinpy.loop.signals import Signals
from larbinpy.outcome import Outcome, in_words
from larbinpy.reason import cure, reason
from larbinpy.stats.counters import Stats


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

    def __repr__(self) -> str:
        return f"<Run {self._engine!r}>"

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
