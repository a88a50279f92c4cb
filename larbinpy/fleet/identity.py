"""Which crawl the state of a node belongs to."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from larbinpy.storage.state import SavedValue, State, StateError


def saved_crawl(folder: Path) -> str:
    """The id of the crawl that the state in `folder` is a node of; empty for none."""
    with suppress(StateError), State(folder).reading() as manifest:
        return str(manifest.get("fleet", {}).get("crawl", ""))
    return ""


class Identity(SavedValue):
    """The crawl that a state belongs to, which `load` compares; and the share in limitPage.

    `load` raises StateError.
    """

    def __init__(self, crawl: str, folder: Path) -> None:
        self._crawl = crawl
        self._folder = folder
        #: The name of the share of this state.
        self.share = os.urandom(6).hex()

    def cut(self, now: float, *, ended: bool) -> dict[str, str]:
        return {"crawl": self._crawl, "share": self.share}

    def load(self, value: Mapping[str, str], now: float) -> None:
        if value["crawl"] != self._crawl:
            raise StateError(f"{self._folder}: holds a node of another crawl; --scratch forgets it")
        self.share = str(value["share"])
