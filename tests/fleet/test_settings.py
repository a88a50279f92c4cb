"""Settings that the nodes of a fleet share."""

import re

import pytest

from larbinpy.config import SETTINGS, Config, ConfigError, load
from larbinpy.fleet.board import FoundCrawl
from larbinpy.fleet.identity import OWN, as_it_runs, as_node, has_area, joined, shared, to_steer
from larbinpy.fleet.vault import FleetState, SharedCrawl


def config(*lines: str, tmp: str = "") -> Config:
    pairs = [tuple(line.split(" ", 1)) for line in lines]
    return load("/dev/null", {}, pairs)  # type: ignore[arg-type]


#: The settings of a node's own as docs/fleet.md groups them. All others are those of the crawl.
GROUPS = {
    "files and folders": "caFile canReload clientCert clientKey cookieFile database items "
    "loginFile outputDir saveCookies stateDir",
    "seeds": "startUrl",
    "ports and addresses": "httpHost httpPort inputHost inputPort sourceAddress",
    "proxies": "noProxy proxy",
    "resolvers": "dnsCacheSize dnsConnexions dnsNegativeSize dnsSendQueue dnsServer",
    "load": "bondWidth minFree pagesConnexions roundTime spoolMax",
    "what it shows": "debug fetchInfo highLevelWebServer histograms printStats",
}
#: The crawl that it joins.
ENTRY = {"join", "node", "shards"}


def test_the_keywords_of_a_node_are_those_of_its_machine() -> None:
    assert {word for words in GROUPS.values() for word in words.split()} | ENTRY == OWN
    assert {row.keyword for row in SETTINGS.values()} >= OWN


@pytest.mark.parametrize("line", ["outputDir b", "proxy b.test 8080", "dnsServer 192.0.2.1"])
def test_what_is_a_nodes_own_stays_as_it_is(line: str) -> None:
    first = config("outputDir a", "proxy a.test 8080", "dnsServer 192.0.2.9")
    assert shared(first) == {}
    mine = config(line)
    assert joined(mine, shared(first), mine.shards) == mine


def test_a_node_takes_the_settings_of_the_crawl() -> None:
    first = config(
        "waitDuration 7", "reject **/private/**", "outputDir a", "stay host", "getImage on"
    )
    crawl = shared(first)
    assert set(crawl) == {"waitDuration", "reject", "stay", "getImage"}
    second = joined(config("outputDir b"), crawl, 64)
    assert (second.wait_duration, second.stay, second.output_dir) == (7.0, "host", "b")
    assert second.rules == first.rules
    assert shared(second) == crawl


@pytest.mark.parametrize("line", ["waitDuration 8", "reject **/other/**", "depthInSite 3"])
def test_another_value_is_refused_by_its_name(line: str) -> None:
    crawl = shared(config("waitDuration 7", "reject **/private/**"))
    keyword = line.split()[0]
    with pytest.raises(ConfigError, match=re.escape(f"{keyword}: the crawl that this node joins")):
        joined(config(line), crawl, 1024)


def test_a_value_that_was_written_is_compared_also_if_it_is_the_default() -> None:
    first = shared(config("waitDuration 7", "stay host"))
    depth = {"depth_in_site"}
    with pytest.raises(ConfigError, match=r"waitDuration: .* has another value \(7s\)"):
        joined(config("waitDuration 30"), first, 1024, {"wait_duration", *depth})
    with pytest.raises(ConfigError, match=r"shards: .* has another value \(64\)"):
        joined(config("shards 256"), first, 64, {"shards"})
    assert joined(config("waitDuration 30"), first, 64, depth).wait_duration == 7.0


def test_a_value_that_was_assumed_is_not_compared() -> None:
    assumed = config("stay host", "outputMode mirror", "outputDir there")
    node = joined(assumed, shared(config("stay domain")), 1024, {"output_dir"})
    assert (node.stay, node.output_mode, node.output_dir) == ("domain", (), "there")


def test_rules_are_compared_together() -> None:
    first = shared(config("accept **/a/**", "reject **"))
    with pytest.raises(ConfigError, match="accept: the crawl"):
        joined(config("reject **"), first, 1024, {"rules"})


def test_a_node_takes_what_was_changed_since_the_begin() -> None:
    settings = {**shared(config("waitDuration 7", "stay host")), "shards": "64"}
    crawl = SharedCrawl("id", settings, FleetState.RUNNING, created=False)
    found = FoundCrawl(crawl, {"waitDuration": "400", "limitPage": "50"}, 0.0, 0.0)
    node = as_it_runs(config("outputDir b"), found)
    assert (node.wait_duration, node.max_wait, node.limit_page) == (400.0, 400.0, 50)
    assert (node.shards, node.stay, node.output_dir) == (64, "host", "b")
    steered = to_steer(found)
    assert (steered.wait_duration, steered.limit_page, steered.shards) == (400.0, 50, 64)


@pytest.mark.parametrize(
    ("line", "has"), [("stay any", False), ("stay host", True), ("lockSite on", True)]
)
def test_which_crawls_keep_to_an_area(line: str, has: bool) -> None:
    assert has_area(config(line)) is has


def test_commands_know_the_area_of_a_crawl_but_none_of_its_files() -> None:
    settings = shared(config("lockSite on", "stay host", "depthInSite 3"))
    crawl = SharedCrawl("id", {**settings, "shards": "64"}, FleetState.RUNNING, created=False)
    steered = to_steer(FoundCrawl(crawl, {}, 0.0, 0.0))
    assert (steered.stay, steered.lock_site) == ("host", True)
    assert steered.depth_in_site == Config().depth_in_site


@pytest.mark.parametrize(
    ("database", "own"),
    [
        ("all/it.db", "all/a/it.db"),
        ("it.db", "a/it.db"),
        ("mysql://host/name", "mysql://host/name"),
        ("", ""),
    ],
)
def test_a_node_has_folders_of_its_own(database: str, own: str) -> None:
    node = as_node(Config(node="a", state_dir="state", output_dir="save", database=database))
    assert (node.state_dir, node.output_dir, node.database) == ("state/a", "save/a", own)


def test_the_same_value_may_be_given_again() -> None:
    first = config("waitDuration 7", "reject **/private/**")
    assert joined(first, shared(first), 256) == first
