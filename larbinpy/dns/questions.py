"""The questions of lookups: sent to the name servers, their replies matched and passed on.

Questions go by UDP (RFC 1035). A reply counts only if it comes from the server that was asked, to
the port the question was sent from, with its id and its question (RFC 5452), and in the same
letter case if the server is known to keep that. Any other packet is counted and ignored, and the
question stays open until its timeout. Then it is sent to the next server under a new id; each
wait is longer than the last.
"""

import random
from collections.abc import Sequence
from ipaddress import ip_address

from larbinpy.dns import wire
from larbinpy.dns.awaited import Awaited, Sent
from larbinpy.dns.lookup import Lookup, Verdict
from larbinpy.dns.ports import Packet, Ports
from larbinpy.dns.randomness import RandomBytes
from larbinpy.dns.servers import Address, Server, Servers
from larbinpy.dns.stream import Stream
from larbinpy.loop.poller import Poller

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
        tries: int,
        rng: random.Random,
    ) -> None:
        self._poller = poller
        self._timeout = timeout
        self._awaited = Awaited(timeout, tries)
        addresses = [(str(ip_address(host)), port) for host, port in servers]
        # One second more, because the clock is read at the beginning of a turn.
        self._ports = Ports(poller, addresses, self._awaited.longest + 1)
        self._servers = Servers([a for a in addresses if self._ports.reaches(a)], timeout)
        self._random = RandomBytes(rng)
        self._streams: dict[Stream, Sent] = {}
        self._ended: list[Ended] = []
        #: Questions sent, those of them that were repeated, and packets that matched none.
        self.sent = self.resent = self.rejected = 0

    def __repr__(self) -> str:
        return f"<Questions {self._awaited!r}, {len(self._streams)} by TCP>"

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
