"""Rows of `page` that a user deletes."""

from contextlib import closing

from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database


def quiet(what: str, done: int, total: int) -> None:
    pass


def test_rebuild_removes_what_belongs_to_deleted_rows(database: Database) -> None:
    pages = [prepared(f"http://a.test/{n}", f"Text number {n}.", title=f"T{n}") for n in range(3)]
    copies = [prepared(f"http://a.test/copy{n}", "Text number 1.", title="T1") for n in range(3)]
    with closing(Writer(database.where)) as writer:
        writer.write([*pages, *copies])
    database.execute("DELETE FROM page WHERE url IN ('http://a.test/1', 'http://a.test/2')")
    assert "contents have no page; --rebuild" in "".join(verify(database.where, quiet))
    assert rebuild(database.where, quiet) == 2
    assert verify(database.where, quiet) == []
    assert database.rows("SELECT url FROM page WHERE indexed IS NOT NULL ORDER BY id") == [
        "http://a.test/0",
        "http://a.test/copy0",
    ]
    for table in ("content", "change"):
        assert database.rows(f"SELECT count(*) FROM {table}") == [4]
