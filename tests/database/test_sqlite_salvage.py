"""Damaged database files: what verify says, what export reads, and what a salvage takes."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest
import zstandard

from larbinpy.database import salvage as salvage_module
from larbinpy.database.base import DatabaseError, Salvaged, Unavailable, unpacked_text
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.maintenance import rebuild, verify
from larbinpy.database.preparation import Gone, target_of
from larbinpy.database.salvage import salvage
from larbinpy.database.sqlite.file import BLOCK, connect, salvage_hint
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared

T1, T2 = "2026-11-23T08:00:00Z", "2026-11-24T08:00:00Z"
WORDS = ["sea", "boat", "wave", "salt", "harbour", "night", "wind", "north", "light", "water"]


def quiet(what: str, done: int, total: int) -> None:
    pass


def text(random: Random) -> str:
    return " ".join(random.choice(WORDS) + str(random.randrange(500)) for _ in range(200))


@pytest.fixture(scope="module", name="sound")
def _sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of 300 pages on 5 hosts, with copies, changes, pages that are gone and bodies."""
    path, random = tmp_path_factory.mktemp("sound") / "it.db", Random(1)
    urls = [f"http://h{n % 5}.test/{n}" for n in range(300)]
    texts = [text(random) for _ in urls]
    with closing(Writer(str(path))) as writer:
        for start in range(0, 300, 50):
            writer.write([
                prepared(
                    url, texts[n % 270], title=f"Page {n % 270}", at=T1, rest=text(random)[:1000],
                    links=((urls[(n + 1) % 300], f"way{n}"),), author="J. Doe",
                    body=zstandard.compress(texts[n].encode()) if n % 3 else None,
                )
                for n, url in list(enumerate(urls))[start : start + 50]
            ])  # fmt: skip
        writer.write([prepared(url, text(random), at=T2) for url in urls[:20]])
        writer.write([Gone(url, T2, 410) for url in urls[20:25]])
        while writer.tend():
            pass
    return path.read_bytes()


def readable(path: Path) -> tuple[set[str], dict[str, str]]:
    """The URLs whose rows can be read one by one, and the texts that can."""
    urls, texts = set(), {}
    with closing(sqlite3.connect(path)) as base:
        for number in range(1, 310):
            with suppress(sqlite3.Error):
                for row in base.execute("SELECT * FROM page WHERE id = ?", (number,)):
                    key, url = row[1:3]
                    if isinstance(url, str) and key == target_of(url):
                        urls.add(url)
                        row = base.execute(
                            "SELECT text, text_size FROM content WHERE page = ?", (number,)
                        ).fetchone()
                        if row is not None:
                            with suppress(ValueError):
                                texts[url] = unpacked_text(*row)
    return urls, texts


def taken(path: Path) -> dict[str, str]:
    with closing(connect(path)) as base:
        rows = base.execute(
            "SELECT url, text, text_size FROM page JOIN content ON content.page = page.id"
        )
        return {url: unpacked_text(*packed) for url, *packed in rows}


def damaged(sound: bytes, seed: int, path: Path) -> Path:
    """Damage of each kind but in the first block: single bits, places, blocks, a lost end."""
    random, data = Random(seed), bytearray(sound)
    for _ in range(2 ** (seed % 7)):
        at = random.randrange(BLOCK, len(data))
        match seed % 4:
            case 0:
                data[at] ^= 1 << random.randrange(8)
            case 1:
                data[at : at + 64] = random.randbytes(64)
            case 2:
                at -= at % BLOCK
                data[at : at + BLOCK] = random.choice([bytes(BLOCK), random.randbytes(BLOCK)])
            case 3:
                data[at : at + 8] = b"\xff" * 8
    if seed % 11 == 0:
        del data[-random.randrange(len(data) // 4) :]
    path.write_bytes(data[: len(sound)])
    return path


def exported(path: Path) -> None:
    with closing(DatabaseFinder(str(path))) as finder:
        for _ in finder.pages():
            pass


SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed >= 8)) for seed in [*range(30), 258]]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_can_be_read_is_taken(tmp_path: Path, sound: bytes, seed: int) -> None:
    old, new = damaged(sound, seed, tmp_path / "old.db"), tmp_path / "new.db"
    before = old.stat().st_mtime_ns
    urls, texts = readable(old)
    try:
        found = salvage(str(old), str(new), quiet)
    except DatabaseError as error:
        assert not urls and "first block" in str(error)
        return
    assert old.stat().st_mtime_ns == before
    assert [each.name for each in tmp_path.glob("new.db*")] == ["new.db"]
    assert verify(str(new), quiet) == []
    got = taken(new)
    assert urls <= got.keys()
    assert {url: got[url] for url in texts} == texts
    assert found.pages == len(got)
    assert found.pages + found.lost <= 310
    # Nothing is lost in silence.
    assert found.pages + found.lost >= 300 or not urls
    exported(new)


