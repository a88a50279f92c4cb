"""Takes pages that are due from the database to the frontier."""

from collections.abc import Mapping
from typing import Any

from larbinpy.config import Config, ConfigError
from larbinpy.context import Context
from larbinpy.crawl.mode import Mode
from larbinpy.database.revisit.round import Allowance, DuePage, Endless, OneRound, Round, Visits
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import Clock
from larbinpy.output.database import VisitingOutput
from larbinpy.output.plug import Feeder
from larbinpy.page import Fate
from larbinpy.storage.state import SavedValue
from larbinpy.url import Url, canonical


class Revisiting(SavedValue):
    """Visits of pages that are due, in one round or without end.

    It is stepped in each turn, before the stages that fetch, and gets each URL whose outcome is
    known. It is a part of the saved state.
    """

    #: It waits for nothing but the answers, which come from the poller.
    deadline = None

    def __init__(self, allowance: Allowance, frontier: Frontier, mode: Mode, wall: Clock) -> None:
        self.visits = Visits()
        self._round = Round(allowance, self.visits)
        self._frontier = frontier
        self._mode = mode
        self._wall = wall
        self._output: VisitingOutput

    def attach(self, feeder: Feeder) -> None:
        """Ask the database through its output, which is that `feeder`."""
        assert isinstance(feeder, VisitingOutput)
        self._output = feeder

    def step(self, now: float) -> None:
        """Ask the database for pages that are due, if there is room for them."""
        ask = None if self._mode.draining else self._round.ask(self._wall())
        if ask is not None:
            self._output.ask(ask, self._take)

    def _take(self, pages: list[DuePage]) -> None:
        """Queue pages at once.

        The next message may be that the database has other visits, which were due when it answered;
        and a checkpoint must not have an open visit that is in no queue.
        """
        for page in self._round.answer(pages, self._wall()):
            self._queue(page)

    def _queue(self, page: DuePage) -> None:
        # A file of somebody else may have any text there.
        if canonical(page.url) != page.url:
            self._output.ended(page.url)
            return
        via = page.via if page.via and canonical(page.via) == page.via else None
        self._frontier.revisit(Url(page.url, page.depth, via))

    def write(self, fate: Fate) -> None:
        """Take a URL whose outcome is known: no visit may remain open."""
        self._output.ended(fate.url)

    def may_go_on(self) -> bool:
        """Whether pages may still become due in this run."""
        return self._output.works and not self._round.over

    # As a part of the state:

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        return self._round.cut()

    def load(self, value: Mapping[str, Any], now: float) -> None:
        self._round.load(value)


def make_revisiting(context: Context, frontier: Frontier, mode: Mode) -> Revisiting:
    """The visits of a crawl with the keyword `revisit`. Raises ConfigError if it cannot be."""
    config = context.config
    check(config)
    budget = config.revisit_budget
    allowance = OneRound(budget) if config.revisit == "round" else Endless(budget)
    return Revisiting(allowance, frontier, mode, context.wall)


def check(config: Config) -> None:
    """Raise ConfigError if a crawl with these settings cannot visit pages again."""
    if not config.fills_database:
        raise ConfigError(
            "revisit: needs outputMode database, which says when each page is due; set that, too"
        )
    for keyword, is_set, why in (
        ("join", config.join, "the hosts of a fleet move from node to node, and their rows do not"),
        ("pageNoDuplicate", config.page_no_duplicate, "a page that is as it was is no duplicate"),
        ("checkLinks", config.check_links, "a link check keeps no page"),
    ):
        if is_set:
            raise ConfigError(f"revisit and {keyword} cannot be used together: {why}")
