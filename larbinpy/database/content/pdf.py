"""Reads PDF with pdfium.

It is the library of Chromium, fuzzed for years; still, a PDF may stall it or kill the process. So
this runs in a process that may be killed, and only one thread of it may call the library.
"""

import re
from typing import Any

from larbinpy.database.content import dates
from larbinpy.database.content.content import (
    LONGEST_AUTHOR,
    LONGEST_TEXT,
    LONGEST_TITLE,
    Content,
    line,
    lines,
)
from larbinpy.database.content.language import language

#: Pages that are read, at 1 to 5 ms each: most books.
_MOST_PAGES = 1000
#: pdfium's code for a document that needs a password (FPDF_ERR_PASSWORD).
_PASSWORD = 4
#: A hyphen at the end of a line, as pdfium marks it.
_HYPHEN = re.compile("[\\x02\\xad\\ufffe]\\s*")
#: A line break between characters that have no blanks between words.
_JOINT = re.compile(r"(?<=[\u2e80-\u9fff\uac00-\uffef])\s*\n\s*(?=[\u2e80-\u9fff\uff00-\uffef])")
#: Titles that programs write and nobody chose.
_UNTITLED = re.compile(
    r"untitled|unbenannt|sans titre|\(?anonymous\)?$|unspecified$|no title$|title$|about:blank"
    r"|microsoft (?:word|excel|powerpoint|office|visio)|.{0,20}\bpowerpoint\b"
    r"|(?:doc|document|dokument|presentation|slide|folie|layout|page|book|print)\s?\d*$"
    r"|(?:\u5e7b\u706f\u7247|\u30b9\u30e9\u30a4\u30c9)\s*\d+$|[\W\d_]*$"
    r"|.*\.(?:docx?|dotx?|rtf|odt|odp|ods|xlsx?|pptx?|indd|pmd|p65|qxd|fm|cdr|ai|psd|eps|ps|pdf|tex"
    r"|dvi|wpd|pages|html?|txt)$",
    re.I,
)
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_WORD = re.compile(r"[^\W\d_]{2}|[\u2e80-\uffef]")


def read_pdf(body: bytes, latest: str) -> Content:
    """Return what a PDF says; its title is that of its metadata, or its first line."""
    # Loading the library takes 30 ms, and most processes never see a PDF.
    import pypdfium2

    out = Content()
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) == _PASSWORD
        out.trouble = "encrypted PDF" if locked else "damaged PDF"
        return out
    try:
        pages = _pages(document, out, pypdfium2.PdfiumError)
        about: dict[str, str] = document.get_metadata_dict()
    finally:
        document.close()
    out.text = lines("\n".join(map(_joined, pages)), LONGEST_TEXT)
    title = line(about.get("Title", ""), LONGEST_TITLE)
    if _UNTITLED.match(title):
        first = (each for page in pages for each in page.splitlines() if _WORD.search(each))
        title = line(next(first, ""), LONGEST_TITLE)
    out.title = title
    out.author = line(about.get("Author", ""), LONGEST_AUTHOR)
    out.published = _date(about.get("CreationDate", ""), latest)
    out.modified = _date(about.get("ModDate", ""), latest)
    out.lang = language(out.text, ())
    return out


def _pages(document: Any, out: Content, fault: type[Exception]) -> list[str]:
    found: list[str] = []
    room = LONGEST_TEXT
    count = len(document)
    for number in range(min(count, _MOST_PAGES)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()
            page.close()
        except fault:
            out.trouble = "damaged PDF"
            continue
        found.append(_HYPHEN.sub("", text.replace("\r", "")))
        room -= len(text)
        if room < 0:
            break
    if room < 0 or count > _MOST_PAGES:
        out.trouble = f"text cut at {len(found)} of {count} pages"
    return found


def _joined(page: str) -> str:
    """A page as one block: its lines end where the paper does."""
    return _JOINT.sub("", page).replace("\n", " ")


def _date(text: str, latest: str) -> str | None:
    found = _DATE.match(text)
    if found is None:
        return None
    return dates.iso(f"{found[1]}-{found[2] or '01'}-{found[3] or '01'}", latest)
