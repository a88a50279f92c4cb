"""SiteCounts: exact, small, and as they were at the mark after a kill."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.storage.site_counts import SiteCounts, UnsavedSiteCounts


def site(number: int) -> str:
    return f"http://s{number}.test"


def all_of(counts: SiteCounts, most: int) -> dict[int, tuple[int, int]]:
    found = {number: counts.get(site(number)) for number in range(most)}
    return {number: each for number, each in found.items() if each != (0, 0)}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_counts_that_are_saved_elsewhere(tmp_path: Path) -> None:
    counts = UnsavedSiteCounts(tmp_path)
    counts.put(site(1), 3, 4)
    assert counts.get(site(1)) == (3, 4)
    assert counts.cut() is None
    assert files(tmp_path) == []


def test_a_count_is_the_last_that_was_set(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path)
    assert counts.get(site(1)) == (0, 0)
    counts.put(site(1), 1, 2**40)
    counts.put(site(2), 7, 8)
    counts.put(site(1), 2, 2**41)
    assert (counts.get(site(1)), counts.get(site(2))) == ((2, 2**41), (7, 8))
    assert len(counts) == 2


def test_nothing_is_written_while_nothing_is_counted(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path)
    assert counts.cut() is None
    counts.sync()
    counts.tidy(None)
    assert files(tmp_path) == []
    SiteCounts(tmp_path).load(None)


def test_after_a_kill_the_counts_are_those_of_the_mark(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path)
    counts.put(site(1), 1, 10)
    mark = counts.cut()
    counts.sync()
    counts.put(site(1), 2, 20)
    counts.put(site(2), 1, 1)
    counts.cut()
    counts.close()
    again = SiteCounts(tmp_path)
    again.load(mark)
    assert all_of(again, 4) == {1: (1, 10)}
    again.put(site(3), 5, 5)
    second = again.cut()
    again.close()
    third = SiteCounts(tmp_path)
    third.load(second)
    assert all_of(third, 4) == {1: (1, 10), 3: (5, 5)}


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path)
    counts.put(site(1), 1, 10)
    mark = counts.cut()
    counts.close()
    [path] = tmp_path.iterdir()
    good = path.read_bytes()
    for bad in (good[:-1], bytes([good[0] ^ 1]) + good[1:]):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"sites\.000001\.log"):
            SiteCounts(tmp_path).load(mark)


def test_a_log_of_obsolete_entries_is_written_anew(tmp_path: Path) -> None:
    counts = SiteCounts(tmp_path, few=10)
    for number in range(5):
        counts.put(site(number), 1, 1)
    first = counts.cut()
    counts.sync()
    for round_ in range(40):
        for number in range(5):
            counts.put(site(number), round_, number)
        mark = counts.cut()
        counts.sync()
        # The committed mark may still be the first.
        counts.tidy(first)
        assert "sites.000001.log" in files(tmp_path)
    assert mark is not None
    counts.tidy(mark)
    [name] = files(tmp_path)
    assert name > "sites.000001.log"
    assert mark["length"] <= 24 * (2 * 10 + 5)
    again = SiteCounts(tmp_path)
    again.load(mark)
    assert all_of(again, 9) == {number: (39, number) for number in range(5)}
    again.clear()
    assert files(tmp_path) == []


@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 2**60)), max_size=1500))
def test_it_agrees_with_a_dict(changes: list[tuple[int, int]]) -> None:
    counts, known = SiteCounts(Path("nowhere")), {}
    for number, received in changes:
        known[number] = (number, received)
        counts.put(site(number), number, received)
    assert {number: counts.get(site(number)) for number in known} == known
    assert len(counts) == len(known)


def test_a_site_takes_few_bytes() -> None:
    counts = SiteCounts(Path("nowhere"))
    sites = random.Random(1).sample(range(10**9), 30_000)
    for number in sites:
        counts.put(site(number), 1, 1)
    bytes_ = sum(len(table.slots) * 8 for table in counts._tables if table is not None)
    assert bytes_ / len(sites) < 75


def test_files_of_others_are_kept(tmp_path: Path) -> None:
    """Neither deleted nor counted, however similar their names are."""
    names = ["notes", "1", "0000001", "000001.old", "-00001", "²", "٣", ""]
    others = sorted(f"sites.{name}.log" for name in names)
    for name in others:
        (tmp_path / name).write_text("mine")
    counts = SiteCounts(tmp_path)
    counts.put(site(1), 1, 1)
    mark = counts.cut()
    counts.sync()
    counts.tidy(mark)
    assert files(tmp_path) == sorted([*others, "sites.000001.log"])
    counts.close()
    counts.clear()
    assert files(tmp_path) == others
