"""Archive mode: all requests and replies, in WARC files that replay software reads.

A fetch is stored as a response, its request, and metadata: how the URL was found, how long the
fetch took and the links of the page. A payload that was stored before is not stored again: a
revisit record refers to the first one, as long as that is remembered. Replies that are not pages
are stored, too, because replaying a site needs its redirects, and so is each robots.txt. A name
lookup is stored before the first capture of its host.

A `Series` has the files of one crawl. ``PREFIX_CRAWL-TIME-NUMBER-HOST.warc.gz``, a name after WARC
1.1's Annex C, is a complete file, and ``.cdxj`` in place of ``.warc.gz`` its sorted index. While a
file grows ``.open`` follows both names. After a kill it can be read up to its torn end. A resumed
crawl fetches the pages since its last checkpoint again, so their records are cut off.
"""

import errno
import json
import os
import re
import sqlite3
from base64 import b32decode, b32encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypedDict

from larbinpy.dns.lookup import Answer
from larbinpy.output.warc import records
from larbinpy.output.warc.records import MERGED_LINES, Original, Record, Records, digest
from larbinpy.page import Outcome, Page, timestamp
from larbinpy.storage.files import (
    AppendFile,
    LineFile,
    create,
    discard,
    make_folder,
    open_folder,
)
from larbinpy.url import Url, bare

#: Bytes after which the next file is begun (Annex C: 10^9).
FILE_SIZE = 10**9
#: The beginning of file names.
PREFIX = "larbinpy"

_WARC, _INDEX, _OPEN = ".warc.gz", ".cdxj", ".open"
_NAME = re.compile(r"([\w.-]+_[0-9a-f]{8})-\d{17}-(\d{5,})-.*\.(warc\.gz|cdxj)(\.[a-z]+)?")
_NOT_IN_NAMES = re.compile(r"[^\w.-]", re.ASCII)


class SeriesMark(TypedDict):
    """The files of a crawl at a checkpoint: its name and the number of its next file; name and
    length (bytes) of the file that grows; complete files that may still need their journal."""

    crawl: str
    number: int
    growing: str | None
    length: int
    unsorted: list[str]


