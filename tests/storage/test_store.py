import json
import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from larbinpy.storage.queues import Backlogs, Fifo, Place, Store, decode, encode
from larbinpy.storage.sizes import StoreSizes
from larbinpy.url import GUESS, PAGE, SITEMAP, Purpose, Url, resolve

#: Blocks have three lines, those of a site two, and files some two blocks.
SMALL = StoreSizes(lines=3, file_size=150, site_lines=2, most_tails=700, forget=2, most_read=500)


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path, SMALL)
    yield opened
    opened.close()


def url(number: int, site: str = "a", *, priority: bool = False) -> Url:
    return Url(f"http://{site}.test/{number}", number % 7, priority=priority)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def through_json(mark: Any) -> Any:
    return json.loads(json.dumps(mark))


def take(queue: Any, *site: str) -> Url:
    place, line = queue.take(*site)
    return decode(line, place)


def set_aside(store: Store, url: Url) -> None:
    wait = store.priority_wait if url.priority else store.ordinary_wait
    wait.put(url.site, url.place, encode(url))


def hrefs(lines: Iterable[str]) -> list[str]:
    return [decode(line).href for line in lines]


# Lines.


@given(
    st.text("http:/a.ä%?#@ \n\t\x00|^`{}<>\"'\\\x7f\x85\u2028", max_size=30),
    st.integers(0, 15),
    st.sampled_from([PAGE, SITEMAP, GUESS]),
)
def test_a_line_is_a_url(rest: str, flags: int, purpose: Purpose) -> None:
    href = resolve("http://a.test/" + rest)
    if href is not None:
        traits = ("priority", "seed", "requisite", "redirect")
        there = Url(href, 3, href, hops=1, purpose=purpose)
        for bit, trait in enumerate(traits):
            setattr(there, trait, bool(flags >> bit & 1))
        line = encode(there)
        assert decode(line) == there
        assert line.isascii() and len(line.splitlines()) == 1


def test_a_line_has_the_spelling_of_the_server() -> None:
    url = Url("http://a.test/~%D0", 3, "http://a.test/", spelling="http://a.test/%7e%d0?")
    assert decode(encode(url)) == url


def test_a_seed_has_no_parent() -> None:
    assert decode(encode(Url("http://a.test/", 0))) == Url("http://a.test/", 0)


def test_urls_are_equal_whatever_their_place() -> None:
    assert decode("http://a.test/ 1 0 0 -", 77).place == 77
    assert decode("http://a.test/ 1 0 0 -", 77) == decode("http://a.test/ 1 0 0 -")


@pytest.mark.parametrize("line", ["", "a 0 0 0", "a 0 0 0 - - -", "a x 0 0 -", "a 0 x 0 -"])
def test_an_invalid_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decode(line)


# The store.


def test_a_new_url_is_queued_by_its_priority(store: Store) -> None:
    store.put(url(1))
    store.put(url(2, priority=True))
    assert store.lengths() == {
        "priority": 1,
        "ordinary": 1,
        "priority_wait": 0,
        "ordinary_wait": 0,
    }
    assert (take(store.priority), take(store.ordinary)) == (url(2, priority=True), url(1))
    assert len(store) == 0


def test_all_urls_are_seen_without_being_taken(store: Store) -> None:
    for number in range(4):
        store.put(url(number, priority=number % 2 == 0))
    for queue in (store.priority, store.ordinary):
        set_aside(store, take(queue))
    for _ in range(2):
        assert sorted(hrefs(store.lines())) == [url(number).href for number in range(4)]
    assert len(store) == 4
    assert set(store.lengths().values()) == {1}
    assert repr(store) == f"<Store {store.lengths()}>"


def test_the_sites_that_wait(store: Store) -> None:
    for number, site in enumerate("aab"):
        store.put(url(number, site, priority=site == "b"))
    for queue in (store.priority, store.ordinary, store.ordinary):
        set_aside(store, take(queue))
    assert list(store.waiting_sites()) == ["http://b.test", "http://a.test"]
    assert store.has_waiting("http://a.test") and store.has_waiting("http://b.test")
    assert not store.has_waiting("http://c.test")


