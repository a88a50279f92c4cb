"""The content of a page: the value that `larbinpy.database.content.read` returns.

Its texts have no control characters and no runs of blanks, and are bounded. Only the indentation of
programs is more than one blank.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from larbinpy.parse.body import Announced

#: Control characters that are no blanks, halves of surrogate pairs, which UTF-8 cannot spell, soft
#: hyphens, blanks of no width, marks that change the direction of text, and characters for private
#: use, which are icons of fonts.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    r"\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
#: Stands between the cells of a table.
CELL = "\x1f"
#: Blanks of a line of a program, and how many of them are kept.
_INDENT = re.compile(r"[ \t]+")
_DEEPEST = 40
#: Blanks before lines of prose.
_LEADING = re.compile(r"\n {0,40}\xa0[ \xa0]*")


def line(text: str, longest: int) -> str:
    """`text` in one line of at most `longest` characters."""
    # Ten times as much is enough to find that many characters between runs of blanks.
    text = " ".join(text[: 10 * longest].split())
    if not text.isprintable():
        text = _clean(text)
    return text[:longest].rstrip()


def lines(text: str, longest: int) -> str:
    """The lines of `text` that are not empty, at most `longest` characters in all.

    Their indentation stays, as programs need it; a tab is 4 columns.
    """
    text = text[: 8 * longest]
    if "\xa0" in text:  # most of what is not printable are these blanks
        text = _LEADING.sub("\n", text).replace("\xa0", " ")
    found: Iterable[str] = filter(None, text.split("\n"))
    # Most texts are clean, and finding that out is several times as fast as making them so.
    if not text.replace("\n", "").isprintable():
        found = [each if each.isprintable() else _indented(each) for each in found]
    if "  " in text:
        found = [_indented(each) if "  " in each else each for each in found]
    elif "\n " not in text:
        return "\n".join(filter(None, map(str.strip, found)))[:longest].rstrip()
    found = [each.rstrip() if each.startswith("  ") else each.strip() for each in found]
    return "\n".join(filter(None, found))[:longest].rstrip()


def _indented(text: str) -> str:
    indent = _INDENT.match(text)
    if indent is None or CELL in text:
        return _clean(text)  # rows of a table are padded, too
    return indent[0].expandtabs(4)[:_DEEPEST] + _clean(text)


def _clean(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", text).split())


#: Characters of a title and of a heading, the headings of a page, and characters of
#: its author; honest ones are shorter.
LONGEST_TITLE = 300
MOST_HEADINGS = 200
LONGEST_AUTHOR = 200
#: Characters of the main text, and of the rest: a book of 400 pages that is one page of a site is
#: kept whole. Segmenting a million characters takes a second.
LONGEST_TEXT = 1 << 20
LONGEST_REST = 1 << 18


class Image(NamedTuple):
    """An image of the text."""

    url: str
    alt: str


class Outlink(NamedTuple):
    """A link of a page: canonical URL, the text that a reader clicks, and its `rel`."""

    url: str
    anchor: str
    rel: str


@dataclass(slots=True)
class Content:
    """The content of a page for a reader. Empty or None where the page does not say it.

    Texts have no control characters; a line break separates blocks, and lines of programs. There
    are no runs of blanks and no empty lines, but the indentation of programs and of plain texts.
    Dates are in ISO 8601, "2026-11-23" or "2026-11-23T08:00:00+01:00", in the page's own zone.
    """

    title: str = ""
    #: The main text, and the rest of the visible text (menus, footers, sidebars).
    text: str = ""
    rest: str = ""
    #: ISO 639-1, such as "en" or "zh"; None if it is not known.
    lang: str | None = None
    charset: str | None = None
    published: str | None = None
    modified: str | None = None
    author: str = ""
    site_name: str = ""
    summary: str = ""
    #: URL of the image that stands for the page (og:image).
    image: str | None = None
    #: Numbers that the page declares in JSON-LD.
    comments: int | None = None
    clicks: int | None = None
    #: Canonical URL that the page declares of itself.
    canonical: str | None = None
    #: `<title>`, if it has words that the title lacks, and the headings of the text.
    headings: list[str] = field(default_factory=list)
    #: Makes Markdown of the main text of an HTML page, with absolute links; "" for other pages.
    as_markdown: Callable[[], str] = field(default=str, compare=False, repr=False)
    images: list[Image] = field(default_factory=list)
    links: list[Outlink] = field(default_factory=list)
    #: Objects of JSON-LD, as the page declares them.
    facts: list[Any] = field(default_factory=list)
    #: The pages that a sitemap or feed names, with the dates of their changes.
    announced: list[Announced] = field(default_factory=list)
    #: Whether the page asks not to be indexed.
    noindex: bool = False
    #: One short line if the body could not be read: "too long", "damaged PDF" ...
    trouble: str = ""
