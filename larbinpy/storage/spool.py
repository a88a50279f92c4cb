"""The spool: pages as they came, in files between the crawl and the indexer of its database.

The crawl only appends, so that it never waits for the database. The files, *segments*, have the
numbers 0, 1, 2 ... and grow one after another; nobody changes a complete one. The indexer reads
them from a position on and removes those that the database has. They are in a folder of the spool's
name, so that the indexer of a killed crawl never takes those of a later spool for its own.

A record is a fixed head, a JSON object and the body. The checksum covers the head and the JSON
object: it finds records that are no records, without the cost of reading each body twice. No
record after the mark of a checkpoint counts, and the crawl flushes the folder at each checkpoint
(`storage.syncing`), so a power cut leaves no torn record.
"""

import json
import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from zlib import crc32

from larbinpy.errors import DamagedError
from larbinpy.page import Outcome, Page
from larbinpy.storage.files import AppendFile, make_folder
from larbinpy.storage.state import SavedPart
from larbinpy.url import Url

#: The spool's folder in stateDir.
FOLDER = "spool"
#: Bytes after which the next segment is begun. A segment is removed as a whole.
SEGMENT = 16 << 20
#: Bytes that are kept back to be written at once: that takes half the time. No checkpoint covers
#: them before they are written, so a kill loses no page that counted.
_HELD = 512 << 10
#: Pieces that the system writes at once.
_MOST_HELD = 512

#: The outcome of a visit that failed, whatever its own was: the database keeps what it has.
FAILED = Outcome.EARLY_STOP

_SPOOL = re.compile(r"[0-9a-f]{16}").fullmatch
_SEGMENT = re.compile(r"(\d{8,})\.pages").fullmatch
#: Checksum, lengths of the JSON object and of the body, number of the record, Unix time.
_HEAD = struct.Struct("<IIIQd")
#: The JSON object holds the headers of a reply, of which the fetcher takes some 100 kB. Replies in
#: WARC files may have more: the rest is left out.
_MOST_META = 16 << 20
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Position(NamedTuple):
    """A place in a spool: the number of the segment, and the offset in bytes."""

    segment: int
    offset: int


class Spooled(NamedTuple):
    """A page of the spool, and the Unix time of its fetch.

    A page with another outcome than success says that its URL answered without one, unless it is
    `FAILED`. One of status 304 without a body is as it was.
    """

    at: float
    page: Page


class RecordPlace(NamedTuple):
    """A record of a spool: where it begins and ends, its number, from 0, and its time."""

    start: Position
    end: Position
    number: int
    at: float


class SpoolMark(TypedDict):
    """The name of the spool, the position of its end, and the number of its records.

    The name is that of the spool's folder, and after a "-" that of the run: a resumed crawl may go
    on from a copy of its state, so a position counts in its own run alone.
    """

    spool: str
    segment: int
    offset: int
    records: int


