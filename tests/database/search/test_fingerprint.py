"""Near copies: which pages share a key, and which of them say the same."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.search.fingerprint import KEYS, SHORTEST, is_copy, keys

URL = "http://a.example/page"
#: A text of 400 words, most of which are in it once.
_RANDOM = Random(5)
WORDS = [_RANDOM.choice((f"word{number}", "the")) for number in range(400)]
TEXT = " ".join(WORDS)


def changed(*places: int, to: str = "other") -> str:
    """The text with other words at these places."""
    words = list(WORDS)
    for place in places:
        words[place] = f"{to}{place}"
    return " ".join(words)


def says_same(text: str, other: str, urls: tuple[str, str] = (URL, URL)) -> bool:
    both = [is_copy(text, urls[0], other, urls[1]), is_copy(other, urls[1], text, urls[0])]
    assert both[0] == both[1]
    return both[0]


def test_keys_are_those_of_the_title_and_the_words() -> None:
    own = keys("A title", TEXT)
    assert len(own) == KEYS
    assert keys("A title", TEXT.upper()) == own
    assert keys("A title", " ".join(reversed(WORDS))) == own
    assert not set(own) & set(keys("Another title", TEXT))


def test_one_word_more_leaves_most_keys() -> None:
    same = [
        a == b for n in range(50) for a, b in zip(keys("", TEXT), keys("", changed(n)), strict=True)
    ]
    assert sum(same) > 0.9 * len(same)


def test_short_texts_have_no_keys() -> None:
    short = " ".join(WORDS[: SHORTEST - 1])
    assert keys("", short) == ()
    assert keys("", f"{short} more") != ()
    assert not says_same(short, short)


def test_some_words_here_and_there_do_not_matter() -> None:
    assert says_same(TEXT, TEXT)
    assert says_same(TEXT, changed(*range(0, 400, 20)))
    assert not says_same(TEXT, changed(*range(0, 400, 12)))


@pytest.mark.parametrize("place", [0, 200, 400])
def test_a_sentence_that_one_page_has_alone_matters(place: int) -> None:
    for number, same in ((5, True), (12, False)):
        sentence = [f"more{each}" for each in range(number)]
        longer = " ".join([*WORDS[:place], *sentence, *WORDS[place:]])
        assert says_same(TEXT, longer) is same


def test_the_order_of_words_matters() -> None:
    halves = " ".join([*WORDS[200:], *WORDS[:200]])
    assert says_same(TEXT, halves)  # one pair is missing
    assert not says_same(TEXT, " ".join(reversed(WORDS)))


def test_a_word_that_stands_for_another_throughout_matters() -> None:
    """Pages of one template."""
    page = f"a value of int here {TEXT} and a value of int here"
    assert not says_same(page, page.replace("int", "long"))
    assert says_same(page, page.replace("int", "long", 1))


def test_the_words_that_tell_the_urls_apart_must_not_tell_the_texts_apart() -> None:
    one, other = "http://a.example/unix/os.html", "http://a.example/wasi/os.html"
    text = changed(3, to="Unix")
    assert not says_same(text.replace("Unix3", "Unix-only"), TEXT, (one, other))
    assert says_same(text.replace("Unix3", "Solaris"), TEXT, (one, other))
    assert says_same(text.replace("Unix3", "Unix"), TEXT)
    # Often in both texts; single letters.
    many = "unix " * 20
    assert says_same(many + TEXT, many + changed(3, to="Unix-"), (one, other))
    assert says_same(TEXT, changed(3, to="x "), ("http://a.example/a", "http://a.example/x"))


@pytest.mark.parametrize("name", ["", "v"])
def test_numbers_tell_urls_apart(name: str) -> None:
    urls = f"http://a.example/{name}2/intro", f"http://a.example/{name}3/intro"
    two, three = (changed(3, to="version ").replace(" 3 ", f" {n} ") for n in "23")
    assert "version 2" in two
    assert not says_same(two, three, urls)
    assert says_same(two, three)


def test_how_often_all_is_said_matters() -> None:
    row = "item in stock "
    assert says_same(row * 60, row * 55)
    assert not says_same(row * 60, row * 40)


def test_chinese_is_compared_by_characters() -> None:
    text = "".join(chr(0x4E00 + number * 7) for number in range(300))
    other = text[:100] + "\u9f8d" + text[101:]
    assert len(keys("", text)) == KEYS
    assert any(a == b for a, b in zip(keys("", text), keys("", other), strict=True))
    assert says_same(text, other)
    assert not says_same(text, text[:100] + text[120:])


@given(st.text(), st.text(), st.text())
def test_anything_has_keys_and_an_answer(title: str, text: str, other: str) -> None:
    assert len(keys(title, text)) in (0, KEYS)
    says_same(text * 20, other * 20, (title, other))
    words = (text * 60).casefold().split()
    if len(words) >= SHORTEST:
        assert is_copy(text * 60, title, text * 60, title)


def test_half_a_surrogate_pair_is_a_word() -> None:
    text = f"{TEXT} \ud800 \udfff"
    assert len(keys("\ud800", text)) == KEYS
    assert says_same(text, TEXT)
