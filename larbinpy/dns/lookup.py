"""One name on its way to an address: every decision about it, and no socket.

A name is asked for its A records, and for AAAA where it has none. An alias whose end is
not in the answer is asked for in turn. The resolver tells a `Lookup` what happened and
does what the `Verdict` says.
"""

from enum import Enum
from typing import NamedTuple

from larbinpy.dns import wire

#: Questions sent for one record before giving up. With a fifth of all answers lost, all
#: seven fail for one name in 78,000.
TRIES = 7

# What a slow zone with many aliases may cost one name, in units of the time-out; a single
# question takes at most 23.
_PATIENCE = 60

_NXDOMAIN = 3
_REASONS = {1: "formerr", 2: "servfail", 4: "notimp", 5: "refused"}

# Errors that may be over after a while (RFC 9520 section 2); the others are the server's
# opinion of us or of the question.
_PASSING = frozenset({"servfail", "truncated"})


class Answer(NamedTuple):
    """What became of a name: addresses and no reason, or a reason and no addresses.

    The reasons: ``nxdomain`` (no such name), ``nodata`` (no address), ``cnameloop``
    (aliases without end), ``badname`` (not a name that can be asked for), ``timeout`` (no
    answer), ``servfail``, ``refused``, ``formerr``, ``notimp`` (servers' errors) and
    ``truncated`` (only a part of the answer could be had).
    """

    #: As it was asked for.
    name: str
    addresses: tuple[str, ...]
    reason: str | None


class Verdict(Enum):
    """What is to be done about a lookup."""

    #: It has its addresses.
    FOUND = "found"
    #: The zone says that there are none: `reason`, for `negative_ttl`.
    ABSENT = "absent"
    #: Nobody would say: `reason`.
    FAILED = "failed"
    #: Send its (new) question.
    ASK = "ask"
    #: The same question to the next server, at once.
    NEXT = "next"
    #: The same question to the next server, when this one's time is up.
    LATER = "later"


class Lookup:
    """A name that is being asked for; `section` is the question to send next."""

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
        #: The ways in which it was asked for; each wants an answer of its own.
        self.spellings = spellings
        self.addresses: tuple[str, ...] = ()
        self.cnames = 0
        self.negative_ttl: float | None = None
        #: When it was first wanted.
        self.born = now
        self._question(name, wire.A)

    def __repr__(self) -> str:
        return f"<Lookup {self.name} asks {self._target} type {self.qtype} try {self.tries}>"

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
        """A reply came from one of `servers`; it is not a truncated one."""
        if reply.addresses and reply.rcode == 0 and self.cnames + reply.cnames <= wire.MAX_CNAMES:
            return self.found(reply.addresses)
        self.negative_ttl = reply.negative_ttl
        self.cnames += reply.cnames
        if reply.rcode == _NXDOMAIN:
            return self._absent("nxdomain")
        if reply.rcode != 0:
            return self.refused(_REASONS.get(reply.rcode, "servfail"), servers)
        if self.cnames > wire.MAX_CNAMES:
            return self._absent("cnameloop")
        return self._go_on(reply)

    def _go_on(self, reply: wire.Reply) -> Verdict:
        """No address, but perhaps an alias, or the other kind of address.

        A SOA says that the server went to the end of the aliases and found no such
        record there; without one it stopped half-way (RFC 2308 section 2.2).
        """
        followed = reply.cnames == 0 or reply.negative_ttl is not None
        if followed and self.qtype == wire.AAAA:
            return self._absent("nodata")
        target = wire.to_text(reply.target)
        if target is None:
            return self._absent("badname")
        return self._question(target, wire.AAAA if followed else self.qtype)

    def refused(self, reason: str, servers: int) -> Verdict:
        """A server would not answer: each of `servers` is asked, and once more if it may pass."""
        self.reason = reason
        self._errors += 1
        rounds = 2 if reason in _PASSING else 1
        if self.tries >= TRIES or self._errors >= rounds * servers:
            return Verdict.FAILED
        return Verdict.NEXT if self._errors % servers else Verdict.LATER

    def timed_out(self, now: float, timeout: float) -> Verdict:
        """No answer came; `timeout` is the first time-out, in seconds."""
        if self.tries < TRIES and now < self.born + _PATIENCE * timeout:
            return Verdict.NEXT
        self.reason = self.reason or "timeout"
        return Verdict.FAILED

    def _absent(self, reason: str) -> Verdict:
        self.reason = reason
        return Verdict.ABSENT
