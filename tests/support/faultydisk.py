"""A disk that fails, or stops the process, at an operation that the test chooses."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WRITES = ("write", "pwrite")
CHANGES = ("open", *WRITES, "fsync", "rename", "unlink", "truncate", "ftruncate")
READS = ("open", "pread")


class Killed(BaseException):
    """Stands for a killed process. Not an Exception, so that no code under test catches it."""


class FaultyDisk:
    """Counts the calls of some functions of `os`, and makes chosen ones fail."""

    def __init__(self) -> None:
        self.count = 0
        self._bad = range(0)
        self._error: int | None = None
        self._torn = False
        #: Name of the operation that failed last.
        self.struck: str | None = None
        self.dead = False

    def fail(
        self, nth: int, error: int | None = errno.ENOSPC, *, times: int = 1, torn: bool = False
    ) -> None:
        """Fail `times` operations from the `nth` on; with `torn`, a write first writes half."""
        self.count = 0
        self._bad, self._error, self._torn = range(nth, nth + times), error, torn

    def kill(self, nth: int, *, torn: bool = False) -> None:
        """Raise Killed at the `nth` operation from now and at all later ones."""
        self.fail(nth, None, torn=torn)

    def heal(self) -> None:
        self._bad = range(0)

    @contextmanager
    def under(self, *names: str) -> "Iterator[FaultyDisk]":
        """Replace the functions `names` of `os` while the block lasts."""
        with pytest.MonkeyPatch.context() as patch:
            for name in names:
                patch.setattr(os, name, self._faulty(name, getattr(os, name)))
            yield self

    def _faulty(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if self.dead:
                raise Killed
            self.count += 1
            if self.count in self._bad:
                self.struck = name
                if self._torn and name in WRITES:
                    fd, data, *where = arguments
                    original(fd, data[: len(data) // 2], *where)
                if self._error is None:
                    self.dead = True
                    raise Killed
                raise OSError(self._error, os.strerror(self._error))
            # There are no power cuts here, so fsync is not needed.
            return None if name == "fsync" else original(*arguments, **more)

        return call
