"""The outputs that know no paths: save mode (numbered files, as Larbin's), and stats mode.

``dNNNNN/fNNNNN`` holds a page, 2000 to a folder, and ``dNNNNN/index`` has a line
``number URL`` for each. Only the index counts: a file gets its line when it is complete, and
the next page takes the number of a file without a line, which a kill may leave.

A resumed crawl fetches the pages since its last checkpoint again, so it first removes the copies
it has of them. Another crawl may have written to the same folder since. Each crawl therefore puts
its name into the file ``.larbinpy-crawl`` before its first page; a resumed crawl that finds
another name there removes nothing.

`StatsOutput` counts pages by type, status, size and host, and keeps nothing else.
"""

import os
import re
from contextlib import ExitStack, suppress
from heapq import nlargest
from typing import TypedDict

from larbinpy.page import Outcome, Page
from larbinpy.storage.files import LineFile, create, discard, enter_folder, open_folder
from larbinpy.url import Url

#: Larbin's filesPerDir.
FILES_PER_FOLDER = 2000

_FOLDER = re.compile(r"d([0-9]{5}|[1-9][0-9]{5,8})\Z")
_FILE = re.compile(r"f([0-9]{5})\Z")
_PART = ".part"
_CRAWL = ".larbinpy-crawl"


class SaveMark(TypedDict):
    """The name of the crawl, the number of its current folder, and bytes of that index."""

    crawl: str
    folder: int
    index: int


class SaveOutput:
    """Numbered files below `directory`, which is made if it is missing.

    If the directory has some already, numbering continues after the last. One crawl at a time
    may write there; a second one gets `BlockingIOError`.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, files_per_folder: int = FILES_PER_FOLDER
    ) -> None:
        self._root = open_folder(directory)
        self._most = files_per_folder
        self._pages = 0
        self._bytes = 0
        self._crawl = os.urandom(8).hex()
        self._signed = False
        try:
            self._current = self._open_from(max(self._numbers(), default=0))
        except BaseException:
            os.close(self._root)
            raise

    def _numbers(self) -> list[int]:
        """Return the numbers of the existing folders, sorted."""
        return sorted(int(m[1]) for name in os.listdir(self._root) if (m := _FOLDER.match(name)))

    def _open_from(self, number: int) -> "_Folder":
        """Open the first folder with room, from `number` on; skip folders of other programs."""
        while True:
            folder = self._open(number)
            if folder is not None and folder.next < self._most:
                return folder
            if folder is not None:
                folder.close()
            number += 1

    def _open(self, number: int) -> "_Folder | None":
        fd = enter_folder(self._root, f"d{number:05}")
        return None if fd is None else _Folder.open(number, fd)

    def loaded(self, page: Page) -> None:
        self._sign()
        if self._current.next == self._most:
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

    def _sign(self) -> None:
        """Put the name of this crawl into the directory."""
        if not self._signed:
            create(_PART, (self._crawl.encode(),), folder=self._root)
            os.rename(_PART, _CRAWL, src_dir_fd=self._root, dst_dir_fd=self._root)
            self._signed = True

    # As a part of the state:

    def cut(self) -> SaveMark:
        self._sign()
        return {
            "crawl": self._crawl,
            "folder": self._current.number,
            "index": self._current.length,
        }

    def sync(self) -> None:
        """Sync the current index; those of full folders are synced with the pages."""
        self._current.sync()

    def load(self, mark: SaveMark) -> None:
        """Remove the pages after a mark: they will be fetched again, and get the same numbers."""
        if self._last_crawl() != mark["crawl"]:
            return
        self._crawl, self._signed = mark["crawl"], True
        self._current.close()
        with ExitStack() as closing:
            # Last folder first: if this is interrupted by a kill, the next start finds the rest.
            for folder in reversed(self._written_since(mark["folder"], closing)):
                folder.take_back(mark["index"] if folder.number == mark["folder"] else 0)
        self._current = self._open_from(mark["folder"])

    def _last_crawl(self) -> str:
        """Return the name of the crawl that wrote here last, "" for none."""
        with suppress(FileNotFoundError):
            fd = os.open(_CRAWL, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._root)
            with open(fd, "rb") as file:
                return file.read(100).decode("ascii", "replace")
        return ""

    def _written_since(self, first: int, closing: ExitStack) -> list["_Folder"]:
        """Open folder `first` and those that this crawl began after it.

        A folder is begun when the one before is full, so the series ends at a folder that is not
        full. But after a power cut an index may have lost lines although the next folder exists;
        so the series ends there only if the next number is missing, too.
        """
        folders: list[_Folder] = []
        numbers = [number for number in self._numbers() if number >= first]
        for number in numbers:
            ended = bool(folders) and folders[-1].next < self._most
            if ended and number - 1 not in numbers:
                break
            folder = self._open(number)
            if folder is not None:
                closing.callback(folder.close)
                folders.append(folder)
        return folders

    def close(self) -> None:
        self._current.close()
        os.close(self._root)


class _Folder:
    """One ``dNNNNN``: its descriptor, its index, and the number of its next file."""

    def __init__(self, number: int, fd: int, index: LineFile, next_file: int) -> None:
        self.number = number
        self.next = next_file
        self._fd = fd
        self._index = index
        self._closing = ExitStack()
        self._closing.callback(os.close, fd)
        self._closing.callback(index.close)

    @classmethod
    def open(cls, number: int, fd: int) -> "_Folder | None":
        """Open the folder `fd`; close it and return None if another program made the folder."""
        with ExitStack() as undo:
            undo.callback(os.close, fd)
            names = set(os.listdir(fd))
            if "index" not in names and names - {_PART}:
                return None
            index = LineFile("index", folder=fd)
            undo.callback(index.close)
            following = _following(index)
            if following is None:
                return None
            if _PART in names:
                discard(_PART, folder=fd)
            undo.pop_all()
            return cls(number, fd, index, following)

    @property
    def length(self) -> int:
        """Length of the index in bytes."""
        return self._index.size

    def add(self, url: str, body: bytes) -> None:
        """Save a page and index it; after an `OSError` neither was done."""
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

    def sync(self) -> None:
        self._index.sync()

    def take_back(self, length: int) -> None:
        """Remove the pages after the first `length` bytes of the index.

        Raises `ValueError` if it is shorter, unless no page is left: a consumer of the pages may
        have removed them.
        """
        pages = [name for name in os.listdir(self._fd) if _FILE.match(name)]
        if pages and self.length < length:
            raise ValueError(f"d{self.number:05}/index is shorter than it was")
        if self.length > length:
            self._index.cut_to(length)
            self.next = _following(self._index) or 0
        for name in pages:
            if int(name[1:]) >= self.next:
                os.unlink(name, dir_fd=self._fd)

    def close(self) -> None:
        """Release the files; may be called again."""
        self._closing.close()


def _following(index: LineFile) -> int | None:
    """Return the number after the last in `index`; None if another program wrote the index."""
    last = -1
    for line in index.lines():
        word, _, _ = line.strip().partition(b" ")
        if word.isdigit():
            last = max(last, int(word))
        elif b"\0" not in line:
            # A power cut may leave zeros in place of lines that were not synced.
            return None
    return last + 1


#: Rows of the table of sizes, as in Larbin: 25 of 4096 bytes; the last has all larger pages.
SIZE_STEP = 4096
SIZE_ROWS = 25

# Servers choose types and hosts, so their number and length are bounded here.
_MAX_KEYS = 10_000
_MAX_KEY = 100
_SHOWN = 50


class Tally:
    """Counts by key, for the first `_MAX_KEYS` keys; all later keys share one count."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.others = 0

    def add(self, key: str) -> None:
        key = key[:_MAX_KEY]
        if key in self.counts or len(self.counts) < _MAX_KEYS:
            self.counts[key] = self.counts.get(key, 0) + 1
        else:
            self.others += 1

    def top(self) -> dict[str, int]:
        """Return the `_SHOWN` largest counts, largest first."""
        return dict(nlargest(_SHOWN, self.counts.items(), key=lambda item: item[1]))