def test_only_whole_blocks_are_spilled_and_the_rest_at_a_cut(store: Store, tmp_path: Path) -> None:
    for number in range(5):
        store.put(url(number))
        store.put(url(number, priority=True))
    assert files(tmp_path) == []
    store.spill()
    assert repr(store.ordinary) == "<Fifo - 5 URLs, 1 blocks>"
    store.cut()
    assert repr(store.ordinary) == "<Fifo - 5 URLs, 2 blocks>"
    assert repr(store.priority) == "<Fifo + 5 URLs, 2 blocks>"


def loaded(folder: Path, mark: Any) -> Store:
    store = Store(folder, SMALL)
    store.load(through_json(mark))
    return store


def test_urls_that_were_with_a_site_come_back_first(store: Store, tmp_path: Path) -> None:
    for number in range(8):
        store.put(url(number))
    with_site = [take(store.ordinary) for _ in range(4)]
    store.leave(with_site[0].place)
    store.leave(with_site[2].place)
    again = loaded(tmp_path, store.cut())
    assert hrefs(again.lines()) == [url(number).href for number in (1, 3, 4, 5, 6, 7)]
    assert len(again) == 6
    assert [take(again.ordinary).href for _ in range(6)] == [
        url(number).href for number in (1, 3, 4, 5, 6, 7)
    ]


@pytest.fixture
def one_file(tmp_path: Path) -> Iterator[Store]:
    """A store with one file, which is never deleted."""
    opened = Store(tmp_path, replace(SMALL, file_size=1 << 20))
    yield opened
    opened.close()


def test_decided_urls_after_an_owed_one_do_not_come_back(one_file: Store, tmp_path: Path) -> None:
    """A URL of a slow site stays while those after it are decided, through two runs."""
    store = one_file
    for number in range(9):
        store.put(url(number))
    slow, *quick = [take(store.ordinary) for _ in range(6)]
    for each in quick:
        store.leave(each.place)
    owed = [slow.href, *(url(number).href for number in (6, 7, 8))]
    second = loaded(tmp_path, store.cut())
    assert hrefs(second.lines()) == owed
    third = loaded(tmp_path, second.cut())
    assert hrefs(third.lines()) == owed
    third.close()
    second.close()


def test_decided_urls_of_a_sites_queue_do_not_come_back(one_file: Store, tmp_path: Path) -> None:
    store = one_file
    for number in range(9):
        store.put(url(number))
    for _ in range(9):
        set_aside(store, take(store.ordinary))
    slow, *quick = [take(store.ordinary_wait, "http://a.test") for _ in range(4)]
    for each in quick:
        store.leave(each.place)
    owed = sorted([slow.href, *(url(number).href for number in range(4, 9))])
    for _ in range(2):
        mark = store.cut()
        store = loaded(tmp_path, mark)
        assert sorted(hrefs(store.lines())) == owed
        assert len(store) == 6
    store.close()


def test_urls_set_aside_go_on_waiting(store: Store, tmp_path: Path) -> None:
    for number in range(6):
        store.put(url(number, "ab"[number % 2], priority=number % 3 == 0))
    for queue in (store.priority, store.ordinary):
        while len(queue):
            set_aside(store, take(queue))
    again = loaded(tmp_path, store.cut())
    # Two URLs of each site are in its blocks; the others are owed from where they were read.
    assert Counter(again.lines()) == Counter(store.lines())
    assert list(again.waiting_sites()) == ["http://a.test", "http://b.test"]
    assert again.lengths() == {
        "priority": 2,
        "ordinary": 0,
        "priority_wait": 0,
        "ordinary_wait": 4,
    }


