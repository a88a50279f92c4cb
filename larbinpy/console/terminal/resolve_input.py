"""Lines of a file or of standard input, for a loop that must not wait for them."""

import os
import select
from collections.abc import Iterator

from larbinpy.loop.poller import READ, Poller

_BLOCK = 1 << 16
#: Bytes of a line that are kept: no line that is of use is longer.
_LONGEST = 1 << 12


def arriving_lines(fd: int, poller: Poller) -> Iterator[str]:
    """The lines of `fd` in UTF-8, without blanks around them; empty ones are passed over.

    Where there is none yet an empty one is given, and `poller` ends its wait for the next.
    Bytes that are no UTF-8 are shown for what they are, as ``\\\\xe9``.
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
