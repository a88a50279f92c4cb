"""Pages for tests of the content database, without bytes to read, and queries of their words."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from larbinpy.database.prepared import Packed, Prepared, signed, target_of
from larbinpy.database.sqlite.schema import connect
from larbinpy.database.tokens import anchor_tokens, page_tokens
from larbinpy.search.query import Form, Item, Query
from larbinpy.url import hash64


def page(
    url: str,
    title: str = "",
    text: str = "",
    *,
    rest: str = "",
    headings: Sequence[str] = (),
    fetched: str = "2026-11-23T08:00:00Z",
    **columns: str | int | None,
) -> Prepared:
    """A page of HTML in English, unless `columns` say otherwise."""
    columns = {"status": 200, "type": "text/html", "lang": "en", "title": title, **columns}
    lang = columns["lang"]
    return Prepared(
        url,
        fetched,
        columns,
        page_tokens(url, title, headings, text, rest, lang if isinstance(lang, str) else None),
        Packed.of(text),
        Packed.of(json.dumps({"rest": rest, "headings": list(headings)})),
        text_hash=signed(hash64(text.encode())) if text else 0,
    )


def fill(
    path: Path,
    pages: Sequence[Prepared],
    anchors: dict[str, list[str]] | None = None,
    copies: dict[str, str] | None = None,
) -> None:
    """Write `pages`, with the texts of links to some URLs; `copies` of others are not indexed."""
    base = connect(path, write=True)
    base.execute("BEGIN IMMEDIATE")
    for number, prepared in enumerate(pages, 1):
        host = urlsplit(prepared.url).netloc
        base.execute("INSERT OR IGNORE INTO host (name) VALUES (?)", (host,))
        (host_id,) = base.execute("SELECT id FROM host WHERE name = ?", (host,)).fetchone()
        (original,) = base.execute(
            "SELECT min(id) FROM page WHERE url = ?", ((copies or {}).get(prepared.url),)
        ).fetchone()
        row: dict[str, Any] = {
            **dict.fromkeys(("fetched", "first_seen", "changed"), prepared.fetched),
            **prepared.columns,
            "id": number,
            "key": target_of(prepared.url),
            "url": prepared.url,
            "host": host_id,
            "visits": 1,
            "changes": 0,
            "same_as": original,
        }
        base.execute(
            f"INSERT INTO page ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            list(row.values()),
        )
        texts = (anchors or {}).get(prepared.url, [])
        base.execute(
            "INSERT INTO content (page, text, text_size, more, more_size, anchors) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (number, *prepared.text, *prepared.more, "\n".join(texts)),
        )
        base.execute(
            "INSERT INTO change VALUES (?, ?, 'new')",
            (prepared.fetched, number),
        )
        if original is None:
            tokens = {**prepared.tokens, "anchor": anchor_tokens(texts, None)}
            base.execute(
                f"INSERT INTO ft (rowid, {', '.join(tokens)}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, *tokens.values()),
            )
    base.execute("COMMIT")
    base.close()


def item(text: str, field: str | None = None, *, common: bool = False) -> Item:
    """A word, a phrase of words between blanks, or the beginning of a word that ends in "*"."""
    tokens = tuple(re.findall(r"\w+", text.lower()))
    parts = tuple(Form((token,)) for token in tokens) if len(tokens) > 1 else ()
    return Item(text, (Form(tokens, text.endswith("*")),), field, common, parts)


def query(*wanted: str | Item, **filters: Any) -> Query:
    """A query of words or items."""
    items = tuple(word if isinstance(word, Item) else item(word) for word in wanted)
    return Query(items, **filters)
