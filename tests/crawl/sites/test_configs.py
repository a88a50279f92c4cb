"""The configuration of each site: site blocks put into that of the crawl."""

import pytest

from larbinpy.config import load
from larbinpy.crawl.sites import SiteConfigs


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
