"""`larbinpy search`, `show`, `changes` and `export`: arguments, what is printed, exit status."""

import csv
import io
import json
import os
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from larbinpy.cli import main
from larbinpy.cli.database import database_of
from larbinpy.database.base import Change, DatabaseError, Found, Hit, Stored
from larbinpy.database.indexer.reader import ReadOptions, read_page
from larbinpy.database.preparation import Difference, Prepared
from larbinpy.database.sqlite.file import TABLES
from larbinpy.database.writer import Writer
from larbinpy.page import Outcome, Page
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url
from tests.support.databasepages import prepared
from tests.support.fakefinder import FakeFinder

HIT = Hit(
    url="http://a.test/x",
    title="A \x1b[31mred\n title",
    score=3.5,
    lang="en",
    fetched="2026-11-23T08:00:00Z",
    snippet="one hit\nand \u202eone more",
    marks=[(4, 7), (13, 16)],
)
STORED = Stored(
    {
        "id": 1,
        "url": "http://a.test/x",
        "host": "a.test",
        "title": "=A",
        "fetched": "2026-11-23T08:00:00Z",
        "author": None,
        "summary": "-1+1",
        "size": 12,
    },
    "first\nsecond \x1b[0m",
    {"links": [["http://a.test/y", "the y", ""]], "headings": ["H"], "headers": [["a", "b"]]},
    ["a text", "another"],
)

#: Runs a command against a finder.
Ask = Callable[..., Result]


@pytest.fixture
def finder() -> FakeFinder:
    return FakeFinder(Found([HIT], 1, seconds=0.012), [STORED])


@pytest.fixture
def ask(finder: FakeFinder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larbinpy.database.finder.DatabaseFinder", lambda where: finder)

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return result

    return run


def test_a_hit_is_shown_without_what_acts_on_a_terminal(ask: Ask, finder: FakeFinder) -> None:
    shown = ask("search", "one")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == (
        "1. A \\x1b[31mred  title\n"
        "   http://a.test/x  2026-11-23\n"
        "   one *hit* and \\u202e*one* more\n"
        "\n"
        "1-1 of 1 page, 0.01 s\n"
    )
    assert finder.is_closed


def test_a_line_of_json_for_each_hit(ask: Ask) -> None:
    shown = ask("search", "--json", "one")
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [
        {
            "url": HIT.url,
            "title": HIT.title,
            "snippet": HIT.snippet,
            "marks": [[4, 7], [13, 16]],
            "score": 3.5,
            "lang": "en",
            "fetched": HIT.fetched,
        }
    ]
    assert shown.stdout.isascii()


def test_options_are_the_filters_of_the_query(ask: Ask, finder: FakeFinder) -> None:
    options = ("--site", "https://A.test/", "--lang", "German", "--type", "pdf", "--since", "2026")
    assert ask("search", "x", "site:b.test", *options).exit_code == 0
    ask("search", "-n", "5", "--page", "3", "--sort", "date", "lang:zh", "y")
    assert ask("search", "--site", "a.test").exit_code == 0
    (first, _), (second, wish), _ = finder.asked
    assert (first.site, first.lang, first.type) == ("a.test", "de", "pdf")
    assert first.since == "2026-01-01T00:00:00Z"
    assert second.lang == "zh"
    assert (wish.n, wish.page, wish.sort) == (5, 3, "date")


@pytest.mark.parametrize(
    ("arguments", "wanted", "unwanted"),
    [
        (("foo", "-bar"), ["foo"], ["bar"]),
        (
            ("foo", "-news", "-cat", "-n", "3", "-don't", "-x"),
            ["foo"],
            ["news", "cat", "don't", "x"],
        ),
        (("--", "-foo", "-n", "bar"), ["bar"], ["foo", "n"]),
        (("-n", "3", "foo", "-网络"), ["foo"], ["网络"]),
        (('"a phrase"', "b*"), ["a phrase", "b*"], []),
    ],
)
def test_words_may_begin_with_a_dash(
    ask: Ask, finder: FakeFinder, arguments: tuple[str, ...], wanted: list[str], unwanted: list[str]
) -> None:
    assert ask("search", *arguments).exit_code == 0
    query = finder.asked[0][0]
    assert [item.text for item in query.wanted] == wanted
    assert [item.text for item in query.unwanted] == unwanted


@pytest.mark.parametrize(
    ("path", "start"),
    [
        ("%E4%B8%AD%E6%96%87/%E9%A1%B5", "中文-页"),
        ("docs/Cafe%CC%81.html", "docs-Café-html"),
        ("con.html", "con-html"),
        ("../..%2F.git/x", "git-x"),
        ("%F0%A0%80%80" * 70, "\U00020000" * 50),
        ("%FF?!", "index"),
    ],
)
def test_a_file_of_markdown_is_called_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, start: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Writer("a.db")) as writer:
        writer.write([prepared(f"http://a.test/{path}", "words")])
    done = CliRunner().invoke(
        main, ["export", "--format", "markdown", "-o", "md", "-d", "a.db"], catch_exceptions=False
    )
    assert done.exit_code == 0
    (file,) = Path("md/a.test").iterdir()
    assert file.name.removesuffix(".md").rpartition("-")[0] == start


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@x", *(f"{sign}1" for sign in "\uff1d\uff0b\uff0d")]
)
def test_no_cell_is_a_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Writer("a.db")) as writer:
        writer.write([prepared("http://a.test/", "words", title=text)])
    done = CliRunner().invoke(main, ["export", "--format", "csv", "-d", "a.db"])
    (row,) = csv.DictReader(io.StringIO(done.stdout.removeprefix("\ufeff")))
    assert row["title"] == f"'{text}"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        ("x", "--jsn"),
        ("x", "-n", "0"),
        ("x", "--page", "0"),
        ("x", "--sort", "size"),
        ("x", "--site", "not a host"),
        ("x", "--since", "soon"),
        ("x", "-c", "missing.conf"),
        ("x", "-d", "."),
    ],
)
def test_wrong_usage(ask: Ask, arguments: tuple[str, ...]) -> None:
    assert ask("search", *arguments).exit_code == 2