class SpoolWriter(SavedPart):
    """The writing side, for one crawl at a time; a second one gets `BlockingIOError`.

    Invariants: records go to the segment `end.segment`, which ends at `end.offset`; `sizes` has
    all segments that are in the folder. Opening changes nothing: `load` continues the spool that
    is there, the first `cut` or `append` without it deletes that and begins another one. The
    folder of the segments is that of the spool's name in `base`.
    """

    def __init__(self, base: str | os.PathLike[str], *, segment_size: int = SEGMENT) -> None:
        self.base = Path(base)
        self._segment_size = segment_size
        self._file: AppendFile | None = None
        self._held: list[bytes] = []
        self._held_size = 0
        #: Name of the spool, and of the run, as in a mark; empty before there is one.
        self.name = ""
        self.end = Position(0, 0)
        #: Number of records since the spool was begun.
        self.records = 0
        #: Bytes on the disk, by segment, and in all.
        self.sizes: dict[int, int] = {}
        self.size = 0

    @property
    def folder(self) -> Path:
        """The folder of the segments."""
        return folder_of(self.base, self.name)

    def append(self, page: Page, at: float) -> None:
        """Add `page`, fetched at the Unix time `at`. After an `OSError` nothing was added."""
        if not self.name:
            self._begin()
        if self._held_size >= _HELD or len(self._held) >= _MOST_HELD:
            self._flush()
        if self._file is None or self.end.offset >= self._segment_size:
            self._next()
        record = _record(page, at, self.records)
        self._held += record
        number, offset = self.end
        size = len(record[0]) + len(record[1])
        self._held_size += size
        self.end = Position(number, offset + size)
        self.sizes[number] = self.end.offset
        self.size += size
        self.records += 1

    def _flush(self) -> None:
        """Write what is held back. After an `OSError` it is still held back."""
        if self._held:
            assert self._file is not None
            self._file.write(*self._held)
            self._held, self._held_size = [], 0

    def _next(self) -> None:
        """Open the next segment, or the last one again."""
        self._flush()
        number, offset = self.end
        if offset:
            number += 1
        file = AppendFile(_path(self.folder, number), follow=False)
        file.cut_to(0)
        if self._file is not None:
            self._file.close()
        self._file = file
        self.end = Position(number, 0)

    def _begin(self) -> None:
        self.clear()
        name = f"{_random_name()}-{_random_name()}"
        make_folder(folder_of(self.base, name))
        self.name = name

    def removed(self, below: int) -> None:
        """Note that the indexer has removed the segments with smaller numbers than `below`."""
        for number in [number for number in self.sizes if number < below]:
            self.size -= self.sizes.pop(number)

    # As a part of the state:

    def cut(self) -> SpoolMark:
        if not self.name:
            self._begin()
        self._flush()
        return {
            "spool": self.name,
            "segment": self.end.segment,
            "offset": self.end.offset,
            "records": self.records,
        }

    def sync(self) -> None:
        """Do nothing: the crawl flushes the folder, with the files of its outputs."""

    def load(self, mark: SpoolMark) -> None:
        """Cut off the records after a mark, as their pages will be fetched again; begin a run.

        The segment of the mark may be missing: the indexer removes it when the database has all.
        """
        folder = folder_of(self.base, mark["spool"])
        if not folder.is_dir():
            raise ValueError(f"{self.base} is not the spool of this crawl")
        number, offset = mark["segment"], mark["offset"]
        kept = segments(folder)
        for later in [each for each in kept if each > number]:
            _path(folder, later).unlink()
            del kept[later]
        if number in kept:
            self._file = AppendFile(_path(folder, number), follow=False)
            if self._file.size < offset:
                raise ValueError(f"{self._file.name} is shorter than it was")
            self._file.cut_to(offset)
            kept[number] = offset
        self.name, self.records = f"{folder.name}-{_random_name()}", mark["records"]
        self.end, self.sizes, self.size = Position(number, offset), kept, sum(kept.values())

    def clear(self) -> None:
        self.close()
        for folder in self._spools():
            for number in segments(folder):
                _path(folder, number).unlink(missing_ok=True)
            folder.rmdir()
        self.name, self.end, self.records, self.sizes = "", Position(0, 0), 0, {}
        self.size = 0

    def _spools(self) -> list[Path]:
        """The folders of this spool and earlier ones."""
        names = os.listdir(self.base) if self.base.is_dir() else []
        return [self.base / name for name in names if _SPOOL(name)]

    def close(self) -> None:
        """Release the file; may be called again. Pages that no `cut` covers may be lost."""
        self._held, self._held_size = [], 0
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _random_name() -> str:
    return os.urandom(8).hex()


def folder_of(base: Path, name: str) -> Path:
    """The folder of the segments of the spool with the `name` of a mark."""
    return base / name.partition("-")[0]


def segments(folder: Path) -> dict[int, int]:
    """The numbers of the segments in `folder`, in order, with their sizes in bytes."""
    found = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            match = _SEGMENT(name)
            with suppress(FileNotFoundError):
                if match is not None:
                    found[int(match[1])] = (folder / name).stat().st_size
    return dict(sorted(found.items()))


def remove_below(folder: Path, position: Position) -> int:
    """Remove the segments before that of `position`; return the number of the first that stays."""
    for number in segments(folder):
        if number < position.segment:
            _path(folder, number).unlink(missing_ok=True)
    return position.segment


def remove_all(folder: Path, until: Position) -> int:
    """Remove all segments if the last one ends at `until`, as `remove_below` else."""
    last = segments(folder).get(until.segment)
    return remove_below(folder, Position(until.segment + (last == until.offset), 0))


