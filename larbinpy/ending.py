"""How a crawl begins and why it ends."""

import errno
from enum import Enum

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


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


def disk_error(error: OSError, folders: str, *, saved: bool) -> str:
    """What happened in one of `folders` and what to do; `saved` tells how far the state is."""
    where = f"{error.filename}: " if error.filename else ""
    if isinstance(error, DamagedError):
        return f"{where}{error.strerror}; --scratch starts anew"
    remedy = "make room" if error.errno in FULL else "mend that"
    since = "" if saved else " from where it was last saved, as its end could not be"
    what = f"{where}{error.strerror or error}, below {folders}"
    return f"{what}; {remedy} and go on with --resume{since}"
