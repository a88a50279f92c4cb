"""Words so frequent that a query does without them, where it has others."""

from collections.abc import Sequence

_WORDS = {
    "en": "a an and are as at be but by for if in into is it no not of on or such that the their "
    "then there these they this to was will with",
}


def is_stop_word(word: str, languages: Sequence[str]) -> bool:
    """Whether `word` is a stop word of one of `languages`."""
    return any(word.lower() in _WORDS.get(lang, "").split() for lang in languages)