def walk(folder: Path, start: Position | None, until: Position) -> Iterator[RecordPlace]:
    """The places of the records from `start` on, or from the first segment there is.

    Segments that are missing are passed over. Raises `DamagedError` where there is no record.
    """
    first, offset = start or Position(0, 0)
    for number in segments(folder):
        if number < first or number > until.segment:
            continue
        begin = offset if number == first else 0
        end = until.offset if number == until.segment else None
        yield from _walk_segment(_path(folder, number), number, begin, end)


def _walk_segment(path: Path, number: int, offset: int, end: int | None) -> Iterator[RecordPlace]:
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return
    with file:
        size = os.fstat(file.fileno()).st_size if end is None else end
        while offset < size:
            _, meta, body, record, at = _head(file.fileno(), offset, path)
            after = offset + _HEAD.size + meta + body
            if after > size:
                raise DamagedError(0, f"no whole record at {offset}", str(path))
            yield RecordPlace(Position(number, offset), Position(number, after), record, at)
            offset = after


def read(folder: Path, position: Position) -> Spooled:
    """The page at `position`, a `RecordPlace.start`. Raises `OSError`, `DamagedError`."""
    path = _path(folder, position.segment)
    with path.open("rb", buffering=0) as file:
        fd, offset = file.fileno(), position.offset
        checksum, length, size, _, at = head = _head(fd, offset, path)
        meta = os.pread(fd, length, offset + _HEAD.size)
        if checksum != _checksum(head, meta):
            raise DamagedError(0, f"no record at {offset}", str(path))
        body = _read_all(fd, size, offset + _HEAD.size + length)
    if len(body) < size:
        raise DamagedError(0, f"no whole record at {offset}", str(path))
    return Spooled(at, _page(json.loads(meta), body))


def _head(fd: int, offset: int, path: Path) -> tuple[int, int, int, int, float]:
    head = os.pread(fd, _HEAD.size, offset)
    if len(head) < _HEAD.size or _HEAD.unpack(head)[1] > _MOST_META:
        raise DamagedError(0, f"no record at {offset}", str(path))
    checksum, meta, body, number, at = _HEAD.unpack(head)
    return checksum, meta, body, number, at


def _checksum(head: tuple[int, int, int, int, float], meta: bytes) -> int:
    return crc32(meta, crc32(_HEAD.pack(0, *head[1:])))


def _read_all(fd: int, size: int, offset: int) -> bytes:
    """`size` bytes; a read returns 2 GB at most, and less at the end of the file."""
    data = os.pread(fd, size, offset)
    while len(data) < size and (more := os.pread(fd, size - len(data), offset + len(data))):
        data += more
    return data


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08}.pages"


def _record(page: Page, at: float, number: int) -> tuple[bytes, bytes]:
    """A record in two pieces; joining them would copy the body."""
    url = page.url
    fields = {
        "url": url.href,
        "outcome": page.outcome.value,
        "status": page.status,
        "depth": url.depth,
        "via": url.via,
        "charset": page.charset,
        "truncated": page.truncated,
        "ip": page.ip,
        "ms": page.ms,
        "headers": page.headers,
    }
    meta = _encode(fields).encode()
    if len(meta) > _MOST_META:
        fields["headers"] = list(_first(page.headers, _MOST_META // 2))
        meta = _encode(fields).encode()
    head = (0, len(meta), len(page.body), number, at)
    checksum = _checksum(head, meta)
    return _HEAD.pack(checksum, *head[1:]) + meta, page.body


def _first(headers: list[tuple[str, str]], most: int) -> Iterator[tuple[str, str]]:
    """The headers that take at most so many bytes as JSON."""
    for header in headers:
        most -= len(_encode(header)) + 1
        if most < 0:
            return
        yield header


def _page(meta: dict[str, Any], body: bytes) -> Page:
    return Page(
        Url(meta["url"], meta["depth"], via=meta["via"]),
        _OUTCOMES[meta["outcome"]],
        meta["status"],
        [(name, value) for name, value in meta["headers"]],
        body,
        meta["truncated"],
        meta["ip"],
        meta["ms"],
        charset=meta["charset"],
    )
