"""The reports of a node to the others, and theirs to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from larbinpy._version import __version__
from larbinpy.config import Config
from larbinpy.crawl.fleet.searching import shown_database
from larbinpy.fleet.board import Board
from larbinpy.fleet.node import Node
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away
from larbinpy.observe.totals import Totals
from larbinpy.stats.counters import Stats

#: Seconds between two reports.
_REPORT = 2.0


@dataclass(slots=True)
class Work:
    """The parts of the crawl that are reported about."""

    totals: Totals
    stats: Stats
    state: Callable[[], str]
    #: URLs not decided, and URLs seen.
    queued: Callable[[], int]
    seen: Callable[[], int]
    #: Transfers running, and at most.
    busy: Callable[[], int]
    handles: Callable[[], int]


class Reports:
    """Reports about the work of this node, and reads the reports of all in the same question."""

    def __init__(self, board: RedisBoard, node: Node, config: Config) -> None:
        self._board = board
        self._node = node
        self._config = config
        self._database = shown_database(config)
        self._session = ""
        self._joined_at = inf
        self._is_reading = False
        # The last report is under way, or was taken.
        self._is_last = self._has_ended = False
        self._read_at = -inf
        # The reports of all nodes.
        self._seen: Board | None = None

    def __repr__(self) -> str:
        return f"<Reports of {self._config.node}>"

    def step(self, work: Work, now: float) -> None:
        """Report, if it is time."""
        if self._node.session != self._session:
            self._session = self._node.session
            self._joined_at = self._read_at = now
        if now >= self._read_at and not self._is_reading and self._session:
            self._read_at = now + _REPORT
            self._exchange(work, now)

    def finish(self, work: Work, now: float) -> bool:
        """Report for the last time, as there were more pages; True when that is done."""
        if not self._has_ended and not self._is_reading:
            self._is_last = True
            self._exchange(work, now)
        return self._has_ended

    def _exchange(self, work: Work, now: float) -> None:
        def read(answer: Board | Away) -> None:
            self._is_reading = False
            if not isinstance(answer, Away):
                self._seen = answer
                self._has_ended = self._is_last

        self._is_reading = True
        self._board.read(read, self._config.node, self._report(work, now))

    def _report(self, work: Work, now: float) -> dict[str, Any]:
        counts, rates = work.totals.counts(), work.stats.rates()
        totals = counts["totals"]
        config, node = self._config, self._node
        return {
            "session": node.session,
            "version": __version__,
            "joined_s": round(now - self._joined_at, 1),
            "state": work.state(),
            "pages": totals["success"],
            "pages_s": round(rates["success"], 2),
            "replies": totals["pages"],
            "bytes": totals["bytes_received"],
            "bytes_s": round(rates["bytes"]),
            "links": totals["links"],
            "outcomes": {name: count for name, count in counts["outcomes"].items() if count},
            "sites": counts["known"]["sites"],
            "queued": work.queued(),
            "seen": work.seen(),
            "busy": work.busy(),
            "shards": node.served,
            "lag_s": round(node.lag, 2),
            "trouble": self._board.client.trouble,
            "http": f"{config.http_host}:{config.http_port}" if config.http_port else "",
            "database": self._database,
            "input": f"{config.input_host}:{config.input_port}" if config.input_port else "",
        }

    @property
    def alive(self) -> Mapping[str, str]:
        """The sessions of the nodes that take part and report, by their names."""
        return self._seen.alive if self._seen is not None else {}

    def describe(self, limit: int) -> dict[str, Any]:
        """The fleet for the snapshot of this node; `limit` is limitPage."""
        nodes = []
        for name, report in (self._seen.reports if self._seen is not None else {}).items():
            assert self._seen is not None
            alive = self._seen.is_alive(name)
            nodes.append({"name": name, "alive": alive, "age_s": report.age, **report.status})
        served = sum(node.get("shards") or 0 for node in nodes if node["alive"])
        return {
            "name": self._board.name,
            "node": self._config.node,
            "state": self._node.state.value,
            "members": self._node.members,
            "nodes": nodes,
            "shards": self._node.served,
            "shards_of_all": self._config.shards,
            "shards_served": served,
            "lag_s": round(self._node.lag, 2),
            "limit": limit,
            "left": self._seen.left if self._seen is not None else 0,
            "redis_trouble": bool(self._board.client.trouble),
            "trouble": self._board.client.trouble,
        }
