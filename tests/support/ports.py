"""Ports for servers that start later, or that are never there."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle
from random import sample

#: Below the ports that the system gives to clients, which may come before the server.
_PORTS = range(10_000, 20_000)
_A_PROCESS = 100
#: The bus of a node of a Redis Cluster is that far above its port.
_BUS = 10_000


def free_port() -> int:
    """A port that is free on every IPv4 address of this machine, as is the one for a bus.

    No other process that runs tests gets it, and this one only after all others of its range.
    """
    for port in _own():
        with socket.socket() as server, socket.socket() as bus, suppress(OSError):
            for sock, number in (server, port), (bus, port + _BUS):
                # As servers do it: connections that ended a moment ago do not matter.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind(("0.0.0.0", number))
            return port
    raise AssertionError("a cycle has no end")


@cache
def _own() -> Iterator[int]:
    """The ports of this process, again and again.

    They are its own because it holds the first one, of UDP, as long as it lives.
    """
    firsts = _PORTS[::_A_PROCESS]
    for first in sample(firsts, len(firsts)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held, suppress(OSError):
            held.bind(("0.0.0.0", first))
            held.detach()
            return cycle(range(first + 1, first + _A_PROCESS))
    raise OSError("other tests on this machine have all ports")
