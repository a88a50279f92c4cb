"""Opening a crawl: all its rooms, and what an earlier run left of it."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from larbinpy.config import Config
from larbinpy.crawl import wiring
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Engine, Mode
from larbinpy.crawl.resolving import make_resolver
from larbinpy.frontier.politeness import Waits
from larbinpy.frontier.saved import saved_by
from larbinpy.loop.clock import clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.output import Output
from larbinpy.output.log import CrawlLog
from larbinpy.stats.counters import Stats
from larbinpy.storage.files import Reserve
from larbinpy.storage.state import Saved, Start, State, StateError


class Assembly:
    """What a crawl is made of, open until `closing` is.

    What can refuse comes before anything of an old crawl is touched. Raises ConfigError,
    StateError or OSError.
    """

    def __init__(
        self,
        config: Config,
        start: Start,
        seeds: Iterable[str],
        own_output: Output | None,
        stdout: TextIO,
        closing: ExitStack,
        *,
        snapshot: Callable[[], dict[str, object]],
        stop: Callable[[], None],
    ) -> None:
        folder = Path(config.state_dir)
        state = _locked(folder, start, closing)
        poller = self.poller = Poller()
        closing.callback(poller.close)
        waits = Waits(config.wait_duration, config.max_wait)
        proxy = wiring.proxy_address(config)
        self.fetcher = wiring.make_fetcher(config, poller, proxy)
        closing.callback(self.fetcher.close)
        # From here on it is what there can be: shares of it, and what is shown.
        config = replace(config, pages_connexions=self.fetcher.size)
        self.frontier = wiring.make_frontier(config, folder, waits)
        self.resolver = make_resolver(config, poller)
        closing.callback(self.resolver.close)
        self.reader = wiring.make_reader(config, poller)
        closing.callback(self.reader.close)
        self.stats = Stats(clock(), wall())
        limit = self.stats.started + config.limit_time if config.limit_time else None
        self.mode = Mode(limit_page=config.limit_page, until=limit)
        self.control = Control(
            config,
            self.mode,
            waits,
            self.frontier,
            self.fetcher,
            status=snapshot,
            save=lambda: self.checkpoints.save_now(clock),
            stop=stop,
            log=lambda: self.log,
            now=clock,
        )
        self.input = wiring.open_input_port(config, poller, self.control, closing)
        status = wiring.open_status_server(config, poller, snapshot, self.control, closing)
        self.output = wiring.make_output(config, own_output)
        closing.callback(self.output.close)
        self.log = CrawlLog(folder / "crawl.jsonl")
        closing.callback(_close_after_all, self.log)
        closing.callback(self.frontier.store.close)
        disk = wiring.make_syncing(config, poller, closing)
        saved = saved_by(self.frontier, self.log, self.output, disk)
        self._take_up(state, saved, start, seeds)
        self.reserve = Reserve(folder / "reserve")
        closing.callback(self.reserve.release)
        self.checkpoints = wiring.make_checkpoints(config, state, saved)
        self.engine = Engine(
            wiring.make_engine_settings(config),
            self.mode,
            poller,
            self.frontier,
            self.resolver,
            self.fetcher,
            self.reader,
            wiring.make_types(config),
            self.output,
            wiring.make_registers(config, self.log, self.control.watchers, stdout),
            self.stats,
            [listener for listener in (self.input, status) if listener is not None],
            self.output.refresher,
        )

    def __repr__(self) -> str:
        return f"<Rooms {self.engine!r}>"

    def _take_up(self, state: State, saved: Saved, start: Start, seeds: Iterable[str]) -> None:
        if start is Start.SCRATCH:
            state.clear(saved)
        elif start is Start.RESUME:
            now = clock()
            self.frontier.resume(now, ended=state.load(saved, now))
        for url in seeds:
            self.frontier.seed(url)


def _locked(folder: Path, start: Start, closing: ExitStack) -> State:
    state = State(folder)
    closing.callback(state.unlock)
    state.lock()
    if start is Start.REFUSE and state.exists:
        raise StateError(
            f"{folder}: holds a crawl already; --resume goes on with it, --scratch forgets it"
        )
    return state


def _close_after_all(log: CrawlLog) -> None:
    """Lines that wait even now could not be written, which was told when it was tried."""
    with suppress(OSError):
        log.close()
