"""Checks of tables: rows of a damaged file come in any order, and again."""

from typing import Any, cast

from larbinpy.database.base import Tables
from larbinpy.database.maintenance import pieces


class DamagedTree:
    """Gives the rows 5 and 1 whatever it is asked for, and 7 once."""

    def __init__(self) -> None:
        self.asked = 0

    def execute(self, _sql: str, _values: tuple[int]) -> "DamagedTree":
        self.asked += 1
        assert self.asked < 10
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [(5,), (7,), (1,)] if self.asked == 2 else [(5,), (1,)]


def test_rows_of_a_damaged_tree_are_read_once() -> None:
    assert list(pieces(cast(Tables, DamagedTree()), "FROM page WHERE 1")) == [[1, 5], [7]]
