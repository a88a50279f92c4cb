import errno
import json
import os
import random
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.storage.fingerprint_table import FingerprintTable
from larbinpy.storage.seen import Seen, UnsavedSeen
from larbinpy.storage.sizes import SeenSizes, TableSizes

TOP = 2**64 - 1
PRINTS = st.integers(0, 20) | st.integers(TOP - 20, TOP) | st.integers(0, TOP)
BATCHES = st.lists(st.lists(PRINTS, max_size=20), max_size=20)
#: Sizes with which a handful of fingerprints has the effects of millions.
SMALL = SeenSizes(
    batch=4,
    waiting=3,
    image_after=6,
    piece=64,
    write_back=128,
    cut_off=100,
    table=TableSizes(region_bits=2, width=1, tail=2, growth=1),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def commit(seen: Seen) -> Any:
    """Make a checkpoint; the mark as it is read from the manifest."""
    mark = json.loads(json.dumps(seen.cut()))
    seen.sync()
    seen.tidy(mark)
    return mark


def load(folder: Path, mark: Any, name: str = "seen") -> Seen:
    seen = Seen(folder, name, SMALL)
    seen.load(mark)
    return seen


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make_image(seen: Seen) -> Any:
    """Make steps and checkpoints until the state has an image; the mark."""
    while (mark := commit(seen))["table"] is None:
        seen.step()
    while seen._files.removing:
        seen.step()
    return mark


def with_image(
    folder: Path, prints: Iterable[int] = range(1, 30), later: Iterable[int] = range(30, 34)
) -> tuple[Seen, Any]:
    """A state that is an image and a log, committed."""
    seen = Seen(folder, "seen", SMALL)
    seen.add(prints)
    make_image(seen)
    seen.add(later)
    mark = commit(seen)
    assert mark["table"] and mark["log"]
    return seen, mark


class TestSet:
    @given(BATCHES)
    def test_each_fingerprint_is_new_once(self, batches: list[list[int]]) -> None:
        seen, model = Seen(Path("none"), "seen", SMALL), set()
        for batch in batches:
            for fingerprint, is_new in zip(batch, seen.add(batch), strict=True):
                assert is_new == (fingerprint not in model)
                model.add(fingerprint)
                assert fingerprint in seen
        assert len(seen) == len(model)

    def test_the_same_twice_in_a_batch_is_new_once(self, folder: Path) -> None:
        assert Seen(folder, "seen").add([1, 2, 1]) == [True, True, False]

    def test_a_batch_is_any_iterable(self, folder: Path) -> None:
        assert Seen(folder, "seen").add(iter(range(3000))) == [True] * 3000

    def test_no_file_before_the_first_cut(self, folder: Path) -> None:
        seen = Seen(folder / "not there", "seen")
        seen.add([1, 2])
        seen.step()
        assert not (folder / "not there").exists()

    def test_many_at_once_grow_it(self, folder: Path) -> None:
        seen = Seen(folder, "seen")
        prints = array("Q", random.Random(1).randbytes(8 * 100_000))
        assert all(seen.add(prints))
        assert not any(seen.add(prints))
        assert not seen._table.crowded

    def test_repr(self, folder: Path) -> None:
        seen = Seen(folder, "seen")
        seen.add([1, 2])
        assert repr(seen) == "<Seen seen: 2 URLs, 2 not written>"
        seen.cut()
        assert repr(seen) == "<Seen seen: 2 URLs, 0 not written>"


class Disk:
    """After a power cut it has the bytes that were synced, under the names that were synced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: dict[str, bytes] = {}
        self.names: set[str] = set()

    def __call__(self, fd: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        if path == self.folder:
            self.names = set(files(path))
        else:
            self.contents[path.name] = path.read_bytes()

    def cut_power(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()
        for name in self.names:
            (self.folder / name).write_bytes(self.contents.get(name, b""))


class Crawl:
    """A `Seen`, the set that it must equal, and that set at the last commit."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder, self.disk = folder, disk
        self.seen = Seen(folder, "seen", SMALL)
        self.mark: Any = None
        self.now: set[int] = set()
        self.then: set[int] = set()

    def add(self, batch: list[int]) -> None:
        assert self.seen.add(batch) == [
            f not in self.now and f not in batch[:k] for k, f in enumerate(batch)
        ]
        self.now.update(batch)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.seen.step()

    def commit(self, tidy: bool) -> None:
        self.mark, self.then = json.loads(json.dumps(self.seen.cut())), set(self.now)
        self.seen.sync()
        if tidy:
            self.seen.tidy(self.mark)

    def die(self, cut: bool, power: bool) -> None:
        if cut:
            self.seen.cut()
        if power:
            self.disk.cut_power()
        self.resume()

    def resume(self) -> None:
        self.seen = Seen(self.folder, "seen", SMALL)
        if self.mark is None:
            self.seen.clear()
        else:
            for path in self.folder.glob("*.log"):
                with path.open("ab") as file:
                    file.write(b"torn")
            self.seen.load(self.mark)
        self.now = set(self.then)
        self.check()

    def check(self) -> None:
        assert len(self.seen) == len(self.now)
        assert all(f in self.seen for f in self.now)
        absent = [f for f in (*range(21), TOP, TOP - 1) if f not in self.now]
        assert not any(f in self.seen for f in absent)

    def end(self) -> None:
        """No file is left that the last commit does not name."""
        self.check()
        self.steps(100)
        self.commit(tidy=True)
        self.steps(100)
        self.commit(tidy=True)
        self.steps(100)
        if self.seen._images.extents == [self.mark["table"]] * bool(self.mark["table"]):
            names = {f"seen.{extent['number']:06}.log" for extent in self.mark["log"]}
            if self.mark["table"]:
                names.add(f"seen.{self.mark['table']['number']:06}.table")
            assert set(files(self.folder)) == names
        self.resume()


ACTIONS = st.lists(
    st.tuples(st.just(Crawl.add), st.lists(PRINTS, max_size=20))
    | st.tuples(st.just(Crawl.steps), st.integers(1, 12))
    | st.tuples(st.just(Crawl.commit), st.booleans())
    | st.tuples(st.just(Crawl.die), st.booleans(), st.booleans()),
    max_size=30,
)


@given(ACTIONS)
def test_death_at_any_moment_leaves_the_last_commit(actions: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        disk = Disk(Path(name).resolve())
        patch.setattr(os, "fsync", disk)
        crawl = Crawl(disk.folder, disk)
        for method, *values in actions:
            method(crawl, *values)
        crawl.end()


class TestFiles:
    def test_a_cut_appends_what_is_new(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1, 2, TOP])
        first = commit(seen)
        seen.add([2, 4])
        second = commit(seen)
        assert files(folder) == ["seen.000001.log"]
        data = (folder / "seen.000001.log").read_bytes()
        assert list(array("Q", data)) == [1, 2, TOP, 4]
        assert [m["log"][0]["length"] for m in (first, second)] == [24, 32]
        assert commit(seen) == second

    def test_nothing_seen_is_a_state(self, folder: Path) -> None:
        mark = commit(Seen(folder, "seen", SMALL))
        assert files(folder) == []
        assert load(folder, mark).add([1]) == [True]

    def test_a_loaded_state_goes_on(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([5, 6])
        loaded = load(folder, commit(seen))
        assert loaded.add([5, 6, 7]) == [False, False, True]
        again = load(folder, commit(loaded))
        assert len(again) == 3 and 7 in again

    def test_bytes_of_a_later_cut_are_cut_off(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1])
        mark = commit(seen)
        seen.add([2, 3])
        seen.cut()
        loaded = load(folder, mark)
        assert 1 in loaded and 2 not in loaded
        assert (folder / "seen.000001.log").stat().st_size == 8
        loaded.add([9])
        assert list(array("Q", (folder / "seen.000001.log").read_bytes())) == [1]
        assert len(load(folder, commit(loaded))) == 2

    def test_an_image_takes_the_place_of_the_log_before_it(self, folder: Path) -> None:
        _, mark = with_image(folder)
        assert files(folder) == ["seen.000002.log", "seen.000003.table"]
        loaded = load(folder, mark)
        assert len(loaded) == 33
        assert loaded.add(range(1, 36)) == [False] * 33 + [True] * 2

    def test_an_image_is_begun_again_when_there_are_more(self, folder: Path) -> None:
        _, mark = with_image(folder)
        loaded = load(folder, mark)
        loaded.add(range(40, 60))
        for _ in range(50):
            loaded.step()
        commit(loaded)
        assert commit(loaded)["table"]["number"] > mark["table"]["number"]

    def test_an_image_under_way_is_not_in_the_state(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 30))
        commit(seen)
        for _ in range(3):
            seen.step()
        assert "seen.000003.table" in files(folder)
        seen.add([40])
        mark = commit(seen)
        assert mark["table"] is None
        assert len(load(folder, mark)) == 30

    def test_the_next_run_takes_new_numbers_and_removes_the_old(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 6))
        mark = commit(seen)
        seen.add(range(6, 30))
        for _ in range(5):
            seen.step()
        assert len(files(folder)) == 2
        (folder / "seen.000009.table").write_bytes(b"x")
        loaded = load(folder, mark)
        loaded.add(range(50, 70))
        loaded.step()
        assert "seen.000011.table" in files(folder)
        commit(loaded)
        for _ in range(10):
            loaded.step()
        names = {"seen.000001.log", "seen.000010.log", "seen.000011.table"}
        assert set(files(folder)) <= names

    def test_a_fingerprint_added_while_an_image_is_made_counts_once(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 30))
        while commit(seen)["table"] is None:
            seen.step()
            seen.add([len(seen) + 1])
        assert len(load(folder, commit(seen))) == len(seen) > 32

    def test_a_table_that_fills_too_fast_is_not_kept_from_growing(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 10))
        seen.step()
        assert seen._images.writing
        seen.add(range(10, 300))
        assert seen._images.extents == []
        assert not seen._table.crowded
        seen.step()
        assert len(load(folder, commit(seen))) == 299

    def test_other_names_and_files_are_left_alone(self, folder: Path) -> None:
        (folder / "seen.txt").write_bytes(b"")
        (folder / "seen.000001.log.gz").write_bytes(b"")
        other = Seen(folder, "digests", SMALL)
        other.add([1])
        commit(other)
        seen, _ = with_image(folder)
        before = files(folder)
        seen.clear()
        assert set(before) - set(files(folder)) == {"seen.000002.log", "seen.000003.table"}

    def test_large_files_are_removed_in_steps(self, folder: Path) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1])
        mark = commit(seen)
        stray = folder / "seen.000005.table"
        stray.write_bytes(bytes(250))
        loaded = load(folder, mark)
        loaded.tidy(mark)
        sizes = []
        while stray.exists():
            sizes.append(stray.stat().st_size)
            loaded.step()
        assert sizes == [250, 150, 50]

    def test_sync_syncs_what_is_new(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced = []
        fsync = os.fsync

        def record(fd: int) -> None:
            synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
            fsync(fd)

        monkeypatch.setattr(os, "fsync", record)
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 30))
        seen.cut()
        seen.sync()
        assert synced == ["seen.000001.log", folder.name]
        seen.sync()
        assert len(synced) == 2
        make_image(seen)
        assert synced[2:] == [folder.name, "seen.000003.table"]
        seen.add([90])
        seen.cut()
        seen.sync()
        assert synced[4:] == ["seen.000002.log", folder.name]


