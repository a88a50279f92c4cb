"""Errors that end a command, and how they are reported in one line."""

import errno

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DamagedError(OSError):
    """A part of the saved state differs from what was written; trying again cannot help."""


class UserError(Exception):
    """An error that the user can correct: one line that says what, where, and what to do."""


def what_failed(error: OSError) -> str:
    """One line: the file, if it is known, and the error."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def disk_error(error: OSError, folders: str, *, saved: bool) -> str:
    """One line about an error in one of `folders`, with the remedy.

    `saved`: the state could be saved after the error.
    """
    if isinstance(error, DamagedError):
        return f"{what_failed(error)}; --scratch starts anew"
    remedy = "make room" if error.errno in FULL else "repair the cause"
    since = "" if saved else " from the last save, as the end of the crawl could not be saved"
    return f"{what_failed(error)}, below {folders}; {remedy} and continue with --resume{since}"
