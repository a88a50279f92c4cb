import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.storage.blocks import Blocks
from larbinpy.storage.sizes import StoreSizes
from tests.support.faultydisk import CHANGES, FaultyDisk

LONG_HOST = "http://" + "a" * 5000


@pytest.fixture
def blocks(tmp_path: Path, sizes: StoreSizes) -> Iterator[Blocks]:
    opened = Blocks(tmp_path, sizes)
    yield opened
    opened.close()


@pytest.fixture
def sizes() -> StoreSizes:
    return StoreSizes()


def sized(**sizes: int) -> pytest.MarkDecorator:
    """A test with blocks of these sizes."""
    return pytest.mark.parametrize("sizes", [StoreSizes(**sizes)])


#: A file for every two blocks or so.
small = sized(file_size=40)


def lines(*numbers: int) -> list[str]:
    return [f"line {number}" for number in numbers]


def texts(read: list[tuple[int, str]]) -> list[str]:
    return [line for _, line in read]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def through_json(mark: Any) -> Any:
    return json.loads(json.dumps(mark))


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def load(
    folder: Path, mark: Any, sizes: StoreSizes | None = None
) -> tuple[Blocks, dict[int, list[str]]]:
    """The blocks at a cut, and by position the lines owed of each."""
    blocks = Blocks(folder, sizes or StoreSizes())
    found = list(blocks.load(through_json(mark)))
    owed = {position: blocks.owed(position) for position, _, _ in found}
    assert [len(owed[position]) for position, _, _ in found] == [n for _, _, n in found]
    return blocks, owed


# Places, leaving, finishing.


def test_a_block_is_read_as_it_was_written(blocks: Blocks) -> None:
    first = blocks.append("-", lines(1, 2, 3))
    second = blocks.append("+http://a.test", lines(4))
    assert texts(blocks.read(second)) == lines(4)
    assert texts(blocks.read(first)) == lines(1, 2, 3)
    assert blocks.owed(first) == lines(1, 2, 3)


def test_places_grow_and_none_is_zero(blocks: Blocks) -> None:
    positions = [blocks.append("-", lines(*range(count))) for count in (3, 1000, 1, 1000)]
    places = [place for position in positions for place, _ in blocks.read(position)]
    assert places[0] > 0
    assert places == sorted(set(places))
    assert len(places) == 2004


@small
def test_places_grow_from_file_to_file_and_after_a_load(blocks: Blocks, tmp_path: Path) -> None:
    positions = [blocks.append("-", lines(number)) for number in range(10)]
    assert len(files(tmp_path)) > 2
    again, _ = load(tmp_path, blocks.cut(), blocks.sizes)
    positions += [again.append("-", lines(number)) for number in range(10)]
    again.close()
    assert positions == sorted(set(positions))


def test_a_line_that_left_is_no_longer_owed(blocks: Blocks) -> None:
    position = blocks.append("-", lines(*range(5)))
    places = [place for place, _ in blocks.read(position)]
    for place in (places[1], places[4], places[0]):
        blocks.leave(place)
    assert blocks.owed(position) == lines(2, 3)
    assert blocks.read(position) == [(places[2], "line 2"), (places[3], "line 3")]


def test_a_block_is_open_from_its_reading_to_its_last_line(blocks: Blocks) -> None:
    position = blocks.append("-", lines(1, 2))
    assert position not in blocks._open
    assert blocks.owed(position) == lines(1, 2)
    assert position not in blocks._open, "to look is not to open"
    first, second = [place for place, _ in blocks.read(position)]
    assert position in blocks._open
    assert repr(blocks) == "<Blocks 1 in 1 files, 1 open>"
    blocks.leave(second)
    assert position in blocks._open
    blocks.leave(first)
    assert position not in blocks._open
    assert repr(blocks) == "<Blocks 0 in 1 files, 0 open>"


def test_all_lines_of_the_largest_block_leave_one_by_one(blocks: Blocks) -> None:
    neighbours = [blocks.append("-", lines(*range(1000))) for _ in range(3)]
    for position in neighbours:
        blocks.read(position)
    places = [place for place, _ in blocks.read(neighbours[1])]
    for place in places:
        blocks.leave(place)
    assert [position in blocks._open for position in neighbours] == [True, False, True]
    assert len(blocks.owed(neighbours[0])) == len(blocks.owed(neighbours[2])) == 1000


