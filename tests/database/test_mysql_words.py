"""The words of pages and of conditions as a server gets them: values, without a server."""

import json
from math import log
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CR, ER

from larbinpy.database.base import FIELDS, Address, AllOf, AnyOf, DatabaseError, Unavailable, Within
from larbinpy.database.mysql import server
from larbinpy.database.mysql.index import (
    Frequencies,
    ServerIndex,
    ServerIndexing,
    Term,
    _has_beginning,
    beginning,
    columns_in,
    encoded,
    found,
    index_words,
    match,
    occurrences,
    relevance,
    score,
    terms,
    weight,
    words_of,
)
from larbinpy.database.mysql.server import (
    Lost,
    TooLate,
    hold_spool,
    holds_seat,
    leave_seat,
    mysql_errors,
    take_seat,
    translated,
    turn,
)
from larbinpy.database.mysql.tables import (
    TABLES,
    ServerCare,
    ServerReading,
    _fitted,
    _half,
    _short,
    _short_more,
    _short_text,
)
from larbinpy.database.preparation import Packed
from larbinpy.database.ranking import Late, Matches
from larbinpy.database.search.query import Form, Item, Query
from tests.support.databasepages import prepared

AGAINST = "MATCH(ft.words) AGAINST(? IN BOOLEAN MODE)"
LOCATED = "LOCATE(?, ft.words) > 0"


def word(*tokens: str, prefix: bool = False, field: str | None = None) -> Item:
    return Item(" ".join(tokens), (Form(tokens, prefix),), field)


# Words.


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("the sea", ["the", "sea"]),
        ("a bc", ["a__", "bc_"]),
        ("网 c＋＋", ["网__", "c_ff0b__ff0b_"]),  # noqa: RUF001
        ("x" * 80, ["x" * 80]),
        ("", []),
    ],
)
def test_words_of_tokens(tokens: str, words: list[str]) -> None:
    assert encoded(tokens) == words


def test_a_long_word_keeps_its_beginning() -> None:
    [long], [other] = encoded("x" * 81), encoded("x" * 82)
    assert long.startswith("x" * 60 + "__") and len(long) == 60 + 2 + 16
    assert long != other
    assert beginning("x" * 81) == "x" * 60
    assert beginning("c＋") == "c_ff0b_"  # noqa: RUF001


TOKENS = dict.fromkeys(FIELDS, "") | {"title": "the sea", "body": "blue water", "rest": "end"}


def test_the_words_of_a_page_are_short_columns_first_then_marked_ones() -> None:
    tokens = tuple({**TOKENS, "anchor": "boats", "url": "http a", "heading": "h1x"}.values())
    words, size = index_words(tokens, 1000)
    assert words == (
        " the sea _ boats _ http a__ _ h1x _ __tthe __tsea _ __aboats _ __uhttp __ua__ _ "
        "blue water _ end "
    )
    assert size == 9
    assert columns_in(words) == {
        "title": ["the", "sea"], "anchor": ["boats"], "url": ["http", "a__"], "heading": ["h1x"],
        "body": ["blue", "water"], "rest": ["end"],
    }  # fmt: skip


def test_words_are_cut_between_two_of_them() -> None:
    whole, size = index_words(tuple(TOKENS.values()), 1000)
    length = len(whole)
    assert size == 5
    assert index_words(tuple(TOKENS.values()), length)[0] == whole
    assert index_words(tuple(TOKENS.values()), length - 1)[0] == whole.removesuffix("end ")
    cut, _ = index_words(tuple(TOKENS.values()), 10)
    assert cut == " the sea "
    assert columns_in(cut)["title"] == ["the", "sea"]
    assert columns_in(cut)["rest"] == []
    letters = index_words(("é" * 50, *[""] * 5), 60)[0]
    assert len(letters.encode()) <= 60


# Conditions.


