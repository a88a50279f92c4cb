"""Hosts to shards, and shards to the sessions that should own them: the same rule on every node."""

from collections.abc import Callable, Collection
from functools import lru_cache
from random import Random
from zlib import crc32

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

    def __repr__(self) -> str:
        return f"<Shares of {self._shards} among {len(self._weights)}>"

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
