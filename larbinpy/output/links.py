"""The record of links, ``links.bin``, and that of a link check, ``check.txt``.

The crawl log has one page for each URL, the first that linked to it. From the record of links
`larbinpy report` knows all pages with a broken link. It has hashes instead of URLs, some 700 bytes
for a page of 80 links: the report hashes the few URLs that are broken, and looks for them.

The file begins with `_MAGIC`, one byte for the kind of hash, and its random key. A page is

    8 bytes   the first half of the key, which no page can contain, so that a reader finds the next
              record after one that a kill has torn
    4 + 4     length of the page's URL, and number of its links
    ...       its URL, then a hash of 8 bytes for each link

with numbers in the byte order of the machine. The compiled module hashes by folding products, 4 ns
a link. In Python that takes 2 us, and BLAKE2b 1 us, so a record begun without the module uses
BLAKE2b. Each kind can be read and continued with and without the module.

A `CheckRecord` keeps how a check judges, the parts of each page (``#name``) and those that it links
to, and where in the page each link is. Each line is a word, the URL of the page, and JSON.
"""

import json
import os
import struct
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, Protocol
from urllib.parse import unquote

from larbinpy.errors import UserError
from larbinpy.native import native
from larbinpy.parse import Kind
from larbinpy.parse.link import (
    MAX_LINKS,
    Checked,
    Link,
    PackedLinks,
    Place,
    buffers,
    urls,
)
from larbinpy.storage.files import AppendFile
from larbinpy.storage.state import Journal, SavedPart
from larbinpy.url import MAX_LENGTH

FOLD, BLAKE2B = b"f", b"b"
KEY_SIZE = 16

_MASK = (1 << 64) - 1

#: The hash for a new record.
FASTEST = BLAKE2B if native is None else FOLD


class LinkHash:
    """The hash `kind`, FOLD or BLAKE2B, under a `key` of 16 bytes."""

    def __init__(self, kind: bytes, key: bytes) -> None:
        self._folds = kind == FOLD
        self._key = key

    def one(self, url: str) -> int:
        """The hash of `url`."""
        data = url.encode()
        if self._folds:
            return fold_hash(self._key, data)
        return int.from_bytes(blake2b(data, digest_size=8, key=self._key).digest(), sys.byteorder)

    def all(self, links: Sequence[Link]) -> bytes:
        """The hashes of the URLs of `links`, 8 bytes each, in the byte order of the machine."""
        if self._folds and native is not None:
            hashes: bytes = native.hash_links(self._key, *buffers(links))
            return hashes
        return struct.pack(f"={len(links)}Q", *map(self.one, urls(links)))


def fold_hash(key: bytes, data: bytes) -> int:
    """The hash of larbinpy/native/link_hashes.c."""
    k0, k1 = struct.unpack("=QQ", key)
    pairs = len(data) // 16 + 1
    hashed: int = k0 ^ len(data)
    for a, b in struct.iter_unpack("=QQ", data.ljust(16 * pairs, b"\0")):
        hashed = _fold(a ^ k1, b ^ hashed)
    return _fold(hashed ^ k0, k1)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & _MASK


NAME = "links.bin"

_MAGIC = b"larbinpy links\n"
_HEADER = len(_MAGIC) + 1 + KEY_SIZE
_SYNC = 8
_SIZES = Struct("=II")
_PIECE = 1 << 16


class LinkNotes(Protocol):
    """A receiver of the links of pages."""

    def page(self, url: str, links: Sequence[Link]) -> None:
        """Note that the page `url` has `links`, all of them."""

    def checked(self, url: str, checked: Checked) -> None:
        """Note what a link check found in the page `url`."""

    def moved(self, url: str) -> None:
        """Note that `url` redirects to some part, whatever part a link to it names."""


class _NoLinkNotes:
    """Notes nothing."""

    def page(self, url: str, links: Sequence[Link]) -> None:
        pass

    def checked(self, url: str, checked: Checked) -> None:
        pass

    def moved(self, url: str) -> None:
        pass


NO_LINK_NOTES: LinkNotes = _NoLinkNotes()