class TestDamage:
    @pytest.mark.parametrize("kind", ["log", "table"])
    @pytest.mark.parametrize("seed", range(8))
    def test_a_flipped_bit_is_refused(self, folder: Path, kind: str, seed: int) -> None:
        _, mark = with_image(folder)
        [path] = folder.glob(f"*.{kind}")
        data = bytearray(path.read_bytes())
        rng = random.Random(seed)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"not what was written|not a table|shorter"):
            load(folder, mark)

    @pytest.mark.parametrize("kind", ["log", "table"])
    @pytest.mark.parametrize("lost", [1, 8, 20])
    def test_a_file_that_is_too_short_is_refused(self, folder: Path, kind: str, lost: int) -> None:
        _, mark = with_image(folder)
        [path] = folder.glob(f"*.{kind}")
        path.write_bytes(path.read_bytes()[:-lost])
        with pytest.raises(ValueError, match="bytes of"):
            load(folder, mark)

    @pytest.mark.parametrize("kind", ["log", "table"])
    def test_a_missing_file_is_refused(self, folder: Path, kind: str) -> None:
        _, mark = with_image(folder)
        [path] = folder.glob(f"*.{kind}")
        path.unlink()
        with pytest.raises(FileNotFoundError):
            load(folder, mark)

    @pytest.mark.parametrize("length", [-8, -1, 3, 31, 10**6, 10**18])
    @pytest.mark.parametrize("kind", ["log", "table"])
    def test_a_wrong_length_is_refused(self, folder: Path, kind: str, length: int) -> None:
        _, mark = with_image(folder)
        (mark["table"] if kind == "table" else mark["log"][0])["length"] = length
        with pytest.raises(ValueError, match=r"."):
            load(folder, mark)