@pytest.mark.parametrize(
    ("condition", "sql", "arguments"),
    [
        (word("sea"), AGAINST, ["+sea"]),
        (word("sea", field="title"), AGAINST, ["+__tsea"]),
        (word("the", "sea"), AGAINST, ['+"the sea"']),
        (word("se", prefix=True), AGAINST, ["+se*"]),
        (AllOf((word("a"), word("sea"))), AGAINST, ["+(+a__ +sea)"]),
        (AnyOf((word("a"), word("sea"))), AGAINST, ["+(a__ sea)"]),
        (AnyOf((word("sea"), word("sea"))), AGAINST, ["+sea"]),
        (AllOf((word("sea"), word("sea"))), AGAINST, ["+sea"]),
        (Within(("title", "anchor"), word("sea")), AGAINST, ["+(__tsea __asea)"]),
        (Within(("title",), AllOf((word("a"), word("b")))), AGAINST, ["+(+__ta__ +__tb__)"]),
        # The beginning of a word and a phrase: it is looked for in the pages with its words.
        (
            AllOf((word("the", "sea"), word("bo", prefix=True))),
            f"{AGAINST} AND (({LOCATED}) AND ({LOCATED}))",
            ["+(+(+the +sea) +bo*)", " the sea ", " bo"],
        ),
        (
            word("the", "se", prefix=True),
            f"{AGAINST} AND ({LOCATED})",
            ["+(+the +se*)", " the se"],
        ),
        (
            Within(("title", "url"), word("the", "se", prefix=True)),
            f"{AGAINST} AND ({LOCATED} OR {LOCATED})",
            ["+((+__tthe +__tse*) (+__uthe +__use*))", " __tthe __tse", " __uthe __use"],
        ),
        (
            AnyOf((word("the", "se", prefix=True), word("x", "y"))),
            f"{AGAINST} AND (({LOCATED}) OR ({LOCATED}))",
            ["+((+the +se*) (+x__ +y__))", " the se", " x__ y__ "],
        ),
    ],
)
def test_conditions_in_the_language_of_the_server(
    condition: Any, sql: str, arguments: list[str]
) -> None:
    made = match(condition)
    assert made is not None
    assert (made.sql, made.arguments) == (sql, arguments)


def test_a_phrase_has_at_most_as_many_words_as_the_server_takes() -> None:
    words = [f"w{number:03}" for number in range(101)]
    short, long = match(word(*words[:100])), match(word(*words))
    assert short is not None and long is not None
    assert (short.sql, len(short.arguments[0].split())) == (AGAINST, 100)
    assert long.arguments == [short.arguments[0], f" {' '.join(words)} "]
    assert long.sql == f"{AGAINST} AND ({LOCATED})"


@pytest.mark.parametrize(
    "condition", [Item("", ()), AllOf(()), AnyOf(()), AllOf((word("a"), Item("", ())))]
)
def test_what_no_page_can_match(condition: Any) -> None:
    assert match(condition) is None
    assert relevance(condition) == ""


def test_unwanted_words() -> None:
    made = match(word("sea"), [word("boat"), word("a", "b"), Item("", ())])
    assert made == (AGAINST, ['+sea -boat -"a__ b__"'])
    made = match(word("se", prefix=True), [word("boat"), word("a", "b")])
    assert made == (f"{AGAINST} AND NOT ({LOCATED})", ["+se* -boat", " a__ b__ "])
    made = match(word("sea"), [word("the", "bo", prefix=True)])
    assert made == (f"{AGAINST} AND NOT ({LOCATED})", ["+sea", " the bo"])


def test_pages_with_the_words_in_title_and_links_come_first() -> None:
    assert relevance(word("sea")) == "+sea >(__tsea __asea __usea)"
    assert relevance(word("the", "sea")) == (
        "+(+the +sea) >((+__tthe +__tsea) (+__athe +__asea) (+__uthe +__usea))"
    )


@pytest.mark.parametrize(
    ("form", "columns", "words"),
    [
        (Form(("sea",)), (), [["sea"]]),
        (Form(("a", "b")), ("title", "url"), [["__ta__", "__tb__"], ["__ua__", "__ub__"]]),
        (Form(("a", "b"), True), (), [["a__", "b"]]),
        (Form(("b" * 90,), True), (), [["b" * 60]]),
        (Form(("!",)), (), []),
        (Form(("!",), True), ("title",), []),
    ],
)
def test_the_words_of_a_form(form: Form, columns: tuple[str, ...], words: list[list[str]]) -> None:
    assert words_of(form, columns) == words


