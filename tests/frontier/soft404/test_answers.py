"""Which pages are like the answers to names that do not exist."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.soft404.answers import answers_in
from larbinpy.page import Page
from tests.support.softpages import SITE, framed, moved, page

ONE, OTHER = "/larbinpy-1", "/b/larbinpy-2"
NAMES = ("larbinpy-1", "larbinpy-2")


def is_like(found: Page, *replies: Page) -> bool:
    return any(answer.is_like(found) for answer in answers_in(replies, NAMES))


def missing(path: str, more: str = "", type_: str = "text/html") -> Page:
    return page(path, framed("Not found", f"<p>There is no {path}.</p>{more}"), type_=type_)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503])
def test_an_error_is_no_answer(status: int) -> None:
    assert answers_in([page(ONE, "x", status)], NAMES) == []


def test_no_reply_is_no_answer() -> None:
    assert answers_in([], NAMES) == []
    lost = page(ONE, "x")
    lost.truncated = "disconnect"
    assert answers_in([lost], NAMES) == []


@pytest.mark.parametrize("replies", [[missing(ONE)], [missing(ONE), missing(OTHER)]])
def test_a_text_that_repeats_the_path(replies: Sequence[Page]) -> None:
    assert is_like(missing("/some/Old-page.html"), *replies)
    assert is_like(missing("/page/not/found"), *replies)


@pytest.mark.parametrize(
    "real",
    [
        framed("Lamp"),
        framed("Lamp", "<p>A lamp.</p>"),
        framed("Not found", "<p>There is no lamp.</p><p>But a table.</p>"),
        framed("Not found", "<p>There is no.</p><img src=lamp.png>"),
        framed("Found", "<p>There is no lamp.</p>"),
        framed("Not found"),
    ],
)
def test_pages_with_hardly_a_text_are_not_like_it(real: str) -> None:
    assert not is_like(page("/lamp", real), missing(ONE), missing(OTHER))


def test_numbers_are_no_difference_but_404_is() -> None:
    numbers = (page(path, framed("Oops", f"<p>{n}</p>")) for n, path in enumerate([ONE, OTHER], 7))
    assert is_like(page("/gone", framed("Oops", "<p>99</p>")), *numbers)
    assert not is_like(page("/lamp", framed("", "")), page(ONE, framed("404")))


def test_answers_that_differ_allow_for_as_much() -> None:
    first = missing(ONE, "<p>Know thyself.</p>")
    second = missing(OTHER, "<p>Nothing in excess.</p>")
    third = missing("/gone", "<p>All is vanity, said somebody.</p>")
    assert is_like(third, first, second)
    assert not is_like(third, first, missing(OTHER, "<p>Know thyself.</p>"))
    assert not is_like(missing("/gone", f"<p>{'A long story. ' * 9}</p>"), first, second)
    assert not is_like(page("/lamp", framed("Lamp", "<p>Know thyself.</p>")), first, second)


def test_links_that_two_answers_share_by_chance_are_not_required() -> None:
    def proposing(path: str, *names: str) -> Page:
        return missing(path, "".join(f"<li><a href=/>{name}</a>" for name in names))

    samples = proposing(ONE, "red lamp", "old table"), proposing(OTHER, "red lamp", "new chair")
    assert is_like(proposing("/gone", "blue sofa", "big desk"), *samples)


def test_two_templates_are_two_answers() -> None:
    wiki = page(OTHER, "<title>Wiki</title><p>There is no article with this name yet. Write it!")
    assert len(answers_in([missing(ONE), wiki], NAMES)) == 2
    assert is_like(missing("/gone"), missing(ONE), wiki)
    assert is_like(page("/c", wiki.body.decode()), missing(ONE), wiki)


def test_another_type_or_a_failure_is_not_like_it() -> None:
    assert not is_like(missing("/gone", type_="text/plain"), missing(ONE))
    assert not is_like(page("/gone", missing("/gone").body.decode(), 404), missing(ONE))


def test_other_files_are_compared_as_they_are() -> None:
    picture = page(ONE, "GIF89a", type_="image/gif")
    assert is_like(page("/1.gif", "GIF89a", type_="image/gif"), picture)
    assert not is_like(page("/1.gif", "GIF89b", type_="image/gif"), picture)


def test_redirects_to_one_url() -> None:
    home = moved(ONE, "/")
    assert is_like(moved("/gone", "/"), home)
    assert is_like(moved("/gone", f"{SITE}/"), home, moved(OTHER, "/"))
    assert not is_like(moved("/old", "/new"), home)
    assert not is_like(page("/", "x"), home)


def test_redirects_whose_query_changes() -> None:
    samples = moved(ONE, "/lost?id=8"), moved(OTHER, "/lost?id=9")
    assert is_like(moved("/gone", "/lost?id=10"), *samples)
    assert not is_like(moved("/gone", "/other?id=10"), *samples)
    assert not is_like(moved("/gone", "/lost?id=10"), samples[0])


@pytest.mark.parametrize("target", ["https://a.test/larbinpy-1", "/larbinpy-1/", "/w?t=larbinpy-1"])
def test_a_redirect_with_the_name_tells_nothing(target: str) -> None:
    assert answers_in([moved(ONE, target)], NAMES) == []


_WORDS = ["lamp", "table", "river", "not", "found", "page", "nothing", "here"]
WORDS = st.lists(st.sampled_from(_WORDS), max_size=8)


@given(WORDS, WORDS, st.sampled_from(["/x", "/a-lamp", "/not/found", "/%E4%BD%A0"]))
def test_a_page_is_like_a_text_exactly_if_it_adds_and_lacks_nothing(
    message: list[str], text: list[str], path: str
) -> None:
    answer = page(ONE, framed("Error", f"<p>{' '.join(message)}</p>"))
    own = set(path.replace("-", "/").split("/"))
    added = [word for word in text if word not in own]
    same = all(message.count(word) <= text.count(word) for word in message)
    same = same and all(added.count(word) <= message.count(word) for word in added)
    found = page(path, framed("Error", f"<p>{' '.join(text)}</p>"))
    assert is_like(found, answer) == same


def test_of_redirects_that_differ_in_their_query_the_place_counts() -> None:
    one, other = moved(ONE, "/home?from=1"), moved(OTHER, "/home?from=2")
    assert is_like(moved("/x", "/home?from=3"), one, other)
    assert is_like(moved("/x", "/home"), one, other)
    assert not is_like(moved("/x", "/other?from=1"), one, other)
    # Of one alone, and of two that are the same, all of it.
    for replies in ([one], [one, moved(OTHER, "/home?from=1")]):
        assert is_like(moved("/x", "/home?from=1"), *replies)
        assert not is_like(moved("/x", "/home?from=3"), *replies)


@pytest.mark.parametrize("kind", ["application/json", "Application/LD+JSON"])
def test_data_of_scripts_are_texts_and_programs_are_not(kind: str) -> None:
    def with_data(path: str, data: str, kind: str = kind) -> Page:
        return page(path, framed("Shop", f"<script type='{kind}'>{data}</script>"))

    data = "{'items': ['lamp', 'table', 'chair', 'desk', 'sofa', 'shelf']}"
    replies = [with_data(path, "{'items': []}") for path in (ONE, OTHER)]
    assert is_like(with_data("/gone", "{'items': []}"), *replies)
    assert not is_like(with_data("/lamps", data), *replies)
    programs = [with_data(path, "go()", "text/javascript") for path in (ONE, OTHER)]
    assert is_like(with_data("/program", data, "text/javascript"), *programs)
