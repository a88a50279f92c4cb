"""Which crawl the state of a node belongs to."""

from contextlib import suppress
from pathlib import Path

from larbinpy.storage.state import SavedValue, State, StateError


def saved_crawl(folder: Path) -> str:
    """The id of the crawl that the state in `folder` is a node of; empty for none."""
    with suppress(StateError), State(folder).reading() as manifest:
        return str(manifest.get("fleet", ""))
    return ""


class Identity(SavedValue):
    """The value in a node's state that says which crawl it belongs to; `load` compares it.

    It raises StateError.
    """

    def __init__(self, crawl: str, folder: Path) -> None:
        self._crawl = crawl
        self._folder = folder

    def cut(self, now: float, *, ended: bool) -> str:
        return self._crawl

    def load(self, value: str, now: float) -> None:
        if value != self._crawl:
            raise StateError(f"{self._folder}: holds a node of another crawl; --scratch forgets it")
