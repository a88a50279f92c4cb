"""A page in a file of its own, without the headers that it came with."""

import errno
import os
import re
import stat
from mimetypes import MimeTypes
from pathlib import Path

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.files import find_folder
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
    """At most `most` bytes of the file `path`. Raises `OSError`, also if it is a link or a pipe."""
    return _read(path, most)


def read_below(folder: Path, path: str, most: int) -> bytes:
    """At most `most` bytes of the file `path` below `folder`; somebody else wrote `path`.

    Raises `OSError`, also if `path` leads out of `folder`, or if a part of it is a link.
    """
    above, _, name = path.rpartition("/")
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        parent = find_folder(top, above)
    finally:
        os.close(top)
    try:
        return _read(name, most, parent)
    finally:
        os.close(parent)


def _read(path: str | Path, most: int, parent: int | None = None) -> bytes:
    def opener(path: str, flags: int) -> int:
        # A pipe is not waited for.
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)

    with open(path, "rb", opener=opener) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return file.read(most)


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
