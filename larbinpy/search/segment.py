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
from collections.abc import Iterable
from enum import Enum
from functools import cache
from operator import add

from larbinpy.search.characters import CJK, INVISIBLE, MARKS, SYMBOL, TRIGRAM
from larbinpy.search.simplified import simplify
from larbinpy.search.stems import Vocabulary, known, normal, plain, vocabulary

#: Changes with every change of the tokens that a page has: an index of another version must be
#: rebuilt.
VERSION = 2

#: Marks a bigram that begins with a letter or digit of another script.
LETTER = "ǀ"
#: Languages whose pages have bigrams of all words.
BIGRAM_LANGUAGES = frozenset(("zh", "ja", "ko"))

_GRAMS = re.compile(f"[{CJK}{TRIGRAM}]")
_CJK = re.compile(f"[{CJK}]")
_TRIGRAM = re.compile(f"[{TRIGRAM}]")
_SYMBOL = re.compile(f"[{SYMBOL}]")
#: The end of C++ and C#, which is part of the word.
_END = r"(?:\+\+(?![a-z0-9+])|\#(?![a-z0-9#]))?"
_ASCII_WORDS = re.compile(rf"[a-z0-9]+{_END}")
_WORDS = re.compile(rf"[\w{MARKS}{INVISIBLE}]+{_END}|[{SYMBOL}]")
#: Runs of a normal text: words, with the CJK characters that touch them; texts of `TRIGRAM`;
#: symbols.
#: Marks and radicals of Chinese characters are no characters of words for `re`.
_RUNS = re.compile(rf"(?:[^\W_{TRIGRAM}]+|[\u2e80-\u2fdf{MARKS}]+)+{_END}|[{TRIGRAM}]+|[{SYMBOL}]")
_LETTER = rf"[^\W_{TRIGRAM}{CJK}]"
_WORDS_OF_RUN = re.compile(rf"{_LETTER}(?:{_LETTER}|[{MARKS}])*{_END}")
#: A blank between letters or digits and Chinese or Japanese: typography, which many leave out.
_EAST = "\u3041-\u30ff\u4e00-\u9fff"
_GLUE = re.compile(rf" (?:(?<=[a-z0-9] )(?=[{_EAST}])|(?<=[{_EAST}] )(?=[a-z0-9]))")
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_NOT_IN_GRAMS = re.compile(rf"[+#{MARKS}]+")
_LETTERS = re.compile(rf"[^\x00-\x7f{CJK}{TRIGRAM}{SYMBOL}]")
#: In bigrams of runs that are separated by line breaks: the two ends of a break.
_BREAK = re.compile(r"\n \n. ", re.DOTALL)
_BEFORE_LETTER = re.compile(rf" (?=[^\s{CJK}{SYMBOL}])")


#: ASCII, and a table that makes blanks of those that are never part of a word.
_ASCII = bytes(range(128))
_PARTED = bytes(
    code if chr(code).isalnum() or chr(code) in "+#" or code > 127 else 32 for code in range(256)
)
#: Pieces of texts that are remembered for each vocabulary, and the characters of one.
_KEPT = 50_000
_LONGEST = 64


class Kind(Enum):
    """Kinds of runs."""

    WORD = 1
    #: Chinese, Japanese or Korean, also where it has other letters and digits.
    CJK = 2
    TRIGRAM = 3
    SYMBOL = 4


def tokens(text: str, lang: str | None) -> str:
    """The tokens of `text`, which is in `lang` (ISO 639-1), separated by single blanks.

    They hold no ASCII punctuation, so that engines which split there keep them.
    """
    if lang in BIGRAM_LANGUAGES:
        return " ".join(filter(None, _dense(runs(text), vocabulary(lang))))
    data = text.encode("utf-8", "surrogatepass")
    if not text.isascii() and _GRAMS.search(_decoded(data.translate(None, _ASCII))):
        return " ".join(filter(None, _mixed(runs(text), vocabulary(lang))))
    # Three times as fast as finding words by an expression, which few pieces need.
    pieces = _decoded(data.lower().translate(_PARTED)).split()
    return " ".join(filter(None, map(_pieces(known(lang)).__getitem__, pieces)))


