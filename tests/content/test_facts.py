"""`larbinpy.content.facts`: JSON-LD, whatever it is."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from larbinpy.content import facts


def test_objects_of_lists_and_graphs_are_found() -> None:
    scripts = ['{"@graph": [{"@type": "A"}, 7]}', '[{"@type": "B"}, []];', "{broken", "null"]
    assert facts.objects(scripts) == [{"@type": "A"}, {"@type": "B"}]


def test_strings_may_have_line_breaks() -> None:
    text = '{"@type": "Article",\n"description": "One\n\ttwo", "datePublished": "2026-06-13"}'
    [found] = facts.objects([text])
    assert (found["description"], found["datePublished"]) == ("One\n\ttwo", "2026-06-13")


def test_articles_come_before_their_pages() -> None:
    found = [{"@type": "WebPage"}, {"@type": "WebSite"}, {"@type": ["Thing", "NewsArticle"]}]
    assert facts.pages(found) == [found[2], found[0]]


def test_comments_and_clicks_are_counted() -> None:
    watched = {"interactionType": {"@type": "http://schema.org/WatchAction"}}
    said = {"interactionType": "https://schema.org/CommentAction", "userInteractionCount": 12}
    video = {"interactionStatistic": [said, watched | {"userInteractionCount": "1,200"}]}
    assert facts.counts([video]) == (12, 1200)
    assert facts.counts([{"commentCount": "3"}]) == (3, None)
    assert facts.counts([{"interactionCount": "UserPageVisits:17"}]) == (None, 17)
    assert facts.counts([{"commentCount": 10**30}, {"commentCount": True}]) == (None, None)


def test_names_are_found() -> None:
    assert facts.name([{"name": "A"}, "B", {"name": ["A"]}]) == "A, B"


def test_images_are_found() -> None:
    assert facts.url("/a.png") == facts.url({"url": "/a.png"}) == "/a.png"
    assert facts.url({"contentUrl": "/a.png"}) == "/a.png"
    assert facts.url([{"url": "/a.png"}, "/b.png"]) == "/a.png"
    assert facts.url([["/a.png"]]) == facts.url([]) == facts.url({"url": 7}) == ""


def test_a_bomb_is_no_fact() -> None:
    assert facts.objects(["[" * 100_000]) == []
    assert facts.objects(['{"a":' * 100_000]) == []
    assert facts.objects(["9" * 10_000]) == []
    large = {"text": "x" * 200_000}
    assert facts.kept([{"a": 1}, large]) == [{"a": 1}]


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
    found = facts.objects(map(json.dumps, values))
    about = facts.pages(found) + found
    facts.kept(found)
    facts.counts(about)
    facts.text(about, "description")
    for each in about:
        facts.name(each.get("author"))
        facts.url(each.get("image"))