class FoldedLinkNotes:
    """Passes links on as the URLs that they count as, which are those of the crawl log.

    `fold` returns the function that folds a URL now, or None if URLs stay as they are. `check`
    takes what a link check finds.
    """

    def __init__(
        self,
        notes: "LinkRecord",
        fold: Callable[[], Callable[[str], str] | None],
        check: "CheckRecord | NoLinkRecord",
    ) -> None:
        self._notes = notes
        self._fold = fold
        self._check = check
        self.moved = check.moved

    def checked(self, url: str, checked: Checked) -> None:
        if _have_parameters(checked.places) and (fold := self._fold()) is not None:
            places: dict[str, dict[str, Place]] = {}
            linked: dict[str, list[str]] = {}
            for to, here in checked.places.items():
                places.setdefault(fold(to), {}).update(here)
            for to, parts in checked.linked.items():
                linked.setdefault(fold(to), []).extend(parts)
            checked = replace(checked, places=places, linked=linked)
        self._check.checked(url, checked)

    def page(self, url: str, links: Sequence[Link]) -> None:
        if _may_have_parameters(links) and (fold := self._fold()) is not None:
            found = urls(links)
            folded = list(map(fold, found))
            if folded != found:
                links = [Link(each, Kind.PAGE) for each in dict.fromkeys(folded)]
        self._notes.page(url, links)


def _have_parameters(urls: Iterable[str]) -> bool:
    """Whether any of `urls` has parameters."""
    text = "\n".join(urls)
    return "?" in text or ";" in text


def _may_have_parameters(links: Sequence[Link]) -> bool:
    """Whether any of `links` may have parameters; those of most pages have none."""
    if not isinstance(links, PackedLinks):
        return True
    find = links.text.find  # takes half the time of `in`
    return find(b"?") >= 0 or find(b";") >= 0


