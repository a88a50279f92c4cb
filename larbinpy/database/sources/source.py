"""The interface of a source of pages."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from larbinpy.storage.spool import Spooled

#: Reason for which a page is left out that cannot be read.
DAMAGED = "damaged in the archive"


class Taken(NamedTuple):
    """A page of a source."""

    #: The part of the source that is read, in units of its `size`.
    done: int
    #: A page with another outcome than success says that its URL answered without one.
    spooled: Spooled


class Source(Protocol):
    """A file or folder that has pages; it is not changed."""

    #: As the user knows it.
    name: str
    #: The amount that can be read of it: bytes, or files.
    size: int
    #: Numbers of pages that were left out, by the reason; counted by `pages`.
    left_out: Counter[str]

    def pages(self) -> Iterator[Taken]:
        """The pages, each as it is read. Raises `OSError`, and `SourceError` at a damaged place."""


class SourceError(Exception):
    """The rest of a source cannot be read; the message says where and why."""
