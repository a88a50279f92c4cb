"""A name server on loopback that misbehaves as told.

It has one UDP and one TCP socket of the same port and answers from `zone`; a script is a
list of actions for the successive datagrams that ask for a name, and the last action goes
on for ever. With a poller it is driven by the test's own loop, without one by `step`.
`PlainServer` answers without dnspython, for tests that ask many thousand questions.
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

Action = Callable[["NameServer", dns.message.Message], Iterable[bytes]]

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"
FALSE_ADDRESS = "203.0.113.66"
_GARBAGE = bytes(range(7, 99))


class NameServer:
    """Addresses are text in `zone[name]`, aliases a name that ends with a dot.

    A name without an entry does not exist; one with an empty entry has no records.
    """

    def __init__(
        self, zone: dict[str, list[str]] | None = None, poller: Poller | None = None
    ) -> None:
        self.zone = zone or {}
        #: (name, type) of each datagram and each TCP message that asked, in their order.
        self.asked: list[tuple[str, str]] = []
        self.asked_by_tcp: list[tuple[str, str]] = []
        #: The datagrams, where they came from, and under which id.
        self.packets: list[bytes] = []
        self.sources: list[tuple[str, int]] = []
        self.ids: list[int] = []
        #: Silent as a machine that is off.
        self.down = False
        self.drop_share = 0.0
        #: "answer", "silent", "cut", "garbage", "drip" (a byte at a time), or one of the
        #: answers that are none: "wrong_id", "wrong_question", "truncate".
        self.tcp_mode = "answer"
        #: How the question comes back: "kept" as it was asked, "lower" case, or "mixed",
        #: now one and now the other, as from several machines behind one address.
        self.case = "kept"
        #: Aliases and their target's addresses in one answer, or one alias at a time.
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
        """Send the answers that `late` kept back."""
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
        """Serve what has come in; for a server without a poller."""
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
        (reply,) = _NO_ANSWERS.get(self.tcp_mode, answer)(self, query)
        return self._spelled(reply)

    def _drip(self, tcp: socket.socket, unsent: bytearray) -> None:
        """A byte in each turn of the poll loop."""
        assert self._poller is not None
        # Or the kernel would wait for more, to send it together.
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send_one(_fd: int, _events: int) -> None:
            tcp.send(unsent[:1])
            del unsent[:1]
            if not unsent:
                self._watch(tcp, self._on_connection)

        self._poller.register(tcp.fileno(), WRITE, send_one)

    def reply(self, query: dns.message.Message) -> dns.message.Message:
        """What the zone has to say."""
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
        """Send something that nobody asked for, from the address that answers come from."""
        self._udp.sendto(packet, ("127.0.0.1", port))


class PlainServer(NameServer):
    """Knows all names, and has no scripts; it takes some microseconds for an answer.

    A name's address follows from its spelling (`address_of`), so that a false one shows.
    """

    def _serve(self, packet: bytes) -> Iterable[bytes]:
        return () if self._is_lost() else [self._spelled(plain_answer(packet))]

    def answer_all(self) -> None:
        """What it should have answered while it was `down`."""
        for packet, source in zip(self.packets, self.sources, strict=True):
            self._udp.sendto(plain_answer(packet), source)

    def forget(self) -> None:
        """All questions so far."""
        for kept in (self.packets, self.sources, self.ids):
            kept.clear()


def plain_answer(packet: bytes, address: str | None = None) -> bytes:
    """An answer to the A question `packet`: the true one, or with this `address`."""
    section = packet[12:]
    packed = _address(section[:-4]) if address is None else socket.inet_aton(address)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + packed
    return packet[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + section + record


def address_of(name: str) -> str:
    """The address that a `PlainServer` has for `name`."""
    labels = (bytes((len(label),)) + label.encode() for label in name.split("."))
    return socket.inet_ntoa(_address(b"".join(labels) + b"\0"))


def _address(name: bytes) -> bytes:
    return b"\x0a" + struct.pack("!I", zlib.crc32(name.lower()))[1:]


def _with_question(packet: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """`packet` with a change to the name in its question, which stays as long."""
    end = packet.find(b"\0", 12)
    return packet[:12] + change(packet[12:end]) + packet[end:]


def _asked(query: dns.message.Message) -> tuple[str, str]:
    question = query.question[0]
    name = question.name.to_text(omit_final_dot=True).lower()
    return name, dns.rdatatype.to_text(question.rdtype)


def _add(reply: dns.message.Message, name: str, kind: str, values: list[str]) -> None:
    """One record set for each value: dnspython shuffles what is within one."""
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
    while True:
        tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(100)
        try:
            return _udp(tcp.getsockname()[1]), tcp
        except OSError:
            tcp.close()


# -- actions


def answer(server: NameServer, query: dns.message.Message) -> list[bytes]:
    return [server.reply(query).to_wire()]


def drop(_server: NameServer, _query: dns.message.Message) -> list[bytes]:
    return []


def twice(server: NameServer, query: dns.message.Message) -> list[bytes]:
    return answer(server, query) * 2


def late(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """Kept back until `release`."""
    server.keep(server.reply(query).to_wire())
    return []


def truncate(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    reply = dns.message.make_response(query)
    reply.flags |= dns.flags.TC
    return [reply.to_wire()]


def truncated_garbage(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """TC set, and a body that counts records which are not there."""
    packet = bytearray(truncate(server, query)[0])
    packet[6:8] = b"\x00\x09"
    return [bytes(packet) + b"\xc0\xff\xc0"]


def wrong_id(server: NameServer, query: dns.message.Message) -> list[bytes]:
    packet = answer(server, query)[0]
    return [bytes((packet[0] ^ 0x55, packet[1] ^ 0xAA)) + packet[2:]]


def wrong_question(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right id, and an answer about another name."""
    other = dns.message.make_query("other.test.", "A", id=query.id)
    reply = dns.message.make_response(other)
    _add(reply, "other.test", "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def wrong_type(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right id and name, and an answer to the question for its mail server."""
    name = query.question[0].name
    reply = dns.message.make_response(dns.message.make_query(name, "MX", id=query.id))
    _add(reply, name.to_text(omit_final_dot=True), "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def wrong_source(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A perfect answer with a false address, from another port of this machine."""
    server.send_from_elsewhere(false_answer(server, query)[0])
    return []


def false_answer(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """Perfect but for the address."""
    reply = dns.message.make_response(query)
    _add(reply, query.question[0].name.to_text(omit_final_dot=True), "A", [FALSE_ADDRESS])
    return [reply.to_wire()]


def respelled(action: Action, change: Callable[[bytes], bytes]) -> Action:
    """What `action` sends, with a change to the name in its question."""

    def respell(server: NameServer, query: dns.message.Message) -> list[bytes]:
        return [_with_question(packet, change) for packet in action(server, query)]

    return respell


def with_records_of(name: str) -> Action:
    """The true answer, and in each of its sections a false address of another name."""

    def add(server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = server.reply(query)
        for section in (reply.answer, reply.authority, reply.additional):
            section.append(dns.rrset.from_text(name + ".", 300, "IN", "A", FALSE_ADDRESS))
        return [reply.to_wire()]

    return add


def alias_and_false_glue(target: str) -> Action:
    """An alias, and the false address of its target where no answer is: beside it."""

    def add(_server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = dns.message.make_response(query)
        name = query.question[0].name.to_text(omit_final_dot=True)
        _add(reply, name, "CNAME", [target + "."])
        for section in (reply.authority, reply.additional):
            section.append(dns.rrset.from_text(target + ".", 300, "IN", "A", FALSE_ADDRESS))
        return [reply.to_wire()]

    return add


def garbage(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The right id and question, and then nonsense."""
    good = dns.message.make_response(query).to_wire()
    return [good[:2] + b"\x81\x80\x00\x01\x00\x03\x00\x00\x00\x00" + good[12:] + _GARBAGE]


def echo(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """The question sent back."""
    return [query.to_wire()]


def error(rcode: dns.rcode.Rcode) -> Action:
    def fail(_server: NameServer, query: dns.message.Message) -> list[bytes]:
        reply = dns.message.make_response(query)
        reply.set_rcode(rcode)
        return [reply.to_wire()]

    return fail


def bare_formerr(_server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A header and no question, as from a server that could not read it."""
    return [struct.pack("!HHHHHH", query.id, 0x8181, 0, 0, 0, 0)]


def all_of(*actions: Action) -> Action:
    """What all of them send, in their order, for one question."""

    def run(server: NameServer, query: dns.message.Message) -> Iterator[bytes]:
        for action in actions:
            yield from action(server, query)

    return run


servfail = error(dns.rcode.SERVFAIL)
refused = error(dns.rcode.REFUSED)
formerr = error(dns.rcode.FORMERR)
notimp = error(dns.rcode.NOTIMP)
nxdomain = error(dns.rcode.NXDOMAIN)

_NO_ANSWERS: dict[str, Action] = {
    "wrong_id": wrong_id,
    "wrong_question": wrong_question,
    "truncate": truncate,
}
