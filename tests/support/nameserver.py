"""A name server on loopback that can misbehave.

It has a UDP and a TCP socket at the same port and answers from `zone`. A script is a list of
actions for successive datagrams that ask for a name; the last action is repeated. With a poller
the test's loop drives the server, otherwise `step` does. `PlainServer` answers without dnspython,
for tests with many thousand questions.
"""

import select
import socket
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from random import Random

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from larbinpy.loop.poller import READ, WRITE, Poller
from tests.support.ports import free_port

Action = Callable[["NameServer", dns.message.Message], Iterable[bytes]]

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"
FALSE_ADDRESS = "203.0.113.66"
_GARBAGE = bytes(range(7, 99))


class NameServer:
    """Answers from `zone`: name -> addresses, or an alias that ends with a dot.

    A name without an entry does not exist; one with an empty entry has no records.
    """

    def __init__(
        self, zone: dict[str, list[str]] | None = None, poller: Poller | None = None
    ) -> None:
        self.zone = zone or {}
        #: (name, type) of each question, in order: by datagram, and by TCP.
        self.asked: list[tuple[str, str]] = []
        self.asked_by_tcp: list[tuple[str, str]] = []
        #: Datagrams, their sources and their IDs.
        self.packets: list[bytes] = []
        self.sources: list[tuple[str, int]] = []
        self.ids: list[int] = []
        #: Whether it ignores everything, like a machine that is off.
        self.down = False
        self.drop_share = 0.0
        #: "answer", "silent", "cut", "garbage", "drip" (a byte at a time), or an invalid
        #: answer: "wrong_id", "wrong_question", "truncate".
        self.tcp_mode = "answer"
        #: Letter case of the question in replies: "kept", "lower", or "mixed" (one or the other
        #: at random, as from several machines behind one address).
        self.case = "kept"
        #: Whether a reply has the alias and the addresses of its target, or only the alias.
        self.follows_aliases = True
        self._scripts: dict[str, list[Action]] = {}
        self._late: list[tuple[bytes, tuple[str, int]]] = []
        self._random = Random(1)
        self._poller = poller
        self._udp, self._tcp = _same_port()
        self._elsewhere = _udp()
        self._connections: dict[int, tuple[socket.socket, bytearray]] = {}
        self.address: tuple[str, int] = self._udp.getsockname()
        self._watch(self._udp, self._on_udp)
        self._watch(self._tcp, self._on_tcp)

    def script(self, name: str, *actions: Action) -> None:
        self._scripts[name] = list(actions)

    def release(self) -> None:
        """Send the answers that `late` has stored."""
        for packet, source in self._late:
            self._udp.sendto(packet, source)
        self._late.clear()

    def refuse_tcp(self) -> None:
        self._unwatch(self._tcp)

    def close(self) -> None:
        for tcp, _ in list(self._connections.values()):
            self._unwatch(tcp)
        for sock in (self._udp, self._tcp, self._elsewhere):
            self._unwatch(sock)

    def step(self) -> None:
        """Serve all pending messages; for a server without a poller."""
        connections = [(tcp, self._on_connection) for tcp, _ in self._connections.values()]
        for sock, handle in [(self._udp, self._on_udp), (self._tcp, self._on_tcp), *connections]:
            if sock.fileno() >= 0 and select.select([sock], [], [], 0)[0]:
                handle(sock.fileno(), READ)

    def _watch(self, sock: socket.socket, handle: Callable[[int, int], None]) -> None:
        if self._poller is not None:
            self._poller.register(sock.fileno(), READ, handle)

    def _unwatch(self, sock: socket.socket) -> None:
        if self._poller is not None and sock.fileno() >= 0:
            self._poller.unregister(sock.fileno())
        self._connections.pop(sock.fileno(), None)
        sock.close()

    def _on_udp(self, _fd: int, _events: int) -> None:
        while True:
            try:
                packet, source = self._udp.recvfrom(4096)
            except BlockingIOError:
                return
            self.packets.append(packet)
            self.sources.append(source)
            self.ids.append(int.from_bytes(packet[:2], "big"))
            for reply in self._serve(packet):
                self._udp.sendto(reply, source)

    def _serve(self, packet: bytes) -> Iterable[bytes]:
        query = dns.message.from_wire(packet)
        name, kind = _asked(query)
        self.asked.append((name, kind))
        return () if self._is_lost() else map(self._spelled, self._action(name)(self, query))

    def _is_lost(self) -> bool:
        return self.down or self._random.random() < self.drop_share

    def _spelled(self, reply: bytes) -> bytes:
        if self.case == "kept" or (self.case == "mixed" and self._random.random() < 0.5):
            return reply
        return _with_question(reply, bytes.lower)

    def _action(self, name: str) -> Action:
        actions = self._scripts.get(name, [answer])
        return actions.pop(0) if len(actions) > 1 else actions[0]

    def _on_tcp(self, _fd: int, _events: int) -> None:
        tcp, _ = self._tcp.accept()
        tcp.setblocking(False)
        self._connections[tcp.fileno()] = (tcp, bytearray())
        self._watch(tcp, self._on_connection)

    def _on_connection(self, fd: int, _events: int) -> None:
        tcp, received = self._connections[fd]
        chunk = tcp.recv(65536)
        received += chunk
        if not chunk or self.tcp_mode == "cut":
            self._unwatch(tcp)
        elif len(received) > 2 and self.tcp_mode != "silent":
            query = dns.message.from_wire(bytes(received[2:]))
            self.asked_by_tcp.append(_asked(query))
            reply = self._by_tcp(query)
            packet = struct.pack("!H", len(reply)) + reply
            if self.tcp_mode == "drip":
                self._drip(tcp, bytearray(packet))
            else:
                tcp.setblocking(True)
                tcp.sendall(packet)
                tcp.setblocking(False)

    def _by_tcp(self, query: dns.message.Message) -> bytes:
        if self.tcp_mode == "garbage":
            return _GARBAGE
        (reply,) = _INVALID.get(self.tcp_mode, answer)(self, query)
        return self._spelled(reply)

    def _drip(self, tcp: socket.socket, unsent: bytearray) -> None:
        """Send a byte in each turn of the poll loop."""
        assert self._poller is not None
        # Otherwise the kernel would collect several bytes.
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send_one(_fd: int, _events: int) -> None:
            tcp.send(unsent[:1])
            del unsent[:1]
            if not unsent:
                self._watch(tcp, self._on_connection)

        self._poller.register(tcp.fileno(), WRITE, send_one)

    def reply(self, query: dns.message.Message) -> dns.message.Message:
        """The reply by the zone."""
        reply = dns.message.make_response(query, recursion_available=True)
        name, kind = _asked(query)
        for _ in range(30):
            values = self.zone.get(name, [])
            if not values or not values[0].endswith("."):
                break
            _add(reply, name, "CNAME", values)
            if not self.follows_aliases:
                return reply
            name = values[0][:-1]
        else:
            return reply
        fits = [v for v in self.zone.get(name, []) if (":" in v) == (kind == "AAAA")]
        if fits:
            _add(reply, name, kind, fits)
        else:
            reply.authority.append(dns.rrset.from_text("test.", 300, "IN", "SOA", SOA))
        if name not in self.zone:
            reply.set_rcode(dns.rcode.NXDOMAIN)
        return reply

    def keep(self, packet: bytes) -> None:
        self._late.append((packet, self.sources[-1]))

    def send_from_elsewhere(self, packet: bytes) -> None:
        self._elsewhere.sendto(packet, self.sources[-1])

    def send(self, packet: bytes, port: int) -> None:
        """Send an unsolicited packet from the server's address."""
        self._udp.sendto(packet, ("127.0.0.1", port))


