"""The shards of a session: it looks which ones to have, takes and loads them, and leaves them.

Hosts to shards, and shards to the sessions that should own them: the same rule on every node.

Which shards this session has, and which it takes or leaves next.

Is all done, everywhere?
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache, partial
from random import Random
from typing import Protocol
from zlib import crc32

from larbinpy.fleet.exchange import Exchange, Local
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.vault import (
    NOBODY,
    Behind,
    CrawlState,
    Members,
    Owned,
    Part,
    Session,
    Standing,
    Taken,
    Vault,
    Verdict,
)
from larbinpy.url import host_of

#: Sites whose shards are remembered: most URLs of a page are of its own site.
_RECENT = 4096


def shard_of(host: str, shards: int) -> int:
    """The shard of a host, fixed for the whole crawl."""
    return crc32(host.encode()) % shards


def shards_by_site(shards: int) -> Callable[[str], int]:
    """The shard of a site by its key, as a function."""

    @lru_cache(_RECENT)
    def of_site(site: str) -> int:
        return shard_of(host_of(f"{site}/"), shards)

    return of_site


class Shares:
    """Which session should own which shard, when these are the members.

    The session with the highest weight for a shard gets it (Thaler and Ravishankar, A name-based
    mapping scheme for rendezvous, 1996), unless it has its full share already: a member that
    comes or goes moves little more than its own share, and no share is above the mean.
    """

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._weights: dict[str, list[float]] = {}

    def of(self, members: Collection[str]) -> dict[str, set[int]]:
        """The shards of each member."""
        names = sorted(members)
        shares: dict[str, set[int]] = {name: set() for name in names}
        if not names:
            return shares
        self._weights = {
            name: self._weights.get(name) or _weights(name, self._shards) for name in names
        }
        most = -(-self._shards // len(names))
        has_room = dict.fromkeys(names, True)
        for shard, column in enumerate(zip(*self._weights.values(), strict=True)):
            name = names[column.index(max(column))]
            if not has_room[name]:
                _, name = max(
                    (weight, other)
                    for weight, other in zip(column, names, strict=True)
                    if has_room[other]
                )
            share = shares[name]
            share.add(shard)
            has_room[name] = len(share) < most
        return shares


def _weights(name: str, shards: int) -> list[float]:
    # Python documents that random() repeats for a seed, in all versions.
    random = Random(name).random
    return [random() for _ in range(shards)]


#: Shards move to a session some at a time: at most one in so many of all, or a few, ...
_PART, _FEW = 16, 4
#: ... and so many owed lines, which it loads in about a second.
LINES = 250_000


class Stage(Enum):
    """The stage of a shard in a session; a shard that it does not have has none."""

    #: A take is under way.
    TAKING = "taking"
    LOADING = "loading"
    SERVED = "served"
    #: No request is opened; what is in flight lands, and is written to the vault.
    LEAVING = "leaving"
    #: A leave is under way.
    LEFT = "left"


#: The stages that may follow a stage; None is the end and the beginning.
_NEXT: dict[Stage | None, tuple[Stage | None, ...]] = {
    None: (Stage.TAKING,),
    Stage.TAKING: (Stage.LOADING, None),
    Stage.LOADING: (Stage.SERVED,),
    Stage.SERVED: (Stage.LEAVING,),
    Stage.LEAVING: (Stage.LEFT,),
    Stage.LEFT: (None,),
}


class Holding:
    """The shards of a session by their stages."""

    def __init__(self) -> None:
        self._stages: dict[int, Stage] = {}
        self._shares: Mapping[str, Set[int]] = {}
        #: The shards that it should have.
        self.wanted: Set[int] = frozenset()

    def plan(self, shares: Mapping[str, Set[int]], session: str) -> None:
        """Let these be the shards that each member should have; `session` is this one."""
        self._shares = shares
        self.wanted = shares.get(session, frozenset())

    def move(self, shard: int, stage: Stage | None) -> None:
        """Let a shard enter a stage; RuntimeError if it may not follow the present one."""
        before = self._stages.get(shard)
        if stage not in _NEXT[before]:
            raise RuntimeError(f"shard {shard}: {before} to {stage}")
        if stage is None:
            del self._stages[shard]
        else:
            self._stages[shard] = stage

    def at(self, *stages: Stage) -> list[int]:
        """The shards at one of these stages."""
        return [shard for shard, stage in self._stages.items() if stage in stages]

    @property
    def lacking(self) -> list[int]:
        """The shards that are wanted and not had."""
        return [shard for shard in self.wanted if shard not in self._stages]

    def to_take(self, look: Sequence[Standing], alive: Collection[str]) -> list[int]:
        """The lacking shards without a living owner.

        A session that joins between the look and the news of who is alive is alive: so `alive`
        must be newer than the look.
        """
        return [
            shard
            for shard in self.lacking
            if look[shard].own == NOBODY or look[shard].own not in alive
        ]

    @property
    def surplus(self) -> list[int]:
        """The served shards that others should have."""
        return [shard for shard in self.at(Stage.SERVED) if shard not in self.wanted]

    def to_leave(self, look: Sequence[Standing]) -> list[int]:
        """The served shards that others should have next."""
        surplus = set(self.surplus)
        return [
            shard
            for session, share in self._shares.items()
            if not surplus.isdisjoint(share)
            for shard in _next(look, session, share)
            if shard in surplus
        ]


def _next(look: Sequence[Standing], session: str, share: Set[int]) -> list[int]:
    """The shards that a session should get next; all who look agree on them.

    A shard that it takes makes room for another. So a session that loads slowly is given few, and
    the others stay with their owners, who fetch their URLs meanwhile.
    """
    most = max(_FEW, len(look) // _PART)
    found: list[int] = []
    lines = 0
    for shard in sorted(share):
        if look[shard].own != session:
            lines += look[shard].owing
            if found and (len(found) == most or lines > LINES):
                break
            found.append(shard)
    return found


class Ending:
    """Two looks that find nothing owed and no letter, without a commit between, prove the end.

    A look is not of one moment. But without a commit between two looks, nothing was owed all
    the time from one to the other; and as only a commit removes letters, there was none either.
    A page that is being fetched is owed, and so is one whose links are on their way.
    """

    def __init__(self) -> None:
        self._look: Sequence[Standing] | None = None

    @property
    def is_near(self) -> bool:
        """Whether the last look found nothing, so that another one may prove the end."""
        return self._look is not None

    def proven(self, look: Sequence[Standing]) -> bool:
        """Whether this look and the one before prove that the crawl is finished."""
        before, self._look = self._look, None
        if any(shard.owing or shard.inbox for shard in look):
            return False
        self._look = look
        return before is not None and all(map(_is_unchanged, before, look))


def _is_unchanged(before: Standing, after: Standing) -> bool:
    """Whether there was certainly no commit of a shard between these two.

    A take counts the number up by one, too. Only a take makes a session the owner, so it was that
    one. A shard without an owner may have got a commit before it was left.
    """
    if after.n == before.n:
        return True
    was_taken = after.own not in (NOBODY, before.own)
    return was_taken and after.n == before.n + 1


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
