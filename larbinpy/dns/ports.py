"""The UDP sockets that questions are sent from, each on a random port.

The sender of a forged reply has to guess the port of the question (RFC 5452 section 4.5). So
there are many ports, each question takes one at random, and none is kept for long. The system
chooses the numbers, at random among the free ones of its range (ip_local_port_range).

The sockets are not connected: one serves all name servers of its family.
"""

import errno
import socket
from collections import deque
from contextlib import suppress

from larbinpy.dns.servers import Address, family_of
from larbinpy.loop.poller import READ, Poller

#: A received message: its port, its sender, its octets.
Packet = tuple[int, Address, bytes]

#: Open ports for each address family.
COUNT = 64

# Seconds for which questions are sent from a port. Ports are replaced one by one, so that some
# are new at any time.
_LIFE = 64.0

# Size of the sockets' buffers: replies wait there while a page is parsed. The kernel may reduce it.
_BUFFER = 1 << 20

# Replies without EDNS have at most 512 octets; some servers send more all the same.
_MAX_PACKET = 4096

# Packets read from one socket in one call, and packets that wait for the next step; the others
# wait in the kernel.
_BATCH = 64
_MAX_WAITING = 1024


class Ports:
    """`COUNT` sockets for each address family among `servers` that this machine has.

    A port is identified by its descriptor. A replaced one stays open for `linger` seconds, which
    must be longer than any reply is awaited.
    """

    def __init__(self, poller: Poller, servers: list[Address], linger: float) -> None:
        self._poller = poller
        self._linger = linger
        self._sockets: dict[int, socket.socket] = {}
        self._by_family: dict[int, list[int]] = {}
        self._next = 0
        self._renewal: float | None = None
        self._retired: deque[tuple[float, int]] = deque()
        self._leaving: list[tuple[int, bytes, Address]] = []
        self.waiting: list[Packet] = []
        for family in {family_of(server) for server in servers}:
            try:
                self._by_family[family] = [self._open(family) for _ in range(COUNT)]
            except OSError as error:
                if error.errno != errno.EAFNOSUPPORT:
                    self.close()
                    raise

    def __len__(self) -> int:
        return len(self._sockets)

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

    def renew(self, now: float) -> None:
        """Replace the ports whose time is over, and close those replaced long ago."""
        if self._renewal is None:
            self._renewal = now + _LIFE / COUNT
        for _ in range(COUNT):
            if now < self._renewal:
                break
            self._renewal += _LIFE / COUNT
            self._replace(self._next, now)
            self._next = (self._next + 1) % COUNT
        else:
            # All ports were just replaced, so none is due, however long ago the last call was.
            self._renewal = now + _LIFE / COUNT
        while self._retired and self._retired[0][0] <= now:
            self._close(self._retired.popleft()[1])

    def _replace(self, place: int, now: float) -> None:
        for family, ports in self._by_family.items():
            # If there is no free descriptor, the old port stays for another round.
            with suppress(OSError):
                fresh = self._open(family)
                self._retired.append((now + self._linger, ports[place]))
                ports[place] = fresh

    def reaches(self, server: Address) -> bool:
        """Whether there are sockets for this server's family."""
        return family_of(server) in self._by_family

    def pick(self, family: int, number: int) -> int:
        """The port from which to ask a server of `family`, chosen by the random octet `number`."""
        return self._by_family[family][number % COUNT]

    def send(self, port: int, message: bytes, server: Address) -> None:
        """Send with the next `flush`."""
        self._leaving.append((port, message, server))

    def flush(self) -> None:
        """Send all queued messages.

        They are sent together, so that a busy server is not woken for every question. A full
        buffer or a missing route counts as a lost packet: the question times out, and another
        server is asked.
        """
        for port, message, server in self._leaving:
            try:
                self._sockets[port].sendto(message, server)
            except OSError:
                continue
        self._leaving.clear()

    def take(self) -> list[Packet]:
        """The packets received since the last call."""
        taken, self.waiting = self.waiting, []
        return taken

    def _readable(self, fd: int, _events: int) -> None:
        receive = self._sockets[fd].recvfrom
        try:
            for _ in range(min(_BATCH, _MAX_WAITING - len(self.waiting))):
                data, source = receive(_MAX_PACKET)
                self.waiting.append((fd, source[:2], data))
        except OSError:
            return

    def _close(self, fd: int) -> None:
        self._poller.unregister(fd)
        self._sockets.pop(fd).close()

    def close(self) -> None:
        for fd in list(self._sockets):
            self._close(fd)
