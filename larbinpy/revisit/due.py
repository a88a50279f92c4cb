"""Pages that are due, on their way from the database to the crawl."""

from collections.abc import Sequence
from typing import NamedTuple


def host_name(url: str) -> str:
    """The host of a canonical URL, with its port, as the database names it; else empty."""
    return url.partition("//")[2].partition("/")[0]


class DueAsk(NamedTuple):
    """A question for pages that are due, those that have been so for longest first."""

    #: Pages that are due at this time or before, ISO 8601.
    until: str
    #: `DuePage.place` of the page after which they come; None for the first.
    after: tuple[str, int] | None
    most: int
    #: Hosts, by their `host_name`, of which no page is wanted now.
    without: Sequence[str] = ()


class DuePage(NamedTuple):
    """A page that is due."""

    url: str
    #: Links that may be followed from it, and the page that it was found on.
    depth: int
    via: str | None
    #: When it is due, and its key, which is unique: the order of pages.
    due: str
    key: int
    #: Header lines of a request that wants the page only if it has changed.
    conditions: Sequence[str] = ()

    @property
    def place(self) -> tuple[str, int]:
        """The place in the order of pages."""
        return (self.due, self.key)
