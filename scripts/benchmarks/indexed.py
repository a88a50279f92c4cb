"""Runs a crawl and notes its pace: ``python -m benchmarks.indexed RESULT CONF SEEDS PAGES``.

RESULT gets, at every thousandth page, the Unix time and the CPU seconds of this process, which are
those of the crawl's loop; the durations of turns; and the times until all pages are fetched and
until everything is done.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from larbinpy import Crawl, Start, load
from larbinpy.page import Outcome, Page
from larbinpy.stats import Stats
from larbinpy.url import Url

_EVERY = 1000


class Pace:
    """A plug that notes times; it costs the same in all crawls."""

    def __init__(self, pages: int) -> None:
        self._expected = pages
        self.pages = 0
        #: Pages, Unix time, CPU seconds.
        self.marks: list[tuple[int, float, float]] = []
        self.turns: list[float] = []

    def loaded(self, page: Page) -> None:
        if self.pages % _EVERY == 0 or self.pages + 1 == self._expected:
            self.marks.append((self.pages, time.time(), time.process_time()))
        self.pages += 1

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass

    def watch_turns(self) -> None:
        """Note each turn, as the histogram of the status page is too coarse."""
        took = Stats.turn_took

        def noted(stats: Stats, seconds: float) -> None:
            if self.pages < self._expected:
                self.turns.append(seconds)
            took(stats, seconds)

        Stats.turn_took = noted  # type: ignore[assignment,method-assign]


def main() -> None:
    result, conf, seeds, pages = sys.argv[1:]
    pace = Pace(int(pages))
    pace.watch_turns()
    began = time.time()
    crawl = Crawl(
        load(conf, {}, ()),
        output=pace,
        seeds=Path(seeds).read_text().split(),
        start=Start.SCRATCH,
    )
    code = crawl.run()
    found: dict[str, Any] = {
        "code": code,
        "began": began,
        "ended": time.time(),
        "pages": pace.pages,
        "marks": pace.marks,
        "turns": sorted(pace.turns),
    }
    Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
