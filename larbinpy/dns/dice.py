"""Random octets for questions: ids, ports, the case of letters."""

import random

_DRAWN = 8192


class Dice:
    """Octets of `rng`, drawn many at a time: to ask the system for each question costs more
    than to write the question."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        """`count` octets that nobody else gets."""
        start = self._used
        self._used = start + count
        if self._used > len(self._drawn):
            self._drawn = self._rng.randbytes(_DRAWN)
            start, self._used = 0, count
        return self._drawn[start : self._used]
