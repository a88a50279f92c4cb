"""The work of each second of a crawl: Larbin's cron."""

from collections.abc import Callable, Iterable
from math import inf

from larbinpy.console.text import printable
from larbinpy.crawl.resources.display import Display
from larbinpy.crawl.resources.network import Network
from larbinpy.crawl.resources.on_disk import Journals
from larbinpy.dns.outage import Outage
from larbinpy.frontier.frontier import Frontier
from larbinpy.output.plug import NO_FEEDER, Feeder
from larbinpy.stats.counters import Stats


class Housekeeping:
    """Once a second: counts, journals, progress, messages about name servers and database."""

    def __init__(
        self,
        stats: Stats,
        network: Network,
        frontier: Frontier,
        journals: Journals,
        display: Display,
        feeder: Feeder = NO_FEEDER,
        save: Callable[[], None] = lambda: None,
        *,
        debug: object = None,
        notices: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`save` requests a checkpoint; the repr of `debug` is printed, unless it is None.

        `notices` returns lines to print, each once.
        """
        self._stats = stats
        self._network = network
        self._frontier = frontier
        self._journals = journals
        self._display = display
        self._feeder = feeder
        self._save = save
        self._debug = debug
        self._notices = notices
        self._next = 0.0
        self._outage = Outage()

    def __repr__(self) -> str:
        return f"<Housekeeping next at {self._next}>"

    @property
    def deadline(self) -> float:
        """When `step` must be called although nothing happens: inf while the loop may sleep."""
        return self._next if self._feeder.holds else inf

    def step(self, now: float) -> None:
        """Do the work if a second has passed. Raises OSError if that fails."""
        if now < self._next:
            return
        self._next = now + 1.0
        resolver = self._network.resolver
        busy = self._network.fetcher.busy
        self._stats.second(now, resolver.answered, self._frontier.owed, busy)
        self._journals.flush()
        self._display.show()
        for change in self._outage.look(resolver.stats()["servers"], now):
            self._display.say(change)
        for line in (*self._feeder.second(now), *map(printable, self._notices())):
            self._display.say(line)
        if self._feeder.holds:
            # It takes pages only that a checkpoint covers.
            self._save()
        if self._debug is not None:
            self._display.say_plainly(repr(self._debug))
