"""An output that passes pages on to another process, as a test wants it."""

from collections.abc import Iterable

from larbinpy.page import Page


class FakeFeeder:
    def __init__(self) -> None:
        self.holds = ""
        self.idle = "it waits for seeds"
        self.awaits = "the database has yet to take 7 pages"
        self.withheld_pages: list[str] = []
        self.done = False
        self.finishing = 0

    def withheld(self, page: Page) -> None:
        self.withheld_pages.append(page.url.href)

    def second(self, now: float) -> Iterable[str]:
        return ()

    def finish(self) -> bool:
        self.finishing += 1
        return self.done
