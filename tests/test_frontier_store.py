import os
import tempfile
from collections import deque
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from larbinpy.frontier import store as store_module
from larbinpy.frontier.store import Store
from larbinpy.url import Url


@pytest.fixture
def small(monkeypatch):
    """Segments of three URLs."""
    monkeypatch.setattr(store_module, "SEGMENT", 3)


def url(number):
    return Url(f"http://a.test/{number}", number % 7)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


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


def test_a_segments_size_is_that_of_the_store_when_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "SEGMENT", 2)
    store = Store(tmp_path)
    monkeypatch.setattr(store_module, "SEGMENT", 100)
    for number in range(4):
        store.priority.put(url(number))
    store.spill()
    assert files(tmp_path) == ["priority.00000001", "priority.00000002"]


def test_all_urls_are_seen_without_being_taken(tmp_path):
    store = Store(tmp_path)
    queues = (store.priority, store.ordinary, store.priority_wait, store.ordinary_wait)
    for number, queue in enumerate(queues):
        queue.put(url(number))
    for _ in range(2):
        assert list(store) == [url(number) for number in range(4)]
    assert len(store) == 4
    assert store.lengths() == {
        "priority": 1,
        "ordinary": 1,
        "priority_wait": 1,
        "ordinary_wait": 1,
    }
    assert repr(store) == f"<Store {store.lengths()}>"


def test_clear_deletes_all_segments_and_nothing_else(tmp_path, small):
    store = Store(tmp_path)
    for number in range(4):
        store.priority.put(url(number))
        store.ordinary_wait.put(url(number))
    store.save([])
    assert len(files(tmp_path)) == 2
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "ordinary.txt").write_text("somebody else's")
    Store(tmp_path).clear()
    assert files(tmp_path) == ["ordinary.txt", "state.json"]


@pytest.mark.parametrize("name", ["priority", "ordinary_wait-63"])
def test_a_state_without_one_of_the_queues_is_not_whole(tmp_path, name):
    saved = Store(tmp_path).save([])
    del saved[name]
    with pytest.raises(KeyError, match=name):
        Store(tmp_path).load(saved)


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
