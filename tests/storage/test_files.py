"""Files that are whole or absent."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.storage.files import (
    AppendFile,
    LineFile,
    Reserve,
    create,
    enter_folder,
    make_folder,
    open_folder,
    write_atomic,
)
from tests.support.crashdisk import CrashDisk
from tests.support.faultydisk import FaultyDisk
from tests.support.smallfiles import small_files


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = open_folder(tmp_path)
    yield fd
    os.close(fd)


def test_write_atomic_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomic(path, [b"a long first version"])
    write_atomic(path, iter([b"short", b"", b"er"]))
    assert path.read_bytes() == b"shorter"
    assert os.listdir(tmp_path) == ["state"]


def test_write_atomic_on_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomic(path, [b"old"])
    with small_files(100_000), pytest.raises(OSError) as caught:
        write_atomic(path, [b"x" * 60_000, b"y" * 60_000])
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state"]


def test_write_atomic_passes_on_what_the_chunks_raise(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"one"
        raise RuntimeError("two")

    with pytest.raises(RuntimeError, match="two"):
        write_atomic(tmp_path / "state", chunks())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_write_atomic_leaves_nothing_when_a_step_fails(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "refused")

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(OSError, match="refused"):
        write_atomic(tmp_path / "state", [b"new"])
    assert os.listdir(tmp_path) == []


def test_write_atomic_syncs_before_it_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    for name in ("fsync", "rename"):
        call = getattr(os, name)

        def noted(*args: Any, name: str = name, call: Any = call, **kwargs: Any) -> None:
            steps.append(name)
            call(*args, **kwargs)

        monkeypatch.setattr(os, name, noted)
    write_atomic(tmp_path / "state", [b"new"])
    assert steps == ["fsync", "rename", "fsync"]


def test_create_takes_the_place_of_a_leftover_and_not_of_what_it_links_to(
    tmp_path: Path, folder: int
) -> None:
    (tmp_path / "victim").write_bytes(b"untouched")
    (tmp_path / "part").symlink_to("victim")
    create("part", [b"new"], folder=folder)
    assert (tmp_path / "victim").read_bytes() == b"untouched"
    assert not (tmp_path / "part").is_symlink()
    assert (tmp_path / "part").read_bytes() == b"new"


def test_enter_folder_makes_it_and_refuses_anything_else(tmp_path: Path, folder: int) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path)
    assert enter_folder(folder, "file") is None
    assert enter_folder(folder, "link") is None
    for _ in range(2):
        fd = enter_folder(folder, "new")
        assert fd is not None
        os.close(fd)
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (b"", b""),
        (b"one\n", b"one\n"),
        (b"one\ntw", b"one\n"),
        (b"on", b""),
        (b"one\n" + b"x" * 200_000, b"one\n"),
        (b"x" * 65_535 + b"\n" + b"y" * 65_536, b"x" * 65_535 + b"\n"),
        (b"x" * 200_000, b""),
    ],
)
def test_a_torn_last_line_is_cut_off(found: bytes, kept: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(found)
    file = LineFile(path)
    file.write(b"new\n")
    assert list(file.lines())[-1] == b"new\n"
    file.close()
    assert path.read_bytes() == kept + b"new\n"


def test_lines_are_written_all_or_none(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.write(b"first\n")
    with small_files(100_000), pytest.raises(OSError, match="large"):
        file.write(b"x" * 99_998 + b"\n" + b"last\n")
    assert (tmp_path / "lines").read_bytes() == b"first\n"
    file.write(b"second\n")
    file.close()
    assert (tmp_path / "lines").read_bytes() == b"first\nsecond\n"


def test_after_a_failed_sync_the_end_is_written_again(tmp_path: Path) -> None:
    """After each failure, and nothing before the end is written."""
    (tmp_path / "lines").write_bytes(b"old\n" * 1000)
    with CrashDisk(tmp_path) as disk:
        file = LineFile(tmp_path / "lines")
        for number, times in enumerate((1, 2, 0)):
            file.write(b"%d\n" % number * 100)
            disk.fail(1, "fsync", times=times, error=errno.EIO)
            for _ in range(times):
                with pytest.raises(OSError, match="Input/output"):
                    file.sync()
                file.write(b"%d again\n" % number)
            file.sync()
            left = disk.remains(tmp_path.parent / f"{tmp_path.name}-{number}", "none")
            assert (left / "lines").read_bytes() == (tmp_path / "lines").read_bytes()
        assert max(operation.size for operation in disk.operations) < 500
        file.close()
    assert len((tmp_path / "lines").read_bytes()) == 4000 + 600 + 3 * len("0 again\n")


def test_after_a_cut_the_new_end_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"old\n" * 2)
    with CrashDisk(tmp_path) as disk:
        file = LineFile(tmp_path / "lines")
        file.cut_to(4)
        file.write(b"new\n")
        disk.fail(1, "fsync")
        with pytest.raises(OSError, match="No space"):
            file.sync()
        file.sync()
        left = disk.remains(tmp_path.parent / f"{tmp_path.name}-left", "none")
        assert (left / "lines").read_bytes() == b"old\nnew\n"
        file.close()


def test_a_file_of_lines_has_one_writer(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    with pytest.raises(BlockingIOError, match="another crawl"):
        LineFile(tmp_path / "lines")
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(BlockingIOError) as caught:
        LineFile("lines", folder=fd)
    assert caught.value.filename == str(tmp_path / "lines")
    os.close(fd)
    file.close()
    LineFile(tmp_path / "lines").close()


def test_inside_a_folder_a_link_is_not_followed(tmp_path: Path, folder: int) -> None:
    (tmp_path / "victim").write_bytes(b"no newline")
    (tmp_path / "lines").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"):
        LineFile("lines", folder=folder)
    assert (tmp_path / "victim").read_bytes() == b"no newline"


def test_a_reserve_takes_room_and_gives_it_back(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    reserve = Reserve(path, 100_000)
    assert path.stat().st_blocks * 512 >= 100_000
    reserve.release()
    reserve.release()
    assert not path.exists()


def test_a_reserve_left_by_a_kill_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    Reserve(path, 1000)
    Reserve(path, 100_000).release()
    assert not path.exists()


def test_there_may_be_no_room_for_a_reserve(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    for reserve in (Reserve(path, 1 << 60), Reserve(tmp_path / "missing" / "reserve")):
        reserve.release()
    assert not path.exists()


def test_a_folder_is_made_durably_with_its_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    make_folder(tmp_path / "a" / "b")
    assert len(synced) == 3
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "below")


def test_the_size_of_a_file_is_that_of_its_whole_lines(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "lines")
    file.write(b"one\n")
    with FaultyDisk().under("write", "ftruncate") as disk:
        disk.fail(1, times=2, torn=True)
        with pytest.raises(OSError, match="No space"):
            file.write(b"two\n")
        assert file.size == 4
    file.write(b"three\n")
    assert list(file.lines()) == [b"one\n", b"three\n"]
    file.close()


def test_a_file_of_pieces_is_not_cut_where_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "pieces").write_bytes(b"one\ntwo")
    file = AppendFile(tmp_path / "pieces")
    file.write(b"three")
    assert file.size == 12
    file.cut_to(4)
    file.close()
    assert (tmp_path / "pieces").read_bytes() == b"one\n"
