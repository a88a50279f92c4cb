"""Waits until what was written has reached a replica, where a master has replicas.

WAIT counts the replicas that have the writes of its own connection, and a connection may be newer
than the writes. So a small write goes first, to each master: a replica that has it has all before.
"""

from collections.abc import Callable, Mapping

from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.connection import Connection, Request
from larbinpy.fleet.redis.link import AWAY, Link
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Away

#: Milliseconds of one WAIT: the commands behind it wait as long, while no replica answers.
_PATIENCE = 200
_WAIT = pack("WAIT", 1, _PATIENCE)


class Settling:
    """Calls `then` with None once a replica of each master of the slots has what is there now.

    `keys` has a key that may be written for each slot; it is gone after a second.
    """

    def __init__(
        self, client: Client, keys: Mapping[int, bytes], then: Callable[[Away | None], None]
    ) -> None:
        self._client = client
        self._keys = keys
        self._then = then
        self._open = 0
        self._again = False
        self._away = False

    def begin(self) -> None:
        """Write to each master, each by one of its slots."""
        topology = self._client.topology
        first: dict[Link | None, int] = {}
        for slot in self._keys:
            link = topology.owner(slot)
            first.setdefault(link if link is not None and link.is_ready else None, slot)
        self._again = self._away = False
        self._open = 1
        if not topology.is_cluster:
            # So that the next time a replica is known that came, or gone.
            topology.look_soon()
        for link, slot in first.items():
            if link is None or topology.replicas(link):
                self._open += 1
                self._write(link, slot)
        self._end()

    def _write(self, link: Link | None, slot: int) -> None:
        data = pack("SET", self._keys[slot], "", "PX", 1000)
        request = Request(data, lambda reply: self._written(reply, link, request), slot)
        self._client.route(request)

    def _written(self, reply: object, planned: Link | None, request: Request) -> None:
        if reply is AWAY:
            self._away = True
        elif planned is None or request.link is not planned:
            # The slot has moved, so the owners of others may have changed, too.
            self._again = True
        else:
            connection = planned.connection
            planned.send(Request(_WAIT, lambda reply: self._waited(reply, planned, connection)))
            return
        self._end()

    def _waited(self, reply: object, link: Link, connection: Connection | None) -> None:
        if reply is AWAY:
            self._away = True
        elif not isinstance(reply, int) or not reply or link.connection is not connection:
            self._again = True
            self._client.topology.look_soon()
        self._end()

    def _end(self) -> None:
        self._open -= 1
        if self._open:
            return
        if self._away:
            self._then(AWAY)
        elif self._again:
            self.begin()
        else:
            self._then(None)