@pytest.mark.parametrize("site", ["http://a.test", "http://[::1]:8080", LONG_HOST])
def test_a_queue_is_named_by_any_site(blocks: Blocks, tmp_path: Path, site: str) -> None:
    """A URL has at most 8000 characters, and its host may take nearly all of them."""
    position = blocks.append(f"+{site}", [f"{site}/ 1 0 0 -"])
    blocks.append("-", lines(1))
    assert texts(blocks.read(position)) == [f"{site}/ 1 0 0 -"]
    again = Blocks(tmp_path)
    queues = [queue for _, queue, _ in again.load(blocks.cut())]
    assert queues == [f"+{site}", "-"]


# Files.


def test_no_file_is_made_before_the_first_block(blocks: Blocks, tmp_path: Path) -> None:
    mark = blocks.cut()
    blocks.sync()
    blocks.tidy(mark)
    assert mark == {"files": [], "open": {}}
    assert files(tmp_path) == []


@small
def test_a_new_file_is_begun_when_one_is_full(blocks: Blocks, tmp_path: Path) -> None:
    for number in range(6):
        blocks.append("-", lines(number))
    assert files(tmp_path) == ["urls.00000016", "urls.00000017", "urls.00000018"]
    mark = blocks.cut()
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert mark["files"] == [(number, size, "00") for number, size in enumerate(sizes, 16)]


def finish(blocks: Blocks, position: int) -> None:
    for place, _ in blocks.read(position):
        blocks.leave(place)


@small
def test_a_file_is_kept_while_the_committed_mark_names_it(blocks: Blocks, tmp_path: Path) -> None:
    positions = [blocks.append("-", lines(number)) for number in range(6)]
    committed = blocks.cut()
    for position in positions[:4]:
        finish(blocks, position)
    blocks.tidy(committed)
    assert len(files(tmp_path)) == 3
    # A cut that is not committed does not count.
    not_committed = blocks.cut()
    blocks.tidy(committed)
    assert len(files(tmp_path)) == 3
    again, owed = load(tmp_path, committed)
    assert list(owed.values()) == [lines(number) for number in range(6)]
    again.close()
    blocks.tidy(not_committed)
    assert files(tmp_path) == ["urls.00000018"]
    assert load(tmp_path, not_committed)[1] == {
        positions[4]: lines(4),
        positions[5]: lines(5),
    }


@small
def test_a_file_is_kept_while_one_of_its_lines_is_owed(blocks: Blocks, tmp_path: Path) -> None:
    positions = [blocks.append("-", lines(number, number)) for number in range(6)]
    for position in positions[1:]:
        finish(blocks, position)
    first, second = [place for place, _ in blocks.read(positions[0])]
    blocks.leave(first)
    mark = blocks.cut()
    blocks.tidy(mark)
    assert files(tmp_path) == ["urls.00000016", "urls.00000018"]
    assert [number for number, _, _ in mark["files"]] == [16, 18]
    blocks.leave(second)
    blocks.tidy(blocks.cut())
    assert files(tmp_path) == ["urls.00000018"]


def test_the_file_that_grows_stays(blocks: Blocks, tmp_path: Path) -> None:
    finish(blocks, blocks.append("-", lines(1)))
    mark = blocks.cut()
    blocks.tidy(mark)
    assert files(tmp_path) == ["urls.00000016"]
    position = blocks.append("-", lines(2))
    assert load(tmp_path, blocks.cut())[1] == {position: lines(2)}


@small
def test_files_begun_after_a_cut_survive_its_tidy(blocks: Blocks, tmp_path: Path) -> None:
    """Files begun between a cut and its commit are needed by the next one."""
    blocks.append("-", lines(1))
    mark = blocks.cut()
    later = [blocks.append("-", lines(number)) for number in range(5)]
    blocks.sync()
    blocks.tidy(mark)
    assert [texts(blocks.read(position)) for position in later] == [lines(n) for n in range(5)]


