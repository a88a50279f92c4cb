"""A crawl into a database on a server that is stopped, killed and started again."""

from pathlib import Path

import pytest

from larbinpy.database.maintenance import verify
from tests.support.databasekills import ServerKills
from tests.support.databases import OnServer
from tests.support.killing import KillTest
from tests.support.mariadb import MariaDb

pytestmark = pytest.mark.slow


def test_rows_are_those_of_the_log(
    mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are the crawl, its indexer and its readers."""
    monkeypatch.setenv("HOME", str(tmp_path))
    database = OnServer(mariadb, "killed")
    harm = ServerKills(mariadb, database, seed=8)
    conf = f"canReload\noutputMode mirror,database\ndatabase {database.where}"
    plan = ["early", "late", "save", "late"]
    test = KillTest(tmp_path, 1500, plan, seed=8, interval=2.0, conf=conf, harm=harm)
    assert test.run().findings == []
    assert harm.kills["server SIGTERM"] and harm.kills["server SIGKILL"]
    assert harm.kills["indexer"]
    assert verify(database.where, lambda *_: None) == []
