"""Reads when the pages of a site changed, as its sitemaps and feeds say it.

Sitemaps have `<lastmod>`, Atom `<updated>`, RSS `<pubDate>` or `<dc:date>`. `feeds` finds the
links for the crawl's loop, which needs no dates.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import NamedTuple

from larbinpy.page import Page
from larbinpy.parse import xml
from larbinpy.parse.body import is_xml
from larbinpy.parse.link import MAX_LINKS
from larbinpy.url import Base

#: Elements that name a page and a date.
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
#: Dates by their preference: the later ones of an entry count only if the first is missing.
_DATES = ("lastmod", "updated", "pubDate", "date", "published")
#: Most characters of a date; no honest one is longer.
_LONGEST = 60
#: Most characters of URLs of one document.
_MOST_CHARACTERS = 16 << 20
#: The complete forms of https://www.w3.org/TR/NOTE-datetime, and the time without a zone.
_W3C = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
#: Dates before the Web are placeholders.
_EARLIEST = "1990"


class Announced(NamedTuple):
    """A page that a sitemap or feed names."""

    #: Canonical URL.
    url: str
    #: When it changed, in UTC: "2026-11-23T08:00:00Z", or "2026-11-23" if the time of the day is
    #: not known; empty if the document does not say.
    date: str


def announced(page: Page, latest: str) -> Iterator[Announced]:
    """Yield the pages that a sitemap or feed names, at most `MAX_LINKS`; of other pages nothing.

    Dates after `latest`, an ISO 8601 time in UTC, say nothing, nor do those that cannot be read.
    """
    body = page.body
    is_packed = body.startswith(xml.MAGIC)
    if not is_packed and not is_xml(body):
        return
    chunks = xml.chunked(body)
    if is_packed:
        chunks = xml.gunzip(chunks)
    first = next(chunks, b"")
    encoding, _ = xml.encoding_of(first, None if is_packed else page.http_charset)
    if xml.root_name(first, encoding) not in xml.ROOTS:
        return
    base = Base(page.url.href)
    count = characters = 0
    for reference, text in _entries(chain([first], chunks), encoding, page.url.href):
        url = base.resolve(reference.partition("#")[0])
        if url is not None:
            count, characters = count + 1, characters + len(url)
            yield Announced(url, date_of(text, latest))
        if count >= MAX_LINKS or characters >= _MOST_CHARACTERS:
            break


def date_of(text: str, latest: str) -> str:
    """The date in `text`, as `Announced` has it; empty if there is none that can be believed."""
    text = text.strip()
    if len(text) > _LONGEST:
        return ""
    found = _W3C.fullmatch(text)
    try:
        if found is None:
            moment = parsedate_to_datetime(text)
            date = _spelled(moment, is_exact=moment.tzinfo is not None)
        else:
            day, time, zone = found.groups()
            exact = f"{day}T{time}{zone}" if time and zone else day
            date = _spelled(datetime.fromisoformat(exact), is_exact=exact != day)
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
    return date if _EARLIEST <= date <= latest else ""


def _spelled(moment: datetime, *, is_exact: bool) -> str:
    if not is_exact:
        return moment.date().isoformat()
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='seconds')}Z"


def _entries(chunks: Iterator[bytes], encoding: str | None, url: str) -> Iterator[tuple[str, str]]:
    """Yield the reference and the date of each entry, as they stand there."""
    links, dates = dict[str, str](), dict[str, str]()
    count = 0
    names = (*_ENTRIES, *_DATES, *xml.LINKS)
    stream = xml.list_elements(chunks, encoding, names, lambda: count)
    for element in (each for each in stream if each is not None):
        # lxml cannot decode a text with half of a surrogate pair ("&#xD800;").
        with suppress(UnicodeDecodeError):
            name = xml.local_name(element)
            if name in _ENTRIES:
                link = xml.preferred(links, xml.LINKS)
                if link:
                    count += 1
                    yield link, xml.preferred(dates, _DATES)
                links, dates = {}, {}
            elif xml.parent_name(element) not in _ENTRIES:
                continue
            elif name in _DATES:
                dates.setdefault(name, xml.text_of(element)[: _LONGEST + 1])
            elif name in xml.LINKS:
                links[name] = links.get(name) or xml.page_of(element, url)
