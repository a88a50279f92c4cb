"""A mirror that browses offline: rewriteLinks.

While the crawl runs, pages are written as they came, and the catalog notes which URL has
which file. What links are rewritten in (HTML, XHTML, SVG, CSS) is kept as it came, too,
packed, in ``.larbinpy-originals``. When the crawl has ended, `finish` makes every such file
anew from its original and the catalog. As the result depends on those two alone, it is of no
consequence how often that was begun before, by a crawl that was killed or an earlier one:
a resumed crawl and a refreshed mirror end as one that was never interrupted.

A name is given once and for good, by the catalog: the plainest of `paths.browsable` that no
other URL has. A file that is in the way of a folder moves aside, as in `mirror`.

A page that has not changed since it was fetched (304) stays; one that fails stays, too.
"""

import errno
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from stat import S_ISDIR, S_ISREG

from larbinpy.ending import UserError
from larbinpy.files import LineFile, create, discard, enter_folder, find_folder, open_folder
from larbinpy.outcome import Outcome
from larbinpy.output.catalog import Catalog, Entry
from larbinpy.output.links import Relative
from larbinpy.output.paths import beside, browsable
from larbinpy.page import Page
from larbinpy.parse import Form, form_of, rewriting
from larbinpy.url import Url, fingerprint, hash64

_ORIGINALS = ".larbinpy-originals"
_LOCK = ".larbinpy-names"
_PART = ".larbinpy-part"
#: What a kept original is called beside its page; no URL has such a name (see `paths`).
_KEPT = "#.orig"
#: zlib's fastest: HTML to a quarter, at 100 MB/s.
_LEVEL = 1
#: Headers that tell of the page itself, and what follows from it: they count on a 304, too.
_LASTING = frozenset({"content-type", "etag", "last-modified", "link", "refresh", "x-robots-tag"})
_LONGEST_HEADER = 2000
#: By which of them a server is asked whether there is something new, and how.
_CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
#: What there is in place of a file.
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)


@dataclass(slots=True, frozen=True)
class MirrorSettings:
    """How a mirror is kept."""

    #: Keep what was rewritten as it came, beside it.
    keep_originals: bool = False
    #: Names in lower case, for disks that ignore case.
    lower_case: bool = False
    #: Ask for pages that are here only where they have changed.
    conditional: bool = True


