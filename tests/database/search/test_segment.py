"""The segmenter: texts as tokens."""

import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.search import segment
from larbinpy.database.search.query import Form, Item, parse
from larbinpy.database.search.segment import (
    alike,
    beside,
    compounds,
    grams,
    index_tokens,
    kind_of,
    runs,
    simplify,
    tokens,
    vocabulary,
    within,
)
from tests.support.suites import suite


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("The quick brown foxes", "en", "the quick brown fox"),
        ("The quick brown foxes", None, "the quick brown foxes"),
        ("naïve Straße ŒUVRE ﬁn", None, "naive strasse oeuvre fin"),
        ("Müller Mueller Muller", "de", "mull mull mull"),
        ("phở Phố", "vi", "phở phố"),
        ("ёлка за́мок", None, "елка замок"),
        ("os.path.join(foo_bar)", None, "os path join foo bar"),
        ("C++, C# and C", None, "c c＋＋ c c＃ and c"),
        ("Python 3.11 on 2026-01-31", None, "python 3 11 on 2026 01 31"),
        ("joe@example.com", None, "joe example com"),
        ("soft\xadhyphen zero\u200bwidth", None, "softhyphen zerowidth"),
        ("cafe\u0301", None, "cafe"),
        ("網路 网路", "zh", "网路 路 网路 路"),
        ("2018年底", "zh", "ǀ20 ǀ01 ǀ18 ǀ8年 年底 底 2018"),
        ("in 2018年, found", "en", "in ǀ20 ǀ01 ǀ18 ǀ8年 年 found 2018"),
        ("用 C++ 写", "zh", "用c ǀc 写 c c＋＋"),
        ("東京タワー ﾀﾜｰ", "ja", "东京 京タ タワ ワー ー タワ ワー ー"),
        ("한국어", "ko", "한국 국어 어"),
        ("ภาษาไทย", "th", "ภาษ าษา ษาไ าไท ไทย ทย ย"),
        ("𠮷野家", "zh", "𠮷野 野家 家"),
        ("น้ำ นํ้า", "th", "น้ํ ้ํา ํา า น้ํ ้ํา ํา า"),
        ("เเมว แมว", "th", "แมว มว ว แมว มว ว"),
        ("ນໍ້າ", "lo", "ນ້ໍ ້ໍາ ໍາ າ"),
        ("ações ação lições mãe", "pt", "aca aca lica mae"),
        ("good 😂👍🏽", "en", "good 😂 👍"),
        ("ＡＢＣ１２", None, "abc12"),
        ("½ ⑴ ﷺ", None, "1 2 1 صلي الله عليه وسلم"),
        ("٢٠١٠ ۱۳۹۵ १९४७ ๒๕๖๐", "ar", "2010 1395 1947 2560"),
        (
            '\u05d3\u05d5\u05f4\u05d7 \u05d3\u05d5"\u05d7 \u05d7',
            "he",
            "\u05d3\u05d5\u05d7 \u05d3\u05d5\u05d7 \u05d7",
        ),
        ("п'ять п’ять пʼять", "uk", "п ять п ять п ять"),
        ("Name™ other¹ more† cm² 40° 1ª Straßeª", None, "name other more cm2 40 1a strasse"),
        ("C++17 C#8 c++x a#1", None, "c c＋＋ 17 c c＃ 8 c x a 1"),
        ("\ud800 \x00 \ufffe _ -- ...", "zh", ""),
        ("", "zh", ""),
    ],
)
def test_tokens(text: str, lang: str | None, expected: str) -> None:
    assert tokens(text, lang) == expected


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("call textDrawHide", "en", "call textdrawhid text draw hide"),
        ("an XMLHttpRequest", None, "an xmlhttprequest xml http request"),
        ("SublimeCMD", None, "sublimecmd sublime cmd"),
        ("PDFs NATO iOS", None, "pdfs nato ios i os"),
        (
            "1,000円",
            "ja",
            "ǀ1 ǀ00 ǀ00 ǀ0圆 圆 1 000 ǀ10 ǀ00 ǀ00 ǀ0 1000 ǀ10 ǀ00 ǀ00 ǀ0圆 圆 1000",
        ),
        ("Wi\u2011Fi", None, "wi fi wifi"),
        ("1,234,567 1.000 12'345", None, "1 234 567 1 000 12 345 1234567 1000 12345"),
        ("12 500 000, €5,000.50", None, "12 500 000 5 000 50 12500000 5000 5000 50"),
        ("1.2.3 192.168.0.10 2,5 10,20", None, "1 2 3 192 168 0 10 2 5 10 20"),
        ("e-mail utf-8 a-b-c-d", None, "e mail utf 8 a b c d email utf8"),
        ("HTML5Parser", None, "html5parser html 5 html5 parser"),
        ("iPhone14", None, "iphone14 i phone 14 phone14 iphone"),
        ("10km 1.5GB x10", None, "10km 1 5gb x10 10 km 1 5 gb"),
        ("U.S.A. Node.js config.yaml", None, "u s a node js config yaml usa nodejs"),
        ("978-3-16-148410-0", None, "978 3 16 148410 0 9783161484100"),
        (
            "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627",
            None,
            "\u0643\u062a\u0627\u0628\u0647\u0627 \u0643\u062a\u0627\u0628 \u0647\u0627",
        ),
        ("0:\u0abc:0", "zh", "\u01c00 \u01c00 0 0"),
        ("d’O’Reilly", "fr", "d o reilly oreilly"),
        ("Hawai'i O’Brien", None, "hawai i o brien hawaii obrien"),
        ("l'hôtel don't it's", None, "l hotel don t it s"),
        ("Hà Nội ha", "vi", "hà nội ha ǂha ǂnoi"),
    ],
)
def test_parts_of_words_stand_at_the_end(text: str, lang: str | None, expected: str) -> None:
    assert index_tokens(text, lang) == expected


