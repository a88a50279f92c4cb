"""The tokens of a page, by the columns of the index.

The same function makes them when a page is prepared and when it leaves the index again: an index
without contents forgets a page only if it is given exactly the tokens that it has.
"""

from base64 import b32encode
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from urllib.parse import unquote

from larbinpy.search.segment import tokens

#: Begins the token that stands for a whole title, or the whole text of a link.
_WHOLE = "ǁ"


def page_tokens(
    url: str, title: str, headings: Sequence[str], text: str, rest: str, lang: str | None
) -> dict[str, str]:
    """Return the tokens of a page, separated by blanks; `lang` is ISO 639-1 or None."""
    return {
        "title": _named([title], lang),
        "heading": tokens("\n".join(headings), lang),
        "body": tokens(text, lang),
        "url": tokens(unquote(url), None),
        "rest": tokens(rest, lang),
    }


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
    found = [made for made in (tokens(text, lang) for text in texts) if made]
    return " ".join([*found, *map(whole_token, found)])
