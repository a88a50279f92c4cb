"""A page in a file of its own, without the headers that it came with.

The interface of a source of pages.

The numbered files of save mode as a source of pages: dNNNNN/fNNNNN and dNNNNN/index.
"""

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from mimetypes import MimeTypes
from pathlib import Path
from typing import NamedTuple, Protocol

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.files import find_folder
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url, resolve, split

#: Reason for which a page is left out that cannot be read.
DAMAGED = "damaged in the archive"


class Taken(NamedTuple):
    """A page of a source."""

    #: The part of the source that is read, in units of its `size`.
    done: int
    #: A page with another outcome than success says that its URL answered without one.
    spooled: Spooled


class Source(Protocol):
    """A file or folder that has pages; it is not changed."""

    #: As the user knows it.
    name: str
    #: The amount that can be read of it: bytes, or files.
    size: int
    #: Numbers of pages that were left out, by the reason; counted by `pages`.
    left_out: Counter[str]

    def pages(self) -> Iterator[Taken]:
        """The pages, each as it is read. Raises `OSError`, and `SourceError` at a damaged place."""


class SourceError(Exception):
    """The rest of a source cannot be read; the message says where and why."""


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


_FOLDER = re.compile(r"d[0-9]{5,9}")
_LINE = re.compile(rb"([0-9]{1,5}) (\S+)\s*")


class SavedFiles:
    """The pages that save mode wrote into `folder`, at most `most` bytes of each."""

    def __init__(self, folder: Path, most: int) -> None:
        self._indexes = indexes(folder)
        self._most = most
        self.name = str(folder)
        self.left_out: Counter[str] = Counter()
        self.size = sum(path.read_bytes().count(b"\n") for path in self._indexes)

    def pages(self) -> Iterator[Taken]:
        done = 0
        for index in self._indexes:
            with index.open("rb") as lines:
                for line in lines:
                    done += 1
                    match = _LINE.fullmatch(line)
                    url = resolve(match[2].decode("utf-8", "replace")) if match else None
                    if match is None or url is None:
                        self.left_out["a line of an index without a URL"] += 1
                        continue
                    path = index.parent / f"f{int(match[1]):05}"
                    try:
                        at, body = path.stat().st_mtime, read_file(path, self._most)
                    except OSError:
                        # A consumer of the pages may have removed it.
                        self.left_out["no file"] += 1
                        continue
                    yield Taken(done, page_in(url, body, at))


def indexes(folder: Path) -> list[Path]:
    """The indexes of save mode in `folder`, in their order."""
    names = [path for path in folder.iterdir() if _FOLDER.fullmatch(path.name)]
    numbered = [path for path in names if not path.is_symlink()]
    found = [path / "index" for path in sorted(numbered, key=lambda each: int(each.name[1:]))]
    return [path for path in found if path.is_file() and not path.is_symlink()]
