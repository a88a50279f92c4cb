"""A name server on loopback that misbehaves as told.

It has one UDP and one TCP socket of the same port and answers from `zone`; a script is a
list of actions for the successive datagrams that ask for a name, and the last action goes
on for ever. With a poller it is driven by the test's own loop, without one by `step`.
"""

import select
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from random import Random

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from larbinpy.poller import READ, Poller

Action = Callable[["NameServer", dns.message.Message], Iterable[bytes]]

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"
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
        #: Where the datagrams came from, and under which id.
        self.sources: list[tuple[str, int]] = []
        self.ids: list[int] = []
        #: Silent as a machine that is off.
        self.down = False
        self.drop_share = 0.0
        #: "answer", "silent", "cut" or "garbage".
        self.tcp_mode = "answer"
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
            query = dns.message.from_wire(packet)
            name, kind = _asked(query)
            self.asked.append((name, kind))
            self.sources.append(source)
            self.ids.append(query.id)
            if self.down or self._random.random() < self.drop_share:
                continue
            for reply in self._action(name)(self, query):
                self._udp.sendto(reply, source)

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
            reply = _GARBAGE if self.tcp_mode == "garbage" else self.reply(query).to_wire()
            tcp.setblocking(True)
            tcp.sendall(struct.pack("!H", len(reply)) + reply)
            tcp.setblocking(False)

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
    udp.bind(("127.0.0.1", port))
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
    reply.answer.append(dns.rrset.from_text("other.test.", 300, "IN", "A", "203.0.113.66"))
    return [reply.to_wire()]


def wrong_source(server: NameServer, query: dns.message.Message) -> list[bytes]:
    """A perfect answer with a false address, from another port of this machine."""
    reply = dns.message.make_response(query)
    owner = query.question[0].name.to_text()
    reply.answer.append(dns.rrset.from_text(owner, 300, "IN", "A", "203.0.113.66"))
    server.send_from_elsewhere(reply.to_wire())
    return []


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
