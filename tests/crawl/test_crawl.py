"""A crawl as a program makes it."""

from pathlib import Path

import pytest

from larbinpy import Config, Crawl


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        dns_server=(("127.0.0.1", 53),),
        state_dir=str(tmp_path / "state"),
        output_dir=str(tmp_path / "out"),
    )


def test_there_is_a_snapshot_once_the_crawl_has_run(config: Config) -> None:
    crawl = Crawl(config)
    with pytest.raises(RuntimeError, match="not running yet"):
        crawl.snapshot()
    crawl.run()
    assert crawl.snapshot()["state"] == "finished"
