"""The configuration of each site: site blocks put into that of the crawl."""

from typing import Any

import pytest

from larbinpy.config import Config, change, load
from larbinpy.crawl.parts import SettingsBySite
from larbinpy.crawl.requests import SiteConfigs
from larbinpy.url import Url

#: The sites of the tests: one that both blocks match, one that the second matches, and another.
A, B, OTHER = "http://a.b.test", "http://c.b.test", "http://other.test"


def configured(*pairs: tuple[str, str]) -> Config:
    return load(None, {}, pairs)


def by_site(config: Config) -> SettingsBySite:
    return SettingsBySite(config, SiteConfigs(config))


def test_the_first_block_that_sets_a_keyword_decides() -> None:
    blocks = ("a.b.test retries 1 end", "*.b.test retries 2 depthInSite 7 end")
    configs = SiteConfigs(configured(("retries", "5"), *(("site", block) for block in blocks)))
    found = [configs.config_at(host, 80) for host in ("a.b.test", "c.b.test", "other.test")]
    assert [config.retries for config in found] == [1, 2, 5]
    assert [config.depth_in_site for config in found] == [7, 7, 5]
    decider = configs.of(A).decider("retries")
    assert decider is not None and decider.pattern.show() == "a.b.test"
    assert configs.of(OTHER).decider("retries") is None


def test_a_new_wait_changes_the_longest_one_with_it() -> None:
    own = "a.b.test waitDuration 20 maxWait 90 end"
    config = configured(("waitDuration", "10"), ("maxWait", "60"), ("site", own))
    settings = by_site(config)
    waits = [settings.of(site).waits for site in (A, OTHER)]
    settings.change(change(config, "waitDuration", "120"))
    assert [(each.least, each.most) for each in waits] == [(20.0, 90.0), (120.0, 120.0)]
    assert settings.of(OTHER).waits is settings.usual.waits
    # One that is made later has it, too.
    assert settings.of(B).waits.most == 120.0


@pytest.mark.parametrize(
    ("block", "group", "connexions", "limit"),
    [
        ("maxConnexionsBySite 1", "", 1, 1),
        ("maxConnexionsBySite 2", "", 2, 0),
        ("maxConnexionsBySite 3", "a.b.test", 3, 0),
        ("waitDuration 5", "a.b.test", 2, 0),
        ("waitDuration 5 maxConnexionsBySite 1", "a.b.test,a.b.test", 1, 0),
        ("waitDuration 10", "", 2, 0),
        ("waitDuration 20 maxConnexionsBySite 1", "", 1, 1),
        ("retries 0", "", 2, 0),
    ],
)
def test_connexions_of_a_site_are_those_of_its_group_unless_they_are_fewer(
    block: str, group: str, connexions: int, limit: int
) -> None:
    pairs = [
        ("waitDuration", "10"),
        ("maxConnexionsBySite", "2"),
        ("site", f"a.b.test {block} end"),
    ]
    settings = by_site(configured(*pairs))
    found = settings.of(A)
    assert (found.group, found.limits.at_once) == (group, limit)
    assert found.config.max_connexions_by_site == connexions
    usual = settings.usual
    assert (usual.group, usual.config.max_connexions_by_site, usual.limits.at_once) == ("", 2, 0)


@pytest.mark.parametrize(
    ("settings", "guesses"),
    [
        ({}, True),
        ({"guess_sitemap": False}, False),
        ({"rewrite_links": True}, False),
        ({"check_links": True}, False),
    ],
)
def test_sitemaps_are_guessed_where_pages_that_nothing_links_to_are_of_use(
    settings: dict[str, bool], guesses: bool
) -> None:
    assert by_site(Config(**settings)).usual.guesses_sitemap is guesses  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("referer", "page", "image"),
    [("always", True, True), ("same-site", False, True), ("off", False, False)],
)
def test_which_requests_name_the_page_that_led_there(referer: str, page: bool, image: bool) -> None:
    sites = SiteConfigs(Config(referer=referer))
    assert sites.names_referer(Url("http://a.test/", 1)) is page
    assert sites.names_referer(Url("http://a.test/i.png", 1, requisite=True)) is image


@pytest.mark.parametrize(
    ("settings", "meta"),
    [({}, Config().robots_meta), ({"robots_meta": "off"}, "off"), ({"ignore_robots": True}, "off")],
)
def test_without_robots_txt_pages_are_not_asked_either(settings: dict[str, Any], meta: str) -> None:
    assert SiteConfigs(Config(**settings)).robots_meta(Url("http://a.test/", 1)) == meta


def test_each_block_is_described_with_the_sites_that_it_matches() -> None:
    blocks = ("a.b.test retries 1 end", "*.b.test depthInSite 7 end", "x.test retries 2 end")
    settings = by_site(configured(*(("site", block) for block in blocks)))
    for site, count in ((A, 1), (B, 5), (OTHER, 100)):
        settings.of(site).sites = count
    described = settings.describe()
    assert [(each["pattern"], each["sites"]) for each in described] == [
        ("a.b.test", 1),
        ("*.b.test", 6),
        ("x.test", 0),
    ]
    assert described[1]["settings"] == {"depthInSite": "7"}


@pytest.mark.parametrize(
    ("pairs", "has"),
    [
        ([], False),
        ([("site", "a.b.test retries 1 end")], False),
        ([("hours", "01:00-05:00")], True),
        ([("site", "a.b.test hours 01:00-05:00 end")], True),
    ],
)
def test_hours_of_the_crawl_or_of_one_site(pairs: list[tuple[str, str]], has: bool) -> None:
    assert by_site(configured(*pairs)).has_hours is has


@pytest.mark.parametrize(
    ("block", "waits"),
    [
        ("waitDuration 120", (120.0, 120.0)),
        ("waitDuration 50", (50.0, 60.0)),
        ("waitDuration 120 maxWait 90", (120.0, 120.0)),
        ("waitDuration 120 maxWait 300", (120.0, 300.0)),
        ("retries 1", (10.0, 60.0)),
    ],
)
def test_the_longest_wait_of_a_block_is_no_shorter_than_its_wait(
    block: str, waits: tuple[float, float]
) -> None:
    pairs = [("waitDuration", "10"), ("maxWait", "60"), ("site", f"b.test {block} end")]
    configs = SiteConfigs(load(None, {}, pairs))
    [alone] = configs.each_block()
    for config in (configs.config_at("b.test", 80), alone):
        assert (config.wait_duration, config.max_wait) == waits
    other = configs.config_at("a.test", 80)
    assert (other.wait_duration, other.max_wait) == (10.0, 60.0)