def test_the_answer_is_explained(ask: Ask, finder: FakeFinder) -> None:
    finder.found = Found([HIT], 20, cut=True, missing=["rare", "\x1b"], notes=["AND is a word"])
    shown = ask("search", "x")
    assert "1-1 of at least 20 pages" in shown.stdout
    assert shown.stderr.splitlines() == [
        "AND is a word",
        "no page has all words; these have most of them, without: rare, \\x1b",
        "only a part of the pages was compared; more words, or site:, narrow the search",
    ]
    finder.found = Found()
    for options in ((), ("--json",)):
        shown = ask("search", "x", *options)
        assert (shown.exit_code, shown.stdout, shown.stderr) == (1, "", "nothing found\n")
    finder.stored = {}
    assert ask("search", "x").stderr == "the database has no pages yet\n"
    finder.found = Found(total=20)
    finder.stored = {HIT.url: STORED}
    assert ask("search", "x", "--page", "9").stderr == "no more pages\n"


def test_a_database_that_cannot_be_read(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(where: str) -> None:
        raise DatabaseError(f"{where}: there is no database")

    monkeypatch.setattr("larbinpy.database.finder.DatabaseFinder", refuse)
    for command in (["search", "x"], ["show", "a.test"], ["changes"], ["export"]):
        shown = ask(*command)
        assert shown.exit_code == 3
        assert shown.stderr == "larbinpy: save/larbinpy.db: there is no database\n"


def test_which_database_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_of(None, None) == "save/larbinpy.db"
    monkeypatch.setenv("LARBINPY_OUTPUTDIR", "there")
    assert database_of(None, None) == "there/larbinpy.db"
    (tmp_path / "larbin.conf").write_text("outputDir mine database d.db\n")
    assert database_of(None, None) == "d.db"
    (tmp_path / "other.conf").write_text("database mysql://me@h/crawl\n")
    assert database_of(None, "other.conf") == "mysql://me@h/crawl"
    assert database_of("given.db", "other.conf") == "given.db"


def test_a_page_is_shown(ask: Ask, finder: FakeFinder) -> None:
    shown = ask("show", "a.test/x#part")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[:2] == ["=A", "http://a.test/x"]
    assert "size:          12" in lines
    assert "has:           1 link, 0 images" in lines
    assert "anchors:       a text | another" in lines
    assert lines[-1] == "first second \\x1b[0m"
    assert not any(line.startswith("author") for line in lines)
    assert ask("show", "a.test/x", "--text").stdout == "first\nsecond \\x1b[0m\n"
    assert ask("show", "a.test/x", "--links").stdout == "http://a.test/y  the y\n"
    whole = json.loads(ask("show", "http://a.test/x", "--json").stdout)
    assert whole["text"] == STORED.text
    assert whole["headers"] == [["a", "b"]]
    assert whole["anchors"] == STORED.anchors
    finder.changed = [Change("2026-11-23T08:00:00Z", "http://a.test/x", "new")]
    seen = {"visits": 3, "first_seen": "2026-11-23T08:00:00Z", "fetched": "2026-11-25T08:00:00Z"}
    finder.stored["http://a.test/x"] = replace(STORED, columns=STORED.columns | seen)
    lines = ask("show", "a.test/x", "--history").stdout.splitlines()
    assert lines == [
        "2026-11-23T08:00:00Z  new",
        "3 visits, the first 2026-11-23T08:00:00Z, the last 2026-11-25T08:00:00Z",
    ]
    finder.changed.append(
        Change("2026-11-25T08:00:00Z", "http://a.test/x", "moved", "", "http://a.test/\x1b")
    )
    estimated = {"observed": 2.0, "exposure": 86400.0, "missing": "2026-11-24T08:00:00Z"}
    finder.stored["http://a.test/x"].columns.update(estimated)
    lines = ask("show", "a.test/x", "--history").stdout.splitlines()
    assert lines[1] == "2026-11-25T08:00:00Z  moved  http://a.test/\\x1b"
    assert lines[3:] == ["missing since 2026-11-24T08:00:00Z", "changes about every 12 h"]
    finder.stored["http://a.test/x"].columns["gone"] = "2026-11-25T08:00:00Z"
    assert "missing" not in ask("show", "a.test/x", "--history").stdout


def test_a_page_that_is_not_there(ask: Ask) -> None:
    shown = ask("show", "a.test/y")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr == "larbinpy: a.test/y: not in the database\n"
    assert ask("show", "not a url").exit_code == 2


def test_without_a_scheme_both_are_tried(ask: Ask, finder: FakeFinder) -> None:
    finder.stored["https://b.test/"] = STORED
    assert ask("show", "b.test").exit_code == 0
    assert ask("show", "http://b.test").exit_code == 1


def test_a_body_comes_as_it_was(ask: Ask, finder: FakeFinder) -> None:
    assert ask("show", "a.test/x", "--body").exit_code == 1
    finder.bodies["http://a.test/x"] = b"\xff\x1b\n"
    assert ask("show", "a.test/x", "--body").stdout_bytes == b"\xff\x1b\n"


def test_changes(ask: Ask, finder: FakeFinder) -> None:
    assert ask("changes").exit_code == 1
    finder.changed = [
        Change("2026-11-22T08:00:00Z", "http://a.test/x", "new"),
        Change("2026-11-23T08:00:00Z", "http://a.test/\x1b", "gone"),
    ]
    shown = ask("changes", "--since", "2026-11-23")
    assert shown.exit_code == 0
    assert shown.stdout == "2026-11-23T08:00:00Z  gone     http://a.test/\\x1b\n"
    lines = ask("changes", "--since", "2026", "--json").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["new", "gone"]
    finder.changed.append(
        Change("2026-11-24T08:00:00Z", "http://a.test/y", "moved", "Y", "http://a.test/z\n")
    )
    shown = ask("changes", "--since", "2026-11-24")
    assert (
        shown.stdout == "2026-11-24T08:00:00Z  moved    http://a.test/y -> http://a.test/z\\x0a\n"
    )
    (line,) = ask("changes", "--since", "2026-11-24", "--json").stdout.splitlines()
    assert json.loads(line) == {
        "at": "2026-11-24T08:00:00Z",
        "url": "http://a.test/y",
        "kind": "moved",
        "title": "Y",
        "target": "http://a.test/z\n",
    }
    assert ask("changes", "--since", "soon").exit_code == 2


def test_what_changes_have_changed(ask: Ask, finder: FakeFinder, tmp_path: Path) -> None:
    finder.changed = [
        Change("2026-11-22T08:00:00Z", "http://a.test/x", "new"),
        Change("2026-11-23T08:00:00Z", "http://a.test/x", "changed", "X"),
    ]
    finder.differences = {"2026-11-23T08:00:00Z": Difference(["Old\x1b."], ["New."])}
    shown = ask("changes", "--since", "2026", "--kind", "changed", "--diff").stdout
    line = "2026-11-23T08:00:00Z  changed  http://a.test/x"
    assert shown == f"{line}\n  - Old\\x1b.\n  + New.\n"
    assert ask("changes", "--since", "2026", "--kind", "changed").stdout == f"{line}\n"
    assert ask("changes", "--since", "2026", "--kind", "gone").exit_code == 1
    told = ask("changes", "--since", "2026", "--diff", "--format", "json").stdout.splitlines()
    first, second = map(json.loads, told)
    assert "went" not in first and (second["went"], second["came"]) == (["Old\x1b."], ["New."])
    file = tmp_path / "changes.xml"
    done = ask("changes", "--since", "2026", "--diff", "--format", "atom", "-o", str(file))
    assert (done.exit_code, done.stdout) == (0, "")
    space = "{http://www.w3.org/2005/Atom}"
    root = ElementTree.parse(file).getroot()
    assert [entry.findtext(f"{space}title") for entry in root.iter(f"{space}entry")] == [
        "changed: X",
        "new: http://a.test/x",
    ]
    assert root.findtext(f"{space}entry/{space}content") == (
        "The main text of the page has changed.\n- Old.\n+ New."
    )
    assert root.find(f"{space}link") is None, "a file has no address"


def test_pages_are_exported(ask: Ask, finder: FakeFinder, tmp_path: Path) -> None:
    (line,) = ask("export").stdout.splitlines()
    assert json.loads(line)["text"] == STORED.text
    assert ask("export", "-o", "pages.jsonl").stdout == ""
    assert (tmp_path / "pages.jsonl").read_text() == f"{line}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["pages.jsonl"]

    (tmp_path / "link").symlink_to("pages.jsonl")
    assert ask("export", "-o", "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert ask("export", "-o", "pipe").exit_code == 0
    assert os.read(pipe, 10) == line[:10].encode()
    os.close(pipe)
    assert (tmp_path / "pipe").is_fifo(), "a device is not replaced by a file"

    reader, writer = os.pipe()
    assert ask("export", "-o", f"/dev/fd/{writer}").exit_code == 0
    os.close(writer)
    with open(reader) as read:
        assert read.read() == f"{line}\n"
    assert ask("export", "-o", "-").stdout == f"{line}\n"

    written = ask("export", "--format", "csv").stdout
    assert written.startswith("\ufeffurl,")  # a spreadsheet takes it for another encoding without
    rows = [*csv.DictReader(io.StringIO(written.removeprefix("\ufeff")))]
    assert [(row["url"], row["size"], row["author"]) for row in rows] == [(HIT.url, "12", "")]
    columns = set(
        re.findall(r"^    (\w+) ", TABLES.partition("TABLE page (")[2].partition("\n);")[0], re.M)
    )
    assert set(rows[0]) == columns - {
        *("id", "key", "text_hash", "gone", "announces", "indexed"),
        *("near1", "near2", "near3", "near4"),
    }
    assert (rows[0]["title"], rows[0]["summary"]) == ("'=A", "'-1+1")

    finder.changed = [
        Change("2026-11-21T08:00:00Z", "http://a.test/gone", "moved"),
        Change("2026-11-22T08:00:00Z", "http://a.test/x", "gone"),
        Change("2026-11-23T08:00:00Z", "http://a.test/x", "back"),
    ]
    lines = ask("export", "--format", "opensearch").stdout.splitlines()
    action, page, gone = map(json.loads, lines)
    assert len(action["index"]["_id"]) == 32
    assert (page["url"], page["facts"]) == ("http://a.test/x", "[]")
    assert gone["delete"]["_id"] != action["index"]["_id"]
    assert ask("export", "-o", "missing/x").exit_code == 3


def page_of(node: str, name: str, at: str) -> None:
    """A page in the database of a node, in the working directory."""
    for folder in (Path("state", node), Path("save", node)):
        folder.mkdir(parents=True, exist_ok=True)
    Path("state", node, "crawl.jsonl").touch()
    with closing(Writer(f"save/{node}/larbinpy.db")) as writer:
        writer.write([prepared(f"http://a.test/{name}", f"sea {name} {node}", at=at)])


def test_the_databases_of_all_nodes_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    assert run("search", "sea").exit_code == 3
    page_of("1", "x", "2026-11-21T08:00:00Z")
    page_of("2", "x", "2026-11-22T08:00:00Z")
    page_of("2", "y", "2026-11-21T08:00:00Z")
    hits = [json.loads(line) for line in run("search", "--json", "sea").stdout.splitlines()]
    assert sorted(hit["url"] for hit in hits) == ["http://a.test/x", "http://a.test/y"]
    assert run("show", "--text", "a.test/x").stdout == "sea x 2\n"
    assert run("changes", "--since", "2026-11-01").stdout.count("new") == 3
    assert len(run("export").stdout.splitlines()) == 2
    assert "sea x 1" in run("show", "--text", "a.test/x", "-d", "save/1/larbinpy.db").stdout
    one = run("search", "--json", "sea", "-d", "save/1/larbinpy.db").stdout
    assert len(one.splitlines()) == 1


def test_a_fleet_and_a_database_at_once(ask: Ask) -> None:
    refused = ask("search", "x", "-d", "it.db", "--join", "redis://h/n")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "-d and --join cannot be used together" in refused.stderr
    refused = ask("search", "--join", "redis://h/n", "--site", "http://[")
    assert refused.exit_code == 2
    assert ask("search", "--join", "redis://h/n").exit_code == 2


def test_pages_as_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    html = (
        "<html lang=en><title>T</title><main><h1>T</h1><ul><li>one <a href=/x>way</a></ul></main>"
    )
    found = Page(
        *(Url("http://a.test/b/%C3%A4?q", 0), Outcome.SUCCESS, 200),
        [("content-type", "text/html")], html.encode(),
    )  # fmt: skip
    read = read_page(Spooled(1_795_420_800.0, found), ReadOptions())
    assert isinstance(read, Prepared)
    plain = prepared(
        "http://b.test/2", "Head\nwords\n  code\n  more", headings=("Head",), title="2"
    )
    empty, copy = prepared("http://b.test/3"), replace(read, url="http://c.test/")
    with closing(Writer("a.db")) as writer:
        writer.write([read, plain, empty, copy])

    def ask(*arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments, "-d", "a.db"])

    one, two = "# T\n\n- one [way](http://a.test/x)", "## Head\n\nwords\n\n```\n  code\n  more\n```"
    written = ask("export", "--format", "markdown-jsonl")
    lines = [json.loads(line) for line in written.stdout.splitlines()]
    assert [(line["url"], line["markdown"]) for line in lines] == [
        ("http://a.test/b/%C3%A4?q", one),
        ("http://b.test/2", two),
    ]
    assert lines[0]["lang"] == "en" and "published" in lines[0] and "text" not in lines[0]
    assert written.stderr.splitlines() == [
        "larbinpy: 1 page left out: without text",
        "larbinpy: 1 page left out: copies of other pages",
    ]
    assert ask("show", "b.test/2", "--markdown").stdout == f"{two}\n"
    for filters, url in (
        (("--site", "b.test", "--fields", "url"), "http://b.test/2"),
        (("--lang", "en", "--fields", "url"), "http://a.test/b/%C3%A4?q"),
        (
            ("--since", "2026-11-23T07:00:00Z", "--site", "a.test", "--fields", "url"),
            "http://a.test/b/%C3%A4?q",
        ),
    ):
        (line,) = ask("export", "--format", "markdown-jsonl", *filters).stdout.splitlines()
        assert (list(json.loads(line)), json.loads(line)["url"]) == (["url", "markdown"], url)
    assert ask("export", "--since", "2027").stdout == ""
    wrong = ask("export", "--fields", "url,nothing")
    assert wrong.exit_code == 2 and "--fields nothing: no such field; known: url, " in wrong.stderr
    assert ask("export", "--format", "csv", "--fields", "text").exit_code == 2
    assert ask("export", "--format", "markdown").exit_code == 2
    assert ask("export", "--format", "opensearch", "--lang", "en").exit_code == 2

    assert ask("export", "--format", "markdown", "-o", "md").stdout == "md: 2 pages\n"
    first, second = sorted(Path("md").rglob("*.md"))
    assert re.fullmatch(r"md/a\.test/b-ä-q-[0-9a-f]{8}\.md", str(first))
    assert re.fullmatch(r"md/b\.test/2-[0-9a-f]{8}\.md", str(second))
    head, _, text = first.read_text().removeprefix("---\n").partition("---\n\n")
    assert head.startswith('url: "http://a.test/b/%C3%A4?q"\ntitle: "T"\n')
    assert text == f"{one}\n"
