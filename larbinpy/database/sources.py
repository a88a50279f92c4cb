"""Pages that earlier crawls and other programs left on the disk, as a database takes them.

`find` finds the sources (`PageSource`) in the files and folders that the user names:

- `SavedFiles`: the numbered files of save mode, dNNNNN/fNNNNN and dNNNNN/index.
- `WarcFile`: a response with status 2xx is a page. One that is 404, 410 or a redirect says that its
  URL answered without one. A revisit record says that the payload was the same as that of an
  earlier record, whose page is then given again, with the URL and the date of the revisit.
  robots.txt files, which archives keep for replay, are no pages.
- `Mirror`: the path of a file, HOST/path, shows its URL: `output.mirror.paths` the other way round.
- `Browsable`: a mirror that browses offline; its catalog has the URL of each file.
"""

import errno
import gzip
import json
import os
import re
import sqlite3
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    closing,
    contextmanager,
    nullcontext,
    redirect_stderr,
    suppress,
)
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO, StringIO
from mimetypes import MimeTypes
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol
from urllib.parse import quote

import zstandard
from warcio.archiveiterator import ArchiveIterator

from larbinpy.database.preparation import signed_hash
from larbinpy.errors import UserError
from larbinpy.output.mirror.paths import CATALOG, INDEX, locate, original_beside, original_of
from larbinpy.page import Outcome, Page
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


class PageSource(Protocol):
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


class At(NamedTuple):
    """The place of a record: the number of the file, and the offset in it in bytes."""

    file: int
    offset: int


class Payloads:
    """The places of payloads, by what revisit records say: a digest, or a URL.

    They are in a temporary file of SQLite, which is deleted when it is closed, so that the memory
    does not grow with the archive.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript(
            "PRAGMA journal_mode=OFF;"
            "CREATE TABLE payload (name INTEGER PRIMARY KEY, file INTEGER, start INTEGER);"
        )

    def note(self, names: Iterable[str], at: At) -> None:
        """Note that the payload that `names` name is in the record at `at`, the latest so far."""
        self._base.executemany(
            "INSERT OR REPLACE INTO payload VALUES (?, ?, ?)",
            [(signed_hash(name), at.file, at.offset) for name in names],
        )

    def find(self, names: Iterable[str]) -> At | None:
        """The place of the payload that the first of `names` that is known names."""
        for name in names:
            row = self._base.execute(
                "SELECT file, start FROM payload WHERE name = ?", (signed_hash(name),)
            ).fetchone()
            if row is not None:
                return At(*row)
        return None

    def close(self) -> None:
        self._base.close()


_ARCS = (".arc", ".arc.gz")
_ARCHIVES = (".warc", ".warc.gz", ".warc.zst", *_ARCS)
_PACKAGE = ".wacz"
#: Content codings of the Web that warcio does not undo; names that are none of a coding, as some
#: servers send them, mean nothing, as for browsers.
_CODINGS = {"br", "zstd", "compress", "x-compress", "x-gzip", "gzip"}
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
#: The number of a frame with a dictionary.
_DICTIONARY = 0x184D2A5D
#: The most bytes of the head of a frame.
_FRAME_HEAD = 18
#: Bytes by which one tells a text that is stored decoded, whatever its headers say.
_READABLE = 64
_REDIRECTS = {301, 302, 303, 307, 308}
_GONE = {HTTPStatus.NOT_FOUND.value, HTTPStatus.GONE.value}
_READ = 1 << 16
#: Bytes of an archive in which the second record is looked for.
_LOOKED_AT = 8 << 20
#: Characters.
_LONGEST_REASON = 80


class ArchivePart(NamedTuple):
    """A WARC or ARC file, or the one that is the `part` of a ZIP file (WACZ)."""

    path: Path
    part: str = ""

    def __str__(self) -> str:
        return f"{self.path}/{self.part}" if self.part else str(self.path)

    def ends(self, *endings: str) -> bool:
        return str(self).lower().endswith(endings)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file as it is."""
        if not self.part:
            with self.path.open("rb") as file:
                yield file
            return
        try:
            with zipfile.ZipFile(self.path) as package, package.open(self.part) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            raise SourceError(f"damaged: {_shown(str(error))}") from None


