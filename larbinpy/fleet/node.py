"""A node of a fleet: joins the crawl, owns shards, and keeps their truth in the vault.

What makes a session doubtful ends it: it is gone from the members, a commit of it was refused, or
the vault may have forgotten what it had acknowledged. Then the node forgets all but its outputs and
joins anew, under another name. A connection that was merely lost ends nothing: what is unanswered
is sent again.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any

from larbinpy.fleet.ending import Ending
from larbinpy.fleet.holding import Holding, Stage
from larbinpy.fleet.journal import Journal
from larbinpy.fleet.letters import unpack
from larbinpy.fleet.local import Local
from larbinpy.fleet.members import ABORT, BEAT, Members
from larbinpy.fleet.rounds import Sending
from larbinpy.fleet.shards import Shares
from larbinpy.fleet.vault import (
    Away,
    Behind,
    CrawlState,
    Owned,
    Part,
    Present,
    Standing,
    Taken,
    Then,
    Vault,
    Verdict,
)

#: Seconds between two looks at all shards, while shards are lacking or the end may be near.
_LOOK = 1.0
#: Shards that are loaded at once; their parts are in memory.
_LOADS = 16
#: Seconds between two steps of the work that can wait; letters are collected in each second one.
_TICK = 0.1


class _Seeds(Enum):
    """The seeds of this node: nothing to do, noted, or in the round under way."""

    NONE = "none"
    NOTED = "noted"
    SENT = "sent"


class Node:
    """Steps between the turns of the crawl. After `step` the crawl asks `may_open`."""

    def __init__(
        self,
        vault: Vault,
        local: Local,
        journal: Journal,
        name_session: Callable[[], str],
        shards: int,
        wait: float,
    ) -> None:
        """`name_session` gives a name that was never used; `wait` is waitDuration (s)."""
        self._vault = vault
        self._local = local
        self._journal = journal
        self._name_session = name_session
        self._shares = Shares(shards)
        self._wait = wait
        #: The name under which this node is a member; empty before and after.
        self.session = ""
        #: Why the last session ended.
        self.lost = ""
        #: Whether the node has left for good.
        self.is_over = False
        self._is_leaving = self._is_quitting = False
        self._now = float("-inf")
        self._begin()

    def __repr__(self) -> str:
        return f"<Node {self.session or 'outside'} {self._holding!r} {self._journal!r}>"

    def _begin(self) -> None:
        """Begin as a node that is no member."""
        self.session = ""
        # The name of a session whose join is under way.
        self._joining = ""
        self._members = Members()
        self._holding = Holding()
        self._ending = Ending()
        self._sending: Sending | None = None
        self._is_collecting = self._is_looking = False
        self._is_rounds_turn = False
        # When the last round began, and the seconds that the one before took.
        self._round_at, self._round_took = self._now, 0.0
        self._beat_at = self._look_at = self._tick_at = float("-inf")
        # No request is opened before; None before the first step of a session.
        self._rest_until: float | None = None
        self._is_interrupted = False
        self._seeds = _Seeds.NONE
        # A look, and when its answer came.
        self._look: tuple[Sequence[Standing], float] = (), float("inf")
        # Lacking shards that had no living owner, as they were then.
        self._free: dict[int, Standing] = {}
        # By leaving shard: the number of URLs that were done when it was idle.
        self._idle: dict[int, int] = {}
        # Calls that send again what was not answered.
        self._unsent: list[Callable[[], None]] = []

    # -- what the crawl asks

    def may_open(self, now: float) -> bool:
        """Whether requests may be opened: nobody else can have our shards or ask our addresses."""
        return (
            self._members.is_certain(now)
            and self._rest_until is not None
            and now >= self._rest_until
            and self._members.state in (CrawlState.NEW, CrawlState.RUNNING)
            and not self._vault.lost
        )

    @property
    def state(self) -> CrawlState:
        """The state of the crawl when it was last seen."""
        return self._members.state

    @property
    def served(self) -> int:
        """The number of shards whose URLs this node fetches."""
        return len(self._holding.at(Stage.SERVED))

    @property
    def members(self) -> int:
        """The number of nodes, this one included; 0 outside."""
        return len(self._members.sessions)

    @property
    def lag(self) -> float:
        """Seconds that the last round took, or that the present one has taken, if that is more."""
        taken = self._now - self._round_at if self._sending is not None else 0.0
        return max(self._round_took, taken)

    @property
    def deadline(self) -> float:
        """When `step` has something to do, if no answer comes before."""
        return min(self._beat_at, self._tick_at)

    def leave(self) -> None:
        """Leave in order: what is in flight lands, all is written, and others take the shards."""
        self._is_leaving = True

    # -- steps

    def step(self, now: float) -> None:
        """Do what is due."""
        self._now = now
        if self.is_over or self._is_quitting:
            return
        if not self.session:
            self._join()
            return
        if self._vault.lost:
            self._lose(self._vault.lost)
            return
        if self._sending is not None and self._sending.refused:
            self._lose(self._sending.refused)
            return
        if self._rest_until is None:
            self._rest_until = now + max(0.0, ABORT + self._wait - self._vault.up)
        self._beat()
        self._interrupt()
        if now >= self._tick_at:
            self._tick_at = now + _TICK
            self._resend()
            self._hold()
            self._look_around()
            self._exchange()
            self._end()

    def _lose(self, reason: str) -> None:
        """End the session; the next step begins another."""
        self.lost = reason
        self._local.clear()
        self._journal.clear_all()
        # Nothing of it is in flight any more, so others need not wait until it is dead.
        self._vault.quit(self.session, _ignore)
        self._begin()

    def _then(self, handler: Callable[[Any], None], again: Callable[[], None]) -> Then[Any]:
        """Handle an answer if the session is still the same; after an `Away`, ask again."""
        session = self.session

        def then(answer: Any) -> None:
            if self.session != session:
                return
            if isinstance(answer, Away):
                self._unsent.append(again)
            else:
                handler(answer)

        return then

    def _resend(self) -> None:
        unsent, self._unsent = self._unsent, []
        for send in unsent:
            send()
        if self._sending is not None:
            self._sending.step()

    # -- members

    def _join(self) -> None:
        if self._is_leaving:
            self.is_over = True
        elif not self._joining and self._now >= self._beat_at:
            self._beat_at = self._now + BEAT
            # A new name each time: a join that got lost may be executed after a burial.
            self._joining = self._name_session()
            self._vault.join(self._joining, partial(self._joined, self._joining, self._now))

    def _joined(self, session: str, sent: float, answer: Present | Verdict | Away) -> None:
        self._joining = ""
        if isinstance(answer, Present):
            self.session = session
            if answer.state is CrawlState.NEW and self._local.seed():
                self._seeds = _Seeds.NOTED
            self._present(answer, sent)
        elif not isinstance(answer, Away):
            self.lost = "the crawl does not exist any more"
            self.is_over = True

    def _beat(self) -> None:
        if self._now >= self._beat_at:
            self._beat_at = self._now + BEAT
            self._vault.beat(self.session, None, partial(self._beaten, self.session, self._now))

    def _beaten(self, session: str, sent: float, answer: Present | Verdict | Away) -> None:
        if session != self.session or isinstance(answer, Away):
            return
        if isinstance(answer, Present):
            self._present(answer, sent)
        else:
            self._lose("others took this node for dead")

    def _present(self, present: Present, sent: float) -> None:
        before = self._members.sessions
        for session, counter in self._members.answered(present, sent, self._now).items():
            if session != self.session:
                self._vault.bury(session, counter, _ignore)
                self._beat_at = self._now
        if self._members.sessions != before:
            shares = self._shares.of(present.sessions)
            self._holding.wanted = shares.get(self.session, set())
            self._look_at = self._now
        if self._members.state in (CrawlState.FINISHED, CrawlState.STOPPED):
            self._is_leaving = True
        self._find_free()

    def _interrupt(self) -> None:
        """Abort what is in flight, once, if others may ask its addresses soon."""
        must = self._members.must_abort(self._now)
        if must and not self._is_interrupted:
            self._local.interrupt()
        self._is_interrupted = must

    # -- shards

    def _hold(self) -> None:
        if self._is_leaving:
            self._holding.wanted = frozenset()
        for shard in self._holding.to_leave():
            self._holding.move(shard, Stage.LEAVING)
            self._journal.withdraw(shard)
            self._local.withdraw(shard)
        for shard in self._holding.at(Stage.LEAVING):
            self._leave(shard)

    def _look_around(self) -> None:
        if self._now >= self._look_at and not self._is_looking:
            self._look_at = self._now + _LOOK
            lacks = bool(self._holding.lacking) and not self._free
            if lacks or not self._journal.owes:
                self._is_looking = True
                self._ask_look()

    def _ask_look(self) -> None:
        self._vault.look(self._then(self._looked, self._ask_look))

    def _looked(self, look: Sequence[Standing]) -> None:
        self._is_looking = False
        self._look = look, self._now
        if self._holding.to_take(look, self._members.sessions):
            self._beat_at = self._now
        if self._ending.proven(look) and self._members.state is CrawlState.RUNNING:
            self._ask_declare(CrawlState.RUNNING, CrawlState.FINISHED)

    def _find_free(self) -> None:
        """Find the shards that nobody has. Who is alive must have been asked after the look."""
        look, at = self._look
        if self._members.seen_at > at:
            self._look = (), float("inf")
            free = self._holding.to_take(look, self._members.sessions)
            self._free = {shard: look[shard] for shard in free}
            self._take()

    def _take(self) -> None:
        """Take as many shards as may be loaded at once. Those with an owner by now are refused."""
        under_way = len(self._holding.at(Stage.TAKING, Stage.LOADING)) if self._free else 0
        while self._free and under_way < _LOADS:
            shard, standing = self._free.popitem()
            if shard in self._holding.wanted:
                under_way += 1
                self._holding.move(shard, Stage.TAKING)
                self._ask_take(shard, standing.own, standing.n)

    def _ask_take(self, shard: int, own: str, n: int) -> None:
        def taken(answer: Taken | Owned) -> None:
            if isinstance(answer, Taken):
                self._holding.move(shard, Stage.LOADING)
                self._journal.take_up(shard, answer.n)
                self._ask_part(shard, "")
            else:
                self._holding.move(shard, None)
                self._take()

        again = partial(self._ask_take, shard, own, n)
        self._vault.take(shard, own, n, self.session, self._then(taken, again))

    def _ask_part(self, shard: int, cursor: str) -> None:
        def loaded(part: Part) -> None:
            lines = self._journal.adopt(shard, part.blocks)
            self._local.loaded(shard, part.fingerprints, lines, part.waits)
            if part.cursor is None:
                self._journal.serve(shard)
                self._holding.move(shard, Stage.SERVED)
                self._take()
            else:
                self._ask_part(shard, part.cursor)

        self._vault.load(shard, cursor, self._then(loaded, partial(self._ask_part, shard, cursor)))

    def _leave(self, shard: int) -> None:
        """Leave a shard that is idle and of which the vault has all."""
        if self._local.busy(shard):
            return
        done = self._idle.setdefault(shard, self._journal.noted)
        is_written = self._journal.known >= done and not self._journal.has_changes(shard)
        if is_written and self._sending is None and not self._is_collecting:
            self._holding.move(shard, Stage.LEFT)
            n = self._journal.number(shard)
            self._journal.drop(shard)
            del self._idle[shard]
            self._ask_leave(shard, n)

    def _ask_leave(self, shard: int, n: int) -> None:
        def left(answer: Verdict | Behind) -> None:
            if isinstance(answer, Behind):
                self._lose(f"shard {shard} has number {answer.n} instead of {n}")
            else:
                self._holding.move(shard, None)

        again = partial(self._ask_leave, shard, n)
        self._vault.leave(shard, self.session, n, self._then(left, again))

    # -- rounds and letters

    def _exchange(self) -> None:
        """Collect letters or send a round, never both: a commit moves the inbox."""
        if self._sending is not None and self._sending.is_done:
            self._journal.settle(self._sending.round)
            self._sending = None
            self._round_took = self._now - self._round_at
            if self._seeds is _Seeds.SENT:
                self._seeds = _Seeds.NONE
                self._ask_declare(CrawlState.NEW, CrawlState.RUNNING)
        if self._sending is not None or self._is_collecting:
            return
        # In turn, so that neither waits for ever where answers take long.
        self._is_rounds_turn = not self._is_rounds_turn
        if self._is_rounds_turn:
            if self._journal.is_due and (self._journal.has_news or self._seeds is _Seeds.NOTED):
                self._begin_round()
        elif at := self._journal.inbox_at():
            self._is_collecting = True
            self._ask_letters(at)

    def _begin_round(self) -> None:
        if self._seeds is _Seeds.NOTED:
            self._seeds = _Seeds.SENT
        self._round_at = self._now
        self._sending = Sending(self._vault, self.session, self._journal.next_round())
        self._sending.step()

    def _ask_letters(self, at: Mapping[int, int]) -> None:
        self._vault.collect(at, self._then(self._collected, partial(self._ask_letters, at)))

    def _collected(self, letters: Mapping[int, Sequence[bytes]]) -> None:
        self._is_collecting = False
        for shard, packed in letters.items():
            if self._journal.serves(shard):
                self._local.receive(shard, [line for some in packed for line in unpack(some)])
                self._journal.received(shard, len(packed))

    # -- the state of the crawl

    def _end(self) -> None:
        """Quit when all is left and written."""
        is_out = self._is_leaving and not self._holding.at(*Stage)
        if is_out and not self._journal.has_news and self._sending is None:
            self._is_quitting = True
            # Until that is done, others would keep this node's share of the shards for it.
            self._vault.quit(self.session, self._has_quit)

    def _has_quit(self, _: object) -> None:
        self._begin()
        self.is_over = True

    def _ask_declare(self, old: CrawlState, new: CrawlState) -> None:
        def declared(state: CrawlState) -> None:
            self._members.state = state

        again = partial(self._ask_declare, old, new)
        self._vault.declare(old, new, self._then(declared, again))


def _ignore(_: object) -> None:
    """For answers that change nothing."""
