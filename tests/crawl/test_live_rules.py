"""Rules that are added and dropped on the input port while a whole crawl runs."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.observe.report.formats import Report
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


def console(crawl: Worlds, port: int, *lines: str) -> Client:
    return Client(crawl, port, "console", *lines, "quit")


def shown(answer: dict[str, Any]) -> list[tuple[object, ...]]:
    """The number, text and source of each rule; the source without its folder."""
    rules = answer["rules"]
    return [(each["number"], each["rule"], Path(each["source"]).name) for each in rules]


def test_a_rule_that_comes_while_the_crawl_runs(web: Web, crawl: Worlds) -> None:
    """A page waits for the console; its links, and those queued before it, meet the rule."""
    port = free_port()
    client = console(
        crawl,
        port,
        "rules",
        "reject **/old/**",
        "accept **/old/keep",
        "reject /(/",
        "rules",
        f"explain {web.url('a.test/old/1')}",
        "drop 2",
        "reject **/old/**",
        "drop 9",
        "set foo 1",
        "accept **/old/keep",
        "drop **/gone",
    )
    old, new = [f"/old/{n}" for n in range(20)], [f"/new/{n}" for n in range(20)]
    web.page("a.test/", "/gate", "/gone", *old, *new)
    web.page("a.test/gate", "/old/late", "/new/late", "/old/keep", until=client.done)
    web.make = lambda place: Answer(place.encode())
    world = crawl(f"inputPort {port}", "reject **/gone")
    before, _, _, wrong, after, explained, *_, missing, foo, _, dropped, _ = client.answers
    assert shown(before) == [(1, "reject **/gone", "larbin.conf:11")]
    assert before["rules"][0]["decided"] == 1
    assert "reject: /(/ is not a regular expression" in wrong["error"]
    assert shown(after) == [
        (1, "accept **/old/keep", "console"),
        (2, "reject **/old/**", "console"),
        (3, "reject **/gone", "larbin.conf:11"),
    ]
    assert explained["url"] == web.url("a.test/old/1")
    assert missing["error"] == "there is no rule 9; the last is 3"
    known = "larbinpy check-config has all"
    assert foo["error"] == f"unknown keyword 'foo'; {known}"
    assert dropped == {"ok": True, "rejected": 1}
    assert world.code == 0
    # Links that a dropped rule rejected remain left out.
    assert Report(world.folder / "state").left_out["rules"]["reject **/gone"] == 1
    assert "reject **/gone" not in world.snapshot("rules")
    rejected = {place for place, outcome in world.outcomes.items() if outcome == "rejected"}
    assert world.fetched == {"a.test/", "a.test/gate", "a.test/old/keep", "a.test/new/late"} | {
        f"a.test{path}" for path in new
    } | {f"a.test{path}" for path in old if f"a.test{path}" not in rejected}
    assert world.report_outcomes["rejected"] == len(rejected) + 2
    for place in rejected:
        assert "/old/" in place
        assert world.fates[place]["detail"] == "reject **/old/** (console)"
        assert world.fates[place]["attempt"] == 0


def test_rules_take_urls_out_of_the_queues(web: Web, crawl: Worlds) -> None:
    """A slow crawl has hundreds of URLs in memory and more on the disk when the rule comes."""
    port = free_port()
    pages = [f"/{kind}/{n}" for n in range(600) for kind in ("old", "new")]
    web.page("a.test/", "/gate", *pages)
    web.make = lambda place: Answer(place.encode())
    client = console(crawl, port, "set waitDuration 0", "reject **/old/**")
    web.page("a.test/gate", until=client.done)
    world = crawl(f"inputPort {port}", "waitDuration 60")
    asked = [request.place for request in world.pages_asked]
    assert not any("/old/" in place for place in asked)
    assert world.report_outcomes["rejected"] == 600
    assert world.report_outcomes["success"] == 602
    assert world.elapsed < 300


def test_rules_outlive_a_resume(web: Web, crawl: Worlds) -> None:
    port = free_port()
    pages = [f"/{kind}/{n}" for n in range(30) for kind in ("old", "new")]
    client = console(crawl, port, "reject **/old/**", "drop **.zip", "stop")
    web.page("a.test/", "/gate", *pages)
    web.page("a.test/gate", "/x.zip", "/old/late", until=client.done)
    web.make = lambda place: Answer(place.encode())
    lines = (f"inputPort {port}", "reject **.zip")
    first = crawl("waitDuration 1", *lines)
    assert len(first.fetched) < 5
    late, swept = (web.url(f"a.test/old/{path}") for path in ("late", "29"))
    later = console(crawl, port, "rules", f"explain {late}", "rules", "drop 1", f"explain {swept}")
    web.page("a.test/new/7", until=later.done)
    second = crawl(*lines, folder=first.folder, start=Start.RESUME)
    assert second.code == 0
    rules, explained, more, dropped, gone, _ = later.answers
    # Links of both runs count, and queued URLs.
    assert more["rules"][0]["decided"] == dropped["rejected"] == 31
    assert "reject **/old/** (console); the crawl has this rule no more" in gone["why"]
    assert shown(rules) == [(1, "reject **/old/**", "console")]
    assert (explained["reason"], explained["rule"]) == ("rejected", "reject **/old/**")
    assert "(console)" in explained["why"]
    assert second.fetched >= {"a.test/x.zip", *(f"a.test/new/{n}" for n in range(30))}
    assert not any("/old/" in place for place in second.fetched)
    assert sum(outcome == "rejected" for outcome in second.outcomes.values()) == 30


def test_a_new_rule_in_the_file_applies_to_queued_urls(web: Web, crawl: Worlds) -> None:
    """In the next run, and in the one after it to what is queued still."""
    web.page("a.test/", *(f"/{kind}/{n}" for n in range(30) for kind in ("old", "new")))
    web.make = lambda place: Answer(place.encode())
    first = crawl("limitPage 1")
    for limit in ("limitPage 5", "reject **.zip"):
        last = crawl("reject **/old/**", limit, folder=first.folder, start=Start.RESUME)
    assert last.report_outcomes["rejected"] == 30
    assert last.snapshot("rules")["reject **/old/**"] == 30
    assert last.fetched == {"a.test/", *(f"a.test/new/{n}" for n in range(30))}