class WarcFile:
    """The WARC or ARC file number `number` of `files`, compressed by records, as a whole, or plain.

    At most `most` bytes of a page are read. `payloads` has those of the files before.
    """

    def __init__(
        self, files: Sequence[ArchivePart], number: int, payloads: Payloads, most: int
    ) -> None:
        self._files = files
        self._number = number
        self._payloads = payloads
        self._most = most
        self._archive = files[number]
        self.name = str(self._archive)
        self.size = self._archive.path.stat().st_size
        self.left_out: Counter[str] = Counter()

    def pages(self) -> Iterator[Taken]:
        with self._archive.opened() as packed, _unpacked(packed, self._archive) as file:
            for offset, record in self._records(file):
                page = self._page(record, At(self._number, offset))
                if page is not None:
                    done = offset if file is packed else packed.tell()
                    yield Taken(done, Spooled(_date(record, self._archive.path), page))
            if self._archive.ends(".zst") and _is_cut(packed):
                raise SourceError("damaged: it is cut off")

    def _records(self, file: Any) -> Iterator[tuple[int, Any]]:
        """The records, also those behind a damaged place; what has no others behind it is the
        damaged rest. Raises SourceError."""
        while True:
            try:
                yield from _records(file, self._archive)
                return
            except DamagedPlace as error:
                following = None if self._archive.ends(*_ARCS) else _next_record(file, error)
                if following is None:
                    raise
                self.left_out[DAMAGED] += 1
                file.seek(following)

    def _page(self, record: Any, at: At) -> Page | None:
        """The page that a record says something of; None if it is of no page."""
        kind = record.rec_type
        if kind not in ("response", "revisit", "resource"):
            return None
        url = _target(record, "WARC-Target-URI")
        if url is None or _is_robots(url, record):
            return None
        if kind == "revisit":
            return self._revisited(record, url)
        page = self._read(record, url)
        if page is not None and page.outcome is Outcome.SUCCESS:
            digest = record.rec_headers.get_header("WARC-Payload-Digest")
            self._payloads.note(filter(None, (digest, url)), at)
        return page

    def _read(self, record: Any, url: str) -> Page | None:
        """The page in the record of a response or a resource."""
        http = record.http_headers
        if http is None:
            if record.rec_type == "response":
                return None
            kind = record.rec_headers.get_header("Content-Type") or ""
            status, headers = HTTPStatus.OK.value, [("content-type", kind)]
        else:
            status, headers = _status(http), _headers(http)
        outcome = _outcome(status)
        if outcome is None:
            return None
        if outcome is not Outcome.SUCCESS:
            return Page(Url(url, 0), outcome, status, headers)
        body, cut = self._body(record)
        if body is None:
            self.left_out[DAMAGED] += 1
            return None
        coding = dict(headers).get("content-encoding", "").strip().lower()
        if coding in _CODINGS and ("gzip" not in coding or body.startswith(_GZIP)):
            body = _decoded(body, coding, self._most)
            if body is None:
                self.left_out[f"coded as {coding}"] += 1
                return None
            cut |= len(body) >= self._most
        truncated = "length" if cut else record.rec_headers.get_header("WARC-Truncated")
        return Page(Url(url, 0), outcome, status, headers, body, truncated)

    def _body(self, record: Any) -> tuple[bytes | None, bool]:
        """The payload, decoded, and whether it was cut; None if it is damaged."""
        parts, size = [], 0
        try:
            with _quiet():
                stream = record.content_stream()
                while size <= self._most and (data := stream.read(_READ)):
                    parts.append(data)
                    size += len(data)
                whole = size > self._most or not getattr(record.raw_stream, "limit", 0)
                # warcio gives what there is of a record that is cut off.
                if not whole and not record.raw_stream.read(1):
                    return None, False
        except Exception:  # see `_records`
            return None, False
        return b"".join(parts)[: self._most], size > self._most

    def _revisited(self, record: Any, url: str) -> Page | None:
        """The page of an earlier record, as the page of `url`."""
        head, http = record.rec_headers, record.http_headers
        status = HTTPStatus.NOT_MODIFIED.value if http is None else _status(http)
        outcome = _outcome(status)
        if status != HTTPStatus.NOT_MODIFIED and outcome is not Outcome.SUCCESS:
            return None if outcome is None else Page(Url(url, 0), outcome, status)
        referred = _target(record, "WARC-Refers-To-Target-URI")
        names = filter(None, (head.get_header("WARC-Payload-Digest"), referred, url))
        at = self._payloads.find(names)
        if at is None:
            self.left_out["a repetition of a page that is in none of the files before"] += 1
            return None
        archive = self._files[at.file]
        with archive.opened() as packed, _unpacked(packed, archive) as file:
            file.seek(at.offset)
            _, original = next(_records(file, archive))
            return self._read(original, url)


