"""A node of a fleet: joins the crawl, owns shards, and keeps their truth in the vault.

- `Node` joins. What makes its session doubtful ends it: it is gone from the members, a commit of it
  was refused, or the vault may have forgotten what it had acknowledged. Then the node forgets all
  but its outputs and joins anew, under another name. A connection that was merely lost ends
  nothing: what is unanswered is sent again.
- `Ownership` looks which shards to have, takes and loads them, and leaves them.
- `Exchange` sends rounds to the vault and takes letters from it. A round is sent again until all of
  it is in the vault.
- `Thinning` keeps the vault small: it reads blocks with few owed lines, for the journal to thin
  them out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import partial
from typing import Protocol

from larbinpy.fleet.journal import JournalRound, ShardJournal, unpack
from larbinpy.fleet.ownership import LINES, EndProof, Holding, Shares, Stage
from larbinpy.fleet.vault import (
    ABORT,
    BEAT,
    Answered,
    Away,
    Behind,
    Commit,
    FleetState,
    Gained,
    Members,
    NodeSession,
    Owned,
    Part,
    Present,
    ShardLook,
    Vault,
)


class Local(Protocol):
    """The crawl of this node, as the fleet sees it."""

    def seed(self) -> bool:
        """The crawl has no seeds yet: note those of this node as letters; whether it has any.

        Called in each session that joins before the seeds of a node are safe.
        """

    def loaded(self, shard: int, part: Part, lines: Sequence[tuple[int, str]]) -> None:
        """A part of a shard that was taken, and the owed lines of its blocks by origin."""

    def receive(self, shard: int, lines: Sequence[str]) -> None:
        """Letters to a served shard; the new ones among them must be put into the journal."""

    def withdraw(self, shard: int) -> None:
        """Open no more requests of this shard, and forget its URLs that are not in flight."""

    def busy(self, shard: int) -> bool:
        """Whether URLs of this shard are in flight, or not yet done in the journal."""

    @property
    def is_spent(self) -> bool:
        """Whether no URL is left to fetch, and nothing is in flight."""

    def interrupt(self) -> None:
        """Abort what is in flight; its URLs are fetched again later."""

    def clear(self) -> None:
        """The session has ended: abort what is in flight, and forget all but the outputs."""


class Sending:
    """Sends a round. `step` sends again what the connection may have lost.

    A letter that arrives twice is known to its receiver. A commit that was applied finds its
    shard one number further.
    """

    def __init__(self, vault: Vault, session: str, round: JournalRound) -> None:
        self._vault = vault
        self.round = round
        self._awaited = 0
        self._unsent: list[Callable[[], None]] = []
        #: Whether all of it is in the vault.
        self.is_done = False
        #: Why a commit was refused: the session must end.
        self.refused = ""
        if round.letters:
            self._unsent.append(self._post)
        for shard, (n, commit) in round.commits.items():
            self._unsent.append(partial(self._commit, shard, session, n, commit))
        if not self._unsent:
            self.is_done = True

    def step(self) -> None:
        """Send what is to be sent."""
        unsent, self._unsent = self._unsent, []
        for send in unsent:
            self._awaited += 1
            send()

    def _post(self) -> None:
        self._vault.post(self.round.letters, partial(self._answered, self._post))

    def _commit(self, shard: int, session: str, n: int, commit: Commit) -> None:
        again = partial(self._commit, shard, session, n, commit)

        def then(answer: Answered | Behind | Away) -> None:
            if answer is Answered.FENCED:
                self.refused = f"shard {shard} has another owner"
            elif isinstance(answer, Behind) and answer.n != n + 1:
                self.refused = f"shard {shard} has number {answer.n} instead of {n}"
            self._answered(again, answer)

        self._vault.commit(shard, session, n, commit, then)

    def _flush(self) -> None:
        def then(answer: Answered | Away) -> None:
            self._awaited -= 1
            if isinstance(answer, Away):
                self._unsent.append(self._flush)
            else:
                self.is_done = True

        self._vault.flush(then)

    def _answered(self, again: Callable[[], None], answer: object) -> None:
        self._awaited -= 1
        if isinstance(answer, Away):
            self._unsent.append(again)
        if not self._awaited and not self._unsent and not self.refused:
            self._unsent.append(self._flush)


class _Seeds(Enum):
    """The seeds of this node: nothing to do, noted, or in the round under way."""

    NONE = "none"
    NOTED = "noted"
    SENT = "sent"


class Exchange:
    """Sends rounds and collects letters in turn, never both: a commit moves the inbox.

    `seeded` is called when the seeds of this node are in the vault.
    """

    def __init__(
        self,
        vault: Vault,
        local: Local,
        journal: ShardJournal,
        session: NodeSession,
        seeded: Callable[[], None],
    ) -> None:
        self._vault = vault
        self._local = local
        self._journal = journal
        self._session = session
        self._seeded = seeded
        self._seeds = _Seeds.NONE
        self._sending: Sending | None = None
        self._is_collecting = False
        self._is_rounds_turn = False
        # When the last round began, and the seconds that the one before took.
        self._round_at = self._round_took = 0.0

    @property
    def is_sending(self) -> bool:
        """Whether a round is under way."""
        return self._sending is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return self._sending is None and not self._is_collecting

    @property
    def refused(self) -> str:
        """Why a commit was refused, so that the session must end."""
        return self._sending.refused if self._sending is not None else ""

    def lag(self, now: float) -> float:
        """Seconds that the last round took, or that the present one has taken, if that is more."""
        taken = now - self._round_at if self._sending is not None else 0.0
        return max(self._round_took, taken)

    def note_seeds(self) -> None:
        """The journal has the seeds of this node: the next round goes out in any case."""
        self._seeds = _Seeds.NOTED

    def resend(self) -> None:
        """Send again what the connection may have lost of a round."""
        if self._sending is not None:
            self._sending.step()

    def step(self, now: float) -> None:
        """End a round; begin one, or collect letters."""
        if self._sending is not None and self._sending.is_done:
            self._end_round(self._sending, now)
        if not self.is_idle:
            return
        # In turn, so that neither waits for ever where answers take long.
        self._is_rounds_turn = not self._is_rounds_turn
        if self._is_rounds_turn:
            # The pace keeps rounds large; with nothing left to fetch, others wait for this one.
            is_due = self._journal.is_due or self._local.is_spent
            if is_due and (self._journal.has_news or self._seeds is _Seeds.NOTED):
                self._begin_round(now)
        elif at := self._journal.inbox_at():
            self._is_collecting = True
            self._ask_letters(at)

    # -- rounds

    def _begin_round(self, now: float) -> None:
        if self._seeds is _Seeds.NOTED:
            self._seeds = _Seeds.SENT
        self._round_at = now
        self._sending = Sending(self._vault, self._session.name, self._journal.next_round())
        self._sending.step()

    def _end_round(self, sending: Sending, now: float) -> None:
        self._journal.settle(sending.round)
        self._sending = None
        self._round_took = now - self._round_at
        if self._seeds is _Seeds.SENT:
            self._seeds = _Seeds.NONE
            self._seeded()

    # -- letters

    def _ask_letters(self, at: Mapping[int, int]) -> None:
        again = partial(self._ask_letters, at)
        self._vault.collect(at, self._session.then(self._collected, again))

    def _collected(self, letters: Mapping[int, Sequence[bytes]]) -> None:
        self._is_collecting = False
        for shard, packed in letters.items():
            if self._journal.serves(shard):
                self._local.receive(shard, [line for some in packed for line in unpack(some)])
                self._journal.received(shard, len(packed))


class Thinning:
    """Reads the blocks of one shard at a time; without an answer they stay as they are."""

    def __init__(self, vault: Vault, journal: ShardJournal) -> None:
        self._vault = vault
        self._journal = journal
        self._is_reading = False

    def __repr__(self) -> str:
        return f"<Thinning {'reading' if self._is_reading else 'idle'}>"

    def step(self) -> None:
        """Read some, if there are any and none are being read."""
        if not self._is_reading and (found := self._journal.sparse()) is not None:
            shard, take, blocks = found
            self._is_reading = True
            self._vault.read_blocks(shard, blocks, partial(self._read, take))

    def _read(self, take: int, answer: Sequence[tuple[int, bytes, bytes]] | Away) -> None:
        self._is_reading = False
        if not isinstance(answer, Away):
            self._journal.thin(take, answer)


#: Seconds between two looks at all shards, while shards move, and while the end may be near.
_LOOK_MOVING, _LOOK = 0.4, 1.0
#: Shards that are loaded at once, if they have no more lines than `LINES`.
_LOADS = 16


class Ownership:
    """The shards that the session has. A look at all shards begins each move between members."""

    def __init__(
        self,
        vault: Vault,
        local: Local,
        journal: ShardJournal,
        session: NodeSession,
        members: Members,
        exchange: Exchange,
        node: "Node",
    ) -> None:
        self._vault = vault
        self._local = local
        self._journal = journal
        self._session = session
        self._members = members
        self._exchange = exchange
        self._node = node
        self._holding = Holding()
        self._ending = EndProof()
        self._is_looking = False
        self._looked_at = self._look_at = float("-inf")
        # Whether the node owed something at the last step.
        self._owed = True
        # A look that found shards to take, and when its answer came.
        self._look: tuple[Sequence[ShardLook], float] = (), float("inf")
        # Lacking shards that had no living owner, as they were then.
        self._free: dict[int, ShardLook] = {}
        # By shard that is taken or loaded: the number of its owed lines.
        self._loads: dict[int, int] = {}
        # By leaving shard: the number of URLs that were done when it was idle.
        self._idle: dict[int, int] = {}

    @property
    def served(self) -> int:
        """The number of shards whose URLs this node fetches."""
        return len(self._holding.at(Stage.SERVED))

    @property
    def is_out(self) -> bool:
        """Whether the session has no shard at all."""
        return not self._holding.at(*Stage)

    def plan(self, shares: Mapping[str, Set[int]]) -> None:
        """Let these be the shards that each member should have."""
        self._holding.plan(shares, self._session.name)
        self._look_at = self._node.now

    def step(self, *, leaves: bool) -> None:
        """Leave shards that are idle, and look at all if it is time.

        `leaves`: the node leaves, so it takes no shard any more and leaves all.
        """
        if leaves:
            self._holding.wanted = frozenset()
            self._withdraw(self._holding.surplus)
        for shard in self._holding.at(Stage.LEAVING):
            self._leave(shard)
        self._look_around()

    # -- looks

    def _look_around(self) -> None:
        had_owed, self._owed = self._owed, self._journal.owes
        if had_owed and not self._owed:
            # It may have been the last node at work.
            self._look_at = min(self._look_at, self._looked_at + _LOOK_MOVING)
        if self._node.now >= self._look_at and not self._is_looking:
            is_moving = bool(self._holding.lacking or self._holding.surplus)
            self._look_at = self._node.now + (_LOOK_MOVING if is_moving else _LOOK)
            if is_moving or not self._owed:
                self._looked_at = self._node.now
                self._is_looking = True
                self._ask_look()

    def _ask_look(self) -> None:
        # Before the crawl runs, its seeds may still be on their way.
        runs = self._members.state is FleetState.RUNNING
        looked = partial(self._looked, runs)
        self._vault.look(self._session.then(looked, self._ask_look))

    def _looked(self, runs: bool, look: Sequence[ShardLook]) -> None:
        self._is_looking = False
        self._withdraw(self._holding.to_leave(look))
        # A look waits for the next news of who is alive; a newer one would wait longer.
        if not self._look[0] and self._holding.to_take(look, self._members.sessions):
            self._look = look, self._node.now
            self._node.beat_soon()
        if runs:
            self._find_end(look)

    def _find_end(self, look: Sequence[ShardLook]) -> None:
        was_near = self._ending.is_near
        if self._ending.proven(look):
            self._node.finish()
        elif self._ending.is_near and not was_near:
            # The proof needs no time between two looks.
            self._look_at = self._node.now

    # -- taking

    def find_free(self) -> None:
        """Take the shards that nobody has. Who is alive must have been asked after the look."""
        look, at = self._look
        if self._members.seen_at > at:
            self._look = (), float("inf")
            self._free = {k: look[k] for k in self._holding.to_take(look, self._members.sessions)}
            self._take()

    def _take(self) -> None:
        """Take as many shards as are loaded at once. Those with an owner by now are refused.

        The others stay as they are: if all were taken, their owners would leave the next ones.
        """
        while self._free and len(self._loads) < _LOADS:
            shard, standing = self._free.popitem()
            if shard in self._holding.wanted:
                if self._loads and sum(self._loads.values()) + standing.owing > LINES:
                    self._free[shard] = standing
                    break
                self._loads[shard] = standing.owing
                self._holding.move(shard, Stage.TAKING)
                self._ask_take(shard, standing.own, standing.n)

    def _ask_take(self, shard: int, own: str, n: int) -> None:
        def taken(answer: Gained | Owned) -> None:
            if isinstance(answer, Gained):
                self._holding.move(shard, Stage.LOADING)
                self._journal.take_up(shard, answer.n)
                self._ask_part(shard, "")
            else:
                self._holding.move(shard, None)
                del self._loads[shard]
                self._take()

        then = self._session.then(taken, partial(self._ask_take, shard, own, n))
        self._vault.take(shard, own, n, self._session.name, then)

    def _ask_part(self, shard: int, cursor: str) -> None:
        def loaded(part: Part) -> None:
            lines = self._journal.adopt(shard, part.blocks)
            self._local.loaded(shard, part, lines)
            if part.cursor is None:
                self._journal.serve(shard)
                self._holding.move(shard, Stage.SERVED)
                del self._loads[shard]
                self._take()
            else:
                self._ask_part(shard, part.cursor)

        then = self._session.then(loaded, partial(self._ask_part, shard, cursor))
        self._vault.load(shard, cursor, then)

    # -- leaving

    def _withdraw(self, shards: Iterable[int]) -> None:
        for shard in shards:
            self._holding.move(shard, Stage.LEAVING)
            self._journal.withdraw(shard)
            self._local.withdraw(shard)

    def _leave(self, shard: int) -> None:
        """Leave a shard that is idle and of which the vault has all."""
        if self._local.busy(shard):
            return
        done = self._idle.setdefault(shard, self._journal.noted)
        is_written = self._journal.known >= done and not self._journal.has_changes(shard)
        if is_written and self._exchange.is_idle:
            self._holding.move(shard, Stage.LEFT)
            n = self._journal.number(shard)
            self._journal.drop(shard)
            del self._idle[shard]
            self._ask_leave(shard, n)

    def _ask_leave(self, shard: int, n: int) -> None:
        def left(answer: Answered | Behind) -> None:
            if isinstance(answer, Behind):
                self._node.lose(f"shard {shard} has number {answer.n} instead of {n}")
            else:
                self._holding.move(shard, None)

        then = self._session.then(left, partial(self._ask_leave, shard, n))
        self._vault.leave(shard, self._session.name, n, then)


#: Seconds between two steps of the work that can wait; letters are collected in each second one.
_TICK = 0.1


class Node:
    """Steps between the turns of the crawl. After `step` the crawl asks `may_open`.

    A session has `Members`, who are alive; an `Ownership` of shards; and an `Exchange` of rounds
    and letters with the vault.
    """

    def __init__(
        self,
        vault: Vault,
        local: Local,
        journal: ShardJournal,
        name_session: Callable[[], str],
        has_ended: Callable[[str], bool],
        shards: int,
        wait: float,
    ) -> None:
        """`name_session` gives a name that was never used; `wait` is waitDuration (s).

        `has_ended` tells whether the process of a session is known to have ended.
        """
        self._vault = vault
        self._local = local
        self._journal = journal
        self._name_session = name_session
        self._has_ended = has_ended
        self._shares = Shares(shards)
        self._wait = wait
        #: Why the last session ended.
        self.lost = ""
        #: Why it cannot join.
        self.refused = ""
        #: Whether the node has left for good.
        self.is_over = False
        self._is_leaving = self._is_quitting = False
        #: The time of the last step.
        self.now = float("-inf")
        self._begin()

    def _begin(self) -> None:
        """Begin as a node that is no member."""
        vault, local, journal = self._vault, self._local, self._journal
        self._session = session = NodeSession()
        self._members = members = Members()
        seeded = partial(self._declare, FleetState.NEW, FleetState.RUNNING)
        self._exchange = exchange = Exchange(vault, local, journal, session, seeded)
        self._ownership = Ownership(vault, local, journal, session, members, exchange, self)
        # The name of a session whose join is under way.
        self._joining = ""
        self._beat_at = self._tick_at = float("-inf")
        # No request is opened before; None before the first step of a session.
        self._rest_until: float | None = None
        self._is_interrupted = False

    # -- what the crawl asks

    def may_open(self, now: float) -> bool:
        """Whether requests may be opened: nobody else can have our shards or ask our addresses."""
        return (
            self._members.is_certain(now)
            and self._rest_until is not None
            and now >= self._rest_until
            and self._members.state in (FleetState.NEW, FleetState.RUNNING)
            and not self._vault.lost
        )

    @property
    def session(self) -> str:
        """The name under which this node is a member; empty before and after."""
        return self._session.name

    @property
    def state(self) -> FleetState:
        """The state of the crawl when it was last seen."""
        return self._members.state

    @property
    def served(self) -> int:
        """The number of shards whose URLs this node fetches."""
        return self._ownership.served

    @property
    def members(self) -> int:
        """The number of nodes, this one included; 0 outside."""
        return len(self._members.sessions)

    @property
    def lag(self) -> float:
        """Seconds that the last round took, or that the present one has taken, if that is more."""
        return self._exchange.lag(self.now)

    @property
    def deadline(self) -> float:
        """When `step` has something to do, if no answer comes before."""
        if self.is_over or self._is_quitting:
            return float("inf")
        if self.session:
            return min(self._beat_at, self._tick_at)
        return float("inf") if self._joining and not self._is_leaving else self._beat_at

    def leave(self) -> None:
        """Leave in order: what is in flight lands, all is written, and others take the shards."""
        self._is_leaving = True

    # -- steps

    def step(self, now: float) -> None:
        """Do what is due."""
        self.now = now
        if self.is_over or self._is_quitting:
            return
        if not self.session:
            self._join()
            return
        if self._vault.lost:
            self.lose(self._vault.lost)
            return
        if self._exchange.refused:
            self.lose(self._exchange.refused)
            return
        if self._rest_until is None:
            self._rest_until = now + max(0.0, ABORT + self._wait - self._vault.up)
        self._beat()
        self.interrupt(now)
        if now >= self._tick_at:
            self._tick_at = now + _TICK
            self._session.resend()
            self._exchange.resend()
            self._ownership.step(leaves=self._is_leaving)
            self._exchange.step(now)
            self._end()

    def lose(self, reason: str) -> None:
        """End the session; the next step begins another."""
        self.lost = reason
        self._local.clear()
        self._journal.clear_all()
        # Nothing of it is in flight any more, so others need not wait until it is dead.
        self._vault.quit(self.session, _ignore)
        self._session.end()
        self._begin()

    # -- members

    def _join(self) -> None:
        if self._is_leaving:
            self.is_over = True
        elif not self._joining and self.now >= self._beat_at:
            self._beat_at = self.now + BEAT
            # A new name each time: a join that got lost may be executed after a burial.
            self._joining = self._name_session()
            self._vault.join(self._joining, partial(self._joined, self._joining, self.now))

    def _joined(self, session: str, sent: float, answer: Present | Answered | Away) -> None:
        self._joining = ""
        if isinstance(answer, Present):
            self._session.name = session
            if answer.state is FleetState.NEW and self._local.seed():
                self._exchange.note_seeds()
            self._present(answer, sent)
        elif not isinstance(answer, Away):
            taken = answer is Answered.TAKEN
            self.refused = "another node has its name" if taken else "the crawl is gone"
            self.is_over = True

    def _beat(self) -> None:
        if self.now >= self._beat_at:
            self._beat_at = self.now + BEAT
            self._vault.beat(self.session, partial(self._beaten, self.session, self.now))

    def _beaten(self, session: str, sent: float, answer: Present | Answered | Away) -> None:
        if session != self.session or isinstance(answer, Away):
            return
        if isinstance(answer, Present):
            self._present(answer, sent)
        else:
            self.lose("others took this node for dead")

    def _present(self, present: Present, sent: float) -> None:
        before = self._members.sessions
        silent = self._members.answered(present, sent, self.now)
        for session, counter in present.sessions.items():
            if session != self.session and (session in silent or self._has_ended(session)):
                self._vault.bury(session, counter, _ignore)
                self.beat_soon()
        if self._members.sessions != before:
            self._ownership.plan(self._shares.of(present.sessions))
        if self._members.state in (FleetState.FINISHED, FleetState.STOPPED):
            self._is_leaving = True
        self._ownership.find_free()

    def beat_soon(self) -> None:
        """Ask who is alive at the next step."""
        self._beat_at = self.now

    def interrupt(self, now: float) -> None:
        """Abort what is in flight, once, if others may ask its addresses soon.

        The crawl calls it also when it wakes, before it reads or writes a socket: a node that was
        stopped may have a connection on which the request is still to be sent.
        """
        must = bool(self.session) and self._members.must_abort(now)
        if must and not self._is_interrupted:
            self._local.interrupt()
        self._is_interrupted = must

    # -- the state of the crawl

    def _end(self) -> None:
        """Quit when all is left and written."""
        is_out = self._is_leaving and self._ownership.is_out
        if is_out and not self._journal.has_news and not self._exchange.is_sending:
            self._is_quitting = True
            # Until that is done, others would keep this node's share of the shards for it.
            self._vault.quit(self.session, self._has_quit)

    def _has_quit(self, _: object) -> None:
        self._session.end()
        self._begin()
        self.is_over = True

    def finish(self) -> None:
        """All shards together have nothing left to do."""
        self._declare(FleetState.RUNNING, FleetState.FINISHED)

    def _declare(self, old: FleetState, new: FleetState) -> None:
        def declared(state: FleetState) -> None:
            self._members.state = state
            # The next answer to a beat begins what the new state asks for.
            self.beat_soon()

        again = partial(self._declare, old, new)
        self._vault.declare(old, new, self._session.then(declared, again))


def _ignore(_: object) -> None:
    """For answers that change nothing."""
