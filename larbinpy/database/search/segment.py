"""Texts as the tokens that an index holds, and typed words as the sequences of tokens they match.

Latin, Greek, Cyrillic, Arabic and similar words are one token each, folded (case and diacritics)
and stemmed by the page's language (`Vocabulary`). Chinese, Japanese and Korean text becomes
bigrams: of a run ABC, `AB BC C`; with the single character at the end every substring is found, one
of one character as the beginning of a token. Traditional Chinese characters become simplified ones,
each by itself. Thai, Lao, Burmese and Khmer become trigrams in the same way.

Where other letters or digits touch such characters, "2018年底", the bigrams run through, so that
the whole is found, and 8年 too; the words themselves, 2018, stand at the end of the text. Pages
in Chinese, Japanese or Korean have bigrams of all their words. `LETTER` marks those bigrams that
begin with such a letter, which else would be words: "in" of "windows".

Parts of a word that people look for alone stand at the end as well (`within`): those of camelCase,
and numbers without their separators. `PLAIN` marks Vietnamese words without their signs. `BACK`
marks the long words of German and its like, written backwards: those that begin with a word
written so are compounds that end with it.

A query does without stop words, where it has others. The lists are short, after those of Snowball
(BSD licence), with the words of questions; words that are names of things as well, such as "will",
"can" and "us", are left out.
"""

import os
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import chain, filterfalse
from operator import add
from typing import AnyStr, NamedTuple

import Stemmer
from opencc import OpenCC

from larbinpy.native import native


def _ranges(characters: Iterable[str]) -> str:
    """The class of `characters`, which are sorted, with runs of them written as ranges."""
    ranges: list[list[str]] = []
    for char in characters:
        if ranges and ord(char) == ord(ranges[-1][-1]) + 1:
            ranges[-1][1:] = [char]
        else:
            ranges.append([char])
    return "".join("-".join(each) for each in ranges)


#: Chinese, Japanese and Korean characters, which are indexed as bigrams.
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
BOPOMOFO = "\u3105-\u312f\u31a0-\u31bf"
CJK = HAN + KANA + HANGUL + BOPOMOFO

#: Thai, Lao, Burmese and Khmer, which are written without blanks too: indexed as trigrams.
#: Vowel signs and tone marks are letters of them.
TRIGRAM = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf"
    "\u1000-\u1049\u1050-\u109f\uaa60-\uaa7f\ua9e0-\ua9fe\u1780-\u17d3\u17d7\u17dc-\u17e9"
)

#: Symbols that are words: emoji, arrows, pictures.
SYMBOL = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f1e6-\U0001f3fa\U0001f400-\U0001faff"

#: Characters that a reader does not see: soft hyphen, zero-width blanks and joiners, marks of
#: direction, variation selectors.
INVISIBLE = (
    "\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
)

#: Combining marks, which `re` does not count as characters of words; those of Thai and its
#: neighbours are in `TRIGRAM`.
MARKS = _ranges(
    char
    for char in map(
        chr,
        chain(
            range(0x300, 0xE00),
            range(0xF00, 0x1000),
            range(0x1100, 0x1780),
            range(0x1800, 0x1E00),
            range(0x20D0, 0x2100),
            range(0xA66F, 0xA9E0),
            range(0xAA00, 0xAA60),
            range(0xAA80, 0xAC00),
            range(0xFE20, 0xFE30),
        ),
    )
    if unicodedata.category(char)[0] == "M"
)


#: CJK Unified Ideographs and Extension A. The simplified form of some lies beyond.
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000))


@cache
def simple_forms() -> dict[str, str]:
    """The simplified forms of about 4,000 characters, by opencc's tables; made in 10 ms.

    Those that Japan simplified in its own way have that of their traditional one. A character
    whose simplified form depends on the word has its most frequent form.
    """
    characters = [chr(code) for block in _BLOCKS for code in range(*block)]
    traditional = OpenCC("jp2t").convert("\n".join(characters))
    simple = OpenCC("t2s").convert(traditional).split("\n")
    return {a: b for a, b in zip(characters, simple, strict=True) if a != b and len(b) == 1}


@cache
def _table() -> tuple[re.Pattern[str], str]:
    """The pattern of traditional characters, and the Basic Multilingual Plane with them replaced.

    As a table for `str.translate` a string is faster than a dict.
    """
    forms = simple_forms()
    plane = "".join(forms.get(char, char) for char in map(chr, range(0x10000)))
    return re.compile(f"[{''.join(forms)}]"), plane


def simplify(text: str) -> str:
    """`text` in simplified characters; each takes the place of one."""
    if text.isascii():
        return text
    traditional, plane = _table()
    return text.translate(plane) if traditional.search(text) else text


