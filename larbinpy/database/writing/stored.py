"""The tokens of pages that are in a database."""

from larbinpy.database.fields import Tokens, joined
from larbinpy.database.records import parts_of, unpacked_text
from larbinpy.database.tokens import anchor_tokens, page_tokens
from larbinpy.database.writing.tables import Tables


def stored_tokens(base: Tables, page: int) -> Tokens | None:
    """Make the tokens of a page again, from what is stored; None if that is damaged.

    They differ from those in the index if another version of the segmenter made these.
    """
    row = base.execute(
        "SELECT url, title, lang, anchors, text, text_size, more, more_size, sample, sample_size"
        " FROM page JOIN content ON content.page = page.id"
        " LEFT JOIN host ON host.id = page.host WHERE page.id = ?",
        (page,),
    ).fetchone()
    if row is None:
        return None
    url, title, lang, anchors, text, text_size, *more = row
    try:
        whole = unpacked_text(text, text_size)
        facts = parts_of(*more)
    except ValueError:
        return None
    tokens = page_tokens(
        url,
        title or "",
        facts.get("headings", ()),
        whole,
        facts.get("rest", ""),
        lang,
    )
    return joined(tokens, anchor_tokens(anchors.split("\n"), lang) if anchors else "")