@pytest.mark.parametrize("seed", SEEDS)
def test_verify_finds_what_export_finds(tmp_path: Path, sound: bytes, seed: int) -> None:
    """And what it advises helps."""
    path = damaged(sound, seed, tmp_path / "it.db")
    trouble = ""
    try:
        exported(path)
    except DatabaseError as error:
        trouble = str(error)
    try:
        lines = verify(str(path), quiet)
    except DatabaseError as error:
        lines = [str(error)]
    assert not trouble or lines, "export fails and verify is content"
    assert not any("\n" in line for line in (*lines, trouble))
    if any("--salvage" in line for line in lines):
        return
    assert not lines or any("--rebuild" in line for line in lines)
    rebuild(str(path), quiet)
    assert verify(str(path), quiet) == []


@pytest.fixture(name="path")
def _path(tmp_path: Path, sound: bytes) -> Path:
    path = tmp_path / "it.db"
    path.write_bytes(sound)
    return path


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            "UPDATE content SET text = x'00' WHERE page = (SELECT max(id) FROM page"
            " WHERE same_as IS NOT NULL)",
            "http://h4.test/299: its text in the database is damaged",
        ),
        ("UPDATE page SET author = x'ff' WHERE id = 7", "/6: its row in the database is damaged"),
        (
            "UPDATE page SET author = CAST(x'ff' AS TEXT) WHERE id = 7",
            "page 7: its row is damaged (invalid start byte)",
        ),
    ],
)
def test_verify_reads_all_of_each_page(path: Path, damage: str, says: str) -> None:
    """Also of a copy, which the index does not have."""
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(damage)
    with pytest.raises(
        DatabaseError, match=r"is damaged|damaged database \(a text that is not UTF"
    ):
        exported(path)
    lines = verify(str(path), quiet)
    assert says in lines[0]
    new = path.with_name("new.db")
    assert lines[1:] == [salvage_hint(path)]
    assert salvage(str(path), str(new), quiet).pages == 300
    assert verify(str(new), quiet) == []


def test_verify_works_where_nothing_can_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert verify(str(path), quiet) == []
    assert [each.name for each in path.parent.iterdir()] == ["it.db"]
    data = path.read_bytes()
    place = data.index(b"harbour1") // BLOCK * BLOCK
    path.write_bytes(data[:place] + bytes(BLOCK) + data[place + BLOCK :])
    assert verify(str(path), quiet)
    assert [each.name for each in path.parent.iterdir()] == ["it.db"]


def test_damage_of_the_index_shows_where_nothing_can_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("DELETE FROM ft_data WHERE id > 10 AND id % 2 = 0")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    lines = verify(str(path), quiet)
    assert "index: database disk image is malformed; --rebuild repairs it" in lines
    assert not any("--salvage" in line for line in lines)


def test_a_salvage_of_a_sound_database_takes_all(path: Path) -> None:
    new = path.with_name("new.db")
    assert salvage(str(path), str(new), quiet) == Salvaged(300, 0, 0)
    tables = ("page", "host", "content", "body", "change", "announced", "anchor")
    with closing(connect(path)) as one, closing(connect(new)) as other:
        for table in tables:
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert one.execute(query).fetchall() == other.execute(query).fetchall(), table


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_nothing_is_made_of_a_file_of_which_nothing_can_be_read(path: Path, share: float) -> None:
    data = path.read_bytes()
    start = 100 if share else 0
    path.write_bytes(data[:start] + bytes(BLOCK - start) + data[BLOCK:])
    with pytest.raises(DatabaseError, match=r"not a database of larbinpy|nothing can be read"):
        salvage(str(path), str(path.with_name("new.db")), quiet)
    assert not list(path.parent.glob("new*"))


