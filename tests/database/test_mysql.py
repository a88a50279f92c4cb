"""The database on a server: what is about the server, its loss, its rights, and the commands."""

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pymysql
import pytest
from click.testing import CliRunner

from larbinpy.cli import main
from larbinpy.database.base import Address, DatabaseError, Unavailable, Wish
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.mysql.index import columns_in, encoded, index_words
from larbinpy.database.mysql.server import ServerTables, TooLong
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.checkout import ROOT
from tests.support.databasepages import prepared
from tests.support.databases import OnServer
from tests.support.mariadb import MariaDb
from tests.support.questions import query

A, B, C = (f"http://a.example/{name}" for name in "abc")


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without the option file of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(name="database")
def _database(mariadb: MariaDb) -> OnServer:
    return OnServer(mariadb, "server")


@pytest.fixture(name="user")
def _user(mariadb: MariaDb, database: OnServer) -> Iterator[str]:
    """The database as a user with a password has it."""
    database.execute("CREATE USER larbin@'127.0.0.1' IDENTIFIED BY 'swordfish'")
    yield f"mysql://larbin@127.0.0.1:{mariadb.port}/server"
    database.execute("DROP USER larbin@'127.0.0.1'")


def found(where: str, word: str) -> list[str]:
    finder = DatabaseFinder(where)
    try:
        return [hit.url for hit in finder.search(query(word), Wish()).hits]
    finally:
        finder.close()


def test_addresses() -> None:
    assert Address.of("mysql://host/name") == (None, "host", None, "name")
    assert Address.of("MariaDB://me@h.example:3307/n") == ("me", "h.example", 3307, "n")
    assert Address.of("mysql://[::1]/n").host == "::1"
    for text in ("mysql://host", "mysql:///n", "mysql://h/n/m", "mysql://h:x/n", "mysql://h/n?a=b"):
        with pytest.raises(DatabaseError, match="is not mysql://") as caught:
            Address.of(text)
        assert "a=b" not in str(caught.value)


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    for opening in (DatabaseFinder, Writer):
        with pytest.raises(
            DatabaseError, match=r"could be seen; put it into ~/\.my\.cnf"
        ) as caught:
            opening("mysql://me:swordfish@host/name")
        assert "swordfish" not in str(caught.value)


def test_user_and_password_come_from_the_option_file(
    database: OnServer, user: str, home: Path
) -> None:
    database.execute("GRANT ALL ON server.* TO larbin@'127.0.0.1'")
    with pytest.raises(DatabaseError, match=r"put user and password into ~/\.my\.cnf"):
        Writer(user)
    (home / ".my.cnf").write_text("[client]\npassword = 'swordfish'\nuser=larbin\nloose\n")
    for where in (user, user.replace("larbin@", "")):
        writer = Writer(where)
        assert "swordfish" not in repr(writer)
        writer.close()
    (home / ".my.cnf").write_text("no section\npassword = swordfish\n")
    with pytest.raises(DatabaseError, match="cannot be read") as caught:
        Writer(user)
    assert "swordfish" not in str(caught.value)


def test_a_missing_database_is_said_with_what_makes_it(
    database: OnServer, user: str, home: Path
) -> None:
    (home / ".my.cnf").write_text("[client]\npassword=swordfish\n")
    with pytest.raises(
        DatabaseError, match=r"CREATE DATABASE `server`.*GRANT SELECT, INSERT"
    ) as no:
        Writer(user)
    assert "\n" not in str(no.value)
    (home / ".my.cnf").unlink()
    with pytest.raises(DatabaseError, match="CREATE DATABASE `none`"):
        Writer(database.where.replace("/server", "/none"))


def test_the_rights_that_are_named_suffice(database: OnServer, user: str, home: Path) -> None:
    (home / ".my.cnf").write_text("[client]\npassword=swordfish\n")
    rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX"
    database.execute(f"GRANT {rights} ON server.* TO larbin@'127.0.0.1'")
    writer = Writer(user)
    writer.write([prepared(A, "one")])
    writer.close()
    database.execute("REVOKE ALL ON server.* FROM larbin@'127.0.0.1'")
    database.execute("GRANT SELECT ON server.* TO larbin@'127.0.0.1'")
    assert found(user, "one") == [A]
    with pytest.raises(DatabaseError, match="denied"):
        Writer(user).write([prepared(B, "two")])


