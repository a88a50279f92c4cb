import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier import disk_queue as disk_queue_module
from larbinpy.frontier.disk_queue import DiskQueue, decode, encode
from larbinpy.url import Url, resolve


def url(number):
    return Url(f"http://a.test/{number}", number % 7)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@given(st.text("http:/a.ä%?#@ \n\t\x00|^`{}<>\"'\\", max_size=30), st.booleans(), st.booleans())
def test_a_line_is_a_url(rest, priority, seed):
    href = resolve("http://a.test/" + rest)
    if href is not None:
        there = Url(href, 3, href, 2, 1, priority, seed)
        line = encode(there)
        assert decode(line) == there
        assert line.isascii() and len(line.splitlines()) == 1


def test_a_seed_has_no_parent():
    assert decode(encode(Url("http://a.test/", 0))) == Url("http://a.test/", 0)


@pytest.mark.parametrize("line", ["", "1 2 3 4 5", "a 0 0 0 http://a/ -", "1 0 0 0 0 http://a/ -"])
def test_what_is_no_line_is_refused(line):
    with pytest.raises(ValueError):
        decode(line)


def test_first_in_first_out(tmp_path):
    queue = DiskQueue(tmp_path, "q", 3)
    assert queue.peek() is None
    for number in range(10):
        queue.put(url(number))
    queue.spill()
    assert len(files(tmp_path)) == 3
    assert [each.href for each in queue] == [url(number).href for number in range(10)]
    assert queue.peek() == url(0)
    assert [queue.get() for _ in range(10)] == [url(number) for number in range(10)]
    with pytest.raises(IndexError):
        queue.get()
    assert len(queue) == 0


def test_only_full_segments_are_spilled(tmp_path):
    queue = DiskQueue(tmp_path, "q", 3)
    for number in range(2):
        queue.put(url(number))
    queue.spill()
    assert files(tmp_path) == []
    queue.put(url(2))
    queue.spill()
    assert files(tmp_path) == ["q.00000001"]
    assert repr(queue) == "<DiskQueue q 3 URLs, 1 segments>"


def saved_queue(folder):
    queue = DiskQueue(folder, "q", 3)
    for number in range(8):
        queue.put(url(number))
    queue.spill()
    return queue.save()


def damage_torn(path):
    path.write_bytes(path.read_bytes()[:-9])


def damage_last_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def damage_flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def damage_empty(path):
    path.write_bytes(b"")


def damage_swap(path):
    path.write_bytes(path.with_name("q.00000001").read_bytes() * 2)


DAMAGES = [damage_torn, damage_last_line, damage_flip, damage_empty, damage_swap]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_damaged_segment_is_found_out_before_the_crawl_goes_on(tmp_path, damage, number):
    saved = saved_queue(tmp_path)
    assert len(saved["segments"]) == 3
    damage(tmp_path / saved["segments"][number])
    with pytest.raises(OSError, match="damaged"):
        DiskQueue(tmp_path, "q", 3).load(saved)


def test_a_missing_segment_is_found_out(tmp_path):
    saved = saved_queue(tmp_path)
    (tmp_path / saved["segments"][1]).unlink()
    with pytest.raises(FileNotFoundError):
        DiskQueue(tmp_path, "q", 3).load(saved)


def test_a_wrong_count_is_found_out(tmp_path):
    saved = saved_queue(tmp_path)
    saved["segments"].pop()
    with pytest.raises(ValueError, match="q: 6 URLs of 8"):
        DiskQueue(tmp_path, "q", 3).load(saved)


def test_a_segment_that_cannot_be_read_is_not_lost(tmp_path):
    queue = DiskQueue(tmp_path, "q", 3)
    for number in range(4):
        queue.put(url(number))
    queue.spill()
    [segment] = tmp_path.iterdir()
    hidden = segment.rename(tmp_path / "hidden")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            queue.peek()
    hidden.rename(segment)
    assert [queue.get() for _ in range(4)] == [url(number) for number in range(4)]


def test_a_full_disk_keeps_urls_in_memory(tmp_path, monkeypatch):
    queue = DiskQueue(tmp_path, "q", 3)
    original = disk_queue_module.write_atomic

    def full(path, chunks):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(disk_queue_module, "write_atomic", full)
    for number in range(7):
        queue.put(url(number))
        if number >= 2:
            with pytest.raises(OSError):
                queue.spill()
    monkeypatch.setattr(disk_queue_module, "write_atomic", original)
    queue.spill()
    assert [queue.get() for _ in range(7)] == [url(number) for number in range(7)]