# Ranking.


@pytest.mark.parametrize(
    ("words", "column", "prefix", "number"),
    [
        ("sea", "the sea sea seas", False, 2),
        ("sea", "the sea sea seas", True, 3),
        ("the sea", "the sea the sea the", False, 2),
        ("the sea", "the seas the sea the", False, 1),
        ("the se", "the seas the sea the", True, 2),
        ("the sea", "the the sea", False, 1),
        ("a b c", "a b a b c", False, 1),
        ("a b c", "a b", False, 0),
        ("a b c", "a x c", False, 0),
        ("a b", "b a", False, 0),
        ("", "a", False, 0),
    ],
)
def test_the_number_of_times_that_a_phrase_is_there(
    words: str, column: str, prefix: bool, number: int
) -> None:
    assert occurrences(words.split(), column.split(), is_prefix=prefix) == number


PAGE = {name: text.split() for name, text in TOKENS.items()}


def test_a_term_counts_by_the_columns_in_which_it_is() -> None:
    sea, end, blue = (Term(Form((each,)), ()) for each in ("sea", "end", "blue"))
    assert [term.frequency(PAGE) for term in (sea, end, blue)] == [5.0, 0.1, 1.0]
    in_title = Term(Form(("sea",)), ("title",))
    assert (in_title.frequency(PAGE), Term(Form(("sea",)), ("body",)).frequency(PAGE)) == (5.0, 0.0)
    assert in_title.condition() == Within(("title",), Item("", (Form(("sea",)),)))
    assert in_title.item() == Item("", (Form(("sea",)),), "title")
    assert Term(Form(("sea",)), ("title", "url")).item() == Item("", (Form(("sea",)),))


def test_the_terms_of_a_condition() -> None:
    sea, water, gone = word("sea"), word("water"), word("gone")
    assert [each.form.tokens[0] for each in terms(AnyOf((sea, AllOf((water, gone)))))] == [
        "sea",
        "water",
        "gone",
    ]
    assert [each.columns for each in terms(Within(("title",), AnyOf((sea, water))))] == [
        ("title",)
    ] * 2
    assert [each.columns for each in terms(word("sea", field="url"))] == [("url",)]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (word("sea"), ["sea"]),
        (word("gone"), []),
        (AllOf((word("sea"), word("water"))), ["sea", "water"]),
        (AllOf((word("sea"), word("gone"))), []),
        (AnyOf((word("sea"), word("gone"), word("end"))), ["sea", "end"]),
        (Within(("title",), word("sea")), ["sea"]),
        (Within(("title",), word("water")), []),
        (Within(("title",), AllOf((word("the"), word("sea")))), ["the", "sea"]),
    ],
)
def test_the_terms_by_which_a_page_is_found(condition: Any, words: list[str]) -> None:
    assert [term.form.tokens[0] for term, _ in found(condition, PAGE)] == words


def test_a_condition_has_a_beginning_if_any_of_its_forms_is_one() -> None:
    mixed = Item("sea", (Form(("sea",)), Form(("seas",), True)), None)
    for condition in (mixed, AnyOf((word("end"), mixed)), Within(("title",), mixed)):
        assert _has_beginning(condition)
    assert not _has_beginning(AllOf((word("sea"), word("end"))))


def test_the_score_is_bm25() -> None:
    term = Term(Form(("sea",)), ())
    assert score([(term, 5.0)], {term: 2.0}, 1.0) == pytest.approx(2 * 5 * 2.2 / 6.2)
    assert score([(term, 1.0)] * 2, {term: 1.0}, 3.0) == pytest.approx(2 * 2.2 / (1 + 1.2 * 2.5))
    assert weight(10, 2) == pytest.approx(log(8.5 / 2.5))
    assert [weight(10, 5), weight(10, 9), weight(3, 9)] == [1e-6] * 3