def test_other_tables_are_refused_untouched(database: OnServer) -> None:
    database.execute("CREATE TABLE page (id INT)")
    for opening in (DatabaseFinder, Writer):
        with pytest.raises(DatabaseError, match="another program"):
            opening(database.where)
    assert database.rows("SHOW TABLES") == ["page"]
    database.empty()
    with pytest.raises(DatabaseError, match="an empty database; crawl first"):
        DatabaseFinder(database.where)
    Writer(database.where).close()
    database.execute("UPDATE meta SET value = 99 WHERE key = 'format'")
    with pytest.raises(DatabaseError, match="newer larbinpy"):
        DatabaseFinder(database.where)


def test_a_connection_that_the_server_closed_is_made_anew(database: OnServer) -> None:
    writer = Writer(database.where)
    writer.write([prepared(A, "one")], "s", Position(1, 0))
    finder = DatabaseFinder(database.where)
    for number in database.rows(
        "SELECT id FROM information_schema.processlist WHERE db = 'server' AND command = 'Sleep'"
    ):
        database.execute(f"KILL {number}")
    writer.write([prepared(B, "one too")], "s", Position(2, 0))
    assert writer.position("s") == Position(2, 0)
    assert len(finder.search(query("one"), Wish()).hits) == 2
    finder.close()
    writer.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_away_for_a_while(
    mariadb: MariaDb, database: OnServer, number: signal.Signals
) -> None:
    writer, finder = Writer(database.where), DatabaseFinder(database.where)
    writer.write([prepared(A, "one")], "s", Position(1, 0))
    mariadb.end(number)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"mysql://127\.0\.0\.1"):
            writer.write([prepared(B, "two")], "s", Position(2, 0))
        with pytest.raises(Unavailable, match=r"mysql://127\.0\.0\.1"):
            finder.search(query("one"), Wish())
    mariadb.start()
    assert writer.position("s") == Position(1, 0)
    writer.write([prepared(B, "two")], "s", Position(2, 0))
    # A server that has just begun is slow.
    for word, url in ("one", A), ("two", B):
        assert [hit.url for hit in finder.search(query(word), Wish(limit=60.0)).hits] == [url]
    writer.close()
    finder.close()


