"""The cookie jar as a part of the state: a cookies.txt that is written anew if cookies changed."""

from pathlib import Path
from typing import TypedDict

from larbinpy.fetch.cookies import NoJar
from larbinpy.fetch.cookies_txt import HEADER
from larbinpy.storage.numbered import NumberedFile
from larbinpy.storage.state import SavedPart


class Mark(TypedDict):
    """The number of the file, 0 for none, and a checksum of the cookies in cookieFile."""

    number: int
    given: int


class SavedCookies(SavedPart):
    """Saves `jar` as ``cookies.000001.txt`` in `folder`, which only its owner may read.

    Listing a full jar takes libcurl 0.1 s.
    """

    def __init__(self, folder: Path, jar: NoJar) -> None:
        self._file = NumberedFile(folder, "cookies", "txt")
        self._jar = jar
        #: The version of the jar that the file holds; None if it is not certain to hold it.
        self._version: int | None = 0

    def __repr__(self) -> str:
        return f"<SavedCookies {self._file.number} of {self._jar!r}>"

    def cut(self) -> Mark:
        version = self._jar.version
        if version != self._version:
            self._version = None
            lines = self._jar.lines()
            text = [HEADER, *(line + b"\n" for line in lines)] if lines else []
            self._file.write(b"".join(text))
            self._version = version
        return Mark(number=self._file.number, given=self._jar.given)

    def sync(self) -> None:
        if not self._file.is_flushed:
            version, self._version = self._version, None
            self._file.flush()
            self._version = version

    def load(self, mark: Mark) -> None:
        """Add the saved cookies to the jar; those of a cookieFile that has changed come first."""
        if mark["number"]:
            data = self._file.read(mark["number"])
            lines = [line for line in data.removeprefix(HEADER).split(b"\n") if line]
            self._jar.add(lines, over_given=mark["given"] == self._jar.given)
            # The file may hold cookies that have expired: the first checkpoint leaves them out.
            self._version = None

    def tidy(self, mark: Mark) -> None:
        self._file.discard(mark["number"])

    def clear(self) -> None:
        self._file.discard(0)