_STOP_WORDS = {
    "en": "a about am an and are as at be been but by did do does for from had has have how i "
    "if in into is it its me my no not of on or our s so such t that the their then there "
    "these they this to was we were what when where which who whom whose why with would "
    "you your",
    "de": "aber als am an auch auf aus bei bin bis das dass dem den der des die du durch ein "
    "eine einem einen einer eines er es für hat ich im in ist mit nach nicht oder sich "
    "sie sind so und von vor war warum was wer wie wird wir wo zu zum zur über",
    "fr": "a au aux avec ce ces cette comment d dans de des du elle en est et il ils j je l la "
    "le les leur ne nous on ou où par pas pour pourquoi qu quand que quel quelle qui quoi "
    "s sa se ses son sont sur un une vous à",
    "es": "a al como con cuál cuándo cómo de del dónde el ella en es esta este la las le lo los "
    "no o para pero por porque que quien quién qué se sin son su sus un una y",
    "pt": "a ao aos as com como da das de do dos e em foi mais na não no nos o onde os ou para "
    "pela pelo por quando que quem se sem seu sua são um uma é à",
    "it": "a al che chi come con cosa da dal dei del della delle di dove e gli i il in la le lo "
    "ma nel nella non o per perché quale quando se si sono su un una è",
    "nl": "aan als bij dat de den der die dit door een en er had hebben heeft het hij hoe ik in "
    "is met naar niet of om onder op te tot uit van voor waar was wat wie wordt zijn",
    "sv": "att av de den det du där efter en ett för från han har hur i inte jag kan med men "
    "när och om på som till var vad vem vi är",
    "da": "af at de den der det du en er et for fra han har hvad hvem hvor hvordan i ikke jeg "
    "med men og om på som til var vi",
    "no": "av at de den der det du en er et for fra ha han har hva hvem hvor hvordan i ikke jeg "
    "med men og om på som til var vi",
    "fi": "ei että hän ja jos joka kuin kuka minä miksi missä mikä mitä mutta myös ne ole oli "
    "on ovat se tai tämä",
    "pl": "a ale albo czy dla do gdzie i jak jest jego jej już kto które który kiedy na nie o "
    "od po przez są się tak to w z za że",
    "cs": "a ale ani co do i jak je jeho její jsou jste k kde kdo kdy který která na nebo o od "
    "po pro proč s se si to v ve z za že",
    "ru": "а без был была были было быть в во вы где для до его ее если есть и из или их к как "
    "ко когда который кто мы на не но о об он она они от по почему при с со так там то у "
    "что чем это я",
    "uk": "а або але в від він вона до є з за і із й його її на не о по при про та те то у хто "
    "це що як який",
    "tr": "bir bu da de için ile ki mi mı ne neden nasıl olan olarak ve veya",
    "hu": "a az egy és hogy ha hol is ki mi mit nem vagy volt",
    "ro": "a al ale ce care cu cum de din este fi în la mai nu o pe pentru prin sau se sunt și "
    "un unde",
    "el": "από για δεν είναι η και με να ο οι που πως σε στη στην στο τα τη την της τι το του των",
    "ar": "إلى أن أو التي الذي في كان كيف لا ما متى من هذا هذه هل هو هي و على عن مع",
    "zh": "的 了 是 在 和 与 及 或 也 就 都 而 之 着 吗 呢 吧 啊 什么 怎么 怎样 如何 为什么 "
    "为何 哪 哪个 哪些 哪里 谁 多少 是什么 是谁 有哪些 这 那",
    "ja": "の は が を に で と も へ から まで や か です ます する した いる ある この その "
    "とは 何",
    "ko": "이 그 저 은 는 가 을 를 의 에 와 과 도 및 수 것 무엇",
}
_SETS = {lang: frozenset(words.split()) for lang, words in _STOP_WORDS.items()}

_QUESTIONS = (
    "什么 么是 是什 些什 了什 哪个 哪些 哪一 哪里 哪年 哪种 是哪 在哪 多少 几个 多久 如何 怎么 "
    "怎样 为什 为何 何时 何地 何种 是谁 谁是 由谁 是否 的是 是的 是在"
)
#: Bigrams of Chinese questions, which say nothing about the answer: without them the right
#: paragraph is first for 0.972 of the questions of CMRC 2018, with them for 0.962.
QUESTION_BIGRAMS = frozenset(_QUESTIONS.split())


def stop_words(words: Iterable[str], languages: Sequence[str]) -> frozenset[str]:
    """Those of `words`, normal and simplified, that a query does without.

    Stop words of one language are words of others ("war", "die", "son"): the language of a query
    is the most frequent of the database, unless it has several stop words of another one, and
    more.
    """
    typed = frozenset(words)
    found = [typed & _SETS.get(lang, frozenset()) for lang in languages[:1]]
    found += [own for lang in languages[1:] if len(own := typed & _SETS.get(lang, frozenset())) > 1]
    return max(found, key=len, default=frozenset())


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
_KEPT_STEMS = 50_000
#: In Portuguese without accents "ações" and "ação" have no stem in common.
_PLURALS = {"pt": ("oes", "ao")}
#: In French without accents the ending of "mangée" is two endings.
_TWICE = frozenset(("fr",))

