"""WACZ files: archives, their index and a list of their pages as one file.

WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/) is a ZIP file of these parts:

    archive/             WARC files as they are: replay software reads single records in place
    indexes/             lines of CDXJ in gzip blocks, and the first line of each block
    pages/pages.jsonl    the HTML pages by title, with their texts where these are known
    datapackage.json     lengths and digests of all other parts; ``datapackage-digest.json`` has its
                         own

The index that a crawl has left beside a WARC file is used; other WARC files are read.
"""

import gzip
import heapq
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from uuid import NAMESPACE_URL, uuid5

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from larbinpy.config import Config
from larbinpy.database.finder import DatabaseFinder
from larbinpy.errors import UserError
from larbinpy.output.warc.records import Entry
from larbinpy.page import content_type, timestamp
from larbinpy.parse import sniff, title_of
from larbinpy.url import resolve

ENDING = ".wacz"
_VERSION = "1.1.1"
_WARCS = (".warc.gz", ".warc")
#: Lines of the index in one block, which replay software reads as a whole.
_LINES = 1024
_PIECE = 1 << 20
#: Bytes of a page in which its title is looked for.
_HEAD = 1 << 16
_CAPTURES = frozenset({"response", "revisit", "resource"})
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_REVISIT = "warc/revisit"
#: What the names of parts may not have.
_ODD = re.compile(r"[^a-z0-9._-]")

#: Returns the text of a page by its URL; empty if it is not known.
TextOf = Callable[[str], str]
#: What a line or a record that some other program wrote may raise.
_ODD_RECORD = (ValueError, LookupError, TypeError, AttributeError, StopIteration, ArchiveLoadFailed)


@dataclass(frozen=True, slots=True)
class PackedArchives:
    """What a WACZ file has."""

    archives: int
    captures: int
    pages: int


