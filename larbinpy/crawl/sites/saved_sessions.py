"""The sessions of logins as a part of the state: tokens and cookies, for their owner alone."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypedDict

from larbinpy.storage.numbered import NumberedFile
from larbinpy.storage.state import SavedPart


class Mark(TypedDict):
    """The number of the file, 0 for none."""

    number: int


class Values(Protocol):
    """The sessions, as JSON-able values by site."""

    def values(self) -> dict[str, Any]: ...

    def load(self, values: Mapping[str, Any]) -> None: ...


class SavedSessions(SavedPart):
    """Saves `sessions` as ``logins.000001.json`` in `folder`; None without loginFile.

    Then the file of an earlier run is removed.
    """

    def __init__(self, folder: Path, sessions: Values | None) -> None:
        self._file = NumberedFile(folder, "logins", "json")
        self._sessions = sessions
        # The content of the file, unless that is not certain.
        self._held = b""

    def __repr__(self) -> str:
        return f"<SavedSessions {self._file.number}>"

    def cut(self) -> Mark:
        data = b"" if self._sessions is None else json.dumps(self._sessions.values()).encode()
        if data != self._held or not data:
            self._held = b""
            self._file.write(data)
            self._held = data
        return Mark(number=self._file.number)

    def sync(self) -> None:
        if not self._file.is_flushed:
            data, self._held = self._held, b""
            self._file.flush()
            self._held = data

    def load(self, mark: Mark) -> None:
        if mark is None or not mark["number"]:
            return
        # A user who removes the file wants to log in again.
        with suppress(FileNotFoundError):
            data = self._file.read(mark["number"])
            if self._sessions is not None:
                self._sessions.load(json.loads(data))

    def tidy(self, mark: Mark) -> None:
        self._file.discard(mark["number"])

    def clear(self) -> None:
        self._file.discard(0)
