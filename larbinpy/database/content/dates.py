"""Dates as pages declare them, in ISO 8601."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from email.utils import parsedate_to_datetime
from itertools import islice

from turbohtml import Document, Element

from larbinpy.url import split

_ISO = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:T|\s+)(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
#: The months of the large languages, as they stand in dates.
_LANGUAGES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber mærz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november desember
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta
 lokakuuta marraskuuta joulukuuta
január február március április május június július augusztus szeptember október november
 december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada
 grudnia
ledna února března dubna května června července srpna září října listopadu prosince
ocak şubat mart nisan may\u0131s haziran temmuz ağustos eylül ekim kas\u0131m aral\u0131k
januari februari maret april mei juni juli agustus september oktober november desember
января февраля марта апреля мая июня июля августа сентября октября ноября
 декабря
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада
 грудня
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου
 σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר
 בנובמבר בדצמבר
जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน
 ตุลาคม พฤศจิกายน ธันวาคม
"""
_SHORTEST = 3


def _months() -> dict[str, int]:
    """The names of months, and their beginnings that are those of no other, with the month."""
    found: dict[str, int] = {}
    doubtful = set()
    names = _LANGUAGES.replace("\n ", " ").split()
    for at, name in enumerate(names):
        for end in range(_SHORTEST, len(name)):
            if found.setdefault(name[:end], at % 12 + 1) != at % 12 + 1:
                doubtful.add(name[:end])
    found = {name: month for name, month in found.items() if name not in doubtful}
    return found | {name: at % 12 + 1 for at, name in enumerate(names)} | {"mrt": 3, "sept": 9}


_MONTHS = _months()
_NAME_OF_MONTH = r"([^\W\d_][^\s\d.,/|-]{2,14})\.?"
_OF = r"(?:de\s+|del\s+|d['\u2019])?"
_Numbers = tuple[int, int, int]


def _named(year: str, month: str, day: str) -> _Numbers | None:
    number = _MONTHS.get(month.casefold())
    return None if number is None else (int(year), number, int(day))


