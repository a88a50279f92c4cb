"""Seen: which URLs were met before. Exact on 64-bit fingerprints, where Larbin's one-bit
table loses one new URL in seven at ten million."""

import os
from array import array
from collections.abc import Iterable
from pathlib import Path


class Seen:
    """A set of 64-bit fingerprints and the file it is kept in between runs.

    The file is the bare fingerprints, eight bytes each, in the order they were met:
    what is new since the last save is appended, so a save costs what happened since.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._new = array("Q")
        self._saved = 0

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<Seen {len(self._known)} URLs, {len(self._new)} not saved>"

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._known

    def add(self, fingerprints: Iterable[int]) -> list[bool]:
        """Add a batch; for each in its order, whether it was new."""
        known, new = self._known, self._new
        fresh = []
        for fingerprint in fingerprints:
            is_new = fingerprint not in known
            if is_new:
                known.add(fingerprint)
                new.append(fingerprint)
            fresh.append(is_new)
        return fresh

    def save(self, path: Path) -> int:
        """Append what is new to `path`, durably; returns how many are valid in the file."""
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.seek(self._saved * 8)
            file.write(self._new.tobytes())
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        self._saved += len(self._new)
        self._new = array("Q")
        return self._saved

    @classmethod
    def load(cls, path: Path, size: int) -> "Seen":
        """Read the first `size` fingerprints of `path`; ValueError where it is shorter."""
        seen = cls()
        data = path.read_bytes()[: size * 8]
        if len(data) != size * 8:
            raise ValueError(f"{path}: {len(data) // 8} fingerprints of {size}")
        seen._known.update(array("Q", data))
        seen._saved = size
        return seen
