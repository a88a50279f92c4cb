"""The language of a page: as declared, unless its text says another."""

import re
from collections.abc import Iterable

from turbohtml.detect import detect_language

#: ISO 639-1 of the languages that the detector knows by their ISO 639-3. Norwegian is one.
_SHORT = (
    {"afr": "af", "aka": "ak", "amh": "am", "ara": "ar", "aze": "az", "bel": "be", "ben": "bn"}
    | {"bul": "bg", "cat": "ca", "ces": "cs", "cmn": "zh", "dan": "da", "deu": "de", "ell": "el"}
    | {"eng": "en", "epo": "eo", "est": "et", "fin": "fi", "fra": "fr", "guj": "gu", "heb": "he"}
    | {"hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy", "ind": "id", "ita": "it", "jav": "jv"}
    | {"jpn": "ja", "kan": "kn", "kat": "ka", "khm": "km", "kor": "ko", "lat": "la", "lav": "lv"}
    | {"lit": "lt", "mal": "ml", "mar": "mr", "mkd": "mk", "mya": "my", "nep": "ne", "nld": "nl"}
    | {"nob": "no", "ori": "or", "pan": "pa", "pes": "fa", "pol": "pl", "por": "pt", "ron": "ro"}
    | {"rus": "ru", "sin": "si", "slk": "sk", "slv": "sl", "sna": "sn", "spa": "es", "srp": "sr"}
    | {"swe": "sv", "tam": "ta", "tel": "te", "tgl": "tl", "tha": "th", "tuk": "tk", "tur": "tr"}
    | {"ukr": "uk", "urd": "ur", "uzb": "uz", "vie": "vi", "yid": "yi", "zul": "zu"}
)
_KNOWN = frozenset(_SHORT.values())
#: Other codes for the same languages.
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "cn": "zh", "jp": "ja"}
_SAME |= _SHORT
#: Scripts that several languages share, so that few words do not tell which one it is.
_SHARED = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
#: Characters from the middle of a text that are examined, at 0.1 ms for 300 and 0.25 ms for 2,000:
#: the detector agrees with most declarations after a few, and is right nearly always after many.
_FEW = 300
_MANY = 2000
#: Frequent words. In translations of programs they are more than a seventh of the words of nearly
#: all texts in their language, and of none in another that the detector knows, but for some in
#: Afrikaans. Romance languages share too many of theirs. Counting takes a fifth of the detector's
#: time.
_FREQUENT = {
    lang: frozenset(words.split())
    for lang, words in {
        "en": "the of and to is that with this are from by you be for or it in on not",
        "de": "der die das und ist nicht mit für von den dem ein eine zu sich auf auch werden",
    }.items()
}
_FREQUENT_SHARE = 7
#: Characters in which they are counted, and the fewest words.
_SOME = 400
_LEAST = 20
#: Where a text is in it but is said to be in another language, it is to be replaced: lorem ipsum.
_PLACEHOLDERS = frozenset(("la",))
#: Fewer characters are not enough to doubt a declaration.
_ENOUGH = 200
#: Confidence from which the detector is right nearly always. Pages with less are mixtures, such as
#: listings of products and programs.
_SURE = 0.5
#: Four words of a sentence and its end, and the most characters for each in a text that is no list.
_SENTENCE = re.compile(r"(?:[^\W\d_]{1,30},? ){3}[^\W\d_]{1,30}[.!?\u2026\u061f\u06d4\u0964]")
_LONGEST = 400
#: Letters of other scripts than Latin. A text with a fifth of them is in another script: the rest
#: are names, programs and paths. If it was declared so, a twentieth is enough.
_OTHER = re.compile("[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufdff]+")
_OTHER_SHARE = 5
_DECLARED_SHARE = 20


def language(text: str, declared: Iterable[str | None]) -> str | None:
    """Return the language of `text` in ISO 639-1; None if it is not known.

    The first of `declared` that is a language counts, unless the text contradicts.
    """
    named = next(filter(None, map(_code, declared)), None)
    if _is_usual(text, named):
        return named
    if named in _KNOWN and _SHORT.get(detect_language(_middle(text, _FEW)).language or "") == named:
        return named
    sample = _middle(text, _MANY)
    if not sample.isascii():
        other = " ".join(_OTHER.findall(sample))
        share = len(sample) / (len(other) or 0.001)
        if share <= _DECLARED_SHARE and _SHORT.get(detect_language(other).language or "") == named:
            return named
        if share <= _OTHER_SHARE:
            sample = other
    found = detect_language(sample)
    code = _SHORT.get(found.language or "")
    if code is None:
        return named
    sure = found.confidence >= _SURE and (found.script not in _SHARED or len(sample) >= _ENOUGH)
    if named is None:
        return code if sure or len(sample) >= _ENOUGH else None
    if named == code or not sure or code in _PLACEHOLDERS:
        return named
    if found.script in _SHARED and len(sample) > _LONGEST * len(_SENTENCE.findall(sample)):
        return named  # a list of names, which the detector is sure of, too
    if code == "zh" and named == "ja" and len(sample) < _ENOUGH:
        return named  # short Japanese titles may have no kana
    # The detector takes a language that it does not know for a similar one.
    return code if named in _KNOWN or found.script not in _SHARED else named


def _is_usual(text: str, lang: str | None) -> bool:
    """Whether `text` has the words that texts in `lang` have."""
    frequent = _FREQUENT.get(lang or "")
    if frequent is None:
        return False
    words = _middle(text, _SOME).lower().split()
    return len(words) >= _LEAST and (
        _FREQUENT_SHARE * sum(map(frequent.__contains__, words)) >= len(words)
    )


def _middle(text: str, size: int) -> str:
    return text[max(0, len(text) - size) // 2 :][:size]


def _code(declared: str | None) -> str | None:
    """ISO 639-1 of a declaration such as "en-GB", "zh_CN" or "en, fr"."""
    code = (declared or "")[:40].strip().lower().replace("_", "-")
    code = code.partition(",")[0].partition("-")[0].strip()
    code = _SAME.get(code, code)
    return code if len(code) == 2 and code.isascii() and code.isalpha() else None
