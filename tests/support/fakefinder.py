"""A content database in memory, for tests of the commands that ask one."""

from collections.abc import Iterator, Sequence

from larbinpy.database.base import NOTHING, Change, Found, Stored, Wish
from larbinpy.database.preparation import Difference
from larbinpy.database.search.query import Query


class FakeFinder:
    """Answers each query with `found`; has the pages `stored` and the changes `changed`."""

    def __init__(
        self,
        found: Found | None = None,
        stored: Sequence[Stored] = (),
        changed: Sequence[Change] = (),
    ) -> None:
        self.found = found or Found()
        self.stored = {each.columns["url"]: each for each in stored}
        self.changed = changed
        self.bodies: dict[str, bytes] = {}
        self.differences: dict[str, Difference] = {}
        self.asked: list[tuple[Query, Wish]] = []
        self.is_closed = False

    def languages(self) -> Sequence[str]:
        return ["en"]

    def search(self, query: Query, wish: Wish) -> Found:
        self.asked.append((query, wish))
        return self.found

    def show(self, url: str) -> Stored | None:
        return self.stored.get(url)

    def fetched(self, url: str) -> str | None:
        return str(self.stored[url].columns["fetched"]) if url in self.stored else None

    def body(self, url: str) -> bytes | None:
        return self.bodies.get(url)

    def history(self, url: str) -> list[Change]:
        return [each for each in self.changed if each.url == url]

    def changes(self, since: str) -> Iterator[Change]:
        return (each for each in self.changed if each.at >= since)

    def difference(self, change: Change) -> Difference | None:
        return self.differences.get(change.at)

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        return sorted(self.changed, reverse=True)[skip : skip + n]

    def pages(self, query: Query = NOTHING) -> Iterator[Stored]:
        return iter(self.stored.values())

    def counts(self) -> dict[str, int]:
        return {"pages": len(self.stored)}

    def close(self) -> None:
        self.is_closed = True
