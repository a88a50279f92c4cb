"""`larbinpy.database.content.declared`: JSON-LD, whatever it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.content import declared


def test_objects_of_lists_and_graphs_are_found() -> None:
    scripts = ['{"@graph": [{"@type": "A"}, 7]}', '[{"@type": "B"}, []];', "{broken", "null"]
    assert declared.objects(scripts) == [{"@type": "A"}, {"@type": "B"}]


def test_strings_may_have_line_breaks() -> None:
    text = '{"@type": "Article",\n"description": "One\n\ttwo", "datePublished": "2026-06-13"}'
    [found] = declared.objects([text])
    assert (found["description"], found["datePublished"]) == ("One\n\ttwo", "2026-06-13")


@pytest.mark.parametrize(
    "text",
    [
        '{"@type": "Article", "datePublished": "2026-06-13",}',
        '//<![CDATA[\n{"@type": "Article", "datePublished": "2026-06-13"}\n//]]>',
        '<!-- {"@type": "Article", "datePublished": "2026-06-13"} -->',
        '{"@type": "Article", "headline": "It\\\'s", "datePublished": "2026-06-13"}',
        '{"@type": "Article", "headline": "A "b" c", "datePublished": "2026-06-13"}',
        '{"@type": "Thing"} {"@type": "Article", "datePublished": "2026-06-13"}',
        '{"@type": "WebPage", "mainEntity": {"@type": "Article", "datePublished": "2026-06-13"}}',
    ],
)
def test_faults_of_scripts_do_not_hide_what_they_say(text: str) -> None:
    about = declared.pages(declared.objects([text]))
    assert declared.text(about, "datePublished") == "2026-06-13"


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("By Ann Lee | May 3, 2024", "Ann Lee"),
        ("By Ann Lee and Bo Ek on 3 May", "Ann Lee and Bo Ek"),
        ("Von Ann Lee", "Ann Lee"),
        ("Written by: Ann Lee, published May 3, 2024", "Ann Lee"),
        ("By Byron Abby", "Byron Abby"),
        ("By the time the roof was done, the smith had gone to sleep", ""),
        ("Share this", ""),
        ("", ""),
    ],
)
def test_bylines_name_people(byline: str, expected: str) -> None:
    assert declared.by_whom(byline) == expected


def test_articles_come_before_their_pages() -> None:
    found = [{"@type": "WebPage"}, {"@type": "WebSite"}, {"@type": ["Thing", "NewsArticle"]}]
    assert declared.pages(found) == [found[2], found[0]]


def test_comments_and_clicks_are_counted() -> None:
    watched = {"interactionType": {"@type": "http://schema.org/WatchAction"}}
    said = {"interactionType": "https://schema.org/CommentAction", "userInteractionCount": 12}
    video = {"interactionStatistic": [said, watched | {"userInteractionCount": "1,200"}]}
    assert declared.counts([video]) == (12, 1200)
    assert declared.counts([{"commentCount": "3"}]) == (3, None)
    assert declared.counts([{"interactionCount": "UserPageVisits:17"}]) == (None, 17)
    assert declared.counts([{"commentCount": 3}, {"commentCount": 9}]) == (3, None)
    assert declared.counts([{"answerCount": 2}, {"commentCount": 9}]) == (2, None)
    assert declared.counts([{"commentCount": 3}, video]) == (3, 1200)
    assert declared.counts([{"commentCount": 10**30}, {"commentCount": True}]) == (None, None)


def test_names_are_found() -> None:
    assert declared.name_of([{"name": "A"}, "B", {"name": ["A"]}]) == "A, B"


def test_images_are_found() -> None:
    assert declared.url("/a.png") == declared.url({"url": "/a.png"}) == "/a.png"
    assert declared.url({"contentUrl": "/a.png"}) == "/a.png"
    assert declared.url([{"url": "/a.png"}, "/b.png"]) == "/a.png"
    assert declared.url([["/a.png"]]) == declared.url([]) == declared.url({"url": 7}) == ""


def test_a_bomb_is_no_fact() -> None:
    assert declared.objects(["[" * 100_000]) == []
    assert declared.objects(['{"a":' * 100_000]) == []
    assert declared.objects(["9" * 10_000]) == []
    large = {"text": "x" * 200_000}
    assert declared.kept([{"a": 1}, large]) == [{"a": 1}]


NAMES = st.sampled_from(
    ["@type", "@graph", "name", "author", "image", "url", "commentCount", "description"]
) | st.sampled_from(
    ["interactionStatistic", "interactionType", "userInteractionCount", "interactionCount"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES | st.text(), inner),
)


@given(st.lists(VALUES))
def test_nothing_raises(values: list[Any]) -> None:
    found = declared.objects(map(json.dumps, values))
    about = declared.pages(found) + found
    declared.kept(found)
    declared.counts(about)
    declared.text(about, "description")
    for each in about:
        declared.name_of(each.get("author"))
        declared.url(each.get("image"))
