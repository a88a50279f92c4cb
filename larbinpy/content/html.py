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
from larbinpy.content.links import Resolver
from larbinpy.content.main_text import split
from larbinpy.content.title import Titles, chosen, words_of
from larbinpy.parse import directives
from larbinpy.parse.charset import document, shortened
from larbinpy.parse.link import Collector

_SELECTOR = (
    ":is(a[href],area[href],meta[content],title,desc,h1,html[lang],base[href],link[rel][href],"
    'script[type="application/ld+json" i])'
)
_AUTHOR = '[itemprop="author" i],[rel="author" i]'
_HEADINGS = "h1,h2,h3,h4,h5,h6"
_PERMALINKS = "¶§🔗\ufe0e "
#: Whole texts of links from a heading or a post to itself.
_SIGNS = frozenset(("¶", "§", "#", "🔗", "🔗\ufe0e", "🔗\ufe0f"))
#: The head of most pages is in their first elements; a title after more is one of a drawing.
_MOST_FIRST_HEADINGS = 10


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
    out = Content(charset=tree.encoding)
    declared = Declared()
    robots = Collector(url)
    titles = Titles(url)
    first_headings: list[Element] = []
    links: dict[Outlink, None] = {}
    # Titles and descriptions of drawings: texts of links without other text, else not seen.
    unseen: list[Element] = []
    signs: list[Element] = []
    found = tree.select(_SELECTOR)
    base = next((e.attr("href") for e in found if e.tag == "base"), None)
    resolver = Resolver(url, base, tree.encoding)
    lang = image = None
    for element in found:
        tag, get = element.tag, element.attr
        if tag in ("a", "area"):
            if tag == "a" and element.text.strip() in _SIGNS:
                signs.append(element)
            else:
                resolver.link(element, links)
        elif tag == "meta":
            declared.meta(get)
            directives.from_meta(get("name") or "", get("content") or "", robots)
        elif tag in ("title", "desc"):
            if tag == "title" and element.namespace is Namespace.HTML:
                titles.title = titles.title or line(element.text, LONGEST_TITLE)
            else:
                unseen.append(element)
        elif tag == "h1":
            if len(first_headings) < _MOST_FIRST_HEADINGS:
                first_headings.append(element)
        elif tag == "html":
            lang = get("lang")
        elif tag == "link":
            rel = (get("rel") or "").lower().split()
            if "canonical" in rel:
                out.canonical = out.canonical or resolver.resolve(get("href") or "")
            elif "image_src" in rel:
                image = get("href")
        elif tag == "script":
            declared.script(element.text)
    for element in first_headings:
        unseen += element.select("[hidden]")
    for element in unseen:
        element.extract()
    for element in signs:
        element.clear()  # the link tells that its section has a heading
    image = declared.fill(out, latest) or image
    if not out.author:
        out.author = _author(tree)
    if out.published is None:
        out.published = dates.in_tree(tree, url, latest)
    out.image = resolver.resolve(image) if image else None
    out.noindex = robots.noindex
    out.links = list(links)
    titles.card = line(declared.card, LONGEST_TITLE)
    titles.site = out.site_name
    titles.headings = list(filter(None, map(heading, first_headings)))
    out.title = chosen(titles)
    texts = split(tree)
    _cut(out, texts.main, texts.rest)
    spoken = out.text if len(out.text) >= 400 else "\n".join((out.title, out.text, out.rest))
    out.lang = language(spoken, (lang, declared.language))
    shown = texts.node.select(f":is({_HEADINGS},img)")
    headings = [heading(each) for each in shown if each.tag != "img"]
    if not words_of(titles.title) <= words_of(out.title):
        headings.insert(0, titles.title)
    out.headings = list(dict.fromkeys(filter(None, headings)))[:MOST_HEADINGS]
    out.images = resolver.images([each for each in shown if each.tag == "img"])
    return out


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
