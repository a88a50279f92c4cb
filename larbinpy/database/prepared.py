"""A page as the writer of a database takes it: read, segmented and compressed."""

import json
import struct
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import zstandard
from isal import isal_zlib

from larbinpy.content import Content, read
from larbinpy.database.tokens import page_tokens
from larbinpy.page import Page, timestamp
from larbinpy.url import hash64

#: Level of isal's deflate: about as small as zstd's third, and faster.
_LEVEL = 3
_BODY_LEVEL = 3
#: The length of the JSON that a packed page begins with.
_LENGTH = struct.Struct("<I")
#: Anchor texts that say nothing of the page they lead to, in lower case.
_GENERIC = frozenset(
    {"", "here", "click here", "this", "link", "this page", "permalink", "website", "more"}
    | {"read more", "learn more", "see more", "view more", "show more", "more info", "see all"}
    | {"more information", "view details", "view all", "show all", "continue reading", "continue"}
    | {"home", "next", "next page", "previous", "prev", "previous page", "back", "back to top"}
    | {"log in", "login", "sign in", "sign up", "skip to content", "skip to main content"}
    | {"hier", "mehr", "weiter", "weiterlesen", "mehr erfahren", "zur\xfcck", "startseite"}
    | {"ici", "lire la suite", "en savoir plus", "suivant", "pr\xe9c\xe9dent", "accueil"}
    | {"aqu\xed", "leer m\xe1s", "m\xe1s", "siguiente", "anterior", "inicio", "qui", "altro"}
    | {
        "\u8fd9\u91cc",
        "\u70b9\u51fb\u8fd9\u91cc",
        "\u66f4\u591a",
        "\u8be6\u60c5",
        "\u9605\u8bfb\u5168\u6587",
    }
    | {
        "\u67e5\u770b\u8be6\u60c5",
        "\u9996\u9875",
        "\u4e0b\u4e00\u9875",
        "\u4e0a\u4e00\u9875",
        "\u8fd4\u56de",
    }
)
_LONGEST_GENERIC = max(map(len, _GENERIC)) + 3


class Packed(NamedTuple):
    """Text or JSON, UTF-8, in the zlib format; the `sqlite3` shell reads it by
    ``sqlar_uncompress(data, size)``."""

    data: bytes
    size: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Compress `text`."""
        plain = text.encode("utf-8", "replace")
        if not plain:
            return cls(b"", 0)  # sqlar_uncompress gives data of size 0 back as they are
        data = isal_zlib.compress(plain, _LEVEL)
        if len(data) == len(plain):
            # It takes data of this length for not compressed; without compression they are longer.
            data = isal_zlib.compress(plain, 0)
        return cls(data, len(plain))

    def text(self) -> str:
        """The text again."""
        return isal_zlib.decompress(self.data, bufsize=self.size).decode() if self.data else ""


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
    #: JSON object: rest, headings, images, links, headers, facts, trouble.
    more: Packed
    anchors: list[Anchor] = field(default_factory=list)
    #: The body, compressed with zstd (keepBodies).
    body: bytes | None = None
    #: 64-bit signed hash of the main text; 0 if it is empty.
    text_hash: int = 0

    def pack(self) -> bytes:
        """Bytes for a pipe, from which `unpack` makes the same value again."""
        head = json.dumps(
            [
                *(self.url, self.fetched, self.columns, self.tokens),
                *(self.text.size, self.more.size, self.anchors, self.text_hash),
                *(len(self.text.data), len(self.more.data), self.body is not None),
            ],
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode("utf-8", "replace")
        return b"".join(
            (_LENGTH.pack(len(head)), head, self.text.data, self.more.data, self.body or b"")
        )

    @classmethod
    def unpack(cls, data: bytes) -> "Prepared":
        """The value that `pack` made these bytes of."""
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        (url, fetched, columns, tokens, text_size, more_size, anchors, text_hash, *rest) = (
            json.loads(data[_LENGTH.size : start])
        )
        middle = start + rest[0]
        end = middle + rest[1]
        return cls(
            url,
            fetched,
            columns,
            tokens,
            Packed(data[start:middle], text_size),
            Packed(data[middle:end], more_size),
            [Anchor(target, text) for target, text in anchors],
            data[end:] if rest[2] else None,
            text_hash,
        )


class Gone(NamedTuple):
    """A URL that no longer has a page: it leaves the index, and its row says so."""

    url: str
    fetched: str
    status: int


def prepare(
    page: Page, at: float, keep_bodies: bool = False, *, ignore_robots: bool = False
) -> Prepared | Gone:
    """Read `page`, which was fetched at the Unix time `at`.

    A page that asks not to be indexed is gone, unless `ignore_robots`. Never raises. Its time and
    memory are bounded, except for PDF: that may stall, or kill the process, so this runs in
    processes that may be killed.
    """
    content = read(page, at)
    fetched = timestamp(at)
    if content.noindex and not ignore_robots:
        return Gone(page.url.href, fetched, page.status)
    return prepared(page, fetched, content, keep_bodies)


def prepared(page: Page, fetched: str, content: Content, keep_bodies: bool) -> Prepared:
    """`page` with its `content`, segmented and compressed."""
    url = page.url.href
    columns: dict[str, str | int | None] = {
        "status": page.status,
        "type": page.type,
        "charset": content.charset,
        "lang": content.lang,
        "title": content.title,
        "site_name": content.site_name,
        "author": content.author,
        "summary": content.summary,
        "published": content.published,
        "modified": content.modified,
        "image": content.image,
        "canonical": None if content.canonical == url else content.canonical,
        "comments": content.comments,
        "clicks": content.clicks,
        "size": len(page.body),
        "depth": page.url.depth,
        "via": page.url.via,
        "etag": page.header("etag"),
        "last_modified": page.header("last-modified"),
    }
    more = {
        "rest": content.rest,
        "headings": content.headings,
        "images": content.images,
        "links": content.links,
        "headers": page.headers,
        "facts": content.facts,
        "trouble": content.trouble,
    }
    return Prepared(
        url,
        fetched,
        columns,
        page_tokens(url, content.title, content.headings, content.text, content.rest, content.lang),
        Packed.of(content.text),
        Packed.of(json.dumps(more, ensure_ascii=False, separators=(",", ":"))),
        anchors(url, content),
        zstandard.compress(page.body, _BODY_LEVEL) if keep_bodies else None,
        signed(hash64(content.text.encode())) if content.text else 0,
    )


def anchors(url: str, content: Content) -> list[Anchor]:
    """The texts of the links to other pages, each once, without those that say nothing."""
    found = dict.fromkeys(
        (link.url, link.anchor)
        for link in content.links
        if link.anchor and link.url != url and not _is_generic(link.anchor)
    )
    targets = {target: target_of(target) for target, _ in found}
    return [Anchor(targets[target], text) for target, text in found]


def _is_generic(anchor: str) -> bool:
    """Whether an anchor says nothing of the page it leads to."""
    return len(anchor) < 2 or (
        len(anchor) < _LONGEST_GENERIC
        and anchor.casefold().strip(" .:>\xbb\u203a\u2192\u2026") in _GENERIC
    )


def target_of(url: str) -> int:
    """The number that an anchor has for a canonical URL."""
    return signed(hash64(url.encode()))


def signed(number: int) -> int:
    """A 64-bit number as databases have it."""
    return number - (1 << 64) if number >> 63 else number
