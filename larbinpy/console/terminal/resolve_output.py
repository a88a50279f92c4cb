"""What ``larbinpy resolve`` tells: results as they come, and how far it is."""

import os
from functools import partial
from typing import TextIO

from larbinpy.console.terminal.progress import NamesBar

_BLOCK = 1 << 20


class Results:
    """Lines for `stream`, and a bar on `stderr` where that is a terminal.

    `source` is the file of the names, "-" for standard input; its length is what the bar
    goes to.
    """

    def __init__(self, stream: TextIO, stderr: TextIO, source: str) -> None:
        self._stream = stream
        self._bar: NamesBar | None = None
        if stderr.isatty():
            self._bar = NamesBar(stderr, lines_in(source), shared=stream.isatty())
        #: How many lines there were so far.
        self.count = 0

    def write(self, lines: str) -> None:
        """Write one or more lines, at once; the last comes without its end."""
        self.count += lines.count("\n") + 1
        if self._bar is not None:
            self._bar.clear()
        self._stream.write(lines + "\n")
        self._stream.flush()

    def update(self, names: int) -> None:
        """So many names more are finished; to be told after each `write`."""
        if self._bar is not None:
            self._bar.update(names)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def lines_in(name: str) -> int | None:
    """How many lines a file has; None for a pipe, a terminal and what cannot be read."""
    path = "/dev/stdin" if name == "-" else name
    if not os.path.isfile(path):
        return None
    count, last = 0, b"\n"
    try:
        with open(path, "rb") as file:
            for block in iter(partial(file.read, _BLOCK), b""):
                count += block.count(b"\n")
                last = block[-1:]
    except OSError:
        return None
    return count + (last != b"\n")
