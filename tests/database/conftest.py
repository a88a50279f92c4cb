"""The databases that tests of both kinds use: a file, and one on a MariaDB server."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import Database, File, OnServer
from tests.support.ownmariadb import mariadb as mariadb

_NUMBERS = count(1)


@pytest.fixture(autouse=True)
def wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is after that of all pages of these tests."""
    later = datetime(2026, 11, 30, tzinfo=UTC).timestamp()
    monkeypatch.setattr("larbinpy.database.writer.wall", lambda: later)


@pytest.fixture(params=["sqlite", "mysql"])
def database(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Database:
    """A new database of each kind."""
    if request.param == "sqlite":
        return File(tmp_path / "it.db")
    # The option file of whoever runs the tests is not theirs.
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    return OnServer(request.getfixturevalue("mariadb"), f"it{next(_NUMBERS)}")


@pytest.fixture
def row(database: Database) -> Callable[..., Any]:
    """Return some columns of a page."""

    def columns(names: str, url: str = "http://a.example/a") -> Any:
        (found,) = database.rows(f"SELECT {names} FROM page WHERE url = ?", url)
        return found

    return columns
