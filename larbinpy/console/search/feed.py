"""The changes as an Atom feed (RFC 4287), in parts that each name the next one (RFC 5005, 3)."""

from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

from larbinpy.console.search.changes import LONGEST_URL, changes_address
from larbinpy.console.search.form import IN_TITLE
from larbinpy.console.search.results import is_web
from larbinpy.console.status.frame import CHANGES, FEED
from larbinpy.console.text import readable
from larbinpy.database.base import Change

#: When a feed without changes changed last.
_NEVER = "1970-01-01T00:00:00Z"
_SAYINGS = {
    "new": "The page is new.",
    "changed": "The main text of the page has changed.",
    "gone": "The page is gone.",
    "back": "The page is back.",
    "moved": "The page has moved.",
}


def feed(name: str, changes: Sequence[Change], number: int, *, more: bool) -> bytes:
    """The part `number`, from 1, of the changes of the database `name`; the newest come first.

    An entry has the same id whenever and by whomever the database is read.
    """
    root = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    _add(root, "id", uuid5(NAMESPACE_URL, f"larbinpy changes {readable(name)}").urn)
    _add(root, "title", f"Changes - larbinpy {name}".rstrip())
    _add(root, "updated", changes[0].at if changes else _NEVER)
    _add(SubElement(root, "author"), "name", "larbinpy")
    SubElement(root, "link", rel="self", href=changes_address(number, FEED))
    SubElement(root, "link", rel="alternate", type="text/html", href=CHANGES)
    if more:
        SubElement(root, "link", rel="next", href=changes_address(number + 1, FEED))
    # A feed with two entries of one id is invalid.
    for id_, change in {_id(change): change for change in changes}.items():
        _add_entry(root, id_, change)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _id(change: Change) -> str:
    return uuid5(NAMESPACE_URL, readable(f"{change.url} {change.at} {change.kind}")).urn


def _add_entry(root: Element, id_: str, change: Change) -> None:
    entry = SubElement(root, "entry")
    title = " ".join(change.title.split()) or change.url
    saying = _SAYINGS.get(change.kind, change.kind)
    target = change.target or ""
    where = f" It is at {target} now." if 0 < len(target) <= LONGEST_URL else ""
    _add(entry, "id", id_)
    _add(entry, "title", f"{change.kind}: {title[:IN_TITLE]}")
    _add(entry, "updated", change.at)
    if is_web(change.url):
        SubElement(entry, "link", rel="alternate", href=change.url)
    SubElement(entry, "category", term=readable(change.kind))
    _add(entry, "content", f"{saying}{where}")


def _add(parent: Element, name: str, text: str) -> None:
    """Add an element with a text, without the characters that XML cannot have."""
    SubElement(parent, name).text = readable(text)
