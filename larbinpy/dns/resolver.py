"""The resolver: names to addresses in the one poll loop, without waiting for any.

It asks recursive servers by UDP (RFC 1035), many names at a time and each name once,
however many want it. An answer counts only when it comes from the server that was asked,
to the port the question left by, with its id and its question (RFC 5452); anything else
is counted and passed over, and the question stays open until its own time is up. Then it
goes to the next server under a new id, each wait longer than the last.
"""

import random
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from larbinpy.dns import wire
from larbinpy.dns.cache import Known, NameCache
from larbinpy.dns.lookup import TRIES, Answer, Lookup, Verdict
from larbinpy.dns.ports import Packet, Ports
from larbinpy.dns.servers import Address, Server, Servers
from larbinpy.dns.stream import Stream
from larbinpy.poller import Poller

_PORTS = 8

# Waits grow by half from one try to the next, up to five times the first: 1, 1.5, 2.3, 3.4
# and three times 5 s for a time-out of 1 s. Doubling (RFC 1536) would keep a name whose
# answer was lost four times waiting for as long as most pages take.
_GROWTH = 1.5
_LONGEST_WAIT = 5

# Questions sent in one step: about 2 ms of work, so that other stages get their turn.
_BATCH = 256

# Answers by TCP are rare; a zone that truncates everything must not take all descriptors.
_MAX_STREAMS = 64
_STREAM_TIME = 5

_LOOPBACK = ("127.0.0.1", "::1")


