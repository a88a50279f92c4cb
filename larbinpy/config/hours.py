"""Times of day when requests may be sent: ``22:00-06:00,12:30-13:00``, in local time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

_DAY = 24 * 60
_RANGE = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)", re.ASCII)
#: Days that are searched for the next opening. One is enough, except where a change of the clock
#: leaves out the whole of a short range.
_DAYS = 3


@dataclass(frozen=True, slots=True)
class Hours:
    """Ranges of the day, each a pair of minutes since midnight; the end is not part of it.

    A range whose end is before its start goes beyond midnight. Moments are Unix times; the local
    time is that of the process, daylight saving included.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """The hours that `text` spells. Raises ValueError."""
        return cls(tuple(_range(part.strip()) for part in text.split(",")))

    def show(self) -> str:
        return ",".join(f"{_clock(start)}-{_clock(end)}" for start, end in self.ranges)

    def in_words(self) -> str:
        """The hours within a sentence."""
        ranges = (f"between {_clock(start)} and {_clock(end)}" for start, end in self.ranges)
        return " or ".join(ranges)

    def are_open(self, wall: float) -> bool:
        """Whether requests may be sent at the Unix time `wall`."""
        local = datetime.fromtimestamp(wall)
        minute = local.hour * 60 + local.minute
        return any(
            start <= minute < end if start < end else minute >= start or minute < end
            for start, end in self.ranges
        )

    def open_at(self, wall: float) -> float:
        """The first moment from `wall` on at which requests may be sent; `wall` if they may now."""
        if self.are_open(wall):
            return wall
        starts = {start for start, _ in self.ranges}
        moments = (moment for moment in _moments(wall, starts) if moment > wall)
        return min(filter(self.are_open, moments), default=wall + 86400.0)

    def close_at(self, wall: float) -> float:
        """The first moment after `wall` at which requests may no longer be sent.

        It may come early: between ranges that touch, and where the clock changes. If it is to
        come within an hour that the clock leaves out, it is late, by at most that hour.
        """
        ends = {end % _DAY for _, end in self.ranges}
        return min(moment for moment in _moments(wall, ends) if moment > wall)


#: The whole day.
ALWAYS = Hours(((0, _DAY),))


def _moments(wall: float, minutes: set[int]) -> Iterator[float]:
    """The Unix times at which a local clock shows `minutes` on the days around `wall`."""
    today = datetime.fromtimestamp(wall).date()
    for days in range(_DAYS):
        day: date = today + timedelta(days=days)
        for minute in minutes:
            # When clocks are set back, an hour comes twice.
            for fold in (0, 1):
                shown = time(minute // 60, minute % 60, fold=fold)
                yield datetime.combine(day, shown).timestamp()


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    start, end = (_minutes(*match.group(1, 2)), _minutes(*match.group(3, 4))) if match else (0, 0)
    if match is None or start >= _DAY or end > _DAY or max(int(match[2]), int(match[4])) > 59:
        raise ValueError(f"{text[:40]!r} is not a range of the day such as 22:00-06:00")
    if start == end % _DAY and end != _DAY:
        raise ValueError(f"{text[:40]!r} is empty; 00:00-24:00 is the whole day")
    return start, end


def _minutes(hour: str, minute: str) -> int:
    return int(hour) * 60 + int(minute)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
