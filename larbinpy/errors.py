"""Errors that end a command, and how they are reported in one line."""

import errno

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DamagedError(OSError):
    """A part of the saved state is not what was written; no trying again mends that."""


class UserError(Exception):
    """What people can mend: the text is one line that says what, where, and what to do."""


def what_failed(error: OSError) -> str:
    """In a line: the file, where it is known, and what was wrong with it."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def disk_error(error: OSError, folders: str, *, saved: bool) -> str:
    """What happened in one of `folders` and what to do; `saved` tells how far the state is."""
    if isinstance(error, DamagedError):
        return f"{what_failed(error)}; --scratch starts anew"
    remedy = "make room" if error.errno in FULL else "mend that"
    since = "" if saved else " from where it was last saved, as its end could not be"
    return f"{what_failed(error)}, below {folders}; {remedy} and go on with --resume{since}"
