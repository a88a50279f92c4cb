"""Output streams whose reader may exit: ``larbinpy crawl | head``, or a closed terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO


def open_all() -> None:
    """Open standard streams that were closed at the start (``>&-``) as /dev/null.

    Otherwise the next file that is opened gets the descriptor of such a stream, and output for
    the terminal is written to that file. Characters of pages that the encoding of the output lacks
    are escaped, as Python does on standard error.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != fd:
                os.dup2(nowhere, fd)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def reader_may_leave(stream: TextIO) -> Iterator[None]:
    """Ignores errors of writing to `stream` in the body; drops all further output to it.

    The descriptor itself is redirected to /dev/null: writing the rest of the buffer would fail
    again, at last in the interpreter, which would then change the exit status.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
