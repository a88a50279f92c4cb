"""Typed words as the sequences of tokens that pages have for them."""

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from larbinpy.search.segment import BIGRAM_LANGUAGES, LETTER, Kind, grams, kind_of, runs, words_of
from larbinpy.search.stems import vocabulary


class Form(NamedTuple):
    """Tokens that stand one after the other in the index."""

    tokens: tuple[str, ...]
    #: The last token is the beginning of a word.
    prefix: bool = False


#: Letters and digits of a word that is looked for within words too, if most pages of a database
#: are in Chinese, Japanese or Korean: all that is as short is found there.
_SHORT = 4
#: Endings that a stemmer may take off together with the last letters before them: universi-ty is
#: univers.
_ENDINGS = (
    *("", "able", "al", "ally", "ance", "as", "ation", "ed", "en", "ence", "er", "es", "ess"),
    *("ful", "ies", "ing", "ion", "ions", "is", "ism", "ist", "ity", "ive", "ly", "ment", "ness"),
    *("ng", "os", "ous", "ss", "st", "te", "ty", "um", "ung"),
    *string.ascii_lowercase,
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
#: A name that is written without its umlaut: Mueller, Koeln.
_NAME = re.compile(r"[A-Z]?[b-df-hj-np-tv-z]*([AaOoUu])e(?=[b-df-hj-np-tv-z])")
#: French and Italian articles and the like, before the apostrophe; the English genitive.
_CLITICS = re.compile(
    r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|un|all|dall|dell|nell|sull)['’](?=\w{2})|(?<=\w\w)['’]s$",
    re.IGNORECASE,
)
#: English verbs with "not" whose apostrophe is left out.
_NOT = re.compile(
    r"^(ai|are|ca|could|did|do|does|had|has|have|is|must|need|should|was|were|wo|would)nt$",
    re.IGNORECASE,
)
#: The number of a version, which pages write with and without a "v".
_VERSION = re.compile(r"^([vV]?)(\d+(?:\.\d+)+)$")
_HYPHENATED = re.compile(r"^([^\W\d_]+)-([^\W\d_]+)$")


def forms(text: str, languages: Sequence[str], prefix: bool = False) -> tuple[Form, ...]:
    """The alternatives for `text`, a word or a phrase, in a database with pages in `languages`.

    Each language gives the form that its pages have; most of them are equal. `prefix`: the last
    word is the beginning of one. Empty if `text` has no word.
    """
    found: dict[Form, None] = {}
    for spelling in _spellings(text):
        pieces = runs(spelling)
        for lang in (None, *languages):
            found[_form(pieces, lang, prefix)] = None
            if prefix and len(pieces) == 1:
                found.update(dict.fromkeys(_stems_before(pieces[0], lang)))
        if _is_short(pieces, languages):
            found[_sequence(pieces)] = None
    return tuple(form for form in found if form.tokens)


def parts(text: str, languages: Sequence[str]) -> tuple[Form, ...]:
    """The single tokens of `text`: what a search asks for if no page has all of it. Empty if
    `text` is one word."""
    pieces = runs(text)
    if len(pieces) == 1 and kind_of(pieces[0]) is Kind.WORD:
        return ()
    found: dict[Form, None] = {}
    for piece in pieces:
        words = [piece]
        if kind_of(piece) is not Kind.WORD:
            whole = _sequence([piece])
            # Letters and digits in it count as the words that they are.
            single = (Form((token,), whole.prefix) for token in whole.tokens)
            found.update((form, None) for form in single if _is_plain(form))
            words = words_of(piece)
        for word in words:
            found.update((form, None) for form in forms(word, languages) if _is_plain(form))
    return tuple(found)


def _is_plain(form: Form) -> bool:
    return not form.tokens[0].startswith(LETTER)


def _spellings(text: str) -> list[str]:
    """`text`, and other ways to write it: e-mail as email, Müller as Mueller and back, l'hôtel
    without its article, dont as don't, 2.4.1 as v2.4.1 and back."""
    found = [text, text.translate(_UMLAUTS), _HYPHENATED.sub(r"\1\2", text)]
    found += [_CLITICS.sub("", text), _NOT.sub(r"\1n't", text)]
    if version := _VERSION.match(text):
        found.append(version[2] if version[1] else f"v{text}")
    if text[:1].isupper() and len(text) > 4 and " " not in text:
        found.append(_NAME.sub(lambda name: name[0][:-1], text, count=1))
    return list(dict.fromkeys(found))


def _form(pieces: Sequence[str], lang: str | None, prefix: bool) -> Form:
    """The tokens of `pieces` in a page of `lang`."""
    kinds = list(map(kind_of, pieces))
    if lang in BIGRAM_LANGUAGES and Kind.CJK in kinds:
        return _sequence(pieces)
    words = vocabulary(lang)
    tokens: list[str] = []
    for piece, kind in zip(pieces[:-1], kinds, strict=False):
        tokens += words[piece].split() if kind is Kind.WORD else grams(piece)
    if kinds[-1:] != [Kind.WORD]:
        last = _sequence(pieces[-1:])
        return Form((*tokens, *last.tokens), last.prefix)
    last_word = words.folded(pieces[-1]) if prefix else words[pieces[-1]]
    return Form((*tokens, *last_word.split()), prefix)


def _sequence(pieces: Sequence[str]) -> Form:
    """The bigrams or trigrams of `pieces`, of which the last may go on in the page."""
    tokens = [token for piece in pieces[:-1] for token in grams(piece)]
    for piece in pieces[-1:]:
        kind, last = kind_of(piece), grams(piece)
        if kind is Kind.SYMBOL or not last:
            return Form((*tokens, *last))
        ends = 2 if kind is Kind.TRIGRAM else 1
        if len(last) <= ends:
            return Form((*tokens, *last[:1]), True)
        tokens += last[:-ends]
    return Form(tuple(tokens))


def _stems_before(piece: str, lang: str | None) -> list[Form]:
    """The tokens of words that begin with `piece` but whose stems are shorter or differ."""
    words = vocabulary(lang)
    start = words.folded(piece)
    stems = {words.stem(start + ending) for ending in _ENDINGS} if len(start) > 2 else set()
    return [Form((stem,)) for stem in sorted(stems) if not stem.startswith(start)]


def _is_short(pieces: Sequence[str], languages: Sequence[str]) -> bool:
    return (
        len(languages) > 0
        and all(kind_of(piece) is Kind.WORD for piece in pieces)
        and sum(map(len, pieces)) <= _SHORT
        and languages[0] in BIGRAM_LANGUAGES
    )
