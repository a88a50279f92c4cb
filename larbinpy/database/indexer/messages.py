"""The lines between the crawl and the indexer: JSON objects, one a line.

The crawl sends `Covered`, and at its end ``{"finish": true}``. The indexer sends a `Report`
whenever something has changed, or ``{"error": "..."}`` before it ends because it cannot work. A
crawl that visits pages again sends a `DueAsk`, and the next when it has the `DuePage`s for it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.storage.spool import Position, SpoolMark


class Covered(NamedTuple):
    """The part of the spool of this name that a checkpoint covers."""

    spool: str
    until: Position
    #: Number of records up to there.
    records: int

    @classmethod
    def before(cls, mark: SpoolMark) -> Self:
        """The part of a spool before `mark`."""
        return cls(mark["spool"], Position(mark["segment"], mark["offset"]), mark["records"])

    @classmethod
    def of(cls, message: dict[str, Any]) -> Self:
        return cls(message["spool"], Position(*message["until"]), message["records"])

    def line(self) -> bytes:
        return encoded(self._asdict())


@dataclass(slots=True, frozen=True)
class Report:
    """The state of the indexer."""

    #: Number of the spool's records that the database has; None while that is not known.
    taken: int | None = None
    #: The first segment that is still needed.
    kept: int = 0
    #: Pages that were written, and pages found to be gone, since the indexer was started.
    pages: int = 0
    gone: int = 0
    #: Unix time at which the oldest covered page was fetched that is not written yet.
    oldest: float | None = None
    #: One line about the thing that hinders it; empty if nothing does.
    trouble: str = ""
    #: All is done, the deferred work of the database included.
    done: bool = False

    def line(self) -> bytes:
        return encoded(asdict(self))


def ask_line(ask: DueAsk) -> bytes:
    """The question of a crawl for pages that are due."""
    return encoded({"ask": ask})


def ask_of(message: dict[str, Any]) -> DueAsk | None:
    """The question that a message is; None if it is another one."""
    if "ask" not in message:
        return None
    until, after, most, without = message["ask"]
    return DueAsk(until, after and (after[0], after[1]), most, without)


def due_line(pages: Sequence[DuePage]) -> bytes:
    """The answer of the indexer."""
    return encoded({"due": pages})


def due_of(message: dict[str, Any]) -> list[DuePage] | None:
    """The answer that a message is; None if it is another one."""
    return [DuePage(*page) for page in message["due"]] if "due" in message else None


def encoded(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


class Lines:
    """Takes bytes as they come, and gives the messages of complete lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)
