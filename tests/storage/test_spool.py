"""The spool: appending, cutting, reading from a position, kills and full disks."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.errors import DamagedError
from larbinpy.page import Outcome, Page
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, RecordPlace, SpoolMark, SpoolWriter, walk
from larbinpy.url import Url


def page(number: int, body: bytes = b"<p>text") -> Page:
    url = Url(f"http://a.test/{number}", 3, via="http://a.test/")
    headers = [("content-type", "text/html"), ("x-odd", "caf\xe9 \x00")]
    return Page(url, Outcome.SUCCESS, 200, headers, body, charset="utf-8", ip="192.0.2.1", ms=7)


def places(folder: Path, end: Position, start: Position | None = None) -> list[RecordPlace]:
    return list(walk(folder, start, end))


def urls(folder: Path, end: Position, start: Position | None = None) -> list[str]:
    found = places(folder, end, start)
    return [spool.read(folder, place.start).page.url.href for place in found]


def filled(folder: Path, count: int = 3, size: int = spool.SEGMENT) -> SpoolWriter:
    writer = SpoolWriter(folder, segment_size=size)
    for number in range(count):
        writer.append(page(number), 1000.0 + number)
    writer.cut()
    return writer


def test_pages_come_back_as_they_were(tmp_path: Path) -> None:
    writer = filled(tmp_path)
    found = places(writer.folder, writer.end)
    assert [place.number for place in found] == [0, 1, 2]
    assert [place.at for place in found] == [1000.0, 1001.0, 1002.0]
    read = [spool.read(writer.folder, place.start) for place in found]
    assert [(each.at, each.page) for each in read] == [(1000.0 + n, page(n)) for n in range(3)]
    assert writer.size == sum(spool.segments(writer.folder).values())


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 2000))
def test_any_bodies_in_segments_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes], size: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    writer = SpoolWriter(folder, segment_size=size)
    for number, body in enumerate(bodies):
        writer.append(page(number, body), 0.0)
    if not bodies:
        assert writer.name == ""
        return
    writer.cut()
    folder = writer.folder
    found = places(folder, writer.end)
    assert [spool.read(folder, place.start).page.body for place in found] == bodies
    for place in found:
        assert places(folder, writer.end, place.end) == found[place.number + 1 :]
    assert writer.sizes == spool.segments(folder)
    writer.close()


def test_a_resumed_crawl_cuts_off_what_came_after_the_mark(tmp_path: Path) -> None:
    writer = filled(tmp_path, 5, 300)
    mark = writer.cut()
    for number in range(5, 9):
        writer.append(page(number), 0.0)
    writer.close()
    resumed = SpoolWriter(tmp_path, segment_size=300)
    resumed.load(mark)
    resumed.append(page(100), 0.0)
    resumed.cut()
    assert resumed.records == 6
    assert resumed.sizes == spool.segments(writer.folder)
    assert urls(writer.folder, resumed.end) == [f"http://a.test/{n}" for n in (0, 1, 2, 3, 4, 100)]


def test_a_crawl_that_is_not_resumed_begins_another_spool(tmp_path: Path) -> None:
    first = filled(tmp_path, 9, 300)
    first.close()
    second = SpoolWriter(tmp_path)
    mark = second.cut()
    assert mark == {"spool": second.name, "segment": 0, "offset": 0, "records": 0}
    assert second.name not in ("", first.name)
    assert os.listdir(tmp_path) == [second.folder.name]
    assert spool.segments(second.folder) == {}


def test_clear_deletes_all(tmp_path: Path) -> None:
    writer = filled(tmp_path / "spool", 9, 300)
    writer.clear()
    assert os.listdir(tmp_path / "spool") == []
    assert writer.size == 0


def test_removed_segments_are_missing_when_it_is_resumed(tmp_path: Path) -> None:
    writer = filled(tmp_path, 9, 300)
    middle = places(writer.folder, writer.end)[5].end
    left = urls(writer.folder, writer.end, middle)
    kept = spool.remove_below(writer.folder, middle)
    writer.removed(kept)
    assert writer.sizes == spool.segments(writer.folder)
    assert urls(writer.folder, writer.end, middle) == left
    mark = writer.cut()
    writer.removed(spool.remove_all(writer.folder, writer.end))
    assert writer.size == 0
    writer.close()
    assert spool.segments(writer.folder) == {}
    resumed = SpoolWriter(tmp_path, segment_size=300)
    resumed.load(mark)
    resumed.append(page(9), 0.0)
    resumed.cut()
    assert resumed.end.segment == mark["segment"] + 1
    assert urls(writer.folder, resumed.end, Position(mark["segment"], mark["offset"])) == [
        "http://a.test/9"
    ]


def test_each_run_of_a_spool_has_a_name_of_its_own(tmp_path: Path) -> None:
    writer = filled(tmp_path, 3)
    mark = writer.cut()
    writer.close()
    resumed = SpoolWriter(tmp_path)
    resumed.load(mark)
    again = resumed.cut()
    assert again["spool"] != mark["spool"]
    assert again == {**mark, "spool": again["spool"]}
    assert resumed.folder == writer.folder == spool.folder_of(tmp_path, mark["spool"])
    resumed.close()
    # The crawl was killed before a checkpoint had the new name.
    SpoolWriter(tmp_path).load(mark)


def test_not_all_is_removed_unless_the_last_segment_ends_there(tmp_path: Path) -> None:
    writer = filled(tmp_path, 3)
    first = places(writer.folder, writer.end)[0].end
    assert spool.remove_all(writer.folder, first) == 0
    assert writer.sizes == spool.segments(writer.folder)


def test_the_spool_of_another_crawl_is_refused(tmp_path: Path) -> None:
    writer = filled(tmp_path)
    mark = writer.cut()
    other: SpoolMark = {**mark, "spool": "0123"}
    with pytest.raises(ValueError, match="not the spool of this crawl"):
        SpoolWriter(tmp_path).load(other)
    short: SpoolMark = {**mark, "offset": 10**6}
    (writer.folder / "00000000.pages").write_bytes(b"")
    with pytest.raises(BlockingIOError):  # the first writer still holds it
        SpoolWriter(tmp_path).load(short)


def test_a_segment_that_is_too_short_is_damage(tmp_path: Path) -> None:
    writer = filled(tmp_path)
    mark = writer.cut()
    writer.close()
    os.truncate(writer.folder / "00000000.pages", mark["offset"] - 1)
    with pytest.raises(ValueError, match="shorter"):
        SpoolWriter(tmp_path).load(mark)
    with pytest.raises(DamagedError, match="no whole record"):
        places(writer.folder, Position(0, mark["offset"] - 1))


def test_a_damaged_record_is_not_read(tmp_path: Path) -> None:
    writer = filled(tmp_path)
    end = writer.end
    path = writer.folder / "00000000.pages"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match="no record at 0"):
        spool.read(writer.folder, Position(0, 0))
    assert len(places(writer.folder, end)) == 3


def test_a_reply_with_more_headers_than_a_record_has_room_for(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    odd = page(0)
    odd.headers = [(f"x-{number}", "\xe9" * 60_000) for number in range(300)]
    writer.append(odd, 0.0)
    writer.append(page(1), 0.0)
    writer.cut()
    assert urls(writer.folder, writer.end) == ["http://a.test/0", "http://a.test/1"]
    kept = spool.read(writer.folder, Position(0, 0)).page.headers
    assert kept and kept == odd.headers[: len(kept)]


def test_many_small_pages_are_held_back_as_few_are(tmp_path: Path) -> None:
    writer = filled(tmp_path, 3000)
    assert len(places(writer.folder, writer.end)) == 3000


def test_pages_are_written_before_too_many_are_held_back(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    body = bytes(100_000)
    for number in range(20):
        writer.append(page(number, body), 0.0)
        (written,) = spool.segments(writer.folder).values()
        assert 0 <= writer.size - written < (1 << 19) + 2 * len(body)
    assert written > 0


def test_a_full_disk_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = filled(tmp_path, 2)
    # It is held back, and more than that is not.
    writer.append(page(2, bytes(1 << 20)), 0.0)
    end, sizes = writer.end, dict(writer.sizes)
    write = os.write

    def begin(fd: int, pieces: tuple[bytes, ...]) -> int:
        return write(fd, pieces[0][:10])

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "writev", begin)
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            writer.cut()
        with pytest.raises(OSError, match="full"):
            writer.append(page(3), 0.0)
    assert (writer.end, writer.sizes, writer.records) == (end, sizes, 3)
    writer.append(page(3), 0.0)
    with monkeypatch.context() as patched:
        # Bytes that the system did not take at once are written next.
        patched.setattr(os, "writev", begin)
        writer.cut()
    assert len(urls(writer.folder, writer.end)) == 4
