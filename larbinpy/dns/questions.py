"""The questions of lookups: sent to the name servers, their replies matched and passed on.

Questions go by UDP (RFC 1035). A reply counts only if it comes from the server that was asked, to
the port the question was sent from, with its id and its question (RFC 5452), and in the same
letter case if the server is known to keep that. Any other packet is counted and ignored, and the
question stays open until its timeout (`Awaited`). Then it is sent to the next server under a new
id; each wait is longer than the last.

The sender of a forged reply has to guess the port of the question (RFC 5452 section 4.5). So there
are many `Ports`, each question takes one at random, and none is kept for long. The system chooses
the numbers, at random among the free ones of its range (ip_local_port_range). The sockets are not
connected: one serves all name servers of its family.

A reply that does not fit into a datagram comes by TCP (RFC 7766). Each such question has a `Stream`
of its own: they are rare, and a server may close an idle one at any time.
"""

import errno
import random
import socket
import struct
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from larbinpy.dns import wire
from larbinpy.dns.lookup import TRIES, Lookup, Verdict
from larbinpy.dns.servers import Address, Server, Servers, family_of
from larbinpy.loop.poller import READ, WRITE, Poller

_DRAWN = 8192


class RandomBytes:
    """Octets of `rng`, drawn many at a time.

    Asking the system for a few octets takes longer than writing a whole question.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        """The next `count` octets; none is returned twice."""
        start = self._used
        self._used = start + count
        if self._used > len(self._drawn):
            self._drawn = self._rng.randbytes(_DRAWN)
            start, self._used = 0, count
        return self._drawn[start : self._used]


#: A received message: its port, its sender, its octets.
Packet = tuple[int, Address, bytes]

#: Open ports for each address family.
COUNT = 64

# Seconds for which questions are sent from a port. Ports are replaced one by one, so that some
# are new at any time.
_LIFE = 64.0

_NO_PORT = f"{COUNT} UDP ports for questions to name servers are not free (ip_local_port_range)"

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

    def _open(self, family: int) -> int:
        udp = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        try:
            udp.bind(("", 0))
        except OSError as error:
            udp.close()
            raise OSError(error.errno, _NO_PORT) from None
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


# Waits grow by half from one try to the next, up to five times the first: 1, 1.5, 2.3, 3.4
# and three times 5 s for a timeout of 1 s. Doubling (RFC 1536) would keep a name whose
# reply was lost four times waiting for as long as most pages take.
_GROWTH = 1.5
_LONGEST_WAIT = 5

#: A port, by its descriptor, and the id of a question.
Key = tuple[int, bytes]


@dataclass(slots=True, eq=False)
class Sent:
    """One try of a lookup: a question that was sent, or a wait without one."""

    lookup: Lookup
    #: The server that was asked; for a wait without a question, the last one asked.
    server: Server
    #: Port and id that the reply must have; None for a wait without a question.
    key: Key | None
    #: The question section as it left, in its random case.
    section: bytes
    #: When it was sent, and when it times out.
    at: float
    due: float
    #: Number of the try, from 0.
    rung: int
    #: Whether a reply arrived that matched except for its letter case.
    lost_case: bool = False


class Awaited:
    """Tries of lookups, one a lookup, each waiting for a datagram or only for its timeout.

    `timeout` is the first wait, in seconds. All waits of one rung (the number of the try) are
    equally long, so each rung is in the order of its timeouts by itself.
    """

    def __init__(self, timeout: float) -> None:
        self._by_key: dict[Key, Sent] = {}
        self._rungs: list[OrderedDict[str, Sent]] = [OrderedDict() for _ in range(TRIES)]
        self._waits = [timeout * min(_GROWTH**rung, _LONGEST_WAIT) for rung in range(TRIES)]
        #: The longest wait of any rung (s).
        self.longest = self._waits[-1]

    @property
    def fresh(self) -> int:
        """Number of tries that are the first of their question."""
        return len(self._rungs[0])

    @property
    def overdue(self) -> int:
        """Number of tries that follow a timeout or an error."""
        return sum(map(len, self._rungs[1:]))

    @property
    def deadline(self) -> float | None:
        """The time of the first timeout; None if nothing is awaited."""
        dues = [next(iter(rung.values())).due for rung in self._rungs if rung]
        return min(dues, default=None)

    def add(
        self,
        lookup: Lookup,
        server: Server,
        now: float,
        key: Key | None = None,
        section: bytes = b"",
    ) -> None:
        """Begin the next try of `lookup`: a question sent to `server`, or a wait without `key`."""
        rung = lookup.begin_try()
        sent = Sent(lookup, server, key, section, now, now + self._waits[rung], rung)
        if key is not None:
            self._by_key[key] = sent
        self._rungs[rung][lookup.name] = sent

    def find(self, key: Key) -> Sent | None:
        """The question that awaits a reply to `key`."""
        return self._by_key.get(key)

    def remove(self, sent: Sent) -> None:
        del self._rungs[sent.rung][sent.lookup.name]
        if sent.key is not None:
            del self._by_key[sent.key]

    def expired(self, now: float) -> Iterator[Sent]:
        """Remove the tries that have timed out, one by one."""
        for rung in self._rungs:
            while rung:
                sent = next(iter(rung.values()))
                if sent.due > now:
                    break
                self.remove(sent)
                yield sent


_LENGTH = struct.Struct("!H")
_CHUNK = 65537


class Stream:
    """A connection that sends `message` and waits for one message back.

    Once `ended` is True, `reply` is that message, or None if the connection was refused, cut or
    broken. The caller gives up at `due`, and closes it in any case.
    """

    def __init__(self, poller: Poller, server: Address, message: bytes, due: float) -> None:
        self.due = due
        self.ended = False
        self.reply: bytes | None = None
        self._poller = poller
        self._unsent = _LENGTH.pack(len(message)) + message
        self._received = bytearray()
        self._tcp = socket.socket(family_of(server), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._connect(server)

    def _connect(self, server: Address) -> None:
        try:
            self._tcp.connect(server)
        except BlockingIOError:
            pass  # the socket becomes writable once it is connected
        except OSError:
            self.ended = True
            return
        self._poller.register(self._tcp.fileno(), WRITE, self._ready)

    def _ready(self, fd: int, _events: int) -> None:
        try:
            if self._unsent:
                self._write(fd)
            else:
                self._read()
        except BlockingIOError:
            return
        except OSError:
            self.ended = True
        if self.ended:
            self._poller.unregister(fd)

    def _write(self, fd: int) -> None:
        self._unsent = self._unsent[self._tcp.send(self._unsent) :]
        if not self._unsent:
            self._poller.modify(fd, READ)

    def _read(self) -> None:
        chunk = self._tcp.recv(_CHUNK)
        self._received += chunk
        if len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) >= end:
                self.reply = bytes(self._received[_LENGTH.size : end])
        self.ended = self.reply is not None or not chunk

    def close(self) -> None:
        self._poller.unregister(self._tcp.fileno())
        self._tcp.close()


# Tries whose question is sent in random case. One address may stand for servers that keep the
# case and servers that do not; the later tries suit both.
_CASED_TRIES = 3

# Replies by TCP are rare; a zone that truncates everything must not take all descriptors.
_MAX_STREAMS = 64
_STREAM_TIME = 5

Ended = tuple[Lookup, Verdict]


class Questions:
    """Asks `servers` on behalf of lookups; the first try times out after `timeout` seconds.

    A lookup is held from `ask` until `take` returns it, in exactly one of `_awaited` and
    `_streams`.
    """

    def __init__(
        self,
        poller: Poller,
        servers: Sequence[Address],
        timeout: float,
        rng: random.Random,
    ) -> None:
        self._poller = poller
        self._timeout = timeout
        self._awaited = Awaited(timeout)
        addresses = [(str(ip_address(host)), port) for host, port in servers]
        # One second more, because the clock is read at the beginning of a turn.
        self._ports = Ports(poller, addresses, self._awaited.longest + 1)
        self._servers = Servers([a for a in addresses if self._ports.reaches(a)], timeout)
        self._random = RandomBytes(rng)
        self._streams: dict[Stream, Sent] = {}
        self._ended: list[Ended] = []
        #: Questions sent, those of them that were repeated, and packets that matched none.
        self.sent = self.resent = self.rejected = 0

    # -- sending

    def ask(self, lookup: Lookup, now: float) -> None:
        """Queue the question of `lookup`; the next `flush` sends it."""
        self._send(lookup, self._servers.first(now), now)

    def _send(self, lookup: Lookup, server: Server, now: float) -> None:
        section = lookup.section
        octets = self._random.take(3 + len(section))
        key = (self._ports.pick(server.family, octets[0]), octets[1:3])
        while self._awaited.find(key) is not None:
            key = (key[0], self._random.take(2))
        if lookup.tries < _CASED_TRIES:
            section = wire.in_random_case(section, octets[3:])
        self._ports.send(key[0], wire.encode(key[1], section), server.address)
        server.asked(now)
        self.sent += 1
        self.resent += lookup.tries > 0
        self._awaited.add(lookup, server, now, key, section)

    def flush(self) -> None:
        """Send all queued questions."""
        self._ports.flush()

    # -- receiving

    def take(self, now: float) -> list[Ended]:
        """Process replies and timeouts, and ask again as needed.

        Returns the lookups that have ended, as FOUND, ABSENT or FAILED.
        """
        self._ports.renew(now)
        for packet in self._ports.take():
            self._take_packet(packet, now)
        for stream in [s for s in self._streams if s.ended or s.due <= now]:
            self._take_stream(stream, now)
        for sent in self._awaited.expired(now):
            if sent.key is not None:
                sent.server.missed(now, lost_case=sent.lost_case)
            self._carry_out(sent, sent.lookup.timed_out(now, self._timeout), now)
        ended, self._ended = self._ended, []
        return ended

    def _take_packet(self, packet: Packet, now: float) -> None:
        port, source, data = packet
        sent = self._awaited.find((port, data[:2]))
        if sent is None or source != sent.server.address:
            self.rejected += 1
            return
        addresses = wire.plain(data, sent.section)
        if addresses:
            lookup = sent.lookup
            sent.server.heard(now, sent.at, sent.section != lookup.section)
            self._awaited.remove(sent)
            self._ended.append((lookup, lookup.found(addresses)))
        else:
            self._take_other(sent, data, now)

    def _take_other(self, sent: Sent, packet: bytes, now: float) -> None:
        server, lookup = sent.server, sent.lookup
        same_case = packet.startswith(sent.section, wire.QUESTION_AT)
        reply = _decoded(packet, sent.section)
        if reply is None:
            self.rejected += 1
            return
        if server.keeps_case and not same_case:
            self.rejected += 1
            sent.lost_case = True
            return
        server.heard(now, sent.at, same_case and sent.section != lookup.section)
        if not reply.truncated:
            self._awaited.remove(sent)
            self._carry_out(sent, lookup.answered(reply, len(self._servers)), now)
        elif len(self._streams) < _MAX_STREAMS:  # else its timeout runs on
            self._awaited.remove(sent)
            self._open_stream(sent, packet[:2], now)

    def _open_stream(self, sent: Sent, ident: bytes, now: float) -> None:
        message = wire.encode(ident, sent.section)
        due = now + _STREAM_TIME * self._timeout
        try:
            stream = Stream(self._poller, sent.server.address, message, due)
        except OSError:  # no descriptor left
            self._carry_out(sent, sent.lookup.refused("truncated", len(self._servers)), now)
        else:
            self._streams[stream] = sent

    def _take_stream(self, stream: Stream, now: float) -> None:
        sent = self._streams.pop(stream)
        lookup, reply = sent.lookup, None
        stream.close()
        if stream.reply is not None and sent.key is not None and stream.reply[:2] == sent.key[1]:
            reply = _decoded(stream.reply, sent.section)
        if reply is None or reply.truncated:
            verdict = lookup.refused("truncated", len(self._servers))
        else:
            verdict = lookup.answered(reply, len(self._servers))
        self._carry_out(sent, verdict, now)

    def _carry_out(self, sent: Sent, verdict: Verdict, now: float) -> None:
        lookup = sent.lookup
        if verdict is Verdict.ASK:
            self.ask(lookup, now)
        elif verdict is Verdict.NEXT:
            self._send_to_next(lookup, sent.server, now)
        elif verdict is Verdict.LATER:
            self._awaited.add(lookup, sent.server, now)
        else:
            self._ended.append((lookup, verdict))

    def _send_to_next(self, lookup: Lookup, last: Server, now: float) -> None:
        """Ask the server after `last`; while all of them rest, wait without a question."""
        server = self._servers.after(last, now)
        if server is None:
            self._awaited.add(lookup, last, now)
        else:
            self._send(lookup, server, now)

    # -- state

    @property
    def fresh(self) -> int:
        """Number of lookups in their first wait or on TCP."""
        return self._awaited.fresh + len(self._streams)

    @property
    def overdue(self) -> int:
        """Number of lookups that have timed out at least once."""
        return self._awaited.overdue

    def any_awake(self, now: float) -> bool:
        """Whether some server is not resting."""
        return self._servers.any_awake(now)

    @property
    def deadline(self) -> float | None:
        """The time at which to call `take`: 0 for at once, None for never."""
        if self._ports.waiting or any(stream.ended for stream in self._streams):
            return 0.0
        dues = [stream.due for stream in self._streams]
        if (due := self._awaited.deadline) is not None:
            dues.append(due)
        return min(dues, default=None)

    @property
    def ports(self) -> int:
        """Number of open ports."""
        return len(self._ports)

    def servers(self, now: float) -> list[dict[str, object]]:
        """Counts and state of each server."""
        return self._servers.stats(now)

    def close(self) -> None:
        """Close all sockets; open questions get no result."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._ports.close()


def _decoded(packet: bytes, section: bytes) -> wire.Reply | None:
    """The reply in `packet`; None if it is broken or not a reply to the question `section`."""
    try:
        return wire.decode(packet, section)
    except wire.WireError:
        return None
