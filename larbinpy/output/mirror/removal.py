"""Removes the files of pages that are gone.

A file is removed only if it is as larbinpy wrote it: anything else is the user's own. Its page is
removed from the catalog first, which notes the files; then the files are removed. After a kill the
next start removes the files that are noted.
"""

from collections.abc import Iterable
from contextlib import suppress

from larbinpy.output.mirror.catalog import Catalog, Entry, digest_of
from larbinpy.output.mirror.paths import original_beside, original_of
from larbinpy.output.mirror.tree import Tree

_DIFFERS = "it is not as larbinpy wrote it"
_UNKNOWN = "an earlier version wrote it; the next refresh can remove it"


class Removal:
    """Removes pages from `catalog`, and then their files from `tree`."""

    def __init__(self, catalog: Catalog, tree: Tree) -> None:
        self._catalog = catalog
        self._account = catalog.account
        self._tree = tree
        self.clear_away(catalog.purging())

    def __repr__(self) -> str:
        return f"<Removal from {self._catalog!r}>"

    def forget(self, url: str) -> list[tuple[str, str]]:
        """Remove the page `url` from the catalog; return its files for `clear_away`.

        A page written by a version that kept no digest of it stays until links are rewritten.
        """
        entry = self._catalog.get(url)
        if entry is None:
            return []
        why = self._spared(entry)
        if why:
            self._account.spare(entry.path, why)
        if why == _UNKNOWN:
            return []
        paths = [original_of(url), *([] if why else [entry.path])]
        beside = original_beside(entry.path)
        with suppress(OSError):
            if self._is_as_received(beside, entry):
                paths.append(beside)
        self._catalog.purge(url, paths)
        self._account.note_purged(url, purged=not why)
        return [(path, url) for path in paths]

    def clear_away(self, files: Iterable[tuple[str, str]]) -> None:
        """Remove files, given with the URLs of their pages, which the catalog notes as purged.

        One that cannot be removed is noted in the account, and remains to be removed.
        """
        urls = dict(files)
        kept = self._tree.purge(path for path in urls if not self._is_used(path, urls[path]))
        for path, url in urls.items():
            if path in kept:
                self._account.spare(path, kept[path])
                self._account.note_purged(url, purged=False)
            else:
                self._catalog.purged(path)
        self._catalog.commit()

    def _is_used(self, path: str, url: str) -> bool:
        """Whether a page of the catalog has the file `path`, which the page `url` had."""
        if path == original_of(url):
            return self._catalog.get(url) is not None
        return self._catalog.at(path) is not None or self._is_anothers(path, url)

    def _is_anothers(self, path: str, url: str) -> bool:
        """Whether the file is that of a page other than `url`, on a disk that ignores case."""
        return self._tree.ignores_case(path) and self._catalog.is_shared(path, url)

    def _spared(self, entry: Entry) -> str:
        """Why the file of a page is not removed; "" if it may be, or if there is none."""
        try:
            is_there = self._tree.size(entry.path) is not None
            if not is_there or self._is_anothers(entry.path, entry.url):
                return ""
            if self._is_as_received(entry.path, entry):
                return ""
            if entry.form is None:
                return _DIFFERS
            written = self._catalog.written(entry.url)
            if written is None:
                return _UNKNOWN
            return "" if self._is(entry.path, *written) else _DIFFERS
        except OSError as error:
            return error.strerror or str(error)

    def _is_as_received(self, path: str, entry: Entry) -> bool:
        return self._is(path, entry.digest, entry.size)

    def _is(self, path: str, digest: bytes, size: int) -> bool:
        """Whether the file `path` has this content."""
        body = self._tree.read(path, size) if self._tree.size(path) == size else None
        return body is not None and digest_of(body) == digest