def _quiet() -> "redirect_stderr[StringIO]":
    # warcio reports oddities of files there.
    return redirect_stderr(StringIO())


def _decoded(body: bytes, coding: str, most: int) -> bytes | None:
    """The payload without a coding that warcio does not undo; None if it cannot be undone."""
    begin = body[:_READABLE].decode("utf-8", "replace").rstrip("\ufffd")
    if not body or begin.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        return body
    if coding == "zstd" and body.startswith(_ZSTD):
        with (
            suppress(zstandard.ZstdError),
            zstandard.ZstdDecompressor().stream_reader(body) as plain,
        ):
            return plain.read(most)
    if body.startswith(_GZIP):  # coded twice, or by a name that warcio does not know
        with suppress(zlib.error):
            return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body, most)
    return None


def _unpacked(packed: IO[bytes], archive: ArchivePart) -> AbstractContextManager[Any]:
    """The records of a file that is open: the file, or its content if that was compressed as a
    whole, in which records are found by their places in the content."""
    if archive.ends(".zst"):
        known = zstandard.ZstdCompressionDict(_dictionary(packed))
        unpacker = zstandard.ZstdDecompressor(known)
        return unpacker.stream_reader(packed, read_across_frames=True, closefd=False)
    return _Content(fileobj=packed) if _is_whole(archive) else nullcontext(packed)


def _dictionary(packed: IO[bytes]) -> bytes:
    """The dictionary that a file was compressed with; empty for none.

    It is the first frame, and of a kind of its own (Zstandard Compression for WARC Files, 3).
    """
    kind, size = struct.unpack("<II", packed.read(8).ljust(8, b"\0"))
    data = packed.read(size) if kind == _DICTIONARY and size <= _LOOKED_AT else b""
    packed.seek(0)
    if not data.startswith(_ZSTD):
        return data
    with suppress(zstandard.ZstdError):
        return zstandard.ZstdDecompressor().decompress(data, _LOOKED_AT)
    return b""


def _is_cut(packed: IO[bytes]) -> bool:
    """Whether the last frame of a file has no end, which its decompression does not tell."""
    size = packed.seek(0, os.SEEK_END)
    place = 0
    with suppress(zstandard.ZstdError):
        while place < size:
            place = _frame_end(packed, place, size)
    return place != size


def _frame_end(packed: IO[bytes], place: int, size: int) -> int:
    """Where the frame at `place` ends, by the heads of its blocks (RFC 8878, 3.1); beyond `size` if
    the file ends before. Raises ZstdError."""
    packed.seek(place)
    head = packed.read(_FRAME_HEAD)
    kind: int
    length: int
    kind, length = struct.unpack("<II", head[:8].ljust(8, b"\0"))
    if kind & ~15 == _DICTIONARY & ~15:
        return place + 8 + length
    place += int(zstandard.frame_header_size(head))
    last = False
    while not last and place <= size:
        packed.seek(place)
        block = int.from_bytes(packed.read(3), "little")
        last = bool(block & 1)
        # A block of one repeated byte has the size of its content there.
        place += 3 + (1 if block & 6 == 2 else block >> 3)
    return place + 4 * bool(zstandard.get_frame_parameters(head).has_checksum)


class _Content(gzip.GzipFile):
    """Of a file that is cut off, it gives all that comes before."""

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


@lru_cache(16)
def _is_whole(archive: ArchivePart) -> bool:
    """Whether the first member of a compressed file has more than one record."""
    with archive.opened() as file, suppress(Exception), _quiet():
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        plain = b""
        while len(plain) < _LOOKED_AT and not member.eof and (data := file.read(_READ)):
            plain += member.decompress(data, _LOOKED_AT)
        records: Any = _iterator(BytesIO(plain), archive)
        next(records)
        records.read_to_end()
        return bool(records.next_line)
    return False


def _iterator(file: Any, archive: ArchivePart) -> Any:
    """The records of a file; those of the older form as warcio makes them records of a WARC."""
    return ArchiveIterator(file, arc2warc=archive.ends(*_ARCS))