def test_numbers_of_pages_are_counted_once_a_minute() -> None:
    now, counted = 100.0, 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return counted

    frequencies = Frequencies(lambda: now)
    a, b, *others = (Term(Form((str(each),)), ()) for each in range(10_001))
    assert [frequencies.get(a, count) for _ in range(2)] == [1, 1]
    now = 159.9
    assert frequencies.get(a, count) == 1
    now = 160.0
    assert [frequencies.get(each, count) for each in (a, b, a)] == [2, 3, 2]
    for each in others[:-1]:
        frequencies.get(each, count)
    assert (frequencies.get(a, count), counted) == (2, 10_001)
    # Beyond a bound all are forgotten.
    frequencies.get(others[-1], count)
    assert [frequencies.get(each, count) for each in (others[-1], a)] == [10_002, 10_003]


# The changes of the index, on a server that keeps what it is told.


class Server:
    """Answers from a script, and keeps all statements."""

    packet = 4000
    address = Address(None, "h", None, "d" * 60)

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.said: list[tuple[str, Any]] = []

    def execute(self, statement: str, arguments: Any = ()) -> "Server":
        self.said.append((statement, arguments))
        return self

    def executemany(self, statement: str, rows: Any) -> None:
        self.said.append((statement, rows))

    def fetchone(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_changes_of_the_index_are_written_with_the_numbers_of_pages_and_words() -> None:
    base = Server((1, 7), ("20 300",), ("20 298",))
    indexing = ServerIndexing(base)  # type: ignore[arg-type]
    tokens = tuple(TOKENS.values())
    words, _ = index_words(tokens, 1000)
    indexing.put(3, tokens)
    indexing.put(2, tokens)
    assert indexing.drop(3, 0)
    indexing.put(4, tokens)
    indexing.apply()
    assert base.said == [
        ("SELECT count(*), coalesce(sum(size), 0) FROM ft WHERE page IN (?)", [3]),
        ("DELETE FROM ft WHERE page IN (?)", [3]),
        ("INSERT INTO ft VALUES (?, ?, ?)", [(2, 5, words), (4, 5, words)]),
        ("SELECT value FROM meta WHERE key = ?", ("indexed",)),
        ("INSERT OR REPLACE INTO meta VALUES (?, ?)", ("indexed", "21 303")),
    ]
    base.said.clear()
    # All of it is written, and nothing is left to be written again.
    indexing.apply()
    assert base.said == [("INSERT INTO ft VALUES (?, ?, ?)", [])]


def test_a_new_index_has_numbers_of_its_own() -> None:
    base = Server(None)
    indexing = ServerIndexing(base, "ft_new")  # type: ignore[arg-type]
    indexing.put(1, tuple(TOKENS.values()))
    indexing.apply()
    assert base.said[-1][1] == ("indexed:ft_new", "1 5")


# Pages that a server does not take whole.


@pytest.mark.parametrize(
    ("name", "value", "short"),
    [
        ("title", "x" * 11, "x" * 10),
        ("title", "x" * 10, "x" * 10),
        ("summary", "é" * 6, "é" * 5),
        ("summary", "€" * 4, "€" * 3),
        ("url", "x" * 11, None),
        ("url", "x" * 10, "x" * 10),
        ("url", "é" * 5, "é" * 5),
        ("size", 10**20, 10**20),
        ("via", None, None),
    ],
)
def test_columns_that_are_too_long(name: str, value: Any, short: Any) -> None:
    assert _short(name, value, 10) == short


def test_texts_that_are_too_long() -> None:
    whole = "".join(chr(0x4E00 + 7919 * number % 20_000) for number in range(2000))
    text = Packed.of(whole)
    assert _short_text(text, len(text.data)) is text
    cut = _short_text(text, 1000)
    assert 700 < len(cut.data) <= 1000
    assert whole.startswith(cut.text())


def test_the_parts_beside_a_text_are_halved() -> None:
    assert [_half(each) for each in ("abcd", [1, 2, 3], {"a": 1}, 7, None)] == [
        "ab", [1], {}, 7, None
    ]  # fmt: skip
    noise = "".join(chr(0x4E00 + 7919 * number % 20_000) for number in range(2000))
    more = f'{{"rest": "{noise}"}}'.encode()
    assert _short_more(more, len(more)) is more
    assert _short_more(more, len(more) - 1) is more
    cut = _short_more(more, 2000).decode()
    assert json.loads(cut) == {"rest": noise[:500]}


# The server's locks and errors.


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = %s"),
        ("SELECT 1 WHERE c LIKE 'x%'", "SELECT 1 WHERE c LIKE 'x%%'"),
        ("SELECT key FROM change", "SELECT `key` FROM `change`"),
        ("SELECT keys, changed FROM t", "SELECT keys, changed FROM t"),
        ("BEGIN IMMEDIATE", "BEGIN"),
        ("INSERT OR REPLACE INTO t VALUES (?)", "REPLACE INTO t VALUES (%s)"),
        ("INSERT OR IGNORE INTO t VALUES (?)", "INSERT IGNORE INTO t VALUES (%s)"),
    ],
)  # fmt: skip
def test_statements_as_the_server_takes_them(statement: str, said: str) -> None:
    assert translated(statement) == said


