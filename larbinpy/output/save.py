"""Save mode: pages in numbered files, as Larbin saved them.

``dNNNNN/fNNNNN`` holds a page, 2000 to a folder, and ``dNNNNN/index`` has a line
``number URL`` for each. The index is the truth: a file gets its line when it is complete,
and a file without a line, which a kill may leave, gives its number to the next page.
"""

import os
import re

from larbinpy.files import LineFile, create, discard, enter_folder, open_folder
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.url import Url

#: Larbin's filesPerDir.
FILES_PER_FOLDER = 2000

_FOLDER = re.compile(r"d([0-9]{5,9})\Z")
_PART = ".part"


class SaveOutput:
    """Numbered files below `directory`, which is made where it is missing.

    In a directory that has some, numbering goes on after the last. One crawl at a time
    writes there; a second is refused with `BlockingIOError`.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._root = open_folder(directory)
        self._pages = 0
        self._bytes = 0
        try:
            numbers = [int(m[1]) for name in os.listdir(self._root) if (m := _FOLDER.match(name))]
            self._current = self._open_from(max(numbers, default=0))
        except BaseException:
            os.close(self._root)
            raise

    def _open_from(self, number: int) -> "_Folder":
        """The first folder with room, from `number` on; foreign ones are left alone."""
        while True:
            fd = enter_folder(self._root, f"d{number:05}")
            folder = _Folder.open(number, fd) if fd is not None else None
            if folder is not None:
                return folder
            number += 1

    def loaded(self, page: Page) -> None:
        if self._current.next == FILES_PER_FOLDER:
            full, self._current = self._current, self._open_from(self._current.number + 1)
            full.close()
        self._current.add(page.url.href, page.body)
        self._pages += 1
        self._bytes += len(page.body)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {
            "pages": self._pages,
            "bytes": self._bytes,
            "folder": self._current.number,
            "next": self._current.next,
        }

    def close(self) -> None:
        self._current.close()
        os.close(self._root)

    def __repr__(self) -> str:
        return f"SaveOutput({self._pages} pages, next {self._current!r})"


class _Folder:
    """One ``dNNNNN``: its descriptor, its index, and the number of its next file."""

    def __init__(self, number: int, fd: int, index: LineFile, next_file: int) -> None:
        self.number = number
        self.next = next_file
        self._fd = fd
        self._index = index

    @classmethod
    def open(cls, number: int, fd: int) -> "_Folder | None":
        """The folder behind `fd`, which is closed again where it is full or foreign (None)."""
        try:
            names = set(os.listdir(fd))
            if "index" in names or not names - {_PART}:
                index = LineFile("index", folder=fd)
                following = _following(index)
                if following < FILES_PER_FOLDER:
                    return cls(number, fd, index, following)
                index.close()
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        return None

    def add(self, url: str, body: bytes) -> None:
        """Save a page and index it, or raise `OSError` with neither done."""
        name = f"f{self.next:05}"
        create(_PART, (body,), folder=self._fd)
        try:
            os.rename(_PART, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError:
            discard(_PART, folder=self._fd)
            raise
        try:
            self._index.write(f"{self.next} {url}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            discard(name, folder=self._fd)
            raise
        self.next += 1

    def close(self) -> None:
        self._index.close()
        os.close(self._fd)

    def __repr__(self) -> str:
        return f"d{self.number:05}/f{self.next:05}"


def _following(index: LineFile) -> int:
    """The number after the last of `index`; past the end where the index is not ours."""
    last = -1
    for line in index.lines():
        word, _, _ = line.strip().partition(b" ")
        if not word.isdigit():
            return FILES_PER_FOLDER
        last = max(last, int(word))
    return last + 1