@small
def test_files_of_a_crawl_that_was_killed_are_deleted_or_written_anew(
    blocks: Blocks, tmp_path: Path
) -> None:
    blocks.append("-", lines(1))
    mark = blocks.cut()
    for number in range(8):
        blocks.append("-", lines(number))
    assert len(files(tmp_path)) > 3
    again, _ = load(tmp_path, mark, blocks.sizes)
    again.append("-", lines(2))
    position = again.append("-", lines(3))
    assert again.owed(position) == lines(3)
    after = again.cut()
    again.tidy(after)
    again.close()
    assert files(tmp_path) == [f"urls.{number:08d}" for number, _, _ in after["files"]]
    assert list(load(tmp_path, after)[1].values()) == [lines(1), lines(2), lines(3)]


@small
def test_clear_deletes_its_files_and_nothing_else(blocks: Blocks, tmp_path: Path) -> None:
    for number in range(6):
        blocks.append("-", lines(number))
    others = ["state.json", "urls.txt", "urls.1", "urls.x.00000001", "urls.0000000\u00b2"]
    for name in others:
        (tmp_path / name).write_text("not ours")
    Blocks(tmp_path).clear()
    Blocks(tmp_path).clear()
    assert files(tmp_path) == sorted(others)


# Cuts and loads.


def test_a_load_knows_what_was_unread_open_and_finished(blocks: Blocks, tmp_path: Path) -> None:
    finished, opened, unread = [blocks.append("-", lines(n, n + 1)) for n in (1, 3, 5)]
    finish(blocks, finished)
    place, _ = blocks.read(opened)[1]
    blocks.leave(place)
    mark = blocks.cut()
    assert mark["open"] == {opened: 0b01}
    assert mark["files"][0][2] == "01"
    again, owed = load(tmp_path, mark)
    assert owed == {opened: lines(3), unread: lines(5, 6)}
    assert again.cut() == mark


@sized(file_size=700)
def test_blocks_finish_in_any_order(blocks: Blocks, tmp_path: Path) -> None:
    left = {blocks.append("-", lines(number)): lines(number) for number in range(100)}
    assert len(files(tmp_path)) > 3
    for position in sorted(left, key=lambda position: position % 97)[:80]:
        finish(blocks, position)
        del left[position]
    again, owed = load(tmp_path, blocks.cut())
    assert owed == left
    assert again.cut() == blocks.cut()
    for position in left:
        finish(again, position)
    again.tidy(again.cut())
    assert len(files(tmp_path)) == 1


def test_later_changes_are_not_in_a_cut(blocks: Blocks, tmp_path: Path) -> None:
    first = blocks.append("-", lines(1, 2))
    places = [place for place, _ in blocks.read(first)]
    mark = blocks.cut()
    blocks.leave(places[0])
    blocks.append("-", lines(3))
    assert load(tmp_path, mark)[1] == {first: lines(1, 2)}


def test_a_torn_tail_is_ignored_and_cut_off_before_the_next_block(
    blocks: Blocks, tmp_path: Path
) -> None:
    first = blocks.append("-", lines(1))
    mark = blocks.cut()
    path = tmp_path / "urls.00000016"
    whole = path.read_bytes()
    for tail in (b"#", b"#3 4", b"\0" * 4096, whole, b"#1 7 00000000 -\nline 2\n"):
        path.write_bytes(whole + tail)
        before = everything(tmp_path)
        again, owed = load(tmp_path, mark)
        assert owed == {first: lines(1)}
        assert everything(tmp_path) == before, "a load changes nothing"
        second = again.append("-", lines(4))
        after = again.cut()
        again.close()
        assert path.stat().st_size == after["files"][0][1]
        assert load(tmp_path, after)[1] == {first: lines(1), second: lines(4)}


# Damage.


def spoilt(header: bytes) -> Iterator[bytes]:
    """A header with each of its bytes flipped in some way, one at a time."""
    for at in range(len(header)):
        for bit in range(8):
            wrong = bytearray(header)
            wrong[at] ^= 1 << bit
            yield bytes(wrong)


