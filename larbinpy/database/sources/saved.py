"""The numbered files of save mode as a source of pages: dNNNNN/fNNNNN and dNNNNN/index."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from larbinpy.database.sources.file import page_in, read_file
from larbinpy.database.sources.source import Taken
from larbinpy.url import resolve

_FOLDER = re.compile(r"d[0-9]{5,9}")
_LINE = re.compile(rb"([0-9]{1,5}) (\S+)\s*")


class SavedFiles:
    """The pages that save mode wrote into `folder`, at most `most` bytes of each."""

    def __init__(self, folder: Path, most: int) -> None:
        self._indexes = indexes(folder)
        self._most = most
        self.name = str(folder)
        self.left_out: Counter[str] = Counter()
        self.size = sum(path.read_bytes().count(b"\n") for path in self._indexes)

    def __repr__(self) -> str:
        return f"<SavedFiles {self.name}>"

    def pages(self) -> Iterator[Taken]:
        done = 0
        for index in self._indexes:
            with index.open("rb") as lines:
                for line in lines:
                    done += 1
                    match = _LINE.fullmatch(line)
                    url = resolve(match[2].decode("utf-8", "replace")) if match else None
                    if match is None or url is None:
                        self.left_out["a line of an index without a URL"] += 1
                        continue
                    path = index.parent / f"f{int(match[1]):05}"
                    try:
                        at, body = path.stat().st_mtime, read_file(path, self._most)
                    except OSError:
                        # A consumer of the pages may have removed it.
                        self.left_out["no file"] += 1
                        continue
                    yield Taken(done, page_in(url, body, at))


def indexes(folder: Path) -> list[Path]:
    """The indexes of save mode in `folder`, in their order."""
    names = [path for path in folder.iterdir() if _FOLDER.fullmatch(path.name)]
    numbered = [path for path in names if not path.is_symlink()]
    found = [path / "index" for path in sorted(numbered, key=lambda each: int(each.name[1:]))]
    return [path for path in found if path.is_file() and not path.is_symlink()]
