"""A mirror that browses offline as a source of pages: its catalog has the URL of each file."""

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from larbinpy.database.sources.file import page_in, read_below
from larbinpy.database.sources.source import DAMAGED, SourceError, Taken
from larbinpy.output.mirror.paths import CATALOG, original_beside, original_of
from larbinpy.url import resolve


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

    def __repr__(self) -> str:
        return f"<Browsable {self.name}>"

    def pages(self) -> Iterator[Taken]:
        # The dates of the files are those of Last-Modified; the last refresh asked for all pages.
        at = (self._folder / CATALOG).stat().st_mtime
        with self._opened() as base:
            try:
                rows = base.execute("SELECT url, path, headers, form FROM page ORDER BY id")
                for done, (url, path, headers, form) in enumerate(rows, 1):
                    pairs = _headers(headers)
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


def _headers(text: object) -> list[tuple[str, str]] | None:
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