TURN = f"larbinpy.{'d' * 60}"[:64]
SHORT = f"larbinpy.{'d' * 31}"


def test_locks_have_the_name_of_the_database() -> None:
    base: Any = Server((1,), (0,), (7,), (1,), (0,), (0,), (1,))
    with turn(base):
        pass
    assert base.said == [
        ("SELECT GET_LOCK(?, ?)", (TURN, 30)),
        ("SELECT RELEASE_LOCK(?)", (TURN,)),
    ]
    with pytest.raises(Unavailable, match="in use: connection 7 of the server writes to it"):
        turn(base, 2).__enter__()
    assert base.said[2:] == [
        ("SELECT GET_LOCK(?, ?)", (TURN, 2)),
        ("SELECT IS_USED_LOCK(?)", (TURN,)),
    ]
    base.said.clear()
    hold_spool(base, "abc")
    assert take_seat(base) == 2
    leave_seat(base, 2)
    assert base.said == [
        ("SELECT GET_LOCK(?, ?)", (f"{SHORT}.spool.abc", 3)),
        *(("SELECT GET_LOCK(?, ?)", (f"{SHORT}.{seat}", 0)) for seat in range(3)),
        ("SELECT RELEASE_LOCK(?)", (f"{SHORT}.2",)),
    ]


def test_a_spool_has_one_holder() -> None:
    base: Any = Server((0,), (9,), (None,))
    with pytest.raises(Unavailable, match="connection 9 of the server writes the same pages"):
        hold_spool(base, "abc")
    assert not holds_seat(base, 0)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (pymysql.OperationalError(ER.BAD_DB_ERROR, "no"), DatabaseError, "CREATE DATABASE `n` "),
        (pymysql.OperationalError(ER.DBACCESS_DENIED_ERROR, "no"), DatabaseError, "ON `n`.* TO"),
        (pymysql.OperationalError(ER.TABLEACCESS_DENIED_ERROR, "no"), DatabaseError, "GRANT"),
        (pymysql.OperationalError(ER.ACCESS_DENIED_ERROR, "no"), DatabaseError, "no; put user and"),
        (pymysql.ProgrammingError(ER.NO_SUCH_TABLE, "no\n table"), DatabaseError, "h/n: no table"),
        (pymysql.OperationalError(ER.BAD_FIELD_ERROR, "no"), DatabaseError, "h/n: no"),
        (pymysql.ProgrammingError(ER.PARSE_ERROR, "no"), DatabaseError, "h/n: no"),
        (pymysql.InternalError(ER.DISK_FULL, "full"), Unavailable, "make room (full)"),
        (pymysql.InternalError(ER.RECORD_FILE_FULL, "full"), Unavailable, "make room (full)"),
        (pymysql.InternalError(1030, "errno 28"), Unavailable, "make room (errno 28)"),
        (pymysql.OperationalError(1969, "late"), TooLate, "h/n: late"),
        (pymysql.OperationalError(3024, "late"), TooLate, "h/n: late"),
        (pymysql.InternalError(188, "late"), TooLate, "h/n: late"),
        (pymysql.OperationalError(ER.QUERY_INTERRUPTED, "late"), TooLate, "h/n: late"),
        (pymysql.OperationalError(CR.CR_ERROR_FIRST, "gone"), Lost, "h/n: gone"),
        (pymysql.OperationalError(CR.CR_SERVER_LOST, "gone"), Lost, "h/n: gone"),
        (pymysql.InterfaceError(0, ""), Lost, "h/n: the connection is closed"),
        (pymysql.OperationalError(1205, "Lock wait"), Unavailable, "h/n: Lock wait"),
        (pymysql.MySQLError("odd"), Unavailable, "h/n: odd"),
        (ConnectionResetError("reset"), Lost, "h/n: reset"),
    ],
)  # fmt: skip
def test_errors_of_the_server(error: Exception, kind: type[DatabaseError], text: str) -> None:
    with pytest.raises(DatabaseError) as raised, mysql_errors(Address.of("mysql://h/n")):
        raise error
    assert type(raised.value) is kind
    assert text in str(raised.value)
    assert str(raised.value).startswith("mysql://h/n: ")


