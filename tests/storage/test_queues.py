from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from larbinpy.storage.blocks import Blocks
from larbinpy.storage.queues import Backlogs, Fifo
from larbinpy.storage.sizes import StoreSizes
from tests.support.faultydisk import CHANGES, READS, FaultyDisk

#: Blocks have three lines, those of a site two; five lines set aside fit into memory.
SMALL = StoreSizes(lines=3, site_lines=2, line_cost=100, most_tails=550, forget=2, most_read=350)


@pytest.fixture
def sizes() -> StoreSizes:
    return SMALL


def sized(**sizes: int) -> pytest.MarkDecorator:
    """A test with blocks of other sizes."""
    return pytest.mark.parametrize("sizes", [replace(SMALL, **sizes)])


@pytest.fixture
def blocks(tmp_path: Path, sizes: StoreSizes) -> Iterator[Blocks]:
    opened = Blocks(tmp_path, sizes)
    yield opened
    opened.close()


@pytest.fixture
def fifo(blocks: Blocks) -> Fifo:
    return Fifo(blocks, "-")


class Waiting:
    """Backlogs, and a block of a FIFO from which their URLs come."""

    def __init__(self, blocks: Blocks, lines: list[str]) -> None:
        self.backlogs = Backlogs(blocks, "-")
        self._source = blocks.read(blocks.append("-", lines))

    def put(self, site: str) -> str:
        """Set aside the next line."""
        place, line = self._source.pop(0)
        self.backlogs.put(site, place, line)
        return line

    def take_all(self, site: str) -> list[str]:
        taken = []
        while site in self.backlogs.sites:
            taken.append(self.backlogs.take(site)[1])
        return taken


@pytest.fixture
def waiting(blocks: Blocks) -> Waiting:
    return Waiting(blocks, names(1000))


def names(count: int) -> list[str]:
    return [f"line{number}" for number in range(count)]


def put(fifo: Fifo, *lines: str) -> None:
    for line in lines:
        fifo.put(line)


def take(fifo: Fifo) -> tuple[int, str]:
    taken = fifo.take()
    assert taken is not None
    return taken


def take_all(fifo: Fifo) -> list[str]:
    taken = []
    while (each := fifo.take()) is not None:
        taken.append(each[1])
    return taken


def file_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


# The queue of new URLs.


def test_an_empty_fifo(fifo: Fifo) -> None:
    assert (len(fifo), list(fifo.lines()), fifo.take()) == (0, [], None)
    assert repr(fifo) == "<Fifo - 0 URLs, 0 blocks>"
    fifo.spill()
    fifo.write()
    assert fifo.take() is None


@pytest.mark.parametrize("before", ["put", "spill", "write"])
def test_first_in_first_out(fifo: Fifo, before: str) -> None:
    put(fifo, *names(10))
    if before != "put":
        getattr(fifo, before)()
    assert list(fifo.lines()) == names(10)
    assert take_all(fifo) == names(10)
    assert len(fifo) == 0
    assert list(fifo.lines()) == []


def test_listing_takes_nothing(fifo: Fifo) -> None:
    put(fifo, *names(10))
    fifo.spill()
    fifo.take()
    for _ in range(2):
        assert list(fifo.lines()) == names(10)[1:]
        assert len(fifo) == 9


def test_only_full_blocks_are_spilled(fifo: Fifo, tmp_path: Path) -> None:
    put(fifo, *names(2))
    fifo.spill()
    assert list(tmp_path.iterdir()) == []
    fifo.put("line2")
    fifo.spill()
    assert repr(fifo) == "<Fifo - 3 URLs, 1 blocks>"
    size = file_size(tmp_path)
    put(fifo, "line3")
    fifo.spill()
    assert file_size(tmp_path) == size
    fifo.write()
    assert repr(fifo) == "<Fifo - 4 URLs, 2 blocks>"
    fifo.write()
    assert repr(fifo) == "<Fifo - 4 URLs, 2 blocks>"


