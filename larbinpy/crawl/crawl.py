"""A crawl as an object: its configuration, its one run with its turns and end, and its report."""

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from itertools import chain
from typing import TextIO

from larbinpy._version import __version__
from larbinpy.config import Config, ConfigError, Given, Origins, texts
from larbinpy.config.kinds import SEED
from larbinpy.console.text import counted, printable
from larbinpy.context import DEFAULT, Context, Tuning
from larbinpy.crawl.assembly import Alone, Assembly, Participation
from larbinpy.crawl.ending import notify
from larbinpy.crawl.mode import Restart
from larbinpy.crawl.own_plug import guarded, named_plug
from larbinpy.crawl.parts import Display
from larbinpy.errors import FULL, Ending, disk_error, passes, what_failed
from larbinpy.loop.signals import Signals
from larbinpy.output.items import Item, Items
from larbinpy.output.plug import Output
from larbinpy.page import SCRIPTED, UNKEPT, Outcome, cure, in_words, left_out_in_words, reason
from larbinpy.stats import Stats
from larbinpy.storage.state import Start, State
from larbinpy.url import masked

#: Endings that say that the crawl did what was asked.
_DONE = (Ending.FINISHED, Ending.LIMIT_PAGE, Ending.LIMIT_TIME)


class Run:
    """Turns the engine, and does the work between two turns, until the crawl is over."""

    def __init__(self, context: Context, parts: Assembly, signals: Signals) -> None:
        self._context = context
        self._parts = parts
        self._signals = signals
        self._display = parts.display
        self._mode = parts.mode
        config = context.config
        #: As messages name them.
        self._folders = f"outputDir {config.output_dir} or stateDir {config.state_dir}"
        #: The commands to the crawl.
        self.control = parts.control
        for note in parts.notes:
            self._display.say(printable(note))
        wanted = context.config.pages_connexions
        if parts.handles < wanted:
            few = f"{parts.handles}, not {wanted}"
            self._display.say(f"pagesConnexions is {few}: the limit of open files (ulimit -n)")

    def pack(self) -> str:
        """Make one file of the archives, once they are complete; return a line about it."""
        # Here, since only outputMode wacz needs it.
        from larbinpy.output.warc.wacz import pack_crawl

        with State(self._context.folder).reading() as manifest:
            marks = manifest["outputs"]
        return pack_crawl(self._context.config, marks, self._context.wall())

    def report(self, ending: Ending) -> dict[str, object]:
        """The report of the crawl that ended by `ending`."""
        return self._parts.snapshots.report(ending)

    def complete(self) -> Ending:
        """Run the crawl to its end, also to that by a disk error; return the ending.

        Raises Restart if it must begin anew. An exception caused by a bug or a plug is raised after
        the state was saved.
        """
        try:
            self._parts.saving.save()
            while not self._turn():
                pass
            ending = self._parts.stopping.ending or Ending.FINISHED
        except OSError as error:
            ending = Ending.DISK
            saved = self._save_at_last()
            self._display.say(printable(disk_error(error, self._folders, saved=saved)))
        except Restart:
            raise
        except Exception:
            # A bug, here or in a plug: save the crawl, and show the traceback.
            self._save_at_last()
            raise
        self._display.show(ending)
        sessions = self._parts.sessions
        if sessions is not None:
            for line in sessions.take_notices():
                self._display.say(printable(line))
            failed = sessions.failed_for_nothing()
            if ending is Ending.FINISHED and failed:
                ending = Ending.LOGIN
                self._display.say(printable(f"{ending.reason}: {', '.join(failed)}"))
        if ending is Ending.FINISHED and self._nothing_fetched:
            ending = Ending.NOTHING
            outcomes = self._parts.totals.outcomes
            why = failures(outcomes, self._context.stats)
            unused = unused_variables(outcomes, self._context.config, os.environ)
            self._display.say(
                "; ".join(filter(None, [f"{ending.reason}: {printable(why)}", unused]))
            )
        else:
            for line in self._context.stats.take_seed_lines(at_end=True):
                self._display.say(printable(line))
            self._say_of_scripts()
            if ending in _DONE and (why := self._why_nothing_kept()):
                ending = Ending.UNKEPT
                self._display.say(f"{ending.reason}: {why}")
        return ending

    def _turn(self) -> bool:
        """One turn of the engine, and the work between turns; True if the crawl is over."""
        parts, disk_pause = self._parts, self._mode.disk_pause
        try:
            if self._waits_no_longer:
                disk_pause.cancel()
            elif not self._mode.draining:
                parts.room.check(self._context.clock())
            between = (parts.stopping, parts.saving, parts.housekeeping)
            now = parts.engine.turn(min(work.deadline for work in between))
            parts.housekeeping.step(now)
            self._answer_signals()
            stop, at_once = self._is_to_stop, self._signals.stops > 1
            over = parts.stopping.step(now, stop=stop, at_once=at_once)
            over = over and not disk_pause.stalls(now)
            self.say(parts.saving.step(now, all_decided=self._all_decided))
            if over:
                parts.saving.save(ended=True)
                parts.cookie_export.write()
        except OSError as error:
            if not passes(error) or self._waits_no_longer:
                raise
            error.filename = error.filename or self._folders
            self.say(disk_pause.begin(error, self._context.clock()))
            return False
        self.say(disk_pause.turned(now))
        return over

    def say(self, message: str | None) -> None:
        """Print a line, unless it is None."""
        if message is not None:
            self._display.say(printable(message))

    @property
    def _is_to_stop(self) -> bool:
        return self._mode.stop or self._signals.stops > 0

    @property
    def _waits_no_longer(self) -> bool:
        """Whether a full disk ends the run: it is to stop, or limitTime is over."""
        return self._is_to_stop or self._context.clock() >= self._mode.limit_at

    @property
    def _all_decided(self) -> bool:
        engine = self._parts.engine
        return engine.out_of_work or (self._mode.draining and engine.idle)

    def _answer_signals(self) -> None:
        if self._signals.reopen:
            self._reopen_log()
        if self._signals.take_status():
            self._display.say_status()

    def _reopen_log(self) -> None:
        refused = self._parts.log.reopen()
        if refused is not None and passes(refused):
            raise refused
        self._signals.reopened()
        if refused is not None:
            why = printable(what_failed(refused))
            self._display.say(f"{why}; the log continues in its old file, SIGHUP tries again")

    def _save_at_last(self) -> bool:
        """Save after an error, into the room reserved for that; return whether it worked."""
        self._parts.reserve.release()
        try:
            self._parts.saving.save()
        except OSError:
            return False
        return True

    def _say_of_scripts(self) -> None:
        """Say that a browser would see more, if that is true for most pages."""
        counts = self._parts.totals.counts()
        scripted = counts["left_out"]["scripts"]
        if scripted and 2 * scripted >= counts["outcomes"][Outcome.SUCCESS.value]:
            self._display.say(
                f"{counted(scripted, 'page')} with {SCRIPTED}: --render reads them in a browser"
            )

    @property
    def _nothing_fetched(self) -> bool:
        outcomes = self._parts.totals.outcomes
        return outcomes.total() > 0 and not outcomes[Outcome.SUCCESS]

    def _why_nothing_kept(self) -> str:
        """Why all pages were left out of the outputs; empty if one was kept, or none was to be.

        An archive has them all the same.
        """
        config, counts = self._context.config, self._parts.totals.counts()
        left = {name: counts["left_out"][name] for name in UNKEPT}
        if config.keeps_exchanges or not (config.keeps_files or config.fills_database):
            return ""
        if sum(left.values()) < counts["outcomes"][Outcome.SUCCESS.value]:
            return ""
        return ", ".join(f"{left_out_in_words(name)} ({n})" for name, n in left.items() if n)


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


