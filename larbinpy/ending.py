"""How a crawl begins and why it ends."""

import errno
from enum import Enum

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Seconds after the first signal: for transfers in flight, and then for what outputs have
#: left to do.
GRACE = 10.0


class DamagedError(OSError):
    """A part of the saved state is not what was written; no trying again mends that."""


class UserError(Exception):
    """What people can mend: the text is one line that says what, where, and what to do."""


class Start(Enum):
    """What to do about a state folder that holds a crawl."""

    REFUSE = "refuse"
    RESUME = "resume"
    SCRATCH = "scratch"


class Ending(Enum):
    """Why a crawl ended, and its exit status."""

    FINISHED = ("finished", 0)
    LIMIT_PAGE = ("limitPage", 0)
    LIMIT_TIME = ("limitTime", 0)
    DISK = ("disk", 3)
    NOTHING = ("no page could be fetched", 4)
    STOPPED = ("stopped", 11)
    FORCED = ("stopped at once", 13)

    def __init__(self, reason: str, code: int) -> None:
        self.reason = reason
        self.code = code


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
