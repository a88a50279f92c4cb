"""The side of a node that operators and other nodes see and change."""

from functools import partial
from typing import Any

from larbinpy.config import Config
from larbinpy.crawl.control.mode import Mode
from larbinpy.crawl.fleet.gathering import Gathering
from larbinpy.crawl.fleet.orders import Orders
from larbinpy.crawl.fleet.page_limit import PageLimit
from larbinpy.crawl.fleet.reports import Reports, Work
from larbinpy.crawl.fleet.seeding import Seeding
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.node import Node
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.session import Session
from larbinpy.fleet.shards import shard_of
from larbinpy.fleet.vault import CrawlState
from larbinpy.loop.clock import Clock

#: Seconds for the answers of other nodes.
_PATIENCE = 30.0


class Steering:
    """Stepped between the turns of the crawl, after its node: reports, orders, seeds, limitPage."""

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
        self._shards = config.shards
        self._first_limit = first_limit
        self._mode = mode
        self._clock = clock
        # What is asked here outlives the sessions of the node.
        self._asked = Session()
        self._work: Work | None = None
        self._reports = Reports(board, node, config)
        self._page_limit = PageLimit(board, config.limit_page, first_limit, mode)
        #: The orders to this node.
        self.orders = Orders(board, config.node)
        #: The seeds that this node passes on.
        self.seeding = Seeding(board, partial(shard_of, shards=config.shards), config.stay)

    def __repr__(self) -> str:
        return f"<Steering {self._page_limit!r}, {self.orders!r}>"

    def begin(self, work: Work, share_name: str) -> None:
        """The crawl is assembled; `share_name` is that of the state of this node."""
        self._work = work
        self._page_limit.begin(share_name, work.totals.counts()["totals"]["success"])
        self.orders.begin()

    @property
    def holds(self) -> str:
        """Why no request may be opened; empty if they may."""
        return self._page_limit.holds

    def step(self, now: float) -> None:
        """Do what is due."""
        self.pass_on()
        work = self._work
        if work is None:
            return
        self._mode.paused = self._node.state is CrawlState.PAUSED
        self._reports.step(work, now)
        self.orders.step()
        # A node that cannot join must not keep a share.
        if self._node.session:
            self._page_limit.step(
                work.stats.success, work.busy(), work.handles(), self._node.members, now
            )

    def pass_on(self) -> bool:
        """Send what was given here: seeds, settings and states; True when Redis has all of it."""
        self._asked.resend()
        self.seeding.step()
        return self.seeding.is_done and self._asked.is_settled

    def finish(self) -> bool:
        """Give back the rest of the share and report for the last time; True when that is done."""
        assert self._work is not None
        return (
            self._page_limit.give_back(self._work.stats.success)
            and self._reports.finish(self._work, self._clock())
            and self.pass_on()
        )

    def describe(self) -> dict[str, Any]:
        """The fleet for the snapshot of this node."""
        return self._reports.describe(self._page_limit.limit)

    @property
    def is_stuck(self) -> bool:
        """Whether seeds pile up here, because Redis is away."""
        return self.seeding.is_full and bool(self._board.client.trouble)

    def owns(self, host: str) -> bool:
        """Whether this node fetches the URLs of a host."""
        return self._journal.serves(shard_of(host, self._shards))

    def declare(self, old: CrawlState, new: CrawlState) -> None:
        """Change the state of the crawl if it is `old`."""

        again = partial(self.declare, old, new)
        self._board.declare(old, new, self._asked.then(_ignore, again))

    def change(self, key: str, value: str, pages: int | None) -> None:
        """Change a setting of all nodes; `pages` is limitPage if it is that."""
        again = partial(self.change, key, value, pages)
        then = self._asked.then(_ignore, again)
        self._board.change(key, value, pages, self._first_limit, then)

    def limited(self, limit: int) -> None:
        """limitPage was changed."""
        self._page_limit.change(limit)

    def gather(self, order: str) -> Gathering:
        """Give an order to all nodes, this one included, and wait for their answers."""
        give = partial(self._board.order, order)
        return Gathering(self._board, give, self._reports.alive, self._clock() + _PATIENCE)


def _ignore(_: object) -> None:
    """For answers that change nothing."""