class StatsOutput:
    """Counts pages and failures."""

    def __init__(self) -> None:
        self._pages = 0
        self._bytes = 0
        self._size_pages = [0] * SIZE_ROWS
        self._size_bytes = [0] * SIZE_ROWS
        self._types = Tally()
        self._statuses = Tally()
        self._hosts = Tally()
        self._failures: dict[str, int] = {}

    def loaded(self, page: Page) -> None:
        size = len(page.body)
        row = min(size // SIZE_STEP, SIZE_ROWS - 1)
        self._pages += 1
        self._bytes += size
        self._size_pages[row] += 1
        self._size_bytes[row] += size
        self._types.add(page.type or "none")
        self._statuses.add(str(page.status))
        self._hosts.add(page.url.host)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self._failures[outcome.value] = self._failures.get(outcome.value, 0) + 1

    def stats(self) -> dict[str, object]:
        """Return the counts; of types, statuses and hosts the 50 most frequent."""
        return {
            "pages": self._pages,
            "bytes": self._bytes,
            "mean_size": self._bytes // self._pages if self._pages else 0,
            "failures": dict(self._failures),
            "types": self._types.top(),
            "statuses": self._statuses.top(),
            "hosts": self._hosts.top(),
            "hosts_counted": len(self._hosts.counts),
            "sizes": {
                "step": SIZE_STEP,
                "pages": list(self._size_pages),
                "bytes": list(self._size_bytes),
            },
        }

    def close(self) -> None:
        pass
