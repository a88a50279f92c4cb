"""Keeps the vault small: reads blocks with few owed lines, for the journal to thin them out."""

from collections.abc import Sequence
from functools import partial

from larbinpy.fleet.journal import Journal
from larbinpy.fleet.vault import Away, Vault


class Thinning:
    """Reads the blocks of one shard at a time; without an answer they stay as they are."""

    def __init__(self, vault: Vault, journal: Journal) -> None:
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
