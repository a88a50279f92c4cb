import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier import sequencer as sequencer_module
from larbinpy.frontier.sequencer import LIMIT, Sequencer
from larbinpy.frontier.store import Store
from larbinpy.url import Url


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def url(site, number=0, *, priority=False):
    return Url(f"http://{site}.test/{number}", 3, priority=priority)


def take_all(sequencer):
    taken = []
    while sequencer.can_take:
        taken.append(sequencer.take())
    assert sequencer.take() is None
    return taken


def sites(urls):
    return "".join(each.host[0] for each in urls)


@pytest.mark.parametrize(
    ("max_urls", "share"), [(10_000, 9985), (40, 25), (20, 10), (2, 1), (1, 1), (0, 1)]
)
def test_a_sites_share_leaves_room_in_its_queue(store, max_urls, share):
    sequencer = Sequencer(store, max_urls)
    for number in range(share + 5):
        sequencer.put(url("a", number))
    assert store.lengths() == {
        "priority": 0,
        "ordinary": share,
        "priority_wait": 0,
        "ordinary_wait": 5,
    }
    assert len(take_all(sequencer)) == share
    assert LIMIT > 1


def test_priority_goes_first_and_each_queue_in_its_order(store):
    sequencer = Sequencer(store, 100)
    for number in range(3):
        sequencer.put(url("a", number))
        sequencer.put(url("b", number, priority=True))
    taken = take_all(sequencer)
    assert sites(taken) == "bbbaaa"
    assert [each.href[-1] for each in taken] == ["0", "1", "2"] * 2


def test_a_hot_site_stands_in_nobodys_way(store):
    sequencer = Sequencer(store, 4)
    for number in range(100):
        sequencer.put(url("h", number))
    for number in range(2):
        sequencer.put(url("a", number))
        sequencer.put(url("b", number))
    assert sites(take_all(sequencer)) == "hhabab"
    assert sequencer.gate() == (False, "http://h.test has 2 URLs")
    sequencer.put(url("c"))
    assert sequencer.can_take
    assert sites(take_all(sequencer)) == "c"


def test_the_gate_opens_as_soon_as_the_site_has_room(store):
    sequencer = Sequencer(store, 4)
    for number in range(6):
        sequencer.put(url("h", number))
    taken = take_all(sequencer)
    while len(taken) < 6:
        assert not sequencer.can_take
        sequencer.done("http://h.test")
        assert sequencer.gate() == (True, "")
        taken += take_all(sequencer)
    assert [each.href[-1] for each in taken] == list("012345")


def test_urls_of_a_site_stay_in_their_order(store):
    """Room that comes free is not for those who come later."""
    sequencer = Sequencer(store, 4)
    for number in range(4):
        sequencer.put(url("h", number))
    taken = [sequencer.take(), sequencer.take()]
    sequencer.done("http://h.test")
    sequencer.put(url("h", 4))
    assert len(store.ordinary) == 0
    while sequencer.in_memory:
        taken += take_all(sequencer)
        sequencer.done("http://h.test")
    assert [each.href[-1] for each in taken] == list("01234")
    # Nobody waits any more: the next one need not either.
    sequencer.put(url("h", 5))
    assert len(store.ordinary) == 1


def test_a_hot_site_in_the_wait_queue_stands_in_nobodys_way(store):
    sequencer = Sequencer(store, 2)
    for site in "hab":
        for number in range(3):
            sequencer.put(url(site, number))
    assert sites(take_all(sequencer)) == "hab"
    for site in "ab":
        sequencer.done(f"http://{site}.test")
    # All that h has is still in memory, and its next URL came first.
    assert sorted(sites(take_all(sequencer))) == ["a", "b"]
    assert not sequencer.can_take
    assert store.lengths()["ordinary_wait"] == 4


def test_urls_with_priority_wait_before_the_others(store):
    sequencer = Sequencer(store, 2)
    for number in range(3):
        sequencer.put(url("h", number))
        sequencer.put(url("h", number, priority=True))
    order = []
    while sequencer.can_take:
        order.append(sequencer.take().priority)
        sequencer.done("http://h.test")
    assert order == [False, True, True, True, False, False]


