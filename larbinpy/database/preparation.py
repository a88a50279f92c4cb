"""Prepares pages for the writer of a database, read, segmented and compressed: all that costs time.

`page_tokens` makes the tokens of a page, by the columns of the index, when it is prepared and when
it leaves the index again: an index without contents forgets a page only if it is given exactly the
tokens that it has.
"""

import json
import re
import struct
from base64 import b32encode, b64decode, b64encode, b85decode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import blake2b
from http import HTTPStatus
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote

import zstandard
from isal import isal_zlib
from isal.igzip_lib import IsalError

from larbinpy.database.revisit.round import host_name
from larbinpy.database.search.fingerprint import keys
from larbinpy.database.search.segment import index_tokens, segmented_as, tokens
from larbinpy.page import Page
from larbinpy.storage.deflate import Compressor, compress
from larbinpy.url import SECRET_HEADER, hash64

if TYPE_CHECKING:
    from larbinpy.database.content import Content
    from larbinpy.parse.body import Announced

#: Begins the token that stands for a whole title, or the whole text of a link.
_WHOLE = "ǁ"


def page_tokens(
    url: str,
    title: str,
    headings: Sequence[str],
    text: str,
    rest: str,
    lang: str | None,
    about: Iterable[str] = (),
) -> dict[str, str]:
    """Return the tokens of a page, separated by blanks; `lang` is ISO 639-1 or None.

    `about`: what is said of it or in it and not shown as text, which counts as the rest does.
    """
    unseen = (each for each in about if each and each not in text)
    return {
        "title": _named([title], lang),
        "heading": index_tokens("\n".join(headings), lang),
        "body": index_tokens(text, lang),
        "url": index_tokens(unquote(url.partition("://")[2]), None),
        "rest": index_tokens("\n".join((rest, *unseen)).strip("\n"), lang),
    }


def about(summary: str, images: Iterable[Sequence[str]]) -> Iterator[str]:
    """The description that a page declares, and those of its images (pairs with the URL)."""
    yield summary
    for _, description in images:
        yield description


def anchor_tokens(texts: Iterable[str], lang: str | None) -> str:
    """Return the tokens of the links' texts to a page of the language `lang`."""
    return _named(texts, lang)


def whole_token(text_tokens: str) -> str:
    """The token of a whole title or text of a link that has these tokens.

    A search finds by it the pages that are named as the query, however many have its words. It is
    a hash, to be short; where two collide, a page gets some score that it does not deserve.
    """
    digest = blake2b(text_tokens.encode(), digest_size=4).digest()
    return _WHOLE + b32encode(digest)[:6].decode().lower()


def _named(texts: Iterable[str], lang: str | None) -> str:
    known = _names(segmented_as(lang))
    found = [known[text] for text in texts if text]
    return " ".join(filter(None, chain((made for made, _ in found), (whole for _, whole in found))))


class _Names(dict[str, tuple[str, str]]):
    """The tokens of a title or the text of a link, and of all of it; those of links repeat."""

    def __init__(self, lang: str | None) -> None:
        super().__init__()
        self._lang = lang

    def __missing__(self, text: str) -> tuple[str, str]:
        whole = tokens(text, self._lang)
        made = index_tokens(text, self._lang), whole_token(whole) if whole else ""
        if len(text) <= _LONGEST_NAME:
            if len(self) >= _MOST_NAMES:
                self.clear()
            self[text] = made
        return made


#: Names that are remembered for each language, and the characters of one.
_MOST_NAMES, _LONGEST_NAME = 50_000, 80


@cache
def _names(lang: str | None) -> _Names:
    return _Names(lang)


#: Level of isal's deflate: about as small as zstd's third, and faster.
_LEVEL = 3
_ZLIB = 15
#: The length of the JSON that a packed page begins with.
_LENGTH = struct.Struct("<I")