class _Pieces(dict[str, str]):
    """The tokens of what stands between blanks and ASCII punctuation: nearly always a word."""

    def __init__(self, words: Vocabulary) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, piece: str) -> str:
        found = map(self._words.__getitem__, _WORDS.findall(piece.casefold()))
        made = " ".join(filter(None, found))
        if len(piece) <= _LONGEST:
            if len(self) >= _KEPT:
                self.clear()
            self[piece] = made
        return made


@cache
def _pieces(lang: str | None) -> _Pieces:
    return _Pieces(vocabulary(lang))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def runs(text: str) -> list[str]:
    """The words of `text` and its runs of CJK and other characters, normal and simplified."""
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    # Chinese punctuation is not normal; what is left after it mostly is, and known as such fast.
    found = "\n".join(_RUNS.findall(_GLUE.sub("", _INVISIBLE.sub("", text.casefold()))))
    clean = normal(found)
    if clean != found:
        return _RUNS.findall(simplify(clean))
    return simplify(clean).split("\n") if clean else []


def kind_of(run: str) -> Kind:
    """The kind of one of `runs`."""
    if run.isascii():
        return Kind.WORD
    if _CJK.search(run):
        return Kind.CJK
    if _TRIGRAM.match(run):
        return Kind.TRIGRAM
    return Kind.SYMBOL if _SYMBOL.match(run) else Kind.WORD


def words_of(runs: str) -> list[str]:
    """The words in letters of other scripts that runs of CJK characters have."""
    return _WORDS_OF_RUN.findall(runs)


def grams(run: str) -> list[str]:
    """The bigrams or trigrams of a run, a word's too, and the shorter ones at its end."""
    kind = kind_of(run)
    if kind is Kind.TRIGRAM:
        return [run[at : at + 3] for at in range(len(run))]
    if kind is Kind.SYMBOL:
        return [run]
    run = _bare(run)
    if not run:
        return []
    pairs = [*map(add, run, run[1:]), run[-1]]
    return [pair if _CJK.match(pair) else LETTER + pair for pair in pairs]


def _bare(run: str) -> str:
    """Runs without signs and diacritics."""
    if _LETTERS.search(run):
        run = plain(run)
    return _NOT_IN_GRAMS.sub("", run)


def _mixed(found: Iterable[str], words: Vocabulary) -> list[str]:
    """The tokens of the runs of a page in another language: words as they come."""
    out: list[str] = []
    named: list[str] = []
    for run in found:
        # Not those that `words` has, as that may have symbols from elsewhere.
        if kind_of(run) is Kind.WORD:
            out.append(words[run])
        else:
            out += grams(run)
            named += words_of(run)
    return out + [words[word] for word in named]


def _dense(found: list[str], words: Vocabulary) -> list[str]:
    """The tokens of the runs of a page in Chinese, Japanese or Korean."""
    text = "\n".join(found)
    if _TRIGRAM.search(text):
        pairs = [token for run in found for token in grams(run)]
    else:
        pairs = [_bigrams(_bare(text))]
    return [*pairs, *map(words.__getitem__, words_of(text))]


def _bigrams(text: str) -> str:
    """The bigrams of runs that are separated by line breaks.

    All pairs of neighbours are laid out at once, in UTF-32: a sixth of the time of making them
    one by one. Those with a line break are put right after it.
    """
    text = text.strip("\n")
    size = len(text)
    if not size:
        return ""
    source = memoryview((text + "\n").encode("utf-32-le")).cast("I")
    target = memoryview(bytearray(" ".encode("utf-32-le") * (3 * size))).cast("I")
    target[0::3] = source[:-1]
    target[1::3] = source[1:]
    pairs = _BREAK.sub(" ", str(target, "utf-32-le"))
    return _BEFORE_LETTER.sub(f" {LETTER}", " " + pairs).strip()