class PlainServer(NameServer):
    """Answers for all names, without scripts, in some microseconds.

    The address of a name depends on its letters (`address_of`), so tests notice a false one.
    """

    def _serve(self, packet: bytes) -> Iterable[bytes]:
        return () if self._is_lost() else [self._spelled(plain_answer(packet))]

    def answer_all(self) -> None:
        """Answer all packets received while it was `down`."""
        for packet, source in zip(self.packets, self.sources, strict=True):
            self._udp.sendto(plain_answer(packet), source)

    def forget(self) -> None:
        """Discard all questions so far."""
        for kept in (self.packets, self.sources, self.ids):
            kept.clear()


def plain_answer(packet: bytes, address: str | None = None) -> bytes:
    """A reply to the A question `packet`, with the right address or with `address`."""
    section = packet[12:]
    packed = _address(section[:-4]) if address is None else socket.inet_aton(address)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + packed
    return packet[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + section + record


def address_of(name: str) -> str:
    """The address of `name` at a `PlainServer`."""
    labels = (bytes((len(label),)) + label.encode() for label in name.split("."))
    return socket.inet_ntoa(_address(b"".join(labels) + b"\0"))


def _address(name: bytes) -> bytes:
    return b"\x0a" + struct.pack("!I", zlib.crc32(name.lower()))[1:]


def _with_question(packet: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """`packet` with the name in its question changed, without a change of its length."""
    end = packet.find(b"\0", 12)
    return packet[:12] + change(packet[12:end]) + packet[end:]


def _asked(query: dns.message.Message) -> tuple[str, str]:
    question = query.question[0]
    name = question.name.to_text(omit_final_dot=True).lower()
    return name, dns.rdatatype.to_text(question.rdtype)


def _add(reply: dns.message.Message, name: str, kind: str, values: list[str]) -> None:
    """Add one record set for each value, because dnspython shuffles within a set."""
    reply.answer += [dns.rrset.from_text(name + ".", 300, "IN", kind, value) for value in values]


def _udp(port: int = 0) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    try:
        udp.bind(("127.0.0.1", port))
    except OSError:
        udp.close()
        raise
    return udp


def _same_port() -> tuple[socket.socket, socket.socket]:
    port = free_port()
    tcp = socket.create_server(("127.0.0.1", port), backlog=100)
    tcp.setblocking(False)
    return _udp(port), tcp


# -- actions


def answer(server: NameServer, query: dns.message.Message) -> list[bytes]:
    return [server.reply(query).to_wire()]


def drop(_server: NameServer, _query: dns.message.Message) -> list[bytes]:
    return []


def twice(server: NameServer, query: dns.message.Message) -> list[bytes]:
    return answer(server, query) * 2


def late(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """Store the answer until `release`."""
    server.keep(server.reply(query).to_wire())
    return []


def truncate(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    reply = dns.message.make_response(query)
    reply.flags |= dns.flags.TC
    return [reply.to_wire()]


def truncated_garbage(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """TC set, and counts of records that are missing."""
    packet = bytearray(truncate(server, query)[0])
    packet[6:8] = b"\x00\x09"
    return [bytes(packet) + b"\xc0\xff\xc0"]


def wrong_id(server: NameServer, query: dns.message.Message) -> list[bytes]:
    packet = answer(server, query)[0]
    return [bytes((packet[0] ^ 0x55, packet[1] ^ 0xAA)) + packet[2:]]


def wrong_question(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right ID with an answer about another name."""
    other = dns.message.make_query("other.test.", "A", id=query.id)
    reply = dns.message.make_response(other)
    _add(reply, "other.test", "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def wrong_type(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right ID and name with an answer to another question, for MX."""
    name = query.question[0].name
    reply = dns.message.make_response(dns.message.make_query(name, "MX", id=query.id))
    _add(reply, name.to_text(omit_final_dot=True), "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def wrong_source(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A valid answer with a false address, from another port of this machine."""
    server.send_from_elsewhere(false_answer(server, query)[0])
    return []


def false_answer(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A valid answer with a false address."""
    reply = dns.message.make_response(query)
    _add(reply, query.question[0].name.to_text(omit_final_dot=True), "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def respelled(action: Action, change: Callable[[bytes], bytes]) -> Action:
    """`action` with the name in the question of its replies changed."""

    def respell(server: NameServer, query: dns.message.Message) -> list[bytes]:
        return [_with_question(packet, change) for packet in action(server, query)]

    return respell


def with_records_of(name: str) -> Action:
    """The right answer, with a false address of another name in each section."""

    def add(server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = server.reply(query)
        for section in (reply.answer, reply.authority, reply.additional):
            section.append(dns.rrset.from_text(name + ".", 300, "IN", "A", FALSE_ADDRESS))
        return [reply.to_wire()]

    return add


def alias_and_false_glue(target: str) -> Action:
    """An alias, with a false address of its target in the other sections."""

    def add(_server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = dns.message.make_response(query)
        name = query.question[0].name.to_text(omit_final_dot=True)
        _add(reply, name, "CNAME", [target + "."])
        for section in (reply.authority, reply.additional):
            section.append(dns.rrset.from_text(target + ".", 300, "IN", "A", FALSE_ADDRESS))
        return [reply.to_wire()]

    return add


def garbage(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right ID and question, followed by garbage."""
    good = dns.message.make_response(query).to_wire()
    return [good[:2] + b"\x81\x80\x00\x01\x00\x03\x00\x00\x00\x00" + good[12:] + _GARBAGE]


def echo(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """Send the question back."""
    return [query.to_wire()]


def error(rcode: dns.rcode.Rcode) -> Action:
    def fail(_server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = dns.message.make_response(query)
        reply.set_rcode(rcode)
        return [reply.to_wire()]

    return fail


def bare_formerr(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A header without a question, as from a server that could not read it."""
    return [struct.pack("!HHHHHH", query.id, 0x8181, 0, 0, 0, 0)]


def all_of(*actions: Action) -> Action:
    """The replies of all `actions` in order, for one question."""

    def run(server: NameServer, query: dns.message.Message) -> Iterator[bytes]:
        for action in actions:
            yield from action(server, query)

    return run


servfail = error(dns.rcode.SERVFAIL)
refused = error(dns.rcode.REFUSED)
formerr = error(dns.rcode.FORMERR)
notimp = error(dns.rcode.NOTIMP)
nxdomain = error(dns.rcode.NXDOMAIN)

_INVALID: dict[str, Action] = {
    "wrong_id": wrong_id,
    "wrong_question": wrong_question,
    "truncate": truncate,
}
