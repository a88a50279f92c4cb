"""Which node this is: the crawl that its state belongs to, and the names of its sessions.

A session is `NODE.SHARE-MARK`. The share is a name that each state gets when it is new: a session
of the same node and the same share is an earlier one of this very node, which is dead, since the
folder is locked. With another share it is another node of this name. The mark is that of a process.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from larbinpy.fleet import process
from larbinpy.storage.state import SavedValue, State, StateError

_SESSION = re.compile(r"(.*)\.([0-9a-f]*)-[0-9a-f]+").fullmatch


def session_name(node: str, share: str) -> str:
    """A name that was never used."""
    return f"{node}.{share}-{process.new_mark()}"


def node_of(session: str) -> str:
    """The name of the node that has a session."""
    return session.rpartition(".")[0]


def has_ended(session: str) -> bool:
    """Whether the process of a session is known to have ended, since it ran on this machine."""
    return process.has_ended(session.rpartition("-")[2])


def are_namesakes(one: str, other: str) -> bool:
    """Whether two sessions are of two nodes that have the same name."""
    first, second = _SESSION(one), _SESSION(other)
    if first is None or second is None:
        return False
    return first[1] == second[1] and first[2] != second[2]


class SavedNode(NamedTuple):
    """The node that a state belongs to: the id of its crawl, and the name of its share."""

    crawl: str
    share: str
    #: The name of the crawl; empty in states of earlier versions.
    name: str = ""


def saved_node(folder: Path) -> SavedNode | None:
    """The node whose state is in `folder`; None if there is none."""
    with suppress(StateError), State(folder).reading() as manifest:
        if "fleet" in manifest:
            fleet = manifest["fleet"]
            return SavedNode(str(fleet["crawl"]), str(fleet["share"]), str(fleet.get("name", "")))
    return None


def of_another(folder: Path, name: str = "") -> StateError:
    """The error for a node in `folder` that is of another crawl, which may have this `name`."""
    which = f"another crawl, {name}" if name else "another crawl"
    return StateError(f"{folder}: holds a node of {which}; --scratch forgets it")


class Identity(SavedValue):
    """The crawl that a state belongs to, which `load` compares; and its share.

    `load` raises StateError.
    """

    def __init__(self, crawl: str, name: str, folder: Path) -> None:
        self._crawl = crawl
        self._name = name
        self._folder = folder
        #: The name of this state: that of its share in limitPage, and a part of its sessions'.
        self.share = os.urandom(6).hex()

    def cut(self, now: float, *, ended: bool) -> dict[str, str]:
        return {"crawl": self._crawl, "name": self._name, "share": self.share}

    def load(self, value: Mapping[str, str], now: float) -> None:
        if value["crawl"] != self._crawl:
            raise of_another(self._folder)
        self.share = str(value["share"])