class Series:
    """The files of one crawl in `folder`, a descriptor; `about` are fields of their first record.

    A journal is kept until its index is on the disk, that is until the `sync` after the first
    `cut` that followed the index. Complete files and their journals may be removed by other
    programs at any time. A new file is begun after `file_size` bytes. In one step, `merged_lines`
    lines of an index are merged.
    """

    def __init__(
        self,
        folder: int,
        about: Mapping[str, str],
        *,
        prefix: str = PREFIX,
        file_size: int = FILE_SIZE,
        merged_lines: int = records.MERGED_LINES,
    ) -> None:
        self._folder = folder
        self._about = dict(about)
        self._file_size = file_size
        self._merged_lines = merged_lines
        self._records = Records()
        self._crawl = f"{prefix}_{os.urandom(4).hex()}"
        self._host = _NOT_IN_NAMES.sub("-", os.uname().nodename) or "localhost"
        self._number = 0
        self._growing: _Growing | None = None
        # Bytes of the records in complete files of this run.
        self._bytes = 0
        #: Names of files without an index, and the steps that make that of the first.
        self._unsorted: deque[str] = deque()
        self._sorting: Iterator[None] | None = None
        #: Names of files that have an index and a journal, now and at the last cut.
        self._sorted: list[str] = []
        self._sorted_by_cut: list[str] = []

    @property
    def files(self) -> int:
        """The number of files begun."""
        return self._number

    @property
    def added(self) -> int:
        """Bytes of all records so far in this run."""
        return self._bytes + (self._growing.added if self._growing else 0)

    def tend(self) -> None:
        """Do one step of sorting the indexes of complete files."""
        if self._sorting is None and self._unsorted:
            name = self._unsorted[0]
            self._sorting = records.build(
                name + _INDEX + _OPEN,
                name + _INDEX,
                folder=self._folder,
                merged_lines=self._merged_lines,
            )
        if self._sorting is not None:
            steps, self._sorting = self._sorting, None
            with suppress(FileNotFoundError):
                for _ in steps:
                    self._sorting = steps
                    return
            self._sorted.append(self._unsorted.popleft())

    def ready(self, now: float) -> Records:
        """Make sure at Unix time `now` that a file is open for `append`; return its `Records`.

        Raises `OSError`.
        """
        if self._growing is not None and self._growing.reaches(self._file_size):
            self._complete()
        if self._growing is None:
            self._growing = self._new(_date(now))
        return self._records

    def append(self, records: Sequence[Record]) -> None:
        """Take all `records` or none. Raises `OSError`."""
        assert self._growing is not None, self
        self._growing.append(records)

    def _new(self, date: str) -> "_Growing":
        stamp = "".join(filter(str.isdigit, date))
        name = f"{self._crawl}-{stamp}-{self._number:05}-{self._host}"
        with ExitStack() as undo:
            for ending in (_WARC, _INDEX):
                undo.callback(discard, name + ending + _OPEN, folder=self._folder)
            growing = _Growing(name, self._folder)
            undo.callback(growing.close)
            about = {**self._about, "isPartOf": self._crawl}
            growing.append([self._records.info(name + _WARC, date, about)])
            growing.flush()
            undo.pop_all()
        self._number += 1
        return growing

    def _complete(self) -> None:
        """Complete the file that grows, and give it its final name."""
        growing = self._growing
        if growing is not None:
            growing.flush()
            self._bytes += growing.added
            self._rename(growing.name + _WARC + _OPEN, growing.name + _WARC)
            self._unsorted.append(growing.name)
            self._growing = None
            growing.close()

    def _rename(self, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    # As a part of the state:

    def cut(self) -> SeriesMark:
        growing = self._growing
        if growing is not None:
            growing.flush()
        self._sorted_by_cut = list(self._sorted)
        return {
            "crawl": self._crawl,
            "number": self._number,
            "growing": growing.name if growing else None,
            "length": growing.size if growing else 0,
            "unsorted": [*self._sorted, *self._unsorted],
        }

    def sync(self) -> None:
        if self._growing is not None:
            self._growing.sync()
        os.fsync(self._folder)
        for name in self._sorted_by_cut:
            self._forget_journal(name)
        self._sorted_by_cut = []

    def _forget_journal(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name + _INDEX + _OPEN, dir_fd=self._folder)
        self._sorted.remove(name)

    def load(self, mark: SeriesMark) -> None:
        """Continue from a mark: cut off later records, whose pages will be fetched again."""
        self._crawl, self._number = mark["crawl"], mark["number"]
        there = set(os.listdir(self._folder))
        for file in sorted(there):
            match = _NAME.fullmatch(file)
            if match and match[1] == self._crawl and int(match[2]) >= self._number:
                os.unlink(file, dir_fd=self._folder)
        self._unsorted.extend(n for n in mark["unsorted"] if n + _INDEX + _OPEN in there)
        if mark["growing"] is not None:
            self._take_back(mark["growing"], mark["length"], there)

    def _take_back(self, name: str, length: int, there: set[str]) -> None:
        """Cut the file `name` to `length`; it grows again unless it was complete at that length.

        Another program may have removed the file when it was complete.
        """
        file, journal, index = (name + ending for ending in (_WARC, _INDEX + _OPEN, _INDEX))
        if file in there:
            size = os.stat(file, dir_fd=self._folder, follow_symlinks=False).st_size
            if size == length:
                self._unsorted.extend([name] if journal in there else [])
                return
            self._rename(file, file + _OPEN)
        elif file + _OPEN not in there:
            return
        source = journal if journal in there else index
        fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._folder)
        with open(fd, "rb") as lines:
            create(f"{index}.part", records.before(lines, length), folder=self._folder, sync=True)
        self._rename(f"{index}.part", journal)
        discard(index, folder=self._folder)
        self._growing = _Growing(name, self._folder)
        self._growing.cut_to(length)
        self._records.into(file)

    def close(self) -> None:
        """Complete all files, and sort their indexes."""
        self._complete()
        while self._unsorted:
            self.tend()
        for name in tuple(self._sorted):
            with suppress(FileNotFoundError):
                self._sync_index(name)
            self._forget_journal(name)

    def _sync_index(self, name: str) -> None:
        fd = os.open(name + _INDEX, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._folder)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


#: Bytes of records that are packed at once: code and tables of the packer then stay in the caches.
_PACKED = 1 << 18
#: Bytes of packed records that are written at once.
_WRITTEN = 1 << 18


