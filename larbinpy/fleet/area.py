"""The area around the seeds, kept the same on all nodes.

`stay` and lockSite keep to the seeds and to what these redirect to, and each node finds others of
them. So what widens the area is an entry in a log that all nodes share, and each entry is applied
once on each node.
"""

from collections.abc import Callable, Iterable

from larbinpy.url import host_of

#: The first words of entries: a host, a seed, a seed and what it redirects to.
HOST, SEED, REDIRECT = "host", "seed", "redirect"


def entries_of(stay: str, urls: Iterable[str]) -> list[str]:
    """The entries for seeds: URLs if `stay` keeps to such, else their hosts."""
    if stay in ("page", "prefix"):
        return [f"{SEED} {url}" for url in urls]
    return [f"{HOST} {host_of(url)}" for url in urls]


class AreaLog:
    """The entries that this node knows, and what of them is not put up yet."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._news: list[str] = []
        #: The number of entries that were put up by all nodes, and read.
        self.position = 0
        #: Applies an entry.
        self.apply: Callable[[str], None] = lambda entry: None

    def __repr__(self) -> str:
        return f"<AreaLog {len(self._known)}, {len(self._news)} new>"

    def note(self, entry: str) -> bool:
        """Remember an entry of this node; False if it is known."""
        if entry in self._known:
            return False
        self._known[entry] = None
        self._news.append(entry)
        return True

    def widen(self, entry: str) -> None:
        """Note an entry, and apply it if it is new."""
        if self.note(entry):
            self.apply(entry)

    def news(self, most: int) -> list[str]:
        """The first entries that are not put up."""
        return self._news[:most]

    def published(self, count: int) -> None:
        del self._news[:count]

    def take(self, entries: Iterable[str], position: int) -> None:
        """Apply those of `entries` that are new; they reach up to `position`."""
        for entry in entries:
            if entry not in self._known:
                self._known[entry] = None
                self.apply(entry)
        self.position = max(self.position, position)

    def begin(self) -> None:
        """A session begins: Redis may have forgotten entries, so all are put up and read again."""
        self._news = list(self._known)
        self.position = 0