def test_a_connection_that_is_lost_in_mid_commit(
    database: OnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The position says whether the batch was committed."""
    writer = Writer(database.where)
    whole = pymysql.connections.Connection.query

    def query_and_lose(
        self: "pymysql.Connection[pymysql.cursors.Cursor]", sql: bytes, unbuffered: bool
    ) -> int:
        answer = whole(self, sql, unbuffered)
        if sql == b"COMMIT":
            raise pymysql.OperationalError(2013, "Lost connection to MySQL server during query")
        return answer

    monkeypatch.setattr(pymysql.connections.Connection, "query", query_and_lose)
    with pytest.raises(Unavailable, match="Lost connection"):
        writer.write([prepared(A, "one")], "s", Position(1, 0))
    monkeypatch.undo()
    writer.close()
    writer = Writer(database.where)
    assert writer.position("s") == Position(1, 0)
    assert database.rows("SELECT url, visits FROM page") == [(A, 1)]
    writer.close()


def test_rows_that_another_program_locks(database: OnServer) -> None:
    writer = Writer(database.where)
    writer.write([prepared(A, "one")])
    address = Address.of(database.where)
    other = pymysql.connect(
        host=address.host, port=address.port or 0, user="root", database=address.name
    )
    with other, other.cursor() as cursor:
        cursor.execute("SELECT * FROM page FOR UPDATE")
        with writer._base.asked() as opened:
            opened.base.execute("SET SESSION innodb_lock_wait_timeout = 1")
        with pytest.raises(Unavailable, match="Lock wait timeout"):
            writer.write([prepared(A, "two", at="2027-01-01T00:00:00Z")])
    writer.write([prepared(A, "two", at="2027-01-01T00:00:00Z")])
    assert found(database.where, "two") == [A]
    writer.close()


def test_texts_of_any_length(database: OnServer) -> None:
    """Text that the columns or the server cannot take is cut, and never an error for ever."""
    long = "é" * 100_000
    page = prepared(
        A, f"{'网络' * 400_000} end", title=long, lang="x" * 99, type=long, author=long,
        published=long, body=b"x" * 20_000_000, comments=1 << 70,
    )  # fmt: skip
    writer = Writer(database.where)
    writer.write([page, prepared(B, "two")])
    writer.close()
    assert found(database.where, "two") == [B]
    assert found(database.where, "网络") == [A]
    (size,) = database.rows("SELECT length(title) FROM page WHERE id = 1")
    assert size == 200_000


@pytest.fixture(
    name="small_packets", params=[64 << 10, 1 << 20, pytest.param(4 << 20, marks=pytest.mark.slow)]
)
def _small_packets(request: pytest.FixtureRequest, database: OnServer) -> Iterator[int]:
    """The server takes statements of so many bytes alone."""
    (before,) = database.rows("SELECT @@global.max_allowed_packet")
    database.execute(f"SET GLOBAL max_allowed_packet = {request.param}")
    yield request.param
    database.execute(f"SET GLOBAL max_allowed_packet = {before}")


def noise(random: Random, length: int) -> str:
    """A text that cannot be compressed much."""
    return "".join(chr(random.randrange(0x4E00, 0x9FA0)) for _ in range(length))


def test_a_page_that_is_longer_than_the_server_takes_is_cut(
    small_packets: int, database: OnServer
) -> None:
    random = Random(3)
    text, rest = noise(random, 600_000), noise(random, 250_000)
    headings = tuple(noise(random, 200) for _ in range(200))
    links = tuple((f"{B}{n}", noise(random, 200)) for n in range(40))
    page = prepared(
        A, text, title=noise(random, 300), rest=rest, headings=headings, links=links, near=True,
        etag=noise(random, 99_999), author=noise(random, 99_999), body=random.randbytes(3 << 20),
    )  # fmt: skip
    lines = []
    with closing(Writer(database.where)) as writer:
        lines += writer.write([prepared(C, "before"), page, prepared(B, "after")])
        lines += writer.write([prepared(C, "again", at="2026-11-24T00:00:00Z")])
        while writer.tend():
            pass
    (line,) = lines
    assert line.startswith(f"{A}: cut to fit the server's max_allowed_packet")
    with closing(DatabaseFinder(database.where)) as finder:
        stored = finder.show(A)
    assert stored is not None
    assert text.startswith(stored.text) and len(stored.text) > small_packets / 40
    assert rest.startswith(stored.more["rest"])
    assert stored.columns["etag"] is None or len(stored.columns["etag"]) == 99_999
    assert stored.more["trouble"] == "cut to fit the server's max_allowed_packet"
    assert found(database.where, text[:2]) == [A]
    assert found(database.where, "after") == [B]
    assert found(database.where, "again") == [C]
    for _ in range(2):
        assert verify(database.where, lambda *_: None) == []
        assert rebuild(database.where, lambda *_: None) == 3


def test_a_body_is_kept_if_the_server_takes_it(small_packets: int, database: OnServer) -> None:
    random, most = Random(5), small_packets * 3 // 8
    bodies = [random.randbytes(size) for size in (most, most + 1, small_packets - 1)]
    pages = [prepared(f"{A}{n}", "text", body=body) for n, body in enumerate(bodies)]
    with closing(Writer(database.where)) as writer:
        lines = writer.write(pages)
    assert [line.partition(": ")[0] for line in lines] == [f"{A}1", f"{A}2"]
    assert database.rows("SELECT zstd FROM body") == bodies[:1]


def test_many_rows_are_more_than_one_statement(small_packets: int, database: OnServer) -> None:
    random = Random(4)
    pages = [prepared(f"{A}{n}", noise(random, small_packets // 400)) for n in range(100)]
    with closing(Writer(database.where)) as writer:
        assert not writer.write(pages)
    assert rebuild(database.where, lambda *_: None) == 100
    assert verify(database.where, lambda *_: None) == []


def test_a_statement_that_is_too_long_is_not_sent(small_packets: int, database: OnServer) -> None:
    with closing(ServerTables(database.where, 10.0)) as server:
        with pytest.raises(TooLong, match=f"max_allowed_packet of the server, {small_packets}"):
            server.execute("SELECT ?", ["x" * small_packets])
        assert server.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize("small_packets", [1 << 20], indirect=True)
def test_verify_knows_that_the_words_of_long_pages_are_cut(
    small_packets: int, database: OnServer
) -> None:
    page = prepared(A, noise(Random(5), 80_000), title="The sea")
    words, _ = index_words((page.tokens["body"], *[""] * 5), 1 << 30)
    assert len(words.encode()) > small_packets / 2
    with closing(Writer(database.where)) as writer:
        assert not writer.write([page])
    assert verify(database.where, lambda *_: None) == []
    database.execute("UPDATE ft SET words = 'xyz'")
    (line,) = verify(database.where, lambda *_: None)
    assert "not found by its word" in line
    assert rebuild(database.where, lambda *_: None) == 1
    assert verify(database.where, lambda *_: None) == []


def test_the_statement_of_the_docs_reads_a_text(database: OnServer) -> None:
    guide = (ROOT / "docs" / "search.md").read_text()
    statement = guide[guide.index("SELECT CONVERT(") :].partition(";")[0]
    writer = Writer(database.where)
    text = "Wörter und 网络. " * 5000
    writer.write([prepared("http://www.example.org/", text)])
    writer.close()
    assert database.rows(statement) == [text]


def test_a_search_ends_in_time(database: OnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The full-text index does not look at the server's own limit: then the client leaves."""
    writer = Writer(database.where)
    writer.write([prepared(f"{A}{n}", f"word{n} common") for n in range(50)])
    writer.close()
    finder = DatabaseFinder(database.where)

    def unlimited(
        server: ServerTables, statement: str, arguments: Any, seconds: float
    ) -> list[Any]:
        return server.rows("SELECT SLEEP(3)")

    with monkeypatch.context() as patched:
        patched.setattr(ServerTables, "limited", unlimited)
        found = finder.search(query("common"), Wish(limit=0.3))
    assert found.cut
    assert found.seconds < 2.5
    assert len(finder.search(query("common"), Wish()).hits) == 10
    finder.close()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM ft WHERE page = 3", "1 pages are missing in the index"),
        ("UPDATE ft SET words = 'xyz' WHERE page = 3", "http://a.example/c: not found by its word"),
        ("INSERT INTO ft VALUES (999, 1, 'xyz')", "1 entries of the index have no page"),
    ],
)
def test_verify_sees_damage_of_the_index(database: OnServer, damage: str, says: str) -> None:
    def quiet(what: str, done: int, total: int) -> None:
        assert what and 0 <= done <= total

    writer = Writer(database.where)
    writer.write([prepared(url, f"text of {url}") for url in (A, B, C)])
    writer.close()
    database.execute(damage)
    assert any(says in line for line in verify(database.where, quiet))
    assert rebuild(database.where, quiet) == 3
    assert verify(database.where, quiet) == []


