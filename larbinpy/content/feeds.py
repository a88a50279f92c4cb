"""Reads RSS and Atom: the title of the feed, its entries, and the links to them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import turbohtml

from larbinpy.content import dates
from larbinpy.content.clean import line, lines
from larbinpy.content.content import LONGEST_TEXT, LONGEST_TITLE, MOST_HEADINGS, Content, Outlink
from larbinpy.content.language import language
from larbinpy.content.links import LONGEST_ANCHOR, Resolver
from larbinpy.parse.feeds import LINKS, page_of, preferred
from larbinpy.parse.xml import local_name, tree_of

ROOTS = frozenset({"rss", "RDF", "feed"})
#: Bytes that are read, which is most of a minute's reading: the tree takes ten times as much.
_MOST_READ = 4 << 20
_MOST_ENTRIES = 1000
#: Characters of an entry that are read as HTML.
_LONGEST_ENTRY = 1 << 16
_LONGEST_SUMMARY = 1000
_ENTRIES = frozenset({"item", "entry"})
_TEXTS = ("encoded", "content", "description", "summary")
_UPDATED = ("lastBuildDate", "updated", "pubDate", "date")


def read_feed(body: bytes, encoding: str | None, url: str, latest: str) -> Content:
    """Return what a feed says: its text is that of its entries, its headings are their titles."""
    out = Content()
    root = tree_of(body[:_MOST_READ], encoding)
    if root is None:
        out.trouble = "damaged feed"
        return out
    if len(body) > _MOST_READ:
        out.trouble = f"feed cut at {_MOST_READ} bytes"
    head: dict[str, str] = {}
    for channel in (root, *root.iterchildren("{*}channel")):
        for name, value in _values(channel).items():
            head.setdefault(name, value)
    out.title = _title(head)
    summary = head.get("description") or head.get("subtitle") or ""
    out.summary = line(_visible(summary), _LONGEST_SUMMARY)
    updated = (dates.from_mail(head[name], latest) for name in _UPDATED if name in head)
    out.modified = next(filter(None, updated), None)
    resolver = Resolver(url, None, None)
    links: dict[Outlink, None] = {}
    texts = [out.summary]
    room = LONGEST_TEXT
    for entry in _entries(root):
        values = _values(entry)
        title = _title(values)
        text = _visible(preferred(values, _TEXTS))
        texts += (title, lines(text, _LONGEST_ENTRY))
        room -= len(text)
        if title and len(out.headings) < MOST_HEADINGS:
            out.headings.append(title)
        target = resolver.resolve(_page_of(entry, url))
        if target is not None:
            links[Outlink(target, title[:LONGEST_ANCHOR], "")] = None
        if room < 0:
            out.trouble = f"text cut at {LONGEST_TEXT} characters"
            break
    out.links = list(links)
    out.text = "\n".join(filter(None, texts))[:LONGEST_TEXT]
    out.lang = language(out.text, (head.get("language"), _declared(root)))
    return out


def _declared(root: Any) -> str | None:
    with suppress(UnicodeDecodeError):
        value: str | None = root.get("{http://www.w3.org/XML/1998/namespace}lang")
        return value
    return None


def _entries(root: Any) -> Iterator[Any]:
    found = (each for each in root.iter("{*}item", "{*}entry"))
    return (entry for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False))


def _page_of(entry: Any, url: str) -> str:
    """The page that an entry names; empty if there is none."""
    found: dict[str, str] = {}
    for child in entry.iterchildren(*(f"{{*}}{name}" for name in LINKS)):
        with suppress(UnicodeDecodeError):
            name = local_name(child)
            found[name] = found.get(name) or page_of(child, url)
    return preferred(found, LINKS)


def _values(parent: Any) -> dict[str, str]:
    """The texts of the children by their names."""
    found: dict[str, str] = {}
    for child in parent.iterchildren("*"):
        name = local_name(child)
        if name in _ENTRIES or name == "channel":
            continue
        # lxml cannot decode a text with half of a surrogate pair ("&#xD800;").
        with suppress(UnicodeDecodeError):
            found.setdefault(name, "".join(child.itertext())[:_LONGEST_ENTRY])
    return found


def _title(values: dict[str, str]) -> str:
    return line(_visible(values.get("title", "")), LONGEST_TITLE)


def _visible(text: str) -> str:
    """The text of an entry, which most feeds have as HTML."""
    if "<" not in text and "&" not in text:
        return text
    return turbohtml.parse_fragment(text).to_text()
