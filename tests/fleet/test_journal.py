"""The journal, and the shards that its commits make in an engine."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.fleet.journal import Journal
from larbinpy.fleet.letters import pack, unpack
from larbinpy.fleet.vault import Commit


class Shard:
    """A shard as the vault keeps it."""

    def __init__(self) -> None:
        self.fingerprints: list[int] = []
        self.blocks: dict[int, bytes] = {}
        self.owed: dict[int, bytes] = {}
        self.owing = 0

    def apply(self, commit: Commit) -> None:
        self.fingerprints += array("Q", commit.fingerprints)
        self.blocks.update(commit.blocks)
        self.owed.update(commit.owed)
        for block in commit.finished:
            del self.blocks[block]
            self.owed.pop(block, None)
        self.owing = commit.owing

    def parts(self) -> list[tuple[int, bytes, bytes]]:
        return [(k, packed, self.owed.get(k, b"")) for k, packed in self.blocks.items()]

    @property
    def lines(self) -> list[str]:
        journal = serving(Journal(), loaded=self.parts())[1]
        return sorted(line for _, line in journal)


def serving(
    journal: Journal, shard: int = 3, loaded: list[tuple[int, bytes, bytes]] | None = None
) -> tuple[Journal, list[tuple[int, str]]]:
    journal.take_up(shard, 1)
    found = journal.adopt(shard, loaded or [])
    journal.serve(shard)
    return journal, found


def round_of(journal: Journal, stored: Shard | None = None) -> Commit | None:
    """Make a local checkpoint and a round; the commit of shard 3."""
    journal.tidy(journal.cut())
    taken = journal.next_round()
    journal.settle(taken)
    if 3 not in taken.commits:
        return None
    _, commit = taken.commits[3]
    if stored is not None:
        stored.apply(commit)
    return commit


def test_a_url_is_done_one_round_after_its_links_are_sent() -> None:
    journal, _ = serving(Journal())
    page = journal.put(3, 1, "page")
    round_of(journal)
    journal.put(3, 2, "link")
    journal.done(page)
    with_links = round_of(journal)
    assert with_links is not None
    assert (with_links.owed, with_links.owing) == ({}, 2)
    assert journal.known == 0
    later = round_of(journal)
    assert later is not None
    assert (later.owed, later.owing, later.blocks) == ({0: b"\2"}, 1, {})
    assert journal.known == journal.noted == 1


def test_a_page_that_is_not_on_the_disk_is_not_done() -> None:
    journal, _ = serving(Journal())
    page = journal.put(3, 1, "page")
    mark = journal.cut()
    journal.done(page)
    journal.tidy(mark)
    for _ in range(3):
        journal.settle(journal.next_round())
    assert journal.known == 0
    journal.cut()  # a checkpoint that fails
    for _ in range(2):
        journal.settle(journal.next_round())
    assert journal.known == 0
    round_of(journal)
    round_of(journal)
    assert journal.known == 1


def test_a_block_grows_until_it_is_full() -> None:
    journal, _ = serving(Journal(lines=3))
    assert [journal.put(3, k, f"{k}") & 0xFFF for k in range(2)] == [0, 1]
    assert round_of(journal) == Commit(
        array("Q", [0, 1]).tobytes(), {0: pack("01")}, {}, [], 2, 0, None
    )
    for k in range(2, 7):
        journal.put(3, k, f"{k}")
    commit = round_of(journal)
    assert commit is not None
    assert {block: unpack(lines) for block, lines in commit.blocks.items()} == {
        0: ["0", "1", "2"],
        1: ["3", "4", "5"],
        2: ["6"],
    }
    assert commit.owing == 7


def test_a_block_without_owed_lines_is_removed() -> None:
    journal, _ = serving(Journal(lines=3))
    stored = Shard()
    for origin in [journal.put(3, k, f"{k}") for k in range(4)]:
        journal.done(origin)
    round_of(journal, stored)
    round_of(journal, stored)
    assert (stored.blocks, stored.owed, stored.owing) == ({}, {}, 0)
    assert not journal.owes
    journal.put(3, 9, "9")
    round_of(journal, stored)
    assert list(stored.blocks) == [2]
    assert journal.owes


def test_loaded_urls_are_done_and_new_ones_get_other_blocks() -> None:
    loaded = [(5, pack("abc"), b"\5"), (9, pack("de"), b"")]
    journal, found = serving(Journal(), loaded=loaded)
    assert [line for _, line in found] == ["a", "c", "d", "e"]
    for origin, _ in found[:3]:
        assert journal.holds(origin)
        journal.done(origin)
    journal.put(3, 1, "new")
    round_of(journal)
    commit = round_of(journal)
    assert commit is not None
    assert (commit.finished, commit.owed, commit.owing) == ([5], {9: b"\2"}, 2)


def test_a_damaged_block_is_refused() -> None:
    with pytest.raises(ValueError, match="shard 3"):
        serving(Journal(), loaded=[(5, pack("abc"), b"\x0f")])


def test_a_loading_shard_has_no_commits() -> None:
    journal = Journal()
    journal.take_up(3, 1)
    [(origin, _)] = journal.adopt(3, [(0, pack("a"), b"")])
    journal.done(origin)
    for _ in range(3):
        assert round_of(journal) is None
    journal.adopt(3, [(1, pack("b"), b"")])
    journal.serve(3)
    commit = round_of(journal)
    assert commit is not None
    assert (commit.finished, commit.owing) == ([0], 1)


def test_urls_of_withdrawn_and_dropped_shards() -> None:
    journal, _ = serving(Journal())
    origin = journal.put(3, 1, "page")
    journal.withdraw(3)
    assert not journal.serves(3)
    assert not journal.holds(origin)
    journal.done(origin)
    for _ in range(2):
        assert round_of(journal) is not None
    assert not journal.has_news
    journal.drop(3)
    serving(journal)
    journal.put(3, 1, "page")
    journal.done(origin)  # of the take before: it clears nothing of this one
    round_of(journal)
    commit = round_of(journal)
    assert commit is None or commit.owing == 1


def test_a_session_that_ends_forgets_all() -> None:
    journal, _ = serving(Journal())
    origin = journal.put(3, 1, "page")
    journal.letter(4, "other")
    journal.done(origin)
    journal.clear_all()
    assert not journal.has_news
    assert not journal.holds(origin)
    journal.tidy(journal.cut())
    assert journal.next_round() == ({}, {})


def test_letters_waits_and_inbox_elements_go_once() -> None:
    journal, _ = serving(Journal())
    journal.letter(4, "x")
    journal.letter(4, "y")
    journal.received(3, 2)
    journal.wait(3, "soon")
    assert journal.inbox_at() == {3: 2}
    taken = journal.next_round()
    assert taken.letters == {4: pack("xy")}
    assert taken.commits[3][1][-2:] == (2, "soon")
    journal.settle(taken)
    assert journal.inbox_at() == {3: 0}
    assert journal.next_round() == ({}, {})


@given(st.lists(st.one_of(st.just("put"), st.just("round"), st.integers(0, 50))))
def test_the_vault_has_what_is_owed(steps: list[str | int]) -> None:
    journal, _ = serving(Journal(lines=4))
    stored, owed = Shard(), {}
    for number, step in enumerate(steps):
        if step == "put":
            owed[journal.put(3, number, f"line {number}")] = f"line {number}"
        elif step == "round":
            round_of(journal, stored)
        elif owed:
            origin = list(owed)[int(step) % len(owed)]
            journal.done(origin)
            del owed[origin]
    for _ in range(2):
        round_of(journal, stored)
    assert stored.lines == sorted(owed.values())
    assert stored.owing == len(owed)
    assert stored.fingerprints == [k for k, step in enumerate(steps) if step == "put"]
    # Another node loads it and goes on.
    journal, found = serving(Journal(lines=4), loaded=stored.parts())
    journal.put(3, 1, "more")
    for origin, _ in found:
        journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    assert stored.lines == ["more"]
