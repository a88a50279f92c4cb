"""Prepares pages for the writer of a database: all that costs time."""

from collections.abc import Sequence
from http import HTTPStatus

import zstandard

from larbinpy.content import Content
from larbinpy.database.prepared import (
    Anchor,
    Dated,
    Gone,
    Packed,
    Prepared,
    dumped,
    signed,
    signed_hash,
    targets_of,
)
from larbinpy.database.tokens import page_tokens
from larbinpy.page import Page
from larbinpy.parse import is_sitemap
from larbinpy.parse.announced import Announced
from larbinpy.revisit.due import host_name
from larbinpy.search.fingerprint import keys
from larbinpy.url import SECRET_HEADER

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
    content: Content,
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
    return Prepared(
        url,
        fetched,
        columns,
        page_tokens(url, content.title, content.headings, content.text, content.rest, content.lang),
        Packed.of(content.text),
        dumped(more).encode("utf-8", "replace"),
        anchors(url, content),
        zstandard.compress(page.body, _BODY_LEVEL) if keep_bodies else None,
        text_hash(content.text),
        tuple(map(signed, keys(content.title, content.text))) if find_near else (),
        dated(url, content.announced),
    )


def withheld(page: Page, fetched: str, announced: Sequence[Announced]) -> Gone:
    """A page without content: of a sitemap or feed that asks not to be indexed, the dates count."""
    url, own = page.url, dated(page.url.href, announced) if is_sitemap(page) else None
    return Gone(url.href, fetched, page.status, None, own, url.depth, url.via)


def text_hash(text: str) -> int:
    """The hash by which texts are the same: signed, 64 bits; 0 if there is none.

    Where its lines break, and how far they are indented, does not count.
    """
    words = text.split()
    return signed_hash(" ".join(words)) if words else 0


def anchors(url: str, content: Content) -> list[Anchor]:
    """The texts of the links to other pages, each once, without those that say nothing."""
    found = dict.fromkeys(
        (target, text)
        for target, text, _ in content.links
        if text and target != url and not _is_generic(text)
    )
    targets = targets_of(target for target, _ in found)
    return [Anchor(target, text) for target, (_, text) in zip(targets, found, strict=True)]


def dated(url: str, announced: Sequence[Announced]) -> list[Dated]:
    """The pages that a sitemap or feed names, of its own host: it knows no others."""
    host = host_name(url)
    own = [each for each in announced if host_name(each.url) == host]
    targets = targets_of(each.url for each in own)
    return [Dated(target, each.date) for target, each in zip(targets, own, strict=True)]


def _is_generic(anchor: str) -> bool:
    """Whether an anchor says nothing of the page it leads to."""
    return len(anchor) < 2 or (
        len(anchor) <= _LONGEST_GENERIC
        and anchor.casefold().strip(" .:>\xbb\u203a\u2192\u2026") in _GENERIC
    )