#: The words of a normal text: compatible forms may be several words, "½" or "ﷺ".
_NORMAL_WORDS = re.compile(rf"[^\W_](?:[^\W_]|[{MARKS}])*|[{SYMBOL}]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
#: Letters that Unicode does not decompose, as readers who lack them write them; Russian yo;
#: the forms of alef, yeh, waw, heh and kaf on the keyboards of all languages with Arabic letters;
#: the two dots of Devanagari over nasal vowels.
_LETTERS_AS = str.maketrans(
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
        "ə": "e",
        "ё": "е",
        "أ": "ا",
        "إ": "ا",
        "آ": "ا",
        "ٱ": "ا",
        "ى": "ي",
        "ی": "ي",
        "ئ": "ي",
        "ؤ": "و",
        "ک": "ك",
        "ة": "ه",
        "ہ": "ه",
        "ۂ": "ه",
        "ۃ": "ه",
        "ۀ": "ه",
        "ـ": "",
        "\u0901": "\u0902",
    }
)
#: Points of Hebrew and Arabic vowels, signs of recitation and the nukta of Devanagari, which most
#: texts leave out.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u093c]+"
)
#: Thai and Lao as they are typed: the two signs of a vowel with the mark of the tone between them,
#: and one vowel as two of another.
_THAI = re.compile("([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb])(?=[\u0e32\u0eb2])|\u0e40\u0e40")
#: A nasal before a consonant of Devanagari, for which many write a dot.
_NASAL = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
_IS_THAI = re.compile("[\u0e32\u0e40\u0eb2]")
_ACCENTS = re.compile("(?<![\u0400-\u052f])[\u0300-\u036f]+")
#: Accents that are left when Cyrillic letters are composed mark the stress.
_STRESS = re.compile("[\u0300-\u036f]+")


def normal(text: str) -> str:
    """`text` in lower case, compatible forms as one (full-width letters, ligatures), without
    characters that nobody sees."""
    if text.isascii():
        return text.lower()
    made = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _THAI.sub(_as_written, made) if _IS_THAI.search(made) else made


def _as_written(typed: re.Match[str]) -> str:
    return f"{typed[2]}{typed[1]}" if typed[1] else "\u0e41"


def plain(word: str) -> str:
    """A normal word without diacritics, where they may be left out: in Latin, Greek, Hebrew,
    Arabic and Devanagari letters, and marks of stress in Cyrillic ones."""
    if word.isascii():
        return word
    apart = _POINTS.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS_AS)))
    apart = _NASAL.sub("\u0902", apart)
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
        self._plural = _PLURALS.get(lang or "")
        #: Vietnamese tells words apart by them.
        self.keeps_accents = lang == "vi"

    def __missing__(self, word: str) -> str:
        if len(self) >= _KEPT_STEMS:
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
        parts = [whole] if name.isascii() else _NORMAL_WORDS.findall(whole)
        stems = [self.stem(part) for part in parts]
        if name != word and parts:
            # No page has these characters, which normalising turns into + and #.
            stems.append(parts[-1] + ("＋＋" if word[-1] == "+" else "＃"))
        return " ".join(stems)

    def folded(self, word: str) -> str:
        """A normal word, without a stemmer."""
        return (word if self.keeps_accents else plain(word))[:LONGEST]

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
        if self._plural and len(word) > 4 and word.endswith(self._plural[0]):
            word = word.removesuffix(self._plural[0]) + self._plural[1]
        stem: str = stemmer.stemWord(word)
        if self._twice:
            stem = stemmer.stemWord(stem)
        # Summer, été, is no "et"; but PCs are a PC.
        return word if len(stem) < 3 <= len(word) and word[-1] != "s" else stem


#: Digits of other scripts, by their ASCII digits; compatible ones become these anyway.
_DIGITS = {
    char: str(unicodedata.digit(char))
    for char in map(chr, range(0x80, 0x20000))
    if unicodedata.category(char) == "Nd" and unicodedata.normalize("NFKC", char) == char
}
#: Letters, for Unicode, that look like an apostrophe: of Hawaiian, Uzbek, Ukrainian, Saltillo ...
_QUOTES = "\u02b9\u02bb-\u02bf\ua78b\ua78c\u07f4\u055a"
_QUOTE = re.compile(f"[{_QUOTES}]")
#: A mark of a footnote or an ordinal after a word; after two letters it is a power: cm².
_RAISED = re.compile(
    r"(?<=[^\W\d_]{3})[\xaa\xba\xb9\xb2\xb3\u2070-\u2079]+(?!\w)|(?<=[0-9])[\xb9\xb2\xb3\u2070-\u2079]+(?!\w)"
)
#: Within a Hebrew word: gershayim and geresh, or what is typed for them.
_GERSHAYIM = re.compile("(?<=[\u05d0-\u05ea])[\"'\u05f3\u05f4\u2019\u201d](?=[\u05d0-\u05ea])")
#: Joins what stands around it to one word, and is not seen.
_JOINER = "\u2060"
#: What a text has beyond ASCII if something in it is to be changed.
_UNLIKE = re.compile(
    f"[{_ranges(sorted(_DIGITS))}{_QUOTES}\xaa\xba\xb9\xb2\xb3\u2010\u2011\u2070-\u2079"
    "\u05d0-\u05ea]"
)
#: Hyphens, one of which breaks no line, are that of keyboards.
_ALIKE = str.maketrans(_DIGITS | dict.fromkeys("\u2010\u2011", "-"))


