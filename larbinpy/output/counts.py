"""Stats mode: counts pages by type, status, size and host, and keeps nothing else."""

from heapq import nlargest

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.url import Url

#: Rows of the table of sizes, as in Larbin: 25 of 4096 bytes; the last has all larger pages.
SIZE_STEP = 4096
SIZE_ROWS = 25

# Servers choose types and hosts, so their number and length are bounded here.
_MAX_KEYS = 10_000
_MAX_KEY = 100
_SHOWN = 50


class Tally:
    """Counts by key, for the first `_MAX_KEYS` keys; all later keys share one count."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.others = 0

    def add(self, key: str) -> None:
        key = key[:_MAX_KEY]
        if key in self.counts or len(self.counts) < _MAX_KEYS:
            self.counts[key] = self.counts.get(key, 0) + 1
        else:
            self.others += 1

    def top(self) -> dict[str, int]:
        """Return the `_SHOWN` largest counts, largest first."""
        return dict(nlargest(_SHOWN, self.counts.items(), key=lambda item: item[1]))

    def __repr__(self) -> str:
        return f"Tally({len(self.counts)} keys, {self.others} others)"


class StatsOutput:
    """Counts pages and failures."""

    def __init__(self) -> None:
        self._pages = 0
        self._bytes = 0
        self._size_pages = [0] * SIZE_ROWS
        self._size_bytes = [0] * SIZE_ROWS
        self._types = Tally()
        self._statuses = Tally()
        self._hosts = Tally()
        self._failures: dict[str, int] = {}

    def loaded(self, page: Page) -> None:
        size = len(page.body)
        row = min(size // SIZE_STEP, SIZE_ROWS - 1)
        self._pages += 1
        self._bytes += size
        self._size_pages[row] += 1
        self._size_bytes[row] += size
        self._types.add(page.type or "none")
        self._statuses.add(str(page.status))
        self._hosts.add(page.url.host)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self._failures[outcome.value] = self._failures.get(outcome.value, 0) + 1

    def stats(self) -> dict[str, object]:
        """Return the counts; of types, statuses and hosts the 50 most frequent."""
        return {
            "pages": self._pages,
            "bytes": self._bytes,
            "mean_size": self._bytes // self._pages if self._pages else 0,
            "failures": dict(self._failures),
            "types": self._types.top(),
            "statuses": self._statuses.top(),
            "hosts": self._hosts.top(),
            "hosts_counted": len(self._hosts.counts),
            "sizes": {
                "step": SIZE_STEP,
                "pages": list(self._size_pages),
                "bytes": list(self._size_bytes),
            },
        }

    def close(self) -> None:
        pass

    def __repr__(self) -> str:
        return f"StatsOutput({self._pages} pages, {sum(self._failures.values())} failures)"
