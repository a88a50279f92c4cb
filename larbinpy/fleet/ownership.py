"""The shards of a session: it looks which ones to have, takes and loads them, and leaves them."""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Protocol

from larbinpy.fleet.ending import Ending
from larbinpy.fleet.exchange import Exchange
from larbinpy.fleet.holding import LINES, Holding, Stage
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.local import Local
from larbinpy.fleet.members import Members
from larbinpy.fleet.session import Session
from larbinpy.fleet.vault import (
    Behind,
    CrawlState,
    Owned,
    Part,
    Standing,
    Taken,
    Vault,
    Verdict,
)

#: Seconds between two looks at all shards, while shards move, and while the end may be near.
_LOOK_MOVING, _LOOK = 0.4, 1.0
#: Shards that are loaded at once, if they have no more lines than `LINES`.
_LOADS = 16


class Conductor(Protocol):
    """The node, as its shards see it."""

    @property
    def now(self) -> float:
        """The time of the step."""

    def beat_soon(self) -> None:
        """Ask who is alive at the next step."""

    def lose(self, reason: str) -> None:
        """End the session."""

    def finish(self) -> None:
        """All shards together have nothing left to do."""


class Ownership:
    """The shards that the session has. A look at all shards begins each move between members."""

    def __init__(
        self,
        vault: Vault,
        local: Local,
        journal: Journal,
        session: Session,
        members: Members,
        exchange: Exchange,
        node: Conductor,
    ) -> None:
        self._vault = vault
        self._local = local
        self._journal = journal
        self._session = session
        self._members = members
        self._exchange = exchange
        self._node = node
        self._holding = Holding()
        self._ending = Ending()
        self._is_looking = False
        self._looked_at = self._look_at = float("-inf")
        # Whether the node owed something at the last step.
        self._owed = True
        # A look that found shards to take, and when its answer came.
        self._look: tuple[Sequence[Standing], float] = (), float("inf")
        # Lacking shards that had no living owner, as they were then.
        self._free: dict[int, Standing] = {}
        # By shard that is taken or loaded: the number of its owed lines.
        self._loads: dict[int, int] = {}
        # By leaving shard: the number of URLs that were done when it was idle.
        self._idle: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<Ownership {self._holding!r}>"

    @property
    def served(self) -> int:
        """The number of shards whose URLs this node fetches."""
        return len(self._holding.at(Stage.SERVED))

    @property
    def is_out(self) -> bool:
        """Whether the session has no shard at all."""
        return not self._holding.at(*Stage)

    def plan(self, shares: Mapping[str, Set[int]]) -> None:
        """Let these be the shards that each member should have."""
        self._holding.plan(shares, self._session.name)
        self._look_at = self._node.now

    def step(self, *, leaves: bool) -> None:
        """Leave shards that are idle, and look at all if it is time.

        `leaves`: the node leaves, so it takes no shard any more and leaves all.
        """
        if leaves:
            self._holding.wanted = frozenset()
            self._withdraw(self._holding.surplus)
        for shard in self._holding.at(Stage.LEAVING):
            self._leave(shard)
        self._look_around()

    # -- looks

    def _look_around(self) -> None:
        had_owed, self._owed = self._owed, self._journal.owes
        if had_owed and not self._owed:
            # It may have been the last node at work.
            self._look_at = min(self._look_at, self._looked_at + _LOOK_MOVING)
        if self._node.now >= self._look_at and not self._is_looking:
            is_moving = bool(self._holding.lacking or self._holding.surplus)
            self._look_at = self._node.now + (_LOOK_MOVING if is_moving else _LOOK)
            if is_moving or not self._owed:
                self._looked_at = self._node.now
                self._is_looking = True
                self._ask_look()

    def _ask_look(self) -> None:
        # Before the crawl runs, its seeds may still be on their way.
        runs = self._members.state is CrawlState.RUNNING
        looked = partial(self._looked, runs)
        self._vault.look(self._session.then(looked, self._ask_look))

    def _looked(self, runs: bool, look: Sequence[Standing]) -> None:
        self._is_looking = False
        self._withdraw(self._holding.to_leave(look))
        # A look waits for the next news of who is alive; a newer one would wait longer.
        if not self._look[0] and self._holding.to_take(look, self._members.sessions):
            self._look = look, self._node.now
            self._node.beat_soon()
        if runs:
            self._find_end(look)

    def _find_end(self, look: Sequence[Standing]) -> None:
        was_near = self._ending.is_near
        if self._ending.proven(look):
            self._node.finish()
        elif self._ending.is_near and not was_near:
            # The proof needs no time between two looks.
            self._look_at = self._node.now

    # -- taking

    def find_free(self) -> None:
        """Take the shards that nobody has. Who is alive must have been asked after the look."""
        look, at = self._look
        if self._members.seen_at > at:
            self._look = (), float("inf")
            self._free = {k: look[k] for k in self._holding.to_take(look, self._members.sessions)}
            self._take()

    def _take(self) -> None:
        """Take as many shards as are loaded at once. Those with an owner by now are refused.

        The others stay as they are: if all were taken, their owners would leave the next ones.
        """
        while self._free and len(self._loads) < _LOADS:
            shard, standing = self._free.popitem()
            if shard in self._holding.wanted:
                if self._loads and sum(self._loads.values()) + standing.owing > LINES:
                    self._free[shard] = standing
                    break
                self._loads[shard] = standing.owing
                self._holding.move(shard, Stage.TAKING)
                self._ask_take(shard, standing.own, standing.n)

    def _ask_take(self, shard: int, own: str, n: int) -> None:
        def taken(answer: Taken | Owned) -> None:
            if isinstance(answer, Taken):
                self._holding.move(shard, Stage.LOADING)
                self._journal.take_up(shard, answer.n)
                self._ask_part(shard, "")
            else:
                self._holding.move(shard, None)
                del self._loads[shard]
                self._take()

        then = self._session.then(taken, partial(self._ask_take, shard, own, n))
        self._vault.take(shard, own, n, self._session.name, then)

    def _ask_part(self, shard: int, cursor: str) -> None:
        def loaded(part: Part) -> None:
            lines = self._journal.adopt(shard, part.blocks)
            self._local.loaded(shard, part, lines)
            if part.cursor is None:
                self._journal.serve(shard)
                self._holding.move(shard, Stage.SERVED)
                del self._loads[shard]
                self._take()
            else:
                self._ask_part(shard, part.cursor)

        then = self._session.then(loaded, partial(self._ask_part, shard, cursor))
        self._vault.load(shard, cursor, then)

    # -- leaving

    def _withdraw(self, shards: Iterable[int]) -> None:
        for shard in shards:
            self._holding.move(shard, Stage.LEAVING)
            self._journal.withdraw(shard)
            self._local.withdraw(shard)

    def _leave(self, shard: int) -> None:
        """Leave a shard that is idle and of which the vault has all."""
        if self._local.busy(shard):
            return
        done = self._idle.setdefault(shard, self._journal.noted)
        is_written = self._journal.known >= done and not self._journal.has_changes(shard)
        if is_written and self._exchange.is_idle:
            self._holding.move(shard, Stage.LEFT)
            n = self._journal.number(shard)
            self._journal.drop(shard)
            del self._idle[shard]
            self._ask_leave(shard, n)

    def _ask_leave(self, shard: int, n: int) -> None:
        def left(answer: Verdict | Behind) -> None:
            if isinstance(answer, Behind):
                self._node.lose(f"shard {shard} has number {answer.n} instead of {n}")
            else:
                self._holding.move(shard, None)

        then = self._session.then(left, partial(self._ask_leave, shard, n))
        self._vault.leave(shard, self._session.name, n, then)
