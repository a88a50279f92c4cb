"""Errors that end a command, and how they are reported in one line."""

import errno

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Errors that pass once there is room on the disk.
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT})


class DamagedError(OSError):
    """A part of the saved state differs from what was written; trying again cannot help."""


class LostPagesError(OSError):
    """Pages did not reach the disk, and nobody knows which; trying again cannot bring them back."""


class NotSavedError(OSError):
    """A bug prevents the state from being saved; the one that was saved before stays valid."""


class UserError(Exception):
    """An error that the user can correct: one line that says what, where, and what to do."""


def passes(error: OSError) -> bool:
    """Whether this error passes once there is room on the disk."""
    return error.errno in _PASSING


def what_failed(error: OSError) -> str:
    """One line: the file, if it is known, and the error."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def what_raised(error: Exception) -> str:
    """The class and the text of an exception, and the line of code that raised it."""
    traceback = error.__traceback__
    where = ""
    while traceback is not None:
        where = f" ({traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    name = type(error).__name__
    return f"{name}: {error}{where}" if str(error) else f"{name}{where}"


def disk_error(error: OSError, folders: str, *, saved: bool) -> str:
    """One line about an error in one of `folders`, with the remedy.

    `saved`: the state could be saved after the error.
    """
    if isinstance(error, DamagedError):
        return f"{what_failed(error)}; --scratch starts anew"
    remedy = "make room" if error.errno in FULL else "repair the cause"
    since = "" if saved else " from the last save, as the end of the crawl could not be saved"
    return f"{what_failed(error)}, below {folders}; {remedy} and continue with --resume{since}"
