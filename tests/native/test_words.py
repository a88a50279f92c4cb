"""`native/words.c`: forms of words."""

import pytest

from larbinpy.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not there")
SLOT, KEY = 64, 16


def forms(text: bytes, cache: bytearray, asked: list[bytes], *, odd: bool = False) -> bytes:
    def ask(word: bytes) -> bytes:
        asked.append(word)
        return b"" if word == b"no" else word.upper()

    assert native is not None
    found: bytes = native.word_forms(cache, text, ask, odd)
    return found


def test_a_form_is_asked_for_once() -> None:
    cache, asked = bytearray(KEY + SLOT * 1024), list[bytes]()
    assert forms(b"a b\ta no\n b  no ", cache, asked) == b"A B A B"
    assert forms(b"no b a", cache, asked) == b"B A"
    assert asked == [b"a", b"b", b"no"]
    assert forms(b" \n", cache, asked) == b""


def test_a_form_that_fills_its_slot_is_kept_and_a_longer_one_is_not() -> None:
    cache, asked = bytearray(KEY + SLOT * 2), list[bytes]()
    for size in (55, 56):
        word = b"x" * size
        for _ in range(2):
            assert forms(word, cache, asked) == b"X" * size
    assert list(map(len, asked)) == [55, 56, 56]


def test_a_new_word_takes_the_place_of_the_older_one_of_two() -> None:
    cache, asked = bytearray(KEY + SLOT * 2), list[bytes]()
    forms(b"a b c b a", cache, asked)
    assert asked == [b"a", b"b", b"c", b"a"]


def test_words_that_are_not_odd_have_no_form() -> None:
    cache, asked = bytearray(KEY + SLOT * 16), list[bytes]()
    text = b"plain (Plain), A ...x!' oNe TWO a1 don't a.b \xc3\xa9 () 7"
    forms(text, cache, asked, odd=True)
    assert asked == [b"oNe", b"TWO", b"a1", b"don't", b"a.b", b"\xc3\xa9", b"()", b"7"]


@pytest.mark.parametrize("size", [0, KEY, KEY + SLOT, KEY + 3 * SLOT])
def test_a_cache_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="slots"):
        forms(b"a", bytearray(size), [])


def test_an_answer_that_fails_ends_it() -> None:
    assert native is not None
    cache = bytearray(KEY + SLOT * 2)

    def fail(word: bytes) -> bytes:
        raise LookupError(word)

    with pytest.raises(LookupError, match="a"):
        native.word_forms(cache, b"a", fail, False)
    with pytest.raises(TypeError):
        native.word_forms(cache, b"a", lambda word: word.decode(), False)