def alike(text: str) -> str:
    """`text` with one character for those that are typed for one another, each in its place.

    Digits of all scripts are ASCII digits, letters like an apostrophe are one, and the quote within
    a Hebrew acronym joins it. A raised mark after a word is a blank.
    """
    if text.isascii() or not _UNLIKE.search(_beyond(text)):
        return text
    text = _GERSHAYIM.sub(_JOINER, _QUOTE.sub("'", text.translate(_ALIKE)))
    return _RAISED.sub(lambda marks: " " * len(marks[0]), text)


class Inner(NamedTuple):
    """A word that a text has from `start` to `end` in another spelling, or within another one."""

    start: int
    end: int
    word: str


#: A name whose words begin with capital letters, or that has a number: textDraw, XMLHttpRequest,
#: HTML5, iPhone14.
_CAMEL = re.compile(
    r"(?<![^\W_])(?:(?=[A-Z\d]*[a-z])[A-Za-z\d]*[a-z\d][A-Z][A-Za-z\d]*"
    r"|(?:[A-Za-z]*[a-z]{3}|[A-Z]{3,8})\d{1,5}(?![^\W_]))"
)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: A number with its unit: 10km, 1.5GB.
_MEASURE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([A-Za-z\xb5]{1,3})(?!\w)")
#: A word whose letters have dots, U.S.A. and Ph.D., one that ends as names of programs do, and
#: H.264.
_DOTTED = re.compile(
    r"(?<![\w.])(?:(?:[A-Za-z]{1,2}\.){2,6}[A-Za-z]?(?!\w)"
    r"|(?:[A-Za-z]{2,20}\.(?:js|JS|net|NET|io)|[A-Za-z]\.\d{2,4})(?![\w.]))"
)
#: A letter or digit that makes a word of a number beside it, as those of Chinese do not: 1,000円.
_LETTER_OF_WORDS = rf"[^\W{CJK}]"
#: A number whose thousands are separated: 1,234,567 and 1.234.567, 12,34,567 and 1 234 567.50.
_NUMBER = re.compile(
    rf"(?<![.,])(?<!{_LETTER_OF_WORDS})"
    r"(?P<whole>\d{1,3}(?P<mark>[.,'’ \u2009\u202f\xa0])(?:\d{2,3}(?P=mark))*\d{3})"
    rf"(?:[.,](?P<part>\d{{1,2}}))?(?!{_LETTER_OF_WORDS}|[.,]\d)"
)
_NOT_DIGIT = re.compile(r"\D+")
_EASTERN_UNIT = re.compile(f"[{CJK}]{{1,2}}")
_ELISION = "[cdjlmnst]|qu|jusqu|lorsqu|un|all|dall|dell|nell|sull"
#: What stands for an apostrophe, and the dot of Catalan.
_BREAKS = "'’‘·"
#: A word with an apostrophe that is no article before it, and no verb or genitive behind it.
_BROKEN = re.compile(
    rf"(?<![\w'’])(?:(?:{_ELISION})['’])?(?!(?:{_ELISION})['’])"
    rf"(?P<word>[^\W\d_]+(?:[{_BREAKS}](?!(?:s|t|d|m|ll|re|ve)\b)[^\W\d_]+)+)",
    re.IGNORECASE,
)
#: A word with a hyphen or two, which many leave out: e-mail, wi-fi, utf-8, 0800-123-456.
_HYPHENS = re.compile(
    r"(?<![\w-])(?:[^\W_]{1,20}(?:-[^\W_]{1,20}){1,2}|\d{1,7}(?:-\d{1,7}){3,5}(?:-[\dX])?)(?![\w-])"
)
#: A word of Persian and its like, whose parts a joiner of no width keeps apart.
_JOINED = re.compile("[^\\W_]+(?:\u200c[^\\W_]+)+")
_APOSTROPHE = re.compile(f"[{_BREAKS}]")
#: Characters as their classes, by which places are found that may have such words.
_SHAPES = bytes(
    46
    if code == 46
    else ord(
        "A" if 65 <= code <= 90 else "a" if 97 <= code <= 122 else "0" if 48 <= code <= 57 else "'"
    )
    for code in range(256)
)
#: Characters before and behind a place; the words are shorter.
_AROUND = 80


def within(text: str) -> Iterator[Inner]:
    """The words that people look for where an `alike` text has another: parts of names in
    camelCase, numbers without separators, words without an apostrophe, dots or a hyphen."""
    shape = _shape(text)
    yield from _within_pieces(text, shape)
    yield from _numbers(text, shape)


def _shape(text: str) -> bytes:
    """By it places are found in a tenth of the time that expressions take for all of the text."""
    return text.encode("latin-1", "replace").translate(_SHAPES)