def test_the_ways_to_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("getpass.getuser", lambda: "me")

    def options(where: str) -> dict[str, Any]:
        return server._options(Address.of(where))

    usual = {"host": "h", "port": 3306, "user": "me", "password": "", "database": "n"}
    assert options("mysql://h/n") == usual
    assert options("mysql://you@h:3307/n") == {**usual, "user": "you", "port": 3307}
    assert options("mysql://localhost:3306/n") == {**usual, "host": "localhost"}
    socket = str(tmp_path / "sock")
    (tmp_path / ".my.cnf").write_text(
        f"[client]\nuser=us\npassword=p%w\nssl-ca=/ca\nssl-key=\nsocket={socket}\n"
    )
    named = {**usual, "user": "us", "password": "p%w", "ssl_ca": "/ca"}
    assert options("mysql://h/n") == named
    assert options("mysql://you@h/n")["user"] == "you"
    assert options("mysql://localhost/n") == {**named, "host": "localhost"}
    (tmp_path / "sock").touch()
    by_socket = {**named, "host": "localhost", "unix_socket": socket}
    assert options("mysql://localhost/n") == by_socket
    assert options("mysql://localhost:3306/n") == {**named, "host": "localhost"}
    assert options("mysql://h/n") == named


# Questions with a limit of time.


def server_like(**values: Any) -> Any:
    """A `ServerTables` that is connected to nothing."""
    made = object.__new__(server.ServerTables)
    for name, value in values.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("is_mariadb", "seconds", "said"),
    [
        (True, 1.5, "SET STATEMENT max_statement_time=1.500 FOR SELECT a, (SELECT b)"),
        (True, -1.0, "SET STATEMENT max_statement_time=0.001 FOR SELECT a, (SELECT b)"),
        (False, 1.5, "SELECT /*+ MAX_EXECUTION_TIME(1500) */ a, (SELECT b)"),
        (False, 0.0, "SELECT /*+ MAX_EXECUTION_TIME(1) */ a, (SELECT b)"),
    ],
)
def test_the_servers_own_limit(is_mariadb: bool, seconds: float, said: str) -> None:
    base = server_like(_is_mariadb=is_mariadb, rows=lambda statement, _: [statement])
    assert base.limited("SELECT a, (SELECT b)", (), seconds) == [said]