#: The JSON of a value without cycles, on one line.
dumped = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class Packed(NamedTuple):
    """Text or JSON, UTF-8, in the zlib format; without a sample the `sqlite3` shell reads it by
    ``sqlar_uncompress(data, size)``.

    A sample is a similar text, zlib's "preset dictionary". The second byte says if there was one.
    """

    data: bytes
    size: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Compress `text`."""
        return cls.of_bytes(text.encode("utf-8", "replace"))

    @classmethod
    def of_bytes(cls, plain: bytes, sample: bytes = b"") -> Self:
        """Compress `plain`, with `sample` if that is not empty."""
        if not plain:
            return cls(b"", 0)  # sqlar_uncompress gives data of size 0 back as they are
        if sample:
            packing = Compressor(_LEVEL, _ZLIB, sample)
            return cls(packing.compress(plain) + packing.flush(), len(plain))
        data = compress(plain, _LEVEL, _ZLIB)
        if len(data) == len(plain):
            # It takes data of this length for not compressed; without compression they are longer.
            data = compress(plain, 0, _ZLIB)
        return cls(data, len(plain))

    def text(self, sample: bytes = b"") -> str:
        """The text again. Raises ValueError if the data are damaged, or not of this size."""
        return self.bytes(sample).decode()

    def bytes(self, sample: bytes = b"") -> bytes:
        """The bytes that were compressed. Raises ValueError as `text` does."""
        if not self.data:
            return b""
        try:
            unpacking = (
                isal_zlib.decompressobj(zdict=sample) if sample else isal_zlib.decompressobj()
            )
            # A file of somebody else may have data that would fill the memory.
            plain = unpacking.decompress(self.data, self.size + 1)
        except IsalError as error:  # type: ignore[misc]  # a class, whatever its stub says
            raise ValueError(str(error)) from error
        if len(plain) != self.size:
            raise ValueError(f"not {self.size} bytes")
        return plain


#: Most of Markdown is in the text and the links already: it takes a tenth of the text. Level 6
#: takes half as long again, for 7 % less.
_MARKDOWN_LEVEL = 4
#: How all packed Markdown begins: the magic number of zstd. Earlier versions wrote it in Base85,
#: which has no slash.
_BASE64 = "KLUv/"


def packed_markdown(markdown: str, text: str, links: Sequence[Sequence[str]]) -> str:
    """`markdown` in characters of JSON, packed with the text and links of its page at hand."""
    packer = zstandard.ZstdCompressor(
        level=_MARKDOWN_LEVEL, dict_data=_known(text, links), write_checksum=True
    )
    return b64encode(packer.compress(markdown.encode("utf-8", "replace"))).decode()


def unpacked_markdown(packed: str, text: str, links: Sequence[Sequence[str]]) -> str:
    """The Markdown that was packed; "" if the text or the links were cut after that."""
    decode = b64decode if packed.startswith(_BASE64) else b85decode
    try:
        unpacker = zstandard.ZstdDecompressor(dict_data=_known(text, links))
        with unpacker.stream_reader(decode(packed)) as plain:
            return str(plain.read(_MOST_MARKDOWN).decode())
    except (ValueError, zstandard.ZstdError):
        return ""


#: Bytes of Markdown, whatever a damaged database says.
_MOST_MARKDOWN = 16 << 20


def _known(text: str, links: Sequence[Sequence[str]]) -> zstandard.ZstdCompressionDict:
    known = "\n".join((*(each[0] for each in links), text))
    return zstandard.ZstdCompressionDict(
        known.encode("utf-8", "replace"), dict_type=zstandard.DICT_TYPE_RAWCONTENT
    )


#: The end of a sentence, or of a line.
_SENTENCE = re.compile(r"(?<=[.!?\u2026])[\"')\]\u201d\u2019]*\s+|(?<=[\u3002\uff01\uff1f])|\n+")
#: Characters of all sentences that went, or came, which are kept.
_MOST_OF_DIFFERENCE = 1 << 15


class Difference(NamedTuple):
    """The sentences that went from a text, and those that came, in their order."""

    went: list[str]
    came: list[str]

    @classmethod
    def of(cls, old: str, new: str) -> Self:
        """Compare two texts. A sentence that only moved has neither gone nor come."""
        before, after = _sentences(old), _sentences(new)
        return cls(_without(before, after), _without(after, before))

    def pack(self) -> Packed:
        return Packed.of(dumped(self))

    @classmethod
    def unpack(cls, data: bytes, size: int) -> Self:
        """The value that `pack` made. Raises ValueError if it is damaged."""
        went, came = json.loads(Packed(data, size).bytes())
        return cls(list(map(str, went)), list(map(str, came)))


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.split(text) if each.strip()]


def _without(sentences: list[str], others: list[str]) -> list[str]:
    """The sentences that are not among the others, or more often."""
    left = Counter(others)
    found, room = [], _MOST_OF_DIFFERENCE
    for each in sentences:
        left[each] -= 1
        if left[each] < 0 and room > 0:
            found.append(each[:room])
            room -= len(each)
    return found


class Anchor(NamedTuple):
    """The text of a link to `target`, which `url.hash64` made of its canonical URL (signed)."""

    target: int
    text: str


class Dated(NamedTuple):
    """A page of the same host that a sitemap or feed names; `target` is as in `Anchor`."""

    target: int
    #: When it changed, as `parse.announced` has it; empty if it does not say.
    date: str


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
    #: JSON object, in UTF-8: rest, headings, images, links, headers, facts, trouble. The writer
    #: compresses it, as it knows what the pages of a host have in common.
    more: bytes
    anchors: list[Anchor] = field(default_factory=list)
    #: The body, compressed with zstd (keepBodies).
    body: bytes | None = None
    #: 64-bit signed hash of the main text; 0 if it is empty.
    text_hash: int = 0
    #: Keys of `search.fingerprint`, signed; none if near copies of it are not looked for.
    near_keys: tuple[int, ...] = ()
    announced: list[Dated] = field(default_factory=list)

    def pack(self) -> bytes:
        """Bytes for a pipe, from which `unpack` makes the same value again."""
        # Long texts stay out of the JSON, which would take each of their characters in hand.
        tokens = [each.encode("utf-8", "replace") for each in self.tokens.values()]
        head = dumped(
            [
                *(self.url, self.fetched, self.columns, list(self.tokens), list(map(len, tokens))),
                *(self.text.size, len(self.text.data), len(self.more)),
                *([each.target for each in self.anchors], [each.text for each in self.anchors]),
                *(self.text_hash, self.near_keys, self.announced, self.body is not None),
            ]
        ).encode("utf-8", "replace")
        parts = (*tokens, self.text.data, self.more, self.body or b"")
        return b"".join((_LENGTH.pack(len(head)), head, *parts))

    @classmethod
    def unpack(cls, data: bytes) -> "Prepared":
        """The value that `pack` made these bytes of."""
        (length,) = _LENGTH.unpack_from(data)
        start = _LENGTH.size + length
        url, fetched, columns, names, sizes, text_size, *rest = json.loads(
            data[_LENGTH.size : start]
        )
        text_length, more_length, targets, texts, *rest = rest
        text_hash, near_keys, announced, has_body = rest
        ends = list(accumulate((*sizes, text_length, more_length), initial=start))
        parts = [data[begin:end] for begin, end in pairwise(ends)]
        return cls(
            url,
            fetched,
            columns,
            {name: part.decode() for name, part in zip(names, parts, strict=False)},
            Packed(parts[-2], text_size),
            parts[-1],
            list(map(Anchor, targets, texts)),
            data[ends[-1] :] if has_body else None,
            text_hash,
            tuple(near_keys),
            [Dated(*each) for each in announced],
        )


class Gone(NamedTuple):
    """A URL that answered without its page: by 404, 410 or a redirect, or with one that asks not
    to be indexed. `writing.leaving` has the rules by which the page then leaves the index."""

    url: str
    fetched: str
    status: int
    #: Canonical URL that it redirects to.
    target: str | None = None
    #: The dates of a sitemap or feed that asks not to be indexed, which count all the same; None
    #: for other pages.
    announced: Sequence[Dated] | None = None
    #: It is visited again, so it has a row, with these columns.
    depth: int = 0
    via: str | None = None

    @classmethod
    def unpack(cls, data: bytes) -> "Gone":
        """The value that is JSON in `data`."""
        gone = cls(*json.loads(data))
        if gone.announced is None:
            return gone
        return gone._replace(announced=[Dated(*each) for each in gone.announced])


class Unchanged(NamedTuple):
    """A URL whose server says that its page is the one that was fetched before (304)."""

    url: str
    fetched: str


class Failed(NamedTuple):
    """A URL that could not be fetched: the database keeps what it has."""

    url: str
    fetched: str


#: The result of one visit of a URL, for the database.
Visit = Prepared | Gone | Unchanged | Failed


#: URLs and texts of links that are remembered, as the pages of a site have the same ones.
_LINKS = 1 << 14


@lru_cache(_LINKS)
def target_of(url: str) -> int:
    """The number that an anchor has for a canonical URL."""
    return signed_hash(url)


def signed_hash(text: str) -> int:
    """The 64-bit hash of a text, as an integer of databases, which have a sign."""
    return signed(hash64(text.encode()))


def signed(number: int) -> int:
    """A number of 64 bits as an integer of databases."""
    return number - (1 << 64) if number >> 63 else number


_BODY_LEVEL = 3
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


def prepare(
    page: Page,
    fetched: str,
    content: "Content",
    keep_bodies: bool = False,
    find_near: bool = False,
) -> Prepared:
    """Segment and compress `content`, that of `page`; `fetched` is in ISO 8601.

    With `find_near`, near copies of it are looked for.
    """
    url = page.url.href
    columns: dict[str, str | int | None] = {
        # With 304 the mirror has given it the page, and its headers.
        "status": HTTPStatus.OK.value if page.not_modified else page.status,
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
        "headers": [each for each in page.headers if not SECRET_HEADER.search(each[0])],
        "facts": content.facts,
        "trouble": content.trouble,
    }
    if content.text and (markdown := content.as_markdown()):
        more["markdown"] = packed_markdown(markdown, content.text, content.links)
    return Prepared(
        url,
        fetched,
        columns,
        page_tokens(
            *(url, content.title, content.headings, content.text, content.rest, content.lang),
            about(content.summary, content.images),
        ),
        Packed.of(content.text),
        dumped(more).encode("utf-8", "replace"),
        anchors(url, content.links),
        packed_body(page.body) if keep_bodies else None,
        text_hash(content.text),
        tuple(map(signed, keys(content.title, content.text))) if find_near else (),
        dated(url, content.announced),
    )


def withheld(page: Page, fetched: str, announced: Sequence["Announced"]) -> Gone:
    """A page without content: of a sitemap or feed that asks not to be indexed, the dates count."""
    # Here, since a search reads no pages.
    from larbinpy.parse import is_sitemap

    url, own = page.url, dated(page.url.href, announced) if is_sitemap(page) else None
    return Gone(url.href, fetched, page.status, None, own, url.depth, url.via)


def text_hash(text: str) -> int:
    """The hash by which texts are the same: signed, 64 bits; 0 if there is none.

    Where its lines break, and how far they are indented, does not count.
    """
    words = text.split()
    return signed_hash(" ".join(words)) if words else 0


def packed_body(body: bytes) -> bytes:
    """The body of a page as it is stored."""
    return zstandard.compress(body, _BODY_LEVEL)


def anchors(url: str, links: Iterable[Sequence[str]]) -> list[Anchor]:
    """The texts of the links to other pages, each once, without those that say nothing."""
    found = dict.fromkeys(
        (target, text)
        for target, text, _ in links
        if text and target != url and not _is_generic(text)
    )
    return [Anchor(target_of(target), text) for target, text in found]


def dated(url: str, announced: Sequence["Announced"]) -> list[Dated]:
    """The pages that a sitemap or feed names, of its own host: it knows no others."""
    host = host_name(url)
    own = [each for each in announced if host_name(each.url) == host]
    return [Dated(target_of(each.url), each.date) for each in own]


@lru_cache(_LINKS)
def _is_generic(anchor: str) -> bool:
    """Whether an anchor says nothing of the page it leads to."""
    return len(anchor) < 2 or (
        len(anchor) <= _LONGEST_GENERIC
        and anchor.casefold().strip(" .:>\xbb\u203a\u2192\u2026") in _GENERIC
    )
