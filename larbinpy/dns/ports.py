"""The UDP sockets that questions leave by, each on a random port.

Which port a question left by is one of the things that a forged answer would have to
guess (RFC 5452 section 4.5), so there are several and each question takes one at random.
The sockets are not connected: one serves all name servers of its family.
"""

import errno
import random
import socket
from contextlib import suppress
from typing import NamedTuple

from larbinpy.dns.servers import Address
from larbinpy.poller import READ, Poller

# Answers go on arriving while a page is parsed; the kernel may cut this to its own limit.
_BUFFER = 1 << 20

# Answers without EDNS have at most 512 octets; room for servers that do not care.
_MAX_PACKET = 4096

# Packets read from one socket at one call, and waiting for the next step; what is beyond
# waits in the kernel.
_BATCH = 64
_MAX_WAITING = 1024


class Packet(NamedTuple):
    """What came in, and where."""

    port: int
    source: Address
    data: bytes


class Ports:
    """`count` sockets for each address family among `servers` that this machine has.

    A port is named by its descriptor.
    """

    def __init__(self, poller: Poller, servers: list[Address], count: int) -> None:
        self._poller = poller
        self._sockets: dict[int, socket.socket] = {}
        self._by_family: dict[int, list[int]] = {}
        self.waiting: list[Packet] = []
        for family in {family_of(server) for server in servers}:
            try:
                self._by_family[family] = [self._open(family) for _ in range(count)]
            except OSError as error:
                if error.errno != errno.EAFNOSUPPORT:
                    self.close()
                    raise

    def __repr__(self) -> str:
        return f"<Ports {len(self._sockets)} open, {len(self.waiting)} packets>"

    def _open(self, family: int) -> int:
        udp = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        udp.bind(("", 0))
        self._sockets[udp.fileno()] = udp
        self._poller.register(udp.fileno(), READ, self._readable)
        return udp.fileno()

    def reaches(self, server: Address) -> bool:
        """Whether there are sockets for this server's family."""
        return family_of(server) in self._by_family

    def pick(self, server: Address, rng: random.Random) -> int:
        return rng.choice(self._by_family[family_of(server)])

    def send(self, port: int, message: bytes, server: Address) -> None:
        """Send what can be sent.

        A full buffer or a missing route is for the sender what a lost packet is: the
        question's time runs out, and another server is asked.
        """
        with suppress(OSError):
            self._sockets[port].sendto(message, server)

    def take(self) -> list[Packet]:
        """The packets that came in since the last call."""
        taken, self.waiting = self.waiting, []
        return taken

    def _readable(self, fd: int, _events: int) -> None:
        udp = self._sockets[fd]
        for _ in range(min(_BATCH, _MAX_WAITING - len(self.waiting))):
            try:
                data, source = udp.recvfrom(_MAX_PACKET)
            except OSError:
                return
            self.waiting.append(Packet(fd, source[:2], data))

    def close(self) -> None:
        for fd, udp in self._sockets.items():
            self._poller.unregister(fd)
            udp.close()
        self._sockets.clear()


def family_of(address: Address) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET
