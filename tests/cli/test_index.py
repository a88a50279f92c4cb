"""`larbinpy index`: archives and mirrors become a database that can be searched."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner, Result

from larbinpy.cli import main
from larbinpy.database.preparation import Prepared
from larbinpy.database.writer import Writer
from larbinpy.demo import Serving
from larbinpy.output.save import SaveOutput
from larbinpy.page import Outcome, Page
from larbinpy.storage.spool import FOLDER, SpoolMark, SpoolWriter
from larbinpy.storage.state import Saved, State
from larbinpy.url import Url
from tests.support.crawling import crawl_demo
from tests.support.databasepages import prepared
from tests.support.warcmaking import Archive
from tests.support.warcs import warcs

pytest_plugins = ["tests.support.demoweb"]

#: Runs a command in a folder of its own.
Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return result

    return run


def html(title: str, text: str = "") -> bytes:
    return f"<title>{title}</title><h1>{title}</h1><p>{text or 'Some text.'}".encode()


def found(ask: Ask, *words: str) -> list[str]:
    return [json.loads(line)["url"] for line in ask("search", "--json", *words).stdout.splitlines()]


def rows(query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect("save/larbinpy.db")) as base:
        return base.execute(query).fetchall()


def test_archives_can_be_searched_and_indexed_again(ask: Ask) -> None:
    archive = Archive(Path("a.warc.gz"))
    day = "2020-01-0{}T00:00:00Z"
    archive.add("response", "http://h/1", html("Zebra"), WARC_Date=day.format(1))
    archive.add("response", "http://h/2", html("Okapi"), WARC_Date=day.format(1))
    archive.add("response", "http://h/3", html("Quagga"), WARC_Date=day.format(1))
    archive.add("response", "http://h/1", html("Tapir", "Other."), WARC_Date=day.format(2))
    archive.add("response", "http://h/3", status="410 Gone", WARC_Date=day.format(2))
    archive.add("response", "http://h/4", status="404 Not Found", WARC_Date=day.format(2))
    archive.add("response", "http://h/2", html("Older"), WARC_Date="2019-01-01T00:00:00Z")
    archive.close()
    for _ in range(2):
        shown = ask("index", "a.warc.gz")
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert found(ask, "tapir") == ["http://h/1"]
        assert found(ask, "okapi") == ["http://h/2"]
        assert ask("search", "quagga").exit_code == 1
        assert ask("search", "older").exit_code == 1
        assert rows("SELECT url, visits, gone FROM page ORDER BY url") == [
            ("http://h/1", 2, None),
            ("http://h/2", 1, None),
            ("http://h/3", 2, "2020-01-02T00:00:00Z"),
        ]
    assert shown.stdout == (
        "a.warc.gz: 0 pages\n"
        "  6 left out: in the database already, as new or newer\n"
        "save/larbinpy.db: 0 pages written\n"
    )
    history = ask("show", "http://h/1", "--history").stdout.split()[:4]
    assert history == [day.format(1), "new", day.format(2), "changed"]
    assert "gone" in ask("changes", "--since", "2020").stdout


def test_damaged_and_odd_files_are_reported(ask: Ask) -> None:
    archive = Archive(Path("a.warc"), plain=True)
    archive.add("response", "http://h/1", html("Zebra"))
    archive.add("response", "http://h/2", b"\x8b\x02\x80?", headers=("Content-Encoding: br",))
    archive.close()
    with Path("a.warc").open("ab") as file:
        file.write(b"no record\r\n\r\n")
    shown = ask("index", "a.warc")
    assert shown.exit_code == 3
    assert shown.stdout == (
        "a.warc: 1 page\n  1 left out: coded as br\nsave/larbinpy.db: 1 page written\n"
    )
    assert shown.stderr.startswith("larbinpy: a.warc: damaged after byte ")
    assert found(ask, "zebra") == ["http://h/1"]
    shown = ask("index", "missing")
    assert (shown.exit_code, shown.stderr.count("\n")) == (2, 1)


def test_an_archive_that_ends_in_a_page(ask: Ask) -> None:
    archive = Archive(Path("a.warc"), plain=True)
    archive.add("response", "http://h/1", html("Zebra"))
    archive.add("response", "http://h/2", html("Okapi", "text " * 1000))
    archive.close()
    os.truncate("a.warc", os.path.getsize("a.warc") - 1000)
    shown = ask("index", "a.warc")
    assert (shown.exit_code, found(ask, "zebra")) == (3, ["http://h/1"])
    assert shown.stdout.startswith("a.warc: 1 page\n  1 left out: damaged in the archive\n")


def test_a_message_shows_no_bytes_of_an_archive(ask: Ask) -> None:
    Path("a.warc").write_bytes(bytes(range(256)) * 40)
    shown = ask("index", "a.warc")
    assert shown.exit_code == 3
    assert len(shown.stderr) < 200 and shown.stderr.isascii()
    assert shown.stderr.removesuffix("\n").isprintable()


def test_the_file_is_complete_when_all_is_indexed(ask: Ask) -> None:
    archive = Archive(Path("a.warc"), plain=True)
    archive.add("response", "http://h/1", html("Zebra"))
    archive.close()
    ask("index", "a.warc")
    assert os.listdir("save") == ["larbinpy.db"]


def test_a_folder_of_saved_pages(ask: Ask, tmp_path: Path) -> None:
    output = SaveOutput(tmp_path / "save")
    for name in ("Zebra", "Okapi"):
        url = Url(f"http://h/{name}", 1)
        output.loaded(Page(url, Outcome.SUCCESS, 200, body=html(name)))
    output.close()
    shown = ask("index", "save", "-d", "mine.db")
    assert shown.stdout == "save: 2 pages\nmine.db: 2 pages written\n"
    assert ask("search", "okapi", "-d", "mine.db").exit_code == 0
    assert ask("search", "okapi").exit_code == 3


def test_a_database_is_taken_care_of(ask: Ask) -> None:
    archive = Archive(Path("a.warc"), plain=True)
    archive.add("response", "http://h/1", html("Zebra"))
    archive.close()
    assert ask("index", "--verify").exit_code == 3, "there is none"
    assert ask("index", "a.warc", "--rebuild").exit_code == 2
    ask("index", "a.warc")
    assert ask("index", "--verify").stdout == "save/larbinpy.db: sound\n"
    with closing(sqlite3.connect("save/larbinpy.db")) as base, base:
        base.execute("UPDATE page SET title = 'Okapi'")
    shown = ask("index", "--verify")
    assert (shown.exit_code, shown.stderr) == (3, "")
    assert "other words than the page" in shown.stdout
    shown = ask("index", "--rebuild")
    assert (shown.exit_code, shown.stdout) == (0, "save/larbinpy.db: 1 page indexed\n")
    assert found(ask, "okapi") == ["http://h/1"]
    assert ask("index", "--optimize").exit_code == 0
    assert ask("index", "--verify").exit_code == 0


def test_what_can_be_read_is_taken_out_of_a_damaged_database(ask: Ask) -> None:
    archive = Archive(Path("a.warc"), plain=True)
    archive.add("response", "http://h/1", html("Zebra"))
    archive.add("response", "http://h/2", html("Okapi"))
    archive.close()
    ask("index", "a.warc", "-d", "old.db")
    assert ask("index", "--salvage", "old.db").stderr.count("--salvage OLD NEW") == 1
    shown = ask("index", "--salvage", "old.db", "new.db")
    assert (shown.exit_code, shown.stdout) == (0, "new.db: 2 pages of old.db\n")
    with closing(sqlite3.connect("old.db")) as base, base:
        base.execute("UPDATE content SET text = x'00' WHERE page = 2")
        base.execute("UPDATE page SET url = 'http://h/3' WHERE id = 1")
    shown = ask("index", "--verify", "-d", "old.db")
    assert shown.stdout.endswith(
        "'larbinpy index --salvage old.db NEW' takes what can be read into a new one\n"
    )
    assert ask("index", "--salvage", "old.db", "new.db").exit_code == 3, "it is there"
    shown = ask("index", "--salvage", "old.db", "newer.db")
    assert (shown.exit_code, shown.stderr) == (3, "")
    assert shown.stdout == (
        "newer.db: 1 page of old.db\n"
        "  1 of them without text, or without links and the like\n  1 page lost\n"
    )
    assert ask("index", "--verify", "-d", "newer.db").exit_code == 0


def test_without_files_a_stopped_crawl_is_needed(ask: Ask) -> None:
    shown = ask("index")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr == "larbinpy: state: no saved crawl here; or name files to index\n"
    assert not Path("save").exists()


class Marks:
    """The marks of outputs, as a crawl saves them."""

    def __init__(self, database: SpoolMark) -> None:
        self._marks = {"database": database}

    def cut(self, now: float, *, ended: bool) -> object:
        return self._marks

    def load(self, value: object, now: float) -> None:
        raise NotImplementedError


def test_the_rest_of_a_crawl_is_taken_once_it_has_stopped(ask: Ask, tmp_path: Path) -> None:
    spool = SpoolWriter(tmp_path / "state" / FOLDER)
    spool.append(Page(Url("http://h/1", 1), Outcome.SUCCESS, 200, body=html("Zebra")), 0.0)
    state = State(tmp_path / "state")
    state.lock()
    for _ in state.checkpoint(Saved({}, {"outputs": Marks(spool.cut())}), 0.0):
        pass
    segments = sorted((tmp_path / "state").rglob("*.pages"))
    shown = ask("index", "-d", "a.db")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr == "larbinpy: state: a crawl is running there\n"
    assert not Path("a.db").exists()
    assert sorted((tmp_path / "state").rglob("*.pages")) == segments != []
    state.unlock()
    assert ask("index", "-d", "a.db").stdout == "a.db: 1 page written\n"
    assert not list((tmp_path / "state").rglob("*.pages"))


@pytest.mark.slow
def test_a_stopped_command_leaves_a_whole_database(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.gz")
    for number in range(3000):
        archive.add("response", f"http://h/{number}", html(f"Title {number}", "Zebra " * 200))
    archive.close()
    command = [sys.executable, "-m", "larbinpy", "index", "a.warc.gz", "-d", "a.db"]
    base = tmp_path / "a.db"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        while not count(base):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert 0 < count(base) < 3000
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert count(base) == 3000
    with closing(sqlite3.connect(base)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert opened.execute("SELECT max(visits) FROM page").fetchone() == (1,)


def contents(base: Path) -> dict[str, tuple[object, ...]]:
    """The columns of each page, by its URL."""
    query = "SELECT url, title, lang, text_hash, size FROM page WHERE gone IS NULL"
    with closing(sqlite3.connect(base)) as opened:
        return {row[0]: row[1:] for row in opened.execute(query)}


@pytest.mark.slow
def test_archives_and_mirrors_give_what_the_crawl_gave(
    demo_process: Serving, tmp_path: Path, ask: Ask
) -> None:
    out = crawl_demo(demo_process, tmp_path / "a", modes="mirror,save,warc,database").out
    crawled = contents(out / "larbinpy.db")
    assert len(crawled) > 350

    def indexed(*names: Path) -> dict[str, tuple[object, ...]]:
        Path("new.db").unlink(missing_ok=True)
        shown = ask("index", *map(str, names), "-d", "new.db")
        assert (shown.exit_code, shown.stderr) == (0, "")
        return contents(Path("new.db"))

    archives = warcs(out)
    assert indexed(*archives) == crawled
    for file in archives:
        file.unlink()
    shutil.copytree(out / "d00000", "saved/d00000")
    shutil.rmtree(out / "d00000")
    # Without headers, charsets and types are guessed.
    for folder, lost in ((Path("saved"), 0), (out, 1)):
        found = indexed(folder)
        assert len(crawled.keys() - found.keys()) == lost
        assert sum(values != crawled[url] for url, values in found.items()) <= 3


def count(base: Path) -> int:
    """Pages in a database that may not be there yet."""
    try:
        with closing(sqlite3.connect(f"file:{base}?mode=ro", uri=True)) as opened:
            return int(opened.execute("SELECT count(*) FROM page").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_archives_are_packed_into_one_file(ask: Ask, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.gz")
    archive.add("response", "http://a.test/", html("One"))
    archive.close()
    (tmp_path / "b.warc.gz.open").touch()
    done = ask("pack", ".")
    said = "a.wacz: 1 captures, 1 of them pages, of 1 WARC files\n"
    assert (done.exit_code, done.stdout) == (0, said)
    assert "b.warc.gz.open is left out: a crawl writes it" in done.stderr
    again = ask("pack", "a.warc.gz")
    assert again.exit_code == 2 and "a.wacz exists; -o FILE gives another name" in again.stderr
    assert ask("pack", "a.warc.gz", "-o", "a.wacz").exit_code == 0
    (tmp_path / "none").mkdir()
    assert "none: no WARC file here" in ask("pack", "none").stderr


def test_databases_are_merged(ask: Ask) -> None:
    """The page that was fetched last counts; an older one stays out."""

    def fill(name: str, *pages: Prepared) -> None:
        with closing(Writer(name)) as writer:
            writer.write(pages)

    day = "2026-11-{}T08:00:00Z".format
    fill(
        "a.db",
        prepared("http://h/1", "zebra", at=day(20)),
        prepared("http://h/2", "tapir", at=day(22)),
    )
    fill(
        "b.db",
        prepared("http://h/1", "okapi", at=day(21), title="One", body=zstandard.compress(b"<p>")),
        prepared("http://h/2", "older", at=day(21)),
        prepared("http://h/3", "quagga", at=day(21), rest="menu", summary="herd"),
    )
    shown = ask("index", "b.db", "-d", "a.db")
    assert (shown.exit_code, shown.stdout) == (
        0,
        "b.db: 2 pages\n  1 left out: in the database already, as new or newer\n",
    )

    def found(word: str) -> list[str]:
        lines = ask("search", word, "--json", "-d", "a.db").stdout.splitlines()
        return [json.loads(line)["url"] for line in lines]

    assert found("okapi") == ["http://h/1"] and not found("zebra")
    assert found("tapir") == ["http://h/2"] and not found("older")
    assert found("quagga") == found("herd") == found("menu") == ["http://h/3"]
    assert ask("show", "http://h/1", "--body", "-d", "a.db").stdout == "<p>"
    assert ask("index", "--verify", "-d", "a.db").stdout == "a.db: sound\n"
    itself = ask("index", "a.db", "-d", "a.db")
    assert itself.exit_code == 2 and "the database itself" in itself.stderr
