"""fetchInfo: a line for each URL whose fate is decided, as Larbin prints it."""

from typing import TextIO

from larbinpy.console.stream import reader_may_leave
from larbinpy.console.text import printable
from larbinpy.page import Fate


class FetchInfo:
    """Tells fates to people, as the crawl log does to programs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, fate: Fate) -> None:
        with reader_may_leave(self._stream):
            print(f"[{fate.outcome}] {printable(fate.url)}", file=self._stream)
