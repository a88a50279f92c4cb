"""Save mode: Larbin's numbered files and their index."""

import errno
import os
from pathlib import Path

import pytest
from smallfiles import small_files

from larbinpy.outcome import Outcome
from larbinpy.output import save
from larbinpy.output.save import SaveOutput
from larbinpy.page import Page
from larbinpy.url import Url


def page(number: int, body: bytes | None = None) -> Page:
    body = b"page %d" % number if body is None else body
    return Page(Url(f"http://h/{number}", 1), Outcome.SUCCESS, 200, body=body)


def put(root: Path, *numbers: int) -> None:
    output = SaveOutput(root)
    for number in numbers:
        output.loaded(page(number))
    output.close()


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def three_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save, "FILES_PER_FOLDER", 3)


def test_files_and_index(tmp_path: Path) -> None:
    put(tmp_path / "save", 7, 8)
    assert files(tmp_path / "save") == {
        "d00000/index": b"0 http://h/7\n1 http://h/8\n",
        "d00000/f00000": b"page 7",
        "d00000/f00001": b"page 8",
    }


def test_two_thousand_files_a_folder(tmp_path: Path) -> None:
    output = SaveOutput(tmp_path)
    for number in range(2001):
        output.loaded(page(number, b""))
    output.close()
    assert sorted(os.listdir(tmp_path)) == ["d00000", "d00001"]
    assert len(os.listdir(tmp_path / "d00000")) == 2001
    assert (tmp_path / "d00000/index").read_text().splitlines()[1999] == "1999 http://h/1999"
    assert (tmp_path / "d00001/index").read_text() == "0 http://h/2000\n"


def test_numbering_goes_on_after_a_restart(tmp_path: Path, three_a_folder: None) -> None:
    for start in range(0, 8, 2):
        put(tmp_path, start, start + 1)
    found = files(tmp_path)
    for number in range(8):
        assert found[f"d0000{number // 3}/f0000{number % 3}"] == b"page %d" % number
    assert found["d00001/index"] == b"0 http://h/3\n1 http://h/4\n2 http://h/5\n"
    assert len(found) == 8 + 3


def test_a_page_without_its_line_gives_its_number_to_the_next(tmp_path: Path) -> None:
    put(tmp_path, 0)
    (tmp_path / "d00000/f00001").write_bytes(b"killed before its line")
    with (tmp_path / "d00000/index").open("ab") as index:
        index.write(b"1 http://h/tor")
    (tmp_path / "d00000/.part").write_bytes(b"killed before its na")
    put(tmp_path, 1)
    assert files(tmp_path) == {
        "d00000/index": b"0 http://h/0\n1 http://h/1\n",
        "d00000/f00000": b"page 0",
        "d00000/f00001": b"page 1",
    }


def test_a_folder_written_by_larbin_is_continued(tmp_path: Path) -> None:
    (tmp_path / "d00004").mkdir()
    (tmp_path / "d00004/index").write_bytes(b"   0 http://x/\n   1 http://y/\n")
    put(tmp_path, 5)
    assert (tmp_path / "d00004/f00002").read_bytes() == b"page 5"


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in ("d00001", "d00002"):
        (tmp_path / name).mkdir()
    (tmp_path / "d00001/f00000").write_bytes(b"no index")
    (tmp_path / "d00002/index").write_bytes(b"<html>\n")
    (tmp_path / "d00003").symlink_to(tmp_path / "d00001")
    (tmp_path / "d00004").write_bytes(b"a file")
    before = files(tmp_path)
    put(tmp_path, 5)
    assert files(tmp_path) == before | {
        "d00005/index": b"0 http://h/5\n",
        "d00005/f00000": b"page 5",
    }


def test_a_folder_made_just_before_a_kill_is_used(tmp_path: Path) -> None:
    (tmp_path / "d00000").mkdir()
    put(tmp_path, 5)
    assert "d00000/f00000" in files(tmp_path)


def test_a_second_crawl_is_refused(tmp_path: Path) -> None:
    output = SaveOutput(tmp_path)
    with pytest.raises(BlockingIOError):
        SaveOutput(tmp_path)
    output.close()


def test_a_disk_that_refuses_a_page(tmp_path: Path) -> None:
    output = SaveOutput(tmp_path)
    output.loaded(page(0))
    before = files(tmp_path)
    with small_files(10_000), pytest.raises(OSError) as caught:
        output.loaded(page(1, b"x" * 20_000))
    assert caught.value.errno == errno.EFBIG
    assert files(tmp_path) == before
    output.loaded(page(1))
    assert files(tmp_path)["d00000/index"] == b"0 http://h/0\n1 http://h/1\n"
    assert output.stats() == {"pages": 2, "bytes": 12, "folder": 0, "next": 2}
    output.close()


def test_a_disk_that_refuses_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = SaveOutput(tmp_path)
    output.loaded(page(0))
    before = files(tmp_path)
    write = os.write

    def refuse_lines(fd: int, data: bytes) -> int:
        if bytes(data).endswith(b"\n"):
            write(fd, data[:3])
            raise OSError(errno.ENOSPC, "full")
        return write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse_lines)
        with pytest.raises(OSError, match="full"):
            output.loaded(page(1))
    assert files(tmp_path) == before
    output.close()
