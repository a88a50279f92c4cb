"""A disk that fails, or is not reached any more, at the operation that a test names."""

import errno
import os
from contextlib import contextmanager

import pytest

WRITES = ("write", "pwrite")
CHANGES = ("open", *WRITES, "fsync", "rename", "unlink", "truncate", "ftruncate")
READS = ("open", "pread")


class Killed(BaseException):
    """The process is gone. Not an Exception: no code under test may catch it and go on."""


class FaultyDisk:
    """Counts the calls of some functions of `os`, and lets them go wrong as it is told."""

    def __init__(self):
        self.count = 0
        self._bad = range(0)
        self._error = None
        self._torn = False
        #: The operation that went wrong last.
        self.struck = None
        self.dead = False

    def fail(self, nth, error=errno.ENOSPC, *, times=1, torn=False):
        """From the `nth` operation from now on; a torn write does half of its work first."""
        self.count = 0
        self._bad, self._error, self._torn = range(nth, nth + times), error, torn

    def kill(self, nth, *, torn=False):
        """At the `nth` operation from now on, and for good."""
        self.fail(nth, None, torn=torn)

    def heal(self):
        self._bad = range(0)

    @contextmanager
    def under(self, *names):
        """Lie below the code that runs in this context."""
        with pytest.MonkeyPatch.context() as patch:
            for name in names:
                patch.setattr(os, name, self._faulty(name, getattr(os, name)))
            yield self

    def _faulty(self, name, original):
        def call(*arguments, **more):
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
            # Nobody cuts the power here.
            return None if name == "fsync" else original(*arguments, **more)

        return call
