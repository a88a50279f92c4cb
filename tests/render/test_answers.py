"""Replies that pages share, and for how long."""

import base64
from typing import Any

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.render.parts import Answers, answer_of, freshness, fulfilment
from larbinpy.url import Url

DATE = ("date", "Tue, 15 Nov 1994 08:00:00 GMT")
DAY_BEFORE = ("last-modified", "Mon, 14 Nov 1994 08:00:00 GMT")


@pytest.mark.parametrize(
    ("headers", "kind", "seconds"),
    [
        ([("cache-control", "max-age=60")], "Fetch", 60),
        ([("cache-control", "public, MAX-AGE = 60")], "Script", 60),
        ([("cache-control", "max-age=60"), ("age", "50")], "Fetch", 10),
        ([("cache-control", "max-age=60"), ("age", "90")], "Fetch", 0),
        ([("cache-control", "no-store, max-age=60")], "Script", 0),
        ([("cache-control", "no-cache")], "Script", 0),
        ([("cache-control", "max-age=junk")], "Script", 0),
        ([("vary", "*")], "Script", 0),
        ([DATE, ("expires", "Tue, 15 Nov 1994 08:05:00 GMT")], "Fetch", 300),
        ([DATE, ("expires", "0")], "Script", 0),
        # Nothing is said: a tenth of its age, for what is not data.
        ([DATE, DAY_BEFORE], "Stylesheet", 8640),
        ([DATE, DAY_BEFORE], "XHR", 0),
        ([("cache-control", "no-cache=x, max-age=60")], "Script", 0),
        ([("cache-control", 'max-age="60"')], "Fetch", 60),
        ([("cache-control", "max-age=99999999999")], "Fetch", 99999999999),
        ([("cache-control", "max-age=999999999999")], "Fetch", 0),
        ([("cache-control", "max-age=-60")], "Fetch", 0),
        ([("cache-control", "max-age=60"), ("age", "junk")], "Fetch", 60),
        ([("cache-control", "max-age=60"), ("age", "99999999999")], "Fetch", 0),
        ([("cache-control", "max-age=60"), ("age", "999999999999")], "Fetch", 60),
        ([("vary", " * ")], "Script", 0),
        ([("vary", "accept")], "Script", 600),
        ([("expires", "Tue, 15 Nov 1994 08:05:00 GMT")], "Script", 0),
        ([DATE, ("expires", "Tue, 15 Nov 1994 07:00:00 GMT")], "Script", 0),
        ([DATE, ("expires", "junk")], "Script", 0),
        # At least some minutes, at most a day.
        ([DATE, ("last-modified", "Tue, 15 Nov 1994 07:00:00 GMT")], "Script", 600),
        ([DATE, ("last-modified", "Mon, 14 Nov 1984 08:00:00 GMT")], "Script", 86400),
        ([DAY_BEFORE], "Script", 600),
        ([DATE], "Script", 600),
        ([], "Script", 600),
        ([], "Document", 0),
        ([("expires", "\x00 junk"), ("last-modified", "never")], "Script", 0),
    ],
)
def test_freshness(headers: list[tuple[str, str]], kind: str, seconds: float) -> None:
    assert freshness(headers, kind) == seconds


def page(status: int = 200, body: bytes = b"x", **headers: str) -> Page:
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Page(Url("http://a.test/", 0), Outcome.SUCCESS, status=status, headers=named, body=body)


def test_the_browser_gets_the_body_and_no_header_of_its_way() -> None:
    given: Any = fulfilment(
        200, [("content-type", "text/css"), ("content-encoding", "gzip"), ("nel", "{}")], b"a{}"
    )
    assert given["responseCode"] == 200
    assert given["responseHeaders"] == [{"name": "content-type", "value": "text/css"}]
    assert base64.b64decode(given["body"]) == b"a{}"


def test_answers_are_kept_while_they_are_fresh() -> None:
    answers = Answers()
    answers.put("GET /a", answer_of(page(cache_control="max-age=10"), "Script", 100.0), 100.0)
    answers.put("GET /b", answer_of(page(500), "Script", 100.0), 100.0)
    assert answers.get("GET /a", 109.0) is not None
    assert answers.get("GET /a", 110.0) is None
    assert answers.get("GET /b", 100.0) is None


def test_answers_that_were_not_used_for_longest_go_first() -> None:
    answers = Answers(most=5000)
    for name in "abc":
        answers.put(name, answer_of(page(body=b"x" * 600), "Script", 0.0), 0.0)
    assert answers.get("a", 0.0) is not None
    answers.put("d", answer_of(page(body=b"x" * 600), "Script", 0.0), 0.0)
    assert [name for name in "abcd" if answers.get(name, 0.0) is not None] == ["a", "c", "d"]


def test_replies_that_may_be_kept_have_a_status_that_lasts() -> None:
    fresh = [
        status
        for status in range(200, 600)
        if answer_of(page(status, cache_control="max-age=10"), "Fetch", 100.0).fresh_until
    ]
    assert fresh == [200, 203, 301, 308, 404, 410]
    answer = answer_of(page(200, cache_control="max-age=10"), "Fetch", 100.0)
    assert (answer.fresh_until, answer.size) == (110.0, 1001)
    assert answer_of(page(201, cache_control="max-age=10"), "Fetch", 100.0).fresh_until == 0.0


def test_an_answer_that_is_fresh_no_more_takes_no_room() -> None:
    answers = Answers(most=2500)
    answers.put("old", answer_of(page(cache_control="max-age=10"), "Fetch", 0.0), 0.0)
    answers.put("over", answer_of(page(cache_control="max-age=10"), "Fetch", 0.0), 10.0)
    assert answers.get("over", 5.0) is None
    assert answers.get("old", 10.0) is None
    for name in "ab":
        answers.put(name, answer_of(page(), "Script", 10.0), 10.0)
    assert [name for name in "ab" if answers.get(name, 10.0) is not None] == ["a", "b"]
