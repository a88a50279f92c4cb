"""WARC files as a source of pages.

A response with status 2xx is a page. One that is 404, 410 or a redirect says that its URL answered
without one. A revisit record says that the payload was the same as that of an earlier record,
whose page is then given again, with the URL and the date of the revisit. robots.txt files, which
archives keep for replay, are no pages.

The places of payloads in WARC files, for records that refer to one.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from datetime import UTC, datetime
from http import HTTPStatus
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from warcio.archiveiterator import ArchiveIterator

from larbinpy.database.preparation import signed_hash
from larbinpy.database.sources.file import DAMAGED, SourceError, Taken
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url, resolve, split


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


#: Content codings that warcio undoes.
_CODINGS = {"", "identity", "gzip", "x-gzip", "deflate"}
_REDIRECTS = {301, 302, 303, 307, 308}
_GONE = {HTTPStatus.NOT_FOUND.value, HTTPStatus.GONE.value}
_READ = 1 << 16
#: Characters.
_LONGEST_REASON = 80


class WarcFile:
    """The WARC file number `number` of `files`, compressed by records or plain.

    At most `most` bytes of a page are read. `payloads` has those of the files before.
    """

    def __init__(self, files: Sequence[Path], number: int, payloads: Payloads, most: int) -> None:
        self._files = files
        self._number = number
        self._payloads = payloads
        self._most = most
        self.path = files[number]
        self.name = str(self.path)
        self.size = self.path.stat().st_size
        self.left_out: Counter[str] = Counter()

    def pages(self) -> Iterator[Taken]:
        with self.path.open("rb") as file:
            for offset, record in _records(file):
                page = self._page(record, At(self._number, offset))
                if page is not None:
                    yield Taken(offset, Spooled(_date(record, self.path), page))

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
        coding = dict(headers).get("content-encoding", "").lower()
        if coding not in _CODINGS:
            self.left_out[f"coded as {coding[:20]}"] += 1
            return None
        body, cut = self._body(record)
        if body is None:
            self.left_out[DAMAGED] += 1
            return None
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
        with self._files[at.file].open("rb") as file:
            file.seek(at.offset)
            _, original = next(_records(file))
            return self._read(original, url)


def _quiet() -> "redirect_stderr[StringIO]":
    # warcio reports oddities of files there.
    return redirect_stderr(StringIO())


def _records(file: Any) -> Iterator[tuple[int, Any]]:
    """The records of an open file from its position on, each with its offset.

    A record must be read before the next one is taken. Raises SourceError.
    """
    iterator: Any = ArchiveIterator(file)
    while True:
        try:
            with _quiet():
                record = next(iterator, None)
        except OSError:
            raise
        # At damaged places warcio raises many types: its own, zlib.error, AttributeError ...
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            if "non-chunked gzip" in reason:
                reason = "not compressed by records; `warcio recompress` repairs that"
            raise SourceError(f"damaged after byte {iterator.offset}: {_shown(reason)}") from None
        if record is None:
            return
        yield iterator.offset, record


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
