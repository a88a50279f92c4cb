"""The changes of pages, as they are written."""

from larbinpy.database.writing.tables import Tables

#: Latest texts of a page that are not new to it: some pages alternate between a few of them.
_KNOWN_TEXTS = 10


class History:
    """Notes changes; `write` puts them into their table, all at once."""

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._noted: list[tuple[str, int, str, int | None, str | None]] = []

    def __repr__(self) -> str:
        return f"<History {len(self._noted)} noted>"

    def note(
        self,
        at: str,
        page: int,
        kind: str,
        text_hash: int | None = None,
        target: str | None = None,
    ) -> None:
        """A page has changed; with the hash of its text, or the URL that it has moved to."""
        self._noted.append((at, page, kind, text_hash, target))

    def write(self) -> None:
        self._base.executemany("INSERT INTO change VALUES (?, ?, ?, ?, ?)", self._noted)
        self._noted.clear()

    def had(self, page: int, text_hash: int | None) -> bool:
        """Whether a page had this text before, as far back as is looked."""
        self.write()
        known = self._base.execute(
            "SELECT text_hash FROM change WHERE page = ? AND kind IN ('new', 'changed', 'back')"
            f" ORDER BY at DESC LIMIT {_KNOWN_TEXTS}",
            (page,),
        )
        return (text_hash,) in map(tuple, known)