#: The beginning of a record, and of one that is compressed by itself.
_RECORD = re.compile(rb"WARC/[01]\.\d+\r?\n[A-Za-z-]{4,40}: |\x1f\x8b\x08")
_OVERLAP = 64


def _next_record(file: Any, place: "DamagedPlace") -> int | None:
    """The offset of the first record behind a damaged place; None if there is none."""
    # warcio may have read the first line of the next record.
    start = max(place.begun + 1, place.offset - len("WARC/1.0\r\n"))
    data = b""
    with suppress(Exception):
        file.seek(start)
        while block := file.read(_READ):
            data += block
            for found in _RECORD.finditer(data):
                offset = start + found.start()
                is_packed = found[0] == b"\x1f\x8b\x08"
                if not is_packed or (offset > place.offset and _is_record(file, offset)):
                    return offset
            start += len(data[:-_OVERLAP])
            data = data[-_OVERLAP:]
    return None


def _is_record(file: Any, offset: int) -> bool:
    """Whether a compressed record begins there. The file stays where it is."""
    place = file.tell()
    file.seek(offset)
    packed = file.read(_READ)
    file.seek(place)
    with suppress(zlib.error):
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, 5) == b"WARC/"
    return False


def _records(file: Any, archive: ArchivePart) -> Iterator[tuple[int, Any]]:
    """The records of an open file from its position on, each with its offset.

    A record must be read before the next one is taken. Raises SourceError.
    """
    begun = file.tell()
    iterator = _iterator(file, archive)
    while True:
        try:
            with _quiet():
                record = next(iterator, None)
        except gzip.BadGzipFile as error:
            raise DamagedPlace(iterator.offset, begun, error) from None
        except OSError:
            raise
        # At damaged places warcio raises many types: its own, zlib.error, AttributeError ...
        except Exception as error:
            raise DamagedPlace(iterator.offset, begun, error) from None
        if record is None:
            break
        yield iterator.offset, record
    try:
        # warcio takes the place where a compressed file is cut off for its end.
        file.read(1)
    except (EOFError, zstandard.ZstdError) as error:
        raise DamagedPlace(iterator.offset, begun, error) from None


class DamagedPlace(SourceError):
    """A file is damaged at `offset`, and may have records behind it."""

    def __init__(self, offset: int, begun: int, error: Exception) -> None:
        """It was read from the byte `begun` on."""
        reason = str(error).strip().partition("\n")[0]
        if "non-chunked gzip" in reason:
            reason = "some records are compressed by themselves, and some are not"
        super().__init__(f"damaged after byte {max(0, offset)}: {_shown(reason)}")
        self.offset, self.begun = offset, begun


def _shown(reason: str) -> str:
    """A message of warcio, which may quote the archive."""
    text = "".join(char if char.isascii() and char.isprintable() else "." for char in reason)
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."


def _target(record: Any, field: str) -> str | None:
    """The canonical URL in a field; None if it can be no page of a crawl."""
    text = record.rec_headers.get_header(field)
    # Wget puts it between angle brackets.
    return None if text is None else resolve(text.strip().removeprefix("<").removesuffix(">"))


def _date(record: Any, path: Path) -> float:
    """When a record was made (Unix time); if it does not say so, when the file was written."""
    try:
        date = datetime.fromisoformat(record.rec_headers.get_header("WARC-Date") or "")
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return path.stat().st_mtime


def _status(http: Any) -> int:
    word = http.get_statuscode()
    return int(word) if word and word.isascii() and word.isdigit() and len(word) == 3 else 0


def _headers(http: Any) -> list[tuple[str, str]]:
    return [(name.lower(), value.strip()) for name, value in http.headers]


def _is_robots(url: str, record: Any) -> bool:
    """Whether it is a robots.txt, or the file that one redirects to."""
    path, http = split(url).path, record.http_headers
    kind = dict(_headers(http)).get("content-type", "") if http is not None else ""
    is_plain = kind.lower().startswith("text/plain")
    return path == "/robots.txt" or (is_plain and path.endswith("/robots.txt"))


def _outcome(status: int) -> Outcome | None:
    """The outcome of a reply with `status`; None if the reply says nothing of a page."""
    if 200 <= status < 300 and status != HTTPStatus.PARTIAL_CONTENT:
        return Outcome.SUCCESS
    if status in _REDIRECTS:
        return Outcome.ERR_30X
    return Outcome.ERR_40X if status in _GONE else None