#: "June 3rd, 2025", "3 June 2025", "3. juin 2025", "2025 május 3", "3 de junho de 2025",
#: "2025/06/03" (and with dots), "20250603", "2025年6月3日", "13.06.2025", and with other
#: signs where only one of the numbers can be the month.
_SPELLINGS: tuple[tuple[re.Pattern[str], Callable[[tuple[str, ...]], _Numbers | None]], ...] = (
    (
        re.compile(rf"{_NAME_OF_MONTH}\s+(\d\d?)(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)"),
        lambda found: _named(found[2], found[0], found[1]),
    ),
    (
        re.compile(
            rf"(?<!\d)(\d\d?)(?:st|nd|rd|th|er|[º°ª.])?[-\s]+{_OF}{_NAME_OF_MONTH}[,-]?\s*{_OF}(\d{{4}})"
            r"(?!\d)"
        ),
        lambda found: _named(found[2], found[1], found[0]),
    ),
    (
        re.compile(rf"(?<!\d)(\d{{4}})\.?\s+{_NAME_OF_MONTH}\s+(\d\d?)(?!\d)"),
        lambda found: _named(found[0], found[1], found[2]),
    ),
    (
        re.compile(r"(?<!\d)(\d{4})(?:\s*[年년]|[./])\s*(\d\d?)(?:\s*[月월]|[./])\s*(\d\d?)(?!\d)"),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)"),
        lambda found: (int(found[0]), int(found[1]), int(found[2])),
    ),
    (
        re.compile(r"(?<!\d)(\d\d?)\.\s?(0?[1-9]|1[0-2])\.\s?(\d{4})(?!\d)"),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
    ),
    (
        re.compile(
            r"(?<!\d)(\d\d?)\s+th\xe1ng\s+(\d\d?),?\s+(?:n\u0103m\s+)?(\d{4})(?!\d)", re.IGNORECASE
        ),
        lambda found: (int(found[2]), int(found[1]), int(found[0])),
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
#: Years after this one are counted from the death of the Buddha, as in Thailand.
_BUDDHIST = 2500
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
#: Names of what stands around dates of comments and of other stories.
_ELSEWHERE = re.compile(
    r"\b(?:comments?|replies|respond|related|latest|recent|recommend\w*|teasers?|trending|popular"
    r"|most-read|footer)\b",
    re.IGNORECASE,
)
_AROUND = 8
_IN_URL = re.compile(r"/((?:199|20[0-4])\d)[/-](\d\d?)[/-](\d\d?)(?=[/-]|$)")
_MOST = 100
#: Nodes after the heading, among which a byline stands, and the elements and texts of one.
_NEAR = 150
_INNER = 3
#: Those among which any short text is one.
_NEXT = 40
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
        for found in pattern.finditer(text):
            date = numbers(found.groups())
            if date is not None:
                return _checked(_day(*date), latest)
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

    Those after the heading count most, then those before it, the nearest first. Other text is not
    searched but for elements after the heading that are a date and no more: in running text, in
    programs, and on pages without a date stand those of something else.
    """
    found = _IN_URL.search(url)
    shown = _checked(_day(*map(int, found.groups())), latest) if found is not None else None
    if shown is not None:
        return shown
    if split(url).path.partition("?")[0] == "/":
        return None  # dates of a home page are those of its stories
    heading = next(tree.iter_elements("h1"), None)
    near = () if heading is None else tuple(islice(heading.following, _NEAR))
    changed = None
    for each in _candidates(tree, heading):
        shown = _shown(each, latest)
        if shown is None or is_elsewhere(each, heading):
            continue
        if not _is_change(each):
            return shown
        if each in near:
            changed = changed or shown
    return changed


def _candidates(tree: Document, heading: Element | None) -> Iterator[Element]:
    """Elements that may show the date: after the heading, before it, and short texts after it."""
    found = [
        each
        for each in tree.select(f"h1,{_SELECTOR}")[:_MOST]
        if each == heading
        or each.tag == "time"
        or each.attr("itemprop")
        or (_NAME.search(_class(each)) and each.select_one("time[datetime]") is None)
    ]
    at = found.index(heading) if heading in found else 0
    yield from found[at + 1 :] if heading in found else found
    yield from reversed(found[:at])
    near = () if heading is None else tuple(islice(heading.following, _NEAR))
    for at, node in enumerate(near):
        if isinstance(node, Element) and node.tag in _BLOCKS and len(node) <= _INNER:
            text = node.text[: 2 * _LONGEST]
            if _YEAR.search(text):
                text = " ".join(text.split())
                if _ONLY.fullmatch(text) or (at < _NEXT and len(text) < _LONGEST):
                    yield node


def _shown(element: Element, latest: str) -> str | None:
    """The date of an element: that which is meant for machines, or that of a short text."""
    for name in ("datetime", "content"):
        date = iso(element.attr(name) or "", latest)
        if date is not None:
            return date
    text = " ".join(element.text[: 4 * _LONGEST].split())
    return iso(text, latest) if len(text) <= _SHORT else None


def _is_change(element: Element) -> bool:
    """Whether the date of an element is one of a change."""
    about = str(element.attr("itemprop"))
    for each in (element, element.parent):
        if isinstance(each, Element):
            about += f" {_class(each)} {each.text.lstrip()[:_BEGINNING]}"
    return bool(_CHANGE.search(about))


def is_elsewhere(element: Element, heading: Element | None) -> bool:
    """Whether the date of an element is one of something on the page."""
    if element.closest(_PARTS) is not None:
        return True
    for each in islice(element.ancestors, _AROUND):
        if not isinstance(each, Element) or (heading is not None and heading in each.select("h1")):
            return False
        if _ELSEWHERE.search(f"{_class(each)} {each.attr('id') or ''}"):
            return each.tag not in ("html", "body", "main", "article")
    return False


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
    if year > _BUDDHIST:
        year -= 543
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _checked(date: str | None, latest: str) -> str | None:
    return date if date is not None and _EARLIEST <= date[:10] <= latest else None
