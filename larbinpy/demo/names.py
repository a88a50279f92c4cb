"""The name server of the demo: the names of the demo web, and NXDOMAIN for all others.

It forwards no query, so a crawl through it can reach only the demo web. It can drop replies:
the choice depends on the seed, the name and the number of queries for it, never on the order
of arrival.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset

from larbinpy.demo.site import Host, Web, share

_ORIGIN = "demo."
_TTL = 300
#: Serial, refresh, retry, expire, and minimum, the time to cache a failure (s).
_SOA = f"ns.{_ORIGIN} hostmaster.{_ORIGIN} 1 3600 600 86400 60"


class Asked(NamedTuple):
    """One line of the log: a query and its result."""

    name: str
    type: str
    #: Reply code, or "lost" if the reply was dropped on purpose.
    result: str


@dataclass(slots=True)
class NameServer:
    """Answers for the names of `web`; drops the share `drop` of its replies."""

    web: Web
    drop: float = 0.0
    seed: int = 0
    log: list[Asked] = field(default_factory=list)
    _times: Counter[tuple[str, str]] = field(default_factory=Counter)

    def reset(self) -> None:
        self.log.clear()
        self._times.clear()

    def answer(self, query: bytes) -> bytes | None:
        """The reply to one datagram; None if it is not a query or the reply is dropped."""
        try:
            message = dns.message.from_wire(query)
        except dns.exception.DNSException:
            return None
        if message.flags & dns.flags.QR or message.opcode() != dns.opcode.QUERY:
            return None
        if len(message.question) != 1:
            return None
        reply = self._reply(message)
        question = message.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        type_ = dns.rdatatype.to_text(question.rdtype)
        self._times[name, type_] += 1
        lost = share(self.seed, name, type_, self._times[name, type_]) < self.drop
        self.log.append(Asked(name, type_, "lost" if lost else dns.rcode.to_text(reply.rcode())))
        return None if lost else reply.to_wire()

    def _reply(self, message: dns.message.Message) -> dns.message.Message:
        question = message.question[0]
        reply = dns.message.make_response(message, recursion_available=True)
        host = self.web.hosts.get(question.name.to_text(omit_final_dot=True).lower())
        if host is None or host.fate == "noDNS":
            muted = host is not None and host.name.startswith("mute.")
            reply.set_rcode(dns.rcode.NOERROR if muted else dns.rcode.NXDOMAIN)
        elif question.rdtype == dns.rdatatype.A:
            reply.answer.extend(_records(host, question.name.to_text()))
        if not reply.answer:
            reply.authority.append(dns.rrset.from_text(_ORIGIN, _TTL, "IN", "SOA", _SOA))
        return reply


def _records(host: Host, name: str) -> list[dns.rrset.RRset]:
    """The address records of `host` under `name`, after a CNAME if it is an alias."""
    records = []
    if host.alias_of is not None:
        target = f"{host.alias_of}."
        records.append(dns.rrset.from_text(name, _TTL, "IN", "CNAME", target))
        name = target
    records.append(dns.rrset.from_text(name, _TTL, "IN", "A", *host.addresses))
    return records


class NameProtocol(asyncio.DatagramProtocol):
    """The UDP transport of a `NameServer`."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._server.answer(data)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)