def test_memory_is_bounded(store, monkeypatch):
    monkeypatch.setattr(sequencer_module, "RAM_URLS", 3)
    sequencer = Sequencer(store, 100)
    for site in "abcde":
        sequencer.put(url(site))
    assert sites(take_all(sequencer)) == "abc"
    assert sequencer.gate() == (False, "3 URLs in memory")
    sequencer.done("http://b.test")
    assert sites(take_all(sequencer)) == "d"


def test_counts_are_forgotten_with_the_last_url(store):
    sequencer = Sequencer(store, 100)
    sequencer.put(url("a"))
    sequencer.take()
    assert sequencer.load == {"http://a.test": 1}
    sequencer.done("http://a.test")
    assert sequencer.load == {}
    assert sequencer.in_memory == 0


def test_an_unreadable_queue_is_not_counted_as_taken(store, monkeypatch):
    sequencer = Sequencer(store, 100)
    sequencer.put(url("a"))

    def broken():
        raise OSError("cannot be read")

    monkeypatch.setattr(store.ordinary, "get", broken)
    with pytest.raises(OSError):
        sequencer.take()
    assert sequencer.in_memory == 0


def test_counts_are_taken_again_after_a_load(store):
    sequencer = Sequencer(store, 6)
    for number in range(5):
        sequencer.put(url("h", number))
        sequencer.put(url("a", number, priority=True))
    again = Sequencer(store, 6)
    again.count_again()
    assert again.load == sequencer.load == {"http://h.test": 3, "http://a.test": 3}


def test_who_waited_at_a_save_waits_after_it(tmp_path):
    store = Store(tmp_path)
    sequencer = Sequencer(store, 6)
    for number in range(5):
        sequencer.put(url("h", number))
    loaded = Store(tmp_path)
    loaded.load(store.save([]))
    again = Sequencer(loaded, 6)
    again.count_again()
    assert again.load == {"http://h.test": 3}
    again.take()
    again.done("http://h.test")
    again.put(url("h", 5))
    taken = []
    while len(taken) < 5:
        taken += take_all(again)
        again.done("http://h.test")
    assert sorted(each.href[-1] for each in taken) == list("12345")
    waited = [each.href[-1] for each in taken if each.href[-1] in "345"]
    assert waited == list("345")


@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()) | st.none()),
)
def test_no_site_exceeds_its_share_and_all_urls_come_out(max_urls, steps):
    """A step puts a URL, or takes one and is done with the oldest taken every other time."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        sequencer = Sequencer(store, max_urls)
        share = sequencer._most
        out, memory, count = [], [], 0
        for step in [*steps, *[None] * 2 * len(steps)]:
            if step is not None:
                count += 1
                sequencer.put(url(step[0], count, priority=step[1]))
            else:
                taken = sequencer.take()
                if taken is None:
                    for each in memory[:1]:
                        sequencer.done(each.site)
                    memory = memory[1:]
                else:
                    memory.append(taken)
                    out.append(taken)
            assert max(sequencer.load.values(), default=0) <= share
            assert sequencer.in_memory == len(memory)
        while sequencer.can_take or memory:
            if sequencer.can_take:
                each = sequencer.take()
                memory.append(each)
                out.append(each)
            else:
                sequencer.done(memory.pop(0).site)
        assert len(store) == 0
        assert len(out) == len({each.href for each in out}) == count
        lanes = {(each.site, each.priority) for each in out}
        for lane in lanes:
            numbers = [int(e.href.split("/")[3]) for e in out if (e.site, e.priority) == lane]
            assert numbers == sorted(numbers), "a site's URLs stay in their order"
        assert not sequencer.load


def test_what_waited_and_what_comes_after_take_turns(store):
    """Else a hot site would take each place that it frees, for ever."""
    sequencer = Sequencer(store, 4)
    for number in range(100):
        sequencer.put(url("h", number))
    for number in range(4):
        sequencer.put(url(f"c{number}"))
    first = [sequencer.take() for _ in range(4)]
    assert len(take_all(sequencer)) == 2, "two more of the others"
    for each in first:
        if each.host == "h.test":
            sequencer.done(each.site)
    assert "c" in sites(take_all(sequencer)) or "c" in sites(first)
