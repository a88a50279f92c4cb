"""The states of a crawl, by the names that pages, ports and progress lines show."""

from enum import Enum


class CrawlState(Enum):
    """The state of a running crawl; the values are those of `state` in a snapshot."""

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
