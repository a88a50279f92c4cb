"""The worker process: reads pages from its standard input, a socket, and sends back results.

It ends with the crawl, however that ends: the socket is then closed, and a page that keeps the
process busy has a time limit.
"""

import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from larbinpy.page import Page
from larbinpy.parse import Parsed, read
from larbinpy.workers.messages import READY, answer, next_page

#: New objects after which the garbage collector looks at the young ones.
_YOUNG = 50_000


def main(
    read: Callable[[Page, str], Parsed] = read,
    longest: int = 60,
) -> None:
    """Read pages for the agent on the command line; the process ends at a page that takes
    `longest` seconds (the largest take two)."""
    agent = sys.argv[1]
    # The objects of loaded modules are never garbage, and a page leaves little garbage behind.
    gc.freeze()
    gc.set_threshold(_YOUNG)
    with (
        suppress(BrokenPipeError, ConnectionResetError),
        socket.socket(fileno=sys.stdin.fileno()) as crawl,
        crawl.makefile("rb") as pages,
        crawl.makefile("wb") as answers,
    ):
        crawl.sendall(READY)
        while (page := next_page(pages)) is not None:
            # The signal has no handler, so it ends the process whatever it is doing.
            signal.alarm(longest)
            line = answer(read(page, agent))
            signal.alarm(0)
            answers.write(line)
            answers.flush()
