"""A mirror of HOST/path as a source of pages: the path of a file shows its URL."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from larbinpy.database.sources.file import page_in, read_file
from larbinpy.database.sources.names import url_at
from larbinpy.database.sources.source import Taken

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

    def __repr__(self) -> str:
        return f"<Mirror {self.name}>"

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
