"""The crawl log of a state folder, with the files that were rotated away, and the figures of it.

Files are only read. A crawl may append to them meanwhile, and a kill may have torn the last line.
`LogSummary` takes one pass; its memory grows with failures, redirects and sites.

`LogSearch` finds the last line about a URL, in steps. The log of a long crawl has gigabytes. It is
searched from its end, in pieces, for the bytes of the URL in question; only the line that is found
is decoded. `search_rotated` goes on in the files that were rotated away.
"""

import gzip
import heapq
import json
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from larbinpy.errors import UserError, what_failed
from larbinpy.page import Outcome, Trait, having, is_part, malformed_in, timestamp
from larbinpy.storage.state import State, StateError
from larbinpy.url import site_of

Line = dict[str, Any]

_NAME = "crawl.jsonl"
#: Names that logrotate and its like give: crawl.jsonl.1, crawl.jsonl.2.gz, crawl.jsonl-20300101,
#: crawl-20300101.jsonl.
_ROTATED = re.compile(r"crawl([.-]\d[\d._-]*)?\.jsonl([.-]\d[\d._-]*)?(\.gz)?", re.ASCII)
_DECODER = json.JSONDecoder()
#: Bound of the numbers in a line, so that their sums fit into 64 bits.
_MOST = 1 << 40
_UNREADABLE = (".xz", ".bz2", ".zst", ".Z", ".lz4")
#: The folder of a mirror's state in the folder of the mirror.
_IN_MIRROR = ".larbinpy"


def states_in(folder: Path) -> list[Path]:
    """The folders with the states of a crawl whose stateDir is `folder`.

    It may also be the folder of a mirror; a crawl by nodes has a state in a folder of each.
    """
    if _logs(folder):
        return [folder]
    if _logs(folder / _IN_MIRROR):
        return [folder / _IN_MIRROR]
    return [path for path in _subfolders(folder) if _logs(path)] or [folder]


def of_nodes(folder: Path) -> bool:
    """Whether `folder` is the stateDir of a crawl by nodes."""
    return states_in(folder) not in ([folder], [folder / _IN_MIRROR])


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


class LogFiles:
    """The log files of the state in `folder`, the oldest first.

    Raises `UserError` if there are none.
    """

    def __init__(self, folder: Path) -> None:
        #: The folder with the state.
        self.folder = folder
        #: Number of lines that no crawl wrote, or that are damaged.
        self.damaged = 0
        #: Files that could not be read to their end, and why.
        self.errors: list[str] = []
        dated = [(self._first_time(path), path) for path in _logs(folder)]
        if not dated:
            raise UserError(f"{folder}: no crawl log here; give the stateDir of a crawl")
        self.errors = [f"{path}: left out, as only .gz can be read" for path in _packed(folder)]
        # The present log is the last, even if it has no line yet.
        self.paths = [path for _, path in sorted(dated, key=lambda d: (d[1].name == _NAME, d[0]))]

    def lines(self) -> Iterator[Line]:
        """The lines of all files in the order in which they were written."""
        for path in self.paths:
            for line in self._raw(path):
                fate = decode(line)
                if fate is not None:
                    yield fate
                else:
                    # Without a newline, it is the last line of a running or a killed crawl.
                    self.damaged += line.endswith(b"\n")

    def _raw(self, path: Path) -> Iterator[bytes]:
        try:
            with _opened(path) as file:
                yield from file
        except (EOFError, zlib.error):
            self.errors.append(f"{path}: damaged, what follows is left out")
        except OSError as error:
            self.errors.append(what_failed(error) if error.filename else f"{path}: {error}")

    def _first_time(self, path: Path) -> str:
        found = filter(None, map(decode, self._raw(path)))
        return next((str(line["ts"]) for line in found), "")


def first_time(started: float) -> str:
    """The time before which no line of a crawl was written that was `started` at a Unix time.

    Lines before it, in files that were rotated away, are those of an earlier crawl (--scratch).
    """
    return timestamp(started - 1).rstrip("Z")


def first_time_saved(folder: Path) -> str:
    """The same for the crawl that is saved in `folder`; empty if there is none."""
    try:
        with State(folder).reading() as manifest:
            return first_time(float(manifest["totals"]["started"]))
    except StateError:
        return ""


def by_time(logs: Sequence[Iterator[Line]]) -> Iterator[Line]:
    """The lines of all logs in the order in which they were written."""
    return heapq.merge(*logs, key=itemgetter("ts")) if len(logs) > 1 else logs[0]


