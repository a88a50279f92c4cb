"""A session: a name under which a node is a member once, and its questions to the vault."""

from collections.abc import Callable
from typing import Any

from larbinpy.fleet.vault import Away, Then


class Session:
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