def test_one_block_is_in_memory_whatever_the_length(fifo: Fifo) -> None:
    for number in range(0, 300, 3):
        put(fifo, *(f"line{n}" for n in range(number, number + 3)))
        fifo.spill()
        assert len(fifo._head) + len(fifo._tail) == 0
    for left in range(299, -1, -1):
        fifo.take()
        assert len(fifo._head) + len(fifo._tail) <= 2
        assert len(fifo) == left


def test_a_line_taken_has_a_place_in_a_block(fifo: Fifo, blocks: Blocks) -> None:
    """Lines that were only in memory are written first, as they are owed from a block."""
    put(fifo, *names(4))
    taken = [take(fifo) for _ in range(4)]
    assert [place > 0 for place, _ in taken] == [True] * 4
    assert len({place for place, _ in taken}) == 4
    assert repr(blocks) == "<Blocks 2 in 1 files, 2 open>"
    for place, _ in taken:
        blocks.leave(place)
    assert repr(blocks) == "<Blocks 0 in 1 files, 0 open>"


def test_a_resumed_run_begins_with_the_lines_owed(
    fifo: Fifo, blocks: Blocks, tmp_path: Path
) -> None:
    put(fifo, *names(7))
    fifo.write()
    places = [take(fifo)[0] for _ in range(3)]
    blocks.leave(places[0])
    blocks.leave(places[2])
    # The first block owes its second line, and the second block has not been read.
    again = Blocks(tmp_path, SMALL)
    later = Fifo(again, "-")
    for position, _, owed in again.load(blocks.cut()):
        later.restore(position, owed)
    assert len(later) == 5
    left = names(7)[1:2] + names(7)[3:]
    assert list(later.lines()) == left
    assert take_all(later) == left


@pytest.mark.parametrize("call", ["spill", "write", "take"])
def test_a_long_tail_is_not_moved_for_each_block(fifo: Fifo, call: str) -> None:
    """Deleting from the front of a list moves the rest, for each block of ten million seeds."""
    moved = 0

    class Tail(list[str]):
        def __delitem__(self, part: Any) -> None:
            nonlocal moved
            super().__delitem__(part)
            moved += len(self)

    fifo._tail = Tail()
    put(fifo, *names(100))
    for _ in range(100):
        getattr(fifo, call)()
    assert moved <= 100
    assert list(fifo.lines()) == (names(100) if call != "take" else [])


@pytest.mark.parametrize("call", ["spill", "write", "take"])
def test_a_full_disk_loses_and_doubles_nothing_of_a_fifo(fifo: Fifo, call: str) -> None:
    disk = FaultyDisk()
    put(fifo, *names(8))
    taken, failures = [], 0
    for turn in range(16):
        disk.fail(turn % 4 + 1, torn=True)
        with disk.under(*CHANGES, "pread"):
            try:
                got = getattr(fifo, call)()
            except OSError:
                failures += 1
            else:
                if got is not None:
                    taken.append(got[1])
        assert taken + list(fifo.lines()) == names(8)
        assert len(fifo) == 8 - len(taken)
    assert failures > 0
    assert taken + take_all(fifo) == names(8)


# URLs set aside.


def test_without_any_url_set_aside(waiting: Waiting) -> None:
    backlogs = waiting.backlogs
    assert (len(backlogs), list(backlogs.lines()), list(backlogs.sites)) == (0, [], [])
    assert "http://a.test" not in backlogs.sites
    assert repr(backlogs) == "<Backlogs 0 URLs of 0 sites>"


@pytest.mark.parametrize("count", range(1, 9))
def test_urls_of_a_site_stay_in_their_order(waiting: Waiting, count: int) -> None:
    of: dict[str, list[str]] = {site: [] for site in "abc"}
    for _ in range(count):
        for site, urls in of.items():
            urls.append(waiting.put(site))
    assert repr(waiting.backlogs) == f"<Backlogs {3 * count} URLs of 3 sites>"
    assert Counter(waiting.backlogs.lines()) == Counter(names(3 * count))
    for site, urls in of.items():
        assert waiting.take_all(site) == urls
    assert len(waiting.backlogs) == 0
    assert repr(waiting.backlogs) == "<Backlogs 0 URLs of 0 sites>"


