"""The names of the keys of a crawl, with the slots that a Cluster has them in.

lb:{N}:crawl     hash: format, id, settings, state, and the runs of Redis that it was made in
lb:{N}:beats     hash: session -> counter
lb:{N}:orders    stream of orders to all nodes
lb:{N.K}:h       hash of shard K: own, n, owed
lb:{N.K}:s       list: packed fingerprints
lb:{N.K}:b       hash: b7 -> packed lines of block 7, o7 -> its owed bits
lb:{N.K}:i       list: the inbox
lb:{N.K}:c       hash: c and name -> what was counted of a site; w and site -> its waits
lb:{N.K}:w       written for a second, to see what has reached a replica
lb:N:a:ADDRESS   a turn
lb:N:n:BUCKET    hash: a part of the names, packed as in `names`
lb:N:n:absent    stream of names that do not exist
"""

from larbinpy.fleet.redis.slots import slot_of


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
