"""docs/search.md: the tables, the queries for the sqlite3 tool, and the query language."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.database.base import Wish
from larbinpy.database.content import Content, Outlink
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import optimize, rebuild, verify
from larbinpy.database.preparation import prepare
from larbinpy.database.search.query import parse
from larbinpy.database.writer import Writer
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.checkout import ROOT
from tests.support.databasepages import prepared

TEXT = (ROOT / "docs" / "search.md").read_text()
#: Tables and columns that may change without a word.
INNER = ("anchor", "fresh", "ft")


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "larbinpy.db"
    with closing(Writer(str(path))) as writer:
        links = (("http://www.example.org/", "The first page"),)
        writer.write(
            [
                prepared("http://www.example.org/", "The main text.", title="One", lang="en"),
                prepared("http://b.test/", "Zebra words.", title="Two", lang="en", links=links),
            ]
        )
        while writer.tend():
            pass
    return path


def test_the_tables_are_those_of_the_file(base: Path) -> None:
    told = section("The tables")
    with closing(sqlite3.connect(base)) as opened:
        names = [
            name
            for (name,) in opened.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if not name.startswith(("ft_", "sqlite_"))
        ]
        described = set(re.findall(r"`(\w+)`", told))
        assert set(names) <= described
        for name in set(names) - set(INNER):
            columns = {row[1] for row in opened.execute(f"PRAGMA table_info({name})")}
            assert columns <= described, name
        rows = re.findall(
            r"^\| ((?:`\w+`(?:, )?)+) \|", told.partition("column of `page`")[2], re.M
        )
        columns = {row[1] for row in opened.execute("PRAGMA table_info(page)")}
        assert {name for row in rows for name in re.findall(r"\w+", row)} == columns


def test_the_sqlite3_tool_reads_the_file(base: Path) -> None:
    tool = shutil.which("sqlite3")
    if tool is None:
        pytest.skip("sqlite3 is not installed")
    (commands,) = re.findall(
        r"```sql\n(.*?)```", section("Reading the database with sqlite3"), re.S
    )
    answers = []
    for command in filter(str.strip, commands.split(";")):
        done = subprocess.run(
            [tool, "-readonly", str(base)],
            input=f"{command};",
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.stderr == "", command
        answers.append(done.stdout)
    longest, text, anchors, counts, changes = answers
    assert longest.startswith("http://www.example.org/|14\n")
    assert text == "The main text.\n"
    assert anchors == "The first page\n"
    assert counts == "b.test|en|1\nwww.example.org|en|1\n"
    assert "|new|http://b.test/" in changes


def test_python_reads_the_links(tmp_path: Path) -> None:
    (tmp_path / "save").mkdir()
    link = Outlink("http://a.test/x", "Text of a link", "")
    content = Content(rest="menu " * 300, links=[link])
    with closing(Writer(str(tmp_path / "save" / "larbinpy.db"))) as writer:
        for number in range(2):
            page = Page(Url(f"http://a.test/{number}", 5), Outcome.SUCCESS, 200, [], b"")
            writer.write([prepare(page, "2026-11-23T08:00:00Z", content)])
    (program,) = re.findall(
        r"```python\n(.*?)```", section("Reading the database with sqlite3"), re.S
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    rows = [f"http://a.test/{n}\thttp://a.test/x\tText of a link\n" for n in range(2)]
    assert (done.stdout, done.stderr) == ("".join(rows), "")


def test_pages_are_deleted_for_good(base: Path) -> None:
    (commands,) = re.findall(r"```sql\n(.*?)```", section("Repeats, copies and deletion"), re.S)
    with closing(sqlite3.connect(base)) as opened:
        opened.executescript(commands.replace("private.example.org", "b.test"))
    rebuild(str(base), lambda name, done, total: None)
    optimize(str(base), lambda name, done, total: None)
    assert verify(str(base), lambda name, done, total: None) == []
    with closing(DatabaseFinder(str(base))) as finder:
        assert finder.counts()["pages"] == 1
        assert finder.search(parse("zebra", ["en"], 0), Wish()).hits == []
    whole = b"".join(path.read_bytes() for path in base.parent.iterdir())
    assert b"main" in whole
    assert b"Two" not in whole and b"zebra" not in whole


def test_the_queries_find_what_is_said() -> None:
    rows = re.findall(r"^\| (`.*`) \| .* \|$", section("The query language"), re.M)
    assert len(rows) > 7
    for row in rows:
        for text in re.findall(r"`([^`]+)`", row):
            if " " not in text and text in ("h", "d", "w", "m", "y"):
                continue
            query = parse(text, ["en"], 1_800_000_000)
            assert not query.notes, text
            assert not query.is_empty or query.unwanted, text


def test_a_search_finds_the_page(base: Path) -> None:
    with closing(DatabaseFinder(str(base))) as finder:
        found = finder.search(parse('"main text" -zebra', ["en"], 0), Wish())
    assert [hit.url for hit in found.hits] == ["http://www.example.org/"]
