"""Reads what a page says from its bytes: title, text, language, dates, links.

`read` never raises, whatever the bytes are, and takes bounded time and memory, but for PDF. It runs
outside the crawl's loop, in the processes that fill the content database.

    content     the values, and their bounds
    reading     chooses the reader of a body
    html        HTML and XHTML pages: one parse, one pass of a selector
    main_text   the main text of a page and the rest of its visible text
    declared    what a page declares in <meta> and JSON-LD
    facts       JSON-LD
    title, dates, language, links   the parts
    feeds, plain, pdf   RSS and Atom, plain text and Markdown, PDF
    clean       texts without control characters and runs of blanks
"""

from larbinpy.content.content import Content, Image, Outlink
from larbinpy.content.reading import read

__all__ = ["Content", "Image", "Outlink", "read"]
