"""Save mode: Larbin's numbered files and their index."""

import errno
import json
import os
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from larbinpy.output.save import SaveOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.smallfiles import small_files

#: Opens the output of a folder.
Make = Callable[[Path], SaveOutput]


def page(number: int, body: bytes | None = None) -> Page:
    body = b"page %d" % number if body is None else body
    return Page(Url(f"http://h/{number}", 1), Outcome.SUCCESS, 200, body=body)


#: Folders of three files, so that few pages fill several.
SMALL = partial(SaveOutput, files_per_folder=3)


def put(root: Path, *numbers: int, make: Make = SaveOutput) -> None:
    output = make(root)
    for number in numbers:
        output.loaded(page(number))
    output.close()


def files(root: Path) -> dict[str, bytes]:
    """Paths and contents, without the name of the crawl."""
    found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    found.pop(".larbinpy-crawl", None)
    return found


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
    assert sorted(os.listdir(tmp_path)) == [".larbinpy-crawl", "d00000", "d00001"]
    assert len(os.listdir(tmp_path / "d00000")) == 2001
    assert (tmp_path / "d00000/index").read_text().splitlines()[1999] == "1999 http://h/1999"
    assert (tmp_path / "d00001/index").read_text() == "0 http://h/2000\n"


def test_numbering_goes_on_after_a_restart(tmp_path: Path) -> None:
    for start in range(0, 8, 2):
        put(tmp_path, start, start + 1, make=SMALL)
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


# As a part of the state:


def run(
    root: Path,
    numbers: range,
    mark: Any = None,
    cut_before: int | None = None,
    make: Make = SaveOutput,
) -> Any:
    """Go on from `mark`, save pages, and be killed; returns the last mark."""
    output = make(root)
    if mark is not None:
        output.load(json.loads(json.dumps(mark)))
    mark = output.cut()
    for number in numbers:
        if number == cut_before:
            mark = output.cut()
        output.loaded(page(number))
    # A kill would lose nothing: no data waits in memory.
    output.close()
    return mark


def pages(root: Path) -> dict[str, bytes]:
    """Paths and contents, without empty files such as the index of a folder without pages."""
    return {name: body for name, body in files(root).items() if body}


@pytest.mark.parametrize("saved", range(8))
@pytest.mark.parametrize("killed", [8, 9])
def test_pages_after_a_checkpoint_get_their_numbers_again(
    saved: int, killed: int, tmp_path: Path
) -> None:
    mark = run(tmp_path / "it", range(killed), cut_before=saved, make=SMALL)
    mark = run(tmp_path / "it", range(0), mark, make=SMALL)
    put(tmp_path / "saved", *range(saved), make=SMALL)
    assert pages(tmp_path / "it") == pages(tmp_path / "saved")
    run(tmp_path / "it", range(saved, 10), mark, make=SMALL)
    put(tmp_path / "whole", *range(10), make=SMALL)
    assert files(tmp_path / "it") == files(tmp_path / "whole")


def test_kill_after_kill(tmp_path: Path) -> None:
    mark = None
    for end in (2, 1, 4, 7, 5, 2):
        mark = run(tmp_path / "it", range(end), mark, make=SMALL)
        assert mark["index"] == mark["folder"] == 0
    mark = run(tmp_path / "it", range(5), mark, cut_before=4, make=SMALL)
    run(tmp_path / "it", range(4, 6), mark, make=SMALL)
    put(tmp_path / "whole", *range(6), make=SMALL)
    assert pages(tmp_path / "it") == pages(tmp_path / "whole")


class Killed(BaseException):
    """Stands for a kill: no handler runs after it."""


def test_removing_pages_after_a_mark_may_be_killed_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 0

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return call(*args, **kwargs)

        return wrapper

    put(tmp_path / "whole", 0, 1, make=SMALL)
    for step in count():
        root = tmp_path / str(step)
        mark = run(root, range(9), cut_before=2, make=SMALL)
        left = step
        output = SMALL(root)
        with monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", dying(os.ftruncate))
            patch.setattr(os, "unlink", dying(os.unlink))
            try:
                output.load(mark)
                died = False
            except Killed:
                died = True
        output.close()
        run(root, range(0), mark, make=SMALL)
        assert pages(root) == pages(tmp_path / "whole")
        if not died:
            break
    # Three folders were cut, and seven pages removed.
    assert step == 10


def test_pages_of_another_crawl_are_not_removed(tmp_path: Path) -> None:
    mark = run(tmp_path, range(3), cut_before=1)
    put(tmp_path, 7)
    before = files(tmp_path)
    again = run(tmp_path, range(1, 3), mark)
    assert files(tmp_path).items() >= (before.items() - {("d00000/index", before["d00000/index"])})
    assert files(tmp_path)["d00000/index"].splitlines() == [
        b"%d http://h/%d" % pair for pair in enumerate((0, 1, 2, 7, 1, 2))
    ]
    # It goes on as a new crawl, whose pages are removed after a mark.
    run(tmp_path, range(0), again)
    assert files(tmp_path) == before


