"""Writers of the database file that are killed, and power cuts."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from random import Random

import pytest

from larbinpy.database.preparation import Prepared
from larbinpy.database.sqlite.file import connect
from larbinpy.database.writer import Writer
from larbinpy.storage.spool import Position
from tests.support.databasepages import prepared
from tests.support.moments import moments

#: Pages of a batch, and batches after which the pages begin again: they are replaced then.
SIZE, ROUND = 20, 30
SECTOR = 512
FILES = ("it.db", "it.db-wal")


def batch(number: int) -> list[Prepared]:
    """Pages that are written as the batch `number`, from 1; links lead to pages of any batch."""
    random = Random(number)
    day, hour = divmod(number, 24)
    first = (number - 1) % ROUND * SIZE
    return [
        prepared(
            f"http://a.example/{n}",
            f"batch{number} page{n} " + " ".join(f"w{random.randrange(3000)}" for _ in range(200)),
            title=f"Title {n}",
            at=f"2026-11-{day + 1:02}T{hour:02}:00:00Z",
            links=((f"http://a.example/{random.randrange(ROUND * SIZE)}", f"way {n}"),),
        )
        for n in range(first, first + SIZE)
    ]


def write_for_ever(path: str) -> None:
    """Write batches from the position of the database on, with a line for each."""
    writer = Writer(path)
    position = writer.position("s")
    number = position.segment if position else 0
    while True:
        number += 1
        writer.write(batch(number), "s", Position(number, 0), durable=number % 7 == 0)
        if number % 5 == 0:
            writer.tend()
        print(number, flush=True)


def check(path: Path) -> int:
    """Check that the database has what its position says, each page once; return the position."""
    writer = Writer(str(path))  # the lock is gone with its holder
    position = writer.position("s")
    writer.close()
    base = connect(path, write=True)
    done = position.segment if position else 0
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    base.execute("INSERT INTO ft(ft) VALUES ('integrity-check')")
    pages = min(done, ROUND) * SIZE
    for table in ("page", "content", "ft_docsize", "page WHERE indexed IS NOT NULL"):
        assert base.execute(f"SELECT count(*) FROM {table}").fetchone() == (pages,), table
    assert base.execute("SELECT coalesce(sum(visits), 0) FROM page").fetchone() == (done * SIZE,)
    for number in range(max(1, done - ROUND + 1), done + 1):
        found = base.execute("SELECT count(*) FROM ft WHERE ft MATCH ?", (f"batch{number}",))
        assert found.fetchone() == (SIZE,), number
    for number in (max(0, done - ROUND), done + 1):
        found = base.execute("SELECT count(*) FROM ft WHERE ft MATCH ?", (f"batch{number}",))
        assert found.fetchone() == (0,), number
    base.close()
    return done


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    command = "import sys; from tests.database.test_sqlite_kills import write_for_ever as w"
    for number in takewhile(lambda number: number < 50, moments()):
        random = Random(number)
        with subprocess.Popen(
            [sys.executable, "-c", f"{command}; w(sys.argv[1])", str(path)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(random.randrange(1, 12))]
            # It is at work on the next batch, at another point of it each time.
            for _ in range(random.randrange(300_000)):
                pass
            writer.kill()
            said += writer.stdout.readlines()
        assert int(said[-1]) <= check(path) <= int(said[-1]) + 1


@pytest.fixture(name="states")
def _states(tmp_path: Path) -> Iterator[list[Path]]:
    """Copies of the files: after a durable batch, others, a checkpoint, and others after it."""
    path = tmp_path / "it.db"
    copies: list[Path] = []

    def copy() -> None:
        folder = tmp_path / f"state{len(copies)}"
        folder.mkdir()
        for name in FILES:
            shutil.copy(tmp_path / name, folder / name)
        copies.append(folder)

    writer = Writer(str(path))
    reader = connect(path)  # keeps the log at the end
    number = 0
    for _ in range(2):
        for durable in (False, True):
            number += 1
            writer.write(batch(number), "s", Position(number, 0), durable=durable)
        copy()
        for _ in range(3):
            number += 1
            writer.write(batch(number), "s", Position(number, 0))
        copy()
        other = connect(path, write=True)
        assert other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
        other.close()
        copy()
    yield copies
    reader.close()
    writer.close()


def mixed(random: Random, old: bytes, new: bytes, start: int = 0) -> bytes:
    """`new`, in which some sectors from `start` on are still those of `old`, or lost."""
    found = bytearray(new)
    for at in range(start - start % SECTOR, len(new), SECTOR):
        if at >= start and random.random() < 0.3:
            before = old[at : at + SECTOR]
            found[at : at + SECTOR] = before.ljust(len(new[at : at + SECTOR]), b"\0")
    return bytes(found[: random.randrange(len(found)) if random.random() < 0.3 else None])


@pytest.mark.parametrize("seed", range(12))
def test_a_power_cut_loses_no_durable_batch(states: list[Path], tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    (synced, later, moved, synced2, *_) = (
        [(folder / name).read_bytes() for name in FILES] for folder in states
    )
    cut = tmp_path / "cut"
    cut.mkdir()

    def after(base: bytes, log: bytes) -> int:
        for name, data in zip(FILES, (base, log), strict=True):
            (cut / name).write_bytes(data)
        (cut / "it.db-shm").unlink(missing_ok=True)
        return check(cut / FILES[0])

    # Batches after the durable one: the log has them in part.
    length = len(synced[1])
    log = synced[1] + mixed(random, b"", later[1][length:])
    assert 2 <= after(later[0], log) <= 5
    # In a checkpoint: the log is on the disk, the file has a part of it.
    assert synced[0] == later[0]
    torn = mixed(random, later[0], moved[0])
    assert after(torn if len(torn) >= len(later[0]) else later[0], later[1]) == 5
    # After it the log begins anew over the old one; the durable batch 7 is whole.
    assert synced2[1][:32] != later[1][:32]
    assert after(moved[0], synced2[1]) == 7
    # Before that: its head is new, as SQLite syncs that first.
    head = synced2[1][:32]
    assert 5 <= after(moved[0], head + mixed(random, later[1][32:], synced2[1][32:])) <= 7
