"""A crawl on Redis, for a command that is no node of it: to look, and to steer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from larbinpy.config import SETTINGS, ConfigError, change
from larbinpy.crawl.fleet.gathering import Answer, Gathering
from larbinpy.crawl.fleet.searching import FleetFound, as_one, nodes_to_ask, order_of
from larbinpy.crawl.fleet.seeding import Seeding, post_all
from larbinpy.database.base import Wish
from larbinpy.errors import UserError
from larbinpy.fleet.answers import ASKED, all_did, explained, is_settled
from larbinpy.fleet.area import AreaLog
from larbinpy.fleet.board import Board
from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.wire import Address
from larbinpy.fleet.settings import has_area, to_steer
from larbinpy.fleet.shards import shard_of
from larbinpy.fleet.vault import CrawlState, Standing, Then
from larbinpy.loop.clock import Clock, clock
from larbinpy.loop.poller import Poller

#: Seconds for the answers of nodes: they ask for orders each second. Searches and disks take long.
_PATIENCE = 10.0
_LONG = 600.0
#: Seconds for which sessions must stand still before a crawl is forgotten.
_WATCH = 4.0


class Remote:
    """The crawl at the address `join`. Raises UserError, also if there is none.

    `forgets`: also one that is half forgotten.
    """

    def __init__(
        self, join: str, clock: Clock = clock, *, forgets: bool = False, watch: float = _WATCH
    ) -> None:
        self._clock = clock
        self._watch = watch
        self._poller = Poller()
        self._client = Client(self._poller, clock, Address.of(join))
        self._asker = Asker(self._client, self._poller, clock)
        self._board = RedisBoard(self._client)
        try:
            found = self._ask(partial(self._board.find, cleared=forgets))
            #: The settings as they are now, as far as they are needed here.
            self.config = to_steer(found)
            self._first_limit = to_steer(found._replace(changed={})).limit_page
        except BaseException:
            self.close()
            raise
        if has_area(self.config):
            self._board.area = AreaLog()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()
        self._poller.close()

    def _ask(self, ask: Callable[[Then[Any]], None]) -> Any:
        return self._asker.ask(ask)

    @property
    def name(self) -> str:
        return self._board.name

    def rest(self, seconds: float) -> None:
        """Let time pass. Raises UserError if Redis must be corrected."""
        self._asker.wait(seconds)

    # -- looking

    def board(self) -> Board:
        board: Board = self._ask(self._board.read)
        return board

    def shards(self) -> Sequence[Standing]:
        shards: Sequence[Standing] = self._ask(self._board.look)
        return shards

    def servers(self) -> list[dict[str, str]]:
        """The fields of INFO of each master, with its address as `server`."""
        links = self._client.topology.masters
        return [{"server": str(link.server), **link.info} for link in links]

    # -- steering

    def seed(
        self, urls: Iterable[str], *, depth: int | None, priority: bool, again: bool
    ) -> list[str]:
        """Give seeds; return those that are no URLs."""
        seeding = Seeding(
            self._board, partial(shard_of, shards=self.config.shards), self.config.stay
        )
        refused = []
        for url in urls:
            if not seeding.add(url, depth=depth, priority=priority, again=again):
                refused.append(url)
            elif seeding.is_full:
                post_all(seeding, self._asker)
        post_all(seeding, self._asker)
        return refused

    def declare(self, new: CrawlState, *olds: CrawlState) -> str:
        """Change the state if it is one of `olds`; return why that was not possible, or ""."""
        state = new
        for old in olds:
            state = self._ask(partial(self._board.declare, old, new))
            if state is new:
                return ""
        return f"the crawl is {state.value}"

    def pause(self) -> str:
        return self.declare(CrawlState.PAUSED, CrawlState.RUNNING)

    def resume(self) -> str:
        return self.declare(CrawlState.RUNNING, CrawlState.PAUSED)

    def stop(self) -> str:
        states = (CrawlState.PAUSED, CrawlState.NEW, CrawlState.RUNNING)
        return self.declare(CrawlState.STOPPED, *states)

    def set(self, key: str, value: str) -> Answer:
        """Change a setting; nodes that join later have it, too."""
        try:
            config = change(self.config, key, value)
        except ConfigError as error:
            return {"ok": False, "error": str(error)}
        self.config = config
        keyword = SETTINGS[key.lower()].keyword
        pages = config.limit_page if keyword == "limitPage" else None
        give = partial(self._board.change, keyword, value, pages, self._first_limit)
        return all_did(*self._gather(give, _PATIENCE))

    def save(self) -> Answer:
        return all_did(*self._gather(partial(self._board.order, "save"), _LONG))

    def explain(self, url: str) -> Answer:
        until = self._clock() + ASKED
        while True:
            found = self._gather(partial(self._board.order, f"explain {url}"), _LONG)
            if is_settled(*found) or self._clock() >= until:
                return explained(*found)

    def search(self, q: str, wish: Wish) -> FleetFound:
        """Search the databases of all nodes. Raises DatabaseError if none can be asked."""
        board = self.board()
        nodes = nodes_to_ask(self.name, board)
        give = partial(self._board.order, order_of(nodes, q, wish))
        sessions = {node: board.alive[node] for node in nodes}
        answers, silent = self._gather(give, _PATIENCE, sessions)
        return as_one(
            self.name, {node: answers[node] for node in nodes if node in answers}, silent, wish
        )

    def _gather(
        self,
        give: Callable[[Then[str]], None],
        patience: float,
        nodes: Mapping[str, str] | None = None,
    ) -> tuple[dict[str, Answer], list[str]]:
        """The answers of `nodes`, of all by default, and the names of those that give none.

        `nodes` have their sessions.
        """
        asked = self.board().alive if nodes is None else nodes
        gathering = Gathering(self._board, give, asked, self._clock() + patience)
        while not gathering.is_over:
            self._client.resume()
            gathering.step(self._clock())
            self._asker.wait(0.05)
        return gathering.answers, gathering.silent

    # -- forgetting

    def forget(self) -> None:
        """Remove the crawl. Raises UserError if a node may live."""
        board = self.board()
        alive = board.alive
        if board.sessions and not alive:
            self.rest(self._watch)
        if alive or not self._ask(partial(self._board.clear, board.sessions)):
            names = f" ({', '.join(alive)})" if alive else ""
            raise UserError(f"{self.name}: nodes run{names}; stop them first")
        self._ask(self._board.remove)
