"""When a crawl ends, and why: decided between two turns."""

from collections.abc import Iterator

from larbinpy.config import Config
from larbinpy.console.ports.input_port import InputPort
from larbinpy.crawl.engine import Engine, Mode
from larbinpy.exit_status import Ending
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock, clock
from larbinpy.output.plug import Refresher

#: Seconds after the first signal: for transfers in flight, and then for what outputs have
#: left to do.
GRACE = 10.0
#: What a slice takes of a turn, as people may be talking to the crawl meanwhile (s).
_SLICE = 0.02


class Finishing:
    """Does what a mirror has left to do when its pages have come, a slice each turn."""

    def __init__(self, keeper: Refresher, clock: Clock = clock) -> None:
        self._keeper = keeper
        self._clock = clock
        self._steps: Iterator[None] | None = None
        self._stop_by = float("inf")
        #: Whether it was left before it was done: `--resume` does it.
        self.left = False

    def __repr__(self) -> str:
        return f"<Finishing {'begun' if self._steps else 'not begun'}>"

    def step(self, now: float, stop: bool) -> bool:
        """Go on; is it done, or has it to end, as people said stop long enough ago?

        After an OSError it begins anew.
        """
        if stop:
            self._stop_by = min(self._stop_by, now + GRACE)
        self.left = now >= self._stop_by
        if self.left:
            return True
        steps = self._keeper.finish() if self._steps is None else self._steps
        self._steps = None
        enough = self._clock() + _SLICE
        for _ in steps:
            if self._clock() > enough:
                self._steps = steps
                return False
        self._steps = iter(())
        return True


class Stopping:
    """Leads a crawl to its end: what is in flight comes home, then outputs finish their work.

    `limit_at` is the time of limitTime. With `had_work` the crawl began with something to do.
    """

    def __init__(
        self,
        config: Config,
        engine: Engine,
        mode: Mode,
        frontier: Frontier,
        port: InputPort | None,
        keeper: Refresher,
        *,
        limit_at: float,
        had_work: bool,
    ) -> None:
        self._engine = engine
        self._mode = mode
        self._frontier = frontier
        self._port = port
        self._finishing = Finishing(keeper)
        self._limit_at = limit_at
        self._had_work = had_work
        self._outlives = config.high_level_web_server and bool(config.http_port)
        self._drain_until = 0.0
        #: Why it ends, once that is known.
        self.ending: Ending | None = None
        #: All is done; where the crawl is not left then, it only shows how it was.
        self.over = False

    def __repr__(self) -> str:
        return f"<Stopping {self.ending} {self._finishing!r}>"

    def step(self, now: float, *, told: bool, at_once: bool) -> bool:
        """Go towards the end where there is reason to; is it reached?

        People have `told` the crawl to stop, and even `at_once`.
        """
        if at_once:
            self.ending = Ending.FORCED
            return True
        self._mode.staying = self._awaits_people(told)
        if not self._mode.draining:
            self.ending = self._why_to_end(now, told)
            if self.ending is not None:
                self._mode.draining = True
                self._mode.until = self._drain_until = now + GRACE
        drained = self._mode.draining and (self._engine.idle or now >= self._drain_until)
        self.over = drained and self._finish(now, told)
        return self.over and not self._stays_up(told)

    def _finish(self, now: float, told: bool) -> bool:
        """What the outputs have left to do, as long as there is room on the disk; is it done?"""
        stalled = now < self._mode.stalled_until
        done = not stalled and self._finishing.step(now, told)
        self._mode.until = None if done or stalled else now
        self.ending = Ending.STOPPED if self._finishing.left else self.ending
        return done

    def _why_to_end(self, now: float, told: bool) -> Ending | None:
        done = self._engine.out_of_work
        if told:
            return Ending.FINISHED if done and self._had_work else Ending.STOPPED
        if self._engine.limit_reached:
            return Ending.LIMIT_PAGE
        if now >= self._limit_at:
            return Ending.LIMIT_TIME
        return Ending.FINISHED if done and not self._mode.staying else None

    def _awaits_people(self, told: bool) -> bool:
        """With nothing to do, is there still a reason to stay?

        With an input port: before there was anything to do, and while someone is there.
        """
        self._had_work = self._had_work or self._frontier.owed > 0
        if self._port is not None and (self._port.awaited or not self._had_work):
            return True
        return self._stays_up(told)

    def _stays_up(self, told: bool) -> bool:
        """highLevelWebServer: the status page outlives the crawl, until someone says stop."""
        return self._outlives and not told
