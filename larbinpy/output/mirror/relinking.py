"""Rewrites the links of a mirror when all its pages are fetched.

Each HTML, XHTML, SVG or CSS file is written again from its original and the catalog. The result
depends on those two alone, so the work may be interrupted and begun again at any time: a
resumed crawl and a refreshed mirror end with the same files as one that ran through.
"""

from collections.abc import Iterator
from dataclasses import replace

from larbinpy.outcome import Outcome
from larbinpy.output.mirror.catalog import Catalog, Entry
from larbinpy.output.mirror.links import Relative
from larbinpy.output.mirror.naming import Names
from larbinpy.output.mirror.originals import Originals
from larbinpy.output.mirror.paths import original_beside
from larbinpy.page import Page
from larbinpy.parse import rewriting
from larbinpy.url import Url


class Relinking:
    """Rewrites the links of all pages in `catalog`; with `keep`, keeps the originals beside."""

    def __init__(self, catalog: Catalog, names: Names, originals: Originals, *, keep: bool) -> None:
        self._catalog = catalog
        self._names = names
        self._tree = names.tree
        self._originals = originals
        self._keep = keep
        #: Number of files that changed.
        self.rewritten = 0

    def __repr__(self) -> str:
        return f"<Relinking {self.rewritten} rewritten>"

    def steps(self) -> Iterator[None]:
        """Rewrite all pages, a page or a part of one in each step.

        Repeats everything if a page or a redirect was entered between the steps.
        """
        seen = -1
        while seen != self._catalog.changes:
            seen = self._catalog.changes
            relative = Relative(self._catalog.path_of)
            for entry in self._catalog.pages():
                placed = replace(entry, path=self._names.free_of_folders(entry))
                yield from self._rewrite(placed, relative)
                yield
        self._catalog.note_rewritten()
        self._catalog.commit()

    def _rewrite(self, entry: Entry, relative: Relative) -> Iterator[None]:
        original = self._originals.read(entry.url, entry.size)
        if original is None:
            return
        yield
        page = Page(
            Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers, original, charset=entry.charset
        )
        body = yield from rewriting(page, relative.to(entry.path))
        if self._catalog.get(entry.url) != entry:
            return  # it was fetched again between the steps; the next pass rewrites it
        if self._keep and body != original:
            self._tree.write(original_beside(entry.path), original, entry.modified)
        if self._tree.read(entry.path, len(body) + 1) != body:
            self._tree.write(entry.path, body, entry.modified)
            self.rewritten += 1
        self._catalog.note_written(entry.url, body)
