"""How fast bytes may come: a token bucket over all transfers (bondWidth)."""

# Paused transfers go on when a tenth of a second's worth has gathered: sooner, and each
# would be woken for a few bytes; later, and the flow would come in jerks.
_WORTHWHILE = 0.1


class Throttle:
    """A bucket of `rate` bytes per second that holds one second's worth.

    What was received cannot be taken back, so spending may leave a debt, which the
    next seconds pay: over time no more than `rate` comes in.
    """

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._tokens = rate
        self._at = now

    def __repr__(self) -> str:
        return f"<Throttle {self.rate:.0f} B/s, {self._tokens:.0f} left>"

    def spend(self, size: int) -> None:
        self._tokens -= size

    def refill(self, now: float) -> None:
        self._tokens = min(self.rate, self._tokens + (now - self._at) * self.rate)
        self._at = now

    @property
    def exhausted(self) -> bool:
        return self._tokens <= 0

    @property
    def ready_at(self) -> float:
        """When paused transfers may go on, if nothing is spent until then."""
        missing = self.rate * _WORTHWHILE - self._tokens
        return self._at + max(missing, 0.0) / self.rate
