"""Names that all nodes share, as those who decide see them in Redis."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from larbinpy.fleet.vault import Then


class Shared(NamedTuple):
    """The addresses of a name, and the Unix time until which they are used."""

    addresses: tuple[str, ...]
    until: float


class NameVault(Protocol):
    """Names in Redis; `then` is called as by the verbs of a `Vault`."""

    @property
    def trouble(self) -> str:
        """Why Redis has to be waited for; "" otherwise."""

    def find(self, name: str, then: Then[Shared | None]) -> None:
        """The answer that a node learned for `name`, even if it has expired."""

    def learn(self, name: str, shared: Shared) -> None:
        """Keep the addresses of a name; nobody hears whether it was done."""

    def learn_absent(self, names: Sequence[str]) -> None:
        """Tell all nodes that these names do not exist."""

    def absent(self, cursor: str, then: Then[tuple[str, Sequence[str]]]) -> None:
        """Some names that do not exist, and the next cursor; the first is a Unix time in ms."""
