"""Streams for people, who may leave: ``larbinpy crawl | head``, or a terminal that is closed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def open_all() -> None:
    """Lead standard streams that were closed at the start (``>&-``) to nowhere.

    Else the next file that is opened would get such a stream's number, and what others
    believe to write to the terminal.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != fd:
                os.dup2(nowhere, fd)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))


@contextmanager
def reader_may_leave(stream: TextIO) -> Iterator[None]:
    """What cannot be written to `stream` here is lost, as is all that follows.

    The descriptor itself is led to nowhere: what waits in its buffer would fail again, in
    the end within the interpreter, which makes an exit status of its own of that.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
