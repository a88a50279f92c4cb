"""Reads an HTML page: one parse, one pass of a selector, and the text."""

from turbohtml import Element

from larbinpy.content.clean import line, lines
from larbinpy.content.content import Content, Outlink
from larbinpy.page import Page
from larbinpy.parse.charset import document, query_encoder
from larbinpy.parse.link import Collector
from larbinpy.url import parse

#: Characters of a title and of an anchor; honest ones are shorter.
LONGEST_TITLE = 300
LONGEST_ANCHOR = 200
#: Characters of a page's text.
LONGEST_TEXT = 1 << 20


def read_html(page: Page) -> Content:
    """Return what an HTML page says."""
    tree = document(page.body, page.http_charset)
    found = tree.select("a[href],base[href],title")
    out = Content(charset=tree.encoding)
    for element in found:
        if element.tag == "title" and not out.title:
            out.title = line(element.text, LONGEST_TITLE)
    out.links = _links(found, page.url.href, tree.encoding)
    tree.remove("script,style,noscript,template")
    if tree.root is not None:
        out.text = lines(tree.root.to_text(), LONGEST_TEXT)
    return out


def _links(found: list[Element], url: str, encoding: str | None) -> list[Outlink]:
    base = next((e.attr("href") for e in found if e.tag == "base"), None)
    collector = Collector(parse(base, url) or url if base else url)
    collector.encode = query_encoder(encoding)
    links: dict[Outlink, None] = {}
    for element in found:
        href = (element.attr("href") or "").partition("#")[0]
        target = collector.resolve(href) if element.tag == "a" and href else None
        if target is not None and target != url:
            anchor = line(element.text, LONGEST_ANCHOR)
            links[Outlink(target, anchor, element.attr("rel") or "")] = None
    return list(links)
