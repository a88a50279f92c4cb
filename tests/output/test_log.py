"""The crawl log: whole lines of printable ASCII, whatever happens."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.output.log import CrawlLog, line
from larbinpy.page import Fate

KEYS = ["ts", "url", "outcome", "status", "size", "type", "depth", "via", "ip", "ms", "attempt"]


def fate(**fields: Any) -> Fate:
    values: dict[str, Any] = {
        "ts": "2030-01-01T00:00:00Z",
        "url": "http://h/",
        "outcome": "success",
        "status": 200,
        "size": 12,
        "type": "text/html",
        "depth": 5,
        "via": None,
        "ip": "192.0.2.1",
        "ms": 3,
        "attempt": 0,
    }
    return Fate(**{**values, **fields})


def test_a_line_has_the_promised_keys_in_order() -> None:
    text = line(fate())
    assert text == (
        b'{"ts": "2030-01-01T00:00:00Z", "url": "http://h/", "outcome": "success", '
        b'"status": 200, "size": 12, "type": "text/html", "depth": 5, "via": null, '
        b'"ip": "192.0.2.1", "ms": 3, "attempt": 0}\n'
    )
    assert list(json.loads(text)) == KEYS


hostile = st.text(
    st.characters() | st.sampled_from('\x00\x1b\r\n\x7f\x80\x9b\u202e\u2028\ud800"\\')
)


@given(hostile, hostile)
def test_no_character_of_the_web_reaches_a_terminal(url: str, kind: str) -> None:
    text = line(fate(url=url, type=kind))
    assert text.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in text[:-1])
    assert json.loads(text)["url"] == url
    assert json.loads(text)["type"] == kind


@given(hostile, hostile, hostile, st.none() | hostile, st.none() | hostile)
def test_a_line_is_what_json_makes_of_the_fate(
    url: str, kind: str, detail: str, via: str | None, ip: str | None
) -> None:
    for more in ({}, {"truncated": "disconnect"}, {"requisite": True, "truncated": "length"}):
        one = fate(url=url, type=kind, detail=detail, via=via, ip=ip, **more)
        assert line(one) == json.dumps(one.as_dict()).encode() + b"\n"


def test_lines_wait_for_flush(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    assert path.read_bytes() == b""
    log.flush()
    assert path.read_bytes() == line(fate(ms=1))
    log.write(fate(ms=2))
    log.close()
    assert path.read_bytes() == line(fate(ms=1)) + line(fate(ms=2))


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    path.write_bytes(line(fate(ms=1)) + line(fate(ms=2))[:-20])
    log = CrawlLog(path)
    log.write(fate(ms=3))
    log.close()
    assert [json.loads(text)["ms"] for text in path.read_bytes().splitlines()] == [1, 3]


def test_reopen_after_a_rename(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    path.rename(tmp_path / "crawl.1")
    log.write(fate(ms=2))
    log.reopen()
    log.write(fate(ms=3))
    log.reopen()
    log.close()
    assert (tmp_path / "crawl.1").read_bytes() == line(fate(ms=1)) + line(fate(ms=2))
    assert path.read_bytes() == line(fate(ms=3))


def test_reopen_that_fails_goes_on_in_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    path.rename(tmp_path / "crawl.1")
    path.mkdir()
    assert isinstance(log.reopen(), IsADirectoryError)
    log.write(fate(ms=1))
    path.rmdir()
    assert log.reopen() is None
    log.write(fate(ms=2))
    log.close()
    assert (tmp_path / "crawl.1").read_bytes() == line(fate(ms=1))
    assert path.read_bytes() == line(fate(ms=2))


def test_reopen_where_the_old_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file does not hide the error."""

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "broken")

    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    path.rename(tmp_path / "crawl.1")
    log.write(fate(ms=1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="broken"):
            log.reopen()
    log.write(fate(ms=2))
    log.close()
    assert (tmp_path / "crawl.1").read_bytes() == line(fate(ms=1)) + line(fate(ms=2))


def test_a_full_disk_tears_no_line_and_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    log.flush()
    write = os.write

    def almost_full(fd: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "full")
        return write(fd, data[:-50])

    log.write(fate(ms=2))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", almost_full)
        with pytest.raises(OSError, match="full"):
            log.flush()
    assert path.read_bytes() == line(fate(ms=1))
    log.close()
    assert path.read_bytes() == line(fate(ms=1)) + line(fate(ms=2))


# As a part of the state.


def numbers(path: Path) -> list[int]:
    return [json.loads(text)["ms"] for text in path.read_bytes().splitlines()]


def test_lines_after_a_mark_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    mark = json.loads(json.dumps(log.cut()))
    assert numbers(path) == [1], "a cut hands over what waited"
    log.write(fate(ms=2))
    log.close()
    with path.open("ab") as file:
        file.write(b'{"torn')
    for _ in range(2):
        again = CrawlLog(path)
        again.load(mark)
        again.close()
        assert numbers(path) == [1]
    again = CrawlLog(path)
    again.load(mark)
    again.write(fate(ms=3))
    again.close()
    assert numbers(path) == [1, 3]


def test_an_empty_log_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    mark = log.cut()
    log.write(fate())
    log.close()
    again = CrawlLog(path)
    again.load(mark)
    again.close()
    assert path.read_bytes() == b""


def test_a_file_that_took_its_place_is_not_cut(tmp_path: Path) -> None:
    """The log was rotated after the last cut: lines of the new file come twice."""
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    mark = log.cut()
    path.rename(tmp_path / "crawl.1")
    log.reopen()
    for number in (2, 3):
        log.write(fate(ms=number))
    log.close()
    again = CrawlLog(path)
    again.load(mark)
    again.close()
    assert numbers(path) == [2, 3]
    assert numbers(tmp_path / "crawl.1") == [1]


def test_a_log_that_lost_lines_goes_on_with_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    for number in (1, 2):
        log.write(fate(ms=number))
    mark = log.cut()
    log.close()
    os.truncate(path, len(line(fate(ms=1))))
    again = CrawlLog(path)
    again.load(mark)
    again.write(fate(ms=3))
    again.close()
    assert numbers(path) == [1, 3]


def test_scratch_removes_all_lines(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))
    log.flush()
    log.clear()
    log.write(fate(ms=2))
    log.close()
    assert numbers(path) == [2]


def test_a_cut_on_a_full_disk_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate(ms=1))

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            log.cut()
    assert log.cut()["length"] == len(line(fate(ms=1)))
    log.close()


def test_a_log_that_was_rotated_is_synced_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next checkpoint syncs only the new file."""
    synced = {}

    def sync(fd: int) -> None:
        synced[os.fstat(fd).st_ino] = os.fstat(fd).st_size

    monkeypatch.setattr(os, "fsync", sync)
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate())
    path.rename(tmp_path / "crawl.1")
    log.reopen()
    log.close()
    old = (tmp_path / "crawl.1").stat()
    assert synced == {old.st_ino: old.st_size}


def test_a_torn_line_that_cannot_be_cut_off_at_once_is_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crawl.jsonl"
    log = CrawlLog(path)
    log.write(fate())
    write = os.write

    def torn(fd: int, data: memoryview) -> int:
        if len(data) < 50:
            raise OSError(errno.ENOSPC, "full")
        return write(fd, data[:-20])

    def broken(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", torn)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(OSError, match="full"):
            log.flush()
    log.close()
    assert [json.loads(text)["url"] for text in path.read_text().splitlines()] == [fate().url]