class _Growing:
    """The file `name` to which captures are added, and its journal.

    Records wait in memory to be packed, and then with their lines until `flush`; after a failed
    write they still wait.
    """

    def __init__(self, name: str, folder: int) -> None:
        self.name = name
        self._file = AppendFile(name + _WARC + _OPEN, folder=folder)
        try:
            self._journal = LineFile(name + _INDEX + _OPEN, folder=folder)
        except BaseException:
            self._file.close()
            raise
        self._unpacked: list[Record] = []
        self._unpacked_size = 0
        self._waiting: list[bytes] = []
        self._lines: list[bytes] = []
        # Bytes of the file: with those that wait, at its beginning, and those that are written.
        self._size = self._begin = self._written = self._file.size

    @property
    def size(self) -> int:
        """Bytes, with those that wait."""
        self._pack()
        return self._size

    @property
    def added(self) -> int:
        """Bytes of the records that were added."""
        return self.size - self._begin

    def reaches(self, size: int) -> bool:
        """Whether it has `size` bytes."""
        return self._size + self._unpacked_size >= size and self.size >= size

    def append(self, records: Sequence[Record]) -> None:
        """Take all `records` or none."""
        if self._unpacked_size >= _PACKED:
            self._pack()
        if self._size - self._written >= _WRITTEN:
            self.flush()
        self._unpacked += records
        self._unpacked_size += sum([len(record.data) for record in records])

    def _pack(self) -> None:
        for record in self._unpacked:
            data = record.packed()
            if record.entry is not None:
                self._lines.append(record.entry.line(self._size, len(data), self.name + _WARC))
            self._waiting.append(data)
            self._size += len(data)
        self._unpacked.clear()
        self._unpacked_size = 0

    def flush(self) -> None:
        """Write what waits."""
        self._pack()
        # The journal first. A kill may leave lines without captures; `load` cuts both off.
        lines = b"".join(self._lines)
        self._journal.write(lines)
        try:
            self._file.write(b"".join(self._waiting))
        except OSError:
            self._journal.cut_to(self._journal.size - len(lines))
            raise
        self._waiting.clear()
        self._lines.clear()
        self._written = self._size

    def cut_to(self, length: int) -> None:
        if self._size < length:
            raise ValueError(f"{self.name}{_WARC} is shorter than it was")
        self._file.cut_to(length)
        self._size = self._begin = self._written = length

    def sync(self) -> None:
        self._file.sync()
        self._journal.sync()

    def close(self) -> None:
        self._journal.close()
        self._file.close()


#: Payloads that are remembered, the most recently used (some 350 bytes each).
_ORIGINALS = 100_000
_REVISIT = "warc/revisit"
_TABLE = """
PRAGMA journal_mode=OFF;
PRAGMA temp_store=MEMORY;
CREATE TABLE capture (
    digest TEXT PRIMARY KEY, url TEXT NOT NULL, date TEXT NOT NULL) WITHOUT ROWID;
BEGIN;
"""


class FirstCaptures:
    """The first captures of payloads: the `most` last used ones of this run, and earlier ones.

    Those of earlier archives, in `files` of CDXJ, are in a table on the disk, a file in `folder`
    without a name: millions of captures take no memory, and a kill leaves nothing. Raises OSError
    if a file has no digest of use.
    """

    def __init__(self, most: int = _ORIGINALS, files: Sequence[str] = (), folder: str = "") -> None:
        self._most = most
        self._known: dict[str, Original] = {}
        self._base: sqlite3.Connection | None = None
        if files:
            make_folder(folder)
            name = os.path.join(folder, f".{PREFIX}-{os.urandom(4).hex()}")
            self._base = sqlite3.connect(name, isolation_level=None)
            self._base.executescript(_TABLE)
            os.unlink(name)
            for file in files:
                self._add(self._base, file)
            self._base.execute("COMMIT")

    def _add(self, base: sqlite3.Connection, file: str) -> None:
        found = False
        for row in _rows(file):
            base.execute("INSERT OR IGNORE INTO capture VALUES (?, ?, ?)", row)
            found = True
        if not found:
            raise OSError(errno.EINVAL, "no line of CDXJ with a SHA-1 digest (warcDedup)", file)

    def get(self, payload: str) -> Original | None:
        """The first capture of the payload with this digest."""
        known = self._known.get(payload)
        if known is not None or self._base is None:
            return known
        command = "SELECT url, date FROM capture WHERE digest = ?"
        row = self._base.execute(command, (payload,)).fetchone()
        return None if row is None else Original(*row)

    def note(self, payload: str, original: Original) -> None:
        """Remember `original` for the payload, which was used now."""
        self._known.pop(payload, None)
        self._known[payload] = original
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def close(self) -> None:
        if self._base is not None:
            self._base.close()