def test_urls_may_come_while_others_are_taken(waiting: Waiting) -> None:
    """In all three places: read, in blocks, and not written yet."""
    urls = []
    taken = []
    for _ in range(30):
        urls += [waiting.put("a") for _ in range(3)]
        taken += [waiting.backlogs.take("a")[1] for _ in range(2)]
        assert list(waiting.backlogs.lines()) == urls[len(taken) :]
        assert len(waiting.backlogs) == len(urls) - len(taken)
    assert taken + waiting.take_all("a") == urls


def test_a_line_written_again_is_owed_from_its_new_place_only(
    waiting: Waiting, blocks: Blocks
) -> None:
    waiting.put("a")
    [source] = blocks.cut()["open"]
    owed = blocks.cut()["open"][source].bit_count()
    waiting.put("a")
    assert blocks.cut()["open"][source].bit_count() == owed - 2
    assert list(waiting.backlogs.lines()) == names(2)
    # A rest that fills no block is not written.
    waiting.put("a")
    assert blocks.cut()["open"][source].bit_count() == owed - 2


def test_few_lines_wait_in_memory_however_many_sites_there_are(
    waiting: Waiting, blocks: Blocks
) -> None:
    """The oldest tails are written first, in blocks that are not full."""
    backlogs = waiting.backlogs
    for number in range(50):
        waiting.put(f"site{number}")
        assert len(backlogs._tails) <= 5
        assert backlogs._in_tails <= 550
    assert list(backlogs._tails) == [f"site{number}" for number in range(45, 50)]
    assert sum(len(site._unread) for site in backlogs._sites.values()) == 45
    assert len(backlogs) == 50
    assert [waiting.take_all(f"site{n}") for n in range(50)] == [[line] for line in names(50)]
    assert (backlogs._in_tails, len(backlogs._tails)) == (0, 0)


@sized(most_tails=10_000)
def test_few_bytes_wait_in_memory_however_long_the_lines_are(blocks: Blocks) -> None:
    """Writing one older short line for each new long one would not be enough."""
    lines = [f"short{number}" for number in range(90)]
    lines += [f"{number}{'long' * 100}" for number in range(90)]
    waiting = Waiting(blocks, lines)
    for number in range(180):
        waiting.put(f"site{number}")
        tails = [site.tail for site in waiting.backlogs._sites.values()]
        assert sum(100 + len(line) for tail in tails for _, line in tail) <= 10_000
    assert [waiting.take_all(f"site{n}") for n in range(180)] == [[line] for line in lines]
    assert (waiting.backlogs._in_tails, len(waiting.backlogs._tails)) == (0, 0)


@sized(most_tails=1)
def test_lines_left_in_memory_by_failed_writes_are_written_later(blocks: Blocks) -> None:
    """Also for a site with no other line that waits."""
    waiting = Waiting(blocks, names(20))
    disk = FaultyDisk()
    for number in range(10):
        disk.fail(1)
        with disk.under("pwrite"), pytest.raises(OSError):
            waiting.put(f"site{number}")
    for number in range(10, 20):
        waiting.put(f"site{number}")
    assert waiting.backlogs._in_tails == 0
    assert [waiting.take_all(f"site{n}") for n in range(20)] == [[line] for line in names(20)]


def test_the_numbers_of_blocks_that_were_read_are_forgotten(waiting: Waiting) -> None:
    for _ in range(40):
        waiting.put("a")
    site = waiting.backlogs._sites["a"]
    for left in range(39, 0, -1):
        waiting.backlogs.take("a")
        # There are two lines in each, and as many numbers again of blocks that were read.
        assert len(site._unread) <= left + 3


def test_a_resumed_run_has_all_lines_set_aside(
    waiting: Waiting, blocks: Blocks, tmp_path: Path
) -> None:
    for site in "aaaabbc":
        waiting.put(site)
    backlogs = waiting.backlogs
    blocks.leave(backlogs.take("a")[0])
    backlogs.take("b")
    again = Blocks(tmp_path, SMALL)
    later = Backlogs(again, "-")
    for position, queue, owed in again.load(blocks.cut()):
        if queue != "-":
            later.restore(queue[1:], position, owed)
    assert list(later.lines()) == names(6)[1:]
    assert [later.take(site)[1] for site in "aaabb"] == names(6)[1:]


