"""Reads what a page says from its bytes: title, text, language, dates, links.

`read` never raises, whatever the bytes are, and takes bounded time and memory. It runs outside
the crawl's loop, in the processes that fill the content database.

    content     the values
    html        HTML pages
    clean       texts without control characters and runs of blanks
"""

from larbinpy.content.content import Content, Image, Outlink
from larbinpy.content.html import read_html
from larbinpy.page import Page, timestamp
from larbinpy.parse import directives
from larbinpy.parse.link import Collector

#: A page may be dated a day later than its fetch: the day begins earlier in the east.
_DAY = 86400

__all__ = ["Content", "Image", "Outlink", "read"]


def read(page: Page, at: float) -> Content:
    """Return what `page` says: HTML, XHTML, feeds, plain text and PDF; of other types nothing.

    `at` is the Unix time of its fetch: dates in the future are not believed.
    """
    out = read_html(page, timestamp(at + _DAY)[:10])
    robots = Collector(page.url.href)
    for name, value in page.headers:
        if name == "x-robots-tag":
            directives.from_header(value, robots)
    out.noindex = out.noindex or robots.noindex
    return out
