"""A mirror of HOST/path as a source of pages: the path of a file shows its URL.

The URLs of the paths in a plain mirror: `output.mirror.paths` the other way round.

A mirror that browses offline as a source of pages: its catalog has the URL of each file.

The sources in the files and folders that the user names.
"""

import json
import os
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from larbinpy.database.sources.file import (
    DAMAGED,
    SavedFiles,
    Source,
    SourceError,
    Taken,
    indexes,
    page_in,
    read_below,
    read_file,
)
from larbinpy.database.sources.warc import Payloads, WarcFile
from larbinpy.errors import UserError
from larbinpy.output.mirror.paths import CATALOG, INDEX, locate, original_beside, original_of
from larbinpy.url import resolve

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
    scheme = f"http{own_scheme}" if host != site else "http"
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


_ARCHIVES = (".warc", ".warc.gz")
_KINDS = "WARC files (.warc, .warc.gz), and folders with those, with a mirror or saved pages"


def find(paths: Sequence[str], payloads: Payloads, most: int) -> list[Source]:
    """The sources in `paths`; of a page at most `most` bytes are read.

    Raises UserError for a path that has none, and `OSError`.
    """
    archives: list[Path] = []
    folders: list[Source] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = _archives(path)
            found = [*_in_folder(path, most)]
            if not inside and not found:
                raise UserError(f"{name}: no pages in this folder; expected {_KINDS}")
            archives += inside
            folders += found
        elif path.name.endswith(_ARCHIVES) and path.is_file():
            archives.append(path)
        else:
            wrong = "no such file" if not os.path.lexists(path) else "not a file of pages"
            raise UserError(f"{name}: {wrong}; expected {_KINDS}")
    # A file that is named twice is read once.
    files = [*dict.fromkeys(archives)]
    numbered = range(len(files))
    return [*(WarcFile(files, number, payloads, most) for number in numbered), *folders]


def _archives(folder: Path) -> list[Path]:
    """WARC files in `folder`, the oldest first, as far as their names say so."""
    named = (path for path in folder.iterdir() if path.name.endswith(_ARCHIVES))
    return sorted(path for path in named if path.is_file())


def _in_folder(folder: Path, most: int) -> Iterator[Source]:
    """The sources that the outputs of a crawl left in `folder`."""
    if (folder / CATALOG).is_file():
        yield Browsable(folder, most)
    elif (folder / NAMES).is_file():
        yield Mirror(folder, most)
    if indexes(folder):
        yield SavedFiles(folder, most)
