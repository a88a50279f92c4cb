"""The process beside the crawl that reads pages: from its standard input, a socket, and back.

It ends when the crawl does, however that ends: the socket tells, or, where a page keeps it from
looking there, the clock.
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

#: Objects after which the garbage collector looks at the young ones.
_YOUNG = 50_000


def main(
    read: Callable[[Page, str], Parsed] = read,
    longest: int = 60,
) -> None:
    """Read pages for the agent that the command line names, each in `longest` seconds.

    The largest pages there are take two seconds.
    """
    agent = sys.argv[1]
    # What a page leaves behind is little, and what was loaded stays.
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
            # Whatever it is at then: nobody catches this signal.
            signal.alarm(longest)
            said = answer(read(page, agent))
            signal.alarm(0)
            answers.write(said)
            answers.flush()