def _numbers(text: str, shape: bytes) -> Iterator[Inner]:
    """Numbers without separators, which may be blanks."""
    for found in _around(_NUMBER, text, shape.replace(b".", b"'"), b"0'000"):
        whole = _NOT_DIGIT.sub("", found["whole"])
        yield Inner(*found.span("whole"), whole)
        if unit := _EASTERN_UNIT.match(text, found.end("whole")):
            yield Inner(found.start(), unit.end(), whole + unit[0])
        if found["part"]:
            yield Inner(*found.span(), f"{whole} {found['part']}")


def _within_pieces(text: str, shape: bytes) -> Iterator[Inner]:
    """All others; blanks divide them as the ends of a text do."""
    for place in (b"aA", b"0A", b"a0", b"A0"):
        for found in _around(_CAMEL, text, shape, place):
            yield from _humps(found)
    for place in (b"0a", b"0A"):
        for found in _around(_MEASURE, text, shape, place):
            yield Inner(*found.span(), f"{found[1]} {found[2]}")
    for place in (b"a.a", b"A.A", b"a.A", b"a.0", b"A.0"):
        for found in _around(_DOTTED, text, shape, place):
            yield Inner(*found.span(), found[0].replace(".", ""))
    if "\u200c" in text:
        for found in _JOINED.finditer(text):
            yield from (Inner(*found.span(), part) for part in found[0].split("\u200c"))
    for mark in _BREAKS:
        for found in _around(_BROKEN, text, text, mark):
            yield Inner(*found.span("word"), _APOSTROPHE.sub("", found["word"]))
    for found in _around(_HYPHENS, text, text, "-"):
        yield Inner(*found.span(), found[0].replace("-", ""))
        if found[0].count("-") == 2:
            first, second = found[0].find("-"), found[0].rfind("-")
            start = found.start()
            yield Inner(start, start + second, found[0][:second].replace("-", ""))
            yield Inner(start + first + 1, found.end(), found[0][first + 1 :].replace("-", ""))


def _humps(name: re.Match[str]) -> Iterator[Inner]:
    """The words of a name, and its digits with the word before them: html5 of HTML5Parser."""
    start, before = name.start(), ""
    for part in _HUMP.finditer(name[0]):
        place = start + part.start(), start + part.end()
        yield Inner(*place, part[0])
        if part[0].isdigit() and before:
            yield Inner(place[0] - len(before), place[1], before + part[0])
            yield Inner(start, place[0], name[0][: part.start()])
        before = part[0]


def _around(
    pattern: re.Pattern[str], text: str, searched: AnyStr, place: AnyStr
) -> Iterator[re.Match[str]]:
    """The matches of `pattern` where `searched`, which is as long as `text`, has `place`."""
    at = searched.find(place)
    while at >= 0:
        end = at + 1
        for found in pattern.finditer(text, max(0, at - _AROUND), at + _AROUND):
            if found.start() <= at < found.end():
                yield found
                end = found.end()
                break
        at = searched.find(place, end)


#: Languages that have a way of their own.
_KNOWN = ALGORITHMS.keys() | _NOT_LATIN | {"vi"}


def known(lang: str | None) -> str | None:
    """`lang`, ISO 639-1, if it has a vocabulary of its own, else None."""
    return lang if lang in _KNOWN else None


def segmented_as(lang: str | None) -> str | None:
    """The language, or None, as whose texts those of `lang` are segmented."""
    return lang if lang in BIGRAM_LANGUAGES else known(lang)


def vocabulary(lang: str | None) -> Vocabulary:
    """The vocabulary of a language, ISO 639-1; of a text whose language is not known: no stems."""
    return _vocabulary(known(lang))


@cache
def _vocabulary(lang: str | None) -> Vocabulary:
    return Vocabulary(lang)


#: Changes with every change of the tokens that a page has: an index of another version must be
#: rebuilt.
VERSION = 7

#: Marks a bigram that begins with a letter or digit of another script.
LETTER = "ǀ"
#: Marks a word without the signs that tell it apart from others in its language.
PLAIN = "ǂ"
#: Marks a long word that is written backwards.
BACK = "ǁ"
#: Languages that write compounds in one word, and the letters of a compound and of a part of it.
COMPOUNDING = frozenset(("da", "de", "fi", "nb", "nl", "nn", "no", "sv"))
_COMPOUND, _PART = 9, 4
#: Languages whose pages have bigrams of all words.
BIGRAM_LANGUAGES = frozenset(("zh", "ja", "ko"))

