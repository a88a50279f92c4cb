"""Growing waits between tries of what may succeed later."""

#: The first wait and the longest (s); each is twice the one before.
_FIRST = 1.0
_MOST = 30.0


class Backoff:
    """The time of the next try: 1, 2, 4 ... 30 seconds after the last failure."""

    __slots__ = ("_wait", "due")

    def __init__(self) -> None:
        self._wait = _FIRST
        #: When to try again.
        self.due = 0.0

    def __repr__(self) -> str:
        return f"<Backoff due {self.due}, then {self._wait:g} s>"

    def failed(self, now: float) -> float:
        """Note a failure; return the seconds until the next try."""
        wait = self._wait
        self.due = now + wait
        self._wait = min(2 * wait, _MOST)
        return wait

    def succeeded(self) -> None:
        """Begin with the shortest wait again."""
        self._wait = _FIRST
