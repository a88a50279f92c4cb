"""Hosts to shards, and shards to the sessions that should own them: the same rule on every node.

`Holding` says which shards a session has, and which it takes or leaves next. `EndProof` proves that
all is done, everywhere.
"""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache
from random import Random
from zlib import crc32

from larbinpy.fleet.vault import NOBODY, ShardLook
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

    def to_take(self, look: Sequence[ShardLook], alive: Collection[str]) -> list[int]:
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

    def to_leave(self, look: Sequence[ShardLook]) -> list[int]:
        """The served shards that others should have next."""
        surplus = set(self.surplus)
        return [
            shard
            for session, share in self._shares.items()
            if not surplus.isdisjoint(share)
            for shard in _next(look, session, share)
            if shard in surplus
        ]


def _next(look: Sequence[ShardLook], session: str, share: Set[int]) -> list[int]:
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


class EndProof:
    """Two looks that find nothing owed and no letter, without a commit between, prove the end.

    A look is not of one moment. But without a commit between two looks, nothing was owed all
    the time from one to the other; and as only a commit removes letters, there was none either.
    A page that is being fetched is owed, and so is one whose links are on their way.
    """

    def __init__(self) -> None:
        self._look: Sequence[ShardLook] | None = None

    @property
    def is_near(self) -> bool:
        """Whether the last look found nothing, so that another one may prove the end."""
        return self._look is not None

    def proven(self, look: Sequence[ShardLook]) -> bool:
        """Whether this look and the one before prove that the crawl is finished."""
        before, self._look = self._look, None
        if any(shard.owing or shard.inbox for shard in look):
            return False
        self._look = look
        return before is not None and all(map(_is_unchanged, before, look))


def _is_unchanged(before: ShardLook, after: ShardLook) -> bool:
    """Whether there was certainly no commit of a shard between these two.

    A take counts the number up by one, too. Only a take makes a session the owner, so it was that
    one. A shard without an owner may have got a commit before it was left.
    """
    if after.n == before.n:
        return True
    was_taken = after.own not in (NOBODY, before.own)
    return was_taken and after.n == before.n + 1
