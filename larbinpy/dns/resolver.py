"""The resolver: names to addresses in the one poll loop, without waiting for any.

Many names are asked for at a time, and each of them once, however often it is wanted. Literal
addresses, names of the hosts file and cached names are answered at once; `questions` asks for the
others in turn. The system says which hosts file and which name servers there are. The user is told
when no name server answers, and when one answers again (`Outage`).
"""

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from larbinpy.dns import wire
from larbinpy.dns.cache import Known, NameCache
from larbinpy.dns.lookup import Answer, Lookup, Verdict
from larbinpy.dns.questions import Questions
from larbinpy.dns.servers import Address
from larbinpy.dns.wire import host_name
from larbinpy.loop.poller import Poller
from larbinpy.stats import NAME, Histogram

#: The server to use if the system names none (resolv.conf(5)).
_DEFAULT_SERVERS = [("127.0.0.1", 53)]


def read_hosts(path: str | Path = "/etc/hosts") -> dict[str, tuple[str, ...]]:
    """Names of a hosts(5) file with their addresses, IPv4 first; empty without a file.

    Invalid lines are ignored, as the system's own resolver ignores them.
    """
    found: dict[str, list[str]] = {}
    for address, *names in _lines(path):
        if not _is_plain_address(address):
            continue
        for name in filter(None, map(host_name, names)):
            addresses = found.setdefault(name, [])
            if address not in addresses:
                addresses.append(address)
    return {name: tuple(sorted(known, key=_is_v6)) for name, known in found.items()}


def system_servers(path: str | Path = "/etc/resolv.conf") -> list[tuple[str, int]]:
    """The name servers of a resolv.conf(5), as (address, port); if it names none, the local one.

    Addresses with a zone (``fe80::1%eth0``) are left out.
    """
    servers = [
        (words[1], 53)
        for words in _lines(path)
        if words[0] == "nameserver" and len(words) > 1 and _is_plain_address(words[1])
    ]
    return list(dict.fromkeys(servers)) or list(_DEFAULT_SERVERS)