class Resolver:
    """Asks `servers` for names, at most `in_flight` at a time, `send_queue` more waiting.

    `timeout` is the first wait for an answer, in seconds. Names of `hosts`, literal
    addresses and names that no server could know are answered without asking.

    A name is in `_lookups` from the question to its end, and meanwhile in just one of:
    the queue, one of the rungs (waiting for a datagram, or only for its time), a stream.
    """

    def __init__(
        self,
        poller: Poller,
        servers: Sequence[Address],
        cache: NameCache,
        hosts: Mapping[str, tuple[str, ...]],
        *,
        in_flight: int,
        send_queue: int,
        timeout: float,
        rng: random.Random | None = None,
    ) -> None:
        self._poller = poller
        addresses = [(str(ip_address(host)), port) for host, port in servers]
        self._ports = Ports(poller, addresses, _PORTS)
        self._servers = Servers([a for a in addresses if self._ports.reaches(a)], timeout)
        self._cache = cache
        self._hosts = hosts
        self._max_in_flight = in_flight
        self._max_queued = send_queue
        self._timeout = timeout
        self._rng = rng or random.SystemRandom()
        self._lookups: dict[str, Lookup] = {}
        self._queue: deque[Lookup] = deque()
        self._awaited: dict[tuple[int, int], Lookup] = {}
        # One rung for each try. All waits of a rung are equally long, so that each is in
        # the order of its dues by itself.
        self._rungs: list[OrderedDict[str, Lookup]] = [OrderedDict() for _ in range(TRIES)]
        self._waits = [timeout * min(_GROWTH**rung, _LONGEST_WAIT) for rung in range(TRIES)]
        self._streams: dict[Stream, tuple[Lookup, int]] = {}
        self._answers: list[Answer] = []
        self._now = 0.0
        self._asked = self._cached = self._answered = self._failed = 0
        self._sent = self._resent = self._rejected = 0

    def __repr__(self) -> str:
        return f"<Resolver {self.in_flight} in flight, {self.queued} queued>"

    # -- asking

    @property
    def queued(self) -> int:
        """Names that wait for their first question."""
        return len(self._queue)

    @property
    def in_flight(self) -> int:
        """Names whose first question has been sent."""
        return len(self._lookups) - len(self._queue)

    @property
    def room(self) -> int:
        """How many more names may be asked for now."""
        return self._max_queued - len(self._queue)

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        """The answer where it is at hand; otherwise None, and `step` will return it.

        `refresh` passes over the cache. Requires `room`. A name that is asked for again
        meanwhile is answered once, or once for each spelling (case, final dot).
        """
        self._asked += 1
        known = self.at_hand(name)
        if known is not None:
            return known
        plain = wire.host_name(name)
        if plain is None:
            return Answer(name, (), "badname")
        cached = None if refresh else self._cache.get(plain, now)
        if cached is not None:
            self._cached += 1
            return Answer(name, *cached)
        self._enqueue(plain, name, now)
        return None

    def at_hand(self, name: str) -> Answer | None:
        """The answer for what needs no server: a literal address, the hosts file, localhost."""
        if name[-1:].isdigit() or ":" in name:
            literal = _literal(name)
            if literal is not None:
                return Answer(name, (literal,), None)
        plain = name.lower().removesuffix(".")
        if plain in self._hosts:
            return Answer(name, self._hosts[plain], None)
        # RFC 6761 section 6.3: never to be asked for, always the loopback address.
        if plain == "localhost" or plain.endswith(".localhost"):
            return Answer(name, _LOOPBACK, None)
        return None

    def _enqueue(self, name: str, spelling: str, now: float) -> None:
        lookup = self._lookups.get(name)
        if lookup is not None:
            if spelling not in lookup.spellings:
                lookup.spellings.append(spelling)
            return
        if self.room <= 0:
            raise RuntimeError("the resolver was asked for more than it has room for")
        lookup = self._lookups[name] = Lookup(name, spelling, now)
        self._queue.append(lookup)

    # -- the turn

    def step(self, now: float) -> list[Answer]:
        """Take in what came, send what is due; return the answers that are complete."""
        self._now = now
        for packet in self._ports.take():
            self._take_packet(packet, now)
        for stream in [s for s in self._streams if s.ended or s.due <= now]:
            self._take_stream(stream, now)
        for rung in self._rungs:
            self._expire(rung, now)
        for _ in range(min(_BATCH, len(self._queue), self._max_in_flight - self.in_flight)):
            self._send(self._queue.popleft(), self._servers.first(now), now)
        answers, self._answers = self._answers, []
        return answers

    @property
    def deadline(self) -> float | None:
        """When the next step is due; None when nothing is under way."""
        if self._ports.waiting or any(stream.ended for stream in self._streams):
            return 0.0
        if self._queue and self.in_flight < self._max_in_flight:
            return 0.0
        dues = [next(iter(rung.values())).due for rung in self._rungs if rung]
        dues += [stream.due for stream in self._streams]
        return min(dues, default=None)

    def _send(self, lookup: Lookup, server: Server, now: float) -> None:
        port = self._ports.pick(server.address, self._rng)
        ident = self._rng.getrandbits(16)
        while (port, ident) in self._awaited:
            ident = self._rng.getrandbits(16)
        self._ports.send(port, wire.encode(ident, lookup.section), server.address)
        server.asked(now)
        self._sent += 1
        self._resent += lookup.tries > 0
        lookup.server = server
        lookup.key = (port, ident)
        self._awaited[lookup.key] = lookup
        self._wait(lookup, now)

    def _wait(self, lookup: Lookup, now: float) -> None:
        """Begin the next try's wait, whether or not a question went out for it."""
        lookup.due = now + self._waits[lookup.tries]
        self._rungs[lookup.tries][lookup.name] = lookup
        lookup.tries += 1

    def _stop_waiting(self, lookup: Lookup) -> None:
        self._rungs[lookup.tries - 1].pop(lookup.name)
        if lookup.key is not None:
            self._awaited.pop(lookup.key)
            lookup.key = None

    def _expire(self, rung: OrderedDict[str, Lookup], now: float) -> None:
        while rung:
            lookup = next(iter(rung.values()))
            if lookup.due > now:
                return
            if lookup.key is not None and lookup.server is not None:
                lookup.server.missed(now)
            self._stop_waiting(lookup)
            self._carry_out(lookup, lookup.timed_out(now, self._timeout), now)

    # -- what came in

    def _take_packet(self, packet: Packet, now: float) -> None:
        ident = int.from_bytes(packet.data[:2], "big")
        lookup = self._awaited.get((packet.port, ident))
        reply = None
        if lookup is not None and lookup.server is not None:
            if packet.source == lookup.server.address:
                reply = _read(packet.data, ident, lookup.section)
            if reply is not None:
                lookup.server.heard(now)
                self._take_reply(lookup, reply, ident, now)
        if reply is None:
            self._rejected += 1

    def _take_reply(self, lookup: Lookup, reply: wire.Reply, ident: int, now: float) -> None:
        if reply.truncated and len(self._streams) >= _MAX_STREAMS:
            return  # its time runs on; the next try may find room
        self._stop_waiting(lookup)
        if reply.truncated:
            self._open_stream(lookup, ident, now)
        else:
            self._carry_out(lookup, lookup.answered(reply, len(self._servers)), now)

    def _open_stream(self, lookup: Lookup, ident: int, now: float) -> None:
        assert lookup.server is not None
        message = wire.encode(ident, lookup.section)
        due = now + _STREAM_TIME * self._timeout
        try:
            stream = Stream(self._poller, lookup.server.address, message, due)
        except OSError:  # no descriptor left
            self._carry_out(lookup, lookup.refused("truncated", len(self._servers)), now)
        else:
            self._streams[stream] = (lookup, ident)

    def _take_stream(self, stream: Stream, now: float) -> None:
        lookup, ident = self._streams.pop(stream)
        stream.close()
        reply = None if stream.reply is None else _read(stream.reply, ident, lookup.section)
        if reply is None or reply.truncated:
            verdict = lookup.refused("truncated", len(self._servers))
        else:
            verdict = lookup.answered(reply, len(self._servers))
        self._carry_out(lookup, verdict, now)

    # -- what follows from it

    def _carry_out(self, lookup: Lookup, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.ASK:
            self._send(lookup, self._servers.first(now), now)
        elif verdict is Verdict.NEXT:
            self._send_to_next(lookup, now)
        elif verdict is Verdict.LATER:
            self._wait(lookup, now)
        else:
            self._finish(lookup, self._remember(lookup, verdict, now))

    def _send_to_next(self, lookup: Lookup, now: float) -> None:
        """While every server rests the wait goes by without a question."""
        assert lookup.server is not None
        server = self._servers.after(lookup.server, now)
        if server is None:
            self._wait(lookup, now)
        else:
            self._send(lookup, server, now)

    def _remember(self, lookup: Lookup, verdict: Verdict, now: float) -> Known:
        if verdict is Verdict.FOUND:
            self._cache.put(lookup.name, lookup.addresses, now)
            return Known(lookup.addresses, None)
        reason = lookup.reason or verdict.value
        if verdict is Verdict.ABSENT:
            self._cache.put_absence(lookup.name, reason, lookup.negative_ttl, now)
            return Known((), reason)
        return self._cache.put_failure(lookup.name, reason, now)

    def _finish(self, lookup: Lookup, known: Known) -> None:
        del self._lookups[lookup.name]
        self._answered += known.reason is None
        self._failed += known.reason is not None
        self._answers += [Answer(spelling, *known) for spelling in lookup.spellings]

    # -- around it

    def stats(self) -> dict[str, Any]:
        """Counts since the start, and the state now.

        `asked` names, of which `cached` were known; `answered` and `failed` look-ups;
        `sent` questions, of which `resent` repeated one; `rejected` packets.
        """
        return {
            "asked": self._asked,
            "sent": self._sent,
            "answered": self._answered,
            "cached": self._cached,
            "failed": self._failed,
            "resent": self._resent,
            "rejected": self._rejected,
            "in_flight": self.in_flight,
            "queued": self.queued,
            "cache_size": len(self._cache),
            "servers": self._servers.stats(self._now),
        }

    def close(self) -> None:
        """Close all sockets; what was under way is not answered any more."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._ports.close()


def _read(packet: bytes, ident: int, section: bytes) -> wire.Reply | None:
    """The reply in `packet`; None where it is not one to this question or is broken."""
    if not wire.matches(packet, ident, section):
        return None
    try:
        return wire.decode(packet)
    except wire.WireError:
        return None


def _literal(text: str) -> str | None:
    """The address that `text` spells, IPv6 with or without brackets."""
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1]
    try:
        return str(ip_address(text))
    except ValueError:
        return None
