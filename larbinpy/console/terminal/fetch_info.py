"""fetchInfo: a line for each decided URL, in Larbin's format."""

from typing import TextIO

from larbinpy.console.stream import reader_may_leave
from larbinpy.console.text import printable
from larbinpy.page import Fate


class FetchInfo:
    """Prints a line for each URL whose outcome is decided."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, fate: Fate) -> None:
        with reader_may_leave(self._stream):
            print(f"[{fate.outcome}] {printable(fate.url)}", file=self._stream)
