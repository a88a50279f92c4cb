"""Texts of links: distinct, bounded, not lost."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from larbinpy.database.preparation import Anchor
from larbinpy.database.sqlite.file import connect
from larbinpy.database.writing.anchors import LONGEST, MOST, Anchors

TARGETS = [Random(n).getrandbits(64) - (1 << 63) for n in range(500)]


@pytest.fixture(name="anchors")
def _anchors(tmp_path: Path) -> Iterator[Anchors]:
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    yield Anchors(base, a_page=2, least=100)
    base.close()


def test_texts_are_distinct_and_bounded(anchors: Anchors) -> None:
    target = TARGETS[0]
    for turn in range(40):
        anchors.add([Anchor(target, f"text {turn // 2}"), Anchor(TARGETS[1], "x" * 1000)])
        anchors.merge()
        assert len(anchors.known(target)) == min(turn // 2 + 1, MOST)
    assert anchors.known(target) == sorted(f"text {n}" for n in range(MOST))
    assert anchors.known(TARGETS[1]) == ["x" * LONGEST]
    assert anchors.known(TARGETS[2]) == []


def test_a_text_that_is_known_is_not_written_again(tmp_path: Path) -> None:
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    anchors = Anchors(base)
    for _ in range(3):
        anchors.add([Anchor(target, "text") for target in TARGETS])
    anchors.merge()
    (count,) = base.execute("SELECT count(*) FROM fresh").fetchone()
    assert count == len(TARGETS)
    base.close()


@pytest.mark.parametrize("life", [7, 23, 60])
def test_texts_outlive_their_reader(tmp_path: Path, life: int) -> None:
    """At each turn of the slices: what is in memory is in the table `fresh`, too.

    A reader lives for some turns; after 16, each slice had its turn.
    """
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    anchors = Anchors(base)
    for turn, target in enumerate(TARGETS[:60]):
        anchors.add([Anchor(target, f"text {turn}")])
        anchors.merge()
        again = Anchors(base)
        for before, seen in enumerate(TARGETS[: turn + 1]):
            assert again.known(seen) == [f"text {before}"]
        if turn % life == life - 1:
            anchors = again
    while anchors.settle():
        pass
    assert base.execute("SELECT count(*) FROM fresh").fetchone() == (0,)
    assert base.execute("SELECT count(*) FROM anchor").fetchone() == (60,)
    base.close()


def test_a_writer_leaves_what_others_have_not_merged(tmp_path: Path) -> None:
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    writers = [Anchors(base, seat) for seat in range(3)]
    for seat, anchors in enumerate(writers):
        anchors.add([Anchor(target, f"by {seat}") for target in TARGETS])
        anchors.merge()
    while writers[1].settle():
        pass
    seats = [row[0] for row in base.execute("SELECT DISTINCT id >> 40 FROM fresh ORDER BY id")]
    assert seats == [0, 2]
    for seat in (0, 2):
        again = Anchors(base, seat)
        assert all(f"by {seat}" in again.known(target) for target in TARGETS)
    base.close()


def test_the_table_keeps_texts_of_pages_and_forgets_others(tmp_path: Path) -> None:
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    anchors = Anchors(base, a_page=2, least=100)
    columns = "key, url, host, fetched, first_seen, changed, visits, changes"
    for key in TARGETS[:20]:
        base.execute(f"INSERT INTO page ({columns}) VALUES (?, '', 1, '', '', '', 1, 0)", (key,))
    for turn in range(600):
        anchors.add([Anchor(target, f"text {turn % 30}") for target in TARGETS])
        anchors.merge()
    (count,) = base.execute("SELECT count(*) FROM anchor").fetchone()
    (noted,) = base.execute("SELECT value FROM meta WHERE key = 'anchors'").fetchone()
    assert count == noted
    assert all(len(anchors.known(target)) == MOST for target in TARGETS[:20])
    others = base.execute(
        "SELECT count(*) FROM anchor WHERE target NOT IN (SELECT key FROM page)"
    ).fetchone()[0]
    assert others < 1000  # of 7,680
    base.close()


class Counting:
    """A connection that counts the ranges that are looked through for texts of no page."""

    def __init__(self, base: Any) -> None:
        self._base = base
        self.looks = 0
        self.executemany = base.executemany

    def execute(self, statement: str, arguments: Sequence[Any] = ()) -> Any:
        self.looks += statement.startswith("DELETE FROM anchor")
        return self._base.execute(statement, arguments)


@pytest.mark.parametrize(
    ("pages", "least", "looks", "left"),
    [
        # All are of pages: one look through them, and none before there is an eighth more.
        (500, 0, 4096, 500),
        # Half of them go; then one look shows that the rest are of pages.
        (250, 0, 8192, 250),
        (0, 0, 2049, 0),
        (0, 499, 2049, 0),
        (0, 500, 0, 500),
    ],
)
def test_texts_of_no_page_are_looked_for_as_long_as_there_are_some(
    tmp_path: Path, pages: int, least: int, looks: int, left: int
) -> None:
    base = connect(tmp_path / "it.db", write=True)
    base.execute("BEGIN")
    columns = "key, url, host, fetched, first_seen, changed, visits, changes"
    counting = Counting(base)
    anchors = Anchors(counting, a_page=0, least=least)
    # All in the slice and in the range of 0.
    for key in range(pages):
        base.execute(f"INSERT INTO page ({columns}) VALUES (?, '', 1, '', '', '', 1, 0)", (key,))
    anchors.add([Anchor(target, "text") for target in range(500)])
    while anchors.settle():
        pass
    assert counting.looks == looks
    assert base.execute("SELECT count(*) FROM anchor").fetchone() == (left,)
    assert base.execute("SELECT value FROM meta WHERE key = 'anchors'").fetchone() == (left,)
    base.close()


def test_targets_to_look_at_are_bounded(anchors: Anchors) -> None:
    anchors.note(range(60_000))
    assert sum(1 for _ in anchors.take(1000)) == 1000
    anchors.note(range(60_000, 200_000))
    assert list(anchors.take(1000)) == []  # now the rows of pages are looked at: none
    assert list(anchors.take(1000)) == []
    assert anchors.is_done
