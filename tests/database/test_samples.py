"""The sample of a host: a page by which the others are compressed."""

import json
import zlib
from contextlib import closing

import pytest

from larbinpy.database.base import DatabaseError, Stored
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.preparation import Packed, Prepared
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.databases import Database

MENU = " ".join(f"item{n * n * 7919 % 10007}" for n in range(200))


def url(number: int) -> str:
    return f"http://a.test/{number}"


def page(
    number: int, host: str = "a.test", at: str = "2026-11-23T08:00:00Z", rest: str = MENU
) -> Prepared:
    return prepared(f"http://{host}/{number}", f"Text {number}.", at=at, rest=f"{rest} own{number}")


def write(database: Database, *pages: Prepared) -> None:
    with closing(Writer(database.where)) as writer:
        writer.write(pages)


def show(database: Database, number: int) -> Stored:
    with closing(DatabaseFinder(database.where)) as finder:
        stored = finder.show(url(number))
    assert stored is not None
    return stored


def sizes(database: Database) -> list[int]:
    return database.rows("SELECT length(more) FROM content ORDER BY page")


def quiet(what: str, done: int, total: int) -> None:
    pass


def test_what_pages_of_a_host_have_in_common_is_stored_once(database: Database) -> None:
    write(database, page(1), page(2), page(3, "b.test"))
    write(database, page(4))
    first, second, other, fourth = sizes(database)
    assert second < 150 < 400 < first
    assert fourth < 150 < 400 < other
    assert database.rows("SELECT name FROM host WHERE sample IS NOT NULL") == ["a.test"]
    for number in (1, 2, 4):
        assert show(database, number).more["rest"] == f"{MENU} own{number}"
    assert verify(database.where, quiet) == []


def test_other_programs_read_it_with_zlib(database: Database) -> None:
    write(database, page(1), page(2))
    ((more, sample),) = database.rows(
        "SELECT more, sample FROM content JOIN page ON page.id = content.page"
        " JOIN host ON host.id = page.host WHERE url = ?",
        url(2),
    )
    plain = zlib.decompressobj(zdict=zlib.decompress(sample)).decompress(more)
    assert json.loads(plain)["rest"] == f"{MENU} own2"


def test_the_sample_stays_when_its_page_changes(database: Database) -> None:
    write(database, page(1), page(2))
    write(database, page(1, at="2026-11-24T08:00:00Z", rest="another menu"))
    assert show(database, 1).more["rest"] == "another menu own1"
    assert show(database, 2).more["rest"] == f"{MENU} own2"


def test_a_short_page_is_no_sample(database: Database) -> None:
    write(database, page(1, rest=""), page(2, rest=""))
    assert database.rows("SELECT count(*) FROM host WHERE sample IS NOT NULL") == [0]
    write(database, page(3), page(4))
    assert show(database, 4).more["rest"] == f"{MENU} own4"
    assert sizes(database)[3] < 150


def test_a_long_page_is_a_sample_by_its_beginning(database: Database) -> None:
    long = " ".join(f"item{n}" for n in range(10_000))
    write(database, page(1, rest=long), page(2, rest=long))
    assert database.rows("SELECT sample_size FROM host") == [16 << 10]
    assert show(database, 2).more["rest"] == f"{long} own2"


def test_the_sample_of_a_deleted_page_is_removed(database: Database) -> None:
    write(database, *(page(n) for n in range(1, 5)))
    database.execute(f"DELETE FROM page WHERE url = '{url(1)}'")
    rebuild(database.where, quiet)
    assert verify(database.where, quiet) == []
    assert database.rows("SELECT count(*) FROM host WHERE sample IS NOT NULL") == [0]
    for number in (2, 3, 4):
        assert show(database, number).more["rest"] == f"{MENU} own{number}"


def test_a_sample_that_another_process_has_removed_is_used_no_more(database: Database) -> None:
    """It is in the memory of the writer, and nowhere else."""
    with closing(Writer(database.where)) as writer:
        writer.write([page(n) for n in range(1, 4)])
        database.execute(f"DELETE FROM page WHERE url = '{url(1)}'")
        database.execute("UPDATE host SET sample = NULL, sample_size = NULL, sample_of = NULL")
        database.execute("INSERT INTO meta VALUES ('samples', 1)")
        writer.write([page(4), page(5)])
    for number in (4, 5):
        assert show(database, number).more["rest"] == f"{MENU} own{number}"


def test_the_sample_of_another_page_stays_when_one_is_deleted(database: Database) -> None:
    write(database, *(page(n) for n in range(1, 5)))
    database.execute(f"DELETE FROM page WHERE url = '{url(3)}'")
    rebuild(database.where, quiet)
    assert database.rows("SELECT count(*) FROM host WHERE sample IS NOT NULL") == [1]
    assert show(database, 4).more["rest"] == f"{MENU} own4"


def test_a_damaged_sample_costs_the_pages_that_need_it(database: Database) -> None:
    write(database, page(1), page(2))
    database.execute("UPDATE host SET sample = 'no sample'")
    assert any("is damaged" in line for line in verify(database.where, quiet))
    with pytest.raises(DatabaseError, match="damaged"):
        show(database, 2)
    write(database, page(2, at="2026-11-24T08:00:00Z"), page(3))
    assert show(database, 2).more["rest"] == f"{MENU} own2"
    assert show(database, 3).more["rest"] == f"{MENU} own3"


def test_a_sample_is_not_unpacked_beyond_its_bound(database: Database) -> None:
    write(database, page(1), page(2))
    bomb = Packed(zlib.compress(bytes(100 << 20)), 100 << 20)
    database.execute(f"UPDATE host SET sample = x'{bomb.data.hex()}', sample_size = {bomb.size}")
    with pytest.raises(DatabaseError, match="too long"):
        show(database, 2)
