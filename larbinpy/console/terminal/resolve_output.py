"""The output of ``larbinpy resolve``: results as they arrive, and a progress bar."""

import os
from functools import partial
from typing import TextIO

from larbinpy.console.terminal.progress import NamesBar

_BLOCK = 1 << 20


class Results:
    """Writes lines to `stream`, and a bar to `stderr` if that is a terminal.

    `source` is the file of the names, "-" for standard input; its number of lines is the total
    of the bar.
    """

    def __init__(self, stream: TextIO, stderr: TextIO, source: str) -> None:
        self._stream = stream
        self._bar: NamesBar | None = None
        if stderr.isatty():
            self._bar = NamesBar(stderr, lines_in(source), shared=stream.isatty())
        #: Lines written.
        self.count = 0

    def write(self, lines: str) -> None:
        """Write one or more lines and flush; the last comes without its newline."""
        self.count += lines.count("\n") + 1
        if self._bar is not None:
            self._bar.clear()
        self._stream.write(lines + "\n")
        self._stream.flush()

    def update(self, names: int) -> None:
        """Advance the bar by `names`; call it after each `write`."""
        if self._bar is not None:
            self._bar.update(names)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def lines_in(name: str) -> int | None:
    """The number of lines of a file; None for pipes, terminals and unreadable files."""
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
