"""Reads what a page says from its bytes: title, text, language, dates, links.

`read` never raises, whatever the bytes are, and takes bounded time and memory. It runs outside
the crawl's loop, in the processes that fill the content database.

    content     the values
    html        HTML pages
    clean       texts without control characters and runs of blanks
"""

from larbinpy.content.content import Content, Image, Outlink
from larbinpy.content.html import read_html
from larbinpy.page import Page

__all__ = ["Content", "Image", "Outlink", "read"]


def read(page: Page) -> Content:
    """Return what `page` says: HTML, XHTML, feeds, plain text and PDF; of other types nothing."""
    return read_html(page)
