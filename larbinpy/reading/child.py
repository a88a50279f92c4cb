"""The process beside the crawl that reads pages: from its standard input, a socket, and back.

It ends when the crawl does, however that ends: the socket tells.
"""

import gc
import socket
import sys
from contextlib import suppress

from larbinpy.parse import read
from larbinpy.reading.messages import answer, next_page

#: Objects after which the garbage collector looks at the young ones.
_YOUNG = 50_000


def main() -> None:
    """Read pages for the agent that the command line names."""
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
        while (page := next_page(pages)) is not None:
            answers.write(answer(read(page, agent)))
            answers.flush()