_GRAMS = re.compile(f"[{CJK}{TRIGRAM}]")
_CJK = re.compile(f"[{CJK}]")
_TRIGRAM = re.compile(f"[{TRIGRAM}]")
_SYMBOL = re.compile(f"[{SYMBOL}]")
#: The end of C++ and C#, which is part of the word.
_END = r"(?:\+\+(?![a-z+])|\#(?![a-z0-9#])|(?<=\b[cf])\#(?=\d))?"
_ASCII_WORDS = re.compile(rf"[a-z0-9]+{_END}")
_WORDS = re.compile(rf"[\w{MARKS}{INVISIBLE}]+{_END}|[{SYMBOL}]")
#: Runs of a normal text: words, with the CJK characters that touch them; texts of `TRIGRAM`;
#: symbols.
#: Marks and radicals of Chinese characters are no characters of words for `re`.
_RUNS = re.compile(rf"(?:[^\W_{TRIGRAM}]+|[\u2e80-\u2fdf{MARKS}]+)+{_END}|[{TRIGRAM}]+|[{SYMBOL}]")
_LETTER = rf"[^\W_{TRIGRAM}{CJK}]"
_WORDS_OF_RUN = re.compile(rf"{_LETTER}(?:{_LETTER}|[{MARKS}{INVISIBLE}])*{_END}")
#: A blank between letters or digits and Chinese or Japanese: typography, which many leave out.
_EAST = "\u3041-\u30ff\u4e00-\u9fff"
_GLUE = re.compile(rf" (?:(?<=[a-z0-9] )(?=[{_EAST}])|(?<=[{_EAST}] )(?=[a-z0-9]))")
_NOT_IN_GRAMS = re.compile(rf"[+#{MARKS}]+")
_LETTERS = re.compile(rf"[^\x00-\x7f{CJK}{TRIGRAM}{SYMBOL}]")
#: The sign of a long vowel that ends a word in katakana, which many leave out.
_LONG_VOWEL = re.compile("(?<=[\u30a1-\u30fc]{3})\u30fc(?![\u30a1-\u30fc])")
#: In bigrams of runs that are separated by line breaks: the two ends of a break.
_BREAK = re.compile(r"\n \n. ", re.DOTALL)
_BEFORE_LETTER = re.compile(rf" (?=[^\s{CJK}{SYMBOL}])")


#: ASCII, and a table that makes blanks of those that are never part of a word.
_ASCII = bytes(range(128))
_PARTED = bytes(
    code if chr(code).isalnum() or chr(code) in "+#" or code > 127 else 32 for code in range(256)
)
#: Those that are blanks for `str` alone are some for `bytes`.
_SEPARATED = bytes(32 if code < 128 and chr(code).isspace() else code for code in range(256))
#: Forms that are remembered of the words of each language, and the bytes of a word.
_KEPT = 50_000
_LONGEST = 64
#: The cache of the compiled module: a key, and a power of two of slots, each a line of the cache
#: of a processor.
_CACHE, _KEY = 16 + (64 << 14), 16


class _Forms(dict[bytes, bytes]):
    """What `form` makes of words, in UTF-8; most words of a text were asked for before.

    Only `odd` ones have a form: not those that are a word of letters, with signs around it.
    """

    def __init__(self, form: Callable[[str], str], *, odd: bool = False) -> None:
        super().__init__()
        self._form = form
        self._odd = odd
        self._cache = bytearray(_CACHE)
        self._cache[:_KEY] = os.urandom(_KEY)

    def of(self, text: bytes) -> str:
        """The forms of the words between the blanks of ASCII, separated by one; no empty ones."""
        if native is not None:
            return _decoded(native.word_forms(self._cache, text, self._made, self._odd))
        return _decoded(b" ".join(filter(None, map(self.__getitem__, text.split()))))

    def __missing__(self, word: bytes) -> bytes:
        made = self._made(word)
        if len(word) <= _LONGEST:
            if len(self) >= _KEPT:
                self.clear()
            self[word] = made
        return made

    def _made(self, word: bytes) -> bytes:
        return self._form(_decoded(word)).encode("utf-8", "surrogatepass")


class RunKind(Enum):
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
    text = alike(text)
    if lang in BIGRAM_LANGUAGES:
        return " ".join(filter(None, _dense(runs(text), vocabulary(lang))))
    data = text.encode("utf-8", "surrogatepass")
    if not text.isascii() and _GRAMS.search(_decoded(data.translate(None, _ASCII))):
        return " ".join(filter(None, _mixed(runs(text), vocabulary(lang))))
    # Three times as fast as finding words by an expression, which few pieces need.
    return _pieces(known(lang)).of(data.lower().translate(_PARTED))


def index_tokens(text: str, lang: str | None) -> str:
    """The tokens of `text` for the index: `tokens`, then those of the words `within` it."""
    text, words = alike(text), vocabulary(lang)
    data = text.encode("utf-8", "surrogatepass").translate(_SEPARATED)
    found = _inner(segmented_as(lang)).of(data).replace("\n ", "\n")
    extra = dict.fromkeys(found.split("\n"))
    numbers = (each.word for each in _numbers(text, _shape(text)))
    extra |= dict.fromkeys(tokens(word, segmented_as(lang)) for word in numbers)
    if words.keeps_accents:
        signed = (word for word in runs(text) if not word.isascii())
        extra |= dict.fromkeys(PLAIN + plain(word) for word in signed if plain(word) != word)
    made = tokens(text, lang)
    if lang in COMPOUNDING:
        long = (token for token in dict.fromkeys(made.split(" ")) if len(token) >= _COMPOUND)
        extra |= dict.fromkeys(BACK + token[::-1] for token in long if token.isalpha())
    return " ".join(filter(None, (made, *extra)))


