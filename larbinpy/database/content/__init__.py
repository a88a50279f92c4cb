"""Reads what a page says from its bytes: title, text, language, dates, links.

`read` never raises, whatever the bytes are, and takes bounded time and memory, but for PDF. It runs
outside the crawl's loop, in the processes that fill the content database.

    content     the values, and their bounds
    reading     chooses the reader of a body; reads plain text, Markdown, RSS and Atom
    html        HTML and XHTML pages: one parse, one pass of a selector; titles and links
    main_text   the main text of a page and the rest of its visible text
    prose       the running text of a page, and the element that an article stands in
    hidden      text that a reader cannot see
    declared    what a page declares in <meta> and JSON-LD
    dates, language, pdf   the other parts
"""

from larbinpy.database.content.content import Content, Image, Outlink
from larbinpy.database.content.reading import read

__all__ = ["Content", "Image", "Outlink", "read"]
