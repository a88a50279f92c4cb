"""Texts as the tokens that an index holds.

Latin, Greek, Cyrillic, Arabic and similar words are one token each, folded and stemmed
(`stems.Vocabulary`). Chinese, Japanese and Korean text becomes bigrams: of a run ABC, `AB BC C`;
with the single character at the end every substring is found, one of one character as the
beginning of a token. Thai, Lao, Burmese and Khmer become trigrams in the same way.

Where other letters or digits touch such characters, "2018年底", the bigrams run through, so that
the whole is found, and 8年 too; the words themselves, 2018, stand at the end of the text. Pages
in Chinese, Japanese or Korean have bigrams of all their words. `LETTER` marks those bigrams that
begin with such a letter, which else would be words: "in" of "windows".
"""

import re
from collections.abc import Iterator
from operator import add

from larbinpy.search.characters import CJK, INVISIBLE, MARKS, SYMBOL, TRIGRAM
from larbinpy.search.simplified import table
from larbinpy.search.stems import normal, vocabulary

#: Changes with every change of the tokens that a text has: an index of another version must be
#: rebuilt.
VERSION = 1

#: Marks a bigram that begins with a letter or digit of another script.
LETTER = "ǀ"
#: Languages whose pages have bigrams of all words.
BIGRAM_LANGUAGES = frozenset(("zh", "ja", "ko"))

_SPECIAL = re.compile(f"[{CJK}{TRIGRAM}{SYMBOL}]")
_CJK = re.compile(f"[{CJK}]")
_NAME = r"(?:\+\+(?![a-z0-9+])|\#(?![a-z0-9#]))?"
_ASCII_WORDS = re.compile(rf"[a-z0-9]+{_NAME}")
_WORDS = re.compile(rf"[\w{MARKS}{INVISIBLE}]+{_NAME}")
#: Words, of CJK characters too; texts of `TRIGRAM`; symbols.
_OTHER = f"[^\\W_{TRIGRAM}]"
_JOINED = f"[\u2e80-\u2fdf{MARKS}{INVISIBLE}]"
_RUNS = re.compile(rf"(?:{_OTHER}+|{_JOINED}+)+{_NAME}|[{TRIGRAM}]+|[{SYMBOL}]")
_WORDS_OF_RUN = re.compile(rf"(?:[^\W_{TRIGRAM}{CJK}]+|[{MARKS}]+)+{_NAME}")
#: A blank between letters or digits and Chinese or Japanese: typography, which many leave out.
_GLUE = re.compile(
    r" (?:(?<=[a-z0-9] )(?=[{0}])|(?<=[{0}] )(?=[a-z0-9]))".format("\u3041-\u30ff\u4e00-\u9fff")
)


def tokens(text: str, lang: str | None) -> str:
    """The tokens of `text`, which is in `lang` (ISO 639-1), separated by single blanks.

    They hold no ASCII punctuation and no blank, so that engines which split there keep them.
    """
    words = vocabulary(lang)
    if lang not in BIGRAM_LANGUAGES:
        if text.isascii():
            return " ".join(map(words.__getitem__, _ASCII_WORDS.findall(text.lower())))
        if not _SPECIAL.search(text):
            found = _WORDS.findall(text.casefold().replace("_", " "))
            return " ".join(filter(None, map(words.__getitem__, found)))
    found = []
    named: list[str] = []
    for run in runs(text):
        kind = kind_of(run)
        if kind == "word" and lang not in BIGRAM_LANGUAGES:
            found.append(words[run])
        else:
            found += grams(run, kind)
            if kind in ("word", "cjk"):
                named += _WORDS_OF_RUN.findall(run)
    found += map(words.__getitem__, named)
    return " ".join(filter(None, found))


def runs(text: str) -> Iterator[str]:
    """The words of `text` and its runs of CJK and other characters, normal and simplified."""
    text = normal(text)
    if not text.isascii():
        text = _GLUE.sub("", text).translate(table())
    return iter(_RUNS.findall(text))


def kind_of(run: str) -> str:
    """ "word", "cjk" (also where it has other letters), "trigram" or "symbol"."""
    if run.isascii():
        return "word"
    if _CJK.search(run):
        return "cjk"
    if _SPECIAL.match(run):
        return "symbol" if len(run) == 1 and not _TRIGRAM.match(run) else "trigram"
    return "word"


def grams(run: str, kind: str) -> list[str]:
    """The bigrams or trigrams of a run, and the shorter ones at its end."""
    if kind == "symbol":
        return [run]
    if kind == "trigram":
        return [run[at : at + 3] for at in range(len(run))]
    run = _BARE.sub("", run)
    pairs = list(map(add, run, run[1:]))
    pairs.append(run[-1:])
    if _ALL_CJK.fullmatch(run):
        return pairs
    return [pair if _CJK.match(pair) else LETTER + pair for pair in pairs]


_TRIGRAM = re.compile(f"[{TRIGRAM}]")
_BARE = re.compile(rf"[+#{MARKS}]+")
_ALL_CJK = re.compile(f"[{CJK}]*")