_MARKED = re.compile(r"#([0-9A-F]{2})")
#: In a name that was too long, the digest has taken the place of the URL.
_HASHED = re.compile(r"#h[0-9a-f]{32}(?:#|\Z)")


def url_at(path: str, owners: Container[str]) -> str | None:
    """The URL whose file is `path`, relative to the mirror; None if the path does not show it.

    `owners` has a line ``KIND NAME`` for each plain name that one of two URLs took: the lines of
    ``.larbinpy-names``.
    """
    site, *folders = path.split("/")
    if not folders or _HASHED.search(path):
        return None
    host, _, own_scheme = site.partition("#http")
    scheme = f"http{own_scheme}"
    if host == site and f"https {site}" in owners:
        scheme = "https"
    *parts, name = folders
    plain, _, kind = name.rpartition("#")
    if kind not in ("file", "folder"):
        plain = name
        kind = "folder" if _is_index(name) and f"file {path}" not in owners else "file"
    last, mark, query = plain.partition("?")
    if kind == "folder":
        last = ""
    segments = [*map(_segment, parts), _segment(last) if last else ""]
    text = f"{scheme}://{_unmarked(host)}/{'/'.join(segments)}{mark}{_unmarked(query)}"
    url = resolve(text)
    if url is None:
        return None
    place = locate(url)
    # A name that was undone wrongly, or is no file of a mirror, has another path.
    sites = (place.site, place.own_site)
    names = (place.name, place.own_name)
    ways = {f"{each}/{'/'.join((*place.folders, last))}" for each in sites for last in names}
    return url if path in ways else None


def _is_index(name: str) -> bool:
    return name.partition("?")[0] == INDEX


def _segment(name: str) -> str:
    return "" if name == "#empty" else _unmarked(name)


def _unmarked(text: str) -> str:
    """`text` with the bytes that are marked by ``#XX`` as they were."""
    return _MARKED.sub(lambda match: chr(int(match[1], 16)), text)


#: Which of two URLs has a name; `larbinpy.output.mirror.mirror` writes it.
NAMES = ".larbinpy-names"
_OWN = ".larbinpy"


class Mirror:
    """The pages in the mirror `folder`, at most `most` bytes of each."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._owners = frozenset((folder / NAMES).read_text("ascii", "replace").splitlines())
        self.name = str(folder)
        self.left_out: Counter[str] = Counter()
        self.size = sum(1 for _ in self._paths())

    def pages(self) -> Iterator[Taken]:
        for done, path in enumerate(self._paths(), 1):
            url = url_at(path.relative_to(self._folder).as_posix(), self._owners)
            if url is None:
                self.left_out["its path does not show a URL"] += 1
                continue
            try:
                at, body = path.stat().st_mtime, read_file(path, self._most)
            except OSError:
                self.left_out["cannot be read"] += 1
                continue
            yield Taken(done, page_in(url, body, at))

    def _paths(self) -> Iterator[Path]:
        """All files below the folders of hosts; links are not followed."""
        for name in sorted(os.listdir(self._folder)):
            top = self._folder / name
            if name.startswith(_OWN) or top.is_symlink() or not top.is_dir():
                continue
            for folder, folders, files in os.walk(top):
                folders.sort()
                yield from (Path(folder, file) for file in sorted(files))


class Browsable:
    """The pages in the mirror `folder` that has a catalog, at most `most` bytes of each.

    Pages with rewritten links are read from their originals.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self.name = str(folder)
        self.left_out: Counter[str] = Counter()
        with self._opened() as base:
            (self.size,) = base.execute("SELECT count(*) FROM page").fetchone()

    def pages(self) -> Iterator[Taken]:
        # The dates of the files are those of Last-Modified; the last refresh asked for all pages.
        at = (self._folder / CATALOG).stat().st_mtime
        with self._opened() as base:
            try:
                rows = base.execute("SELECT url, path, headers, form FROM page ORDER BY id")
                for done, (url, path, headers, form) in enumerate(rows, 1):
                    pairs = _pairs(headers)
                    if pairs is None or not (_is_url(url) and isinstance(path, str)):
                        self.left_out[DAMAGED] += 1
                        continue
                    body = self._body(url, path, is_rewritten=form is not None)
                    if body is None:
                        self.left_out["no file"] += 1
                        continue
                    yield Taken(done, page_in(url, body, at, pairs))
            except sqlite3.Error as error:
                raise SourceError(f"the catalog is damaged: {error}") from None

    def _opened(self) -> "closing[sqlite3.Connection]":
        path = self._folder / CATALOG
        # A catalog that nobody writes is not to be changed, and may be on a disk for reading only.
        is_used = Path(f"{path}-wal").exists()
        mode = "mode=ro" if is_used else "mode=ro&immutable=1"
        try:
            base = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
            # Text that is not UTF-8 damages its row only.
            base.text_factory = lambda data: data.decode("utf-8", "replace")
            base.execute("SELECT 1 FROM page LIMIT 1")
        except sqlite3.Error as error:
            raise OSError(None, f"the catalog cannot be read: {error}", str(path)) from None
        return closing(base)

    def _body(self, url: str, path: str, *, is_rewritten: bool) -> bytes | None:
        """The page as it was received, if that was kept, else its file; None if both are gone."""
        if is_rewritten:
            packed = self._read(original_of(url), self._most)
            if packed is not None:
                try:
                    return zlib.decompressobj().decompress(packed, self._most)
                except zlib.error:
                    pass
            kept = self._read(original_beside(path), self._most)
            if kept is not None:
                return kept
        return self._read(path, self._most)

    def _read(self, path: str, most: int) -> bytes | None:
        try:
            return read_below(self._folder, path, most)
        except (OSError, UnicodeEncodeError):
            return None


