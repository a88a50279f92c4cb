"""Typed words as the sequences of tokens that pages have for them."""

from collections.abc import Sequence
from typing import NamedTuple

from larbinpy.search.segment import BIGRAM_LANGUAGES, grams, kind_of, runs
from larbinpy.search.stems import vocabulary


class Form(NamedTuple):
    """Tokens that stand one after the other in the index."""

    tokens: tuple[str, ...]
    #: The last token is the beginning of a word.
    prefix: bool = False


#: Letters and digits of a word that is looked for within words of Chinese, Japanese or Korean
#: pages, if most pages are such.
_SHORT = 4


def forms(text: str, languages: Sequence[str], prefix: bool = False) -> tuple[Form, ...]:
    """The alternatives for `text`, a word or a phrase, in a database with pages in `languages`.

    Each language gives the form that its pages have; most of them are equal. `prefix`: the last
    word is the beginning of one. Empty if `text` has no word.
    """
    pieces = [(run, kind_of(run)) for run in runs(text)]
    ways: list[str | None] = [None, *languages]
    found: dict[Form, None] = {}
    for lang in ways:
        form = _form(pieces, lang, prefix)
        if form is not None:
            found[form] = None
    if _is_within(pieces, languages):
        form = _within(pieces)
        if form is not None:
            found[form] = None
    return tuple(found)


def parts(text: str, languages: Sequence[str]) -> tuple[Form, ...]:
    """The single tokens of `text`: what a search asks for if no page has all of it. Empty if
    `text` is one word."""
    found: dict[Form, None] = {}
    pieces = list(runs(text))
    if len(pieces) == 1 and kind_of(pieces[0]) == "word":
        return ()
    for run in pieces:
        kind = kind_of(run)
        if kind == "word":
            found.update(dict.fromkeys(forms(run, languages)))
            continue
        tokens = grams(run, kind)
        size = 3 if kind == "trigram" else 2
        whole = tokens[: len(tokens) - size + 1]
        if whole:
            found.update((Form((token,)), None) for token in whole)
        else:
            found[Form((tokens[0],), kind != "symbol")] = None
    return tuple(found)


def _form(pieces: Sequence[tuple[str, str]], lang: str | None, prefix: bool) -> Form | None:
    words = vocabulary(lang)
    has_cjk = any(kind == "cjk" for _, kind in pieces)
    if has_cjk and lang in BIGRAM_LANGUAGES:
        return _within(pieces)
    tokens: list[str] = []
    is_open = False
    for number, (run, kind) in enumerate(pieces):
        last = number == len(pieces) - 1
        if kind == "word":
            stem = (words.folded(run) if last and prefix else words[run]).split()
            tokens += stem
            is_open = prefix
        else:
            added, is_open = _open(run, kind) if last else (grams(run, kind), False)
            tokens += added
    return Form(tuple(tokens), is_open) if tokens else None


def _within(pieces: Sequence[tuple[str, str]]) -> Form | None:
    tokens: list[str] = []
    is_open = False
    for number, (run, kind) in enumerate(pieces):
        last = number == len(pieces) - 1
        added, is_open = _open(run, kind) if last else (grams(run, kind), False)
        tokens += added
    return Form(tuple(tokens), is_open) if tokens else None


def _open(run: str, kind: str) -> tuple[list[str], bool]:
    """The tokens of a run that may go on in the page, and whether the last is a beginning."""
    tokens = grams(run, kind)
    if kind == "symbol":
        return tokens, False
    size = 3 if kind == "trigram" else 2
    if len(tokens) < size:
        return tokens[:1], True
    return tokens[: len(tokens) - size + 1], False


def _is_within(pieces: Sequence[tuple[str, str]], languages: Sequence[str]) -> bool:
    return (
        bool(languages)
        and languages[0] in BIGRAM_LANGUAGES
        and all(kind == "word" for _, kind in pieces)
        and sum(len(run) for run, _ in pieces) <= _SHORT
    )
