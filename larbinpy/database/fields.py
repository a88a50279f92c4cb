"""The columns of the full-text index, and the tokens of a page in them."""

from collections.abc import Mapping

from larbinpy.database.prepared import signed_hash

#: Columns of the index, and their weights in the ranking. The main text comes first: FTS5 writes
#: two bytes for each word of a page in any other column.
WEIGHTS = {"body": 1.0, "title": 5.0, "heading": 2.0, "anchor": 3.0, "url": 1.0, "rest": 0.1}
FIELDS = tuple(WEIGHTS)

#: Tokens of a page, a string for each of `FIELDS`.
Tokens = tuple[str, ...]


def joined(tokens: Mapping[str, str], anchors: str) -> Tokens:
    """The tokens of a prepared page, with those of the links to it."""
    return tuple(anchors if name == "anchor" else tokens.get(name, "") for name in FIELDS)


def fingerprint(tokens: Tokens) -> int:
    """The number that stands for these tokens in `page.indexed`."""
    return signed_hash("\0".join(tokens))
