"""The names of the keys of a crawl, with the slots that a Cluster has them in.

lb:{N}:crawl     hash: format, id, settings, state, and the runs of Redis that it was made in
lb:{N}:beats     hash: session -> counter
lb:{N}:orders    stream of orders to all nodes
lb:{N.K}:h       hash of shard K: own, n, owed; and in, the elements that its inbox must have
lb:{N.K}:s       list: packed fingerprints
lb:{N.K}:b       hash: b7 -> packed lines of block 7, o7 -> its owed bits
lb:{N.K}:i       list: the inbox
lb:{N.K}:c       hash: c and name -> what was counted of a site; w and site -> its waits
lb:{N.K}:w       written for a second, to see what has reached a replica
lb:N:a:ADDRESS   a turn, as in `turns`
lb:N:n:BUCKET    hash: a part of the names, packed as in `names`
lb:N:n:absent    stream of names that do not exist
"""

from typing import NamedTuple

from larbinpy.fleet.redis.slots import slot_of


class Kind(NamedTuple):
    """What a key has: its type, as Redis calls it, and in words."""

    type: str
    content: str


#: By the part of a key after the name of the crawl, and the shard.
_KINDS = {
    "crawl": Kind("hash", "the crawl"),
    "beats": Kind("hash", "the list of nodes"),
    "orders": Kind("stream", "orders to nodes"),
    "nodes": Kind("hash", "reports of nodes"),
    "answer": Kind("list", "answers of nodes"),
    "pages": Kind("hash", "what was drawn of limitPage"),
    "hosts": Kind("zset", "the area of the seeds"),
    "h": Kind("hash", "the owner of some hosts"),
    "s": Kind("list", "URLs seen of some hosts"),
    "b": Kind("hash", "queued URLs of some hosts"),
    "i": Kind("list", "links between nodes"),
    "c": Kind("hash", "limits and pauses of some hosts"),
    "w": Kind("string", "a mark"),
    "a": Kind("string", "the turn at an address"),
    "n": Kind("hash", "addresses of names"),
    "absent": Kind("stream", "names that do not exist"),
}


def wrong_type(key: bytes, type: str) -> str:
    """Why a key of a type cannot be used, to be read after the server; "" if it can."""
    parts = key.decode().split(":", 3)
    kind = _KINDS["absent" if parts[2:] == ["n", "absent"] else parts[2]]
    if type in (kind.type, "none"):
        return ""
    return (
        f"has a {type} as {key.decode()}, which must be a {kind.type}: another program wrote it. "
        f"Restore the data of Redis, or go on without {kind.content}: DEL {key.decode()}"
    )


def lost(key: str, left: str) -> str:
    """What the loss of a key means, to be read after the server; `left` is that of `LOOK`."""
    stem, _, kind = key.rpartition(":")
    fields = {"h": f"n 1 owed {left}", "b": "owed 0", "i": f"in {left}"}[kind]
    return (
        f"has lost {key}, or a part of it: {_KINDS[kind].content}; pages would be missing. "
        f"Restore the data of Redis, or go on without: HSET {stem}:h {fields}"
    )


class ShardKeys:
    """The keys of one shard, which are in one slot."""

    __slots__ = ("b", "c", "h", "i", "s", "slot", "w")

    def __init__(self, name: str, shard: int) -> None:
        stem = b"lb:{%s.%d}:" % (name.encode(), shard)
        self.slot = slot_of(stem)
        self.h, self.s, self.b, self.i, self.c, self.w = (
            stem + each for each in (b"h", b"s", b"b", b"i", b"c", b"w")
        )


class Keys:
    """The keys of the crawl `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        stem = b"lb:{%s}:" % name.encode()
        self.slot = slot_of(stem)
        self.crawl = stem + b"crawl"
        self.beats = stem + b"beats"
        self.orders = stem + b"orders"
        self._turn = f"lb:{name}:a:"
        self._names = f"lb:{name}:n:".encode()
        self.absent = self._names + b"absent"
        self._shards: dict[int, ShardKeys] = {}

    def shard(self, number: int) -> ShardKeys:
        keys = self._shards.get(number)
        if keys is None:
            keys = self._shards[number] = ShardKeys(self._name, number)
        return keys

    def turn(self, address: str) -> bytes:
        return (self._turn + address).encode()

    def names(self, bucket: int) -> bytes:
        return b"%b%x" % (self._names, bucket)