def read_all(folder: Path, mark: Any) -> list[tuple[str, list[str]]]:
    """The queue and lines of each block, as a crawl resumed at `mark` reads them."""
    blocks = Blocks(folder)
    found = list(blocks.load(through_json(mark)))
    read = [(queue, texts(blocks.read(position))) for position, queue, _ in found]
    assert [len(owed) for _, owed in read] == [owed for _, _, owed in found]
    return read


def test_every_flipped_bit_is_found_out(blocks: Blocks, tmp_path: Path) -> None:
    """Damage to header or text is found at the latest when the block is read."""
    blocks.append("-http://a.test", lines(1, 2))
    blocks.append("-", lines(3))
    mark = blocks.cut()
    path = tmp_path / "urls.00000016"
    whole = path.read_bytes()
    rightly = read_all(tmp_path, mark)
    assert rightly == [("-http://a.test", lines(1, 2)), ("-", lines(3))]
    for wrong in spoilt(whole):
        path.write_bytes(wrong)
        try:
            # Upper-case hexadecimal digits are accepted.
            assert read_all(tmp_path, mark) == rightly
            assert wrong.lower() == whole
        except (OSError, ValueError):
            pass


@pytest.mark.parametrize(
    "header",
    [
        b"#1 -27 00000000 -\n",
        b"#0 7 00000000 -\n",
        b"#-1 7 00000000 -\n",
        b"#5000 7000 00000000 -\n",
        b"#1 999999999999999999 00000000 -\n",
        b"#1 7 00000000 \n",
        b"#1 7 00000000\n",
        b"1 7 00000000 -\n",
        b"#1 7 0000000g -\n",
        b"#x 7 00000000 -\n",
        b"#" + b"1" * 10_000,
        b"\xff\xfe\n",
        b"\n",
    ],
)
def test_an_invalid_header_is_damage(blocks: Blocks, tmp_path: Path, header: bytes) -> None:
    blocks.append("-", lines(1))
    path = tmp_path / "urls.00000016"
    path.write_bytes(header + b"line 1\n")
    mark: Any = {"files": [[16, path.stat().st_size, "00"]], "open": {}}
    with pytest.raises(OSError, match="damaged"):
        list(Blocks(tmp_path).load(mark))


def test_a_block_that_is_damaged_later_is_an_error_and_opens_nothing(
    blocks: Blocks, tmp_path: Path
) -> None:
    position = blocks.append("-", lines(1))
    path = tmp_path / "urls.00000016"
    whole = path.read_bytes()
    for wrong in (b"", whole[:-1], whole.replace(b"7", b"7777777777777"), b"\0" * len(whole)):
        path.write_bytes(wrong)
        for use in (blocks.read, blocks.owed):
            with pytest.raises(OSError, match="damaged"):
                use(position)
        assert position not in blocks._open
    path.write_bytes(whole)
    assert texts(blocks.read(position)) == lines(1)


def marked(blocks: Blocks) -> Any:
    """A mark of two files with one open block, whose first line is no longer owed."""
    for number in range(3):
        blocks.append("-", lines(number, number + 1))
    position = blocks.append("-", lines(7, 8, 9))
    blocks.leave(blocks.read(position)[0][0])
    return through_json(blocks.cut())


@pytest.mark.parametrize(
    "change",
    [
        lambda mark: mark["files"].reverse(),
        lambda mark: mark["files"].append(mark["files"][-1]),
        lambda mark: mark["files"].append([99, 1]),
        lambda mark: mark["files"].append([-1, 0]),
        lambda mark: mark["files"].insert(0, [0, 0]),
        lambda mark: mark["files"][0].__setitem__(1, mark["files"][0][1] - 1),
        lambda mark: mark["files"][0].__setitem__(1, mark["files"][0][1] + 1),
        lambda mark: mark["files"][0].__setitem__(1, -1),
        lambda mark: mark["files"].clear(),
        lambda mark: mark["open"].update({"3": 1}),
        lambda mark: mark["open"].update({"x": 1}),
        lambda mark: mark["open"].update(dict.fromkeys(mark["open"], 0)),
        lambda mark: mark["open"].update(dict.fromkeys(mark["open"], 8)),
        lambda mark: mark["open"].update(dict.fromkeys(mark["open"], -1)),
        lambda mark: mark["files"][0].__setitem__(2, ""),
        lambda mark: mark["files"][0].__setitem__(2, "0000"),
        lambda mark: mark["files"][0].__setitem__(2, "04"),
        lambda mark: mark["files"][0].__setitem__(2, "x"),
        lambda mark: mark["files"][-1].__setitem__(2, "02"),
    ],
)
@small
def test_a_mark_that_does_not_fit_is_refused(
    blocks: Blocks, tmp_path: Path, change: Callable[[Any], object]
) -> None:
    mark = marked(blocks)
    assert len(mark["files"]) == 2 and len(mark["open"]) == 1
    assert len(load(tmp_path, mark)[1]) == 4
    change(mark)
    with pytest.raises((OSError, ValueError)):
        list(Blocks(tmp_path).load(mark))