def decode(line: bytes) -> Line | None:
    """The fields of a line of a log; None if it is damaged, or not a line of a crawl."""
    try:
        # json.loads takes twice the time: it looks for other encodings, and at white space.
        fate: Line = _DECODER.raw_decode(line.decode("ascii"))[0]
        status, size, ms, depth = fate["status"], fate["size"], fate["ms"], fate["depth"]
        well = min(status, size, ms, depth) >= 0 and max(status, size, ms, depth) < _MOST
        well = well and type(status) is type(size) is type(ms) is type(depth) is int
        url, via, detail = fate["url"], fate["via"], fate.get("detail", "")
        well = well and url.startswith("http") and url.index("/", 8) > 0
        text = "".join((url, "" if via is None else via, detail, fate["ts"], fate["outcome"]))
        # Not every text has an encoding.
        well = well and (text.isascii() or text.encode() != b"")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return fate if well else None


def until_of(saved: Mapping[str, Any]) -> dict[str, str]:
    """For outcomes, the time before which all URLs with it were queued again, from a state.

    Raises `ValueError`.
    """
    until = saved["until"]
    if not isinstance(until, dict) or not all(isinstance(time, str) for time in until.values()):
        raise ValueError("put_back: no times")
    return until


def _logs(folder: Path) -> list[Path]:
    """The present log and those that were rotated away."""
    try:
        found = [path for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []
    return [path for path in found if path.name == _NAME or _ROTATED.fullmatch(path.name)]


def _packed(folder: Path) -> list[Path]:
    """Logs that were rotated away and packed in another way."""
    found = folder.glob("crawl*.jsonl*")
    return sorted(path for path in found if path.suffix in _UNREADABLE)


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


#: Entries of the lists of the slowest and the largest.
_TOP = 100

_BROKEN = {outcome.value for outcome in having(Trait.BROKEN)}
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}
_FAILED = {outcome.value for outcome in having(Trait.MISSED)}
_SUCCESS = Outcome.SUCCESS.value
_REDIRECT = Outcome.ERR_30X.value


class Failure(NamedTuple):
    """A URL that could not be fetched, as the log has it."""

    outcome: str
    status: int
    detail: str
    #: The first page that links to it; None for a seed.
    via: str | None


class Redirect(NamedTuple):
    """A redirect: its status, and where it leads, or why it leads nowhere."""

    status: int
    target: str
    via: str | None

    @property
    def permanent(self) -> bool:
        return self.status in (301, 308)

    @property
    def leads_nowhere(self) -> bool:
        """Whether it names no URL that can be crawled; the log of an old crawl does not say."""
        return bool(self.target) and not self.target.startswith("http")


@dataclass(slots=True)
class SiteCount:
    """The counts of one site."""

    site: str
    pages: int
    bytes: int
    failures: int
    robots: int


class LogSummary:
    """Takes the lines of a log in their order; the last line about a URL counts."""

    def __init__(self) -> None:
        self.urls = 0
        self.began = self.ended = ""
        self.outcomes: Counter[str] = Counter()
        self.broken: dict[str, Failure] = {}
        self.redirects: dict[str, Redirect] = {}
        #: Sitemaps and feeds that were not read to their ends: their details.
        self.parts: dict[str, str] = {}
        #: Links that are no URLs, each with its pages.
        self.malformed: dict[str, list[str]] = {}
        #: (milliseconds or bytes, URL), the greatest first, once all lines were taken.
        self.slowest: list[tuple[int, str]] = []
        self.largest: list[tuple[int, str]] = []
        # Columns of the sites; lists of numbers would take five times the memory.
        self._rows: dict[str, int] = {}
        self._columns = [array("Q") for _ in range(4)]

    def add(self, line: Mapping[str, Any]) -> None:
        url, outcome = line["url"], line["outcome"]
        detail = line.get("detail", "")
        self.urls += 1
        self.ended = line["ts"]
        self.began = self.began or self.ended
        self.outcomes[outcome] += 1
        pages, received, failures, robots = self._columns
        row = self._row(url)
        received[row] += line["size"]
        if outcome == _SUCCESS:
            pages[row] += 1
            _keep(self.slowest, line["ms"], url)
            _keep(self.largest, line["size"], url)
            for reference in malformed_in(detail):
                self.malformed.setdefault(reference, []).append(url)
        elif outcome in _ROBOTS:
            robots[row] += 1
        elif outcome in _FAILED:
            failures[row] += 1
        if outcome in _BROKEN:
            self.broken[url] = Failure(outcome, line["status"], detail, line["via"])
        else:
            self.broken.pop(url, None)
        if outcome == _REDIRECT:
            redirect = Redirect(line["status"], detail, line["via"])
            self.redirects[url] = redirect
        else:
            self.redirects.pop(url, None)
        if is_part(detail):
            self.parts[url] = detail
        else:
            self.parts.pop(url, None)

    def _row(self, url: str) -> int:
        site = site_of(url)
        row = self._rows.get(site)
        if row is None:
            row = self._rows[site] = len(self._rows)
            for column in self._columns:
                column.append(0)
        return row

    def finish(self) -> None:
        """Sort the lists, once all lines were taken."""
        self.slowest.sort(reverse=True)
        self.largest.sort(reverse=True)

    @property
    def sites(self) -> Iterator[SiteCount]:
        """The counts of all sites."""
        for (site, _), *counts in zip(self._rows.items(), *self._columns, strict=True):
            yield SiteCount(site, *counts)


