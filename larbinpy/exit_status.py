"""The states of a crawl, its endings, and the exit status of each ending."""

from enum import Enum


class Ending(Enum):
    """Why a crawl ended, and its exit status."""

    FINISHED = ("finished", 0)
    LIMIT_PAGE = ("limitPage", 0)
    LIMIT_TIME = ("limitTime", 0)
    DISK = ("disk", 3)
    NOTHING = ("no page could be fetched", 4)
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
    Ending.NOTHING.code: "no page could be fetched",
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
