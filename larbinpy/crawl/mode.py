"""The mode of the engine, which commands, the disk and limits change while it runs."""

from dataclasses import dataclass
from math import inf

from larbinpy.stats.crawl_state import CrawlState


@dataclass(slots=True)
class Mode:
    """Switches and times that are set between two turns; the engine reads them in each turn."""

    #: No request is opened.
    paused: bool = False
    #: The crawl is to end, by `stop`.
    stop: bool = False
    #: Only the transfers in flight are completed.
    draining: bool = False
    #: All is done, the last work of the outputs included.
    over: bool = False
    #: The crawl stays up even with nothing to do, as clients may add URLs.
    staying: bool = False
    #: limitPage; 0 for none.
    limit_page: int = 0
    #: The loop wakes at this time, because the crawl may end then; None for no such time.
    until: float | None = None
    #: The loop wakes at this time for a step of a checkpoint.
    wake_at: float = inf
    #: Before this time nothing is done that needs room on the disk.
    stalled_until: float = -inf
    #: There was no room on the disk at the last try.
    disk_full: bool = False

    def state(self, urls_owed: int) -> CrawlState:
        """The state of the crawl while `urls_owed` URLs are undecided."""
        if self.disk_full:
            return CrawlState.DISK_FULL
        if self.draining:
            return CrawlState.FINISHED if self.over else CrawlState.STOPPING
        if self.paused:
            return CrawlState.PAUSED
        waiting = self.staying and not urls_owed
        return CrawlState.WAITING if waiting else CrawlState.RUNNING
