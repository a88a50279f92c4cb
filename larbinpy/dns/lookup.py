"""One name on its way to an address: every decision about it, and no socket.

A name is asked for its A records, and for AAAA if it has none. An alias whose target is not in
the reply is asked for in turn. The resolver reports events to a `Lookup` and carries out the
`Verdict` that it returns.

`is_public` decides which addresses may be crawled, as a name may point anywhere, including into the
crawler's own network. The tables are the IANA special-purpose registries (RFC 6890 and its
updates), read strictly: an address that is not plainly global unicast is refused.
`ipaddress.is_global` is not used, because Python's releases differ over it and 3.11 lets through
192.0.0.8, multicast, and the loopback address behind NAT64 and 6to4 prefixes.
"""

from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from larbinpy.dns import wire

_NOT_PUBLIC_4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network, RFC 791
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # carriers' NAT, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link-local, RFC 3927; clouds' metadata
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # protocol assignments, RFC 6890
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.168.0.0/16",  # private, RFC 1918
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved, RFC 1112; broadcast
    )
]

#: All global unicast space that has been assigned (RFC 4291); the rest of IPv6 is refused.
_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID; RFC 2928
        "2001:db8::/32",  # documentation, RFC 3849
        "3fff::/20",  # documentation, RFC 9637
    )
]

# Prefixes of IPv6 addresses that embed the IPv4 address to which their packets are forwarded, and
# its position (bits from the right).
_EMBEDDING = [
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped, RFC 4291
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052
    (IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
]


def is_public(address: str) -> bool:
    """Whether `address`, IPv4 or IPv6 as text, is on the public internet.

    An IPv6 address that embeds an IPv4 one is judged by that. False for text that is not an
    address, and for addresses with a zone.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    return parsed.scope_id is None and _is_public_6(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC_4)


def _is_public_6(address: IPv6Address) -> bool:
    for network, shift in _EMBEDDING:
        if address in network:
            return _is_public_4(IPv4Address(int(address) >> shift & 0xFFFFFFFF))
    if address not in _UNICAST_6:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


#: Questions sent for one record before giving up. If a fifth of all replies is lost, all seven
#: fail for one name in 78,000.
TRIES = 7

# The longest time for one name in a slow zone with many aliases, in units of the timeout; a
# single question takes at most 23.
_PATIENCE = 60

_NXDOMAIN = 3
_REASONS = {1: "formerr", 2: "servfail", 4: "notimp", 5: "refused"}

# Errors that may pass after a while (RFC 9520 section 2); the others concern this client or the
# question, and will be repeated.
_PASSING = frozenset({"servfail", "truncated"})


#: The reason of an `Answer` if the name does not exist.
NO_SUCH_NAME = "nxdomain"


class Answer(NamedTuple):
    """The result for a name: addresses and no reason, or a reason and no addresses.

    The reasons: ``nxdomain`` (no such name), ``nodata`` (no address), ``cnameloop`` (endless
    aliases), ``badname`` (not a name that can be asked for), ``timeout`` (no reply),
    ``servfail``, ``refused``, ``formerr``, ``notimp`` (servers' errors) and ``truncated`` (only
    a part of the reply arrived).
    """

    #: As the caller spelled it.
    name: str
    addresses: tuple[str, ...]
    reason: str | None


class Verdict(Enum):
    """The next step of a lookup."""

    #: End: it has its addresses.
    FOUND = "found"
    #: End: the zone has no address for the name; see `reason` and `negative_ttl`.
    ABSENT = "absent"
    #: End: no server gave a usable reply; see `reason`.
    FAILED = "failed"
    #: Send its (new) question.
    ASK = "ask"
    #: Send the same question to the next server at once.
    NEXT = "next"
    #: Send the same question to the next server after this try's timeout.
    LATER = "later"


class Lookup:
    """A name that is being asked for; `section` is the question to send next.

    A question is sent `TRIES` times before the lookup fails.
    """

    __slots__ = (
        "_errors",
        "_target",
        "addresses",
        "born",
        "cnames",
        "name",
        "negative_ttl",
        "qtype",
        "reason",
        "section",
        "spellings",
        "tries",
    )

    def __init__(self, name: str, spellings: list[str], now: float) -> None:
        self.name = name
        #: The spellings in which it was asked for; each gets an answer of its own.
        self.spellings = spellings
        self.addresses: tuple[str, ...] = ()
        self.cnames = 0
        self.negative_ttl: float | None = None
        #: The time at which it was first asked for.
        self.born = now
        self._question(name, wire.A)

    def _question(self, target: str, qtype: int) -> Verdict:
        self._target = target
        self.qtype = qtype
        self.section = wire.question(target, qtype)
        self.tries = 0
        self._errors = 0
        self.reason: str | None = None
        return Verdict.ASK

    def begin_try(self) -> int:
        """Count one more try of the question; its number, from 0."""
        self.tries += 1
        return self.tries - 1

    def found(self, addresses: tuple[str, ...]) -> Verdict:
        self.addresses = addresses
        return Verdict.FOUND

    def answered(self, reply: wire.Reply, servers: int) -> Verdict:
        """Take a reply, not a truncated one, from one of `servers` (their number)."""
        if reply.addresses and reply.rcode == 0 and self.cnames + reply.cnames <= wire.MAX_CNAMES:
            return self.found(reply.addresses)
        self.negative_ttl = reply.negative_ttl
        self.cnames += reply.cnames
        if reply.rcode == _NXDOMAIN:
            return self._absent(NO_SUCH_NAME)
        if reply.rcode != 0:
            return self.refused(_REASONS.get(reply.rcode, "servfail"), servers)
        if self.cnames > wire.MAX_CNAMES:
            return self._absent("cnameloop")
        return self._go_on(reply)

    def _go_on(self, reply: wire.Reply) -> Verdict:
        """Continue after a reply without an address: with its alias, or with AAAA.

        A SOA means that the server followed the aliases to their end and found no such record
        there; without one it stopped half-way (RFC 2308 section 2.2).
        """
        followed = reply.cnames == 0 or reply.negative_ttl is not None
        if followed and self.qtype == wire.AAAA:
            return self._absent("nodata")
        target = wire.to_text(reply.target)
        if target is None:
            return self._absent("badname")
        return self._question(target, wire.AAAA if followed else self.qtype)

    def refused(self, reason: str, servers: int) -> Verdict:
        """Take a server's error: each of `servers` is asked, twice if the error may pass."""
        self.reason = reason
        self._errors += 1
        rounds = 2 if reason in _PASSING else 1
        if self.tries >= TRIES or self._errors >= rounds * servers:
            return Verdict.FAILED
        return Verdict.NEXT if self._errors % servers else Verdict.LATER

    def timed_out(self, now: float, timeout: float) -> Verdict:
        """Take a timeout of the last try; `timeout` is that of the first try, in seconds."""
        if self.tries < TRIES and now < self.born + _PATIENCE * timeout:
            return Verdict.NEXT
        self.reason = self.reason or "timeout"
        return Verdict.FAILED

    def _absent(self, reason: str) -> Verdict:
        self.reason = reason
        return Verdict.ABSENT
