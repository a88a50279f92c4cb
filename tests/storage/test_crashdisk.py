"""The disk with faults on demand: calls that it passes on, and files that it leaves."""

import errno
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from larbinpy.storage.files import LineFile, create, write_atomic
from tests.support.crashdisk import CrashDisk, Operation, PowerCut, crashes
from tests.support.platter import PAGE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (made / "old").write_bytes(b"old")
    return made


@pytest.fixture
def left(tmp_path: Path) -> Callable[..., dict[str, bytes]]:
    """The content of a disk after a power cut: bytes by path."""
    count = iter(range(10**9))

    def look(disk: CrashDisk, keep: str | Random) -> dict[str, bytes]:
        return content(disk.remains(tmp_path / f"left{next(count)}", keep))

    return look


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def write(path: Path, data: bytes, flags: int = os.O_CREAT, *, sync: bool = False) -> None:
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        os.write(fd, data)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def test_all_is_passed_on_and_remembered(folder: Path) -> None:
    outside = folder.parent / "outside"
    with CrashDisk(folder) as disk:
        write(folder / "a", b"12345")
        write(outside, b"of no interest")
        fd = os.open(folder, os.O_RDONLY)
        inner = os.open("a", os.O_RDWR, dir_fd=fd)
        os.ftruncate(inner, 2)
        os.pwrite(inner, b"x", 1)
        os.posix_fallocate(inner, 0, 4)
        os.fsync(inner)
        os.close(inner)
        os.rename("a", "b", src_dir_fd=fd, dst_dir_fd=fd)
        os.makedirs(folder / "c" / "d")
        os.replace(folder / "b", folder / "c" / "d" / "e")
        os.truncate(folder / "old", 1)
        os.unlink("old", dir_fd=fd)
        os.fsync(fd)
        os.close(fd)
        (folder / "c" / "d" / "e").unlink()
        (folder / "c" / "d").rmdir()
    assert [str(operation) for operation in disk.operations] == [
        "1 open a",
        "2 write a 5",
        "3 truncate a 2",
        "4 write a 1",
        "5 allocate a 4",
        "6 fsync a",
        "7 rename b",
        "8 mkdir c",
        "9 mkdir c/d",
        "10 rename c/d/e",
        "11 truncate old 1",
        "12 unlink old",
        "13 fsync .",
        "14 unlink c/d/e",
        "15 rmdir c/d",
    ]
    assert [path.name for path in folder.iterdir()] == ["c"]
    assert outside.read_bytes() == b"of no interest"


