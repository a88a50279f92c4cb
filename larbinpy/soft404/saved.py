"""The probes of sites as a part of the state: a line for each step, written before its request."""

import json
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from larbinpy.soft404.answers import Answer, Body, Redirect, Text
from larbinpy.soft404.probes import MOST_BYTES, Probed, Probes
from larbinpy.storage.files import LineFile
from larbinpy.storage.journal import Journal
from larbinpy.storage.state import SavedPart

#: Bytes after which the next file begins. A site has three lines at most, unless its answers turn
#: out to be none; they take up to three times its memory.
_MOST = 3 * MOST_BYTES
#: The kinds of answers by their names in a line.
_KINDS: dict[str, type[Answer]] = {"redirect": Redirect, "body": Body, "text": Text}


class Mark(TypedDict):
    """A state: the files from `first` to `number`, the last one up to `length` bytes."""

    first: int
    number: int
    length: int


class SavedProbes(SavedPart):
    """Saves `probes`, None without probeSoft404, as ``probes.000001.jsonl`` in `folder`.

    The latest line of a site holds, even if it was written after the mark: that a site was asked
    for a name stays true after a kill. So no site gets too many probes.

    When a file is full, the next one begins, and the one before the last is removed: the sites that
    it alone has are those that `probes` forgets first.
    """

    def __init__(self, folder: Path, probes: Probes | None, most: int = _MOST) -> None:
        self._folder = folder
        self._probes = probes
        self._most = most
        # The numbers of the files that count.
        self._first = self._number = 0
        self._file: _Lines | None = None
        # The file before, until it is on the disk.
        self._full: _Lines | None = None
        if probes is not None:
            probes.report = self._write

    def __repr__(self) -> str:
        return f"<SavedProbes {self._number} of {self._probes!r}>"

    def _write(self, probed: Probed) -> None:
        assert self._file is not None, "the first cut comes before the first request"
        self._file.write(_line(probed))

    def cut(self) -> Mark | None:
        if self._probes is None:
            return None
        if self._file is None:
            # Files that are there are those of a run that has left no state.
            self._first = max(self._numbers(), default=0) + 1
        file = self._file or self._open(self._first)
        file.flush()
        if file.size > self._most and self._full is None:
            full, file = file, self._open(self._number + 1)
            self._full, self._first = full, self._number - 1
        return Mark(first=self._first, number=self._number, length=file.size)

    def _open(self, number: int) -> "_Lines":
        self._file = _Lines(LineFile(self._path(number)))
        self._number = number
        return self._file

    def sync(self) -> None:
        """Flush the lines; the name of a new file is flushed with that of the manifest."""
        if self._full is not None:
            self._full.sync()
            self._full.close()
            self._full = None
        if self._file is not None:
            self._file.sync()

    def load(self, mark: Mark | None) -> None:
        if mark is None or self._probes is None:
            return
        self._first, length = mark["first"], 0
        # The last file may be one that no checkpoint has.
        for number in range(self._first, max([mark["number"], *self._numbers()]) + 1):
            certain = mark["length"] if number == mark["number"] else 0
            length = self._load(self._probes, number, certain)
            self._number = number
        self._open(self._number).cut_to(length)

    def _load(self, probes: Probes, number: int, certain: int) -> int:
        """Load the lines of a file; return their length, beyond which a kill has torn one.

        Raises ValueError if its first `certain` bytes are damaged.
        """
        length = 0
        with self._path(number).open("rb") as file:
            for line in file:
                try:
                    probed = _probed(line)
                except ValueError:
                    break
                probes.load(probed)
                length += len(line)
        if length < certain:
            raise ValueError(f"{self._path(number)}: damaged after {length} bytes")
        return length

    def tidy(self, mark: Mark | None) -> None:
        self._remove(None if mark is None else mark["first"])

    def clear(self) -> None:
        self._remove(None)

    def _remove(self, first_kept: int | None) -> None:
        for number in self._numbers():
            if first_kept is None or number < first_kept:
                self._path(number).unlink(missing_ok=True)

    def close(self) -> None:
        for file in (self._full, self._file):
            if file is not None:
                # The last checkpoint has reported an error.
                with suppress(OSError):
                    file.close()

    def _path(self, number: int) -> Path:
        return self._folder / f"probes.{number:06}.jsonl"

    def _numbers(self) -> list[int]:
        """The numbers of all files, in order; other files with a similar name are not ours."""
        found = [(path, path.name.split(".")[1]) for path in self._folder.glob("probes.*.jsonl")]
        return sorted(int(n) for path, n in found if n.isdecimal() and path == self._path(int(n)))


class _Lines(Journal):
    @property
    def size(self) -> int:
        return self._file.size

    def write(self, line: bytes) -> None:
        """Write a line at once, or with the next one if that fails; `cut` reports an error."""
        self._waiting.append(line)
        with suppress(OSError):
            self.flush()

    def cut_to(self, size: int) -> None:
        self._file.cut_to(size)


def _line(probed: Probed) -> bytes:
    values = {**probed._asdict(), "answers": [_value(answer) for answer in probed.answers]}
    return json.dumps(values).encode() + b"\n"


def _probed(line: bytes) -> Probed:
    """Raises ValueError if the line is torn, and other errors if it was another's."""
    if not line.endswith(b"\n"):
        raise ValueError("torn")
    values = json.loads(line)
    return Probed(**{**values, "answers": [_answer(value) for value in values["answers"]]})


def _value(answer: Answer) -> list[Any]:
    fields = asdict(answer)
    if isinstance(answer, Text):
        fields["packed"] = b64encode(answer.packed).decode()
    kind = next(name for name, kind in _KINDS.items() if isinstance(answer, kind))
    return [kind, fields]


def _answer(value: list[Any]) -> Answer:
    kind, fields = value
    if "packed" in fields:
        fields["packed"] = b64decode(fields["packed"])
    answer: Answer = _KINDS[kind](**fields)
    return answer
