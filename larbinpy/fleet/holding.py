"""Which shards this session has, and which it takes or leaves next."""

from collections.abc import Collection, Mapping, Sequence, Set
from enum import Enum

from larbinpy.fleet.vault import NOBODY, Standing

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

    def __repr__(self) -> str:
        return f"<Holding {len(self._stages)} of {len(self.wanted)}>"

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
