"""The crawl log, ``crawl.jsonl``: one JSON object a line for each URL whose fate is decided."""

import os
from json.encoder import encode_basestring_ascii as quoted

from larbinpy.page import Fate
from larbinpy.storage.files import LineFile
from larbinpy.storage.state import SavedPart


def line(fate: Fate) -> bytes:
    """`fate` as a line: printable ASCII whatever the web put into it, and a newline.

    It is what json makes of `Fate.as_dict`, put together in a quarter of the time.
    """
    text = (
        f'{{"ts": "{fate.ts}", "url": {quoted(fate.url)}, "outcome": "{fate.outcome}", '
        f'"status": {fate.status}, "size": {fate.size}, "type": {quoted(fate.type)}, '
        f'"depth": {fate.depth}, "via": {_or_null(fate.via)}, "ip": {_or_null(fate.ip)}, '
        f'"ms": {fate.ms}, "attempt": {fate.attempt}'
    )
    if fate.detail:
        text += f', "detail": {quoted(fate.detail)}'
    return text.encode("ascii") + b"}\n"


def _or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)


class CrawlLog(SavedPart):
    """Appends to the log at `path`; what a kill left of a last line is cut off first.

    Lines wait in memory until `flush`. A write that fails leaves whole lines in the file,
    and what it should have written in memory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._waiting: list[bytes] = []
        self._file = LineFile(path)

    def write(self, fate: Fate) -> None:
        self._waiting.append(line(fate))

    def flush(self) -> None:
        """Hand all lines to the system. Raises `OSError`; nothing is lost or torn then."""
        if self._waiting:
            self._file.write(b"".join(self._waiting))
            self._waiting.clear()

    def reopen(self) -> OSError | None:
        """Go on in a new file where the old one was renamed (log rotation).

        Returns why that cannot be had, if so: the old one still takes lines then. Raises
        `OSError` where that one fails.
        """
        self.flush()
        # What the old one holds since the last checkpoint may not be synced any more.
        self._file.sync()
        try:
            # The same file is not opened again: it has one writer.
            new = None if self._file.is_at(self._path) else LineFile(self._path)
        except OSError as error:
            return error
        if new is not None:
            self._file.close()
            self._file = new
        return None

    # For those who look back:

    @property
    def size(self) -> int:
        """Bytes that were handed to the system."""
        return self._file.size

    def read(self, size: int, offset: int) -> bytes:
        """At most `size` of these bytes, from `offset` on."""
        return self._file.read(size, offset)

    def last_waiting(self, text: bytes) -> bytes | None:
        """The last line with `text` in it, of those that still wait."""
        return next((line for line in reversed(self._waiting) if text in line), None)

    # As a part of the state:

    def cut(self) -> dict[str, int]:
        """Hand all lines to the system; which file it is, and how much of it counts."""
        self.flush()
        return {"file": self._file.number, "length": self._file.size}

    def sync(self) -> None:
        """Bring to the disk what was handed to the system."""
        self._file.sync()

    def load(self, mark: dict[str, int]) -> None:
        """Take off the lines after a cut: what they tell of will be done again.

        Nothing of a file that took the place of the one that was cut.
        """
        if self._file.number == mark["file"] and self._file.size > mark["length"]:
            self._file.cut_to(mark["length"])

    def clear(self) -> None:
        """Take off all lines."""
        self._file.cut_to(0)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()

    def __repr__(self) -> str:
        return f"CrawlLog({os.fspath(self._path)!r}, {len(self._waiting)} waiting)"
