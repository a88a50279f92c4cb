"""The tokens of a page, by the columns of the index.

The same function makes them when a page is prepared and when it leaves the index again: an index
without contents forgets a page only if it is given exactly the tokens that it has.
"""

import re
from collections.abc import Iterable, Sequence


def page_tokens(
    url: str, title: str, headings: Sequence[str], text: str, rest: str, lang: str | None
) -> dict[str, str]:
    """Return the tokens of a page, separated by blanks; `lang` is ISO 639-1 or None."""
    return {
        "title": _tokens(title, lang),
        "heading": _tokens("\n".join(headings), lang),
        "body": _tokens(text, lang),
        "url": _tokens(url, None),
        "rest": _tokens(rest, lang),
    }


def anchor_tokens(texts: Iterable[str], lang: str | None) -> str:
    """Return the tokens of the links' texts to a page of the language `lang`."""
    return _tokens("\n".join(texts), lang)


def _tokens(text: str, lang: str | None) -> str:
    # Until `search.segment` is there.
    return " ".join(re.findall(r"\w+", text.lower()))
