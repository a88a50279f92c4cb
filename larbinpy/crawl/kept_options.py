"""The options of a crawl, kept with its state for the runs that go on with it."""

import json
from pathlib import Path
from typing import Any

from larbinpy.config import ConfigError, Given
from larbinpy.storage.files import write_atomic
from larbinpy.storage.state import SavedPart, StateError

#: In stateDir. It has no secrets, but what a user gave is nobody else's business.
_NAME = "options.json"


class KeptOptions(SavedPart):
    """Writes what is kept of `given` in the first checkpoint; without it, an earlier file stays."""

    def __init__(self, folder: Path, given: Given | None) -> None:
        self._path = folder / _NAME
        self._kept = None if given is None else given.kept()

    def cut(self) -> bool:
        if self._kept is not None:
            write_atomic(self._path, [json.dumps(self._kept.to_json()).encode()], mode=0o600)
            self._kept = None
        return True

    def sync(self) -> None:
        """`cut` has flushed the file."""

    def load(self, mark: Any) -> None:
        """The command has read them, before there was a configuration."""

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def kept_in(folder: Path) -> Given | None:
    """Return what the runs with their state in `folder` were given; None if nothing is kept.

    Raises StateError.
    """
    path = folder / _NAME
    try:
        return Given.of_json(json.loads(path.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, AttributeError, LookupError, ConfigError) as error:
        raise StateError(
            f"{path}: damaged ({error}); remove it, and give all options again"
        ) from error