def test_a_site_of_any_length_may_wait(store: Store, tmp_path: Path) -> None:
    site = "a" * 3000
    for number in range(4):
        store.put(url(number, site))
    for _ in range(4):
        set_aside(store, take(store.ordinary))
    again = loaded(tmp_path, store.cut())
    assert hrefs(again.lines()) == [url(number, site).href for number in range(4)]


def test_tidy_keeps_the_files_that_mark_and_queues_need(store: Store, tmp_path: Path) -> None:
    for number in range(12):
        store.put(url(number))
    first = store.cut()
    for _ in range(9):
        store.leave(take(store.ordinary).place)
    second = store.cut()
    store.tidy(first)
    assert hrefs(loaded(tmp_path, first).lines()) == [url(number).href for number in range(12)]
    before = files(tmp_path)
    store.tidy(second)
    assert len(files(tmp_path)) < len(before)
    assert hrefs(loaded(tmp_path, second).lines()) == [url(number).href for number in (9, 10, 11)]
    assert [take(store.ordinary).href for _ in range(3)] == [url(n).href for n in (9, 10, 11)]


def test_files_do_not_pile_up(store: Store, tmp_path: Path, no_fsync: None) -> None:
    for number in range(300):
        store.put(url(number))
        store.spill()
        if number > 5:
            store.leave(take(store.ordinary).place)
        mark = store.cut()
        store.sync()
        store.tidy(mark)
        assert len(files(tmp_path)) <= 5
    assert len(store) == 6


def test_clear_deletes_all_blocks_and_nothing_else(store: Store, tmp_path: Path) -> None:
    for number in range(8):
        store.put(url(number))
    store.cut()
    assert len(files(tmp_path)) > 1
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "urls.txt").write_text("not ours")
    Store(tmp_path, SMALL).clear()
    assert files(tmp_path) == ["state.json", "urls.txt"]


@pytest.mark.parametrize(
    "change",
    [
        lambda mark: mark.pop("files"),
        lambda mark: mark.pop("open"),
        lambda mark: mark["open"].update(dict.fromkeys(mark["open"], "1")),
    ],
)
def test_a_mark_that_does_not_fit_is_refused(
    store: Store, tmp_path: Path, change: Callable[[Any], object]
) -> None:
    for number in range(9):
        store.put(url(number))
    for _ in range(3):
        set_aside(store, take(store.ordinary))
    mark = through_json(store.cut())
    assert mark.keys() == {"files", "open"} and len(mark["open"]) == 1
    change(mark)
    with pytest.raises((OSError, ValueError, KeyError, TypeError)):
        Store(tmp_path, SMALL).load(mark)


SITES = "abc"
#: URLs by queue: of the FIFOs by priority, of those set aside by priority and site.
Order = tuple[dict[bool, list[Url]], dict[tuple[bool, str], list[Url]]]


