"""Reads an HTML page: one parse, one pass of a selector, and then its texts."""

from typing import Any

import turbohtml
from lxml import etree
from turbohtml import Document, Element, Namespace

from larbinpy.content import dates
from larbinpy.content.clean import line
from larbinpy.content.content import (
    LONGEST_AUTHOR,
    LONGEST_REST,
    LONGEST_TEXT,
    LONGEST_TITLE,
    MOST_HEADINGS,
    Content,
    Outlink,
)
from larbinpy.content.declared import Declared
from larbinpy.content.language import language
from larbinpy.content.links import ANCHORS, Resolver
from larbinpy.content.main_text import split
from larbinpy.content.title import Titles, chosen, words_of
from larbinpy.parse import directives
from larbinpy.parse.charset import document, shortened
from larbinpy.parse.link import Collector

#: `iter_elements` takes a third of the time of a selector.
_TAGS = ("a", "area", "meta", "title", "desc", "h1", "html", "link", "script")
_AUTHOR = '[itemprop="author" i],[rel="author" i]'
_HEADINGS = "h1,h2,h3,h4,h5,h6"
_PERMALINKS = "¶§🔗\ufe0e "
#: The head of most pages is in their first elements; a title after more is one of a drawing.
_MOST_FIRST_HEADINGS = 10
#: Characters of main text that are enough to tell its language.
_ENOUGH = 400


def read_html(body: bytes, http_charset: str | None, url: str, latest: str) -> Content:
    """Return what an HTML page says. Dates after `latest`, an ISO date, are not believed."""
    out = read_tree(document(body, http_charset), url, latest)
    if len(shortened(body)) < len(body):
        out.trouble = "a long text without tags was cut"
    return out


def serialised(root: Any) -> str | None:
    """Return an XHTML document, which lxml has parsed, as HTML; None if that cannot be done.

    XHTML differs in elements such as `<script/>`, which end at once.
    """
    try:
        return str(etree.tostring(root, method="html", encoding="unicode"))
    except (etree.LxmlError, UnicodeError):
        return None


def read_xhtml(markup: str, url: str, latest: str) -> Content:
    """Return what a `serialised` XHTML document says."""
    return read_tree(turbohtml.parse(markup, positions=False), url, latest)


def read_tree(tree: Document, url: str, latest: str) -> Content:
    """Return what the page of a tree says, without its headers. Changes the tree."""
    found = _Elements(tree, url)
    found.remove_unread()
    declared, resolver, titles = found.declared, found.resolver, found.titles
    out = Content(charset=tree.encoding, canonical=found.canonical)
    out.noindex = found.robots.noindex
    out.links = list(found.links)
    image = declared.fill(out, latest) or found.image
    if not out.author:
        out.author = _author(tree)
    if out.published is None:
        out.published = dates.in_tree(tree, url, latest)
    out.image = resolver.resolve(image) if image else None
    titles.card = line(declared.card, LONGEST_TITLE)
    titles.site = out.site_name
    titles.headings = list(filter(None, map(heading, found.first_headings)))
    out.title = chosen(titles)
    texts = split(tree)
    _cut(out, texts.main, texts.rest)
    spoken = out.text if len(out.text) >= _ENOUGH else "\n".join((out.title, out.text, out.rest))
    out.lang = language(spoken, (found.lang, declared.language))
    shown = texts.node.select(f":is({_HEADINGS},img)")
    headings = [heading(each) for each in shown if each.tag != "img"]
    if not words_of(titles.title) <= words_of(out.title):
        headings.insert(0, titles.title)
    out.headings = list(dict.fromkeys(filter(None, headings)))[:MOST_HEADINGS]
    out.images = resolver.images([each for each in shown if each.tag == "img"])
    return out


class _Elements:
    """The elements of a page that say something beside its texts, gathered in one pass."""

    def __init__(self, tree: Document, url: str) -> None:
        bases = (each.attr("href") for each in tree.iter_elements("base"))
        base = next((each for each in bases if each is not None), None)
        self.resolver = Resolver(url, base, tree.encoding)
        self.declared = Declared()
        self.robots = Collector(url)
        self.titles = Titles(url)
        self.first_headings: list[Element] = []
        self.links: dict[Outlink, None] = {}
        self.lang: str | None = None
        self.image: str | None = None
        self.canonical: str | None = None
        # Titles and descriptions of drawings: texts of links without other text, else not seen.
        self._unseen: list[Element] = []
        self._signs: list[Element] = []
        take = {
            "a": self._anchor,
            "area": self._area,
            "meta": self._meta,
            "title": self._title,
            "desc": self._unseen.append,
            "h1": self._heading,
            "html": self._html,
            "link": self._link,
            "script": self._script,
        }
        for element in tree.iter_elements(_TAGS):
            take[element.tag](element)

    def _anchor(self, element: Element) -> None:
        text = ANCHORS[element.text]
        if text is None:
            self._signs.append(element)
        else:
            self.resolver.link(element, text, self.links)

    def _area(self, element: Element) -> None:
        self.resolver.link(element, "", self.links)

    def _meta(self, element: Element) -> None:
        get = element.attr
        self.declared.meta(get)
        directives.from_meta(get("name") or "", get("content") or "", self.robots)

    def _title(self, element: Element) -> None:
        if element.namespace is Namespace.HTML:
            self.titles.title = self.titles.title or line(element.text, LONGEST_TITLE)
        else:
            self._unseen.append(element)

    def _heading(self, element: Element) -> None:
        if len(self.first_headings) < _MOST_FIRST_HEADINGS:
            self.first_headings.append(element)

    def _html(self, element: Element) -> None:
        self.lang = self.lang or element.attr("lang")

    def _link(self, element: Element) -> None:
        rel = (element.attr("rel") or "").lower().split()
        if "canonical" in rel:
            self.canonical = self.canonical or self.resolver.resolve(element.attr("href") or "")
        elif "image_src" in rel:
            self.image = element.attr("href")

    def _script(self, element: Element) -> None:
        if (element.attr("type") or "").lower() == "application/ld+json":
            self.declared.script(element.text)

    def remove_unread(self) -> None:
        """Remove elements that are no text of the page from the tree."""
        for element in self.first_headings:
            self._unseen += element.select("[hidden]")
        for element in self._unseen:
            element.extract()
        for element in self._signs:
            element.clear()  # the link tells that its section has a heading


def heading(element: Element) -> str:
    """The text of a heading, without the sign of its permalink."""
    # `to_text` has a blank where a line breaks.
    text = element.to_text() if len(element) > 1 else element.text
    return line(text, LONGEST_TITLE).rstrip(_PERMALINKS).removesuffix(" #").removeprefix("# ")


def _author(tree: Document) -> str:
    """The author that an element of the page names."""
    element = tree.select_one(_AUTHOR)
    if element is None:
        return ""
    return line((element.select_one('[itemprop="name"],a') or element).text, LONGEST_AUTHOR)


def _cut(out: Content, text: str, rest: str) -> None:
    out.text, out.rest = text[:LONGEST_TEXT], rest[:LONGEST_REST]
    if len(text) > LONGEST_TEXT:
        out.trouble = f"text cut at {LONGEST_TEXT} characters"
