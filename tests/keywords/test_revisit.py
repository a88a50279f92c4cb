"""The keywords of visits to pages that are known."""

import time
from pathlib import Path

import pytest

from larbinpy.database.revisit.plan import seconds_between
from tests.support.keywords import effect_of
from tests.support.revisits import all_due, rows, run, served

pytestmark = pytest.mark.slow

DAY = 86_400


@effect_of("revisitMin", "revisitMax")
def test_bounds_of_the_time_between_visits(tmp_path: Path) -> None:
    def waits(*settings: str) -> set[float]:
        (tmp_path / "crawl.db").unlink(missing_ok=True)
        options = [word for each in settings for word in ("--set", each)]
        run(tmp_path, "crawl", "--scratch", "--progress", "none", *options)
        found = rows(tmp_path, "SELECT fetched, due FROM page")
        return {seconds_between(*row) for row in found}

    with served(tmp_path, 3):
        # Without them it would be a week.
        assert waits("revisitMin=20d", "revisitMax=90d") == {20 * DAY}
        assert waits("revisitMin=1h", "revisitMax=2d") == {2 * DAY}


@effect_of("revisit", "revisitBudget")
def test_a_round_and_its_budget(tmp_path: Path) -> None:
    with served(tmp_path, 20) as site:
        run(tmp_path, "crawl", "--progress", "none")
        all_due(tmp_path)

        def asked(*settings: str) -> int:
            began = time.time()
            options = [word for each in settings for word in ("--set", each)]
            run(tmp_path, "crawl", "--resume", "--progress", "none", *options)
            return len(site.requests(began))

        assert asked() == 0
        assert asked("revisit=round", "revisitBudget=5") == 5
        all_due(tmp_path)
        # Options of an earlier --resume stay in force.
        assert asked("revisit=round", "revisitBudget=0") == 20