def test_afterwards_it_is_gone(folder: Path) -> None:
    functions = dict(vars(os))
    with CrashDisk(folder) as disk:
        assert os.open is not functions["open"]
        disk.cut(1)
        write(folder / "a", b"")
    assert disk.dark
    assert vars(os) == functions


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("none", {"old": b"old"}),
        ("all", {"old": b"old+", "new": b"new"}),
        ("names", {"old": b"old", "new": b""}),
        ("bytes", {"old": b"old+"}),
    ],
)
def test_unsynced_changes_may_be_lost(
    keep: str, expected: dict[str, bytes], folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    with CrashDisk(folder) as disk:
        write(folder / "old", b"+", os.O_APPEND)
        write(folder / "new", b"new")
    assert left(disk, keep) == expected
    assert content(folder) == {"old": b"old+", "new": b"new"}


def test_synced_changes_stay(folder: Path, left: Callable[..., dict[str, bytes]]) -> None:
    with CrashDisk(folder) as disk:
        write(folder / "new", b"new", sync=True)
        sync(folder)
        write(folder / "new", b"unseen", os.O_APPEND)
        (folder / "new").rename(folder / "other")
    assert left(disk, "none") == {"old": b"old", "new": b"new"}


def test_the_sync_of_a_file_does_not_save_its_name(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    for eager in (False, True):
        with CrashDisk(folder, eager_names=eager) as disk:
            os.mkdir(folder / f"{eager}")
            write(folder / f"{eager}" / "new", b"new", sync=True)
            write(folder / "later", b"")
        expected = {"True/new": b"new"} if eager else {}
        assert left(disk, "none") == {"old": b"old"} | expected
        (folder / "later").unlink()
        (folder / f"{eager}" / "new").unlink()


def test_a_rename_to_another_folder_is_one_change(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    with CrashDisk(folder) as disk:
        write(folder / "a" / "x", b"x", sync=True)
        (folder / "a" / "x").rename(folder / "b" / "x")
        write(folder / "b" / "y", b"y", sync=True)
    for seed in range(50):
        assert len(left(disk, Random(seed)).keys() & {"a/x", "b/x"}) <= 1
    with disk:
        sync(folder / "b")
    assert left(disk, "none") == {"old": b"old", "b/x": b"x", "b/y": b"y"}


def test_chance_finds_all_ways_to_tear(folder: Path, left: Callable[..., dict[str, bytes]]) -> None:
    before, after = b"a" * 3 * PAGE, b"b" * 3 * PAGE
    (folder / "old").write_bytes(before)
    with CrashDisk(folder) as disk:
        write(folder / "old", after)
        write(folder / "old", b"tail", os.O_APPEND)
    found = [left(disk, Random(seed))["old"] for seed in range(200)]
    assert before in found
    assert after + b"tail" in found
    bodies = {data[: 3 * PAGE] for data in found}
    # A page in the middle without its neighbours, and a tear within a page.
    assert before[:PAGE] + after[:PAGE] + before[:PAGE] in bodies
    assert any(data.count(b"b") % PAGE > 0 for data in bodies)
    tails = {data[3 * PAGE :] for data in found}
    assert {b"", b"tail"} < tails
    assert any(len(tail) == 4 and not b"tail".startswith(tail.rstrip(b"\0")) for tail in tails)
    again = [left(disk, Random(seed))["old"] for seed in range(200)]
    assert again == found


def test_chance_keeps_the_order_of_names(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    with CrashDisk(folder) as disk:
        for name in "abc":
            write(folder / name, b"")
    found = {"".join(sorted(left(disk, Random(seed)).keys() - {"old"})) for seed in range(50)}
    assert found == {"", "a", "ab", "abc"}


def test_pages_of_a_failed_fsync_are_lost_for_the_next(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    with CrashDisk(folder) as disk:
        fd = os.open(folder / "old", os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"-lost")
        disk.fail(1, "fsync", error=errno.EIO)
        with pytest.raises(OSError, match="old"):
            os.fsync(fd)
        os.write(fd, b"-kept")
        os.fsync(fd)
        os.close(fd)
    assert left(disk, "none")["old"] == b"old" + bytes(5) + b"-kept"
    assert content(folder)["old"] == b"old-lost-kept"


def test_operations_fail_on_demand(folder: Path) -> None:
    with CrashDisk(folder) as disk:
        disk.fail(2, "write", times=2)
        with closing(LineFile(folder / "lines")) as file:
            file.write(b"one\n")
            for _ in range(2):
                with pytest.raises(OSError) as caught:
                    file.write(b"two\n")
                assert caught.value.errno == errno.ENOSPC
                assert caught.value.filename == str(folder / "lines")
            file.write(b"three\n")
            disk.fail(1, error=errno.EIO, times=float("inf"))
            with pytest.raises(OSError, match="Input/output"):
                file.write(b"four\n")
            disk.heal()
            file.write(b"five\n")
    assert content(folder)["lines"] == b"one\nthree\nfive\n"


def test_a_disk_runs_full_within_a_write(folder: Path) -> None:
    with CrashDisk(folder) as disk:
        disk.fail(1, "write", short=3)
        fd = os.open(folder / "old", os.O_WRONLY | os.O_APPEND)
        assert os.write(fd, b"12345") == 3
        with pytest.raises(OSError, match="space"):
            os.write(fd, b"45")
        assert os.write(fd, b"45") == 2
        os.close(fd)
    assert content(folder)["old"] == b"old12345"


@pytest.mark.parametrize("after", [False, True])
def test_nothing_is_done_after_the_cut(after: bool, folder: Path) -> None:
    with CrashDisk(folder) as disk:
        disk.cut(2, "open", "write", after=after)
        fd = os.open(folder, os.O_RDONLY)
        try:
            # It unlinks the file that it made if anything fails.
            create("new", [b"1", b"2"], folder=fd)
        finally:
            os.close(fd)
    assert disk.dark
    assert content(folder) == {"old": b"old", "new": b"1" if after else b""}
    with disk, pytest.raises(PowerCut):
        write(folder / "new", b"")


def test_a_file_that_the_cut_opened_is_closed(folder: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with CrashDisk(folder) as disk:
        disk.cut(1, after=True)
        write(folder / "new", b"")
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("name", ["old", "new"])
def test_an_unseen_change_is_detected(name: str, folder: Path) -> None:
    with pytest.raises(AssertionError, match=f"'{name}'"), CrashDisk(folder):
        (folder / name).write_bytes(b"changed")
    with CrashDisk(folder, besides=["lock"]):
        (folder / "lock").write_bytes(b"changed")


def test_a_rename_out_of_the_folder_is_refused(folder: Path) -> None:
    with CrashDisk(folder), pytest.raises(AssertionError, match="leaves"):
        (folder / "old").rename(folder.parent / "elsewhere")


def test_descriptors_of_before_and_copies_are_known(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    fd = os.open(folder / "old", os.O_WRONLY | os.O_APPEND)
    with CrashDisk(folder) as disk:
        copy = os.dup(fd)
        os.write(copy, b"+")
        os.fsync(fd)
        os.close(copy)
        os.close(fd)
        # The same number, closed unseen by other code and reused for another file.
        opened = os.open(folder / "old", os.O_RDONLY)
        with open(opened, "rb"):
            pass
        outside = os.open(folder.parent / "outside", os.O_WRONLY | os.O_CREAT)
        assert outside == opened
        os.write(outside, b"")
        os.close(outside)
    assert left(disk, "none") == {"old": b"old+"}
    assert len(disk.operations) == 2


def test_a_whole_folder_can_be_synced(folder: Path, left: Callable[..., dict[str, bytes]]) -> None:
    with CrashDisk(folder) as disk:
        (folder / "sub").mkdir()
        write(folder / "sub" / "a", b"1")
        write(folder / "b", b"2")
        assert left(disk, "none") == {"old": b"old"}
        disk.cut(1, "syncfs")
        with pytest.raises(PowerCut):
            disk.sync_all("sub")
        assert left(disk, "none") == {"old": b"old"}
    with CrashDisk(folder) as disk:
        write(folder / "sub" / "a", b"3")
        write(folder / "b", b"4")
        disk.sync_all("sub")
        assert left(disk, "none") == {"old": b"old", "sub/a": b"3", "b": b"2"}


def test_each_operation_can_be_watched(folder: Path, left: Callable[..., dict[str, bytes]]) -> None:
    found = []

    def watch(operation: Operation) -> None:
        (folder.parent / "beside").write_bytes(b"of no interest")
        found.append((operation.kind, left(disk, "all").get("a")))

    with CrashDisk(folder) as disk:
        disk.watch = watch
        write(folder / "a", b"1", sync=True)
        with disk.away():
            assert os.open is not disk._open
        os.unlink(folder / "a")
    assert found == [("open", None), ("write", b""), ("fsync", b"1"), ("unlink", b"1")]


def test_a_file_that_was_shortened_may_be_left_so_or_not_page_by_page(
    folder: Path, left: Callable[..., dict[str, bytes]]
) -> None:
    (folder / "old").write_bytes(b"x" * 3 * PAGE)
    with CrashDisk(folder) as disk:
        os.truncate(folder / "old", PAGE // 2)
    sizes = {len(left(disk, Random(seed))["old"]) for seed in range(100)}
    assert sizes == {PAGE // 2, 3 * PAGE}


def careless(path: Path, data: bytes) -> None:
    """`write_atomic` without its first fsync."""
    write(path.with_suffix(".part"), data)
    path.with_suffix(".part").rename(path)
    sync(path.parent)


def forgetful(path: Path, data: bytes) -> None:
    """`write_atomic` without its last fsync."""
    write(path.with_suffix(".part"), data, sync=True)
    path.with_suffix(".part").rename(path)


@pytest.mark.parametrize(
    ("write", "whole", "durable"),
    [
        (lambda path, data: write_atomic(path, [data]), True, True),
        (careless, False, True),
        (forgetful, True, False),
    ],
)
def test_crashes_tell_good_code_from_bad(
    write: Callable[[Path, bytes], None], whole: bool, durable: bool, tmp_path: Path
) -> None:
    done: list[bool] = []

    def act(folder: Path) -> None:
        done.clear()
        write(folder / "state", b"new" * 1000)
        done.append(True)

    def prepare(folder: Path) -> None:
        (folder / "state").write_bytes(b"old")

    all_whole = all_durable = True
    labels = []
    for crash in crashes(act, tmp_path, prepare=prepare):
        labels.append(crash.label)
        state = (crash.folder / "state").read_bytes()
        all_whole &= state in (b"old", b"new" * 1000)
        all_durable &= not done or state != b"old"
    assert (all_whole, all_durable) == (whole, durable)
    assert len(labels) == len(set(labels))
    assert labels[0] in ("1 open state.part, none", "1 open .state.part, none")
    assert labels[-1] == "the end, seed 3"
    assert os.listdir(tmp_path) == []
