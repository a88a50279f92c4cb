"""Which file a URL has in a mirror that browses offline.

A URL gets the plainest name of `paths.browsable` that no other URL has, and keeps it; the catalog
stores it. A file whose name is needed for a folder is renamed, as in `mirror`.

Before a file is removed, the catalog records it together with the file that replaces it, in one
transaction. So after a kill the file is either still in use, or it is removed at the next start.
"""

from contextlib import suppress

from larbinpy.output.mirror.catalog import Catalog, Entry
from larbinpy.output.mirror.paths import Spelling, beside, browsable
from larbinpy.output.mirror.tree import Tree


class Names:
    """The names in the mirror whose folder `root` is; `tree` has its files."""

    def __init__(
        self, catalog: Catalog, root: int, spelling: Spelling, *, lower_case: bool
    ) -> None:
        self._catalog = catalog
        self._spelling = spelling
        self._lower_case = lower_case
        self.tree = Tree(root, self._make_way)
        self._clear_away()

    def __repr__(self) -> str:
        return f"<Names by {self._catalog!r}>"

    def plainest(self, url: str, media_type: str) -> str:
        return self._paths(url, media_type)[0]

    def allotted(self, url: str, media_type: str) -> str:
        """Return the path that `url` has, or the plainest that is free."""
        old = self._catalog.get(url)
        is_kept = old is not None and old.path in self._paths(url, media_type)
        if old is not None and is_kept and not self.tree.is_folder(old.path):
            return old.path
        return self._free(url, media_type)

    def free_of_folders(self, entry: Entry) -> str:
        """Return the path of `entry`, or a new one if a power cut left a folder in its place."""
        if not self.tree.is_folder(entry.path) or self._catalog.at(entry.path) is None:
            return entry.path
        path = self._free(entry.url, entry.type, but=entry.path)
        self._catalog.rename(entry.url, path)
        return path

    def leave(self, old: str, new: str) -> None:
        """Remove the file `old`, which `new` has replaced, from the catalog, then the disk."""
        self._catalog.leave(old, new)
        # Commit first: after a kill the catalog must not name a file that is gone.
        self._catalog.commit()
        self.tree.remove(old, but=new)
        self._catalog.left(old)

    def _free(self, url: str, media_type: str, but: str = "") -> str:
        paths = self._paths(url, media_type)
        for path in paths:
            owner = self._catalog.at(path)
            is_free = owner is None or owner.url == url
            if path != but and is_free and not self.tree.is_folder(path):
                return path
        return paths[-1]

    def _paths(self, url: str, media_type: str) -> list[str]:
        return browsable(url, media_type, self._spelling, lower_case=self._lower_case)

    def _make_way(self, path: str) -> None:
        """Rename the file or link at `path`; a page gets its next name."""
        entry = self._catalog.at(path)
        if entry is None:
            self.tree.rename(path, beside(path, "#file"))
            return
        new = self._free(entry.url, entry.type, but=path)
        # Commit first: if a kill comes before the rename, the next start renames the file. In the
        # other order, the catalog would keep a path at which there is a folder.
        self._catalog.leave(path, new)
        self._catalog.rename(entry.url, new)
        self._catalog.commit()
        self.tree.rename(path, new)
        self._catalog.left(path)

    def _clear_away(self) -> None:
        """Finish the renames and removals that the catalog records and a kill prevented."""
        for old, new in self._catalog.leaving():
            if self._catalog.at(old) is None and self.tree.size(old) is not None:
                if self.tree.size(new) is None and not self.tree.is_folder(new):
                    with suppress(OSError):
                        self.tree.rename(old, new)
                self.tree.remove(old, but=new)
            self._catalog.left(old)
        self._catalog.commit()
