"""Mirror mode: pages at HOST[:PORT]/path, as their URLs name them.

`paths` gives every URL a plain name and an *own* name, which no other URL can have. The file of a
URL has the plain name, except:

- if the plain name is needed as a folder (``/a`` beside ``/a/b``), the page has its own name,
  ``a#file``; a page that was written earlier is renamed. The order in which pages arrive does
  not matter.
- ``/a/`` and ``/a/index.html`` both have the plain name ``a/index.html``, and http and https
  of one host have that of the host. The URL that comes first keeps the plain name for good,
  the other gets its own: ``a/index.html#folder`` or ``#file``, ``HOST#http`` or
  ``HOST#https``. The file ``.larbinpy-names`` records which came first.

So each URL has one file, a page that is fetched again replaces only itself, and without such
clashes every file is where its URL says. Names do not depend on anything that a server sends.

A resumed crawl fetches the pages since its last checkpoint again. Nothing has to be undone for
that: each page replaces itself, and the owner of a name stays the same, as its line is written
before its page.
"""

import os

from larbinpy.output.mirror.paths import INDEX, Place, locate
from larbinpy.output.mirror.tree import Incoming, enter
from larbinpy.page import Outcome, Page
from larbinpy.storage.files import LineFile, enter_folder, open_folder
from larbinpy.url import Url, fingerprint

# The name cannot clash with a folder of a host, which has no leading dot.
_NAMES = ".larbinpy-names"

_RIVAL = {"http": "https", "https": "http", "file": "folder", "folder": "file"}


class MirrorOutput:
    """Pages at HOST[:PORT]/path below `directory`, which is made if it is missing.

    One crawl at a time writes to a mirror; a second is refused with `BlockingIOError`.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._root = open_folder(directory)
        try:
            self._holders = Holders(LineFile(_NAMES, folder=self._root))
            self._incoming = Incoming(self._root)
        except BaseException:
            os.close(self._root)
            raise
        self._pages = 0
        self._bytes = 0
        self._own_names = 0

    def loaded(self, page: Page) -> None:
        place = locate(page.url.href)
        self._incoming.put(page.body, lambda: self._settle(place))
        self._pages += 1
        self._bytes += len(page.body)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {"pages": self._pages, "bytes": self._bytes, "own_names": self._own_names}

    # As a part of the state:

    def cut(self) -> int:
        return self._pages

    def sync(self) -> None:
        self._holders.sync()

    def load(self, mark: int) -> None:
        pass

    def close(self) -> None:
        self._holders.close()
        os.close(self._root)

    def _settle(self, place: Place) -> None:
        """Move the temporary file to where its URL belongs."""
        site, folder = self._enter(place)
        try:
            path = "/".join((site, *place.folders, place.name))
            if not place.index or self._holders.take(place.kind, path):
                try:
                    self._incoming.move_to(folder, place.name)
                    return
                except IsADirectoryError:
                    pass
            self._incoming.move_to(folder, place.own_name)
            self._own_names += 1
        finally:
            os.close(folder)

    def _enter(self, place: Place) -> tuple[str, int]:
        """Return the name of the site's folder, and the descriptor of the page's folder."""
        site, folder = self._enter_site(place)

        def make_way(parent: int, index: int) -> None:
            name, page = place.folders[index], place.pages[index]
            path = "/".join((site, *place.folders[: index + 1]))
            # The page (or planted link) that has the name of the folder gets its own name.
            if name == INDEX and not self._holders.holds("file", path):
                page = f"{INDEX}#folder"
            os.rename(name, page, src_dir_fd=parent, dst_dir_fd=parent)

        return site, enter(folder, place.folders, make_way)

    def _enter_site(self, place: Place) -> tuple[str, int]:
        # If the name belongs to something else than a folder, that is a link or another
        # program's file; it is not touched.
        if self._holders.take(place.scheme, place.site):
            folder = enter_folder(self._root, place.site)
            if folder is not None:
                return place.site, folder
        folder = enter_folder(self._root, place.own_site)
        if folder is None:
            raise NotADirectoryError(f"{place.own_site} in the mirror is not a folder")
        return place.own_site, folder


class Holders:
    """The owners of plain names that two URLs may want: the first to `take` one keeps it.

    `file` has a line ``KIND NAME`` for each, also of earlier runs. Memory holds its 64-bit
    fingerprint: 73 bytes a line, with one line for each site and each index page.
    """

    def __init__(self, file: LineFile) -> None:
        self._file = file
        self._known = {
            fingerprint(line.decode("ascii", "replace").rstrip("\n")) for line in file.lines()
        }

    def take(self, kind: str, name: str) -> bool:
        """Give `name` to `kind` if it is free; return whether `kind` owns it. Raises `OSError`."""
        if self.holds(_RIVAL[kind], name):
            return False
        if not self.holds(kind, name):
            line = f"{kind} {name}"
            self._file.write(f"{line}\n".encode())
            self._known.add(fingerprint(line))
        return True

    def holds(self, kind: str, name: str) -> bool:
        return fingerprint(f"{kind} {name}") in self._known

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()
