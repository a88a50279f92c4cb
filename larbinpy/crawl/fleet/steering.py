"""The reports of a node to the others, and the orders, limits and seeds that it gets from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

from larbinpy._version import __version__
from larbinpy.config import Config
from larbinpy.console.ports.commands import CommandSteps, Wait
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.fleet.gathering import Gathering
from larbinpy.crawl.fleet.seeding import Seeding
from larbinpy.fleet.board import Board, Drawn
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.node import Node
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.shards import shard_of
from larbinpy.fleet.share import PageShare
from larbinpy.fleet.vault import Away, CrawlState
from larbinpy.loop.clock import Clock
from larbinpy.observe.totals import Totals
from larbinpy.stats.counters import Stats

#: Seconds between two reports, and between two draws if there is nothing to draw.
_REPORT = 2.0
#: Seconds for the answers of other nodes.
PATIENCE = 30.0


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


@dataclass(slots=True)
class _Open:
    order: str
    steps: CommandSteps
    answer: Mapping[str, Any] = field(default_factory=dict)


class Steering:
    """Stepped between the turns of the crawl, after its node."""

    def __init__(
        self,
        board: RedisBoard,
        node: Node,
        journal: Journal,
        config: Config,
        first_limit: int,
        mode: Mode,
        clock: Clock,
    ) -> None:
        """`first_limit` is limitPage as the crawl was made with it."""
        self._board = board
        self._node = node
        self._journal = journal
        self._config = config
        self._first_limit = first_limit
        self._share = PageShare(config.limit_page)
        self._share_name = ""
        self._mode = mode
        self._clock = clock
        self._work: Work | None = None
        self._joined_at = inf
        self._session = ""
        self._last_order = (0, 0)
        self._orders: list[_Open] = []
        #: Executes an order; the steps end with the answer.
        self.execute: Callable[[str], CommandSteps] = lambda text: iter(())
        self._is_reading = self._is_drawing = False
        # The last report is under way, or was taken.
        self._is_last_report = self._has_reported_end = False
        self._read_at = self._draw_at = -inf
        #: The reports of all nodes.
        self.seen: Board | None = None
        self.seeding = Seeding(board, partial(shard_of, shards=config.shards), config.stay)
        board.on_order = self._ordered

    def __repr__(self) -> str:
        return f"<Steering {self._share!r}, {len(self._orders)} orders>"

    def begin(self, work: Work, share_name: str) -> None:
        """The crawl is assembled; `share_name` is that of the state of this node."""
        self._work = work
        self._share_name = share_name
        self._share.before = work.totals.counts()["totals"]["success"]
        self._limit()

    @property
    def holds(self) -> str:
        """Why no request may be opened; empty if they may."""
        if self._share.most == 0 and self._share.may_grow:
            return "this node waits for its share of limitPage"
        return ""

    def step(self, now: float) -> None:
        """Do what is due."""
        if self._work is None:
            return
        if self._node.session != self._session:
            self._session = self._node.session
            self._joined_at = now
            self._read_at = now
        self._mode.paused = self._node.state is CrawlState.PAUSED
        if now >= self._read_at and not self._is_reading and self._session:
            self._read_at = now + _REPORT
            self._read(self._report(self._work, now))
        self._execute()
        self.seeding.step()
        self._draw(self._work, now)

    def finish(self) -> bool:
        """Give back the rest of the share and report for the last time; True when that is done."""
        assert self._work is not None
        if not self._share.is_given_back:
            if not self._is_drawing:
                total = self._share.used(self._work.stats.success)
                self._ask_draw(total, self._share.gave_back)
            return False
        if not self._has_reported_end and not self._is_reading:
            # Since the last report there were more pages.
            self._is_last_report = True
            self._read(self._report(self._work, self._clock()))
        return self._has_reported_end and self.seeding.is_done

    @property
    def is_stuck(self) -> bool:
        """Whether seeds pile up here, because Redis is away."""
        return self.seeding.is_full and bool(self._board.trouble)

    def owns(self, host: str) -> bool:
        """Whether this node fetches the URLs of a host."""
        return self._journal.serves(shard_of(host, self._config.shards))

    # -- reports

    def _read(self, report: Mapping[str, Any] | None) -> None:
        def read(answer: Board | Away) -> None:
            self._is_reading = False
            if not isinstance(answer, Away):
                self.seen = answer
                self._has_reported_end = self._is_last_report

        self._is_reading = True
        self._board.read(read, self._config.node, report)

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
            "trouble": self._board.trouble,
            "http": f"{config.http_host}:{config.http_port}" if config.http_port else "",
            "input": f"{config.input_host}:{config.input_port}" if config.input_port else "",
        }

    def describe(self) -> dict[str, Any]:
        """The fleet for the snapshot of this node."""
        nodes = []
        for name, report in (self.seen.reports if self.seen is not None else {}).items():
            assert self.seen is not None
            alive = self.seen.is_alive(name)
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
            "limit": self._share.limit,
            "left": self.seen.left if self.seen is not None else 0,
            "redis_trouble": bool(self._board.trouble),
            "trouble": self._board.trouble,
        }

    # -- orders

    def _ordered(self, order: str, text: str) -> None:
        """Begin with an order. After a lost answer it comes again."""
        first, _, second = order.partition("-")
        number = int(first), int(second or 0)
        if self._work is not None and number > self._last_order:
            self._last_order = number
            self._orders.append(_Open(order, self.execute(text)))

    def _execute(self) -> None:
        """One step of each order."""
        for order in list(self._orders):
            found = next(order.steps, None)
            if isinstance(found, Wait):
                continue
            if found is None:
                self._orders.remove(order)
                self._board.answer(order.order, {"node": self._config.node, **order.answer})
            else:
                order.answer = found
        self._limit()

    def declare(self, old: CrawlState, new: CrawlState) -> None:
        """Change the state of the crawl if it is `old`."""

        def declared(answer: CrawlState | Away) -> None:
            if isinstance(answer, Away):
                self.declare(old, new)

        self._board.declare(old, new, declared)

    def change(self, key: str, value: str, pages: int | None) -> None:
        """Change a setting of all nodes."""

        def changed(answer: str | Away) -> None:
            if isinstance(answer, Away):
                self.change(key, value, pages)

        self._board.change(key, value, pages, self._first_limit, changed)

    def gather(self, order: str) -> Gathering:
        """Give an order to all nodes, this one included, and wait for their answers."""
        board = self.seen
        nodes = [name for name in board.reports if board.is_alive(name)] if board else []
        give = partial(self._board.order, order)
        return Gathering(self._board, give, nodes, self._clock() + PATIENCE)

    # -- limitPage

    def _limit(self) -> None:
        """Let the engine have the share."""
        self._mode.share = self._share.most
        self._mode.share_may_grow = self._share.may_grow

    def _draw(self, work: Work, now: float) -> None:
        if self._is_drawing or now < self._draw_at or self._node.is_over:
            return
        fetched, handles = work.stats.success, work.handles()
        total = self._share.wanted(fetched, handles, self._node.members)
        if total is not None:
            self._draw_at = now + (0.0 if self._share.may_grow else _REPORT)
            self._ask_draw(total, self._share.drawn)

    def _ask_draw(self, total: int, then: Callable[[Drawn], None]) -> None:
        def drawn(answer: Drawn | Away | None) -> None:
            self._is_drawing = False
            if isinstance(answer, Drawn):
                then(answer)
                self._limit()

        self._is_drawing = True
        self._board.draw(self._share_name, total, self._first_limit, drawn)

    def limited(self, limit: int) -> None:
        """limitPage was changed."""
        self._share.limit = limit
        self._draw_at = -inf
        self._limit()