class NoLinkRecord(_NoLinkNotes, SavedPart):
    """No record (keepLinks off); `clear` removes that of an earlier crawl at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def flush(self) -> None:
        pass

    def cut(self) -> dict[str, int] | None:
        return None

    def sync(self) -> None:
        pass

    def load(self, mark: object) -> None:
        pass

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        pass


class LinkRecord(Journal):
    """Appends to the record at `path`.

    Raises `UserError` if that is another file, unless `discard`: then `clear` removes its content.
    """

    def __init__(self, path: Path, *, discard: bool = False) -> None:
        file = AppendFile(path, follow=False)
        super().__init__(file)
        try:
            header = file.read(_HEADER, 0)
            # A kill has torn it.
            if len(header) < _HEADER and _MAGIC.startswith(header[: len(_MAGIC)]):
                self.clear()
            else:
                self._open(header, discard)
        except BaseException:
            file.close()
            raise

    def _open(self, header: bytes, discard: bool) -> None:
        try:
            self._begin(header)
        except UserError:
            if not discard:
                raise

    def _begin(self, header: bytes) -> None:
        self._hash, self._sync = _read_header(header, self._file.name)

    def page(self, url: str, links: Sequence[Link]) -> None:
        count = len(links)
        if count:
            sizes = _SIZES.pack(len(url), count)
            hashes = self._hash.all(links)
            self._waiting.append(b"".join((self._sync, sizes, url.encode("ascii"), hashes)))

    def clear(self) -> None:
        """Remove all pages, and begin with a new key."""
        super().clear()
        self._waiting.clear()
        header = _MAGIC + FASTEST + os.urandom(KEY_SIZE)
        self._file.write(header)
        self._begin(header)

    def load(self, mark: dict[str, int] | None) -> None:
        # A crawl that had keepLinks off has left no mark.
        if mark is not None:
            super().load(mark)


CHECK = "check.txt"


def has_part(parts: Container[str], part: str) -> bool:
    """Whether browsers find `part` among the `parts` of a page (HTML, "indicated part").

    The scripts of code hosts look for a name with a prefix as well.
    """
    decoded = unquote(part)
    return part in parts or decoded in parts or f"user-content-{decoded}" in parts


#: Stands for the parts of a redirect to some part.
MOVED = "moved"
_JUDGES, _PARTS, _LINKED, _PLACES = b"check", b"parts", b"linked", b"places"
_dump = json.JSONEncoder(separators=(",", ":")).encode


class CheckRecord(Journal):
    """Appends to the record of a link check at `path`, which judges as `judges` says."""

    def __init__(self, path: Path, judges: Mapping[str, object]) -> None:
        super().__init__(AppendFile(path, follow=False))
        self._head = b"%s - %s\n" % (_JUDGES, _dump(judges).encode())
        if not self._file.size:
            self._waiting.append(self._head)

    def checked(self, url: str, checked: Checked) -> None:
        """Note what was found in the page `url`."""
        parts = checked.filled if checked.parts is None else list(checked.parts)
        noted = (_PARTS, parts), (_LINKED, checked.linked), (_PLACES, checked.places)
        for kind, value in noted:
            self._note(kind, url, value)

    def moved(self, url: str) -> None:
        """Note that `url` redirects to some part."""
        self._note(_PARTS, url, MOVED)

    def _note(self, kind: bytes, url: str, value: object) -> None:
        line = b"%s %s %s\n" % (kind, url.encode("ascii"), _dump(value).encode())
        self._waiting.append(line)

    def clear(self) -> None:
        super().clear()
        self._waiting[:] = [self._head]

    def load(self, mark: dict[str, int] | None) -> None:
        # A crawl that was no link check has left no mark.
        if mark is not None:
            super().load(mark)
        self._waiting.append(self._head)


class CheckReader:
    """Reads the record of a link check; it has no lines if there is none, or if it is torn."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def judges(self) -> dict[str, Any]:
        """How the check judges; empty if there was none."""
        found: dict[str, Any] = {}
        for _, text in self._lines(_JUDGES):
            found = _load(text) or found
        return found

    def parts(self, pages: Container[str]) -> Iterator[tuple[str, list[str] | str | bool]]:
        """Those of `pages` that were read, each with its parts.

        In place of these MOVED if it is a redirect to some part, True if a script fills it, False
        if it has none or is torn.
        """
        for url, text in self._lines(_PARTS):
            if url in pages:
                parts = _load(text)
                yield url, False if parts is None else parts

    def linked(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Each page, and the parts that it links to, by the URL of their page."""
        for url, text in self._lines(_LINKED):
            yield url, _load(text) or {}

    def places(
        self, pages: Container[str]
    ) -> Iterator[tuple[str, dict[str, dict[str, tuple[int, str]]]]]:
        """For each of `pages`: the line and the text of its links, by URL and part."""
        for url, text in self._lines(_PLACES):
            if url in pages:
                yield url, _load(text) or {}

    def _lines(self, kind: bytes) -> Iterator[tuple[str, bytes]]:
        start = kind + b" "
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            for line in file:
                if line.startswith(start):
                    url, _, text = line[len(start) :].partition(b" ")
                    yield url.decode("ascii", "replace"), text


def _load(text: bytes) -> Any:
    """The value of a line; None if a kill has torn it."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _read_header(header: bytes, name: str) -> tuple[LinkHash, bytes]:
    """The hash of a record, and the bytes that each page begins with."""
    kind, key = header[len(_MAGIC) :][:1], header[len(_MAGIC) + 1 :]
    if not header.startswith(_MAGIC) or kind not in (FOLD, BLAKE2B) or len(key) < KEY_SIZE:
        raise UserError(f"{name}: not a record of links; move it away")
    return LinkHash(kind, key), key[:_SYNC]


class LinkReader:
    """Reads a record, complete or torn, even while a crawl appends to it.

    Raises OSError if there is none, `UserError` if it is another file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self.hash, self._sync = _read_header(file.read(_HEADER), str(path))

    def pages(self) -> Iterator[tuple[str, memoryview]]:
        """The URL of each page, and the hashes of its links as a view of integers."""
        with self._path.open("rb") as file:
            at: int | None = _HEADER
            while at is not None:
                page = self._page(file, at)
                if page is None:
                    at = self._next(file, at + 1)
                else:
                    url, hashes, at = page
                    yield url, hashes

    def _page(self, file: BinaryIO, at: int) -> tuple[str, memoryview, int] | None:
        """URL and hashes of the page at an offset, and its end; None if there is none."""
        file.seek(at)
        head = file.read(_SYNC + _SIZES.size)
        if len(head) < _SYNC + _SIZES.size or head[:_SYNC] != self._sync:
            return None
        length, count = _SIZES.unpack_from(head, _SYNC)
        if length > MAX_LENGTH or count > MAX_LINKS:
            return None
        size = length + 8 * count
        body = file.read(size + _SYNC)
        # The next page begins within a torn one.
        if len(body) < size or 0 <= body.find(self._sync) < size:
            return None
        hashes = memoryview(body)[length:size].cast("Q")
        return body[:length].decode("ascii", "replace"), hashes, at + len(head) + size

    def _next(self, file: BinaryIO, start: int) -> int | None:
        """The offset of the next page from `start` on; None if there is none."""
        file.seek(start)
        piece = b""
        while more := file.read(_PIECE):
            piece = piece[-_SYNC + 1 :] + more
            found = piece.find(self._sync)
            if found >= 0:
                return file.tell() - len(piece) + found
        return None
