"""Rules that come and go while a crawl runs: their order, and the URLs that leave the queues."""

import json
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config.rule import parse_rule
from larbinpy.frontier.frontier import SavedRules
from larbinpy.frontier.rules import LiveRules
from larbinpy.page import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.storage.sizes import FrontierSizes, StoreSizes
from larbinpy.url import Url
from tests.support.frontiers import MakeWorld, World

CONFIGURED = (
    parse_rule(False, "**/old/**").at("larbin.conf:3"),
    parse_rule(True, "host:a.test").at("command line"),
)


@pytest.fixture
def rules() -> LiveRules:
    return LiveRules(CONFIGURED)


def texts(rules: LiveRules) -> list[str]:
    return [rule.described for rule in rules.current]


def test_a_new_rule_comes_first(rules: LiveRules) -> None:
    assert not rules.were_others
    rules.add(False, "**.zip")
    rules.add(True, '"**.pdf size:<1M"')
    assert texts(rules) == [
        'accept "**.pdf size:<1M" (console)',
        "reject **.zip (console)",
        "reject **/old/** (larbin.conf:3)",
        "accept host:a.test (command line)",
    ]
    assert rules.were_others


def test_a_rule_that_comes_again_becomes_the_first(rules: LiveRules) -> None:
    for pattern in ("**.zip", "**.gz", "**.zip"):
        rules.add(False, pattern)
    assert texts(rules)[:3] == [
        "reject **.zip (console)",
        "reject **.gz (console)",
        "reject **/old/** (larbin.conf:3)",
    ]


@pytest.mark.parametrize("word", ["2", "**.zip", "reject **.zip", '"**.zip"'])
def test_a_rule_is_dropped_by_number_or_text(rules: LiveRules, word: str) -> None:
    rules.add(False, "**.zip")
    rules.add(False, "**.gz")
    assert rules.drop(word).text == "reject **.zip"
    assert [text.split()[1] for text in texts(rules)] == ["**.gz", "**/old/**", "host:a.test"]


def test_added_and_dropped_is_as_before(rules: LiveRules) -> None:
    rules.add(False, "**.zip")
    rules.drop("1")
    assert rules.current == CONFIGURED


