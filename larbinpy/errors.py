"""Errors that end a command, and how they are reported in one line.

The states of a crawl, its endings, and the exit status of each ending.

The name of a crawler in robots.txt and robots directives.
"""

import errno
import re
from enum import Enum
from functools import lru_cache

#: A disk, a quota or a file is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Errors that pass once there is room on the disk.
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT})


#: No more files can be opened.
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MORE_FILES = "ulimit -n 1024 raises the limit of a shell, LimitNOFILE=1024 that of a service"


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
    remedy = f"; {_MORE_FILES}" if error.errno in _NO_FILES else ""
    return f"{where}{error.strerror or error}{remedy}"


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
    if error.errno == errno.EFBIG:
        remedy = "raise the limit of the size of files (ulimit -f)"
    since = "" if saved else " from the last save, as the end of the crawl could not be saved"
    return f"{what_failed(error)}, below {folders}; {remedy} and continue with --resume{since}"


class Ending(Enum):
    """Why a crawl ended, and its exit status."""

    FINISHED = ("finished", 0)
    LIMIT_PAGE = ("limitPage", 0)
    LIMIT_TIME = ("limitTime", 0)
    LIMIT_KEPT = ("limitKept", 0)
    DISK = ("disk", 3)
    NOTHING = ("no page could be fetched", 4)
    UNKEPT = ("no page was kept", 4)
    LOGIN = ("a login failed, and its site gave no page", 6)
    STOPPED = ("stopped", 11)
    FORCED = ("stopped at once", 13)

    def __init__(self, reason: str, code: int) -> None:
        self.reason = reason
        self.code = code


#: Exit status of `crawl --check-links` if links are broken; it takes the place of 0 only.
BROKEN_LINKS = 1
#: Exit status of a command that asks the content database and finds nothing, as grep's.
NOTHING_FOUND = 1
USAGE = 2
#: The exit status that shells use for a command ended by SIGINT.
INTERRUPTED = 130
#: Exit status of a crawl if a login failed and its site gave no page; of `login` if it failed.
LOGIN_FAILED = 6
#: Exit status of a mirror that lacks a start page, or all files that its pages need from some
#: host; it takes the place of 0 only.
INCOMPLETE = 8

#: The meaning of each exit status, for the manual and the documentation.
MEANINGS = {
    0: "finished, or a limit was reached",
    BROKEN_LINKS: "crawl --nodes: all nodes died again and again; crawl --check-links: broken"
    " links; console: a command of a script failed; search, show, changes: nothing found;"
    " explain --join: no node could tell",
    USAGE: "usage or configuration error",
    Ending.DISK.code: "disk error; the content database, or a file to index, cannot be read",
    Ending.NOTHING.code: "no page could be fetched, or none was kept",
    LOGIN_FAILED: "a login of loginFile failed, and its site gave no page; login: not logged in",
    INCOMPLETE: "mirror: a start page is missing, or all files that pages need from some host to be"
    " displayed",
    Ending.STOPPED.code: "stopped by a signal or by stop on the console; everything is saved",
    Ending.FORCED.code: "stopped at once by a second signal; the last saved state is valid",
}


class CrawlState(Enum):
    """The state of a running crawl; the values are those of `state` in a snapshot.

    Progress that is shown at the end of a crawl has the reason of its `Ending` there.
    """

    RUNNING = "running"
    #: Nothing is left to do; the crawl stays up for the users of its ports.
    WAITING = "waiting"
    #: After the command `pause`: no request is opened.
    PAUSED = "paused"
    #: Only what is in flight, and the last work of the outputs, is finished.
    STOPPING = "stopping"
    #: All is done; the status page stays up (highLevelWebServer).
    FINISHED = "finished"
    #: The crawl waits until there is room.
    DISK_FULL = "disk full"


# "Foo/1.0 (comment)", "Foo2" and "Foo 2" are Foo, "Foo Bar" is no product.
_PRODUCT = re.compile(r"\s*([A-Za-z_-]++)[^\s/(]*+\s*+(?:$|[^A-Za-z]|https?:|v[0-9])")
# Crawlers that begin as browsers do: "Mozilla/5.0 (compatible; Foo/2.1; +http://foo.test/)" is Foo.
_BROWSER = "mozilla"
_NAME = r"(?<![\w.:/@-])([A-Za-z_-]++)[^\s/;,()@]*+(?=\s*+(?:$|[/;,()+]|https?:)|\s+v?[0-9])"
#: Ways in which they name themselves, the surest first.
_WITHIN = (
    re.compile(rf"compatible\s*+[;,:]?\s*+(?!MSIE\b){_NAME}", re.IGNORECASE),
    re.compile(rf"(?<![\w-])(?=[\w-]*?(?:bot|crawl|spider)){_NAME}", re.IGNORECASE),
    re.compile(r"(?<![\w.:/@-])([A-Za-z_-]++)/v?[0-9]"),
)
#: Products of browsers themselves.
_BROWSERS = frozenset(
    {_BROWSER, "applewebkit", "build", "chrome", "chromium", "edg", "edge", "firefox", "gecko"}
    | {"headlesschrome", "mobile", "opera", "opr", "safari", "trident", "version"}
)
_LONGEST_AGENT = 1000


@lru_cache(maxsize=16)
def product_token(agent: str) -> str:
    """Return the product token of a User-Agent, in lower case (RFC 9309, section 2.2.1).

    Empty if it has none; "mozilla" if it is that of a browser.
    """
    match = _PRODUCT.match(agent)
    token = _token(match) if match else ""
    if token != _BROWSER:
        return token
    text = agent[:_LONGEST_AGENT]
    found = (_token(name) for each in _WITHIN for name in each.finditer(text))
    return next((name for name in found if name and name not in _BROWSERS), token)


def _token(match: re.Match[str]) -> str:
    return match[1].rstrip("_-").lower()