def _is_url(url: object) -> bool:
    return isinstance(url, str) and resolve(url) == url


def _pairs(text: object) -> list[tuple[str, str]] | None:
    """The headers in a row; None if it is damaged."""
    try:
        pairs = [(name, value) for name, value in json.loads(text)]  # type: ignore[arg-type]
        # As they come from the network, decoded as Latin-1.
        for pair in pairs:
            for part in pair:
                part.encode("latin-1")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return pairs


_KINDS = (
    "WARC and WACZ files (.warc, .arc, also .gz and .zst, .wacz), and folders with those, "
    "with a mirror or saved pages"
)


def find(paths: Sequence[str], payloads: Payloads, most: int) -> list[PageSource]:
    """The sources in `paths`; of a page at most `most` bytes are read.

    Raises UserError for a path that has none, and `OSError`.
    """
    archives: list[ArchivePart] = []
    folders: list[PageSource] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = _archives(path)
            found = [*_in_folder(path, most)]
            if not inside and not found:
                raise UserError(f"{name}: no pages in this folder; expected {_KINDS}")
            archives += inside
            folders += found
        elif ArchivePart(path).ends(*_ARCHIVES, _PACKAGE) and path.is_file():
            archives += _parts_of(path)
        else:
            wrong = "no such file" if not os.path.lexists(path) else "not a file of pages"
            raise UserError(f"{name}: {wrong}; expected {_KINDS}")
    # A file that is named twice is read once.
    files = [*dict.fromkeys(archives)]
    numbered = range(len(files))
    return [*(WarcFile(files, number, payloads, most) for number in numbered), *folders]


def _archives(folder: Path) -> list[ArchivePart]:
    """WARC files in `folder`, the oldest first, as far as their names say so."""
    named = (path for path in folder.iterdir() if ArchivePart(path).ends(*_ARCHIVES, _PACKAGE))
    files = sorted(path for path in named if path.is_file())
    return [archive for path in files for archive in _parts_of(path, damaged=True)]


def _parts_of(path: Path, *, damaged: bool = False) -> list[ArchivePart]:
    """The archive that is a file, or those that a WACZ file has.

    One that is none is read as an archive if it may be `damaged`; otherwise raises UserError.
    """
    if not ArchivePart(path).ends(_PACKAGE):
        return [ArchivePart(path)]
    try:
        with zipfile.ZipFile(path) as package:
            parts = [ArchivePart(path, name) for name in sorted(package.namelist())]
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        if damaged:
            return [ArchivePart(path)]
        raise UserError(f"{path}: no WACZ file ({_shown(str(error))})") from None
    return [part for part in parts if part.ends(*_ARCHIVES)]


def _in_folder(folder: Path, most: int) -> Iterator[PageSource]:
    """The sources that the outputs of a crawl left in `folder`."""
    if (folder / CATALOG).is_file():
        yield Browsable(folder, most)
    elif (folder / NAMES).is_file():
        yield Mirror(folder, most)
    if indexes(folder):
        yield SavedFiles(folder, most)
