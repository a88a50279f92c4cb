"""The fair share of searches on the disk, which `explain` makes for clients."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from larbinpy.console.ports.commands import Wait
from larbinpy.loop.clock import Clock
from larbinpy.loop.slice import SLICE, Slice

_T = TypeVar("_T")


class Searches:
    """Lets one search work at a time, however many clients search.

    All of them together take a slice of a turn, then pause for as long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_at = 0.0

    def __repr__(self) -> str:
        return f"<Searches next at {self._next_at}>"

    def run(self, search: Iterable[_T | None]) -> Iterator[_T | Wait]:
        """The results of `search`, which yields None often; Wait.TURN while it must wait.

        Raises the OSError of the search.
        """
        try:
            yield from self._turn()
            work = Slice(self._clock)
            for found in search:
                if found is not None:
                    self._next_at = self._clock()
                    yield found
                elif work.over:
                    yield Wait.TURN
                    yield from self._turn()
                    work = Slice(self._clock)
        except OSError:
            self._next_at = self._clock()
            raise

    def _turn(self) -> Iterator[Wait]:
        """Wait until no other search is running and the pause after the last slice is over."""
        while self._clock() < self._next_at:
            yield Wait.TURN
        self._next_at = self._clock() + 2 * SLICE