def _rows(file: str) -> Iterator[tuple[str, str, str]]:
    """Digest, URL and date of the captures in a file of CDXJ; other lines are passed over."""
    with open(file, "rb") as lines:
        for line in lines:
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                _, stamp, text = line.decode().split(" ", 2)
                fields = json.loads(text)
                at = datetime.strptime(stamp, "%Y%m%d%H%M%S")
                if fields["mime"] != _REVISIT and fields["url"].startswith("http"):
                    yield _in_base32(fields["digest"]), fields["url"], f"{at.isoformat()}Z"


def _in_base32(found: str) -> str:
    """A SHA-1 digest as `digest` writes it; other programs leave out its name, or write it in hex.

    Raises ValueError for other digests.
    """
    text = found.removeprefix("sha1:")
    raw = bytes.fromhex(text) if len(text) == 40 else b32decode(text)
    if len(raw) != 20:
        raise ValueError(found)
    return f"sha1:{b32encode(raw).decode()}"


#: Names whose addresses are remembered until something is fetched from them (some 350 bytes each);
#: names of links are resolved long before that.
_ANSWERS = 50_000


class _LookUp(NamedTuple):
    """The addresses in the answer of a name server, and the Unix time of the answer."""

    addresses: tuple[str, ...]
    at: float


class WarcOutput:
    """WARC files in `directory`, which is made if it is missing; several crawls may share it.

    `about` are fields of the warcinfo records; `wall` returns the Unix time. After `file_size`
    bytes a new file is begun, and the names of all begin with `prefix`. `originals` are closed with
    it; `answers` names are remembered; `merged_lines` lines of an index are merged in a step.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        about: Mapping[str, str],
        wall: Callable[[], float],
        *,
        prefix: str = PREFIX,
        file_size: int = FILE_SIZE,
        originals: FirstCaptures | None = None,
        answers: int = _ANSWERS,
        merged_lines: int = MERGED_LINES,
    ) -> None:
        self._wall = wall
        self._folder = open_folder(directory)
        self._series = Series(
            self._folder, about, prefix=prefix, file_size=file_size, merged_lines=merged_lines
        )
        self._originals = FirstCaptures() if originals is None else originals
        self._most_answers = answers
        self._answers: dict[str, _LookUp] = {}
        self._captures = self._revisits = 0

    def loaded(self, page: Page) -> None:
        self._archive(page)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def replied(self, page: Page) -> None:
        """Archive a reply unless its body was not read: the record would show an empty one."""
        # The body of a 2xx reply is refused for its type, its size or by a rule.
        refused = 200 <= page.status < 300 and page.outcome is not Outcome.DUPLICATE
        if page.body or not (refused or page.truncated):
            self._archive(page)

    def resolved(self, answer: Answer) -> None:
        if answer.addresses and answer.name not in answer.addresses:
            self._answers[answer.name] = _LookUp(answer.addresses, self._wall())
            if len(self._answers) > self._most_answers:
                del self._answers[next(iter(self._answers))]

    def stats(self) -> dict[str, object]:
        return {
            "captures": self._captures,
            "revisits": self._revisits,
            "files": self._series.files,
            "bytes": self._series.added,
        }

    def _archive(self, page: Page) -> None:
        self._series.tend()
        now = self._wall()
        rendered = None
        if page.rendering is not None and not page.rendering.why:
            rendered, page = page, _as_received(page, page.rendering.raw)
        date, payload = _date(now - page.ms / 1000), digest(page.body)
        original = self._originals.get(payload) if page.body else None
        name = page.url.host.removesuffix(".")
        look_up = self._answers.get(name)
        make = self._series.ready(now)
        records = [*make.capture(page, date, payload, original, rendered)]
        if look_up is not None:
            records.insert(0, make.look_up(name, _date(look_up.at), look_up.addresses))
        self._series.append(records)
        self._answers.pop(name, None)
        self._captures += 1
        self._revisits += original is not None
        if page.body and not page.truncated:
            self._originals.note(payload, original or Original(page.url.href, date))

    # As a part of the state:

    def cut(self) -> SeriesMark:
        return self._series.cut()

    def sync(self) -> None:
        self._series.sync()

    def load(self, mark: SeriesMark) -> None:
        """Cut off the records after a mark: their pages will be fetched again."""
        self._series.load(mark)

    def close(self) -> None:
        try:
            self._series.close()
        finally:
            os.close(self._folder)
            self._originals.close()


def _as_received(page: Page, raw: bytes) -> Page:
    """A rendered page as its server sent it, which knows nothing of views."""
    received = copy(page)
    received.body = raw
    if "#" in page.url.href:
        received.url = replace(page.url, href=bare(page.url.href))
    return received


def _date(at: float) -> str:
    """Return the Unix time `at` in the form of WARC fields."""
    return timestamp(at, "milliseconds")
