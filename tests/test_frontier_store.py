import errno
import os
import tempfile
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from larbinpy.frontier import store as store_module
from larbinpy.frontier.store import DiskQueue, Store, decode, encode
from larbinpy.url import Url, resolve


@pytest.fixture
def small(monkeypatch):
    """Segments of three URLs."""
    monkeypatch.setattr(store_module, "SEGMENT", 3)


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


def test_first_in_first_out(tmp_path, small):
    queue = DiskQueue(tmp_path, "q")
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


def test_only_full_segments_are_spilled(tmp_path, small):
    queue = DiskQueue(tmp_path, "q")
    for number in range(2):
        queue.put(url(number))
    queue.spill()
    assert files(tmp_path) == []
    queue.put(url(2))
    queue.spill()
    assert files(tmp_path) == ["q.00000001"]
    assert repr(queue) == "<DiskQueue q 3 URLs, 1 segments>"


def test_segments_that_were_read_stay_until_a_save_is_done(tmp_path, small):
    store = Store(tmp_path)
    for number in range(7):
        store.ordinary.put(url(number))
    store.spill()
    before = store.save([])
    taken = [store.ordinary.get() for _ in range(7)]
    store.spill()
    again = Store(tmp_path)
    again.load(before)
    assert list(again.ordinary) == taken
    after = store.save([])
    store.tidy(after)
    assert files(tmp_path) == []


def test_tidy_keeps_what_the_save_and_the_queues_need(tmp_path, small):
    store = Store(tmp_path)
    for number in range(8):
        store.priority.put(url(number))
        store.ordinary_wait.put(url(number))
    store.spill()
    store.priority.get()
    saved = store.save([url(100)])
    store.tidy(saved)
    again = Store(tmp_path)
    again.load(saved)
    for each in (again, store):
        expected = [url(number) for number in range(1, 8)]
        if each is again:
            expected.insert(0, url(100))
        assert [each.priority.get() for _ in range(len(each.priority))] == expected
        assert len(list(each.ordinary_wait)) == 8


def saved_queue(folder):
    queue = DiskQueue(folder, "q")
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
def test_a_damaged_segment_is_found_out_before_the_crawl_goes_on(tmp_path, small, damage, number):
    saved = saved_queue(tmp_path)
    assert len(saved["segments"]) == 3
    damage(tmp_path / saved["segments"][number])
    with pytest.raises(OSError, match="damaged"):
        DiskQueue(tmp_path, "q").load(saved)


def test_a_missing_segment_is_found_out(tmp_path, small):
    saved = saved_queue(tmp_path)
    (tmp_path / saved["segments"][1]).unlink()
    with pytest.raises(FileNotFoundError):
        DiskQueue(tmp_path, "q").load(saved)


def test_a_wrong_count_is_found_out(tmp_path, small):
    saved = saved_queue(tmp_path)
    saved["segments"].pop()
    with pytest.raises(ValueError, match="q: 6 URLs of 8"):
        DiskQueue(tmp_path, "q").load(saved)


def test_a_segment_that_cannot_be_read_is_not_lost(tmp_path, small):
    queue = DiskQueue(tmp_path, "q")
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


def test_a_full_disk_keeps_urls_in_memory(tmp_path, small, monkeypatch):
    queue = DiskQueue(tmp_path, "q")
    original = store_module.write_atomic

    def full(path, chunks):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(store_module, "write_atomic", full)
    for number in range(7):
        queue.put(url(number))
        if number >= 2:
            with pytest.raises(OSError):
                queue.spill()
    monkeypatch.setattr(store_module, "write_atomic", original)
    queue.spill()
    assert [queue.get() for _ in range(7)] == [url(number) for number in range(7)]


class Queue(RuleBasedStateMachine):
    """A DiskQueue does what a deque does, whatever is spilled, saved and loaded."""

    @initialize()
    def begin(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.store = Store(self.folder)
        self.model = deque()
        self.count = 0

    @property
    def queue(self):
        return self.store.ordinary

    @rule(number=st.integers(1, 5))
    def put(self, number):
        for _ in range(number):
            self.count += 1
            self.queue.put(url(self.count))
            self.model.append(url(self.count))

    @rule()
    def spill(self):
        self.store.spill()

    @rule(number=st.integers(1, 5))
    def get(self, number):
        for _ in range(min(number, len(self.model))):
            assert self.queue.get() == self.model.popleft()

    @rule()
    def peek(self):
        assert self.queue.peek() == (self.model[0] if self.model else None)

    @rule(tidied=st.booleans(), stopped=st.booleans())
    def save(self, tidied, stopped):
        saved = self.store.save([])
        if tidied:
            self.store.tidy(saved)
        if stopped:
            self.store = Store(self.folder)
            self.store.load(saved)

    @invariant()
    def same(self):
        assert len(self.queue) == len(self.store) == len(self.model)
        assert list(self.queue) == list(self.model)

    def teardown(self):
        self.temporary.cleanup()


@pytest.fixture
def no_fsync(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.mark.usefixtures("small", "no_fsync")
class TestQueue(Queue.TestCase):
    pass
