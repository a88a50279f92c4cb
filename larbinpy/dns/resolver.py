"""The resolver: names to addresses in the one poll loop, without waiting for any.

It asks recursive servers by UDP (RFC 1035), many names at a time and each name once,
however many want it. An answer counts only when it comes from the server that was asked,
to the port the question left by, with its id and its question (RFC 5452), in the very case
in which it left where the server is known to keep that. Anything else is counted and passed
over, and the question stays open until its own time is up. Then it goes to the next server
under a new id, each wait longer than the last.
"""

import random
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from larbinpy.dns import wire
from larbinpy.dns.awaited import Awaited
from larbinpy.dns.cache import Known, NameCache
from larbinpy.dns.dice import Dice
from larbinpy.dns.lookup import Answer, Lookup, Verdict
from larbinpy.dns.ports import Packet, Ports
from larbinpy.dns.servers import Address, Server, Servers
from larbinpy.dns.stream import Stream
from larbinpy.histogram import NAME, Histogram
from larbinpy.poller import Poller

# Questions sent in one step: about 2 ms of work, so that other stages get their turn.
_BATCH = 256

# Names that nobody answers for are asked again and again for 23 time-outs. They do not keep
# others from being asked meanwhile, up to so many for each that may be in its first wait;
# but they do while no server answers anything.
_OVERDUE = 16

# Tries whose question leaves in random case. Behind one address there may be servers that
# keep the case and servers that do not; the later tries suit them all.
_CASED_TRIES = 3

# Answers by TCP are rare; a zone that truncates everything must not take all descriptors.
_MAX_STREAMS = 64
_STREAM_TIME = 5

_LOOPBACK = ("127.0.0.1", "::1")


