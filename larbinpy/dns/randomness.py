"""Random octets for questions: ids, ports and the case of letters."""

import random

_DRAWN = 8192


class RandomBytes:
    """Octets of `rng`, drawn many at a time: asking the system for those of each question would
    cost more than writing the question."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        """`count` octets that are given out once only."""
        start = self._used
        self._used = start + count
        if self._used > len(self._drawn):
            self._drawn = self._rng.randbytes(_DRAWN)
            start, self._used = 0, count
        return self._drawn[start : self._used]
