"""Addresses at which Redis itself is."""

from dataclasses import dataclass
from typing import cast

import pytest

from larbinpy.fleet.redis.client import Topology
from larbinpy.fleet.redis.overview import Places
from larbinpy.fleet.redis.wire import Endpoint

HERE = ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0.0.0.0", "::"]


@dataclass
class Servers:
    servers: list[Endpoint]


def places(*hosts: str) -> Places:
    return Places(cast(Topology, Servers([Endpoint(host, 7000) for host in hosts])))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("address", HERE)
def test_all_addresses_of_the_machine_of_a_redis(host: str, address: str) -> None:
    assert places(host).has(address, 7000)
    assert not places(host).has(address, 7001)


@pytest.mark.parametrize("host", ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"])
def test_a_redis_elsewhere(host: str) -> None:
    there = places("198.51.100.1", host)
    for address in ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"):
        assert there.has(address, 7000)
    assert not there.has("192.0.2.8", 7000)
    assert not any(there.has(address, 7000) for address in HERE)


def test_one_spelling_of_an_address() -> None:
    assert places("2001:DB8:0::0:1").has("2001:db8::1", 7000)
    assert not places("2001:db8::1").has("2001:db8::2", 7000)


def test_another_address_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = []

    class Socket:
        def __init__(self, family: int, kind: int) -> None:
            pass

        def __enter__(self) -> "Socket":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def bind(self, address: tuple[str, int]) -> None:
            bound.append(address[0])
            if address[0] != "192.0.2.7":
                raise OSError

    monkeypatch.setattr("socket.socket", Socket)
    assert places("127.0.0.1").has("192.0.2.7", 7000)
    assert not places("127.0.0.1").has("192.0.2.8", 7000)
    assert bound == ["192.0.2.7", "192.0.2.8"]
