"""The cookie jar as a part of the state: a cookies.txt that is written anew if cookies changed."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from larbinpy.fetch.cookies import NoJar
from larbinpy.storage.files import create, open_folder
from larbinpy.storage.state import SavedPart

_HEADER = b"# Netscape HTTP Cookie File\n"


class Mark(TypedDict):
    """The number of the file, 0 for none, and a checksum of the cookies in cookieFile."""

    number: int
    given: int


class SavedCookies(SavedPart):
    """Saves `jar` as ``cookies.000001.txt`` in `folder`, which only its owner may read.

    Each checkpoint that saves other cookies writes the next number, so that the state and its
    cookies agree after a kill. Listing a full jar takes libcurl 0.1 s.
    """

    def __init__(self, folder: Path, jar: NoJar) -> None:
        self._folder = folder
        self._jar = jar
        #: Number of the last file written, and of the file that holds the cookies; 0 for none.
        self._last = self._number = 0
        #: The version of the jar that the file holds; None if it is not certain to hold it.
        self._version: int | None = 0
        self._synced = True

    def __repr__(self) -> str:
        return f"<SavedCookies {self._number} of {self._jar!r}>"

    def cut(self) -> Mark:
        version = self._jar.version
        if version != self._version:
            self._version = None
            lines = self._jar.lines()
            self._number = self._write(lines) if lines else 0
            self._version = version
        return Mark(number=self._number, given=self._jar.given)

    def _write(self, lines: list[bytes]) -> int:
        self._last += 1
        folder = open_folder(self._folder)
        try:
            text = [_HEADER, *(line + b"\n" for line in lines)]
            create(self._name(self._last), [b"".join(text)], folder=folder, mode=0o600)
        finally:
            os.close(folder)
        self._synced = False
        return self._last

    def sync(self) -> None:
        """Flush the file; its name is flushed with that of the manifest, in the same folder."""
        if self._synced or not self._number:
            return
        version, self._version = self._version, None
        with (self._folder / self._name(self._number)).open("rb") as file:
            os.fsync(file.fileno())
        self._version, self._synced = version, True

    def load(self, mark: Mark) -> None:
        """Add the saved cookies to the jar; those of a cookieFile that has changed come first."""
        self._last = mark["number"]
        if self._last:
            data = (self._folder / self._name(self._last)).read_bytes()
            lines = [line for line in data.removeprefix(_HEADER).split(b"\n") if line]
            self._jar.add(lines, over_given=mark["given"] == self._jar.given)
            # The file may hold cookies that have expired: the first checkpoint leaves them out.
            self._version = None

    def tidy(self, mark: Mark) -> None:
        self._discard(self._name(mark["number"]))

    def clear(self) -> None:
        self._discard("")

    def _discard(self, kept: str) -> None:
        for path in self._folder.glob("cookies.*.txt"):
            number = path.name.split(".")[1]
            # Other files with a similar name are not ours.
            is_own = number.isdecimal() and path.name == self._name(int(number))
            if is_own and path.name != kept:
                with suppress(FileNotFoundError):
                    path.unlink()

    @staticmethod
    def _name(number: int) -> str:
        return f"cookies.{number:06}.txt"
