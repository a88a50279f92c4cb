"""Random octets for questions: ids, ports and the case of letters."""

import random

_DRAWN = 8192


class RandomBytes:
    """Octets of `rng`, drawn many at a time.

    Asking the system for a few octets takes longer than writing a whole question.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn = b""
        self._used = 0

    def take(self, count: int) -> bytes:
        """The next `count` octets; none is returned twice."""
        start = self._used
        self._used = start + count
        if self._used > len(self._drawn):
            self._drawn = self._rng.randbytes(_DRAWN)
            start, self._used = 0, count
        return self._drawn[start : self._used]
