"""The hours of sites: whether requests may be sent to them now."""

from larbinpy.config.hours import ALWAYS, Hours

#: Clocks are put forward and back at whole quarters of an hour, in Unix time (s). A change that
#: was computed before that may be wrong.
_QUARTER = 900


class SiteHours:
    """The hours that some sites have in common, compared with the clock on the wall by `look`."""

    __slots__ = ("_changes_at", "_look_at", "_looked_at", "closed", "configured", "opens_at")

    def __init__(self, hours: Hours = ALWAYS) -> None:
        self.configured = hours
        self.closed = False
        #: The time of the next opening, by the engine's clock, while it is closed.
        self.opens_at = 0.0
        # The Unix times of the last computation, of the change that it found, and of the next one.
        self._looked_at = self._changes_at = self._look_at = 0.0

    def __repr__(self) -> str:
        return f"<SiteHours {self.configured.show()} {'closed' if self.closed else 'open'}>"

    def look(self, now: float, wall: float) -> None:
        """Open or close at the Unix time `wall`, which may have gone back or jumped."""
        if not self._looked_at <= wall < self._look_at:
            self._looked_at = wall
            self.closed = not self.configured.are_open(wall)
            change = self.configured.open_at if self.closed else self.configured.close_at
            self._changes_at = change(wall)
            self._look_at = min(self._changes_at, wall - wall % _QUARTER + _QUARTER)
        if self.closed:
            self.opens_at = now + self._changes_at - wall
