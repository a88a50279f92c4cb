"""The disk side of a crawl: its log, and its state with the checkpoints.

`Saving` decides when the state is saved, and makes a step of it between two turns. `SavedSessions`
are the sessions of logins as a part of the state: tokens and cookies, for their owner alone.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

from larbinpy.context import Context
from larbinpy.crawl.requests import Logins
from larbinpy.errors import DamagedError, LostPagesError, passes, what_failed
from larbinpy.fleet.identity import saved_node
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.observe.snapshot import unanswered
from larbinpy.output.links import (
    CHECK,
    NAME,
    NO_LINK_NOTES,
    CheckRecord,
    FoldedLinkNotes,
    LinkNotes,
    LinkRecord,
    NoLinkRecord,
)
from larbinpy.output.log import CrawlLog
from larbinpy.output.modes import folders_to_flush
from larbinpy.output.plug import Outputs
from larbinpy.stats import Stats
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import (
    NOT_RESUMED,
    Checkpoints,
    Journal,
    NumberedFile,
    Saved,
    SavedPart,
    SavedValue,
    Start,
    State,
    StateError,
)
from larbinpy.storage.syncing import Syncing

if TYPE_CHECKING:
    from larbinpy.crawl.sessions import SiteSessions


class Saving:
    """Begins checkpoints: at intervals, after seeds and logins, and when all URLs are decided."""

    def __init__(self, checkpoints: Checkpoints, stats: Stats, clock: Clock) -> None:
        self._checkpoints = checkpoints
        self._stats = stats
        self._clock = clock
        self._requested = False
        # Number of URLs that were decided when the last checkpoint began.
        self._saved_fates = 0
        self._failed = False

    @property
    def deadline(self) -> float:
        """The time of the next step; -inf while a checkpoint is under way."""
        return self._checkpoints.deadline

    def request(self) -> None:
        """Begin a checkpoint after this turn: there is what no later run could find out.

        Seeds were added, which no page links to, or a login has ended.
        """
        self._requested = True

    def step(self, now: float, *, all_decided: bool) -> str | None:
        """Continue the checkpoint under way, or begin one if there is a reason.

        One that fails leaves the last saved state valid, and is tried again when the next is due.
        Returns a line for the user if the first one fails, or if one succeeds after that. Raises
        OSError if the disk is full, DamagedError, LostPagesError.
        """
        if self._checkpoints.under_way:
            return self._go_on()
        if self._is_wanted(now, all_decided):
            self._requested = False
            self._saved_fates = self._fates
            self._checkpoints.begin(now)
        return None

    def _go_on(self) -> str | None:
        before = self._failed
        try:
            self._checkpoints.step()
        except OSError as error:
            if passes(error) or isinstance(error, DamagedError | LostPagesError):
                raise
            self._failed = True
            lost = "the state could not be saved; the crawl goes on, and tries again"
            return None if before else f"{what_failed(error)}: {lost}"
        self._failed = before and self._checkpoints.under_way
        return "the state is saved again" if before and not self._failed else None

    def _is_wanted(self, now: float, all_decided: bool) -> bool:
        news = all_decided and self._fates > self._saved_fates
        return news or self._requested or self._checkpoints.is_due(now)

    @property
    def _fates(self) -> int:
        return self._stats.outcomes.total()

    def save_now(self) -> Iterator[bool | None]:
        """Save the present state: yields None until this has ended, then whether it worked."""
        return self._checkpoints.save_now(self._clock)

    def save(self, *, ended: bool = False) -> None:
        """Make a whole checkpoint at once. Raises OSError."""
        self._saved_fates = self._fates
        self._checkpoints.save(self._clock(), ended=ended)


class Mark(TypedDict):
    """The number of the file, 0 for none."""

    number: int


class SavedSessions(SavedPart):
    """Saves `sessions` as ``logins.000001.json`` in `folder`; None without loginFile.

    Then the file of an earlier run is removed.
    """

    def __init__(self, folder: Path, sessions: "SiteSessions | None") -> None:
        self._file = NumberedFile(folder, "logins", "json")
        self._sessions = sessions
        # The content of the file, unless that is not certain.
        self._held = b""

    def cut(self) -> Mark:
        data = b"" if self._sessions is None else json.dumps(self._sessions.values()).encode()
        if data != self._held or not data:
            self._held = b""
            self._file.write(data)
            self._held = data
        return Mark(number=self._file.number)

    def sync(self) -> None:
        if not self._file.is_flushed:
            data, self._held = self._held, b""
            self._file.flush()
            self._held = data

    def load(self, mark: Mark) -> None:
        if not mark["number"]:
            return
        # A user who removes the file wants to log in again.
        with suppress(FileNotFoundError):
            data = self._file.read(mark["number"])
            if self._sessions is not None:
                self._sessions.load(json.loads(data))

    def tidy(self, mark: Mark) -> None:
        self._file.discard(mark["number"])

    def clear(self) -> None:
        self._file.discard(0)


NO_PARTS: Mapping[str, SavedPart] = MappingProxyType({})
NO_VALUES: Mapping[str, SavedValue] = MappingProxyType({})


class OnDisk:
    """The parts of a crawl that are on the disk: log, record of links, and checkpoints.

    Opening them changes nothing of an earlier crawl in the folder, beyond repairing what a kill
    left torn; `take_up` does.
    """

    def __init__(
        self,
        context: Context,
        state: State,
        start: Start,
        frontier: Frontier,
        output: Outputs,
        logins: Logins,
        parts: Mapping[str, SavedPart] = NO_PARTS,
        values: Mapping[str, SavedValue] = NO_VALUES,
    ) -> None:
        """`parts` and `values` are saved beside those of the frontier, logs and outputs.

        The journal of a node of a fleet is one of them.
        """
        config, closing = context.config, context.closing
        self._state = state
        self._start = start
        self._frontier = frontier
        self.output = output
        self._logins = logins
        self.log = CrawlLog(context.folder / "crawl.jsonl")
        closing.callback(_close_after_all, self.log)
        self.links: LinkRecord | NoLinkRecord = NoLinkRecord(context.folder / NAME)
        self.check: CheckRecord | NoLinkRecord = NoLinkRecord(context.folder / CHECK)
        self.link_notes: LinkNotes = NO_LINK_NOTES
        if config.check_links:
            judges = {
                "accept": config.accept_status,
                "broken": config.broken_status,
                "known": config.known_faults,
                "folder": config.check_folder,
                "origin": "http://{}:{}/".format(*config.check_place),
            }
            self.check = CheckRecord(context.folder / CHECK, judges)
            closing.callback(_close_after_all, self.check)
        if config.keep_links:
            self.links = LinkRecord(context.folder / NAME, discard=start is Start.SCRATCH)
            closing.callback(_close_after_all, self.links)
            admission = frontier.admission
            self.link_notes = FoldedLinkNotes(self.links, lambda: admission.fold, self.check)
        self.journals = Journals(self.log, self.links, self.check)
        closing.callback(frontier.close)
        syncing = Syncing(context.poller, folders_to_flush(context))
        closing.callback(syncing.wait)
        tuning = context.tuning
        every = tuning.checkpoint_can_reload if config.can_reload else tuning.checkpoint
        if "journal" in parts:
            every = config.round_time
        parts = {"logins": logins, **parts}
        self._saved = saved_by(frontier, self.journals, output, syncing, parts, values)
        checkpoints = Checkpoints(state, self._saved, every)
        self.saving = Saving(checkpoints, context.stats, context.clock)

    def take_up(self, now: float) -> None:
        """Delete the state of an earlier crawl, or continue it."""
        if self._start is Start.SCRATCH:
            self._state.clear(self._saved)
        if self._start is Start.RESUME:
            self._frontier.resume(now, ended=self._state.load(self._saved, now))
        else:
            self.output.refresher.begin()

    def seed(self, urls: Iterable[str]) -> None:
        """Queue seeds, once the state is taken up."""
        for url in urls:
            self._logins.learn(url)
            self._frontier.seed(url)

    def learn_logins(self, urls: Iterable[str]) -> None:
        """Remember the logins of seeds that are queued elsewhere."""
        for url in urls:
            self._logins.learn(url)


class Journals(SavedPart):
    """The crawl log and the records of links, as one part of the state.

    A line of the log never reaches the disk before the links of its page.
    """

    def __init__(
        self,
        log: CrawlLog,
        links: LinkRecord | NoLinkRecord,
        check: CheckRecord | NoLinkRecord,
    ) -> None:
        self._log = log
        self._records = {"links": links, "check": check}

    def flush(self) -> None:
        for each in (*self._records.values(), self._log):
            each.flush()

    def cut(self) -> dict[str, Any]:
        marks = {name: record.cut() for name, record in self._records.items()}
        return {**self._log.cut(), **marks}

    def sync(self) -> None:
        for each in (*self._records.values(), self._log):
            each.sync()

    def load(self, mark: dict[str, Any]) -> None:
        self._log.load(mark)
        for name, record in self._records.items():
            record.load(mark.get(name))

    def clear(self) -> None:
        for each in (self._log, *self._records.values()):
            each.clear()


def saved_by(
    frontier: Frontier,
    log: SavedPart,
    outputs: SavedPart | None = None,
    disk: Syncing | None = None,
    more: Mapping[str, SavedPart] = NO_PARTS,
    values: Mapping[str, SavedValue] = NO_VALUES,
) -> Saved:
    """The saved state of a whole crawl. `disk` flushes the files of `outputs`.

    The parts `more` and `values` are saved in addition to those of the frontier.
    """
    written = {} if outputs is None else {"outputs": outputs}
    return Saved(
        # The log first: it must hold every URL that the store no longer owes.
        parts={"log": log, **written, **frontier.parts(), **more},
        values={**frontier.values(), **values},
        disks={} if disk is None else {"outputs": disk},
        optional=["revisit"],
    )


def check_folder(folder: Path, start: Start) -> None:
    """Raise StateError if a crawl of one process cannot `start` there.

    That is where nodes have their states, and where there is no crawl to resume.
    """
    if State(folder).exists:
        return
    nodes = [each.name for each in sorted(folder.glob("*")) if saved_node(each) is not None]
    if nodes:
        many = f"--nodes {len(nodes)}"
        how = (
            f"{many} --resume continues their crawl, {many} --scratch crawls anew"
            if (folder / "redis").exists()
            else "--join continues their crawl"
        )
        raise StateError(
            f"{folder}: holds the states of nodes ({', '.join(nodes[:3])}); {how}; or set another "
            "stateDir"
        )
    if start is Start.RESUME:
        # One that has just begun has saved nothing yet.
        with State(folder).at_rest():
            raise StateError(f"{folder}: {NOT_RESUMED}")


def locked(folder: Path, start: Start, closing: ExitStack) -> tuple[State, Start]:
    """Lock a state folder; return it with `start`, which is not AUTO any more.

    A crawl that got no reply and owes nothing does not stand in the way of another: REFUSE becomes
    SCRATCH. Raises StateError if another process uses the folder, or if it holds another crawl and
    `start` does not say what to do with that.
    """
    state = State(folder)
    closing.callback(state.unlock)
    state.lock()
    if start is Start.AUTO:
        start = Start.RESUME if state.exists else Start.REFUSE
    if start is Start.REFUSE and state.exists:
        if _came_to_nothing(state):
            return state, Start.SCRATCH
        raise StateError(
            f"{folder}: holds a crawl already; --resume continues it, --scratch crawls anew"
            " (what was fetched stays; the state and the log are replaced)"
        )
    return state, start


def _came_to_nothing(state: State) -> bool:
    """Whether the saved crawl got no reply at all, and owes nothing; False if it is damaged."""
    try:
        with state.reading() as manifest:
            counts = manifest["totals"]["counts"]
            return unanswered(counts) and next(owed_urls(state), None) is None
    except StateError:
        return False


def _close_after_all(journal: Journal | NoLinkRecord) -> None:
    """Close it; pieces that could not be written were reported when that was tried."""
    with suppress(OSError):
        journal.close()
