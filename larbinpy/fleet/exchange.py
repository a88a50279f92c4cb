"""The exchange of a session with the vault: rounds go out, and letters come in.

The crawl of a node, as the deciders of the fleet see it.

A round on its way: letters and commits are sent, and sent again until all are in the vault.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Protocol

from larbinpy.fleet.journal import JournalRound, ShardJournal, unpack
from larbinpy.fleet.vault import Answered, Away, Behind, Commit, NodeSession, Part, Vault


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
