"""A crawl as a program makes it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Config, Crawl
from larbinpy.config import ConfigError
from larbinpy.page import Outcome


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        dns_server=(("127.0.0.1", 53),),
        state_dir=str(tmp_path / "state"),
        output_dir=str(tmp_path / "out"),
    )


def test_there_is_a_snapshot_once_the_crawl_has_run(config: Config) -> None:
    crawl = Crawl(config)
    before = crawl.snapshot()
    assert (before["state"], before["seeds"]) == ("not started", 0)
    crawl.run()
    assert crawl.snapshot()["state"] == "finished"


@pytest.mark.parametrize("bad", ["ftp://a.test/", "page.html", "http://a.test:25/"])
def test_a_seed_that_is_no_url_is_an_error_before_anything_starts(
    config: Config, tmp_path: Path, bad: str
) -> None:
    with pytest.raises(ConfigError, match="not a URL that can be crawled"):
        Crawl(config, seeds=["http://a.test/", bad])
    with pytest.raises(ConfigError, match="not a URL that can be crawled"):
        Crawl(replace(config, start_url=(bad,)))
    assert not (tmp_path / "state").exists()


def test_seeds_may_be_padded(config: Config) -> None:
    crawl = Crawl(config, seeds=[" http://127.0.0.1/\n"])
    crawl.run()
    outcomes: Any = crawl.report["outcomes"]
    assert outcomes[Outcome.PRIVATE_ADDRESS.value] == 1
