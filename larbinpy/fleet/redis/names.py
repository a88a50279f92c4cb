"""Names that the nodes of a crawl share, on Redis.

Addresses are in hashes of some hundred names, which Redis keeps as compact lists: 21 B a name
(Redis 7.0, a million names). A name is identified by its bucket and 7 B of a hash, 69 bits with
256 shards: of 10 million names, two share theirs with a probability of 10^-7. The hash has the
crawl's id as its key, so outsiders cannot choose names that collide.

The value is the minute of expiry in 3 B, from 2020 on, and one to three addresses; four octets
each, or sixteen. Names have either IPv4 or IPv6 addresses, and no three of 4 B are as long as one
of 16 B.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Any

from larbinpy.fleet.names import Shared
from larbinpy.fleet.redis import scripts
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.slots import slot_of
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Away, Then

#: Buckets for each shard: who expects more hosts gives the crawl more shards.
_BUCKETS = 32
#: Names of a bucket at most. Beyond 512 Redis would need four times as much for each
#: (hash-max-listpack-entries).
_MOST = 500
_KEY = 7
_ADDRESSES = 3
#: Minutes are counted from the begin of 2020, and last until 2051.
_BEGIN = 1_577_836_800
_LAST = (1 << 24) - 1
#: Messages about absent names that are kept, and read at a time. They have 50 names at most: a
#: million names, in 20 MB.
_KEPT = 20_000
_READ = 50


class RedisNames:
    """Names of the crawl with this `id` and so many `shards`."""

    def __init__(self, client: Client, id: str, shards: int, wall: Callable[[], float]) -> None:
        self._client = client
        self._keys = Keys(client.address.name)
        self._secret = id.encode()
        self._buckets = _BUCKETS * shards
        self._wall = wall
        self._absent_slot = slot_of(self._keys.absent)

    def __repr__(self) -> str:
        return f"<RedisNames {self._client.address}>"

    @property
    def trouble(self) -> str:
        return self._client.lost or self._client.trouble

    def _place(self, name: str) -> tuple[bytes, bytes]:
        """The key of the hash that has a name, and its field there."""
        digest = blake2b(name.encode(), digest_size=_KEY + 4, key=self._secret).digest()
        bucket = int.from_bytes(digest[_KEY:]) % self._buckets
        return self._keys.names(bucket), digest[:_KEY]

    def find(self, name: str, then: Then[Shared | None]) -> None:
        key, field = self._place(name)

        def found(reply: Any) -> None:
            then(reply if reply is None or isinstance(reply, Away) else unpack_value(reply))

        self._client.send(slot_of(key), pack(b"HGET", key, field), found)

    def learn(self, name: str, shared: Shared) -> None:
        key, field = self._place(name)
        value, now = pack_value(shared), _minute(self._wall())
        data = scripts.LEARN.call(key, field, value, _MOST, now)
        self._client.send(slot_of(key), data, _ignore)

    def learn_absent(self, names: Sequence[str]) -> None:
        key = self._keys.absent
        data = pack(b"XADD", key, b"MAXLEN", b"~", _KEPT, b"*", b"names", " ".join(names))
        self._client.send(self._absent_slot, data, _ignore)

    def absent(self, cursor: str, then: Then[tuple[str, Sequence[str]]]) -> None:
        def read(reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
                return
            names = [name for _, fields in reply for name in fields[1].decode().split()]
            then((reply[-1][0].decode() if reply else cursor, names))

        data = pack(b"XRANGE", self._keys.absent, f"({cursor}", b"+", b"COUNT", _READ)
        self._client.send(self._absent_slot, data, read)


def pack_value(shared: Shared) -> bytes:
    """The value of a name; expires up to a minute earlier."""
    kept = shared.addresses[:_ADDRESSES]
    packed = [inet_pton(AF_INET6 if ":" in address else AF_INET, address) for address in kept]
    return _minute(shared.until).to_bytes(3) + b"".join(packed)


def unpack_value(value: bytes) -> Shared:
    """The addresses and the time in a value."""
    until = _BEGIN + 60 * int.from_bytes(value[:3])
    size = 4 if len(value) < 3 + 16 else 16
    family = AF_INET if size == 4 else AF_INET6
    packed = (value[start : start + size] for start in range(3, len(value), size))
    return Shared(tuple(inet_ntop(family, each) for each in packed), until)


def _minute(time: float) -> int:
    return min(max(int(time - _BEGIN) // 60, 0), _LAST)


def _ignore(_reply: object) -> None:
    pass
