"""Checks of tables: rows of a damaged file come in any order, and again."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from larbinpy.database import maintenance
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


def test_so_many_lines_name_pages_and_one_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each kind: pages that cannot be read, and those that are not found."""

    def lines(unread: int, lost: int) -> list[str]:
        pages = list(range(unread + lost))
        monkeypatch.setattr(maintenance, "count", lambda base, statement: len(pages))
        monkeypatch.setattr(maintenance, "pieces", lambda base, which: [pages])
        monkeypatch.setattr(
            maintenance, "_unread", lambda rows, page: "unread" if page < unread else ""
        )
        monkeypatch.setattr(maintenance, "_lost", lambda base, page, finds, random: "lost")
        base: Any = SimpleNamespace(execute=None)
        return list(maintenance._lost_pages(base, lambda *each: True, lambda *each: None))

    assert lines(0, 20) == ["lost"] * 20
    assert lines(20, 0) == ["unread"] * 20
    assert lines(21, 21) == [
        *["unread"] * 20,
        *["lost"] * 20,
        f"1 other pages of which something {maintenance.DAMAGED}",
        "1 other pages of that kind; --rebuild indexes all again",
    ]


def test_rows_of_a_damaged_tree_are_read_once() -> None:
    assert list(pieces(cast(Tables, DamagedTree()), "FROM page WHERE 1")) == [[1, 5], [7]]
