"""The crawl of a node, as the deciders of the fleet see it."""

from collections.abc import Sequence
from typing import Protocol

from larbinpy.fleet.vault import Part


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
