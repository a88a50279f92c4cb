"""Dates as pages declare them, in ISO 8601."""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from itertools import islice

from turbohtml import Document, Element

from larbinpy.url import split

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
#: Every date has one; most texts have none.
_YEAR = re.compile(r"\d{4}")
#: Characters in which a date is looked for; no honest spelling is longer.
_LONGEST = 100
#: Characters of an element that is about a date.
_SHORT = 150
#: htmldate's bound: the date of a page does not precede the web.
_EARLIEST = "1995-01-01"
#: Elements that may show the date of the page: a selector, then what a class must have.
_SELECTOR = "time,[itemprop=datePublished]," + ",".join(
    f"[class*={word} i]" for word in ("date", "time", "publish", "posted", "byline")
)
_NAME = re.compile(
    r"(?:(?<![a-z])|(?<=pub)|(?<=post)|(?<=relative)|(?<=create)|(?-i:(?<=[a-z])(?=[DTPB])))"
    r"(?:date|dateline|datetime|time|timestamp|published|posted|byline)(?![a-z])",
    re.IGNORECASE,
)
#: "This page was last modified on".
_BEGINNING = 30
_CHANGE = re.compile(r"updated|modified|edited|revised|reviewed|changed", re.IGNORECASE)
#: Dates in these are about something else.
_PARTS = "pre,code,dt,nav,aside,select,h2,h3,h4"
_IN_URL = re.compile(r"/((?:199|20[0-4])\d)[/-](\d\d?)[/-](\d\d?)(?=[/-]|$)")
_MOST = 100
#: Nodes after the heading, among which a byline stands, and the elements and texts of one.
_NEAR = 150
_INNER = 3
_BLOCKS = frozenset(("div", "p", "span", "li", "small", "em", "i"))
_ONLY = re.compile(r"(?:(?:published|posted|date|on)\W*){0,2}[\w., /-]{6,30}", re.IGNORECASE)


def iso(text: str, latest: str) -> str | None:
    """Return the date or time in `text` as the page says it; None if there is none.

    "2026-11-23", or with a time if its zone is given, "2026-11-23T08:00:00+01:00". Days before
    1995 and after `latest`, an ISO date, are not believed.
    """
    text = text[:_LONGEST].strip()
    if not _YEAR.search(text):
        return None
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


def in_tree(tree: Document, url: str, latest: str) -> str | None:
    """The date of publication that the URL shows, or `<time>` or an element with such a class.

    Other text is not searched but for elements after the heading that are a date and no more: in
    running text, in programs, and on pages without a date stand those of something else.
    """
    found = _IN_URL.search(url)
    date = _checked(_day(*map(int, found.groups())), latest) if found is not None else None
    if date is not None:
        return date
    if split(url).path.partition("?")[0] == "/":
        return None  # dates of a home page are those of its stories
    elements = tree.select(_SELECTOR)[:_MOST]
    for element in elements:
        if element.tag == "time" or element.attr("itemprop") or _NAME.search(_class(element)):
            date = _shown(element, latest)
            if date is not None and not _is_other(element):
                return date
    heading = next(tree.iter_elements("h1"), None)
    if heading is None:
        return None
    for each in islice(heading.following, _NEAR):
        if isinstance(each, Element) and each.tag in _BLOCKS and len(each) <= _INNER:
            text = each.text[:_LONGEST]
            if not _YEAR.search(text):
                continue
            text = " ".join(text.split())
            date = iso(text, latest) if _ONLY.fullmatch(text) else None
            if date is not None and not _is_other(each):
                return date
    return None


def _shown(element: Element, latest: str) -> str | None:
    """The date of an element: that which is meant for machines, or that of a short text."""
    for name in ("datetime", "content"):
        date = iso(element.attr(name) or "", latest)
        if date is not None:
            return date
    text = " ".join(element.text[: 4 * _LONGEST].split())
    return iso(text, latest) if len(text) <= _SHORT else None


def _is_other(element: Element) -> bool:
    """Whether the date of an element is one of a change, or of something on the page."""
    about = str(element.attr("itemprop"))
    for each in (element, element.parent):
        if isinstance(each, Element):
            about += f" {_class(each)} {each.text.lstrip()[:_BEGINNING]}"
    return bool(_CHANGE.search(about)) or element.closest(_PARTS) is not None


def _class(element: Element) -> str:
    return element.attr("class") or ""


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