def test_a_salvage_replaces_nothing(path: Path) -> None:
    path.with_name("new.db").write_text("mine")
    for new in ("it.db", "new.db"):
        with pytest.raises(DatabaseError, match="is there already"):
            salvage(str(path), str(path.with_name(new)), quiet)
    with pytest.raises(DatabaseError, match="there is no database"):
        salvage(str(path.with_name("none.db")), str(path.with_name("newer.db")), quiet)
    with pytest.raises(DatabaseError, match="is for files"):
        salvage("mysql://h/n", str(path.with_name("newer.db")), quiet)
    with closing(Writer(str(path))), pytest.raises(Unavailable, match="in use"):
        salvage(str(path), str(path.with_name("newer.db")), quiet)
    assert path.with_name("new.db").read_text() == "mine"
    assert not list(path.parent.glob("newer*"))


def test_a_salvage_that_is_stopped_leaves_nothing(path: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if what == "indexing pages":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        salvage(str(path), str(path.with_name("new.db")), stop)
    assert not list(path.parent.glob("new*"))


def test_a_crawl_goes_on_with_what_was_taken(path: Path) -> None:
    with closing(Writer(str(path))) as writer:
        writer.write([], "s-1", Position(7, 200))
    new = str(path.with_name("new.db"))
    salvage(str(path), new, quiet)
    with closing(Writer(new)) as writer:
        assert writer.position("s-1") == Position(7, 200)
        writer.write([prepared("http://h1.test/1", "Other words.", at="2026-11-26T08:00:00Z")])
    with closing(DatabaseFinder(new)) as finder:
        assert [change.kind for change in finder.history("http://h1.test/1")][-1] == "changed"


@pytest.fixture(name="six")
def _six(tmp_path: Path) -> Path:
    """A database of six pages on two hosts."""
    path = tmp_path / "six.db"
    with closing(Writer(str(path))) as writer:
        writer.write([
            prepared(
                f"http://h{n % 2}.test/{n}", f"Text {n} of the sea.", title=f"Page {n}", at=T1,
                body=zstandard.compress(b"body"),
            )
            for n in range(6)
        ])  # fmt: skip
        while writer.tend():
            pass
    return path


_IDS = "SELECT id FROM page ORDER BY id"
_TEXT = "SELECT text_size FROM content WHERE page = 3"


def lost(*tables: str) -> str:
    """Page 3 is lost, and its rows in `tables`."""
    rows = (f"DELETE FROM {table} WHERE page = 3" for table in tables)
    return "; ".join(["DELETE FROM page WHERE id = 3", *rows])


@pytest.mark.parametrize(
    ("damage", "found", "query", "rows"),
    [
        # The key of a page is made of its URL.
        ("UPDATE page SET key = key + 1 WHERE id = 2", (5, 0, 1), _IDS, [1, 3, 4, 5, 6]),
        ("UPDATE page SET url = x'00' WHERE id = 2", (5, 0, 1), _IDS, [1, 3, 4, 5, 6]),
        ("UPDATE page SET id = 90000 WHERE id = 6", (5, 0, 1), _IDS, [1, 2, 3, 4, 5]),
        # A page that is lost is known by what else tells of it.
        (lost(), (5, 0, 1), _IDS, [1, 2, 4, 5, 6]),
        (lost("content", "body"), (5, 0, 1), _IDS, [1, 2, 4, 5, 6]),
        (lost("change", "body"), (5, 0, 1), _IDS, [1, 2, 4, 5, 6]),
        (lost("content", "change"), (5, 0, 1), _IDS, [1, 2, 4, 5, 6]),
        ("UPDATE change SET page = 90000 WHERE page = 3", (6, 0, 0), _IDS, [1, 2, 3, 4, 5, 6]),
        ("UPDATE change SET page = -1 WHERE page = 3", (6, 0, 0), _IDS, [1, 2, 3, 4, 5, 6]),
        ("UPDATE change SET page = 'x' WHERE page = 3", (6, 0, 0), _IDS, [1, 2, 3, 4, 5, 6]),
        ("UPDATE page SET id = 900 WHERE id = 6", (6, 1, 1), _IDS, [1, 2, 3, 4, 5, 900]),
        (
            "UPDATE page SET status = 'x' WHERE id = 2", (6, 0, 0),
            "SELECT status FROM page WHERE id = 2", [None],
        ),
        # A host is that of the URL.
        (
            "DELETE FROM host WHERE name = 'h0.test'", (6, 0, 0),
            "SELECT name FROM page JOIN host ON host.id = host ORDER BY page.id",
            ["h0.test", "h1.test"] * 3,
        ),
        (
            "UPDATE page SET host = 7", (6, 0, 0),
            "SELECT name FROM page JOIN host ON host.id = host ORDER BY page.id",
            ["h0.test", "h1.test"] * 3,
        ),
        (
            "UPDATE host SET sample = x'00', sample_size = 5, sample_of = 1 WHERE id = 1",
            (6, 0, 0), "SELECT sample_of FROM host WHERE id = 1", [None],
        ),
        ("DELETE FROM content WHERE page = 3", (6, 1, 0), _TEXT, [0]),
        ("UPDATE content SET text = x'00' WHERE page = 3", (6, 1, 0), _TEXT, [0]),
        ("UPDATE content SET text = NULL WHERE page = 3", (6, 1, 0), _TEXT, [0]),
        (
            "UPDATE content SET more = 'x' WHERE page = 3", (6, 1, 0),
            "SELECT text_size > 0 FROM content WHERE page = 3", [1],
        ),
        (
            "UPDATE body SET zstd = x'00' WHERE page = 3", (6, 0, 0),
            "SELECT page FROM body", [1, 2, 4, 5, 6],
        ),
        (
            "UPDATE page SET near = 99 WHERE id = 2", (6, 0, 0),
            "SELECT near FROM page WHERE id = 2", [None],
        ),
        (
            "UPDATE page SET near = 3 WHERE id = 2", (6, 0, 0),
            "SELECT near FROM page WHERE id = 2", [3],
        ),
        (
            "UPDATE page SET same_as = 3 WHERE id = 2", (6, 0, 0),
            "SELECT same_as FROM page WHERE id = 2", [3],
        ),
        (
            "UPDATE page SET same_as = 3, near = 3, gone = '2026' WHERE id = 2", (6, 0, 0),
            "SELECT coalesce(same_as, near) FROM page WHERE id = 2", [None],
        ),
        # What a copy is of has lost its text.
        (
            "UPDATE page SET same_as = 3 WHERE id = 2; DELETE FROM content WHERE page = 3",
            (6, 1, 0), "SELECT same_as FROM page WHERE id = 2", [None],
        ),
    ],
)  # fmt: skip
def test_rows_that_are_damaged_are_mended_or_left(
    six: Path, damage: str, found: tuple[int, int, int], query: str, rows: list[object]
) -> None:
    with closing(sqlite3.connect(six)) as base:
        base.executescript(damage)
    new = six.with_name("new.db")
    assert salvage(str(six), str(new), quiet) == Salvaged(*found)
    with closing(sqlite3.connect(new)) as base:
        assert [row[0] for row in base.execute(query)] == rows
        assert base.execute("SELECT count(*) FROM content").fetchone() == (found[0],)
    assert verify(str(new), quiet) == []


@pytest.mark.parametrize(
    ("bad", "keys", "come"),
    [
        ([], [], [1, 2, 3, 4, 5]),
        ([], [2, 9], [1, 2, 3, 4, 5]),
        ([3], range(7), [1, 2, 3, 4, 5]),
        ([2, 4], range(6), [1, 2, 3, 4, 5]),
        ([1, 5], [3, 9, 2], [2, 3]),
        ([1, 2, 3, 4, 5], [1, 7, 4], [1, 4]),
    ],
)
def test_rows_are_read_from_both_ends_and_then_one_by_one(
    bad: list[int], keys: Sequence[int], come: list[int]
) -> None:
    """Of a row that cannot be read whole come the columns that can."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE it (id INTEGER PRIMARY KEY, text TEXT)")
        base.executemany(
            "INSERT INTO it VALUES (?, ?)", [(n, "{" if n in bad else f"{n}") for n in range(1, 6)]
        )
        base.execute("CREATE VIEW seen AS SELECT id, id * 2 AS twice, json(text) AS text FROM it")
        rows = list(salvage_module._rows(base, "seen", "id", ["id", "twice", "text"], keys))
        assert not list(salvage_module._in_parts(base, "seen", "id", ["id", "text"], 9))
    texts = [None if n in bad else f"{n}" for n in come]
    assert sorted((row["id"], row["twice"]) for row in rows) == [(n, 2 * n) for n in come]
    assert {row["id"]: row["text"] for row in rows} == dict(zip(come, texts, strict=True))
