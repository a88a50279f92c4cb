"""The journal, and the shards that its commits make in an engine."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.fleet.journal import ShardJournal, pack, unpack
from larbinpy.fleet.vault import Commit, SiteWait


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
        journal = serving(ShardJournal(), loaded=self.parts())[1]
        return sorted(line for _, line in journal)


def serving(
    journal: ShardJournal, shard: int = 3, loaded: list[tuple[int, bytes, bytes]] | None = None
) -> tuple[ShardJournal, list[tuple[int, str]]]:
    journal.take_up(shard, 1)
    found = journal.adopt(shard, loaded or [])
    journal.serve(shard)
    return journal, found


def round_of(journal: ShardJournal, stored: Shard | None = None) -> Commit | None:
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
    journal, _ = serving(ShardJournal())
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


def test_a_page_is_counted_when_it_is_done() -> None:
    journal, _ = serving(ShardJournal())
    first, second = journal.put(3, 1, "page"), journal.put(3, 2, "page")
    counted = []
    for origin in (first, second, 0):
        if origin:
            journal.count_page(origin, {"p": 1, "b": 10})
            journal.done(origin)
        commit = round_of(journal)
        counted.append(commit and commit.counts)
    assert counted == [{}, {"p": 1, "b": 10}, {"p": 1, "b": 10}]
    assert not journal.has_news


def test_a_shard_of_another_node_is_not_counted_for() -> None:
    journal, _ = serving(ShardJournal())
    journal.count(4, {"p": 1})
    journal.wait(4, "http://a.test", SiteWait(60.0))
    assert not journal.has_news
    page = journal.put(3, 1, "page")
    journal.count_page(page, {"p": 1})
    journal.done(page)
    journal.withdraw(3)
    journal.wait(3, "http://a.test", SiteWait(60.0))
    first, second = round_of(journal), round_of(journal)
    # It has left when all of it is written.
    assert first is not None and second is not None
    assert (list(first.waits), second.counts) == (["http://a.test"], {"p": 1})


def test_a_page_that_is_not_on_the_disk_is_not_done() -> None:
    journal, _ = serving(ShardJournal())
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
    journal, _ = serving(ShardJournal(lines=3))
    assert [journal.put(3, k, f"{k}") & 0xFFF for k in range(2)] == [0, 1]
    assert round_of(journal) == Commit(
        array("Q", [0, 1]).tobytes(), {0: pack("01")}, {}, [], 2, 0, {}, {}
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


def test_elements_of_an_inbox_are_a_change_without_any_new_url() -> None:
    """All of them were known: they go from the inbox all the same."""
    journal, _ = serving(ShardJournal())
    assert not journal.has_changes(3)
    journal.received(3, 2)
    assert journal.has_changes(3)
    commit = round_of(journal)
    assert commit is not None and commit.received == 2


def test_a_block_that_is_full_and_written_is_not_written_again() -> None:
    journal, _ = serving(ShardJournal(lines=2))
    for k in range(2):
        journal.put(3, k, f"{k}")
    round_of(journal)
    journal.put(3, 2, "2")
    commit = round_of(journal)
    assert commit is not None
    assert (list(commit.blocks), commit.owing) == ([1], 3)


def test_a_url_that_is_done_twice_counts_once() -> None:
    journal, _ = serving(ShardJournal())
    first, _ = journal.put(3, 1, "first"), journal.put(3, 2, "second")
    for _ in range(2):
        journal.done(first)
    round_of(journal)
    commit = round_of(journal)
    assert commit is not None
    assert (commit.owing, commit.owed) == (1, {0: b"\2"})


def test_a_url_of_a_block_that_is_gone_is_done_once_more() -> None:
    journal, _ = serving(ShardJournal())
    page = journal.put(3, 1, "page")
    for _ in range(2):
        journal.done(page)
        for _ in range(2):
            commit = round_of(journal)
    assert commit is not None
    assert (commit.owing, commit.finished, commit.owed) == (0, [], {})


def test_a_block_without_owed_lines_is_removed() -> None:
    journal, _ = serving(ShardJournal(lines=3))
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
    journal, found = serving(ShardJournal(), loaded=loaded)
    assert [line for _, line in found] == ["a", "c", "d", "e"]
    for origin, _ in found[:3]:
        assert journal.holds(origin)
        journal.done(origin)
    journal.put(3, 1, "new")
    round_of(journal)
    commit = round_of(journal)
    assert commit is not None
    assert (commit.finished, commit.owed, commit.owing) == ([5], {9: b"\2"}, 2)


def thinned(journal: ShardJournal, stored: Shard) -> int:
    """Thin out what the journal asks for; return the number of blocks."""
    found = journal.sparse()
    if found is None:
        return 0
    _, take, blocks = found
    parts = [part for part in stored.parts() if part[0] in blocks]
    journal.thin(take, parts)
    return len(parts)


def with_stragglers() -> tuple[ShardJournal, Shard]:
    """Ten blocks of four lines, of which the third ones are not done."""
    journal, _ = serving(ShardJournal(lines=4))
    stored = Shard()
    for k in range(41):
        origin = journal.put(3, k, f"line {k}")
        if k % 4 != 2:
            journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    return journal, stored


def test_blocks_with_few_owed_lines_are_thinned_out() -> None:
    journal, stored = with_stragglers()
    assert thinned(journal, stored) == 10
    commit = round_of(journal, stored)
    assert commit is not None
    assert unpack(commit.blocks[4]) == ["", "", "line 18", ""]
    assert commit.owed[4] == b"\4"
    assert stored.lines == sorted(f"line {k}" for k in range(2, 40, 4))
    assert thinned(journal, stored) == 0

    # Those who load them have the same numbers of lines.
    journal, found = serving(ShardJournal(lines=4), loaded=stored.parts())
    assert [origin & 3 for origin, _ in found] == [2] * 10
    for origin, _ in found:
        journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    assert stored.blocks == {}


def test_a_block_that_is_done_while_it_is_read_is_removed() -> None:
    journal, stored = with_stragglers()
    found = journal.sparse()
    assert found is not None
    _, take, _ = found
    origins = serving(ShardJournal(), loaded=stored.parts())[1]
    for origin, _ in origins[:5]:
        journal.done(origin)
    round_of(journal, stored)
    journal.thin(take, stored.parts())
    commit = round_of(journal, stored)
    assert commit is not None
    assert commit.finished == [0, 1, 2, 3, 4]
    assert sorted(commit.blocks) == [5, 6, 7, 8, 9]
    assert len(stored.lines) == 5


def test_blocks_of_an_earlier_take_or_a_withdrawn_shard_stay_as_they_are() -> None:
    journal, stored = with_stragglers()
    found = journal.sparse()
    assert found is not None
    _, take, _ = found
    journal.thin(take + 1, stored.parts())
    journal.withdraw(3)
    journal.thin(take, stored.parts())
    assert not journal.has_changes(3)


def test_the_block_that_grows_is_not_read_to_be_thinned_out() -> None:
    journal, stored = with_stragglers()
    grown = [journal.put(3, 40 + k, f"{k}") for k in range(3)]
    for origin in grown[:2]:
        journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    found = journal.sparse()
    assert found is not None
    assert 11 in stored.blocks
    assert sorted(found[2]) == list(range(10))


def test_few_lines_are_not_worth_it() -> None:
    journal, _ = serving(ShardJournal(lines=4))
    for origin in [journal.put(3, k, f"{k}") for k in range(5)][:3]:
        journal.done(origin)
    for _ in range(2):
        round_of(journal)
    assert journal.sparse() is None


def test_a_damaged_block_is_refused() -> None:
    with pytest.raises(ValueError, match="shard 3"):
        serving(ShardJournal(), loaded=[(5, pack("abc"), b"\x0f")])


def test_a_loading_shard_has_no_commits() -> None:
    journal = ShardJournal()
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
    journal, _ = serving(ShardJournal())
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
    journal, _ = serving(ShardJournal())
    origin = journal.put(3, 1, "page")
    journal.letter(4, "other")
    journal.done(origin)
    journal.clear_all()
    assert not journal.has_news
    assert not journal.holds(origin)
    journal.tidy(journal.cut())
    assert journal.next_round() == ({}, {})


def test_letters_waits_and_inbox_elements_go_once() -> None:
    journal, _ = serving(ShardJournal())
    journal.letter(4, "x")
    journal.letter(4, "y")
    journal.received(3, 2)
    journal.wait(3, "http://a.test", SiteWait(60.0))
    journal.wait(3, "http://a.test", SiteWait(30.0))
    journal.count(3, {"t": 1, "u": 7})
    journal.count(3, {"t": 2})
    assert journal.inbox_at() == {3: 2}
    taken = journal.next_round()
    assert taken.letters == {4: pack("xy")}
    counts, waits = {"t": 3, "u": 7}, {"http://a.test": SiteWait(30.0)}
    assert taken.commits[3][1][-3:] == (2, counts, waits)
    journal.settle(taken)
    assert journal.inbox_at() == {3: 0}
    assert journal.next_round() == ({}, {})


@given(st.lists(st.one_of(st.sampled_from(("put", "round", "thin")), st.integers(0, 50))))
def test_the_vault_has_what_is_owed(steps: list[str | int]) -> None:
    journal, _ = serving(ShardJournal(lines=4))
    stored, owed = Shard(), {}
    for number, step in enumerate(steps):
        if step == "put":
            owed[journal.put(3, number, f"line {number}")] = f"line {number}"
        elif step == "round":
            round_of(journal, stored)
        elif step == "thin":
            thinned(journal, stored)
        elif owed:
            origin = list(owed)[int(step) % len(owed)]
            journal.done(origin)
            del owed[origin]
    for _ in range(2):
        round_of(journal, stored)
    while thinned(journal, stored):
        round_of(journal, stored)
    kept = sum(bool(line) for packed in stored.blocks.values() for line in unpack(packed))
    assert kept <= 2 * len(owed) + 2 * 4
    assert stored.lines == sorted(owed.values())
    assert stored.owing == len(owed)
    assert stored.fingerprints == [k for k, step in enumerate(steps) if step == "put"]
    # Another node loads it and goes on.
    journal, found = serving(ShardJournal(lines=4), loaded=stored.parts())
    journal.put(3, 1, "more")
    for origin, _ in found:
        journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    assert stored.lines == ["more"]


def test_rounds_keep_the_pace_of_checkpoints() -> None:
    journal, _ = serving(ShardJournal())
    assert not journal.is_due
    journal.tidy(journal.cut())
    assert journal.is_due
    journal.settle(journal.next_round())
    assert not journal.is_due


def test_a_loose_shard_is_thinned_out_by_its_next_owner() -> None:
    lines = [f"line {number}" for number in range(100)]
    blocks = [(block, pack(lines), b"\x01") for block in range(5)]
    journal, found = serving(ShardJournal(lines=100), loaded=blocks)
    assert len(found) == 5
    sparse = journal.sparse()
    assert sparse is not None
    assert sorted(sparse[2]) == [0, 1, 2, 3, 4]
    # They are read once.
    journal.put(3, 1, "new")
    journal.tidy(journal.cut())
    journal.settle(journal.next_round())
    assert journal.sparse() is None


def test_the_sparsest_blocks_are_thinned_out_first_and_sixteen_at_a_time() -> None:
    """Of twenty blocks of eight lines, six owe one line, seven owe two, and seven owe three."""
    journal, _ = serving(ShardJournal(lines=8))
    for k in range(161):
        origin = journal.put(3, k, f"line {k}")
        if k % 8 > k // 8 % 3:
            journal.done(origin)
    for _ in range(2):
        round_of(journal)
    found = journal.sparse()
    assert found is not None
    first = found[2]
    assert [block % 3 for block in first] == [0] * 7 + [1] * 7 + [2] * 2
    # The others wait for the next round.
    assert journal.sparse() is None
    journal.put(3, 161, "line 161")
    round_of(journal)
    found = journal.sparse()
    assert found is not None
    assert sorted(first + found[2]) == list(range(20))


def test_a_shard_whose_sparse_blocks_are_done_meanwhile_is_not_read() -> None:
    journal, stored = with_stragglers()
    for origin, _ in serving(ShardJournal(), loaded=stored.parts())[1]:
        journal.done(origin)
    for _ in range(2):
        round_of(journal, stored)
    assert journal.sparse() is None


def test_changes_of_a_dropped_shard_are_in_no_round() -> None:
    journal, _ = serving(ShardJournal())
    journal.put(3, 1, "page")
    journal.withdraw(3)
    journal.drop(3)
    assert not journal.has_changes(3)
    assert journal.next_round().commits == {}
