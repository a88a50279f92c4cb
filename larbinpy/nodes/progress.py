"""The progress of all nodes together: their reports in Redis, as one snapshot."""

from collections.abc import Mapping
from math import inf
from typing import Any

from larbinpy.fleet.board import Board, Found
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.vault import Away

Snapshot = dict[str, Any]
#: Seconds between two looks; nodes report each 2 s.
_EVERY = 1.0
#: Names of a snapshot for the fields of a node's report.
_TOTALS = {
    "success": "pages",
    "pages": "replies",
    "links": "links",
    "sites": "sites",
    "bytes_received": "bytes",
}


class Sums:
    """The sums over all nodes, and how much of them is of this run."""

    def __init__(self) -> None:
        self._first: dict[str, int] | None = None
        self._most: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Sums {self._most}>"

    def snapshot(self, board: Board, elapsed_s: float, trouble: str) -> Snapshot:
        """The values of `status_line` and the bar; `trouble` is the reason why the crawl waits."""
        nodes = [report.status for report in board.reports.values()]
        alive = [board.reports[name].status for name in board.alive]
        totals = {name: _sum(nodes, field) for name, field in _TOTALS.items()}
        # Pages that a node fetched before it died and had not saved are fetched again.
        self._most = {name: max(n, self._most.get(name, 0)) for name, n in totals.items()}
        if self._first is None:
            self._first = self._most
        run = {name: self._most[name] - self._first[name] for name in ("success", "bytes_received")}
        troubles = [trouble, *(str(node.get("trouble") or "") for node in alive)]
        return {
            "state": board.state.value,
            "elapsed_s": elapsed_s,
            "totals": {**self._most, "urls_queued": _sum(alive, "queued")},
            "rates": {"success": _sum(alive, "pages_s"), "bytes": _sum(alive, "bytes_s")},
            "run": {"elapsed_s": elapsed_s, **run},
            "waits_for": next(filter(None, troubles), ""),
        }


def at_end(report: Mapping[str, Any], elapsed_s: float) -> Snapshot:
    """The snapshot of a crawl that has ended, from the report of all nodes."""
    run = {name: report[name] for name in ("success", "bytes_received")}
    return {
        "state": report["stop_reason"],
        "elapsed_s": elapsed_s,
        "totals": report,
        "run": {"elapsed_s": elapsed_s, **run},
    }


def _sum(nodes: list[Mapping[str, Any]], field: str) -> Any:
    return sum(node.get(field) or 0 for node in nodes)


class Watch:
    """Reads the reports of the nodes. `step` has to be called in each turn."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._vault = RedisBoard(client)
        self._is_found = self._is_asking = False
        self._at = inf
        #: The last reports.
        self.board: Board | None = None

    def __repr__(self) -> str:
        return f"<Watch {self._vault!r}>"

    @property
    def deadline(self) -> float:
        return inf if self._is_asking else self._at

    def begin(self, now: float) -> None:
        """The crawl is there."""
        self._at = now

    def step(self, now: float) -> None:
        if now < self._at or self._is_asking:
            return
        self._at = now + _EVERY
        self._is_asking = True
        self._client.resume()
        if self._is_found:
            self._vault.read(self._came)
        else:
            self._vault.find(self._came)

    def _came(self, answer: Board | Found | Away) -> None:
        self._is_asking = False
        if isinstance(answer, Board):
            self.board = answer
        self._is_found = not isinstance(answer, Away)
