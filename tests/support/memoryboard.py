"""A board in memory, beside the vault in memory: its connection stalls and breaks with the vault's.

Boards of one crawl share `Posted`, and an engine that forgets nothing, so that it executes each
command once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from larbinpy.fleet.board import Board, Drawn, NodeReport
from larbinpy.fleet.vault import Then
from tests.support.memoryvault import Command, Engine, MemoryVault


class Pages:
    """The part of limitPage that no node has drawn; 0 is no limit."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit
        self.of: dict[str, int] = {}
        #: How often they were asked for.
        self.draws = 0

    def change(self, limit: int) -> None:
        self.left += limit - self.limit
        self.limit = limit

    def draw(self, share: str, total: int) -> Drawn:
        self.draws += 1
        had = self.of.get(share, 0)
        more = total - had
        if self.limit:
            more = min(more, max(self.left, 0))
        self.of[share] = had + more
        self.left -= more
        return Drawn(had + more, self.left, self.limit)


@dataclass
class Posted:
    """What the board of a crawl has."""

    pages: Pages
    #: By node: the time of its report, and the report.
    reports: dict[str, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)


class Client:
    """The client of a board."""

    deadline = float("inf")
    trouble = ""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step

    def step(self, now: float) -> None:
        self._step()

    def resume(self) -> None:
        """The vault in memory sends in any case."""


class MemoryBoard(MemoryVault):
    """A connection to the board and the vault of a crawl."""

    name = "crawl"
    area = None

    def __init__(self, engine: Engine, posted: Posted, delay: Callable[[], float] = float) -> None:
        super().__init__(engine, delay)
        self._posted = posted
        self.client = Client(self.step)
        self.on_order: Callable[[str, str], None] = lambda order, text: None

    def news(self) -> list[str]:
        return []

    def draw(self, share: str, total: int, then: Then[Drawn | None]) -> None:
        self._ask(lambda data, now: self._posted.pages.draw(share, total), then)

    def read(
        self, then: Then[Board], name: str = "", report: Mapping[str, Any] | None = None
    ) -> None:
        posted = self._posted

        def command(data: Any, now: float) -> Board:
            if report is not None:
                posted.reports[name] = now, report
            reports = {
                node: NodeReport(now - at, text) for node, (at, text) in posted.reports.items()
            }
            pages = posted.pages
            return Board(data.state, dict(data.beats), reports, pages.limit, pages.left)

        self._ask(command, then)

    def _ask(self, command: Command, then: Then[Any]) -> None:
        self._send([(0, command)], then)