@pytest.mark.parametrize("torn", [False, True])
def test_a_full_disk_loses_and_doubles_nothing_that_was_set_aside(
    waiting: Waiting, blocks: Blocks, torn: bool
) -> None:
    disk = FaultyDisk()
    failures = 0
    urls: dict[str, list[str]] = {site: [] for site in "abc"}
    for turn in range(30):
        site = "abc"[turn % 3]
        disk.fail(1, times=turn % 4, torn=torn)
        with disk.under("open", "pwrite"):
            line = f"line{turn}"
            try:
                assert waiting.put(site) == line
            except OSError:
                failures += 1
        urls[site].append(line)
        assert Counter(waiting.backlogs.lines()) == Counter(names(turn + 1))
        assert len(waiting.backlogs) == turn + 1
    assert failures > 3
    for site in "abc":
        assert waiting.take_all(site) == urls[site]
    assert repr(waiting.backlogs) == "<Backlogs 0 URLs of 0 sites>"


@sized(lines=1000, most_tails=10**9)
def test_a_disk_that_is_full_for_long_makes_no_block_too_large(blocks: Blocks) -> None:
    """The line has ten bits in a place."""
    fifo = Fifo(blocks, "-")
    put(fifo, *names(1500))
    fifo.write()
    backlogs = Backlogs(blocks, "-")
    for _ in range(1500):
        place, line = take(fifo)
        with FaultyDisk().under("pwrite") as disk:
            disk.fail(1)
            with suppress(OSError):
                backlogs.put("a", place, line)
    place, line = blocks.read(blocks.append("-", ["last"]))[0]
    backlogs.put("a", place, line)
    assert list(backlogs.lines()) == [*names(1500), "last"]
    assert [backlogs.take("a")[1] for _ in range(1501)] == [*names(1500), "last"]


def test_a_line_that_cannot_be_read_is_not_taken(waiting: Waiting) -> None:
    for _ in range(6):
        waiting.put("a")
    taken = []
    for nth in (1, 2, 1, 2, 1, 2):
        disk = FaultyDisk()
        disk.fail(nth)
        with disk.under(*READS):
            for _ in range(3):
                try:
                    taken.append(waiting.backlogs.take("a")[1])
                except OSError:
                    assert list(waiting.backlogs.lines()) == names(6)[len(taken) :]
                    break
    assert (taken + waiting.take_all("a")) == names(6)


@sized(site_lines=8)
def test_few_lines_are_kept_of_blocks_that_were_begun(waiting: Waiting) -> None:
    """However many sites have begun a block and not finished it."""
    sites = [f"site{number}" for number in range(30)]
    urls = {site: [waiting.put(site) for _ in range(8)] for site in sites}
    backlogs = waiting.backlogs
    taken: dict[str, list[str]] = {site: [] for site in sites}
    for _ in range(8):
        for site in sites:
            taken[site].append(backlogs.take(site)[1])
            assert sum(len(each.head) for each in backlogs._sites.values()) <= 8
        left = [line for site in sites for line in urls[site][len(taken[site]) :]]
        assert Counter(backlogs.lines()) == Counter(left)
    assert taken == urls
    assert len(backlogs._read) == 0


@sized(most_read=5000, line_cost=1)
def test_few_bytes_are_kept_of_blocks_that_were_begun(blocks: Blocks) -> None:
    lines = [f"{number}{'long' * 250}" for number in range(40)]
    waiting = Waiting(blocks, lines)
    for number in range(40):
        waiting.put(f"site{number // 2}")
    backlogs = waiting.backlogs
    for number in range(20):
        backlogs.take(f"site{number}")
        heads = [line for site in backlogs._sites.values() for _, line in site.head]
        assert sum(map(len, heads)) <= 5000