#: Outcomes that a proxy may avoid, where there is no other way out.
_NO_WAY = (Outcome.NO_DNS, Outcome.NO_CONNECTION, Outcome.TIMEOUT)
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
#: Where other programs look for certificates to trust.
_TRUSTED = ("ssl_cert_file", "ssl_cert_dir", "curl_ca_bundle", "requests_ca_bundle")


def unused_variables(
    outcomes: Mapping[Outcome, int], config: Config, environ: Mapping[str, str]
) -> str:
    """Says that the environment names a proxy or certificates, where a crawl has no page for that.

    Empty if it does not, or the configuration names them.
    """
    if not config.proxy and any(outcomes[each] for each in _NO_WAY):
        names: Collection[str] = _PROXIES
        way_out = "; proxy HOST PORT sets a proxy"
    elif not config.ca_file and outcomes[Outcome.BAD_TLS]:
        names, way_out = _TRUSTED, ""
    else:
        return ""
    found = [name for name in environ if name.lower() in names and environ[name]]
    return f"not used: {', '.join(found)} of the environment{way_out}" if found else ""


class Crawl:
    """One crawl, from a configuration to an exit status.

    `output` is a plug of your own (`larbinpy.output.Output`), called besides those of
    outputMode. `seeds` are added to those of startUrl. A resumed crawl keeps the settings that
    its console has changed, except for keywords in `fixed`. A node compares the fields `written`
    with the crawl that it joins; None: all that are not the default. `assumed` is a line about the
    others, printed unless it joins. `given` is what `config` was made of, which is kept for the
    commands that go on with the crawl; None: what was kept before. `progress` is auto, bar, log or
    none.
    `tuning` is for tests.
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
        tuning: Tuning = DEFAULT,
    ) -> None:
        self._config = config
        #: The file of what the plug emits; None without one.
        self._items = _items(config)
        if output is None and config.plug:
            output = named_plug(config.plug)
        if self._items is not None and output is None:
            raise ConfigError(f"items {config.items}: only a plug makes items; set plug, too")
        self._own_output = None if output is None else guarded(output, self, self._items)
        self._seeds = _parsed(chain(config.start_url, seeds))
        self._start = start
        self._origins = Origins(given, fixed, written)
        self._written = written
        self._assumed = assumed
        self._progress = progress
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
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
            code = self._pack(run, ending).code
            if self._config.notify:
                self._notify()
            return code

    def _notify(self) -> None:
        config = self._config
        database = config.content_database if config.fills_database else None
        if fault := notify(config.notify, self.report, database):
            self._say(f"notify {masked(config.notify)}: {fault}")

    def _pack(self, run: Run, ending: Ending) -> Ending:
        """Make one file of the archives (outputMode wacz) if the crawl has ended; its ending."""
        if not self._config.packs or ending in (Ending.STOPPED, Ending.FORCED, Ending.DISK):
            return ending
        try:
            self._say(run.pack())
        except OSError as error:
            ending = Ending.DISK
            folder = self._config.output_dir
            self._say(f"{what_failed(error)}; make room, then: larbinpy pack {folder}")
            self.report |= {"stop_reason": ending.reason, "exit_code": ending.code}
        return ending

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
        self,
        url: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
        label: str = "",
    ) -> str | None:
        """Add a seed; returns the reason if it is refused, else None.

        `depth` is the number of links to follow (default: depthInSite); `again` fetches a URL that
        was fetched before. `label` is that of its page, and the name of the method that gets it if
        the plug has one. Only while the crawl runs, from its thread: from a method of the plug.
        Raises RuntimeError before that.
        """
        if label and not label.isidentifier():
            return f"the label {label[:80]!r} is no name of a method"
        return self._running.control.add(
            url, depth=depth, priority=priority, again=again, label=label
        )

    def emit(self, item: Item) -> None:
        """Write an item to the file of `items`, together with the others of its page.

        Called like `add`. Raises ConfigError if there is no such file.
        """
        if self._items is None:
            raise ConfigError("no file for items; set items (crawl -O FILE)")
        self._items.emit(item)

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
        context = Context.open(self._config, closing, self._tuning)
        part = self._take_part(context)
        context = context.by(part.config)
        parts = Assembly(
            context,
            part,
            self._start,
            self._seeds,
            self._own_output,
            Display(context, self._progress, self._stdout, self._stderr),
            self._origins,
        )
        if self._rejoins:
            parts.notes.insert(0, f"{self._rejoins}: this node joins again")
        elif self._assumed and part.is_new:
            parts.notes.insert(0, self._assumed)
        if not part.keeps_seeds:
            # The seeds are queued now; there may be millions, so the list is freed.
            self._seeds.clear()
        self._signals.wake(context.poller, closing)
        return Run(context, parts, self._signals)

    def _take_part(self, context: Context) -> Participation:
        if not self._config.join:
            return Alone(self._config)
        # Here, since only a node needs these modules.
        from larbinpy.fleet import require

        require()
        from larbinpy.crawl.fleet.membership import Fleet

        return Fleet.open(
            context,
            start=self._start,
            written=self._written,
            seeds=bool(self._seeds),
            rejoins=bool(self._rejoins),
            is_stopped=lambda: self._signals.stops > 0,
            say=self._say,
        )


def _items(config: Config) -> Items | None:
    return Items(config.items, config.node if config.join else "") if config.items else None


def _parsed(seeds: Iterable[str]) -> list[str]:
    """The seeds as canonical URLs, with their logins.

    There may be millions, so only one list of them is made.
    """
    try:
        return [SEED.parse(seed.strip()) for seed in seeds]
    except ValueError as error:
        raise ConfigError(str(error)) from None