@cache
def _inner(lang: str | None) -> _Forms:
    """The tokens of the words within what stands between blanks, without numbers, each in a line;
    most pieces have none."""

    def form(piece: str) -> str:
        return "".join(map(line, filterfalse(_is_word, piece.split())))

    def line(part: str) -> str:
        found = _within_pieces(part, _shape(part))
        return "".join(f"{tokens(each.word, lang)}\n" for each in found)

    return _Forms(form, odd=True)


def _is_word(part: str) -> bool:
    """Whether it is only a word, and signs around it."""
    core = part.strip(string.punctuation)
    return core.isalpha() and (core.islower() or core.istitle())


@cache
def _pieces(lang: str | None) -> _Forms:
    """The tokens of what stands between blanks and ASCII punctuation: nearly always a word."""
    words = vocabulary(lang)

    def form(piece: str) -> str:
        if piece.isascii() and piece.isalnum():
            return words[piece]
        return " ".join(filter(None, map(words.__getitem__, _WORDS.findall(piece.casefold()))))

    return _Forms(form)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _beyond(text: str) -> str:
    """The characters of `text` beyond ASCII."""
    return _decoded(text.encode("utf-8", "surrogatepass").translate(None, _ASCII))


def runs(text: str) -> list[str]:
    """The words of `text` and its runs of CJK and other characters, normal and simplified."""
    text = alike(text)
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    # Chinese punctuation is not normal; what is left after it mostly is, and known as such fast.
    found = "\n".join(_RUNS.findall(_GLUE.sub("", _INVISIBLE.sub("", text.casefold()))))
    clean = normal(found)
    if "\u30fc" in clean:
        clean = _LONG_VOWEL.sub("", clean)
    if clean != found:
        return _RUNS.findall(simplify(clean))
    return simplify(clean).split("\n") if clean else []


def kind_of(run: str) -> RunKind:
    """The kind of one of `runs`."""
    if run.isascii():
        return RunKind.WORD
    if _CJK.search(run):
        return RunKind.CJK
    if _TRIGRAM.match(run):
        return RunKind.TRIGRAM
    return RunKind.SYMBOL if _SYMBOL.match(run) else RunKind.WORD


def has_stems(text: str) -> bool:
    """Whether pages may have the tokens of `text` for other words: not those of Chinese text."""
    return all(kind_of(run) is RunKind.WORD for run in runs(text))


def words_of(runs: str) -> list[str]:
    """The words in letters of other scripts that runs of CJK characters have."""
    return _WORDS_OF_RUN.findall(runs)


def grams(run: str) -> list[str]:
    """The bigrams or trigrams of a run, a word's too, and the shorter ones at its end."""
    kind = kind_of(run)
    if kind is RunKind.TRIGRAM:
        return [run[at : at + 3] for at in range(len(run))]
    if kind is RunKind.SYMBOL:
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
        if kind_of(run) is RunKind.WORD:
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
    text = "\n".join(filter(None, text.split("\n"))) if "\n\n" in text else text.strip("\n")
    size = len(text)
    if not size:
        return ""
    source = memoryview((text + "\n").encode("utf-32-le")).cast("I")
    target = memoryview(bytearray(" ".encode("utf-32-le") * (3 * size))).cast("I")
    target[0::3] = source[:-1]
    target[1::3] = source[1:]
    pairs = _BREAK.sub(" ", str(target, "utf-32-le"))
    return _BEFORE_LETTER.sub(f" {LETTER}", " " + pairs).strip()


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
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa"}
)
#: A name that is written without its umlaut: Mueller, Koeln.
_NAME = re.compile(r"[A-Z]?[b-df-hj-np-tv-z]*([AaOoUu])e(?=[b-df-hj-np-tv-z])")
#: French and Italian articles and the like, before the apostrophe; the English genitive.
_CLITICS = re.compile(rf"^(?:{_ELISION})['’](?=\w{{2}})|(?<=\w\w)['’]s$", re.IGNORECASE)
#: English verbs with "not" whose apostrophe is left out.
_NOT = re.compile(
    r"^(ai|are|ca|could|did|do|does|had|has|have|is|must|need|should|was|were|wo|would)nt$",
    re.IGNORECASE,
)
#: A name with its number, between which pages put a blank: iso9001, oauth2.0.
_NUMBERED = re.compile(r"^([A-Za-z]{2,20})(\d+(?:\.\d+)*)$")
#: The number of a version, which pages write with and without a "v".
_VERSION = re.compile(r"^([vV]?)(\d+(?:\.\d+)+(?:[-+.]\w+)*)$")