@small
def test_a_file_that_is_short_or_missing_is_refused(blocks: Blocks, tmp_path: Path) -> None:
    mark = marked(blocks)
    for name in files(tmp_path):
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(ValueError, match=f"{name}: {len(whole) - 1} bytes of {len(whole)}"):
            load(tmp_path, mark)
        path.unlink()
        with pytest.raises(FileNotFoundError):
            load(tmp_path, mark)
        path.write_bytes(whole)
    assert len(load(tmp_path, mark)[1]) == 4


# Full disks.


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
@small
def test_a_failed_write_adds_no_block(
    blocks: Blocks, tmp_path: Path, loaded: bool, torn: bool
) -> None:
    """After a failure of any operation the blocks are unchanged, and the next try works."""
    written = {}
    for number in range(4):
        written[blocks.append("-", lines(number))] = lines(number)
    if loaded:
        blocks, _ = load(tmp_path, blocks.cut(), blocks.sizes)
    disk, failures = FaultyDisk(), 0
    for number in range(4, 16):
        nth = 1
        while True:
            before = repr(blocks)
            disk.fail(nth, torn=torn)
            with disk.under(*CHANGES):
                try:
                    position = blocks.append("-", lines(number))
                    break
                except OSError as error:
                    assert error.errno == errno.ENOSPC
                    assert repr(blocks).split(" in ")[0] == before.split(" in ")[0]
            assert {at: blocks.owed(at) for at in written} == written
            failures += 1
            nth += 1
        assert position > max(written)
        written[position] = lines(number)
    assert failures >= 12
    mark = blocks.cut()
    if loaded:
        blocks.close()
    assert load(tmp_path, mark)[1] == written


def test_a_write_in_pieces_is_whole(
    blocks: Blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: write(fd, data[:5], at))
    position = blocks.append("-", lines(1, 2))
    assert load(tmp_path, blocks.cut())[1] == {position: lines(1, 2)}


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
@small
def test_after_a_failed_sync_the_next_one_syncs_all(
    blocks: Blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """The next sync covers each file, and the folder with their names."""
    for number in range(6):
        blocks.append("-", lines(number))
    synced = []

    def fsync(fd: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        synced.append(name)
        if len(synced) == nth:
            synced[-1] = "none"
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="full"):
        blocks.sync()
    blocks.sync()
    assert {*synced} == {tmp_path.name, *files(tmp_path), "none"}
    synced.clear()
    blocks.append("-", lines(7))
    nth = 0
    blocks.sync()
    assert synced == [tmp_path.name, "urls.00000018", "urls.00000019"]


@small
def test_a_place_takes_no_more_memory_in_an_old_crawl(blocks: Blocks) -> None:
    positions = [blocks.append("-", lines(7)) for _ in range(60)]
    first, last = (blocks.read(position)[0][0] for position in (positions[0], positions[-1]))
    assert last > 2 * first
    assert sys.getsizeof(last) == sys.getsizeof(first)


@pytest.mark.parametrize(
    "wrong",
    [{"lines": 0}, {"lines": 1025}, {"site_lines": 1025}, {"file_size": 0}, {"file_size": 2**26}],
    ids=str,
)
def test_sizes_too_large_for_a_place_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="a block"):
        StoreSizes(**wrong)
