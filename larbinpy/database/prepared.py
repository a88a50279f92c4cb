"""A page as the writer of a database takes it: read, segmented and compressed."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Packed(NamedTuple):
    """Text or JSON, UTF-8, in the zlib format; the `sqlite3` shell reads it by
    ``sqlar_uncompress(data, size)``."""

    data: bytes
    size: int


class Anchor(NamedTuple):
    """The text of a link to `target`, which `url.hash64` made of its canonical URL (signed)."""

    target: int
    text: str


@dataclass(slots=True)
class Prepared:
    """A page that was fetched, ready to be written; columns are named as in the schema."""

    url: str
    #: ISO 8601, to the second.
    fetched: str
    #: Columns of the table `page` by name, without the keys and the history.
    columns: dict[str, str | int | None]
    #: Tokens of the index by its columns (title, heading, body, url, rest), separated by blanks.
    tokens: dict[str, str]
    text: Packed
    #: JSON object: rest, headings, images, links, headers, facts.
    more: Packed
    anchors: list[Anchor] = field(default_factory=list)
    #: The body, compressed with zstd (keepBodies).
    body: bytes | None = None
    #: 64-bit signed hash of the main text; 0 if it is empty.
    text_hash: int = 0


class Gone(NamedTuple):
    """A URL that no longer has a page: it leaves the index, and its row says so."""

    url: str
    fetched: str
    status: int
