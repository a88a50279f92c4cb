"""Pages for tests of the content database, without a crawl."""

import json

from larbinpy.database.preparation import (
    Anchor,
    Dated,
    Packed,
    Prepared,
    page_tokens,
    signed,
    signed_hash,
    target_of,
)
from larbinpy.database.search.fingerprint import keys


def prepared(
    url: str,
    text: str = "",
    *,
    title: str = "",
    at: str = "2026-11-23T08:00:00Z",
    headings: tuple[str, ...] = (),
    rest: str = "",
    lang: str | None = None,
    canonical: str | None = None,
    links: tuple[tuple[str, str], ...] = (),
    body: bytes | None = None,
    near: bool = False,
    announced: dict[str, str] | None = None,
    **columns: str | int | None,
) -> Prepared:
    """A page as `database.prepared.prepare` makes it of one with this content and `columns`.

    With `near`, near copies of it are looked for. `announced` has the dates of other pages.
    """
    more = {"rest": rest, "headings": headings, "images": [], "links": [], "headers": []}
    row: dict[str, str | int | None] = {
        "status": 200,
        "type": "text/html",
        "lang": lang,
        "title": title,
        "canonical": canonical,
        "size": len(text),
        **columns,
    }
    return Prepared(
        url=url,
        fetched=at,
        columns=row,
        tokens=page_tokens(
            *(url, title, headings, text, rest, lang), [str(columns.get("summary") or "")]
        ),
        text=Packed.of(text),
        more=json.dumps(more).encode(),
        anchors=[Anchor(target_of(target), anchor) for target, anchor in links],
        body=body,
        text_hash=signed_hash(text) if text else 0,
        near_keys=tuple(map(signed, keys(title, text))) if near else (),
        announced=[Dated(target_of(each), date) for each, date in (announced or {}).items()],
    )
