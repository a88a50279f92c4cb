"""Histories: cells of a minute, an hour and a day."""

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from larbinpy.stats import SPANS, History

MINUTE, HOUR, DAY = (span.name for span in SPANS)


def series(it: History, span: str, name: str = "pages") -> list[float]:
    described: Any = it.describe()
    found: list[float] = described[span]["series"].get(name, [])
    return found


def run(it: History, seconds: int, counts: Mapping[str, float], begin: int = 0) -> None:
    for second in range(begin + 1, begin + seconds + 1):
        it.add(float(second), counts, {}, {})


def test_a_second_is_a_cell_with_its_counts() -> None:
    it = History(0.0)
    for second, count in enumerate((3, 0, 8), 1):
        it.add(float(second), {"pages": count}, {}, {})
    assert series(it, MINUTE) == [3, 0, 8]


def test_only_the_last_are_kept() -> None:
    it = History(0.0)
    for second in range(100):
        it.add(second + 1.0, {"pages": second}, {}, {})
    assert series(it, MINUTE) == list(range(40, 100))


def test_minutes_and_quarters_of_an_hour_hold_means_per_second() -> None:
    it = History(0.0)
    run(it, 1800, counts={"pages": 4})
    run(it, 1800, begin=1800, counts={"pages": 10})
    assert series(it, HOUR) == [4] * 30 + [10] * 30
    assert series(it, DAY) == [4, 4, 10, 10]


def test_a_cell_is_shown_once_a_quarter_of_it_is_over() -> None:
    it = History(0.0)
    run(it, 14, counts={"pages": 2})
    assert series(it, HOUR) == []
    run(it, 1, begin=14, counts={"pages": 2})
    assert series(it, HOUR) == [2]
    run(it, 60, begin=15, counts={"pages": 2})
    assert series(it, HOUR) == [2, 2]


def test_a_cell_has_the_last_level_and_the_highest_peak() -> None:
    it = History(0.0)
    for second in range(1, 61):
        it.add(float(second), {}, {"queue": second}, {"turn": 60 - second})
    assert series(it, HOUR, "queue") == [60]
    assert series(it, HOUR, "turn") == [59]


def test_seconds_that_are_a_little_long_are_seconds() -> None:
    it = History(0.0)
    for second in range(120):
        it.add((second + 1) * 1.004, {"pages": 5}, {}, {})
    assert series(it, MINUTE) == [4.98] * 60
    assert len(series(it, HOUR)) == 2


def test_seconds_that_are_a_little_short_are_not_lost() -> None:
    it = History(0.0)
    it.add(0.001, {"pages": 7}, {}, {})
    assert series(it, MINUTE) == []
    it.add(1.001, {"pages": 3}, {}, {})
    assert series(it, MINUTE) == [9.99]


def test_a_time_without_any_turn_is_filled() -> None:
    it = History(0.0)
    run(it, 10, counts={"pages": 1})
    it.add(40.0, {"pages": 60}, {}, {})
    assert series(it, MINUTE) == [1] * 10 + [2] * 30
    it.add(400_000.0, {"pages": 0}, {}, {})
    assert series(it, MINUTE) == [0] * 60
    assert len(series(it, DAY)) == 96


def test_a_clock_that_stands_still() -> None:
    it = History(5.0)
    it.add(5.0, {"pages": 1}, {}, {})
    it.add(4.0, {"pages": 1}, {}, {})
    assert series(it, MINUTE) == []
    assert it.rates(10) == {}


def test_rates_are_means_of_the_last_seconds() -> None:
    it = History(0.0)
    for second in range(1, 31):
        it.add(float(second), {"pages": second}, {}, {})
    assert it.rates(10) == {"pages": 25.5}
    assert History(0.0).rates(10) == {}


def test_cells_are_described() -> None:
    described: Any = History(0.0).describe()
    assert [(t["step_s"], t["cells"]) for t in described.values()] == [(1, 60), (60, 60), (900, 96)]
    assert sum(t["step_s"] * t["cells"] for t in described.values()) == 60 + 3600 + 86400


def test_a_week_takes_no_more_room_than_a_day() -> None:
    it = History(0.0)
    names = {f"n{n}": n for n in range(10)}
    for second in range(2 * 86400 // 30):
        it.add(second * 30.0, names, {}, {})
    described: Any = it.describe()
    numbers = sum(len(s) for t in described.values() for s in t["series"].values())
    assert numbers <= 10 * 216
    cells = [cells for ring in it._rings for cells in ring._cells.values()]
    assert sum(map(sys.getsizeof, cells)) < 50_000


@pytest.mark.parametrize("span", [MINUTE, HOUR, DAY])
def test_a_series_that_begins_later_is_shorter(span: str) -> None:
    it = History(0.0)
    run(it, 1000, counts={"pages": 1})
    run(it, 2000, begin=1000, counts={"pages": 1, "late": 1})
    assert 0 < len(series(it, span, "late")) <= len(series(it, span))
