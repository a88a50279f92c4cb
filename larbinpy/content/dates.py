"""Dates as pages declare them, in ISO 8601."""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from turbohtml import Document

_ISO = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:T|\s+)(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_MONTHS = {
    name: month
    for month, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
#: "June 3rd, 2025", "3 June 2025", "2025/06/03" (and with dots), "20250603", "2025年6月3日", and
#: "13.06.2025", where only one of the numbers can be the month.
_SPELLINGS: tuple[
    tuple[re.Pattern[str], Callable[[tuple[str, ...]], tuple[int, int, int]]], ...
] = (
    (
        re.compile(rf"\b{_MONTH}\s+(\d\d?)(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE),
        lambda found: (int(found[2]), _MONTHS[found[0].lower()], int(found[1])),
    ),
    (
        re.compile(rf"\b(\d\d?)(?:st|nd|rd|th)?\.?\s+{_MONTH},?\s+(\d{{4}})\b", re.IGNORECASE),
        lambda found: (int(found[2]), _MONTHS[found[1].lower()], int(found[0])),
    ),
    (
        re.compile(r"(?<!\d)(\d{4})(?:[./]|\s*年\s*)(\d\d?)(?:[./]|\s*月\s*)(\d\d?)(?!\d)"),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)"),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(?<!\d)(1[3-9]|2\d|3[01])[./-](\d\d?)[./-](\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
    ),
    (
        re.compile(r"(?<!\d)(\d\d?)[./-](1[3-9]|2\d|3[01])[./-](\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[0]), int(found[1])),
    ),
)
#: Characters in which a date is looked for; no honest spelling is longer.
_LONGEST = 100
#: htmldate's bound: the date of a page does not precede the web.
_EARLIEST = "1995-01-01"
#: turbohtml's number for the date of publication, not of modification.
_ORIGINAL = 1


def iso(text: str, latest: str) -> str | None:
    """Return the date or time in `text` as the page says it; None if there is none.

    "2026-11-23", or with a time if its zone is given, "2026-11-23T08:00:00+01:00". Days before
    1995 and after `latest`, an ISO date, are not believed.
    """
    text = text[:_LONGEST].strip()
    found = _ISO.match(text)
    if found is not None:
        return _checked(_from_iso(found), latest)
    for pattern, numbers in _SPELLINGS:
        found = pattern.search(text)
        if found is not None:
            return _checked(_day(*numbers(found.groups())), latest)
    return None


def from_mail(text: str, latest: str) -> str | None:
    """As `iso`, for RSS and HTTP, whose dates are those of mail: "Mon, 23 Nov 2026 ... GMT"."""
    try:
        moment = parsedate_to_datetime(text[:_LONGEST].strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return iso(text, latest)
    if moment.tzinfo is None:
        return _checked(moment.date().isoformat(), latest)
    return _checked(moment.isoformat(timespec="seconds").replace("+00:00", "Z"), latest)


def in_tree(tree: Document, latest: str) -> str | None:
    """The date of publication that the URL, `<time>` and similar elements of a page show.

    The text is not searched: on pages without a date it finds one that is not theirs.
    """
    year, month, day = (int(part) for part in latest.split("-"))
    try:
        # The public `turbohtml.extract.dates` would parse the page again.
        found = tree._dates(_ORIGINAL, year, 1995, 1, 1, year, month, day, False)
    except (AttributeError, TypeError):
        return None  # a version without it
    return _checked(_day(*found[:3]), latest) if found is not None else None


def _from_iso(found: re.Match[str]) -> str | None:
    year, month, day, hour, minute, second, zone = found.groups()
    date = _day(int(year), int(month), int(day))
    if date is None or zone is None or int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        return date
    zone = zone.upper()
    if zone in ("Z", "UTC", "GMT") or zone[1:].replace(":", "") == "0000":
        zone = "Z"
    else:
        zone = f"{zone[:3]}:{zone[-2:]}"
    return f"{date}T{hour}:{minute}:{second or '00'}{zone}"


def _day(year: int, month: int, day: int) -> str | None:
    return f"{year:04}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _checked(date: str | None, latest: str) -> str | None:
    return date if date is not None and _EARLIEST <= date[:10] <= latest else None
