"""The disk side of a crawl: its outputs, its log, and its state with the checkpoints."""

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from larbinpy._version import __version__
from larbinpy.config import Config
from larbinpy.crawl.saving import Saving
from larbinpy.crawl.surroundings import Tuning
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.output.mirror.browsable import MirrorSettings
from larbinpy.output.modes import ArchiveSettings, open_output
from larbinpy.output.plug import Outputs
from larbinpy.stats.counters import Stats
from larbinpy.storage.checkpoints import Checkpoints
from larbinpy.storage.state import Disk, Saved, SavedPart, Start, State, StateError
from larbinpy.storage.syncing import Syncing


class OnDisk:
    """The parts of a crawl that are on the disk: outputs, log and checkpoints.

    Opening them changes nothing of an earlier crawl in the folder, beyond repairing what a kill
    left torn; `take_up` does.
    """

    def __init__(
        self,
        config: Config,
        state: State,
        frontier: Frontier,
        own_output: Output | None,
        stats: Stats,
        *,
        poller: Poller,
        clock: Clock,
        wall: Clock,
        tuning: Tuning,
        closing: ExitStack,
    ) -> None:
        self._state = state
        self._frontier = frontier
        self.output = open_outputs(config, own_output, wall, tuning.warc_file_size)
        closing.callback(self.output.close)
        self.log = CrawlLog(Path(config.state_dir) / "crawl.jsonl")
        closing.callback(_close_after_all, self.log)
        closing.callback(frontier.close)
        # The output modes that write files.
        writes = {"save", "mirror", "warc"}.intersection(config.output_mode)
        syncing = Syncing(poller, [config.output_dir] if writes else [])
        closing.callback(syncing.wait)
        every = tuning.checkpoint_can_reload if config.can_reload else tuning.checkpoint
        self._saved = saved_by(frontier, self.log, self.output, syncing)
        self.saving = Saving(Checkpoints(state, self._saved, every), stats, clock)

    def take_up(self, start: Start, seeds: Iterable[str], now: float) -> None:
        """Delete the state of an earlier crawl, or continue it; then queue `seeds`."""
        if start is Start.SCRATCH:
            self._state.clear(self._saved)
        elif start is Start.RESUME:
            self._frontier.resume(now, ended=self._state.load(self._saved, now))
        for url in seeds:
            self._frontier.seed(url)


def saved_by(
    frontier: Frontier, log: SavedPart, outputs: SavedPart | None = None, disk: Disk | None = None
) -> Saved:
    """The saved state of a whole crawl. `disk` flushes the files of `outputs`."""
    written = {} if outputs is None else {"outputs": outputs}
    return Saved(
        # The log first: it must hold every URL that the store no longer owes.
        parts={"log": log, **written, **frontier.parts()},
        values=frontier.values(),
        disks={} if disk is None else {"outputs": disk},
    )


def locked(folder: Path, start: Start, closing: ExitStack) -> State:
    state = State(folder)
    closing.callback(state.unlock)
    state.lock()
    if start is Start.REFUSE and state.exists:
        raise StateError(
            f"{folder}: holds a crawl already; --resume continues it, --scratch deletes it"
        )
    return state


def _close_after_all(log: CrawlLog) -> None:
    """Close the log; lines that could not be written were reported when that was tried."""
    with suppress(OSError):
        log.close()


def open_outputs(config: Config, own: Output | None, wall: Clock, warc_file_size: int) -> Outputs:
    """The plugs of outputMode, and `own`, the plug of the calling program."""
    more = {} if own is None else {"own": own}
    # An archive holds all pages of its crawl, even those that an earlier crawl has stored.
    conditional = "warc" not in config.output_mode
    whole = "save" in config.output_mode
    browsable = MirrorSettings(config.keep_originals, config.lower_case_names, conditional, whole)
    return open_output(
        config.output_mode,
        config.output_dir,
        more,
        archive=ArchiveSettings(_about(config), wall, warc_file_size),
        browsable=browsable if config.rewrite_links else None,
    )


def _about(config: Config) -> dict[str, str]:
    """Fields of the first record of a WARC file."""
    return {
        "software": f"larbinpy/{__version__}",
        "robots": "ignore" if config.ignore_robots else "obey (RFC 9309)",
        "operator": config.sender,
        "http-header-from": config.sender,
        "http-header-user-agent": config.user_agent,
    }
