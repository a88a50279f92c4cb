"""Which name server is asked next, and which ones rest because they do not answer.

A silent server is asked more and more rarely, one question at a time, until it answers again.
First questions are sent even while every server rests, to the one that has rested longest: names
that no server answers for could otherwise silence a server that works. The rate of first
questions is bounded by the number of names in flight.
"""

import socket
from collections.abc import Sequence

Address = tuple[str, int]

# A server rests after this many questions lost in a row, and this long a silence (in units of the
# timeout). Both are needed: a few dead names or a burst of loss are no sign of a dead server.
_LOSSES = 8
_SILENCE = 3

# The longest rest in units of the timeout. A lookup waits 23 of them, so one that begins while
# the server is down still notices its return.
_LONGEST_REST = 5

# After this many questions whose only reply matched except for its letter case, the server counts
# as one that does not keep the case (any more). To forge this, an attacker would have to guess as
# many ids and ports while the server itself is silent.
_CASES_LOST = 8

# Weight of the latest round-trip time in the mean (RFC 6298 section 2).
_RTT_SHARE = 1 / 8


class Server:
    """One name server, and how well it answers."""

    __slots__ = (
        "_cases_lost",
        "_heard_at",
        "_losses",
        "_rest",
        "_timeout",
        "address",
        "answered",
        "family",
        "keeps_case",
        "lost",
        "resting_until",
        "rtt",
        "sent",
    )

    def __init__(self, address: Address, timeout: float) -> None:
        self.address = address
        self.family = family_of(address)
        #: Whether it returns questions in the case they came in; from the first such reply on,
        #: all its replies must.
        self.keeps_case = False
        self._cases_lost = 0
        #: Mean round-trip time in seconds; None before the first reply.
        self.rtt: float | None = None
        self.sent = 0
        self.answered = 0
        self.lost = 0
        self.resting_until = float("-inf")
        self._timeout = timeout
        self._rest = timeout
        self._losses = 0
        self._heard_at: float | None = None

    def asked(self, now: float) -> None:
        """Count a question to it. For a silent server it is the last one for a while."""
        self.sent += 1
        if self._heard_at is None:
            self._heard_at = now
        if self._losses >= _LOSSES and self.is_silent(now):
            self._take_rest(now)

    def heard(self, now: float, asked_at: float, kept_case: bool) -> None:
        """Count a reply to the question sent at `asked_at`; `kept_case`: in its random case."""
        self.answered += 1
        if kept_case:
            self.keeps_case = True
            self._cases_lost = 0
        rtt = now - asked_at
        self.rtt = rtt if self.rtt is None else self.rtt + _RTT_SHARE * (rtt - self.rtt)
        self._heard_at = now
        self._losses = 0
        self._rest = self._timeout
        self.resting_until = float("-inf")

    def missed(self, now: float, *, lost_case: bool) -> None:
        """Count a timeout; `lost_case`: a reply arrived that matched except for its case."""
        self.lost += 1
        self._cases_lost += lost_case
        if self._cases_lost >= _CASES_LOST:
            self.keeps_case = False
        self._losses += 1
        if self.is_silent(now) and now >= self.resting_until:
            self._take_rest(now)

    def is_silent(self, now: float) -> bool:
        """Whether it seems to have stopped answering."""
        silence = 0.0 if self._heard_at is None else now - self._heard_at
        return self._losses >= _LOSSES and silence >= _SILENCE * self._timeout

    def is_resting(self, now: float) -> bool:
        return now < self.resting_until

    def _take_rest(self, now: float) -> None:
        self.resting_until = now + self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST * self._timeout)


class Servers:
    """The servers of one resolver, asked in turn; at least one."""

    def __init__(self, addresses: Sequence[Address], timeout: float) -> None:
        if not addresses:
            raise ValueError("no name server")
        self._all = [Server(address, timeout) for address in dict.fromkeys(addresses)]
        self._turn = 0

    def __len__(self) -> int:
        return len(self._all)

    def first(self, now: float) -> Server:
        """The server for the first try of a question."""
        self._turn = (self._turn + 1) % len(self._all)
        in_turn = self._all[self._turn]
        if now >= in_turn.resting_until:
            return in_turn
        awake = self._awake_from(self._turn, now)
        return awake or min(self._all, key=lambda server: server.resting_until)

    def after(self, server: Server, now: float) -> Server | None:
        """The next server that does not rest; `server` itself comes last. None while all rest."""
        return self._awake_from(self._all.index(server) + 1, now)

    def any_awake(self, now: float) -> bool:
        return any(not server.is_resting(now) for server in self._all)

    def _awake_from(self, start: int, now: float) -> Server | None:
        in_turn = self._all[start:] + self._all[:start]
        return next((server for server in in_turn if not server.is_resting(now)), None)

    def stats(self, now: float) -> list[dict[str, object]]:
        return [
            {
                "address": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
                "sent": server.sent,
                "answered": server.answered,
                "lost": server.lost,
                "resting": server.is_resting(now),
                "keeps_case": server.keeps_case,
                "rtt_ms": None if server.rtt is None else round(1000 * server.rtt, 3),
            }
            for server in self._all
            for host, port in [server.address]
        ]


def family_of(address: Address) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET
