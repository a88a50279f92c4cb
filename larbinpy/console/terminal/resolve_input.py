"""The names for `larbinpy resolve`: lines of a file or pipe, read without blocking the loop."""

import os
import select
from collections.abc import Iterator

from larbinpy.loop.poller import READ, Poller

_BLOCK = 1 << 16
#: Bytes kept of a line; no useful line is longer.
_LONGEST = 1 << 12


def arriving_lines(fd: int, poller: Poller) -> Iterator[str]:
    """The lines of `fd`, without blanks around them and without empty ones.

    If no line has arrived yet, yields an empty one; `poller` then wakes for the next. Bytes
    that are not UTF-8 are escaped as ``\\xe9``.
    """
    rest = b""
    while True:
        if not select.select([fd], [], [], 0)[0]:
            poller.register(fd, READ, lambda fd, _events: poller.unregister(fd))
            yield ""
            continue
        block = os.read(fd, _BLOCK)
        whole, _, rest = (rest + (block or b"\n")).rpartition(b"\n")
        rest = rest[:_LONGEST]
        yield from filter(None, map(str.strip, whole.decode(errors="backslashreplace").split("\n")))
        if not block:
            return
