"""The tokens of a page, by the columns of the index.

The same function makes them when a page is prepared and when it leaves the index again: an index
without contents forgets a page only if it is given exactly the tokens that it has.
"""

from collections.abc import Iterable, Sequence

from larbinpy.search.segment import tokens


def page_tokens(
    url: str, title: str, headings: Sequence[str], text: str, rest: str, lang: str | None
) -> dict[str, str]:
    """Return the tokens of a page, separated by blanks; `lang` is ISO 639-1 or None."""
    return {
        "title": tokens(title, lang),
        "heading": tokens("\n".join(headings), lang),
        "body": tokens(text, lang),
        "url": tokens(url, None),
        "rest": tokens(rest, lang),
    }


def anchor_tokens(texts: Iterable[str], lang: str | None) -> str:
    """Return the tokens of the links' texts to a page of the language `lang`."""
    return tokens("\n".join(texts), lang)
