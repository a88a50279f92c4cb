"""The links of a mirror, rewritten when its pages have come.

What links are rewritten in (HTML, XHTML, SVG, CSS) is made anew from its original and the
catalog. As the result depends on those two alone, it is of no consequence how often that was
begun before, by a crawl that was killed or an earlier one: a resumed crawl and a refreshed
mirror end as one that was never interrupted.
"""

from collections.abc import Iterator
from dataclasses import replace

from larbinpy.outcome import Outcome
from larbinpy.output.mirror.catalog import Catalog, Entry
from larbinpy.output.mirror.links import Relative
from larbinpy.output.mirror.naming import Names
from larbinpy.output.mirror.originals import Originals
from larbinpy.output.mirror.paths import beside
from larbinpy.page import Page
from larbinpy.parse import rewriting
from larbinpy.url import Url

#: What a kept original is called beside its page; no URL has such a name (see `paths`).
_KEPT = "#.orig"


class Relinking:
    """Rewrites the links of all pages in `catalog`; with `keep`, each stays as it came, too."""

    def __init__(self, catalog: Catalog, names: Names, originals: Originals, *, keep: bool) -> None:
        self._catalog = catalog
        self._names = names
        self._tree = names.tree
        self._originals = originals
        self._keep = keep
        #: Files that became others.
        self.rewritten = 0

    def __repr__(self) -> str:
        return f"<Relinking {self.rewritten} rewritten>"

    def steps(self) -> Iterator[None]:
        """Do it, a page or a part of one in each step.

        And once more, where a page or a redirect came between the steps.
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
            return  # It came anew between the steps, and has its turn again.
        if self._keep and body != original:
            folders, slash, name = entry.path.rpartition("/")
            kept = folders + slash + beside(name, _KEPT)
            self._tree.write(kept, original, entry.modified)
        if self._tree.read(entry.path, len(body) + 1) != body:
            self._tree.write(entry.path, body, entry.modified)
            self.rewritten += 1
