"""Links and directives in HTTP headers: Link, Refresh, Location, X-Robots-Tag."""

import re
from collections.abc import Sequence
from http import HTTPStatus

from larbinpy.page import Page
from larbinpy.parse import directives
from larbinpy.parse.link import Collector, Kind, Link, relation_kind, unendorsed
from larbinpy.parse.refresh import meta_refresh
from larbinpy.parse.srcset import srcset

#: RFC 8288 section 3: a target, and parameters up to a comma outside quotes.
_TARGET = re.compile(r'<([^<>]*)>((?:[^,"<]|"(?:[^"\\]|\\.)*+"?)*+)')
_PARAMETER = re.compile(
    r';\s*([\w!#$&+.^`|~-]+)\*?\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*)))?'
)
#: Longer values (characters) are cut; no honest server sends them.
_MAX_VALUE = 64 * 1024
_QUOTED_PAIR = re.compile(r"\\(.)")
_READ = frozenset({"location", "content-location", "link", "refresh", "x-robots-tag"})
_REDIRECTING = frozenset({201, 300, 301, 302, 303, 307, 308})


def read_headers(page: Page, out: Collector) -> None:
    """Add the links in the headers of `page`, and obey its X-Robots-Tag."""
    for name, value in page.headers:
        if name not in _READ:
            continue
        value = value[:_MAX_VALUE]
        match name:
            case "location":
                if page.status in _REDIRECTING:
                    out.add(_text(value), Kind.PAGE)
            case "content-location":
                # In other replies, it is another name of the page.
                if page.status == HTTPStatus.CREATED:
                    out.add(_text(value), Kind.PAGE)
            case "link":
                _read_link(_text(value), out)
            case "refresh":
                url = meta_refresh(_text(value))
                if url:
                    out.add(url, Kind.PAGE)
            case "x-robots-tag":
                directives.from_header(value, out)


def redirect_target(page: Page) -> Sequence[Link]:
    """Return the target of the Location of `page` as a sequence of one link, or an empty one."""
    out = Collector(page.url.href)
    location = page.header("location")
    if location is not None:
        out.add(_text(location[:_MAX_VALUE]), Kind.PAGE)
    return out.parsed(None).links


def _text(value: str) -> str:
    """Return a header decoded as Latin-1 in UTF-8, as browsers read URLs in headers."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _read_link(value: str, out: Collector) -> None:
    for target in _TARGET.finditer(value):
        parameters = _parameters(target[2])
        rel = parameters.get("rel", "")
        kind = relation_kind(rel, parameters.get("as", ""))
        if kind is not None:
            out.add(target[1], kind, unendorsed(rel))
        for url in srcset(parameters.get("imagesrcset", "")):
            out.add(url, Kind.IMAGE)


def _parameters(text: str) -> dict[str, str]:
    """Return parameters by name in lower case; the first of a name counts (section 3.3)."""
    found: dict[str, str] = {}
    for match in _PARAMETER.finditer(text):
        quoted = match[2]
        value = match[3] if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
        found.setdefault(match[1].lower(), value or "")
    return found
