"""Settings that the nodes of a fleet share."""

import re

import pytest

from larbinpy.config import SETTINGS, Config, ConfigError, load
from larbinpy.fleet.settings import OWN, joined, shared


def config(*lines: str, tmp: str = "") -> Config:
    pairs = [tuple(line.split(" ", 1)) for line in lines]
    return load("/dev/null", {}, pairs)  # type: ignore[arg-type]


def test_each_own_keyword_exists() -> None:
    assert {row.keyword for row in SETTINGS.values()} >= OWN


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


def test_the_same_value_may_be_given_again() -> None:
    first = config("waitDuration 7", "reject **/private/**")
    assert joined(first, shared(first), 1024) == first