class Fault:
    """Passes `budget` bytes on to the disk, then reports that it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.budget = 10**9
        self.write = getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, fd: int, data: bytes, *where: int) -> int:
        room = min(self.budget, len(data))
        self.budget -= room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written: int = self.write(fd, data[:room], *where)
        return written


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        yield


class TestFaults:
    @pytest.mark.parametrize("room", [0, 1, 8, 30])
    def test_a_cut_may_be_made_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
    ) -> None:
        disk = Fault(monkeypatch, "pwrite")
        seen = Seen(folder, "seen", SMALL)
        seen.add([1, 2])
        before = commit(seen)
        seen.add(range(3, 9))
        disk.budget = room
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                seen.cut()
            assert (folder / "seen.000001.log").stat().st_size == 16
        assert seen.add([3, 9]) == [False, True]
        disk.budget = 10**9
        after = commit(seen)
        assert len(load(folder, after)) == 9
        assert len(load(folder, before)) == 2

    def test_the_first_cut_may_be_made_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = Fault(monkeypatch, "pwrite")
        seen = Seen(folder, "seen", SMALL)
        seen.add([1, 2])
        disk.budget = 3
        with pytest.raises(OSError, match="No space"):
            seen.cut()
        assert Seen(folder, "seen", SMALL)._files.found() == ["seen.000001.log"]
        disk.budget = 10**9
        assert len(load(folder, commit(seen))) == 2

    @pytest.mark.parametrize("room", range(0, 290, 23))
    def test_an_image_is_given_up_and_made_later(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
    ) -> None:
        disk = Fault(monkeypatch, "pwrite")
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 30))
        mark = commit(seen)
        disk.budget = room
        failed = 0
        for _ in range(40):
            try:
                seen.step()
            except OSError:
                failed += 1
        assert failed == 1
        assert files(folder) == ["seen.000001.log"]
        disk.budget = 10**9
        assert commit(seen)["table"] is None
        assert len(load(folder, mark)) == 29
        seen.add(range(30, 60))
        for _ in range(40):
            seen.step()
        last = make_image(seen)
        assert len(load(folder, last)) == 59

    def test_after_a_failed_step_a_later_one_writes(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = Fault(monkeypatch, "pwrite")
        seen = Seen(folder, "seen", SMALL)
        disk.budget = 10
        seen.add([1, 2, 3, 4])
        with pytest.raises(OSError, match="No space"):
            seen.step()
        disk.budget = 10**9
        seen.step()
        assert len(load(folder, commit(seen))) == 4

    def test_after_a_failed_sync_the_log_is_written_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1, 2])
        commit(seen)
        seen.add([3])
        mark = seen.cut()
        written = []
        pwrite = os.pwrite

        def record(fd: int, data: bytes, offset: int) -> int:
            written.append((bytes(data), offset))
            return pwrite(fd, data, offset)

        monkeypatch.setattr(os, "pwrite", record)
        with failing(monkeypatch, "fsync"), pytest.raises(OSError, match="Input"):
            seen.sync()
        assert not written
        seen.sync()
        assert written == [(array("Q", [3]).tobytes(), 16)]
        seen.sync()
        assert len(written) == 1
        assert len(load(folder, mark)) == 3

    def test_a_folder_that_was_not_synced_is_tried_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1])
        seen.cut()
        fsync, calls = os.fsync, []

        def second_fails(fd: int) -> None:
            calls.append(fd)
            if len(calls) == 2:
                raise OSError(errno.EIO, "Input/output error")
            fsync(fd)

        monkeypatch.setattr(os, "fsync", second_fails)
        with pytest.raises(OSError, match="Input"):
            seen.sync()
        seen.sync()
        seen.sync()
        assert len(calls) == 3

    def test_an_image_that_cannot_be_synced_is_given_up(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add(range(1, 30))
        commit(seen)
        for _ in range(50):
            seen.step()
        with failing(monkeypatch, "fsync"), pytest.raises(OSError, match="Input"):
            seen.sync()
        for _ in range(50):
            seen.step()
        mark = commit(seen)
        assert mark["table"] is None
        assert files(folder) == ["seen.000001.log"]
        assert len(load(folder, mark)) == 29
        seen.add(range(30, 60))
        assert len(load(folder, make_image(seen))) == 59

    @pytest.mark.parametrize("name", ["unlink", "truncate"])
    def test_a_failed_removal_is_tried_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        seen = Seen(folder, "seen", SMALL)
        seen.add([1])
        mark = commit(seen)
        for number in (5, 6):
            (folder / f"seen.00000{number}.table").write_bytes(bytes(90 * number))
        loaded = load(folder, mark)
        with failing(monkeypatch, name):
            for _ in range(5):
                with suppress(OSError):
                    loaded.tidy(mark)
                    loaded.step()
        for _ in range(20):
            loaded.step()
        assert files(folder) == ["seen.000001.log"]


@pytest.mark.slow
def test_without_memory_to_grow_nothing_is_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow(table: FingerprintTable) -> None:
        raise MemoryError

    seen = Seen(folder, "seen")
    prints = random.Random(5)
    numbers = [prints.getrandbits(64) for _ in range(40_000)]
    with monkeypatch.context() as patch:
        patch.setattr(FingerprintTable, "grow", grow)
        assert all(seen.add(numbers[:35_000]))
        assert not any(seen.add(numbers[:35_000]))
    assert all(seen.add(numbers[35_000:]))
    assert not any(seen.add(numbers))


def test_a_set_that_is_kept_elsewhere_writes_nothing(folder: Path) -> None:
    seen = UnsavedSeen(folder, "seen", SMALL)
    for number in range(100):
        assert seen.add([number, number]) == [True, False]
        seen.step()
    assert all(number in seen for number in range(100))
    assert 100 not in seen
    assert not list(folder.iterdir())
    assert "0 not written" in repr(seen)
