"""The indexer of a `DatabaseOutput` that does as a test says."""

from collections.abc import Callable
from typing import Any

from larbinpy.database.indexer.indexer import Covered, Report


class FakeChild:
    """Records what it is told; `take` reports progress."""

    def __init__(self, changed: Callable[[Report], None]) -> None:
        self._changed = changed
        self.report = Report()
        self.down = ""
        self.hopeless = False
        self.covered: list[Covered] = []
        self.finishing = False
        self.pages = self.gone = 0

    @property
    def trouble(self) -> str:
        return self.down or self.report.trouble

    def open(self) -> None:
        pass

    def cover(self, covered: Covered) -> None:
        self.covered.append(covered)

    def finish(self) -> None:
        self.finishing = True

    def second(self, now: float) -> None:
        pass

    def take(self, **values: Any) -> None:
        self.report = Report(**values)
        self._changed(self.report)

    def close(self) -> None:
        pass
