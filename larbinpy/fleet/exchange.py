"""The exchange of a session with the vault: rounds go out, and letters come in."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial

from larbinpy.fleet.journal import Journal
from larbinpy.fleet.letters import unpack
from larbinpy.fleet.local import Local
from larbinpy.fleet.rounds import Sending
from larbinpy.fleet.session import Session
from larbinpy.fleet.vault import Vault


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
        journal: Journal,
        session: Session,
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

    def __repr__(self) -> str:
        return f"<Exchange {self._sending!r}>"

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
