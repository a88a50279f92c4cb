"""A round on its way: letters and commits are sent, and sent again until all are in the vault."""

from collections.abc import Callable
from functools import partial

from larbinpy.fleet.journal import Round
from larbinpy.fleet.vault import Away, Behind, Commit, Vault, Verdict


class Sending:
    """Sends a round. `step` sends again what the connection may have lost.

    A letter that arrives twice is known to its receiver. A commit that was applied finds its
    shard one number further.
    """

    def __init__(self, vault: Vault, session: str, round: Round) -> None:
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

    def __repr__(self) -> str:
        state = "done" if self.is_done else f"{self._awaited} awaited, {len(self._unsent)} unsent"
        return f"<Sending {state}>"

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

        def then(answer: Verdict | Behind | Away) -> None:
            if answer is Verdict.FENCED:
                self.refused = f"shard {shard} has another owner"
            elif isinstance(answer, Behind) and answer.n != n + 1:
                self.refused = f"shard {shard} has number {answer.n} instead of {n}"
            self._answered(again, answer)

        self._vault.commit(shard, session, n, commit, then)

    def _flush(self) -> None:
        def then(answer: Verdict | Away) -> None:
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