def test_long_words_of_german_are_there_backwards_too() -> None:
    text = "Die Wörterbücher, das Regal und die Wörterbücher"
    made = "die worterbuch das regal und die worterbuch"
    assert index_tokens(text, "de") == f"{made} ǁhcubretrow"
    assert "ǁ" not in index_tokens("understatements", "en")


@pytest.mark.parametrize(
    ("word", "languages", "expected"),
    [
        ("Bücher", ("en", "de"), ["ǁhcub*", "buch*"]),
        ("Bücher", ("en", "fr"), []),
        ("rat", ("de",), []),
        ("h264", ("de",), []),
        ("网络网络", ("de",), []),
    ],
)
def test_the_longer_words_that_a_word_is_a_part_of(
    word: str, languages: tuple[str, ...], expected: list[str]
) -> None:
    found = compounds(word, languages)
    assert [f"{form.tokens[0]}{'*' * form.prefix}" for form in found] == expected


@pytest.mark.parametrize(
    ("token", "stem", "rests"),
    [
        ("krankenversicher", "versicher", ["kranken", "kranke", "krank"]),
        ("versicherungsvertrag", "versicher", ["ungsvertrag"]),
        ("tabellenvorlag", "tabell", ["envorlag", "nvorlag", "vorlag"]),
        ("ausdruck", "druck", []),
        ("umversicher", "versicher", []),
        ("versicher", "versicher", []),
        ("dampfschifffahrt", "schiff", []),
        ("apfelsinen", "sin", []),
    ],
)
def test_what_is_beside_a_part_of_a_compound(token: str, stem: str, rests: list[str]) -> None:
    assert beside(token, stem) == rests


def test_words_in_latin_letters_are_english_on_pages_of_other_scripts() -> None:
    assert tokens("пауки crawlers", "ru").split()[1] == "crawler"
    assert tokens("crawlers 爬虫", "zh").split()[-1] == "crawler"


def test_a_long_word_is_cut() -> None:
    assert tokens("a" * 1_000_000, "en") == "a" * 64
    assert tokens("é" * 1_000_000, None) == "e" * 64


def test_languages_that_are_not_known_share_one_vocabulary() -> None:
    assert vocabulary("xx") is vocabulary("yy") is vocabulary(None)


def test_tokens_do_not_depend_on_earlier_texts() -> None:
    text = "\u2776# \u7f51"
    before = tokens(text, "af")
    tokens("\u2776", "af")
    tokens("\u2776#", "af")
    assert tokens(text, "af") == before == "\u2776# \u7f51 \u2776 \u2776\uff03"


def test_a_vocabulary_is_bounded() -> None:
    tokens(" ".join(map(str, range(120_000))), "en")
    assert len(vocabulary("en")) <= 50_000


_TEXTS = st.text(
    st.one_of(
        st.sampled_from(
            "ab z09 .,-_+#\n'\"中国網年，。ーカ한กำ😂éё\u0301\u200b\xad½ﷺ⑴ａİß𠮷\ud800\x00"
        ),
        st.characters(),
    ),
    max_size=40,
)
_LANGUAGES = st.sampled_from(["en", "de", "zh", "ja", "th", "vi", "ru", None])


@given(_TEXTS, _LANGUAGES)
def test_engines_do_not_split_a_token(text: str, lang: str | None) -> None:
    found = tokens(text, lang)
    assert found == " ".join(found.split(" ")).strip(" ")
    assert all(char.isalnum() or char > "\x7f" for char in found.replace(" ", ""))
    assert "  " not in found
    found.encode()


@given(_TEXTS)
def test_the_bigrams_of_a_text_are_those_of_its_runs(text: str) -> None:
    """They are made at once for a whole text, and one by one for a query."""
    expected = [gram for run in runs(text) for gram in grams(run)]
    found = tokens(text, "zh").split(" ")
    assert found[: len(expected)] == expected or not expected


@given(_TEXTS)
def test_simplified_text_is_as_long(text: str) -> None:
    assert len(simplify(text)) == len(alike(text)) == len(text)


@given(_TEXTS, _LANGUAGES)
def test_parts_of_words_are_tokens(text: str, lang: str | None) -> None:
    found = index_tokens(text, lang)
    assert f"{found} ".startswith(tokens(text, lang))
    assert all(char.isalnum() or char > "\x7f" for char in found.replace(" ", ""))