class Resolver:
    """Asks `servers` for names, `send_queue` of which may wait for their question.

    At most `in_flight` names are in their first wait, which lasts `timeout` seconds; those
    that are asked again are bounded by a multiple of it. Addresses are believed for
    `address_time` seconds. Names of `hosts`, literal addresses and names that no server
    could know are answered without asking.

    A name is in `_lookups` from `ask` to its end, and meanwhile in just one of: the queue,
    the awaited, a stream. A name in `_early` is in none of them.
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
        address_time: float,
        rng: random.Random | None = None,
    ) -> None:
        self._poller = poller
        self._awaited = Awaited(timeout)
        addresses = [(str(ip_address(host)), port) for host, port in servers]
        # A second more, as the times of a turn are read at its beginning.
        self._ports = Ports(poller, addresses, self._awaited.longest + 1)
        self._servers = Servers([a for a in addresses if self._ports.reaches(a)], timeout)
        self._server_count = len(self._servers)
        self._cache = cache
        self._hosts = hosts
        self._max_in_flight = in_flight
        self._max_queued = send_queue
        self._timeout = timeout
        self._address_time = address_time
        self._dice = Dice(rng or random.SystemRandom())
        self._lookups: dict[str, Lookup] = {}
        self._queue: deque[Lookup] = deque()
        self._early: OrderedDict[str, None] = OrderedDict()
        self._streams: dict[Stream, tuple[Lookup, bytes]] = {}
        self._answers: list[Answer] = []
        self._now = 0.0
        #: Of the look-ups, from when their name was wanted.
        self.times = Histogram(NAME)
        self.answered = self._sent = self._resent = self._rejected = 0
        self._asked = self._cached = self._expected = self._failed = 0

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
        plain = wire.host_name(name)
        known = self._at_hand(name, plain)
        if known is not None:
            return known
        if plain is None:
            return Answer(name, (), "badname")
        cached = None if refresh else self._cache.get(plain, now)
        if cached is not None:
            self._cached += 1
            return Answer(name, *cached)
        self._enqueue(plain, name, now)
        return None

    def expect(self, names: Iterable[str], now: float) -> None:
        """Ask for `names` in advance, behind those of `ask`; nobody gets an answer.

        Names that are known or asked for already are passed over, and so are those for
        which there is no room.
        """
        for name in names:
            plain = wire.host_name(name)
            if plain is None or plain in self._lookups or plain in self._early:
                continue
            if len(self._early) >= self._max_queued:
                return
            if self.at_hand(plain) is None and self._cache.get(plain, now) is None:
                self._early[plain] = None
                self._expected += 1

    def at_hand(self, name: str) -> Answer | None:
        """The answer for what needs no server: a literal address, the hosts file, localhost."""
        return self._at_hand(name, wire.host_name(name))

    def _at_hand(self, name: str, plain: str | None) -> Answer | None:
        if plain is None or plain[-1].isdigit():
            literal = _literal(name)
            return None if literal is None else Answer(name, (literal,), None)
        if plain in self._hosts:
            return Answer(name, self._hosts[plain], None)
        # RFC 6761 section 6.3: never to be asked for, always the loopback address.
        if plain.endswith("localhost") and plain[-10:-9] in ("", "."):
            return Answer(name, _LOOPBACK, None)
        return None

    def _enqueue(self, name: str, spelling: str, now: float) -> None:
        lookup = self._lookups.get(name)
        if lookup is not None:
            if spelling not in lookup.spellings:
                lookup.spellings.append(spelling)
            return
        if len(self._queue) >= self._max_queued:
            raise RuntimeError("the resolver was asked for more than it has room for")
        self._early.pop(name, None)
        lookup = self._lookups[name] = Lookup(name, [spelling], now)
        self._queue.append(lookup)

    # -- the turn

    def step(self, now: float) -> list[Answer]:
        """Take in what came, send what is due; return the answers that are complete."""
        self._now = now
        self._ports.renew(now)
        for packet in self._ports.take():
            self._take_packet(packet, now)
        for stream in [s for s in self._streams if s.ended or s.due <= now]:
            self._take_stream(stream, now)
        for lookup, was_asked in self._awaited.expired(now):
            if was_asked:
                lookup.server.missed(now, lost_case=lookup.lost_case)
            self._carry_out(lookup, lookup.timed_out(now, self._timeout), now)
        for _ in range(min(_BATCH, self._sendable)):
            self._send(self._next(now), self._servers.first(now), now)
        self._ports.flush()
        answers, self._answers = self._answers, []
        return answers

    @property
    def deadline(self) -> float | None:
        """When the next step is due; None when nothing is under way."""
        if self._ports.waiting or self._sendable or any(s.ended for s in self._streams):
            return 0.0
        dues = [stream.due for stream in self._streams]
        if (due := self._awaited.deadline) is not None:
            dues.append(due)
        return min(dues, default=None)

    @property
    def _sendable(self) -> int:
        """How many names may be sent their first question now."""
        overdue = self._awaited.overdue
        taken = self._awaited.fresh + len(self._streams)
        if overdue and not self._servers.any_awake(self._now):
            taken += overdue
        free = min(self._max_in_flight - taken, self._max_in_flight * _OVERDUE - overdue)
        # Early names leave half of the places to those that are waited for.
        early = min(len(self._early), max(free - self._max_in_flight // 2, 0))
        return max(min(free, len(self._queue) + early), 0)

    def _next(self, now: float) -> Lookup:
        if self._queue:
            return self._queue.popleft()
        name, _ = self._early.popitem(last=False)
        lookup = self._lookups[name] = Lookup(name, [], now)
        return lookup

    def _send(self, lookup: Lookup, server: Server, now: float) -> None:
        section = lookup.section
        dice = self._dice.take(3 + len(section))
        key = (self._ports.pick(server.family, dice[0]), dice[1:3])
        while self._awaited.find(key) is not None:
            key = (key[0], self._dice.take(2))
        if lookup.tries < _CASED_TRIES:
            section = wire.in_random_case(section, dice[3:])
        self._ports.send(key[0], wire.encode(key[1], section), server.address)
        server.asked(now)
        self._sent += 1
        self._resent += lookup.tries > 0
        lookup.server = server
        lookup.asked = section
        lookup.asked_at = now
        lookup.lost_case = False
        self._awaited.add(lookup, key, now)

    # -- what came in

    def _take_packet(self, packet: Packet, now: float) -> None:
        port, source, data = packet
        lookup = self._awaited.find((port, data[:2]))
        if lookup is None or source != lookup.server.address:
            self._rejected += 1
            return
        addresses = wire.plain(data, lookup.asked)
        if addresses:
            lookup.server.heard(now, lookup.asked_at, lookup.asked != lookup.section)
            self._awaited.remove(lookup)
            self._found(lookup, addresses, now)
        else:
            self._take_other(lookup, data, now)

    def _take_other(self, lookup: Lookup, packet: bytes, now: float) -> None:
        server = lookup.server
        same_case = packet.startswith(lookup.asked, wire.QUESTION_AT)
        reply = _decoded(packet, lookup.asked)
        if reply is None:
            self._rejected += 1
            return
        if server.keeps_case and not same_case:
            self._rejected += 1
            lookup.lost_case = True
            return
        server.heard(now, lookup.asked_at, same_case and lookup.asked != lookup.section)
        if not reply.truncated:
            self._awaited.remove(lookup)
            self._carry_out(lookup, lookup.answered(reply, self._server_count), now)
        elif len(self._streams) < _MAX_STREAMS:  # else its time runs on
            self._awaited.remove(lookup)
            self._open_stream(lookup, packet[:2], now)

    def _open_stream(self, lookup: Lookup, ident: bytes, now: float) -> None:
        message = wire.encode(ident, lookup.asked)
        due = now + _STREAM_TIME * self._timeout
        try:
            stream = Stream(self._poller, lookup.server.address, message, due)
        except OSError:  # no descriptor left
            self._carry_out(lookup, lookup.refused("truncated", self._server_count), now)
        else:
            self._streams[stream] = (lookup, ident)

    def _take_stream(self, stream: Stream, now: float) -> None:
        lookup, ident = self._streams.pop(stream)
        stream.close()
        reply = None
        if stream.reply is not None and stream.reply[:2] == ident:
            reply = _decoded(stream.reply, lookup.asked)
        if reply is None or reply.truncated:
            verdict = lookup.refused("truncated", self._server_count)
        else:
            verdict = lookup.answered(reply, self._server_count)
        self._carry_out(lookup, verdict, now)

    # -- what follows from it

    def _carry_out(self, lookup: Lookup, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.FOUND:
            self._found(lookup, lookup.addresses, now)
        elif verdict is Verdict.ASK:
            self._send(lookup, self._servers.first(now), now)
        elif verdict is Verdict.NEXT:
            self._send_to_next(lookup, now)
        elif verdict is Verdict.LATER:
            self._awaited.add(lookup, None, now)
        else:
            self._finish(lookup, *self._remember(lookup, verdict, now))

    def _send_to_next(self, lookup: Lookup, now: float) -> None:
        """While every server rests the wait goes by without a question."""
        server = self._servers.after(lookup.server, now)
        if server is None:
            self._awaited.add(lookup, None, now)
        else:
            self._send(lookup, server, now)

    def _remember(self, lookup: Lookup, verdict: Verdict, now: float) -> Known:
        name = lookup.name
        reason = lookup.reason or verdict.value
        if verdict is Verdict.FAILED:
            return self._cache.put_failure(name, reason, now)
        if reason == "nxdomain":
            self._cache.put_absence(name, now)
        else:
            self._cache.put_nodata(name, reason, lookup.negative_ttl, now)
        return Known((), reason)

    def _found(self, lookup: Lookup, addresses: tuple[str, ...], now: float) -> None:
        self._cache.put(lookup.name, addresses, self._address_time, now)
        self._finish(lookup, addresses, None)

    def _finish(self, lookup: Lookup, addresses: tuple[str, ...], reason: str | None) -> None:
        del self._lookups[lookup.name]
        self.answered += reason is None
        self._failed += reason is not None
        self.times.observe(self._now - lookup.born)
        for spelling in lookup.spellings:
            self._answers.append(Answer(spelling, addresses, reason))

    # -- around it

    def stats(self) -> dict[str, Any]:
        """Counts since the start, and the state now.

        `asked` names, of which `cached` were known, and `early` ones that nobody had asked
        for yet; `answered` and `failed` look-ups; `sent` questions, of which `resent`
        repeated one; `rejected` packets. `in_flight` names, of which `overdue` have waited
        in vain before.
        """
        return {
            "asked": self._asked,
            "early": self._expected,
            "sent": self._sent,
            "answered": self.answered,
            "cached": self._cached,
            "failed": self._failed,
            "resent": self._resent,
            "rejected": self._rejected,
            "in_flight": self.in_flight,
            "overdue": self._awaited.overdue,
            "queued": self.queued,
            "ports": len(self._ports),
            "cache_size": len(self._cache),
            "cache": self._cache.stats(),
            "servers": self._servers.stats(self._now),
        }

    def close(self) -> None:
        """Close all sockets; what was under way is not answered any more."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._ports.close()


def _decoded(packet: bytes, section: bytes) -> wire.Reply | None:
    """The reply in `packet`; None where it is none to the question `section`, or is broken."""
    try:
        return wire.decode(packet, section)
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