class BrowsableMirror:
    """Pages at HOST[:PORT]/path below `directory`, which is made where it is missing.

    One crawl at a time writes to a mirror; a second is refused with `BlockingIOError`.
    """

    def __init__(self, directory: str | os.PathLike[str], settings: MirrorSettings) -> None:
        self._settings = settings
        self._name = os.fspath(directory)
        self._root = open_folder(directory)
        try:
            self._lock = LineFile(_LOCK, folder=self._root)
            self._catalog = Catalog(directory)
            discard(_PART, folder=self._root)
        except BaseException:
            os.close(self._root)
            raise
        self._pages = self._bytes = self._unchanged = self._rewritten = self._written = 0

    def __repr__(self) -> str:
        return f"BrowsableMirror({self._pages} pages, {self._unchanged} of them unchanged)"

    # The plug.

    def loaded(self, page: Page) -> None:
        if page.not_modified:
            self._unchanged += 1
        else:
            self._take(page)
        self._pages += 1
        self._bytes += len(page.body)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {
            "pages": self._pages,
            "bytes": self._bytes,
            "unchanged": self._unchanged,
            "rewritten": self._rewritten,
        }

    def cut(self) -> list[int]:
        self._catalog.commit()
        return [self._pages, self._written, self._catalog.changes]

    def sync(self) -> None:
        """Nothing: all of it is brought to the disk with the pages."""

    def load(self, mark: list[int] | int) -> None:
        """Refuse to go on from a mirror elsewhere, or a plain one, whose mark is a number."""
        pages = mark if isinstance(mark, int) else mark[0]
        if pages and self._catalog.is_empty:
            raise UserError(
                f"{self._name}: the pages so far are not in a mirror with rewriteLinks here;"
                " resume with outputDir and rewriteLinks as they were, or --scratch starts anew"
            )

    def close(self) -> None:
        self._catalog.close()
        self._lock.close()
        os.close(self._root)

    def _take(self, page: Page) -> None:
        old, entry = self._catalog.get(page.url.href), self._entry(page)
        self._catalog.rewritten = False
        twin = self._twin(entry) if old is None else None
        if twin is not None:
            self._catalog.move(entry.url, twin.url)
            return
        is_same = old is not None and (old.digest, old.path) == (entry.digest, entry.path)
        if not is_same or not self._is_there(entry):
            if entry.form is not None:
                self._write_original(entry.url, page.body)
            self._write(entry, page.body)
        self._catalog.put(entry)
        if old is not None and old.path != entry.path:
            # First, as after a kill the catalog must not name a file that is gone.
            self._catalog.commit()
            self._discard(old.path, but=entry.path)

    def _twin(self, entry: Entry) -> Entry | None:
        """The page that has the plainest path that `entry` might have, where it is the same.

        As ``/`` and ``/index.html`` are on most sites, and http and https.
        """
        twin = self._catalog.at(self._paths(entry.url, entry.type)[0])
        if twin is None or (twin.digest, twin.form) != (entry.digest, entry.form):
            return None
        return twin if twin.path != entry.path else None

    # What is there already.

    def conditions(self, url: str) -> list[str]:
        """Header lines that ask for `url` only where it has changed; none where it must come."""
        entry = self._catalog.get(url) if self._settings.conditional else None
        if entry is None or not self._is_there(entry):
            return []
        values = dict(entry.headers)
        return [f"{ask}: {values[name]}" for name, ask in _CONDITIONS.items() if name in values]

    def unchanged(self, page: Page) -> None:
        """Make of a 304 the page that is there; where it is not, it must come once more."""
        entry = self._catalog.get(page.url.href) if self._settings.conditional else None
        if entry is None:
            return
        body = self._body(entry)
        if body is None or _digest(body) != entry.digest:
            bare = [(name, value) for name, value in entry.headers if name not in _CONDITIONS]
            self._catalog.put(replace(entry, headers=bare, digest=b""))
            page.outcome = Outcome.EARLY_STOP
            return
        told = {name for name, _ in page.headers}
        page.headers += [(name, value) for name, value in entry.headers if name not in told]
        page.body, page.outcome = body, Outcome.SUCCESS
        self._catalog.stay(entry.url)

    def moved(self, url: str, target: str) -> None:
        """A redirect: links to `url` lead to the file of `target`."""
        self._catalog.move(url, target)

    # What is left to do when the crawl has ended.

    def finish(self) -> Iterator[None]:
        """Rewrite the links of all pages, a page or a part of one in each step.

        And once more, where a page or a redirect came between the steps.
        """
        seen = -1
        while seen != self._catalog.changes:
            seen = self._catalog.changes
            relative = Relative(self._catalog.path_of)
            for entry in self._catalog.pages():
                yield from self._rewrite(self._placed(entry), relative)
                yield
        self._catalog.rewritten = True
        self._catalog.commit()

    def _placed(self, entry: Entry) -> Entry:
        """`entry`, elsewhere where a folder is in its place, as a power cut may leave it."""
        if not self._is_folder(entry.path) or self._catalog.at(entry.path) is None:
            return entry
        path = self._free(entry.url, entry.type, but=entry.path)
        self._catalog.rename(entry.url, path)
        return replace(entry, path=path)

    def _rewrite(self, entry: Entry, relative: Relative) -> Iterator[None]:
        original = self._original(entry.url)
        if original is None:
            return
        page = Page(
            Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers, original, charset=entry.charset
        )
        body = yield from rewriting(page, relative.to(entry.path))
        if self._catalog.get(entry.url) != entry:
            return  # It came anew between the steps, and has its turn again.
        if self._settings.keep_originals and body != original:
            folders, slash, name = entry.path.rpartition("/")
            self._write(replace(entry, path=folders + slash + beside(name, _KEPT)), original)
        if self._read(entry.path) != body:
            self._write(entry, body)
            self._rewritten += 1

    # Files.

    def _entry(self, page: Page) -> Entry:
        url, form = page.url.href, form_of(page)
        return Entry(
            url,
            self._allotted(url, "text/html" if form is Form.HTML else page.type),
            [(n, v) for n, v in page.headers if n in _LASTING and _is_tame(v)],
            page.charset,
            _digest(page.body),
            form and form.value,
            len(page.body),
        )

    def _allotted(self, url: str, media_type: str) -> str:
        """The path that `url` has, or the plainest that is free."""
        old = self._catalog.get(url)
        if old is not None and old.path in self._paths(url, media_type):
            return old.path if not self._is_folder(old.path) else self._free(url, media_type)
        return self._free(url, media_type)

    def _free(self, url: str, media_type: str, but: str = "") -> str:
        paths = self._paths(url, media_type)
        for path in paths:
            owner = self._catalog.at(path)
            is_free = owner is None or owner.url == url
            if path != but and is_free and not self._is_folder(path):
                return path
        return paths[-1]

    def _paths(self, url: str, media_type: str) -> list[str]:
        return browsable(url, media_type, self._settings.lower_case)

    def _is_folder(self, path: str) -> bool:
        found = self._stat(path)
        return found is not None and S_ISDIR(found.st_mode)

    def _write(self, entry: Entry, body: bytes) -> None:
        """Put the file of `entry` in its place, whole."""
        create(_PART, (body,), folder=self._root)
        try:
            self._date(entry)
            folder, name = self._enter(entry.path)
            try:
                os.rename(_PART, name, src_dir_fd=self._root, dst_dir_fd=folder)
            finally:
                os.close(folder)
        except BaseException:
            discard(_PART, folder=self._root)
            raise
        self._written += 1

    def _date(self, entry: Entry) -> None:
        """A file is as old as its page."""
        text = dict(entry.headers).get("last-modified")
        if text is None:
            return
        with suppress(ValueError, TypeError, OverflowError):
            seconds = parsedate_to_datetime(text).timestamp()
            os.utime(_PART, (seconds, seconds), dir_fd=self._root, follow_symlinks=False)

    def _enter(self, path: str) -> tuple[int, str]:
        """Descriptor of the folder of `path`, made where it is missing, and the last name."""
        *folders, name = path.split("/")
        here, folder = "", os.dup(self._root)
        for part in folders:
            here = f"{here}/{part}" if here else part
            parent = folder
            try:
                folder = self._enter_folder(parent, part, here)
            finally:
                os.close(parent)
        return folder, name

    def _enter_folder(self, parent: int, name: str, path: str) -> int:
        folder = enter_folder(parent, name)
        if folder is not None:
            return folder
        self._move_aside(parent, name, path)
        folder = enter_folder(parent, name)
        if folder is None:
            raise NotADirectoryError(f"{path} in the mirror was replaced while it was made")
        return folder

    def _move_aside(self, parent: int, name: str, path: str) -> None:
        """What has that name and is no folder gets another; a page, its next."""
        entry = self._catalog.at(path)
        if entry is None:
            os.rename(name, beside(name, "#file"), src_dir_fd=parent, dst_dir_fd=parent)
            return
        new = self._free(entry.url, entry.type, but=path)
        # First, and at once: after a kill between the two the file is missing where it is
        # looked for, and comes again; else a folder would be taken for it for good.
        self._catalog.rename(entry.url, new)
        self._catalog.commit()
        os.rename(name, new.rpartition("/")[2], src_dir_fd=parent, dst_dir_fd=parent)

    def _discard(self, path: str, but: str) -> None:
        """Remove a file; `but` may be the same one on a disk that ignores case."""
        if self._stat(path) == self._stat(but):
            return
        with suppress(OSError), self._parent(path) as (folder, name):
            discard(name, folder=folder)

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Descriptor of the folder of `path`, if it is there, and the last name."""
        folders, _, name = path.rpartition("/")
        folder = find_folder(self._root, folders)
        try:
            yield folder, name
        finally:
            os.close(folder)

    def _read(self, path: str) -> bytes | None:
        """The content of a file; None where there is none, but a folder or a link maybe."""
        try:
            with self._parent(path) as (folder, name):
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
            with open(fd, "rb") as file:
                return file.read()
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            with self._parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise

    def _is_there(self, entry: Entry) -> bool:
        path = entry.path if entry.form is None else _original_path(entry.url)
        found = self._stat(path)
        if found is None or not S_ISREG(found.st_mode):
            return False
        return entry.form is not None or found.st_size == entry.size

    def _body(self, entry: Entry) -> bytes | None:
        """The page as it came; None where it is not there any more."""
        return self._read(entry.path) if entry.form is None else self._original(entry.url)

    def _original(self, url: str) -> bytes | None:
        packed = self._read(_original_path(url))
        with suppress(zlib.error):
            return packed and zlib.decompress(packed)
        return None

    def _write_original(self, url: str, body: bytes) -> None:
        create(_PART, (zlib.compress(body, _LEVEL),), folder=self._root)
        folder, name = self._enter(_original_path(url))
        try:
            os.rename(_PART, name, src_dir_fd=self._root, dst_dir_fd=folder)
        finally:
            os.close(folder)


def _original_path(url: str) -> str:
    name = f"{fingerprint(url):016x}"
    return f"{_ORIGINALS}/{name[:2]}/{name[2:]}"


def _digest(body: bytes) -> bytes:
    return hash64(body).to_bytes(8, "little")


def _is_tame(value: str) -> bool:
    """May a header be sent back?"""
    return len(value) <= _LONGEST_HEADER and value.isprintable() and value.isascii()
