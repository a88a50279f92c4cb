"""Where Redis itself is, so that no page can direct the crawl there."""

import socket
from contextlib import suppress
from ipaddress import ip_address

from larbinpy.fleet.redis.topology import Topology
from larbinpy.fleet.redis.wire import Server


class Places:
    """The addresses and ports of all servers that a crawl is on."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        # By server, with the addresses that its name had when it was first seen.
        self._known: dict[Server, frozenset[str]] = {}

    def __repr__(self) -> str:
        return f"<Places {list(self._known)}>"

    def has(self, address: str, port: int) -> bool:
        """Whether one of the servers is at this port of `address`, or of this machine with it."""
        for server in self._topology.servers:
            if server.port == port:
                address = _plain(address)
                there = self._addresses(server)
                if address in there or (_is_here(address) and any(map(_is_here, there))):
                    return True
        return False

    def _addresses(self, server: Server) -> frozenset[str]:
        known = self._known.get(server)
        if known is None:
            found = [server.host]
            with suppress(OSError):
                infos = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
                found += [str(info[4][0]) for info in infos]
            known = self._known[server] = frozenset(map(_plain, found))
        return known


def _plain(address: str) -> str:
    """An address in its one spelling, without the IPv6 that stands for IPv4; a name as it is."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _is_here(address: str) -> bool:
    """Whether `address`, in its plain spelling, is one of this machine."""
    with suppress(ValueError, OSError):
        if ip_address(address).is_loopback:
            return True
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as test:
            # The system binds to its own addresses alone, and to none ("0.0.0.0").
            test.bind((address, 0))
        return True
    return False