def _keep(heap: list[tuple[int, str]], number: int, url: str) -> None:
    if len(heap) < _TOP:
        heapq.heappush(heap, (number, url))
    elif number > heap[0][0]:
        heapq.heapreplace(heap, (number, url))


#: Bytes in one step: some 100 us if the system has them in memory.
_PIECE = 1 << 18
#: Bound of a line: it has two URLs, and a media type of any content that a server may send.
_LINE = 1 << 17


class SearchedLog(Protocol):
    """A crawl log that is searched."""

    @property
    def path(self) -> Path: ...

    @property
    def size(self) -> int:
        """The number of bytes written."""

    def read(self, size: int, offset: int) -> bytes:
        """Return at most `size` of these bytes, from `offset` on."""

    def last_waiting(self, text: bytes) -> bytes | None:
        """Return the last line with `text` among those that are not written yet."""


class StoppedLog:
    """The log of a stopped crawl, which is only read; empty if there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size if path.exists() else 0

    def read(self, size: int, offset: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def last_waiting(self, text: bytes) -> bytes | None:
        return None


def needle_of(href: str) -> bytes:
    """The bytes of a line that name a canonical URL as its subject."""
    return b'"url": ' + json.dumps(href).encode()


class LogSearch:
    """Searches a log that still grows for the last line about `href`, a canonical URL."""

    def __init__(self, log: SearchedLog, href: str) -> None:
        self._log = log
        self._needle = needle_of(href)
        self._known = log.size

    def search(self) -> Generator[None, None, Line | None]:
        """Yields after each piece; returns the line, None if there is none. Raises OSError."""
        waiting = self._waiting()
        if waiting is not None:
            return waiting
        end = self._known
        # A shorter rest cannot contain the needle.
        while end >= len(self._needle):
            start = max(0, end - _PIECE)
            found = self._last_in(start, end)
            if found is not None:
                return found
            end = start + len(self._needle) - 1 if start else 0
            yield
        return None

    def latest(self) -> Line | None:
        """The last line that was written since the search began; None if there is none."""
        end = self._log.size
        begin = max(0, self._known - len(self._needle)) if end >= self._known else 0
        found = None
        for start in range(begin, end, _PIECE):
            found = self._last_in(start, min(end, start + _PIECE + len(self._needle))) or found
        return self._waiting() or found

    def _waiting(self) -> Line | None:
        line = self._log.last_waiting(self._needle)
        return None if line is None else decoded(line)

    def _last_in(self, start: int, end: int) -> Line | None:
        piece = self._log.read(end - start, start)
        last, at = -1, piece.find(self._needle)
        # Not rfind: on crafted input its time is the product of both lengths.
        while at >= 0:
            last, at = at, piece.find(self._needle, at + 1)
        if last < 0:
            return None
        begin = max(0, start + last - _LINE)
        around = self._log.read(2 * _LINE, begin)
        before, at = around[: start + last - begin], start + last - begin
        newline = around.find(b"\n", at)
        return decoded(around[before.rfind(b"\n") + 1 : None if newline < 0 else newline])


def decoded(line: bytes) -> Line | None:
    try:
        fate = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fate if isinstance(fate, dict) else None


#: Lines of a compressed file in one step: about a millisecond.
_LINES = 1000


def search_rotated(log: Path, href: str, began: str) -> Generator[None, None, Line | None]:
    """Search the files that were `log` before, the newest first.

    Yields after each piece; returns the line, None if there is none. Lines before the time `began`
    are those of an earlier crawl (--scratch). A file that is damaged is searched up to there.
    """
    try:
        files = LogFiles(log.parent).paths
    except UserError:
        return None
    for path in reversed(files):
        if path.name == log.name:
            continue
        if path.suffix == ".gz":
            found = yield from _search_compressed(path, needle_of(href))
        else:
            found = yield from LogSearch(StoppedLog(path), href).search()
        if found is not None:
            return found if str(found.get("ts")) >= began else None
    return None


def _search_compressed(path: Path, needle: bytes) -> Generator[None, None, Line | None]:
    last = None
    try:
        with gzip.open(path, "rb") as file:
            for number, line in enumerate(file):
                if needle in line:
                    last = line
                if number % _LINES == 0:
                    yield
    except (EOFError, OSError, zlib.error):
        pass
    return None if last is None else decoded(last)