def test_words_of_a_page_and_back() -> None:
    tokens = ("网 c＋＋ a\u0300", "the sea", "", "link", "http a", "rest")  # noqa: RUF001
    words, size = index_words(tokens, 10**6)
    assert size == 9
    assert columns_in(words)["body"] == ["网__", "c_ff0b__ff0b_", "a_300_"]
    assert columns_in(words)["heading"] == []
    cut, _ = index_words(tokens, 60)
    assert columns_in(cut)["title"] == ["the", "sea"]
    assert encoded("w" * 90) != encoded("w" * 91)
    assert len(encoded("w" * 90)[0]) < 84


def test_the_commands(database: OnServer) -> None:
    writer = Writer(database.where)
    writer.write([prepared(A, "Blue water.", title="The sea", lang="en"), prepared(B, "Boats.")])
    writer.close()

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, [*arguments, "-d", database.where])
        assert (result.exit_code, "Traceback" in result.output) == (0, False), result.output
        return result.stdout

    assert json.loads(run("search", "--json", "water"))["url"] == A
    assert "The sea" in run("show", A)
    assert A in run("changes", "--since", "2000-01-01")
    for option in ("--verify", "--rebuild", "--optimize", "--verify"):
        run("index", option)
    assert json.loads(run("search", "--json", "boats"))["url"] == B
