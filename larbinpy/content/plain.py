"""Reads plain text and Markdown."""

import re
from itertools import islice

from larbinpy.content.clean import line, lines
from larbinpy.content.content import LONGEST_TEXT, LONGEST_TITLE, MOST_HEADINGS, Content
from larbinpy.content.language import language
from larbinpy.page import Page
from larbinpy.parse.charset import plain

TYPES = frozenset({"text/plain", "text/x-rst"})
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
#: Lines in which a title is looked for.
_FIRST_LINES = 20
#: Characters around a title: signs of Markdown, frames, and comments.
_AROUND = " \t#*=-_~/;%|+"
_WORD = re.compile(r"[^\W_]")
_HEADING = re.compile(r"^ {0,3}#{1,6} +(.*)", re.MULTILINE)


def read_plain(page: Page) -> Content:
    """Return what a plain text says: its first line with words is its title."""
    text, charset = plain(page.body, page.http_charset)
    out = Content(charset=charset)
    if "\0" in text[:LONGEST_TEXT]:
        out.trouble = "binary data labelled as text"
        return out
    first = (each for each in text[:LONGEST_TEXT].split("\n", _FIRST_LINES)[:_FIRST_LINES])
    title = next((each for each in first if _WORD.search(each)), "")
    out.title = line(title, LONGEST_TITLE).strip(_AROUND)
    out.text = lines(text, LONGEST_TEXT)
    if len(text) > LONGEST_TEXT:
        out.trouble = f"text cut at {LONGEST_TEXT} characters"
    if page.type in MARKDOWN:
        found = islice(_HEADING.finditer(text[:LONGEST_TEXT]), MOST_HEADINGS)
        headings = (line(each[1], LONGEST_TITLE).strip(_AROUND) for each in found)
        out.headings = list(dict.fromkeys(filter(None, headings)))
    out.lang = language(out.text, (page.header("content-language"),))
    return out
