"""A page in a file of its own, without the headers that it came with."""

import os
import re
from mimetypes import MimeTypes
from pathlib import Path

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url, split

#: The types that Python knows: those of this machine name odd extensions, too.
_TYPES = MimeTypes()
#: Bytes of the beginning that show the type.
_BEGIN = 1024
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta)\b", re.I | re.S
)
_TAG = re.compile(rb"<(?:p|div|h[1-6]|table|a|br|ul|center|font)\b", re.I)
_BOM = b"\xef\xbb\xbf"


def read_file(path: Path, most: int) -> bytes:
    """At most `most` bytes of the file `path`. Raises `OSError`, also if it is a link."""
    with open(path, "rb", opener=_open) as file:
        return file.read(most)


def _open(path: str, flags: int) -> int:
    # A pipe is not waited for.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def page_in(
    url: str, body: bytes, at: float, headers: list[tuple[str, str]] | None = None
) -> Spooled:
    """The page of `url` that was fetched at the Unix time `at`; its type is guessed if need be."""
    headers = headers or []
    if "content-type" not in dict(headers):
        headers = [*headers, ("content-type", media_type(url, body))]
    return Spooled(at, Page(Url(url, 0), Outcome.SUCCESS, 200, headers, body))


def media_type(url: str, body: bytes) -> str:
    """The type that a server probably sent: by the content, then by the name, then by both."""
    begin = body[:_BEGIN].removeprefix(_BOM)
    if _HTML.match(begin):
        return "text/html"
    if begin.startswith(b"%PDF-"):
        return "application/pdf"
    guessed, _ = _TYPES.guess_type(split(url).path.partition("?")[0])
    if guessed is not None:
        return guessed
    if b"\0" in begin:
        return "application/octet-stream"
    if begin.lstrip().startswith(b"<?xml"):
        return "application/xml"
    return "text/html" if _TAG.search(begin) else "text/plain"
