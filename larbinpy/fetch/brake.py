"""bondWidth: limits the bytes per second that all transfers together receive, by a token bucket.

While it is empty, the transfers under way are paused, and new ones are not begun.
"""

from collections.abc import Mapping
from contextlib import suppress

import pycurl

from larbinpy.fetch.transfer import Taker, Transfer

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


class NoBrake:
    """The brake without a limit: transfers of `multi` begin at once, and none is held back."""

    def __init__(self, multi: pycurl.CurlMulti) -> None:
        self._multi = multi

    @property
    def held(self) -> int:
        """Number of transfers that are held back."""
        return 0

    @property
    def deadline(self) -> float | None:
        """The time at which to call `release`; None for never."""
        return None

    def noting(self, _curl: pycurl.Curl, take: Taker) -> Taker:
        """Wrap `take`, which gets what `curl` receives, so that the bytes are charged."""
        return take

    def begin(self, curl: pycurl.Curl) -> None:
        self._multi.add_handle(curl)

    def end(self, curl: pycurl.Curl) -> None:
        self._multi.remove_handle(curl)

    def charge(self, curl: pycurl.Curl, received: int) -> None:
        """Charge the bytes that `curl` received since the last charge; `received` is its total."""

    def apply(self) -> None:
        """Charge the bytes just received, and pause all transfers if the limit is exceeded.

        Must not be called from the write callback: libcurl would continue decoding into a buffer
        of its own, without the limit on page sizes.
        """

    def release(self, now: float, passed: float) -> None:
        """Resume transfers, as far as the limit allows by `now`, `passed` seconds after the last
        call or the start of the first transfer."""

    def lift(self) -> None:
        """Resume all transfers, because this brake is replaced by another."""


class Brake(NoBrake):
    """A limit of `rate` bytes per second from `now` on, for all transfers of `busy` together."""

    def __init__(
        self,
        multi: pycurl.CurlMulti,
        busy: Mapping[pycurl.Curl, Transfer],
        rate: float,
        now: float,
    ) -> None:
        super().__init__(multi)
        self._busy = busy
        self._throttle = Throttle(rate, now)
        # Handles that received bytes which were not charged yet.
        self._heard: set[pycurl.Curl] = set()
        self._paused: set[pycurl.Curl] = set()
        self._waiting: list[pycurl.Curl] = []
        for curl, transfer in busy.items():
            transfer.charged = bytes_received(curl)

    @property
    def held(self) -> int:
        return len(self._paused) + len(self._waiting)

    @property
    def deadline(self) -> float | None:
        return self._throttle.ready_at if self.held else None

    def noting(self, curl: pycurl.Curl, take: Taker) -> Taker:
        def noted(data: bytes) -> int | None:
            self._heard.add(curl)
            return take(data)

        return noted

    def begin(self, curl: pycurl.Curl) -> None:
        if self._throttle.exhausted or self._waiting:
            self._waiting.append(curl)
        else:
            self._multi.add_handle(curl)

    def end(self, curl: pycurl.Curl) -> None:
        if curl in self._waiting:
            self._waiting.remove(curl)
        else:
            self._multi.remove_handle(curl)
        self._paused.discard(curl)
        self._heard.discard(curl)

    def charge(self, curl: pycurl.Curl, received: int) -> None:
        transfer = self._busy[curl]
        self._throttle.spend(received - transfer.charged)
        transfer.charged = received

    def apply(self) -> None:
        while self._heard:
            curl = self._heard.pop()
            self.charge(curl, bytes_received(curl))
        if self._throttle.exhausted:
            for curl in self._busy.keys() - self._paused:
                with suppress(pycurl.error):  # it has no connection yet, or none any more
                    curl.pause(pycurl.PAUSE_RECV)
                    self._paused.add(curl)

    def release(self, now: float, passed: float) -> None:
        for curl in (*self._paused, *self._waiting):
            self._busy[curl].held += passed
        self._throttle.refill(now)
        if now < self._throttle.ready_at:
            return
        self._unpause()
        if self._waiting:  # one a turn: most pages arrive before they can be paused
            self._multi.add_handle(self._waiting.pop(0))

    def lift(self) -> None:
        self._unpause()
        while self._waiting:
            self._multi.add_handle(self._waiting.pop())

    def _unpause(self) -> None:
        while self._paused:
            with suppress(pycurl.error):
                self._paused.pop().pause(pycurl.PAUSE_CONT)


def bytes_received(curl: pycurl.Curl) -> int:
    """Bytes received, before decoding."""
    return int(curl.getinfo(pycurl.HEADER_SIZE) + curl.getinfo(pycurl.SIZE_DOWNLOAD_T))
