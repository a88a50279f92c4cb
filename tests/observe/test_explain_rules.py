"""The words of `explain` about rules and `stay`."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config.rule import Rule, parse_rule
from larbinpy.frontier.frontier import Frontier
from larbinpy.observe.explain import explain
from larbinpy.output.log import CrawlLog
from larbinpy.page import Fate, Outcome, Page
from larbinpy.parse import Kind, Link
from larbinpy.url import Url
from tests.support.frontiers import WALL, World, make_frontier

SEED = "http://a.test/docs/"


def rule(line: str) -> Rule:
    keyword, pattern = line.split(maxsplit=1)
    return parse_rule(keyword == "accept", pattern.strip('"')).at("larbin.conf:12")


def frontier(folder: Path, *lines: str, **scope: Any) -> Frontier:
    made = make_frontier(folder, rules=[rule(line) for line in lines], **scope)
    made.seed(SEED)
    return made


def asked(made: Frontier, folder: Path, url: str) -> dict[str, Any]:
    log = CrawlLog(folder / "crawl.jsonl")
    try:
        return next(a for a in explain(made, log, url, lambda: 0.0) if a is not None)
    finally:
        log.close()
        made.close()


REJECTED = [
    ("reject **/old/**", "http://a.test/old/x"),
    ("reject /[?&]sort=/", "http://a.test/?sort=up"),
    ("reject host:b.test", "http://www.b.test/"),
    ("reject domain:example.co.uk", "http://www.example.co.uk/"),
    ('reject "host:b.test **.zip"', "http://b.test/x.zip"),
]


@pytest.mark.parametrize(("line", "url"), REJECTED)
def test_a_rejected_url(tmp_path: Path, line: str, url: str) -> None:
    made = frontier(tmp_path, "accept **/old/fine", line)
    answer = asked(made, tmp_path, url)
    assert answer["why"] == f"rejected by: {line} (larbin.conf:12)"
    assert (answer["state"], answer["reason"], answer["rule"]) == ("refused", "rejected", line)


@pytest.mark.parametrize(("line", "url"), REJECTED)
def test_an_accepted_url(tmp_path: Path, line: str, url: str) -> None:
    line = line.replace("reject", "accept")
    made = frontier(tmp_path, line, "reject **")
    answer = asked(made, tmp_path, url)
    assert answer["why"] == (
        f"no page that was read links to it; accepted by: {line} (larbin.conf:12)"
    )
    assert (answer["state"], answer["rule"]) == ("never seen", line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reject type:image/*", "its type decides once it is fetched"),
        ("accept size:>10M", "its size decides once it is fetched"),
        ("reject depth:>3", "the depth of the link decides"),
        ("accept hops:<=2", "the redirects on the way decide"),
        (
            'reject "**.zip depth:>3 size:>10M"',
            "the depth of the link decides and its size decides once it is fetched",
        ),
    ],
)
def test_a_rule_that_needs_more_than_the_url(tmp_path: Path, line: str, words: str) -> None:
    answer = asked(frontier(tmp_path, line), tmp_path, "http://a.test/x.zip")
    assert answer["why"] == f"no page that was read links to it; {line} (larbin.conf:12): {words}"
    assert answer["state"] == "never seen"


def test_a_url_that_is_queued(tmp_path: Path) -> None:
    made = frontier(tmp_path, "reject type:image/*", "accept **/docs/**")
    made.admit(Url(SEED, 5), [Link("http://a.test/docs/x", Kind.PAGE)], 0.0)
    answer = asked(made, tmp_path, "http://a.test/docs/x")
    assert answer["state"] == "queued"
    assert answer["why"].endswith(
        "reject type:image/* (larbin.conf:12): its type decides once it is fetched; "
        "accepted by: accept **/docs/** (larbin.conf:12)"
    )


@pytest.mark.parametrize(
    "line", ["accept **/docs/**", 'accept "**/docs/** type:text/*"', 'accept "host:a.test size:<9"']
)
def test_a_url_that_was_fetched(tmp_path: Path, line: str) -> None:
    made = frontier(tmp_path, "reject type:image/*", line)
    with closing(CrawlLog(tmp_path / "crawl.jsonl")) as log:
        World(made).run()
        html = [("content-type", "text/html")]
        log.write(Fate.of(Page(Url(SEED, 5), Outcome.SUCCESS, 200, html), WALL))
        log.flush()
    answer = asked(made, tmp_path, SEED)
    assert answer["why"] == f"it was fetched; accepted by: {line} (larbin.conf:12)"


def test_a_url_that_was_rejected_at_its_headers(tmp_path: Path) -> None:
    made = frontier(tmp_path, "reject type:text/*")
    rejected = rule("reject type:text/*").described
    with closing(CrawlLog(tmp_path / "crawl.jsonl")) as log:
        World(made).run()
        log.write(Fate.of(Page(Url(SEED, 5), Outcome.REJECTED, 200, detail=rejected), WALL))
        log.flush()
    answer = asked(made, tmp_path, SEED)
    assert answer["why"] == "rejected by: reject type:text/* (larbin.conf:12) (HTTP 200)"
    assert (answer["state"], answer["reason"]) == ("decided", "rejected")


def test_asking_counts_nothing(tmp_path: Path) -> None:
    made = frontier(tmp_path, "accept **/x", "reject **", no_external_links=True)
    for url in ("http://a.test/x", "http://a.test/y"):
        log = CrawlLog(tmp_path / "crawl.jsonl")
        assert [*explain(made, log, url, lambda: 0.0)]
        log.close()
    assert made.scope.decided_by_rule == {"accept **/x": 0, "reject **": 0}
    made.close()


@pytest.mark.parametrize(
    ("stay", "url", "words"),
    [
        ("page", "http://a.test/docs/x", "stay page keeps to the seeds alone"),
        ("prefix", "http://a.test/x", "stay prefix keeps to the folders of the seeds"),
        ("host", "http://www.a.test/", "stay host keeps to the hosts of the seeds"),
        ("domain", "http://b.test/", "stay domain keeps to the registered domains of the seeds"),
    ],
)
def test_stay(tmp_path: Path, stay: str, url: str, words: str) -> None:
    answer = asked(frontier(tmp_path, stay=stay), tmp_path, url)
    assert answer["why"] == f"{words}, and it is elsewhere"
    assert (answer["reason"], answer["rule"]) == ("outSite", "stay")
