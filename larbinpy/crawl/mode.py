"""The mode of the engine, which operator, disk and limits change while it runs."""

from dataclasses import dataclass
from math import inf

from larbinpy.stats.crawl_state import CrawlState


@dataclass(slots=True)
class Mode:
    """Set between two turns, or by a command; the engine reads it in each turn."""

    #: No request is opened.
    paused: bool = False
    #: The crawl is to end, by `stop`.
    stop: bool = False
    #: Only the transfers in flight are completed.
    draining: bool = False
    #: All is done, the last work of the outputs included.
    over: bool = False
    #: With nothing to do the crawl goes on, as people may bring work.
    staying: bool = False
    #: limitPage; 0 for none.
    limit_page: int = 0
    #: No wait of the loop goes beyond this time, as the crawl ends then; None for none.
    until: float | None = None
    #: When there is work to do between two turns.
    wake_at: float = inf
    #: Until then nothing is done that needs room on the disk.
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
