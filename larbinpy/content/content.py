"""The content of a page: the value that `larbinpy.content.read` returns."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from larbinpy.parse.announced import Announced

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