class Package:
    """The parts of a ZIP file, to which they are added one after the other."""

    def __init__(self, file: zipfile.ZipFile, at: datetime) -> None:
        self._zip = file
        self._at = at
        self._resources: list[dict[str, object]] = []

    def add(self, path: str, content: IO[bytes], *, packed: bool = True) -> str:
        """Write the part `path`; return its digest."""
        info = zipfile.ZipInfo(path, self._at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        digest, size = sha256(), content.seek(0, os.SEEK_END)
        content.seek(0)
        # Only a large part may have the fields of ZIP64: ReplayWeb.page takes the beginning of any
        # other for content.
        with self._zip.open(info, "w", force_zip64=size > zipfile.ZIP64_LIMIT) as part:
            for piece in iter(lambda: content.read(_PIECE), b""):
                part.write(piece)
                digest.update(piece)
        found = f"sha256:{digest.hexdigest()}"
        name = _ODD.sub("-", path.rpartition("/")[2].lower())
        self._resources.append({"name": name, "path": path, "hash": found, "bytes": size})
        return found

    def finish(self, about: Mapping[str, object]) -> None:
        """Write the list of all parts, with the fields `about`."""
        package = {"profile": "data-package", "resources": [*self._resources], **about}
        path = "datapackage.json"
        digest = self.add(path, BytesIO(_json(package)))
        self.add("datapackage-digest.json", BytesIO(_json({"path": path, "hash": digest})))


class CaptureIndex:
    """The lines of CDXJ of `archives`, in the order of their keys, and the pages among them."""

    def __init__(
        self, archives: Sequence[Path], text_of: TextOf, folder: Path, opened: ExitStack
    ) -> None:
        """Temporary files are in `folder`."""
        self._archives = {path.name: path for path in archives}
        self._text_of = text_of
        self._opened = opened
        self._first_lines: list[bytes] = []
        #: Lines of "pages.jsonl", on the disk, as there may be millions.
        self._rows: IO[bytes] = opened.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115
        self._rows.write(_head_of_pages(False))
        self._titles: dict[str, str] = {}
        self.captures = self.pages = 0
        self.has_text = False
        #: URL and time of the first page; empty if there is none.
        self.main = ("", "")

    def blocks(self) -> Iterator[bytes]:
        """The lines in blocks, each a gzip member."""
        lines = heapq.merge(*map(self._lines, self._archives.values()))
        offset = 0
        while block := list(islice(lines, _LINES)):
            for line in block:
                self._note(line)
            data = gzip.compress(b"".join(block), mtime=0)
            digest = f"sha256:{sha256(data).hexdigest()}"
            place = {"offset": offset, "length": len(data), "digest": digest}
            start = block[0].partition(b" {")[0]
            self._first_lines.append(start + b" " + _json(place | {"filename": "index.cdx.gz"}))
            offset += len(data)
            yield data

    def first_lines(self) -> IO[bytes]:
        """The places of the blocks, once all were written."""
        head = b"!meta 0 " + _json({"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"})
        return BytesIO(b"".join(line + b"\n" for line in (head, *self._first_lines)))

    def rows(self) -> IO[bytes]:
        """The file "pages.jsonl", once all blocks were written."""
        self._rows.seek(0)
        self._rows.write(_head_of_pages(self.has_text))
        return self._rows

    def _lines(self, archive: Path) -> Iterator[bytes]:
        """The lines of one archive, in their order."""
        index = Path(f"{stem(archive)}.cdxj")
        with suppress(FileNotFoundError, ValueError, LookupError):
            file = self._opened.enter_context(index.open("rb"))
            first = file.readline()
            if not first or _fields(first)["filename"] == archive.name:
                return iter((first, *file)) if first else iter(())
        return iter(sorted(entries(archive)))

    def _note(self, line: bytes) -> None:
        self.captures += 1
        with suppress(*_ODD_RECORD):
            self._note_page(_fields(line))

    def _note_page(self, fields: dict[str, str]) -> None:
        mime, url = fields.get("mime", ""), fields["url"]
        if fields.get("status") != "200" or mime.lower() not in (*_PAGES, _REVISIT):
            return
        at, kind, title = self._read(fields)
        if kind not in _PAGES:
            return
        if mime != _REVISIT:
            self._titles[fields["digest"]] = title
        title = title or self._titles.get(fields["digest"], "")
        text = self._text_of(url)
        row = {"id": str(uuid5(NAMESPACE_URL, f"{at}{url}")), "url": url, "ts": at}
        row |= {"title": title or url} | ({"text": text} if text else {})
        self._rows.write(_json(row) + b"\n")
        self.pages += 1
        self.has_text = self.has_text or bool(text)
        if not self.main[0] or at < self.main[1]:
            self.main = url, at

    def _read(self, fields: dict[str, str]) -> tuple[str, str, str]:
        """The time of a capture, its media type, and its title; of a revisit the last is empty."""
        with self._archives[fields["filename"]].open("rb") as file:
            file.seek(int(fields["offset"]))
            member = BytesIO(file.read(int(fields["length"])))
        record: Any = next(iter(ArchiveIterator(member)))
        kind, charset = content_type(record.http_headers.get_header("content-type"))
        head = record.content_stream().read(_HEAD)
        title = title_of(head, sniff(head, charset)) if head else ""
        return record.rec_headers.get_header("WARC-Date"), kind, title


@contextmanager
def texts_in(database: str) -> Iterator[TextOf]:
    """The texts of the pages that a content database has. Raises DatabaseError."""
    with closing(DatabaseFinder(database)) as finder:

        def text_of(url: str) -> str:
            stored = finder.show(url)
            return "" if stored is None else stored.text

        yield text_of


def no_text(url: str) -> str:
    """There is no database."""
    return ""


def pack(
    archives: Sequence[Path], target: Path, now: float, text_of: TextOf = no_text
) -> PackedArchives:
    """Make the WACZ file `target` of WARC files at the Unix time `now`; it replaces an older one.

    Raises UserError, OSError; then `target` is as it was.
    """
    if len({path.name for path in archives}) < len(archives):
        raise UserError("two of the files have one name; a WACZ file has one folder for all")
    part = target.with_name(f".{target.name}.part")
    with ExitStack() as undo:
        undo.callback(part.unlink, missing_ok=True)
        file = undo.enter_context(part.open("wb"))
        found = _write(file, archives, now, text_of, target.parent)
        file.flush()
        os.fsync(file.fileno())
        os.replace(part, target)
    return found


def _write(
    file: IO[bytes], archives: Sequence[Path], now: float, text_of: TextOf, folder: Path
) -> PackedArchives:
    with ExitStack() as opened:
        package = Package(
            opened.enter_context(zipfile.ZipFile(file, "w")), datetime.fromtimestamp(now, UTC)
        )
        index = CaptureIndex(archives, text_of, folder, opened)
        blocks = opened.enter_context(TemporaryFile(dir=folder))
        blocks.writelines(index.blocks())
        package.add("indexes/index.cdx.gz", blocks, packed=False)
        package.add("indexes/index.idx", index.first_lines())
        package.add("pages/pages.jsonl", index.rows())
        for archive in archives:
            with archive.open("rb") as records:
                package.add(f"archive/{archive.name}", records, packed=False)
        software = Config().user_agent
        about = {"wacz_version": _VERSION, "software": software, "created": timestamp(now)}
        if index.main[0]:
            about |= {"mainPageUrl": index.main[0], "mainPageDate": index.main[1]}
        package.finish(about)
        return PackedArchives(len(archives), index.captures, index.pages)


def entries(archive: Path) -> Iterator[bytes]:
    """The lines of CDXJ of a WARC file, in the order of its records. Raises UserError."""
    with archive.open("rb") as file:
        records: Any = ArchiveIterator(file)
        try:
            for record in records:
                entry = _entry(record)
                # The length is known once the record was read.
                record.content_stream().read()
                if entry is not None:
                    length = records.get_record_length()
                    yield entry.line(records.get_record_offset(), length, archive.name)
        except ArchiveLoadFailed as error:
            raise UserError(f"{archive}: {' '.join(str(error).split())}") from None


def _entry(record: Any) -> Entry | None:
    fields = record.rec_headers
    url = resolve(fields.get_header("WARC-Target-URI") or "")
    if record.rec_type not in _CAPTURES or url is None:
        return None
    date, digest = fields.get_header("WARC-Date"), fields.get_header("WARC-Payload-Digest")
    http, status = record.http_headers, None
    mime = fields.get_header("Content-Type") if http is None else http.get_header("Content-Type")
    if http is not None:
        with suppress(ValueError):
            status = int(http.get_statuscode())
    kind = _REVISIT if record.rec_type == "revisit" else content_type(mime)[0] or None
    return Entry(url, date, kind, status, digest or "-")


def pack_crawl(config: Config, marks: Mapping[str, Any], now: float) -> str:
    """Make the WACZ file of the archives of a crawl that has ended; return a line about it.

    `marks` are those of its outputs in the saved state. Raises UserError, OSError.
    """
    folder = Path(config.output_dir)
    series = (mark for mark in marks.values() if isinstance(mark, dict))
    [crawl] = [mark["crawl"] for mark in series if "crawl" in mark]
    archives = [each for each in archives_in([folder])[0] if each.name.startswith(f"{crawl}-")]
    if not archives:
        return f"{folder}: nothing was archived, so there is no WACZ file"
    target = folder / f"{crawl}{ENDING}"
    database = config.content_database if config.fills_database else ""
    with texts_in(database) if database else nullcontext(no_text) as text_of:
        return said(pack(archives, target, now, text_of), target)


def said(packed: PackedArchives, target: Path) -> str:
    """A line about a WACZ file."""
    return (
        f"{target}: {packed.captures:,} captures, {packed.pages:,} of them pages,"
        f" of {packed.archives:,} WARC files"
    )


def archives_in(places: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The WARC files in files and folders, and the files that a crawl still writes.

    Raises UserError.
    """
    found: list[Path] = []
    for place in places:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        found += [each for each in files if each.name.removesuffix(".open").endswith(_WARCS)]
    growing = [each for each in found if each.name.endswith(".open")]
    return [each for each in found if each not in growing], growing


def stem(archive: Path) -> str:
    """The path of a WARC file without its ending."""
    name = str(archive)
    return name.removesuffix(next(end for end in _WARCS if name.endswith(end)))


def _fields(line: bytes) -> dict[str, str]:
    fields: dict[str, str] = json.loads(line.split(b" ", 2)[2])
    return fields


def _head_of_pages(has_text: bool) -> bytes:
    """The first line of "pages.jsonl", as long in either case."""
    head = {"format": "json-pages-1.0", "id": "pages", "title": "All pages", "hasText": has_text}
    return _json(head).ljust(len(_json(head | {"hasText": False}))) + b"\n"


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