@pytest.mark.parametrize(
    ("word", "reason"),
    [("0", "there is no rule 0"), ("3", "the last is 2"), ("x.zip", "no rule is 'x.zip'")],
)
def test_what_is_not_there_cannot_be_dropped(rules: LiveRules, word: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rules.drop(word)


def test_a_wrong_pattern_changes_nothing(rules: LiveRules) -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        rules.add(False, "/(/")
    assert not rules.were_others


def test_changes_outlive_a_resume(rules: LiveRules) -> None:
    rules.add(False, "**.zip size:>1M")
    rules.add(True, "/x\\.y/")
    rules.drop("**/old/**")
    again = LiveRules(CONFIGURED)
    again.load(rules.cut())
    assert texts(again) == texts(rules)
    # The file may have changed meanwhile.
    other = LiveRules((parse_rule(False, "**.iso").at("larbin.conf:1"), *CONFIGURED))
    other.load(rules.cut())
    assert [text.split()[1] for text in texts(other)] == [
        "/x\\.y/",
        '"**.zip',
        "**.iso",
        "host:a.test",
    ]


def loaded(changes: dict[str, Any], *lines: str) -> LiveRules:
    again = LiveRules([parse_rule(False, line).at("larbin.conf:1") for line in lines])
    again.load(changes)
    return again


def test_rules_that_were_ever_others_are_known() -> None:
    """Whether in the file or by the console: URLs may be queued that the rules reject."""
    before = LiveRules([parse_rule(False, "**.zip").at("larbin.conf:1")]).cut()
    assert not loaded(before, "**.zip").were_others
    other = loaded(before, "**.zip", "**.iso")
    assert other.were_others
    # The URLs on the disk were not examined yet when that run ended.
    assert loaded(other.cut(), "**.zip", "**.iso").were_others
    live = loaded(before, "**.zip")
    live.add(False, "**.iso")
    live.drop("**.iso")
    assert live.were_others and loaded(live.cut(), "**.zip").were_others


PARENT = Url("http://a.test/", 3)


def link(world: World, *urls: str) -> None:
    world.frontier.admit(PARENT, [Link(url, Kind.PAGE) for url in urls], world.now)


def change(world: World, *patterns: str) -> None:
    for pattern in patterns:
        world.frontier.add_rule(False, pattern)


def outcomes(world: World) -> dict[str, Outcome]:
    return {fate.href: fate.outcome for fate in world.fates}


def test_queued_urls_that_a_new_rule_rejects_leave(make: MakeWorld) -> None:
    """Some are in memory, ready or waiting for their address, and others in the store."""
    names = {"c.test": "timeout"}
    sizes = FrontierSizes(swept=5)
    world = make(least=100, max_urls=30, retry_wait=1000.0, names=names, frontier_sizes=sizes)
    urls = [f"http://{host}.test/{kind}/{n}" for host in "abc" for kind in "xy" for n in range(30)]
    link(world, *urls)
    world.run(world.now + 350)
    before = len(world.starts)
    assert len(world.frontier.store) > 0
    assert world.frontier.registry.lengths()["ip_sites"] > 0
    change(world, "**/y/*")
    world.run()
    ended = outcomes(world)
    late = [start.href for start in world.starts[before:]]
    assert not any("/y/" in href for href in late)
    rejected = {href for href, outcome in ended.items() if outcome is Outcome.REJECTED}
    asked = {start.href for start in world.starts}
    assert rejected == {url for url in urls if "/y/" in url and url not in asked}
    assert len(rejected) > 60
    assert {
        outcome for href, outcome in ended.items() if "/x/" in href and "c.test" not in href
    } == {Outcome.SUCCESS}
    details = {fate.detail for fate in world.fates if fate.outcome is Outcome.REJECTED}
    assert details == {"reject **/y/* (console)"}
    assert world.frontier.owed == 0


def test_a_site_whose_urls_are_all_rejected_gets_no_request(make: MakeWorld) -> None:
    """Its address goes on with the other site."""
    address = ("203.0.113.7",)
    world = make(least=10, names={"a.test": address, "b.test": address})
    link(world, *(f"http://{host}.test/{n}" for host in "ab" for n in range(5)))
    world.run(world.now + 45)
    before = len(world.starts)
    change(world, "host:a.test")
    world.run()
    assert {start.href.split("/")[2] for start in world.starts[before:]} == {"b.test"}
    assert list(outcomes(world).values()).count(Outcome.REJECTED) >= 3
    assert world.frontier.registry.lengths() == {"named_sites": 0, "ip_sites": 0}


def test_a_rule_that_is_dropped_in_time_rejects_nothing(make: MakeWorld) -> None:
    world = make(least=100, frontier_sizes=FrontierSizes(swept=1))
    urls = [f"http://{host}.test/{n}" for host in "abc" for n in range(5)]
    link(world, *urls)
    change(world, "**")
    world.frontier.drop_rule("1")
    world.run()
    assert set(outcomes(world).values()) == {Outcome.SUCCESS}


def test_seeds_are_exempt_and_requests_in_flight_finish(make: MakeWorld) -> None:
    world = make("http://a.test/seed", least=10)
    link(world, "http://b.test/1", "http://b.test/2")
    world.turn()
    while len([start for start in world.starts if "b.test/1" in start.href]) < 1:
        world.now += 1
        world.turn()
    change(world, "**")
    world.run()
    assert outcomes(world) == {
        "http://a.test/seed": Outcome.SUCCESS,
        "http://b.test/1": Outcome.SUCCESS,
        "http://b.test/2": Outcome.REJECTED,
    }
    # The count of a rule is of URLs that ended with it.
    assert world.frontier.scope.decided_by_rule == {"reject **": 1}


def test_seeds_that_are_queued_stay_and_a_link_among_them_leaves(make: MakeWorld) -> None:
    """All wait for one address: those in memory, and those that are still in the store."""
    seeds = [f"http://b.test/seed/{n}" for n in range(8)]
    world = make(*seeds, least=100, max_urls=6, sizes=StoreSizes(lines=2))
    link(world, "http://b.test/link")
    world.run(world.now + 150)
    before = {start.href for start in world.starts}
    assert not before.issuperset(seeds[2:]) and "http://b.test/link" not in before
    change(world, "**")
    world.run()
    assert outcomes(world) == dict.fromkeys(seeds, Outcome.SUCCESS) | {
        "http://b.test/link": Outcome.REJECTED
    }


def test_a_failed_request_is_not_tried_again(make: MakeWorld) -> None:
    world = make(least=1, retry_wait=5.0, replies={"http://b.test/1": {"status": 503}})
    link(world, "http://b.test/1")
    while not any("b.test/1" in start.href for start in world.starts):
        world.now += 1
        world.turn()
    change(world, "host:b.test")
    world.run()
    assert outcomes(world) == {"http://b.test/1": Outcome.ERR_50X}
    assert world.frontier.scope.decided_by_rule == {"reject host:b.test": 0}
    assert sum("b.test/1" in start.href for start in world.starts) == 1


def test_a_url_that_waits_for_its_next_try_leaves(make: MakeWorld) -> None:
    world = make(least=1, retry_wait=500.0, replies={"http://b.test/1": {"status": 503}})
    link(world, "http://b.test/1")
    world.run(world.now + 50)
    assert world.frontier.owed == 1
    change(world, "host:b.test")
    world.run()
    assert outcomes(world) == {"http://b.test/1": Outcome.REJECTED}


def test_depth_and_hops_count_as_for_links(make: MakeWorld) -> None:
    world = make(least=100, sizes=StoreSizes(lines=2), depth_in_site=5)
    link(world, *(f"http://b.test/{n}" for n in range(9)))  # at depth 3 of 5, from a page at 2
    change(world, "depth:>3", "hops:>0")
    world.run()
    assert set(outcomes(world).values()) == {Outcome.SUCCESS}
    link(world, *(f"http://c.test/{n}" for n in range(9)))
    change(world, "depth:>=3")
    world.run()
    assert {o for url, o in outcomes(world).items() if "c.test" in url} == {Outcome.REJECTED}


def test_a_list_is_added_and_dropped_at_once(tmp_path: Path) -> None:
    path = tmp_path / "spam.txt"
    path.write_text("a.test\nb.test\n")
    rules = LiveRules([parse_rule(False, f"@{path}")])
    saved = rules.cut()
    rules.load(saved)
    assert not rules.were_others
    path.write_text("a.test\nc.test\n")
    again = LiveRules([parse_rule(False, f"@{path}")])
    again.load(saved)
    assert again.were_others, "the file has other patterns now"
    rules.add(False, f"@{path}")
    assert [rule.text for rule in rules.current] == [f"reject @{path}"] * 2
    rules.drop(f"@{path}")
    rules.drop(f"reject @{path}")
    assert rules.current == ()


@pytest.mark.parametrize("others", [False, True])
def test_a_crawl_that_goes_on_is_told_of_rules_that_changed(rules: LiveRules, others: bool) -> None:
    if others:
        rules.add(False, "**.zip")
    told: list[str] = []
    again = LiveRules(CONFIGURED)
    saved = json.loads(json.dumps(SavedRules(rules, told.clear).cut(0.0, ended=True)))
    SavedRules(again, lambda: told.extend(texts(again))).load(saved, 0.0)
    assert texts(again) == texts(rules)
    assert told == (texts(rules) if others else [])