class Asked:
    """A connection whose answers, or errors, come from a list."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.patience = 300.0
        self.patiences: list[float] = []
        self.closed = False

    def limited(self, statement: str, arguments: Any, seconds: float) -> Any:
        self.patiences.append(self.patience)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("answer", "now", "raised", "is_closed"),
    [
        ([(1,)], 0.0, None, False),
        (TooLate("h/n: late"), 0.0, Late, False),
        # It has read words for longer than it may: the connection is given up.
        (Lost("h/n: timed out"), 10.0, Late, True),
        (Lost("h/n: reset"), 9.9, Lost, True),
    ],
)
def test_a_server_that_is_late_is_left_alone(
    answer: Any, now: float, raised: type[Exception] | None, is_closed: bool
) -> None:
    times = iter([6.0, now])
    reading = object.__new__(ServerReading)
    connection = Asked(answer)
    reading._where, reading._clock = "mysql://h/n", lambda: next(times)
    reading._server = connection  # type: ignore[assignment]
    ask = reading.rows_until(10.0)
    if raised is None:
        assert ask("SELECT 1", ()) == [(1,)]
    else:
        with pytest.raises(raised):
            ask("SELECT 1", ())
    # It waits a little longer than the server may take.
    assert connection.patiences == [pytest.approx(4.05)]
    assert (connection.closed, reading._server is None) == (is_closed, is_closed)
    assert is_closed or connection.patience == 300.0


def test_a_server_is_not_asked_when_the_time_is_over() -> None:
    reading = object.__new__(ServerReading)
    reading._clock, reading._server = (lambda: 10.0), Asked()  # type: ignore[assignment]
    with pytest.raises(Late):
        reading.rows_until(10.0)("SELECT 1", ())


# The index of one query.


class Answers:
    """Answers each SELECT by the first pair whose text it has."""

    def __init__(self, *pairs: tuple[str, Any]) -> None:
        self.pairs = pairs
        self.asked: list[tuple[str, list[Any]]] = []

    def __call__(self, statement: str, arguments: Any, until: float) -> Any:
        self.asked.append((statement, list(arguments)))
        return next(answer for text, answer in self.pairs if text in statement)


def index_of(ask: Answers, asked: Query | None = None) -> ServerIndex:
    return ServerIndex(ask, asked or Query(), Frequencies(lambda: 0.0), 1.0)


COUNTS = ("FROM meta", [("10 80",)])


def test_matches_are_counted_to_the_end_without_filters() -> None:
    ask = Answers(COUNTS, ("count(*)", [(7,)]))
    found = index_of(ask).match(word("sea"), 1.0)
    assert ask.asked[-1] == (f"SELECT count(*) FROM ft WHERE {AGAINST}", ["+sea"])
    assert (found.total, found.condition, list(found.arguments)) == (7, word("sea"), ["+sea"])
    assert found.select.endswith(
        f"FROM (SELECT ft.page FROM ft WHERE {AGAINST} ORDER BY ft.page DESC LIMIT 5000)"
        " AS newest JOIN page ON page.id = newest.page"
    )
    assert index_of(ask).match(Item("", ()), 1.0) == Matches(0)


def test_matches_that_are_filtered_are_counted_to_a_bound() -> None:
    ask = Answers(COUNTS, ("count(*)", [(7,)]))
    asked = Query(lang="en", unwanted=(word("boat"),))
    found = index_of(ask, asked).match(word("sea"), 1.0)
    some = (
        f"SELECT 1 FROM ft JOIN page ON page.id = ft.page WHERE {AGAINST} AND page.lang = ?"
        " LIMIT 5001"
    )
    assert ask.asked[-1] == (f"SELECT count(*) FROM ({some}) AS found", ["+sea -boat", "en"])
    assert list(found.arguments) == ["+sea -boat", "en"]


def test_pages_that_pass_the_filters_without_unwanted_words() -> None:
    ask = Answers(COUNTS, ("count(*)", [(3,)]))
    found = index_of(ask, Query(lang="en", unwanted=(word("boat"),))).listed(1.0)
    assert (found.total, list(found.arguments)) == (3, ["+boat", "en"])
    assert found.select.endswith(
        f" FROM page LEFT JOIN (SELECT ft.page FROM ft WHERE {AGAINST}) AS unwanted"
        " ON unwanted.page = page.id WHERE page.gone IS NULL AND page.same_as IS NULL"
        " AND page.lang = ? AND unwanted.page IS NULL ORDER BY page.id DESC LIMIT 5001"
    )
    plain = index_of(ask, Query(lang="en")).listed(1.0)
    assert list(plain.arguments) == ["en"]
    assert "unwanted" not in plain.select


def test_the_best_pages_by_their_words() -> None:
    words = [
        (1, index_words(("sea", *[""] * 5), 999)[0]),
        (2, index_words(("x", "sea", *[""] * 4), 999)[0]),
        (3, index_words(("y", *[""] * 5), 999)[0]),
    ]
    ranked = ("AS score", [(1, 8), (2, 8), (3, 8)])
    ask = Answers(COUNTS, ranked, ("LEFT(words, 200000)", words), ("count(*)", [(2,)]))
    subject = index_of(ask)
    assert (subject.pages, subject.mean) == (10, 8.0)
    best = subject.best(word("sea"), 2, 1.0)
    each = weight(10, 2)
    assert [page for page, _ in best] == [2, 1]
    assert [score for _, score in best] == pytest.approx([each * 5 * 2.2 / 6.2, each])
    statement, arguments = ask.asked[1]
    assert arguments == [relevance(word("sea")), "+sea"]
    assert statement.endswith(" ORDER BY score DESC, ft.page DESC LIMIT 300) AS found")
    assert index_of(ask).best(Item("", ()), 2, 1.0) == []


def test_of_very_long_pages_only_the_first_get_a_score() -> None:
    """The others come after them, as the server ranks them."""
    pages = [(page, 10**6) for page in range(20)]
    words = [(page, index_words(("sea", *[""] * 5), 999)[0]) for page in range(20)]
    ask = Answers(COUNTS, ("AS score", pages), ("LEFT(words", words[:10]), ("count(*)", [(2,)]))
    best = index_of(ask).best(word("sea"), 20, 1.0)
    assert len(ask.asked[-1][1]) in (1, 10)
    assert [page for page, _ in best] == [*range(9, -1, -1), *range(10, 20)]
    scores = [score for _, score in best]
    assert scores == sorted(scores, reverse=True)
    assert scores[10] == pytest.approx(scores[9] / 2)


def test_some_matches_and_whether_a_page_is_one() -> None:
    text = index_words(("sea", *[""] * 5), 999)[0]
    ask = Answers(COUNTS, ("LIMIT 3", [(9,), (8,)]), ("SELECT words", [(text,)]))
    subject = index_of(ask)
    assert subject.some(word("sea"), 3, 1.0) == [(9, 0.0), (8, 0.0)]
    assert subject.some(Item("", ()), 3, 1.0) == []
    assert subject.has(1, word("sea"), 1.0)
    assert not subject.has(1, word("boat"), 1.0)
    ask.pairs = (("SELECT words", []),)
    assert not subject.has(1, word("sea"), 1.0)
    assert subject.frequency(Term(Form(("!",)), ()), 1.0) == 0


def test_an_empty_database_has_pages_of_mean_length() -> None:
    for row, pages, mean in (([], 0, 1.0), ([("0 0",)], 0, 1.0), ([("4 6",)], 4, 1.5)):
        subject = index_of(Answers(("FROM meta", row)))
        assert (subject.pages, subject.mean) == (pages, mean)


def test_damage_that_the_server_sees_is_named() -> None:
    def rows(statement: str) -> list[tuple[str, ...]]:
        table = statement.removeprefix("CHECK TABLE ")
        kind = {"page": "error", "ft": "Warning", "host": "note"}.get(table, "status")
        return [("n", "check", kind, f"{table} is odd")]

    done: list[tuple[int, int]] = []
    care = ServerCare(server_like(rows=rows))
    found = list(care.trouble(lambda what, number, of: done.append((number, of))))
    assert found == ["page: page is odd", "ft: ft is odd"]
    assert done == [(number, len(TABLES) + 1) for number in range(len(TABLES) + 1)]


def test_all_tables_are_made_anew_and_the_index() -> None:
    made: list[str] = []
    care = ServerCare(server_like(rows=made.append))
    care.tidy(lambda what, number, of: made.append(f"{number}/{of}"))
    names = [*TABLES, "ft"]
    assert made[::2] == [f"{number}/{len(names)}" for number in range(len(names))]
    assert made[1::2] == [f"OPTIMIZE TABLE {name}" for name in names]


def test_a_page_that_is_cut_says_so_beside_its_other_troubles() -> None:
    title = "sea " * 500
    page = prepared("http://a.test/", "text", title=title)
    page.more = json.dumps({**json.loads(page.more), "trouble": "hidden"}).encode()
    cut = _fitted(page, 50_000)
    assert cut.columns["title"] == title[:1000]
    assert json.loads(cut.more)["trouble"] == ("hidden; cut to fit the server's max_allowed_packet")
    assert cut.tokens["title"].count("sea") == 250
    assert _fitted(page, 10**6) is page
