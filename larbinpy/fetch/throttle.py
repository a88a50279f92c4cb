"""The limit on bytes per second: a token bucket over all transfers (bondWidth)."""

# Paused transfers resume once the bucket has the bytes of a tenth of a second. With less, each
# would be woken for a few bytes; with more, bytes would arrive in bursts.
_WORTHWHILE = 0.1


class Throttle:
    """A bucket filled with `rate` bytes per second that holds one second's worth.

    Bytes are charged after they were received, so the bucket may be overdrawn. The following
    seconds make up for that: over time no more than `rate` is received.
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
        """The time at which paused transfers may resume, if nothing is spent until then."""
        missing = self.rate * _WORTHWHILE - self._tokens
        return self._at + max(missing, 0.0) / self.rate