class Queues(RuleBasedStateMachine):
    """A Store behaves as deques do, however it is spilled, cut and loaded.

    In the model, `out` holds the URLs that left the queues and are still owed. A load puts them
    back into any of the queues; none may be lost or doubled.
    """

    @initialize()
    def begin(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.store = Store(self.folder, SMALL)
        self.fifos: dict[bool, deque[Url]] = {False: deque(), True: deque()}
        self.waits: dict[tuple[bool, str], deque[Url]] = {}
        self.out: list[Url] = []
        self.count = 0
        self.committed: tuple[Any, Counter[str], Order] | None = None

    def fifo(self, priority: bool) -> Fifo:
        return self.store.priority if priority else self.store.ordinary

    def wait(self, priority: bool) -> Backlogs:
        return self.store.priority_wait if priority else self.store.ordinary_wait

    @rule(sites=st.lists(st.sampled_from(SITES), min_size=1, max_size=12), priority=st.booleans())
    def put(self, sites: list[str], priority: bool) -> None:
        for site in sites:
            self.count += 1
            each = url(self.count, site, priority=priority)
            self.store.put(each)
            self.fifos[priority].append(each)

    @rule(priority=st.booleans(), number=st.integers(1, 12))
    def take(self, priority: bool, number: int) -> None:
        for _ in range(min(number, len(self.fifos[priority]))):
            self.out.append(take(self.fifo(priority)))
            assert self.out[-1] == self.fifos[priority].popleft()

    @rule(priority=st.booleans(), number=st.integers(1, 6))
    def set_aside(self, priority: bool, number: int) -> None:
        for _ in range(min(number, len(self.fifos[priority]))):
            set_aside(self.store, take(self.fifo(priority)))
            each = self.fifos[priority].popleft()
            self.waits.setdefault((priority, each.site), deque()).append(each)

    @precondition(lambda self: self.waits)
    @rule(data=st.data(), number=st.integers(1, 4))
    def take_waited(self, data: st.DataObject, number: int) -> None:
        lane = priority, site = data.draw(st.sampled_from(sorted(self.waits)))
        for _ in range(min(number, len(self.waits[lane]))):
            self.out.append(take(self.wait(priority), site))
            assert self.out[-1] == self.waits[lane].popleft()
        if not self.waits[lane]:
            del self.waits[lane]

    @precondition(lambda self: self.out)
    @rule(data=st.data(), number=st.integers(1, 6))
    def leave(self, data: st.DataObject, number: int) -> None:
        for _ in range(min(number, len(self.out))):
            each = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
            self.store.leave(each.place)

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def leave_all_but_one(self, data: st.DataObject) -> None:
        slow = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
        for each in self.out:
            self.store.leave(each.place)
        self.out = [slow]

    @rule()
    def spill(self) -> None:
        self.store.spill()

    @rule(is_committed=st.booleans())
    def cut(self, is_committed: bool) -> None:
        mark = self.store.cut()
        self.store.sync()
        if is_committed:
            self.committed = through_json(mark), self.owed(), self.order()
            self.store.tidy(mark)

    @precondition(lambda self: self.committed)
    @rule()
    def crash(self) -> None:
        """Another run resumes from the last committed cut."""
        assert self.committed is not None
        mark, owed, (fifos, waits) = self.committed
        self.store.close()
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        self.store = Store(self.folder, SMALL)
        self.store.load(mark)
        assert before == {path: path.read_bytes() for path in self.folder.iterdir()}
        assert Counter(self.store.lines()) == owed
        self.out = []
        for priority in (False, True):
            lines = [decode(line) for line in self.fifo(priority).lines()]
            # URLs keep the order in which they were put, so those that had left come first,
            # and all those that had not left are there.
            assert [number_of(each) for each in lines] == sorted(number_of(each) for each in lines)
            rest = fifos[priority]
            assert lines[len(lines) - len(rest) :] == rest
            self.fifos[priority] = deque(lines)
        self.waits = {}
        for priority in (False, True):
            wait = self.wait(priority)
            for site in wait.sites:
                lines = wait_urls(wait, site)
                self.waits[priority, site] = deque(lines)
                here = set(map(number_of, lines))
                kept = [u for u in waits.get((priority, site), []) if number_of(u) in here]
                assert lines[len(lines) - len(kept) :] == kept

    @rule(times=st.integers(1, 2))
    def restart(self, times: int) -> None:
        for _ in range(times):
            self.cut(is_committed=True)
            self.crash()

    def order(self) -> Order:
        return (
            {priority: list(fifo) for priority, fifo in self.fifos.items()},
            {lane: list(urls) for lane, urls in self.waits.items()},
        )

    def owed(self) -> Counter[str]:
        queued = [each for urls in self.fifos.values() for each in urls]
        waiting = [each for urls in self.waits.values() for each in urls]
        return Counter(map(encode, [*queued, *waiting, *self.out]))

    @invariant()
    def each_is_in_its_place(self) -> None:
        store = self.store
        for priority in (False, True):
            fifo, wait = self.fifo(priority), self.wait(priority)
            urls = self.fifos[priority]
            assert [decode(line) for line in fifo.lines()] == list(urls)
            assert len(fifo) == len(urls)
            lanes = {site: urls for (first, site), urls in self.waits.items() if first == priority}
            assert {*wait.sites} == lanes.keys()
            for site, waiting in lanes.items():
                assert wait_urls(wait, site) == list(waiting)
            assert len(wait) == sum(map(len, lanes.values()))
        out = Counter(map(encode, self.out))
        assert Counter(store.lines()) + out == self.owed()

    @invariant()
    def memory_is_bounded(self) -> None:
        """Only lines put since the last turn may be more."""
        for fifo in (self.store.priority, self.store.ordinary):
            assert len(fifo._head) < 3
        for wait in (self.store.priority_wait, self.store.ordinary_wait):
            tails = [line for site in wait._sites.values() for _, line in site.tail]
            cost = sum(SMALL.line_cost + len(line) for line in tails)
            assert cost == wait._in_tails <= 700
            assert all(len(site.head) < 3 for site in wait._sites.values())

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        for priority in (False, True):
            while self.fifos[priority]:
                self.take(priority, 9)
            for first, site in list(self.waits):
                for each in self.waits[first, site] if first == priority else ():
                    assert take(self.wait(first), site) == each
                    self.out.append(each)
        assert len(self.store) == 0
        self.store.close()
        self.temporary.cleanup()


def number_of(url: Url) -> int:
    """The number in the path of `url`."""
    return int(url.href.rsplit("/", 1)[1])


def wait_urls(wait: Backlogs, site: str) -> list[Url]:
    """The URLs set aside of a site, without taking them."""
    urls = map(decode, wait.lines())
    return [url for url in urls if url.site == site]


@pytest.mark.usefixtures("no_fsync")
class TestQueues(Queues.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# Searching.


def found(store: Store, href: str) -> tuple[Place | None, int]:
    """The position of `href`, and the number of steps that the search took."""
    search, steps = store.find(href), 0
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value, steps
        steps += 1


def test_urls_that_left_or_are_decided_are_not_found_in_a_block(tmp_path: Path) -> None:
    store = Store(tmp_path, StoreSizes(lines=10))
    for number in range(30):
        store.put(Url(f"http://a.test/{number}", 5))
    store.spill()
    search = store.find("http://a.test/15")
    next(search)
    taken = [take(store.ordinary) for _ in range(20)]
    for url in taken[:16]:
        store.leave(url.place)
    with pytest.raises(StopIteration) as end:
        while True:
            next(search)
    assert end.value.value is None
    # URLs with their site are owed from their block.
    assert store._blocks.search(taken[17].place >> 10, "http://a.test/17 ") == (4, 1)
    for url in taken[16:]:
        store.leave(url.place)
    assert store._blocks.search(taken[17].place >> 10, "http://a.test/17 ") == (0, None)
    assert found(store, "http://a.test/25") == (Place("ordinary", 5), 0)
    store.close()


def test_long_headers_and_long_lines_are_searched_too(tmp_path: Path) -> None:
    store = Store(tmp_path, SMALL)
    long = [f"http://a.test/{number}/{'x' * 6000}" for number in range(9)]
    for href in long:
        store.put(Url(href, 5))
    store.spill()
    for number, href in enumerate(long):
        assert found(store, href) == (Place("ordinary", number), number // 3)
    assert found(store, "http://a.test/1") == (None, 3)
    store.close()


def test_urls_set_aside_are_found_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path, SMALL)
    hrefs = [f"http://a.test/{number}" for number in range(130)]
    for href in hrefs:
        store.put(Url(href, 5))
    for _ in hrefs:
        set_aside(store, take(store.ordinary))
    for ahead in (0, 49, 50, 99, 100, 129):
        assert found(store, hrefs[ahead])[0] == Place("ordinary_wait", ahead)
    for _ in range(60):
        store.ordinary_wait.take("http://a.test")
    assert found(store, hrefs[70])[0] == Place("ordinary_wait", 10)
    assert found(store, "http://b.test/0")[0] is None
    store.close()