def _match(forms: Sequence[Form]) -> str:
    each = (f'"{" ".join(form.tokens)}"{"*" * form.prefix}' for form in forms)
    return f"({' OR '.join(each)})"


class Index:
    """Texts in the index of SQLite as the database has it."""

    def __init__(self, texts: list[str], lang: str) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE ft USING fts5(body, content='', tokenize='ascii')")
        rows = ((number, tokens(text, lang)) for number, text in enumerate(texts))
        self._base.executemany("INSERT INTO ft(rowid, body) VALUES (?, ?)", rows)

    def find(self, items: tuple[Item, ...]) -> set[int]:
        match = " AND ".join(_match(item.forms) for item in items)
        return {
            row[0] for row in self._base.execute("SELECT rowid FROM ft WHERE ft MATCH ?", [match])
        }

    def best(self, forms: Sequence[Form], n: int) -> list[int]:
        """The numbers of the texts that have any of `forms`, the best first."""
        sql = "SELECT rowid FROM ft WHERE ft MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._base.execute(sql, [_match(forms), n])]

    def close(self) -> None:
        self._base.close()


def _recall(texts: list[str], lang: str, substrings: list[str]) -> list[str]:
    """The substrings whose search does not find all of the texts that have them."""
    index = Index(texts, lang)
    missed = []
    for part in substrings:
        wanted = parse(part, [lang], 0).wanted
        expected = {number for number, text in enumerate(texts) if part.strip() in text}
        if wanted and not expected <= index.find(wanted):
            missed.append(part)
    index.close()
    return missed


def _substrings(texts: list[str], n: int, seed: int) -> list[str]:
    pick = random.Random(seed)
    found = []
    for _ in range(n):
        text, length = pick.choice(texts), pick.randint(1, 4)
        at = pick.randrange(len(text) - length + 1)
        found.append(text[at : at + length])
    return found


def test_every_short_substring_of_a_chinese_text_is_found() -> None:
    text = "《战国无双3》（）由光荣和ω-force开发，2018年底發售 Windows 10系统，售价￥1,280.50元！"
    parts = {text[at : at + n] for n in range(1, 5) for at in range(len(text) - n + 1)}
    assert _recall([text, "别的文字"], "zh", sorted(parts)) == []


def test_recall_on_chinese_paragraphs() -> None:
    paragraphs = json.loads((suite("chinese-search") / "cmrc.json").read_text("utf-8"))[
        "paragraphs"
    ]
    texts = paragraphs[:200]
    assert _recall(texts, "zh", _substrings(texts, 2_000, seed=17)) == []


@given(st.text(st.sampled_from("中国人的a1B.，·(é 年ー"), min_size=1, max_size=24), st.data())
def test_recall_of_any_substring(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    part = text[at : at + data.draw(st.integers(1, 4))]
    assert _recall([text], "zh", [part]) == []


def test_kinds_of_runs() -> None:
    kinds = [kind_of(run).name for run in runs("abc été 中a ไทย 😂 ёлка")]
    assert kinds == ["WORD", "WORD", "CJK", "TRIGRAM", "SYMBOL", "WORD"]


@pytest.mark.slow
def test_the_time_of_segmenting() -> None:
    """Generous: three times what it takes."""
    text = "This page tells readers how the crawler finds words in its index, quickly. " * 1000
    tokens(text, "en")
    start = time.process_time()
    tokens(text, "en")
    assert time.process_time() - start < len(text) * 75e-9


_PARTS = (
    *("XMLHttpRequest", "textDraw", "aB", "a" * 90 + "B" + "c" * 90, "éAb", "fooBar1Baz", "Straße"),
    *("1,234.50", "123 456", "0800-123-456", "wi-fi", "e-mail", "l’hôtel", "don't", "rock'n'roll"),
    *("日本語fooBar", "Việt", " ", " ", "\n", ".", "-", "'", "’"),
)


@given(st.lists(st.sampled_from(_PARTS), max_size=12), st.sampled_from((None, "en", "vi", "ja")))
def test_a_page_has_the_tokens_of_all_words_within_it(parts: list[str], lang: str | None) -> None:
    text = "".join(parts)
    inner = dict.fromkeys(tokens(each.word, lang) for each in within(alike(text)))
    expected = " ".join((tokens(text, lang), *inner)).split()
    found = index_tokens(text, lang).split()
    assert sorted(found) == sorted(expected) or lang == "vi"
    assert not Counter(expected) - Counter(found)


def test_the_compiled_module_gives_the_tokens_of_the_definition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(1)
    odd = (*_PARTS, "a\u3000b", "\x1f", "\x85", "(word),", "it's", "Q.E.D.", "C++", "f#8", "\ud800")
    texts = ["".join(chance.choices(odd, k=12)) for _ in range(500)]
    langs = (None, "en", "vi", "zh")
    compiled = [index_tokens(text, lang) for text in texts for lang in langs]
    monkeypatch.setattr(segment, "native", None)
    assert compiled == [index_tokens(text, lang) for text in texts for lang in langs]
