"""Snippets: the passage that shows the hits."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.search.query import parse
from larbinpy.database.search.snippet import pieces, says, snippet

TEXT = (
    "Spiders spin webs. A web crawler fetches pages and follows their links.\n"
    "Crawlers obey robots.txt. Nothing else matters here, and the text goes on for a while so that "
    "it is longer than one passage, which needs some more words than these. At its end Müller "
    "says that C++ is fast, and the naïve crawling of the naive is slow: a summary."
)


def marked(text: str, typed: str, lang: str | None = "en", length: int = 200) -> str:
    """The passage with brackets around the hits."""
    passage, marks = snippet(text, parse(typed, [lang or "en"], 0), lang, length)
    out, at = "", 0
    for start, end in marks:
        assert at <= start < end <= len(passage)
        out += f"{passage[at:start]}[{passage[start:end]}]"
        at = end
    return out + passage[at:]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("crawlers fetch", "A web [crawler] [fetches] pages and follows their links."),
        ('"web crawler"', "A [web crawler] fetches pages and follows their links."),
        ("crawl* matters", "[Crawlers] obey robots.txt. Nothing else [matters] here,"),
        ("robots.txt", "Crawlers obey [robots.txt]."),
        ("C++ mueller", "At its end [Müller] says that [C++] is fast,"),
        ("naive", "the [naïve] crawling of the [naive] is slow: a …"),
        ("NAIVE -web", "the [naïve] crawling of the [naive] is slow: a …"),
        ("the crawlers", "A web [crawler] fetches pages and follows their links."),
        ("the", "[the] naïve crawling of [the] naive is slow: a …"),
        ("absent", "Spiders spin webs. A web crawler fetches pages"),
        ("inurl:web", "Spiders spin webs. A web crawler fetches pages"),
    ],
)
def test_passages(typed: str, expected: str) -> None:
    lang = "de" if "mueller" in typed else "en"
    assert expected in marked(TEXT, typed, lang, 80)


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("ＵＳＢとｶﾞｲﾄﾞﾌﾞｯｸを読む。", "ガイド", "ＵＳＢと[ｶﾞｲﾄﾞ]ﾌﾞｯｸを読む。"),
        ("ＵＳＢとｶﾞｲﾄﾞﾌﾞｯｸを読む。", "読む USB", "[ＵＳＢ]とｶﾞｲﾄﾞﾌﾞｯｸを[読む]。"),
        ("他在《战国无双》中。", "战国无双", "他在《[战国无双]》中。"),
        ("他在《戰國無雙》中。", "战国无双", "他在《[戰國無雙]》中。"),
        ("他在《战国无双》中。", "戰國無雙", "他在《[战国无双]》中。"),
        ("公司在2018年底成立。", "8年底", "公司在201[8年底]成立。"),
        ("公司在2018年底成立。", "2018", "公司在[2018]年底成立。"),
        ("使用Windows系统。", "ows", "使用Wind[ows]系统。"),
        ("乔治·华盛顿", "治·华", "乔[治·华]盛顿"),
        ("光荣公司开发了它", "由哪两个公司开发的？", "光荣[公司开发]了它"),
        ("光荣用Python开发了它", "哪些Python开发者？", "光荣用[Python开发]了它"),
        ("中国", "国", "中[国]"),
    ],
)
def test_chinese_hits(text: str, typed: str, expected: str) -> None:
    assert marked(text, typed, "zh") == expected


def test_thai_hits() -> None:
    assert marked("ในปี 2561 ภาษาไทยเป็นภาษา", "ภาษาไทย", "th") == "ในปี 2561 [ภาษาไทย]เป็นภาษา"


def test_the_passage_has_most_of_the_words() -> None:
    text = "alpha one. " + "filler words stand here. " * 40 + "alpha beta gamma. " + "more. " * 60
    assert "[alpha] [beta] [gamma]" in marked(text, "alpha beta gamma")


def test_a_passage_begins_and_ends_with_words() -> None:
    found = marked("word " * 500 + "needle " + "word " * 500, "needle")
    assert found.startswith("… word ")
    assert found.endswith(" word …")
    assert len(found) < 220


def test_control_characters_are_blanks() -> None:
    assert marked("a\x1b[31mb\nneedle\x00\ud800c", "needle") == "a [31mb [needle]  c"


def test_a_hit_far_down_is_found() -> None:
    assert "[needle]" in marked("hay " * 20_000 + "needle", "needle")


@given(st.text(max_size=300), st.text(max_size=12), st.sampled_from(["en", "zh", "th", "tr", None]))
def test_marks_are_ranges_of_the_passage(text: str, typed: str, lang: str | None) -> None:
    marked(text, typed, lang, 40)


@given(st.text(st.sampled_from("中国"), min_size=30, max_size=120), st.data())
def test_marks_of_hits_longer_than_the_passage(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    typed = text[start : start + data.draw(st.integers(1, 60))]
    marked(text, typed, "zh", 20)


@pytest.mark.parametrize(("word", "text"), [("中国" * 15, "中国" * 60), ("a" * 60, "a" * 60)])
def test_a_hit_across_the_edge_of_a_passage_has_no_mark(word: str, text: str) -> None:
    passage, marks = snippet(text, parse(word, ["zh"], 0), "zh", 20)
    assert (passage.strip(" …") in text, marks) == (True, [])


@given(
    st.text(st.sampled_from("aA İßéa\u0301中國国 .\n")), st.sampled_from(["a", "中国", "é", "ss"])
)
def test_marks_in_odd_texts(text: str, typed: str) -> None:
    for lang in ("en", "zh"):
        marked(text, typed, lang, 20)


HUGE = ["a ", "a", "的", "a b ", "a. ", "\n", "\u0301", "中a "]


@pytest.mark.parametrize("piece", HUGE)
def test_texts_of_megabytes_take_bounded_time(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    for typed in ("a", "needle", '"a b a b a c"', "的", "a*"):
        query = parse(typed, ["en", "zh"], 0)
        start = time.process_time()
        snippet(text, query, "zh" if "的" in typed else "en")
        assert time.process_time() - start < 0.4


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(-3, 25), st.integers(-3, 25))))
def test_the_pieces_are_the_text(text: str, marks: list[tuple[int, int]]) -> None:
    found = list(pieces(text, marks))
    assert "".join(piece for piece, _ in found) == text
    assert all(piece for piece, is_hit in found if is_hit)


def test_marks_that_overlap_are_left_out() -> None:
    found = list(pieces("abcdef", [(3, 5), (1, 4), (4, 9)]))
    assert found == [("a", False), ("bcd", True), ("ef", False)]


def test_the_indentation_of_programs_is_one_blank_in_a_passage() -> None:
    text = "The program:\ndef spam(eggs):\n    if eggs:\n        return toast"
    found, marks = snippet(text, parse("toast", ["en"], 0), "en")
    assert found == "The program: def spam(eggs): if eggs: return toast"
    assert [found[start:end] for start, end in marks] == ["toast"]


@pytest.mark.parametrize(
    ("text", "typed", "lang", "expected"),
    [
        ("Call textDrawHide now.", "draw hide", "en", "Call text[DrawHide] now."),
        ("They had 1,234,567.", "1234567", "en", "They had [1,234,567]."),
        ("C++17 and C++.", "C++", "en", "[C++]17 and [C++]."),
        ("In ٢٠١٠.", "2010", "ar", "In [٢٠١٠]."),
        ("Ở Hà Nội.", "ha noi", "vi", "Ở [Hà] [Nội]."),
    ],
)
def test_words_in_other_spellings_are_marked(
    text: str, typed: str, lang: str, expected: str
) -> None:
    assert marked(text, typed, lang) == expected


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("All Expenses, paid", "expenses paid", True),
        ("It is expensive", "expenses", False),
        ("non-expenses", "expenses", True),
        ("in C++17", "C++17", True),
        ("in C++17", "C++", True),
        ("C++ 17", "C++17", True),
        ("foobar", "foo bar", False),
        ("inexpenses expensesx", "expenses", False),
        ("naïve", "naive", True),
        ("naive", "naïve", False),
        ("", "x", False),
        ("x", "!", False),
    ],
)
def test_what_a_text_says_as_typed(text: str, typed: str, expected: bool) -> None:
    assert says(text, typed) is expected
