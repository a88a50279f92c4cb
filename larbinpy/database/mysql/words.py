"""Tokens as the full-text index of InnoDB takes them, and the words of a page.

InnoDB's own parser separates words at all characters that it does not know as letters; those of
some scripts and all beyond U+FFFF are among these. So each character that is not surely a letter
to it becomes ``_hex_``: words that begin with the same token begin the same. Words have three
characters at least (`innodb_ft_min_token_size`) and 84 at most.

The words of a page are one text: the tokens of the columns, then those of title, anchor and url
once more with a mark before them, for searches in these columns. A lone "_", too short to be
indexed, keeps phrases within their column. All is in lower case: InnoDB folds the words of phrases.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from larbinpy.database.fields import FIELDS, Tokens

#: Before the words of a column; no other word begins with two of these.
MARKS = {"title": "__t", "anchor": "__a", "url": "__u"}
#: The columns in the order of the words: short ones first, so that the beginning has them.
_ORDER = ("title", "anchor", "url", "heading", "body", "rest")
_END = " _ "

#: Ranges of which MariaDB's parser takes each character for a letter (tried one by one).
_LETTERS = (
    "a-z0-9\xc0-\xd6\xd8-\xf6\xf8-\u024f\u0250-\u02af\u0386\u0388-\u038a\u038c\u038e-\u03a1"
    "\u03a3-\u03ce\u0400-\u0481\u05d0-\u05ea\u0904-\u0939\u0e01-\u0e30\u3041-\u3096\u30a1-\u30fa"
    "\u4e00-\u9fa5\uac00-\ud7a3"
)
_FOREIGN = re.compile(f"[^{_LETTERS} ]")
#: Characters of a word, of which longer ones keep the beginning and get a hash.
_LEAST, _MOST, _KEPT = 3, 80, 60
#: Columns of pages that are remembered: those of a batch.
_REMEMBERED = 4000


def encoded(tokens: str) -> list[str]:
    """The words of tokens that are separated by blanks."""
    words = _FOREIGN.sub(_escaped, tokens).split()
    return [word if _LEAST <= len(word) <= _MOST else _fitted(word) for word in words]


def beginning(token: str) -> str:
    """The beginning of all words of tokens that begin with `token`."""
    return _FOREIGN.sub(_escaped, token)[:_KEPT]


def _escaped(match: re.Match[str]) -> str:
    return f"_{ord(match[0]):x}_"


def _fitted(word: str) -> str:
    if len(word) < _LEAST:
        return word.ljust(_LEAST, "_")
    return f"{word[:_KEPT]}__{blake2b(word.encode(), digest_size=8).hexdigest()}"


@lru_cache(_REMEMBERED)
def spelt(tokens: str) -> str:
    """The words as a text."""
    return " ".join(encoded(tokens))


def words_of(tokens: Tokens, most: int) -> tuple[str, int]:
    """The words of a page, of `most` bytes, and the number of its tokens."""
    columns = {name: spelt(text) for name, text in zip(FIELDS, tokens, strict=True)}
    marked = [
        " ".join(mark + word for word in columns[name].split()) for name, mark in MARKS.items()
    ]
    size = sum(text.count(" ") + 1 for text in columns.values() if text)
    first, last = _ORDER[:4], _ORDER[4:]
    parts = [*(columns[name] for name in first), *marked, *(columns[name] for name in last)]
    text = f" {_END.join(parts)} "
    if len(text.encode()) > most:
        # Half a character or word at the end matches nothing.
        text = text.encode()[:most].decode("utf-8", "ignore").rpartition(" ")[0] + " "
    return text, size


def columns_of(words: str) -> dict[str, list[str]]:
    """The words by column; columns that were cut off are empty."""
    parts = words[1:-1].split(_END)
    names: Sequence[str | None] = (*_ORDER[:4], *[None] * len(MARKS), *_ORDER[4:])
    parts += [""] * (len(names) - len(parts))
    return {name: part.split() for name, part in zip(names, parts, strict=False) if name}