def forms(
    text: str, languages: Sequence[str], prefix: bool = False, *, as_typed: bool = False
) -> tuple[Form, ...]:
    """The alternatives for `text`, a word or a phrase, in a database with pages in `languages`.

    Each language gives the form that its pages have; most of them are equal. `prefix`: the last
    word is the beginning of one; `as_typed`: there is one spelling. Empty if `text` has no word.
    """
    found: dict[Form, None] = {}
    for spelling in [text] if as_typed else _spellings(text):
        pieces = runs(spelling)
        for lang in (None, *languages):
            found[_form(pieces, lang, prefix)] = None
            is_plain = len(pieces) == 1 and plain(pieces[0]) == pieces[0]
            if vocabulary(lang).keeps_accents and is_plain and not as_typed:
                # It is any of the words with signs.
                found[Form((PLAIN + pieces[0],), prefix)] = None
            if prefix and len(pieces) == 1:
                found.update(dict.fromkeys(_stems_before(pieces[0], lang)))
        if _is_short(pieces, languages):
            found[_sequence(pieces)] = None
    return tuple(form for form in found if form.tokens)


def compounds(text: str, languages: Sequence[str]) -> tuple[Form, ...]:
    """The tokens of longer words of which `text`, a word, may be the end or the beginning."""
    if len(text) < _PART or not text.isalpha() or not has_stems(text):
        return ()
    found: dict[Form, None] = {}
    for lang in COMPOUNDING.intersection(languages):
        stem = vocabulary(lang)[text]
        if len(stem) >= _PART and " " not in stem:
            found |= {Form((BACK + stem[::-1],), True): None, Form((stem,), True): None}
    return tuple(found)


#: Letters that join the parts of a compound.
_JOINTS = ("s", "n", "e", "es", "en", "er")


def beside(token: str, stem: str) -> list[str]:
    """Return the rest of a compound beside `stem`, with and without the letters that join them.

    Empty if `token` is no compound that begins or ends with it.
    """
    left = len(token) - len(stem)
    if len(token) < _COMPOUND or len(stem) < _PART or left < _PART - 1:
        return []
    if token.endswith(stem):
        rest = token[:left]
        found = [rest, *(rest.removesuffix(joint) for joint in _JOINTS)]
    elif token.startswith(stem):
        rest = token[len(stem) :]
        found = [rest, *(rest.removeprefix(joint) for joint in _JOINTS)]
    else:
        return []
    return [each for each in dict.fromkeys(found) if len(each) >= _PART - 1]


def parts(text: str, languages: Sequence[str]) -> tuple[Form, ...]:
    """The single tokens of `text`: what a search asks for if no page has all of it. Empty if
    `text` is one word."""
    pieces = runs(text)
    if len(pieces) == 1 and kind_of(pieces[0]) is RunKind.WORD:
        return ()
    found: dict[Form, None] = {}
    for piece in pieces:
        words = [piece]
        if kind_of(piece) is not RunKind.WORD:
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
    without its article, dont as don't, 2.4.1 as v2.4.1 and back, iso9001 as ISO 9001."""
    found = [text, text.translate(_UMLAUTS), re.sub("aa", "å", text, count=1, flags=re.IGNORECASE)]
    found.append(_NUMBERED.sub(r"\1 \2", text))
    found += [_CLITICS.sub("", text), _NOT.sub(r"\1n't", text), text.replace("\u200c", " ")]
    inner = [*within(alike(text))]
    found += [each.word for each in inner if each[:2] == (0, len(text))]
    if text.isalpha() and len(inner) > 1:
        # Some programs write checkToolCall, others check_tool_call.
        found.append(" ".join(each.word for each in inner))
    if version := _VERSION.match(text):
        found.append(version[2] if version[1] else f"v{text}")
    if text[:1].isupper() and len(text) > 4 and " " not in text:
        found.append(without_umlaut(text))
    return list(dict.fromkeys(found))


def without_umlaut(word: str) -> str:
    """A word as if the first two letters that may stand for an umlaut did: Muller of Mueller."""
    return _NAME.sub(lambda name: name[0][:-1], word, count=1)


def _form(pieces: Sequence[str], lang: str | None, prefix: bool) -> Form:
    """The tokens of `pieces` in a page of `lang`."""
    kinds = list(map(kind_of, pieces))
    if lang in BIGRAM_LANGUAGES and RunKind.CJK in kinds:
        return _sequence(pieces)
    words = vocabulary(lang)
    tokens: list[str] = []
    for piece, kind in zip(pieces[:-1], kinds, strict=False):
        tokens += words[piece].split() if kind is RunKind.WORD else grams(piece)
    if kinds[-1:] != [RunKind.WORD]:
        last = _sequence(pieces[-1:])
        return Form((*tokens, *last.tokens), last.prefix)
    last_word = words.folded(pieces[-1]) if prefix else words[pieces[-1]]
    return Form((*tokens, *last_word.split()), prefix)


def _sequence(pieces: Sequence[str]) -> Form:
    """The bigrams or trigrams of `pieces`, of which the last may go on in the page."""
    tokens = [token for piece in pieces[:-1] for token in grams(piece)]
    for piece in pieces[-1:]:
        kind, last = kind_of(piece), grams(piece)
        if kind is RunKind.SYMBOL or not last:
            return Form((*tokens, *last))
        ends = 2 if kind is RunKind.TRIGRAM else 1
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
        and all(kind_of(piece) is RunKind.WORD for piece in pieces)
        and sum(map(len, pieces)) <= _SHORT
        and languages[0] in BIGRAM_LANGUAGES
    )
