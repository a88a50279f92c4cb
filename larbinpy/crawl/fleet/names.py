"""Names that all nodes share: what one node was told by a name server, no other asks again.

A host belongs to one node, so each name is asked for by one node anyway. What is left are names
that a node has not asked for itself: after a takeover, after a restart, and names that do not
exist, to which pages of all nodes have links.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from larbinpy.dns import wire
from larbinpy.dns.cache import NameCache
from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import OnFound, Resolver
from larbinpy.fleet.redis.board import RedisNames, Shared
from larbinpy.fleet.vault import Away

#: Seconds that a name waits for Redis, which takes some milliseconds; then servers are asked.
_PATIENCE = 0.5
#: Seconds between two messages about names that do not exist, and between two looks for those of
#: others. A kill loses what was not told.
_TELL = 0.2
_READ = 1.0
#: Names of one such message.
_TOGETHER = 50
#: Names looked up in advance that wait for Redis at a time.
_MOST_EARLY = 1000


class SharedCache(NameCache):
    """The name cache of a node; notes what name servers tell, for the others."""

    def __init__(self, size: int, absences: int, absence_time: float) -> None:
        super().__init__(size, absences, absence_time)
        #: Answers of name servers since the owner of these lists cleared them.
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.absent: list[str] = []

    def put(self, name: str, addresses: tuple[str, ...], time: float, now: float) -> None:
        super().put(name, addresses, time, now)
        self.found.append((name, addresses))

    def put_absence(self, name: str, now: float) -> None:
        super().put_absence(name, now)
        self.absent.append(name)

    def adopt(self, name: str, addresses: tuple[str, ...], time: float, now: float) -> None:
        """Take addresses from another node, unless this one knows better."""
        if self.get(name, now) is None:
            super().put(name, addresses, time, now)

    def adopt_absence(self, name: str, now: float) -> None:
        """Take an absence from another node, unless this one knows better."""
        if self.get(name, now) is None:
            super().put_absence(name, now)


class _Find:
    """A name that Redis was asked for."""

    __slots__ = ("due", "spellings")

    def __init__(self, due: float) -> None:
        self.due = due
        #: How it is spelled by those who wait for the answer; none if it is asked in advance.
        self.spellings: list[str] = []


class SharedNames:
    """Stands in front of a resolver: a name that it would ask for is looked up in Redis first.

    While Redis is away, or slow, the resolver alone answers.
    """

    def __init__(
        self,
        resolver: Resolver,
        cache: SharedCache,
        redis: RedisNames,
        wall: Callable[[], float],
        time: float,
    ) -> None:
        self._resolver = resolver
        self._cache = cache
        self._redis = redis
        self._wall = wall
        self._time = time
        # In the order in which they are due, as all wait equally long.
        self._finds: dict[str, _Find] = {}
        # Number of `_finds` that someone waits for.
        self._waiting = 0
        self._replies: deque[tuple[str, Shared | None]] = deque()
        # Whether Redis can be asked: it had no trouble at the last step, and is not late.
        self._is_there = not redis.trouble
        self._is_late = False
        self._absent: list[str] = []
        self._cursor = str(int((wall() - time) * 1000))
        self._is_reading = False
        # Names that do not exist, as other nodes say.
        self._news: Sequence[str] = ()
        self._next = 0.0
        self._tell_at = 0.0

    def __repr__(self) -> str:
        return f"<SharedNames {len(self._finds)} looked up, {self._resolver!r}>"

    @property
    def room(self) -> int:
        return self._resolver.room - self._waiting

    @property
    def deadline(self) -> float | None:
        if self._replies:
            return 0.0
        first = self._resolver.deadline
        until = self._next if first is None else min(first, self._next)
        if self._absent:
            until = min(until, self._tell_at)
        return min(until, next(iter(self._finds.values())).due) if self._finds else until

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        """As the resolver; `refresh` ignores what is in Redis, too."""
        plain = wire.host_name(name)
        find = None if plain is None or refresh else self._find(plain, now)
        if find is None:
            return self._resolver.ask(name, now, refresh=refresh)
        self._waiting += not find.spellings
        if name not in find.spellings:
            find.spellings.append(name)
        return None

    def expect(self, names: Iterable[str], now: float) -> None:
        for name in names:
            if len(self._finds) - self._waiting >= _MOST_EARLY:
                return
            plain = wire.host_name(name)
            if plain is not None and self._find(plain, now) is None:
                self._resolver.expect((plain,), now)

    def _find(self, name: str, now: float) -> _Find | None:
        """Look `name` up in Redis; None if that is not needed, or Redis is not there."""
        find = self._finds.get(name)
        if find is None and self._can_ask and self._resolver.is_unknown(name, now):
            find = self._finds[name] = _Find(now + _PATIENCE)
            self._redis.find(name, partial(self._came, name))
        return find

    @property
    def _can_ask(self) -> bool:
        return self._is_there and not self._is_late

    def _came(self, name: str, reply: Shared | Away | None) -> None:
        if isinstance(reply, Away):
            self._replies.append((name, None))
        else:
            self._is_late = False
            self._replies.append((name, reply))

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]:
        """As the resolver. `on_found` does not get addresses from Redis: they are not new."""
        self._is_there = not self._redis.trouble
        for name in self._news:
            self._cache.adopt_absence(name, now)
        self._news = ()
        answers: list[Answer] = []
        while self._replies:
            name, shared = self._replies.popleft()
            if shared is not None:
                # No longer than by the own clock, if those of nodes differ.
                left = min(shared.until - self._wall(), self._time)
                if left > 0:
                    self._cache.adopt(name, shared.addresses, left, now)
            if name in self._finds:
                self._go_on(name, now, answers)
        while self._finds and next(iter(self._finds.values())).due <= now:
            # Nothing more is sent until Redis answers: it would only wait there, too.
            self._is_late = True
            self._go_on(next(iter(self._finds)), now, answers)
        answers += self._resolver.step(now, on_found)
        self._tell(now)
        if now >= self._next:
            self._next = now + _READ
            if not self._is_reading:
                self._is_reading = True
                self._redis.absent(self._cursor, self._read)
        return answers

    def _go_on(self, name: str, now: float, answers: list[Answer]) -> None:
        """Let the resolver answer: it has the addresses now, or asks name servers."""
        spellings = self._finds.pop(name).spellings
        if not spellings:
            self._resolver.expect((name,), now)
            return
        self._waiting -= 1
        for spelling in spellings:
            answer = self._resolver.ask(spelling, now)
            if answer is not None:
                answers.append(answer)

    def _tell(self, now: float) -> None:
        """Tell addresses at once, so that a kill loses only what is in flight."""
        cache = self._cache
        if cache.found and self._can_ask:
            until = self._wall() + self._time
            for name, addresses in cache.found:
                self._redis.learn(name, Shared(addresses, until))
        cache.found.clear()
        if cache.absent:
            if not self._absent:
                self._tell_at = now + _TELL
            self._absent += cache.absent
            cache.absent.clear()
        if self._absent and (now >= self._tell_at or len(self._absent) >= _TOGETHER):
            self._tell_absent()

    def _tell_absent(self) -> None:
        if self._can_ask:
            for start in range(0, len(self._absent), _TOGETHER):
                self._redis.learn_absent(self._absent[start : start + _TOGETHER])
        self._absent.clear()

    def _read(self, reply: tuple[str, Sequence[str]] | Away) -> None:
        self._is_reading = False
        if isinstance(reply, Away):
            return
        self._is_late = False
        self._cursor, self._news = reply
        if self._news:
            # There may be more.
            self._next = 0.0
