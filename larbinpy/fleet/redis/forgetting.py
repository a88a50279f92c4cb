"""Removes the keys of a crawl."""

import re
from functools import partial
from typing import Any

from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.connection import Request
from larbinpy.fleet.redis.keys import Keys
from larbinpy.fleet.redis.link import AWAY, Link
from larbinpy.fleet.redis.slots import slot_of
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Away, Then

#: Keys that a server looks at in one call.
_SCANNED = 1000


class Forgetting:
    """Walks through the keys of all masters, and removes those of a crawl that was cleared.

    The key that says so is the last one: until then no crawl of this name can be made.
    """

    def __init__(self, client: Client, keys: Keys, name: str, then: Then[None]) -> None:
        own = re.escape(name.encode())
        # A crawl whose name is this one, a dot and a number has other keys than a shard.
        self._is_own = re.compile(
            rb"lb:(?:\{%b\}:.*|\{%b\.\d+\}:[hsbicw]|%b:.*)" % (own, own, own), re.DOTALL
        ).fullmatch
        self._client = client
        self._keys = keys
        self._then = then
        masters = client.topology.masters
        self._open = len(masters)
        self._away = False
        for link in masters:
            self._scan(link, b"0")

    def _scan(self, link: Link, cursor: bytes) -> None:
        data = pack("SCAN", cursor, "MATCH", "lb:*", "COUNT", _SCANNED)
        link.send(Request(data, partial(self._scanned, link)))

    def _scanned(self, link: Link, reply: Any) -> None:
        if not isinstance(reply, list):
            self._away = True
            self._end()
            return
        cursor, keys = reply
        for key in filter(self._is_own, keys):
            if key == self._keys.crawl:
                continue
            self._open += 1
            # One by one: the keys of a Cluster's master are in different slots.
            self._client.send(slot_of(key), pack("UNLINK", key), self._removed)
        if cursor == b"0":
            self._end()
        else:
            self._scan(link, cursor)

    def _removed(self, reply: Any) -> None:
        self._away = self._away or isinstance(reply, Away)
        self._end()

    def _end(self) -> None:
        self._open -= 1
        if self._open:
            return
        if self._away:
            self._then(Away())
            return
        data = pack("DEL", self._keys.crawl)
        self._client.send(
            self._keys.slot, data, lambda reply: self._then(reply if reply is AWAY else None)
        )
