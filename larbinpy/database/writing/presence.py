"""Which rows a batch of pages may find, asked for all its pages at once.

Most pages of a crawl are new: then none of the looks for each page finds anything.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from larbinpy.database.prepared import Prepared, Visit, target_of
from larbinpy.database.writing.near import NEAR_COLUMNS
from larbinpy.database.writing.tables import Tables


class Presence:
    """Each set has those values of the batch that are in the tables, and all that it writes."""

    def __init__(self, base: Tables, pages: Sequence[Visit]) -> None:
        self._base = base
        prepared = [page for page in pages if isinstance(page, Prepared)]
        urls = [page.url for page in pages]
        keys = [target_of(url) for url in urls]
        canonicals = [str(page.columns["canonical"]) for page in prepared if _canonical(page)]
        #: `page.key`, also of canonical URLs that pages of the batch declare.
        self.keys = self._among("page", "key", [*keys, *map(target_of, canonicals)])
        texts = [page.text_hash for page in prepared if page.text_hash]
        self.texts = self._among("page", "text_hash", texts)
        self.canonicals = self._among("page", "canonical", urls)
        self.moves = self._among("page", "moved_to", [page.url for page in prepared])
        #: Keys of near copies, in any column.
        self.near_keys: set[int] = set()
        with_keys = (page.near_keys for page in prepared if page.near_keys)
        for column, values in zip(NEAR_COLUMNS, zip(*with_keys, strict=True), strict=False):
            self.near_keys |= self._among("page", column, values)
        #: `anchor.target`
        self.targets = self._among("anchor", "target", keys)

    def has_original(self, page: Prepared) -> bool:
        """Whether another page may have its text, or be the one that it declares."""
        canonical = _canonical(page)
        is_declared = canonical is not None and target_of(str(canonical)) in self.keys
        return page.text_hash in self.texts or is_declared

    def has_near(self, page: Prepared) -> bool:
        """Whether it may be a near copy of another page."""
        return not self.near_keys.isdisjoint(page.near_keys)

    def wrote(self, page: Prepared, key: int) -> None:
        """A page of the batch is in the tables now."""
        self.keys.add(key)
        self.texts.add(page.text_hash)
        self.canonicals.add(_canonical(page))
        self.near_keys.update(page.near_keys)

    def _among(self, table: str, column: str, values: Iterable[Any]) -> set[Any]:
        asked = list(dict.fromkeys(values))
        if not asked:
            return set()
        marks = ", ".join("?" * len(asked))
        rows = self._base.execute(
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IN ({marks})", asked
        )
        return {value for (value,) in rows}


def _canonical(page: Prepared) -> Any:
    return page.columns.get("canonical")
