"""The sessions that are alive, and until when others certainly take this session for alive.

No clock is shared. A session is certain for some seconds after it sent a beat that was answered;
others bury it only after its counter stood still for longer, by their own watching.
"""

from larbinpy.fleet.vault import CrawlState, Present

#: Seconds between two beats.
BEAT = 1.0
#: Seconds from the sending of a beat that is answered for which no request need be refused.
CERTAIN = 5.0
#: After so many seconds what is in flight is aborted.
ABORT = 5.5
#: A session whose counter stood still for so many seconds is buried. Its last beat was sent
#: before, so it has aborted what was in flight.
DEAD = 5.8
#: A gap of more seconds between two answers counts as one beat: others may have been away from
#: Redis as long. It must count, since on a bad line there may be no other gaps.
_GAP = 2.5


class Members:
    """The members, as seen by one session; `now` is of any clock that does not go back."""

    def __init__(self) -> None:
        # By session: its counter, and for how many watched seconds it has stood still.
        self._counters: dict[str, tuple[int, float]] = {}
        self._answered_at = float("-inf")
        #: When the last beat that was answered was sent.
        self.seen_at = float("-inf")
        self.state = CrawlState.NEW

    def __repr__(self) -> str:
        return f"<Members {', '.join(self.sessions)}, seen at {self.seen_at}>"

    @property
    def sessions(self) -> list[str]:
        return list(self._counters)

    def is_certain(self, now: float) -> bool:
        """Whether no other session can take over what is ours."""
        return now < self.seen_at + CERTAIN

    def must_abort(self, now: float) -> bool:
        """Whether others may ask our addresses soon."""
        return now >= self.seen_at + ABORT

    def answered(self, present: Present, sent: float, now: float) -> set[str]:
        """Take the answer to a beat of time `sent`; return the sessions silent for `DEAD`."""
        gap = now - self._answered_at
        watched = gap if gap <= _GAP else BEAT
        self._answered_at = now
        self.seen_at = max(self.seen_at, sent)
        self.state = present.state
        before, self._counters = self._counters, {}
        for session, counter in present.sessions.items():
            known, still = before.get(session, (None, 0.0))
            self._counters[session] = counter, still + watched if counter == known else 0.0
        return {session for session, (_, still) in self._counters.items() if still >= DEAD}