def test_a_mark_does_not_change_another_folder(tmp_path: Path) -> None:
    mark = run(tmp_path / "one", range(3), cut_before=1)
    run(tmp_path / "other", range(5, 7), mark)
    assert files(tmp_path / "other")["d00000/index"] == b"0 http://h/5\n1 http://h/6\n"


def test_files_of_others_stay(tmp_path: Path) -> None:
    mark = run(tmp_path, range(5), cut_before=1, make=SMALL)
    for name in ("d00000/notes", "d00001/f00001.gz", "d00002/f00000"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"mine")
    # Its number is higher, but it was not begun when the one before was full.
    (tmp_path / "d00009").mkdir()
    (tmp_path / "d00009/index").write_bytes(b"0 http://x/\n")
    run(tmp_path, range(0), mark, make=SMALL)
    assert files(tmp_path) == {
        "d00000/index": b"0 http://h/0\n",
        "d00000/f00000": b"page 0",
        "d00000/notes": b"mine",
        "d00001/index": b"",
        "d00001/f00001.gz": b"mine",
        "d00002/f00000": b"mine",
        "d00009/index": b"0 http://x/\n",
    }


def test_an_index_may_have_lost_more_than_the_next(tmp_path: Path) -> None:
    """As after a power cut: the pages after the mark are still removed."""
    mark = run(tmp_path / "it", range(5), cut_before=1, make=SMALL)
    os.truncate(tmp_path / "it/d00000/index", len(b"0 http://h/0\n"))
    run(tmp_path / "it", range(1, 3), mark, make=SMALL)
    run(tmp_path / "whole", range(3), make=SMALL)
    assert pages(tmp_path / "it") == pages(tmp_path / "whole")


def test_a_reader_may_take_folders_away(tmp_path: Path) -> None:
    mark = run(tmp_path, range(5), cut_before=4, make=SMALL)
    (tmp_path / "d00001").rename(tmp_path / "taken")
    run(tmp_path, range(4, 6), mark, make=SMALL)
    assert files(tmp_path)["d00001/index"] == b"0 http://h/4\n1 http://h/5\n"
    assert files(tmp_path)["taken/index"] == b"0 http://h/3\n1 http://h/4\n"


@pytest.mark.parametrize("size", [0, 1, 13])
def test_an_index_that_lost_lines_is_an_error(size: int, tmp_path: Path) -> None:
    mark = run(tmp_path, range(3), cut_before=2)
    os.truncate(tmp_path / "d00000/index", size)
    output = SaveOutput(tmp_path)
    with pytest.raises(ValueError, match="d00000/index is shorter"):
        output.load(mark)
    output.close()
    assert len(files(tmp_path)) == 4


def test_a_mark_differs_once_there_is_more(tmp_path: Path) -> None:
    output = SMALL(tmp_path)
    marks = [output.cut()]
    for number in range(7):
        assert output.cut() == marks[-1]
        output.loaded(page(number))
        assert output.cut() not in marks
        marks.append(output.cut())
    output.close()


def test_the_index_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = SaveOutput(tmp_path)
    output.loaded(page(0))
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    output.sync()
    assert synced == [str(tmp_path / "d00000/index")]
    output.close()


def test_a_disk_that_refuses_the_name_of_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    output = SaveOutput(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        for use in (output.cut, lambda: output.loaded(page(0))):
            with pytest.raises(OSError, match="full"):
                use()
    output.loaded(page(0))
    assert files(tmp_path)["d00000/index"] == b"0 http://h/0\n"
    output.close()


def test_a_temporary_of_a_kill_goes(tmp_path: Path) -> None:
    put(tmp_path, 0)
    (tmp_path / "d00000/.part").write_bytes(b"killed before its na")
    put(tmp_path)
    assert set(files(tmp_path)) == {"d00000/index", "d00000/f00000"}


@pytest.mark.parametrize("saved", [0, 1, 2])
def test_zeros_that_a_power_cut_left_in_the_index(saved: int, tmp_path: Path) -> None:
    mark = run(tmp_path, range(3), cut_before=saved)
    index = tmp_path / "d00000/index"
    lines = index.read_bytes()
    keep = mark["index"]
    index.write_bytes(lines[:keep] + bytes(20) + lines[keep + 10 :])
    run(tmp_path, range(saved, 3), mark)
    assert files(tmp_path) == {
        "d00000/index": lines,
        **{f"d00000/f0000{number}": b"page %d" % number for number in range(3)},
    }
