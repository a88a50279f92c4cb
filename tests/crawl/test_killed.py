"""A crawl that is killed at any moment goes on: no URL is lost, none torn, few are repeated.

``scripts/kill-test`` does this for minutes.
"""

from pathlib import Path

import pytest

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