def _lines(path: str | Path) -> list[list[str]]:
    """The words of each line that is not empty, without comments."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = (line.partition("#")[0].partition(";")[0].split() for line in text.splitlines())
    return [words for words in lines if words]


def _is_plain_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_v6(address: str) -> bool:
    return ":" in address


# Seconds of silence before it is reported: longer than a burst of packet loss.
_UNREPORTED = 5.0

# If this many questions are lost before the first reply, dead names are not the reason: the server
# is not a name server, or the network is down. After the first reply, an outage shows when all
# servers rest.
_HOPELESS_LOSSES = 3


class Outage:
    """Watches the name servers and reports when none answers, and when one answers again."""

    def __init__(self) -> None:
        self._answered = 0
        #: The time at which all servers first seemed silent, and the questions lost by then.
        self._silent: tuple[float, int] | None = None
        self._reported = False

    def look(self, servers: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
        """The lines to print about `servers`, which are as in `Servers.stats`."""
        answered, lost = (sum(each[count] for each in servers) for count in ("answered", "lost"))
        if answered > self._answered:
            if self._reported:
                yield "name servers answer again"
            self._answered, self._silent, self._reported = answered, None, False
        elif self._silent is None:
            hopeless = not answered and lost >= _HOPELESS_LOSSES
            if hopeless or all(each["resting"] for each in servers):
                self._silent = now, lost
        elif not self._reported and now - self._silent[0] >= _UNREPORTED and lost > self._silent[1]:
            self._reported = True
            addresses = ", ".join(each["address"] for each in servers)
            yield f"no name server answers ({addresses}); look at dnsServer, or at the network"


# Questions sent in one step: about 2 ms of work, so that the other stages get their turn.
_BATCH = 256

# A name that no server answers for is asked again, for 23 timeouts in all. Such names do not delay
# others unless there are more than this many for each name that may be in its first wait, or no
# server answers at all.
_MOST_OVERDUE = 16

_LOOPBACK = ("127.0.0.1", "::1")

OnFound = Callable[[Answer], object]


def _ignore(_answer: Answer) -> None:
    """For callers that need no `on_found`."""


class Resolver:
    """Asks `servers` for names, `send_queue` of which may wait for their first question.

    At most `in_flight` names are in their first wait, which lasts `timeout` seconds; names that
    are asked again are bounded by a multiple of it. Addresses are valid for `address_time`
    seconds. Names of `hosts`, literal addresses and names that cannot exist are answered without
    a question.

    A name is in `_lookups` from `ask` to its answer; during that time it is in exactly one of
    `_queue` and `_questions`. A name in `_early` is in none of the three.
    """

    #: Where ids, ports and letter case come from.
    rng: random.Random = random.SystemRandom()

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
    ) -> None:
        self._questions = Questions(poller, servers, timeout, self.rng)
        self._cache = cache
        self._hosts = hosts
        self._max_in_flight = in_flight
        self._max_queued = send_queue
        self._address_time = address_time
        self._lookups: dict[str, Lookup] = {}
        self._queue: deque[Lookup] = deque()
        self._early: OrderedDict[str, None] = OrderedDict()
        self._answers: list[Answer] = []
        self._now = 0.0
        #: Durations of lookups, from when the name was first asked for.
        self.times = Histogram(NAME)
        self.answered = 0
        self._asked = self._cached = self._expected = self._failed = 0

    def __repr__(self) -> str:
        return f"<Resolver {self.in_flight} in flight, {self.queued} queued>"

    # -- asking

    @property
    def queued(self) -> int:
        """Number of names that wait for their first question."""
        return len(self._queue)

    @property
    def in_flight(self) -> int:
        """Number of names whose first question has been sent."""
        return len(self._lookups) - len(self._queue)

    @property
    def room(self) -> int:
        """Number of names that may be asked for now."""
        return self._max_queued - len(self._queue)

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        """Return the answer if it is known; otherwise None, and `step` returns it later.

        `refresh` ignores the cache. Requires `room`. A name that is asked for again meanwhile is
        answered once, or once for each spelling (case, final dot).
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
        """Ask for `names` in advance, after those of `ask`; `step` returns no answer for them.

        Names that are known or already asked for are skipped, and so are names for which there
        is no room.
        """
        for name in names:
            if len(self._early) >= self._max_queued:
                return
            plain = wire.host_name(name)
            if plain is not None and self.is_unknown(plain, now):
                self._early[plain] = None
                self._expected += 1

    def is_unknown(self, plain: str, now: float) -> bool:
        """Whether nothing is known of a name, and no server is being asked for it.

        It is spelled as by `wire.host_name`.
        """
        return (
            plain not in self._lookups
            and plain not in self._early
            and self._at_hand(plain, plain) is None
            and self._cache.get(plain, now) is None
        )

    def at_hand(self, name: str) -> Answer | None:
        """The answer that needs no server: for a literal address, a name of the hosts file or
        localhost; else None."""
        return self._at_hand(name, wire.host_name(name))

    def _at_hand(self, name: str, plain: str | None) -> Answer | None:
        if plain is None or plain[-1].isdigit():
            literal = _literal(name)
            return None if literal is None else Answer(name, (literal,), None)
        if plain in self._hosts:
            return Answer(name, self._hosts[plain], None)
        # RFC 6761 section 6.3: no server is asked; it is always the loopback address.
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

    def step(self, now: float, on_found: OnFound = _ignore) -> list[Answer]:
        """Process replies, send the questions that are due, and return complete answers.

        `on_found` gets the addresses that name servers have just sent, once for each name
        (spelled as by `wire.host_name`), including names of `expect`.
        """
        self._now = now
        for lookup, verdict in self._questions.take(now):
            self._end(lookup, verdict, now)
            if verdict is Verdict.FOUND:
                on_found(Answer(lookup.name, lookup.addresses, None))
        for _ in range(min(_BATCH, self._sendable)):
            self._questions.ask(self._next(now), now)
        self._questions.flush()
        answers, self._answers = self._answers, []
        return answers

    @property
    def deadline(self) -> float | None:
        """When the next step is due; None when nothing is under way."""
        return 0.0 if self._sendable else self._questions.deadline

    @property
    def _sendable(self) -> int:
        """Number of names whose first question may be sent now."""
        overdue = self._questions.overdue
        taken = self._questions.fresh
        if overdue and not self._questions.any_awake(self._now):
            taken += overdue
        free = min(self._max_in_flight - taken, self._max_in_flight * _MOST_OVERDUE - overdue)
        # Names of `expect` leave half of the places to those of `ask`.
        early = min(len(self._early), max(free - self._max_in_flight // 2, 0))
        return max(min(free, len(self._queue) + early), 0)

    def _next(self, now: float) -> Lookup:
        if self._queue:
            return self._queue.popleft()
        name, _ = self._early.popitem(last=False)
        lookup = self._lookups[name] = Lookup(name, [], now)
        return lookup

    def _end(self, lookup: Lookup, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.FOUND:
            self._cache.put(lookup.name, lookup.addresses, self._address_time, now)
            self._finish(lookup, lookup.addresses, None)
        else:
            self._finish(lookup, *self._remember(lookup, verdict, now))

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

    def _finish(self, lookup: Lookup, addresses: tuple[str, ...], reason: str | None) -> None:
        del self._lookups[lookup.name]
        self.answered += reason is None
        self._failed += reason is not None
        self.times.observe(self._now - lookup.born)
        for spelling in lookup.spellings:
            self._answers.append(Answer(spelling, addresses, reason))

    # -- statistics and end

    def stats(self) -> dict[str, Any]:
        """Counts since the start, and the current state.

        `asked`: names, of which `cached` were known; `early`: names asked for in advance;
        `answered`, `failed`: lookups; `sent`: questions, of which `resent` were repeated;
        `rejected`: packets that matched no question; `in_flight`: names, of which `overdue` have
        timed out at least once.
        """
        return {
            "asked": self._asked,
            "early": self._expected,
            "sent": self._questions.sent,
            "answered": self.answered,
            "cached": self._cached,
            "failed": self._failed,
            "resent": self._questions.resent,
            "rejected": self._questions.rejected,
            "in_flight": self.in_flight,
            "overdue": self._questions.overdue,
            "queued": self.queued,
            "ports": self._questions.ports,
            "cache": self._cache.stats(),
            "servers": self._questions.servers(self._now),
        }

    def close(self) -> None:
        """Close all sockets; open lookups get no answer."""
        self._questions.close()


def _literal(text: str) -> str | None:
    """The address that `text` spells, IPv6 with or without brackets."""
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1]
    try:
        return str(ip_address(text))
    except ValueError:
        return None
