"""Which master of a Redis Cluster has which of its 16,384 slots (no socket)."""

from binascii import crc_hqx
from typing import Any, NamedTuple, Self

from larbinpy.fleet.redis.wire import Server

SLOTS = 16384


def slot_of(key: bytes) -> int:
    """The slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it without one.

    The tag stands between the first `{` and the next `}`, if something is there (Redis cluster
    specification, "Hash tags").
    """
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


class Master(NamedTuple):
    """A master: `id` is that of its node, which it keeps when its address changes."""

    id: str
    server: Server
    replicas: tuple[Server, ...]


class SlotMap:
    """Owners of slots, as one node of the Cluster knows them."""

    def __init__(self) -> None:
        self.masters: dict[Server, Master] = {}
        self.owners: list[Server | None] = [None] * SLOTS

    @classmethod
    def of(cls, reply: Any, asked: Server) -> Self:
        """Parse the reply to CLUSTER SLOTS of the server `asked`.

        Raises ValueError if it is no such reply.
        """
        made = cls()
        try:
            for first, last, *nodes in reply:
                servers = [_server(node, asked) for node in nodes]
                master = Master(bytes(nodes[0][2]).decode(), servers[0], tuple(servers[1:]))
                made.masters[master.server] = master
                made.owners[first : last + 1] = [master.server] * (last - first + 1)
        except (TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"not a reply to CLUSTER SLOTS: {error}") from None
        if len(made.owners) != SLOTS:
            raise ValueError("a slot that does not exist")
        return made

    def __repr__(self) -> str:
        return f"<SlotMap {len(self.masters)} masters, {self.uncovered} slots uncovered>"

    @property
    def uncovered(self) -> int:
        """The number of slots that no master has."""
        return self.owners.count(None)

    def newcomers(self, before: "SlotMap") -> list[Master]:
        """The masters that were none `before`: a replica that took over, or a new node."""
        known = {master.id for master in before.masters.values()}
        return [master for master in self.masters.values() if master.id not in known]


class Redirect(NamedTuple):
    """MOVED or ASK: the server that has the slot, or gets it."""

    slot: int
    server: Server

    @classmethod
    def of(cls, error: str, asked: Server) -> Self:
        """Parse `MOVED 3999 127.0.0.1:6381`; without a host it is that of the server `asked`."""
        _, slot, place = error.split(" ")[:3]
        host, _, port = place.rpartition(":")
        return cls(int(slot), Server(host.strip("[]") or asked.host, int(port)))


def _server(node: Any, asked: Server) -> Server:
    # A node that does not know its own address leaves it out: it is the one that was asked.
    host = bytes(node[0] or b"").decode()
    return Server(asked.host if host in ("", "?") else host, int(node[1]))
