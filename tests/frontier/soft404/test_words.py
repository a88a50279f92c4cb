"""The words of pages, without those that differ from reply to reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.soft404.answers import COMPARED, own_words, shown_by
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.softpages import page


def words(body: str, path: str = "/", type_: str = "text/html") -> list[str]:
    shown = shown_by(page(path, body, type_=type_))
    assert shown is not None
    return sorted(shown.words.elements())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Not found", ["found", "not"]),
        ("It is 14:05, 24 November 2026", ["is", "it", "november"]),
        ("Request 3f9ac2, x7, IntoIter", ["intoiter", "request"]),
        ("Ray 12345678-abcd-4fff-8eee-1234567890ab", ["ray"]),
        (
            "see/all-other-pages/here-or-there",
            ["all", "here", "or", "other", "pages", "see", "there"],
        ),
        ("Error 404, code 1404", ["404", "code", "error"]),
        ("a" * 41 + " b", ["b"]),
        ("<script>let nonce</script><style>p</style>a", ["a"]),
        ('<script type="application/ld+json">{"name": "b"}</script>a', ["a", "b", "name"]),
        ("<template>t</template>a<!-- c -->", ["a"]),
        ("<h1>Lost</h1><p>Words", ["lost", "words"]),
        ("找不到foo页面", ["foo", "找不到", "页面"]),
    ],
)
def test_words_that_a_page_shows(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_name_in_a_text_without_spaces_is_a_word() -> None:
    assert words("找不到你好页面", "/%E4%BD%A0%E5%A5%BD") == ["你好", "找不到", "页面"]


def test_plain_texts_and_data_have_words_and_pictures_none() -> None:
    assert words("a b\nc", type_="text/plain") == ["a", "b", "c"]
    assert words('{"error": "none"}', type_="application/problem+json") == ["error", "none"]
    assert shown_by(page("/", "GIF89a", type_="image/gif")) is None


def test_elements_are_counted_and_lists_are_known() -> None:
    shown = shown_by(page("/", "<ul><li><a href=/>x</a><li>y</ul><p>z"))
    assert shown is not None
    assert (shown.elements["li"], shown.elements["a"], shown.elements["p"]) == (2, 1, 1)
    assert {run.words[0]: run.listed for run in shown.runs} == {"x": True, "y": True, "z": False}


def test_the_words_of_a_url() -> None:
    own = own_words("http://a.test/Old-Town/%C3%A9t%C3%A9/fooBar.html?q=big+cat")
    assert {"old", "town", "oldtown", "été", "foo", "bar", "foobar", "html", "big", "cat"} <= own


def test_the_end_of_a_long_page_does_not_count() -> None:
    assert words("<i>a" * COMPARED) == ["a"] * (COMPARED // 4)


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/xml", "", "text/plain"]))
def test_any_bytes_can_be_read(body: bytes, type_: str) -> None:
    headers = [("content-type", type_)]
    shown_by(Page(Url("http://a.test/%ff/x", 0), Outcome.SUCCESS, 200, headers, body))
