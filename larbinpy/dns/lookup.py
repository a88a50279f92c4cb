"""One name on its way to an address: every decision about it, and no socket.

A name is asked for its A records, and for AAAA if it has none. An alias whose target is not in
the reply is asked for in turn. The resolver reports events to a `Lookup` and carries out the
`Verdict` that it returns.
"""

from enum import Enum
from typing import NamedTuple

from larbinpy.dns import wire

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

    A question is sent `most_tries` times before the lookup fails.
    """

    __slots__ = (
        "_errors",
        "_most_tries",
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

    def __init__(
        self, name: str, spellings: list[str], now: float, most_tries: int = TRIES
    ) -> None:
        self.name = name
        self._most_tries = most_tries
        #: The spellings in which it was asked for; each gets an answer of its own.
        self.spellings = spellings
        self.addresses: tuple[str, ...] = ()
        self.cnames = 0
        self.negative_ttl: float | None = None
        #: The time at which it was first asked for.
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
        if self.tries >= self._most_tries or self._errors >= rounds * servers:
            return Verdict.FAILED
        return Verdict.NEXT if self._errors % servers else Verdict.LATER

    def timed_out(self, now: float, timeout: float) -> Verdict:
        """Take a timeout of the last try; `timeout` is that of the first try, in seconds."""
        if self.tries < self._most_tries and now < self.born + _PATIENCE * timeout:
            return Verdict.NEXT
        self.reason = self.reason or "timeout"
        return Verdict.FAILED

    def _absent(self, reason: str) -> Verdict:
        self.reason = reason
        return Verdict.ABSENT
