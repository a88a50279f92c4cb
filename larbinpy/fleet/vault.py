"""The vault: what the deciders of a fleet see of Redis, as verbs and values.

No verb waits. Each takes `then`, which is called later, from the loop and exactly once: with the
answer, or with an `Away` if the connection ended before the answer came. After an `Away` the verb
may have been executed, may not have been, or may even be executed later: the connection's last
bytes can be under way. So all writes that matter are fenced by the owner and the number of a shard.

A `NodeSession` is a name under which a node is a member once, and its questions to the vault.
`Members` are the sessions that are alive, and until when others certainly take this one for alive.
No clock is shared. A session is certain for some seconds after it sent a beat that was answered;
others bury it only after its counter stood still for longer, by their own watching.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

#: The owner of a shard that has none.
NOBODY = ""


class Away(Exception):
    """The connection ended before the answer."""


T = TypeVar("T")
Then = Callable[[T | Away], None]


class FleetState(Enum):
    """The state of a crawl, for all nodes."""

    #: Some of its seeds are not yet in the vault.
    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    STOPPED = "stopped"


class SharedCrawl(NamedTuple):
    """A crawl that was opened."""

    id: str
    settings: dict[str, str]
    state: FleetState
    #: Whether this call made it.
    created: bool


class Answered(Enum):
    """Answers without a value."""

    DONE = "done"
    #: The shard has another owner.
    FENCED = "fenced"
    #: The session is not, or no longer, a member; or the crawl itself does not exist.
    GONE = "gone"
    #: Another node has the name.
    TAKEN = "taken"


class Present(NamedTuple):
    """The answer to a beat."""

    #: Counter of beats by session.
    sessions: dict[str, int]
    state: FleetState
    #: Orders of the operator that came since the last answer: id and text.
    orders: Sequence[tuple[str, str]] = ()


class Gained(NamedTuple):
    """The shard is ours; `n` is its number now."""

    n: int


class Owned(NamedTuple):
    """The shard was not taken: this is its owner and number."""

    own: str
    n: int


class Behind(NamedTuple):
    """The shard is ours, but has the number `n` instead of the expected one."""

    n: int


class SiteWait(NamedTuple):
    """The waits of a site at a moment."""

    #: Seconds for which the site gets no request; none if they are not positive.
    seconds: float
    #: Seconds that its delay is longer than configured, because it is slow or overloaded.
    extra: float = 0.0
    #: Seconds in which it usually answers; 0 if that is unknown.
    usual: float = 0.0


class Part(NamedTuple):
    """A part of a shard that is being loaded."""

    #: 64-bit fingerprints in the byte order of this machine, as `array("Q")` has them.
    fingerprints: bytes
    #: Number of the block, packed lines, and the owed bits as little-endian bytes; no bytes mean
    #: that all lines are owed.
    blocks: Sequence[tuple[int, bytes, bytes]]
    #: The counts of its sites, by name; and their waits. No block comes before all of these.
    counts: Mapping[str, int]
    waits: Mapping[str, SiteWait]
    #: The argument of the call for the next part; None after the last.
    cursor: str | None


class Commit(NamedTuple):
    """The changes of a shard since its last commit; it takes effect as a whole."""

    #: To be appended.
    fingerprints: bytes
    #: Packed lines of blocks that are new or have grown.
    blocks: Mapping[int, bytes]
    #: Owed bits of blocks; a block without has all its lines owed.
    owed: Mapping[int, bytes]
    #: Blocks to remove, with their bits.
    finished: Sequence[int]
    #: Number of owed lines of the whole shard.
    owing: int
    #: Number of inbox elements to remove from the head.
    received: int
    #: To be added to what was counted of its sites, by name.
    counts: Mapping[str, int]
    #: The waits of some of its sites.
    waits: Mapping[str, SiteWait]


class ShardLook(NamedTuple):
    """A shard, as `look` sees it."""

    own: str
    n: int
    #: Number of owed lines.
    owing: int
    #: Number of inbox elements.
    inbox: int


class Vault(Protocol):
    """Redis, or a model of it."""

    @property
    def lost(self) -> str:
        """Why acknowledged writes may have been forgotten (restart, failover) since `join`.

        Empty as long as that is not known. `join` empties it.
        """

    @property
    def up(self) -> float:
        """Seconds since when no turn can have been forgotten; inf if the crawl is younger."""

    def open(self, settings: Mapping[str, str], then: Then[SharedCrawl], id: str = "") -> None:
        """Make the crawl with these settings, and this id if one is given; or find one."""

    def declare(self, old: FleetState, new: FleetState, then: Then[FleetState]) -> None:
        """Change the state if it is `old`; the answer is the state afterwards."""

    # -- members

    def join(self, session: str, then: Then[Present | Answered]) -> None:
        """Become a member; GONE if the crawl that was opened does not exist any more.

        TAKEN if a member `are_namesakes` with it.
        """

    def beat(self, session: str, then: Then[Present | Answered]) -> None:
        """Count up, unless the session is GONE."""

    def bury(self, session: str, counter: int, then: Then[Answered]) -> None:
        """Remove a session whose counter is still `counter`."""

    def quit(self, session: str, then: Then[Answered]) -> None:
        """Remove the own session."""

    # -- shards

    def look(self, then: Then[Sequence[ShardLook]]) -> None:
        """All shards, by their numbers; those of a shard are of one moment."""

    def take(self, shard: int, own: str, n: int, session: str, then: Then[Gained | Owned]) -> None:
        """Make `session` the owner if owner and number are `own` and `n`, and count up the number.

        If `session` is the owner already, with the number n + 1, this was done before: `Gained`.
        """

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        """A part of a shard; the first cursor is empty. The owner alone changes it."""

    def read_blocks(
        self, shard: int, blocks: Sequence[int], then: Then[Sequence[tuple[int, bytes, bytes]]]
    ) -> None:
        """Some blocks of a shard, as in `Part`, without those that do not exist."""

    def commit(
        self, shard: int, session: str, n: int, commit: Commit, then: Then[Answered | Behind]
    ) -> None:
        """Apply `commit` if owner and number are these, and count up the number: DONE.

        FENCED for another owner; `Behind` for another number.
        """

    def leave(self, shard: int, session: str, n: int, then: Then[Answered | Behind]) -> None:
        """Make NOBODY the owner if owner and number are these; answers as of `commit`."""

    # -- letters

    def post(self, letters: Mapping[int, bytes], then: Then[Answered]) -> None:
        """Append an element to the inboxes of some shards."""

    def collect(
        self, positions: Mapping[int, int], then: Then[Mapping[int, Sequence[bytes]]]
    ) -> None:
        """Some inbox elements from these positions on, by shard; shards without any are left out.

        Nothing is removed.
        """

    def flush(self, then: Then[Answered]) -> None:
        """DONE when all that was answered before is as safe as this Redis makes it.

        With replicas: one of each master has it. A new connection has to write something before
        it waits (WAIT counts the writes of its own connection alone).
        """

    # -- turns

    def turn(self, address: str, ms: int, then: Then[int]) -> None:
        """Reserve `address` for `ms`; the answer is 0, or the ms until it may be free."""

    def renew(self, addresses: Sequence[str], ms: int) -> None:
        """Reserve granted turns for `ms` from now."""

    def rest(self, address: str, ms: int) -> None:
        """End a granted turn: the address is free `ms` from now."""


class NodeSession:
    """Questions that are asked again after an `Away`; answers after the end are dropped."""

    def __init__(self) -> None:
        #: The name under which the node is a member; empty before and after.
        self.name = ""
        self._is_over = False
        self._awaited = 0
        # Calls that send again what was not answered.
        self._unsent: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<Session {self.name or 'outside'}>"

    def then(self, handler: Callable[[Any], None], again: Callable[[], None]) -> Then[Any]:
        """Give an answer to `handler`; after an `Away`, the next `resend` calls `again`."""

        self._awaited += 1

        def then(answer: Any) -> None:
            if self._is_over:
                return
            self._awaited -= 1
            if isinstance(answer, Away):
                self._unsent.append(again)
            else:
                handler(answer)

        return then

    @property
    def is_settled(self) -> bool:
        """Whether all questions are answered."""
        return not self._awaited and not self._unsent

    def resend(self) -> None:
        unsent, self._unsent = self._unsent, []
        for send in unsent:
            send()

    def end(self) -> None:
        self._is_over = True


#: Seconds between two beats.
BEAT = 1.0
#: Seconds from the sending of a beat that is answered for which no request need be refused.
CERTAIN = 5.0
#: After so many seconds what is in flight is aborted.
ABORT = 5.5
#: A session whose counter stood still for so many seconds is buried. Its last beat was sent
#: before, so it has aborted what was in flight.
DEAD = 5.8
#: A gap of more seconds between two answers counts as one beat: others may have been away from
#: Redis as long. It must count, since on a bad line there may be no other gaps.
_GAP = 2.5


class Members:
    """The members, as seen by one session; `now` is of any clock that does not go back."""

    def __init__(self) -> None:
        # By session: its counter, and for how many watched seconds it has stood still.
        self._counters: dict[str, tuple[int, float]] = {}
        self._answered_at = float("-inf")
        #: When the last beat that was answered was sent.
        self.seen_at = float("-inf")
        self.state = FleetState.NEW

    @property
    def sessions(self) -> list[str]:
        return list(self._counters)

    def is_certain(self, now: float) -> bool:
        """Whether no other session can take over what is ours."""
        return now < self.seen_at + CERTAIN

    def must_abort(self, now: float) -> bool:
        """Whether others may ask our addresses soon."""
        return now >= self.seen_at + ABORT

    def answered(self, present: Present, sent: float, now: float) -> set[str]:
        """Take the answer to a beat of time `sent`; return the sessions silent for `DEAD`."""
        gap = now - self._answered_at
        watched = gap if gap <= _GAP else BEAT
        self._answered_at = now
        self.seen_at = max(self.seen_at, sent)
        self.state = present.state
        before, self._counters = self._counters, {}
        for session, counter in present.sessions.items():
            known, still = before.get(session, (None, 0.0))
            self._counters[session] = counter, still + watched if counter == known else 0.0
        return {session for session, (_, still) in self._counters.items() if still >= DEAD}
