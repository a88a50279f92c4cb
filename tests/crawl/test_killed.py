"""A crawl that is killed at any moment goes on: no URL is lost, none torn, few are repeated.

``scripts/kill-test`` does this for minutes.
"""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from larbinpy.url import host_of
from tests.support.databasekills import CONF, DatabaseKills, in_sqlite
from tests.support.killing import KINDS, KillTest, kinds

pytestmark = pytest.mark.slow


def test_a_crawl_is_killed_and_goes_on(tmp_path: Path) -> None:
    plan = ["early", "save", "load"]
    test = KillTest(tmp_path, 1500, plan, seed=6, interval=2.0, conf="canReload")
    checker = test.run()
    assert checker.findings == []
    first, second, _, last = checker.lives
    assert first.repeats
    assert second.answered
    assert last.answered


def test_fifty_kills_are_of_all_kinds() -> None:
    fifty = kinds(50)
    assert set(fifty) == set(KINDS)
    assert fifty.count("start") + fifty.count("load") >= 2


def test_limits_by_site_are_exact_after_kills(tmp_path: Path) -> None:
    """Seven sites of some 200 URLs each; each kill undoes what came after a checkpoint."""
    requests, log = tmp_path / "requests", tmp_path / "state" / "crawl.jsonl"
    test = KillTest(tmp_path, 1500, [], seed=6)
    with test.served(requests) as (web, set_rate):
        lines = "limitPageBySite 40", "canReload", f"startUrl {web.url(0)}"
        test.configure(*lines)
        set_rate(60)
        for kill in range(1, 4):
            with test.crawling() as process:
                while len(lines_of(log)) < 80 * kill:
                    assert process.poll() is None
                    time.sleep(0.02)
        set_rate(0)
        with test.crawling() as process:
            assert process.wait(60) == 0
    fates = [json.loads(line) for line in lines_of(log)]
    assert len({fate["url"] for fate in fates}) == len(fates)
    pages = Counter(host_of(fate["url"]) for fate in fates if fate["outcome"] == "success")
    assert set(pages.values()) == {40}
    assert len(pages) == 7
    over = [fate for fate in fates if fate["outcome"] == "siteLimit"]
    assert {fate["detail"] for fate in over} == {"limitPageBySite 40"}
    assert len(over) > 300


def lines_of(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def test_a_crawl_into_a_database_is_killed_and_goes_on(tmp_path: Path) -> None:
    """So are its indexer and its readers, at other moments or at the same."""
    harm = DatabaseKills(lambda: in_sqlite(tmp_path / "crawl.db"), seed=7)
    plan = ["early", "save", "load", "late"]
    conf = f"canReload\n{CONF}"
    test = KillTest(tmp_path, 1500, plan, seed=7, interval=2.0, conf=conf, harm=harm)
    assert test.run().findings == []
    assert harm.kills["indexer"] + harm.kills["reader"]
