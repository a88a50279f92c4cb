"""Words as the index holds them: case and diacritics folded, stemmed by the page's language."""

import re
import unicodedata
from functools import cache

import Stemmer

from larbinpy.search.characters import INVISIBLE, MARKS, SYMBOL

#: Names of Snowball's algorithms by language, ISO 639-1.
ALGORITHMS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
#: Languages of other scripts: words in Latin letters are taken as English in them.
_NOT_LATIN = frozenset(
    (
        "ar",
        "be",
        "bg",
        "bn",
        "el",
        "fa",
        "he",
        "hi",
        "hy",
        "ja",
        "ka",
        "km",
        "ko",
        "lo",
        "mk",
        "my",
        "ne",
        "ru",
        "sr",
        "ta",
        "th",
        "uk",
        "yi",
        "zh",
    )
)
#: Characters of a word that count; the rest is cut off.
LONGEST = 64
#: Words that a vocabulary keeps.
_KEPT = 50_000
#: In French without accents the ending of "mangée" is two endings.
_TWICE = frozenset(("fr",))

#: The words of a normal text: compatible forms may be several words, "½" or "ﷺ".
_WORDS = re.compile(rf"[^\W_](?:[^\W_]|[{MARKS}])*|[{SYMBOL}]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
#: Letters that Unicode does not decompose, as readers who lack them write them; Russian yo;
#: the forms of alef, yeh, teh marbuta and kaf.
_LETTERS = str.maketrans(
    {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "ŧ": "t",
        "ё": "е",
        "أ": "ا",
        "إ": "ا",
        "آ": "ا",
        "ٱ": "ا",
        "ى": "ي",
        "ی": "ي",
        "ک": "ك",
        "ة": "ه",
        "ـ": "",
    }
)
#: Points of Hebrew and Arabic vowels, which most texts leave out.
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]+")
_ACCENTS = re.compile("(?<![\u0400-\u052f])[\u0300-\u036f]+")
#: Accents that are left when Cyrillic letters are composed mark the stress.
_STRESS = re.compile("[\u0300-\u036f]+")


def normal(text: str) -> str:
    """`text` in lower case, compatible forms as one (full-width letters, ligatures), without
    characters that nobody sees."""
    if text.isascii():
        return text.lower()
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text).casefold())


def plain(word: str) -> str:
    """A normal word without diacritics, where they may be left out: in Latin, Greek, Hebrew and
    Arabic letters, and marks of stress in Cyrillic ones."""
    if word.isascii():
        return word
    apart = _POINTS.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS)))
    return _STRESS.sub("", unicodedata.normalize("NFC", _ACCENTS.sub("", apart)))


class Vocabulary(dict[str, str]):
    """The tokens of words, made when they are asked for first.

    A key is a word in any case that may end with "++" or "#", as C++ and C# do. A value is its
    token; "" for a word of invisible characters; several tokens, separated by blanks, for some.
    """

    def __init__(self, lang: str | None) -> None:
        super().__init__()
        name = ALGORITHMS.get(lang or "")
        self._stemmer = Stemmer.Stemmer(name, 0) if name else None
        self._latin = Stemmer.Stemmer("english", 0) if lang in _NOT_LATIN else self._stemmer
        self._twice = lang in _TWICE
        #: Vietnamese tells words apart by them.
        self._keeps_accents = lang == "vi"

    def __missing__(self, word: str) -> str:
        if len(self) >= _KEPT:
            self.clear()
        token = self._token(word)
        if len(word) <= LONGEST:
            self[word] = token
        return token

    def _token(self, word: str) -> str:
        if word.isascii() and word.isalnum():
            return self.stem(word[:LONGEST].lower())
        name = word.rstrip("+#")
        whole = normal(name[:LONGEST])
        parts = [whole] if name.isascii() else _WORDS.findall(whole)
        stems = [self.stem(part) for part in parts]
        if name != word and parts:
            # No page has these characters, which normalising turns into + and #.
            stems.append(parts[-1] + ("＋＋" if word[-1] == "+" else "＃"))
        return " ".join(stems)

    def folded(self, word: str) -> str:
        """A normal word, without a stemmer."""
        return (word if self._keeps_accents else plain(word))[:LONGEST]

    def stem(self, word: str) -> str:
        """The token of a normal word.

        Accents go first, so that those who leave them out find all words, at the cost of a few
        stems: in French, Spanish and Portuguese 0.88 to 0.92 of the pairs that Snowball brings
        together stay together, in Polish 0.74 (on its own vocabularies).
        """
        word = self.folded(word)
        stemmer = self._latin if word.isascii() else self._stemmer
        if not stemmer:
            return word
        stem: str = stemmer.stemWord(word)
        return stemmer.stemWord(stem) if self._twice else stem


#: Languages that have a way of their own.
_KNOWN = ALGORITHMS.keys() | _NOT_LATIN | {"vi"}


def known(lang: str | None) -> str | None:
    """`lang`, ISO 639-1, if it has a vocabulary of its own, else None."""
    return lang if lang in _KNOWN else None


def vocabulary(lang: str | None) -> Vocabulary:
    """The vocabulary of a language, ISO 639-1; of a text whose language is not known: no stems."""
    return _vocabulary(known(lang))


@cache
def _vocabulary(lang: str | None) -> Vocabulary:
    return Vocabulary(lang)
