import errno
import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.crawl.on_disk import saved_by
from larbinpy.frontier.frontier import Frontier
from larbinpy.output.log import CrawlLog
from larbinpy.output.plug import NullOutput
from larbinpy.page import Fate
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.sizes import StoreSizes
from larbinpy.storage.state import (
    Saved,
    SavedPart,
    SavedValue,
    State,
    StateError,
    StateInUse,
    _json,
)
from larbinpy.url import Url, fingerprint
from tests.support import frontiers
from tests.support.checkout import ROOT
from tests.support.faultydisk import CHANGES, WRITES, FaultyDisk, Killed
from tests.support.frontiers import (
    WALL,
    World,
    links,
    owed,
    waits_of,
)

pytestmark = pytest.mark.slow

#: Blocks have four URLs, those of a site two, and files few blocks.
SMALL = StoreSizes(lines=4, file_size=300, site_lines=2)
make_frontier = partial(frontiers.make_frontier, sizes=SMALL)


def urls(*numbers: int) -> list[str]:
    return [f"http://a.test/{number}" for number in numbers]


class Log(SavedPart):
    """A crawl log without a disk."""

    def __init__(self) -> None:
        self.loaded: int | str | None = None

    def cut(self) -> dict[str, int]:
        return {"length": 7}

    def sync(self) -> None:
        pass

    def load(self, mark: dict[str, int]) -> None:
        self.loaded = mark["length"]

    def clear(self) -> None:
        self.loaded = "cleared"


def save(
    state: State, frontier: Frontier, now: float = 0.0, *, log: Log | None = None, **more: Any
) -> None:
    for _ in state.checkpoint(saved_by(frontier, log or Log()), now, **more):
        pass


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[Frontier]:
    """A frontier that owes eleven URLs, at all places where a URL can be."""
    frontier = make_frontier(tmp_path, max_urls=6)
    for url in urls(*range(10)):
        frontier.seed(url)
    frontier.sequence(0.0)
    frontier.seed("http://b.test/", depth=2, priority=True)
    frontier.remember([77])
    yield frontier
    frontier.close()


def load(folder: Path, now: float = 0.0, **settings: Any) -> Frontier:
    frontier = make_frontier(folder, max_urls=6, **settings)
    frontier.resume(now, ended=State(folder).load(saved_by(frontier, Log()), now))
    return frontier


def test_a_saved_crawl_goes_on(frontier: Frontier, tmp_path: Path) -> None:
    state, log = State(tmp_path), Log()
    assert not state.exists
    save(state, frontier)
    assert state.exists
    again = make_frontier(tmp_path, max_urls=6)
    again.resume(0.0, ended=state.load(saved_by(again, log), 0.0))
    assert log.loaded == 7
    assert owed(again) == owed(frontier) == sorted([*urls(*range(10)), "http://b.test/"])
    assert again.owed == 11
    assert (again.sequencer.by_site, again.sequencer.in_memory) == ({}, 0)
    assert again.seed("http://a.test/3") is not None, "it was seen"
    assert [again.is_duplicate([digest]) for digest in (77, 78)] == [True, False]
    assert again.scope.area.hosts == {"a.test", "b.test"}
    assert {u.href: u.depth for u in owed_urls(State(tmp_path))}["http://b.test/"] == 2
    world = World(again, now=WALL)
    world.run()
    assert len(world.outcomes()) == 11
    again.close()


def test_urls_that_had_left_the_queues_come_first(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path)
    for href in urls(*range(8)):
        frontier.seed(href)
    for url in frontier.sequencer.take(4):
        frontier.lifecycle.join(url, 0.0)
    save(State(tmp_path), frontier)
    again = load(tmp_path)
    assert [url.href for url in again.sequencer.take(5)][:2] == urls(0, 1)
    for each in (frontier, again):
        each.close()


def test_a_url_keeps_its_fields(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path)
    there = Url("http://a.test/x?y", 2, "http://b.test/", 0, 3, True, True)
    frontier.sequencer.put(there)
    save(State(tmp_path), frontier)
    assert list(owed_urls(State(tmp_path))) == [there]
    frontier.close()


def test_a_wait_goes_on_from_when_the_state_is_loaded(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, least=30)
    frontier.seed("http://a.test/")
    World(frontier, now=1000.0).run(1010.0)
    waits = waits_of(frontier, 1010.0)
    assert waits == {"198.51.100.1": pytest.approx(20.1)}
    save(State(tmp_path), frontier, 1010.0, ended=True)
    again = load(tmp_path, 7.0, least=30)
    assert waits_of(again, 7.0) == waits
    world = World(again, now=7.0)
    world.run()
    assert world.starts[0].at == pytest.approx(27.1)
    for each in (frontier, again):
        each.close()


def test_after_a_kill_no_address_is_asked_before_wait_duration(tmp_path: Path) -> None:
    """The state does not know which addresses were asked after it was saved."""
    frontier = make_frontier(tmp_path, least=30)
    frontier.seed("http://a.test/")
    save(State(tmp_path), frontier)
    again = load(tmp_path, 7.0, least=30)
    world = World(again, now=7.0)
    world.run()
    assert world.starts[0].at == 37.0
    for each in (frontier, again):
        each.close()


def test_saving_again_leaves_nothing_behind(frontier: Frontier, tmp_path: Path) -> None:
    state = State(tmp_path)
    before = None
    for _ in range(4):
        save(state, frontier)
        found = saved_files(tmp_path)
        assert before in (None, found)
        before = found
    world = World(frontier)
    world.run()
    save(state, frontier)
    assert len(list(tmp_path.glob("urls.*"))) == 1
    assert not [name for name in saved_files(tmp_path) if name.endswith(".part")]


def test_without_a_save_there_is_nothing_to_load(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no saved crawl here"):
        load(tmp_path)
    with pytest.raises(StateError, match="no saved crawl here"):
        list(owed_urls(State(tmp_path)))


def test_scratch_forgets_all(frontier: Frontier, tmp_path: Path) -> None:
    state, log = State(tmp_path), Log()
    state.lock()
    save(state, frontier)
    (tmp_path / "notes.txt").write_text("not ours")
    fresh = make_frontier(tmp_path)
    for _ in range(2):
        state.clear(saved_by(fresh, log))
    assert not state.exists
    assert log.loaded == "cleared"
    assert saved_files(tmp_path) == ["lock", "notes.txt"]
    state.unlock()


@pytest.mark.parametrize("nth", range(1, 5))
def test_half_of_a_scratch_is_no_state(frontier: Frontier, tmp_path: Path, nth: int) -> None:
    state = State(tmp_path)
    save(state, frontier)
    disk = FaultyDisk()
    disk.kill(nth)
    with disk.under("unlink"), pytest.raises(Killed):
        state.clear(saved_by(make_frontier(tmp_path), Log()))
    assert state.exists == (nth == 1)
    if nth == 1:
        assert owed(load(tmp_path)) == owed(frontier)


def test_listing_owed_urls_changes_nothing(frontier: Frontier, tmp_path: Path) -> None:
    """The torn ends of files that a kill leaves are ignored, and stay."""
    save(State(tmp_path), frontier)
    for path in tmp_path.iterdir():
        if path.name != "state.json":
            with path.open("ab") as file:
                file.write(b"#3 17 torn")
    (tmp_path / "urls.00000099").write_text("begun after the last save")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    disk = FaultyDisk()
    disk.fail(1, errno.EROFS, times=100)
    with disk.under(*(name for name in CHANGES if name != "open")):
        for _ in range(2):
            found = sorted(url.href for url in owed_urls(State(tmp_path)))
    assert found == owed(frontier)
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()
    }


# Damage.


def saved_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def damages(data: bytes) -> dict[str, bytes]:
    """Damaged versions of the bytes of a file, by kind of damage."""
    middle = bytearray(data)
    middle[len(middle) // 2] ^= 0xFF
    return {"torn": data[:-5], "empty": b"", "flipped": bytes(middle), "noise": b"\x00\xff" * 40}


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text and len(text) < 400
    return text


def take_up(folder: Path) -> list[str]:
    """The URLs that a resumed run owes, sorted."""
    frontier = load(folder)
    try:
        return sorted(url.href for url in map(Url, owed(frontier), [0] * frontier.owed))
    finally:
        frontier.close()


@pytest.mark.parametrize("kind", ["torn", "empty", "flipped", "noise", "missing"])
def test_every_damaged_file_is_one_error(frontier: Frontier, tmp_path: Path, kind: str) -> None:
    """Damage to the files of the queues is found at the latest when the block is read."""
    frontier.seed("http://c.test/" + "x" * 100)
    save(State(tmp_path), frontier)
    expected = owed(frontier)
    tried = 0
    for name in saved_files(tmp_path):
        path = tmp_path / name
        whole = path.read_bytes()
        if kind == "missing":
            path.unlink()
        else:
            path.write_bytes(damages(whole)[kind])
        try:
            # Finished blocks are not read, so their damage has no effect.
            assert take_up(tmp_path) == expected
            assert kind == "flipped" and name.startswith("urls.")
        except StateError:
            with pytest.raises(StateError) as error:
                load(tmp_path)
            assert str(tmp_path) in one_line(error)
            assert "--scratch" in one_line(error) or kind == "missing"
        except OSError as late:
            assert late.filename == str(path)
        path.write_bytes(whole)
        tried += 1
    assert tried >= 5
    assert take_up(tmp_path) == expected


WRONG: tuple[Any, ...] = (7, [], {}, None, "x")


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"format": None},
        *({part: wrong} for part in ("store", "seen", "log") for wrong in WRONG),
        {"store": {"blocks": {}, "heads": {}}},
        {"store": {"blocks": [], "heads": []}},
        {"store": {"blocks": {"files": [], "open": []}, "heads": {}}},
        {"store": {"blocks": {"files": 5, "open": {}}, "heads": {}}},
        {"store": {"blocks": {"files": [5], "open": {}}, "heads": {}}},
        {"store": {"blocks": {"files": [["1", 5]], "open": {}}, "heads": {}}},
        {"store": {"blocks": {"files": [], "open": {"1": 7}}, "heads": {}}},
        {"store": {"blocks": {"files": [[10**30, 10**30]], "open": {}}, "heads": {}}},
        {"store": {"blocks": {"files": [], "open": {}}, "heads": {"-": 10**30}}},
        {"store": {"blocks": {"files": [], "open": {}}, "heads": 5}},
        {"digests": [1]},
        {"waits": 5},
        {"waits": [5]},
        {"waits": {"http://a.test": "long"}},
        {"waits": {"http://a.test": None}},
        {"seed_hosts": 5},
        {"seed_hosts": None},
    ],
    ids=str,
)
def test_every_wrong_value_is_one_error(
    frontier: Frontier, tmp_path: Path, changes: dict[str, Any]
) -> None:
    save(State(tmp_path), frontier)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))
    with pytest.raises(StateError) as error:
        load(tmp_path)
    one_line(error)
    if "store" in changes:
        with pytest.raises(StateError) as error:
            list(owed_urls(State(tmp_path)))
        one_line(error)


def test_every_missing_value_is_one_error(frontier: Frontier, tmp_path: Path) -> None:
    save(State(tmp_path), frontier)
    path = tmp_path / "state.json"
    manifest = json.loads(path.read_bytes())
    for key in manifest:
        path.write_text(json.dumps({name: manifest[name] for name in manifest if name != key}))
        with pytest.raises(StateError) as error:
            load(tmp_path)
        one_line(error)
    assert len(manifest) >= 8


@pytest.mark.parametrize(
    "text", ["[]", "5", "null", "{}", '"x"', "{", "", "\0", "\xff", "[" * 99_999]
)
def test_every_wrong_manifest_is_one_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text, "latin-1")
    for use in (load, lambda folder: list(owed_urls(State(folder)))):
        with pytest.raises(StateError) as error:
            use(tmp_path)
        one_line(error)


def test_a_damaged_queue_is_one_error_when_owed_urls_are_listed(
    frontier: Frontier, tmp_path: Path
) -> None:
    save(State(tmp_path), frontier)
    path = max(tmp_path.glob("urls.*"))
    whole = path.read_bytes()
    for wrong in (whole[:-3], whole.replace(b"http", b"hppt")):
        path.write_bytes(wrong)
        with pytest.raises(StateError) as error:
            list(owed_urls(State(tmp_path)))
        assert "damaged" in one_line(error)


# A failure of the disk at each of its operations.

UNIVERSE = [*urls(*range(60)), *(f"http://b.test/{number}" for number in range(60))]
FINGERPRINTS = {url: fingerprint(url) for url in UNIVERSE}


#: The URLs that are owed, and those that were seen.
Known = tuple[Counter[str], set[str]]


class Crawl:
    """A frontier, a log and a state in `folder`: enough of a crawl to be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.frontier = make_frontier(folder, max_urls=8)
        self.log = CrawlLog(folder / "crawl.jsonl")
        self.state = State(folder)
        self.saved = saved_by(self.frontier, self.log)

    def load(self) -> "Crawl":
        self.frontier.resume(0.0, ended=self.state.load(self.saved, 0.0))
        return self

    def known(self) -> Known:
        """The content of a checkpoint: the URLs that are owed, and those that were seen."""
        seen = self.frontier.seen
        urls = {url for url, number in FINGERPRINTS.items() if number in seen}
        assert len(seen) == len(urls)
        return Counter(owed(self.frontier)), urls

    def logged(self) -> set[str]:
        lines = (self.folder / "crawl.jsonl").read_bytes().splitlines()
        return {json.loads(line)["url"] for line in lines}

    def work(self, first: int) -> None:
        """Find URLs, send some to their sites, and decide the fate of the later ones there."""
        found = [*UNIVERSE[first : first + 9], *UNIVERSE[first + 60 : first + 64]]
        self.frontier.admit(Url("http://a.test/", 4), links(*found), 0.0)
        self.frontier.sequence(0.0)
        for site in self.frontier.registry:
            urls = site.drain()
            stay = max(1, len(urls) - 2)
            for url in urls[:stay]:
                site.park(url)
            for url in urls[stay:]:
                self.frontier.sequencer.done(url)
                self.log.write(fate(url))
        self.frontier.sequence(0.0)

    def save(self) -> None:
        for _ in self.state.checkpoint(self.saved, 0.0):
            pass

    def die(self) -> None:
        """End as a killed process does: the content of the memory is lost."""
        self.frontier.close()
        self.log._waiting.clear()
        self.log.close()


Act = Callable[[Crawl], object]


def fate(url: Url) -> Fate:
    return Fate("2030-01-01T00:00:00Z", url.href, "success", 200, 1, "t", 1, None, "ip", 1, 0)


def each_point(tmp_path: Path) -> Iterator[tuple[Crawl, FaultyDisk, Known, dict[str, Any]]]:
    """A crawl for each operation on the disk that can fail.

    Writes may go wrong in the middle, too. Yields the crawl, its disk, what its last
    checkpoint holds, and the point.
    """
    points = [{"nth": 1, "torn": False}]
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        folder.mkdir()
        crawl, disk = Crawl(folder), FaultyDisk()
        for first in (0, 9):
            crawl.work(first)
            crawl.save()
        old = crawl.known()
        crawl.work(18)
        yield crawl, disk, old, point
        if disk.struck and not point["torn"]:
            points.append({"nth": point["nth"] + 1, "torn": False})
            if disk.struck in WRITES:
                points.append(point | {"torn": True})
    assert len(points) > 20


def found(folder: Path) -> Known:
    """The content of the state that a resumed run loads, after checks that it is whole."""
    crawl = Crawl(folder).load()
    known, logged = crawl.known(), crawl.logged()
    assert set(known[0].values()) == {1}
    # Otherwise a URL that was seen and is in no queue would never be fetched.
    assert known[1] == known[0].keys() | logged
    # A resumed run begins with a checkpoint, and may end directly after it.
    crawl.save()
    crawl.die()
    again = Crawl(folder).load()
    assert (again.known(), again.logged()) == (known, logged)
    again.die()
    return known


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def save_while_working(crawl: Crawl) -> None:
    """Changes between the steps are not part of a checkpoint."""
    steps = crawl.state.checkpoint(crawl.saved, 0.0)
    for number, _ in enumerate(steps):
        if number in (0, 3):
            crawl.work(27 + 5 * number)


@pytest.mark.parametrize("act", [Crawl.save, save_while_working])
def test_a_kill_at_any_point_leaves_the_old_state_or_the_new(
    tmp_path: Path, no_fsync: None, act: Act
) -> None:
    states = []
    for crawl, disk, old, point in each_point(tmp_path):
        new = crawl.known()
        assert new != old
        disk.kill(**point)
        with disk.under(*CHANGES), suppress(Killed):
            act(crawl)
        crawl.die()
        known = found(crawl.folder)
        assert known in (old, new)
        states.append((point["nth"], known == new))
        assert disk.struck or known == new
    # No later failure undoes a checkpoint that counts.
    found_new = [is_new for _, is_new in sorted(states)]
    assert found_new == sorted(found_new)
    assert set(found_new) == {False, True}


@pytest.mark.parametrize("act", [Crawl.save, save_while_working])
def test_a_full_disk_at_any_point_leaves_the_old_state_or_the_new(
    tmp_path: Path, no_fsync: None, act: Act
) -> None:
    states = []
    for crawl, disk, old, point in each_point(tmp_path):
        new = crawl.known()
        disk.fail(**point)
        with disk.under(*CHANGES):
            if fails(act, crawl):
                assert disk.struck
        crawl.die()
        known = found(crawl.folder)
        assert known in (old, new)
        states.append(known == new)
    assert set(states) == {False, True}


@pytest.mark.parametrize("act", [Crawl.save, save_while_working])
def test_after_a_full_disk_the_same_crawl_goes_on_and_saves(
    tmp_path: Path, no_fsync: None, act: Act
) -> None:
    for crawl, disk, _, point in each_point(tmp_path):
        # A failed write is cut off again, unless that fails too.
        disk.fail(**point, times=1 if point["torn"] else 3)
        before = crawl.known()
        with disk.under(*CHANGES):
            for _ in range(2):
                fails(act, crawl)
        disk.heal()
        if act is Crawl.save:
            assert crawl.known() == before
        crawl.work(50)
        new = crawl.known()
        crawl.save()
        crawl.die()
        assert found(crawl.folder) == new


def fails(act: Act, crawl: Crawl) -> bool:
    try:
        act(crawl)
    except OSError as error:
        assert error.errno == errno.ENOSPC
        return True
    return False


def test_files_do_not_pile_up_over_checkpoints_that_fail(tmp_path: Path, no_fsync: None) -> None:
    crawl, disk = Crawl(tmp_path), FaultyDisk()
    most = 0
    for turn in range(100):
        crawl.work(turn % 50)
        disk.fail(turn % 17 + 1, torn=True)
        with disk.under(*CHANGES):
            fails(Crawl.save, crawl)
        disk.heal()
        most = max(most, len(saved_files(tmp_path)))
        if len(crawl.known()[1]) == len(UNIVERSE):
            break
    crawl.save()
    new = crawl.known()
    crawl.die()
    assert found(tmp_path) == new
    assert len(saved_files(tmp_path)) <= most <= 30


# The lock.


def test_a_second_crawl_is_kept_out(tmp_path: Path) -> None:
    first, second = State(tmp_path / "state"), State(tmp_path / "state")
    first.lock()
    with pytest.raises(StateError, match=f"in use by process {os.getpid()}") as error:
        second.lock()
    one_line(error)
    assert repr(first) == f"<State {tmp_path / 'state'} locked>"
    assert repr(second) == f"<State {tmp_path / 'state'} free>"
    first.unlock()
    second.lock()
    assert (tmp_path / "state" / "lock").read_text() == str(os.getpid())
    second.unlock()
    # The number may later be that of another process.
    assert (tmp_path / "state" / "lock").read_text() == ""
    second.unlock()


def test_the_lock_of_a_killed_crawl_is_taken_over(tmp_path: Path) -> None:
    code = """
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from larbinpy.storage.state import State
state = State(Path(sys.argv[1]))
state.lock()
print("locked", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        said = other.stdout.readline()
        assert said == "locked\n"
        state = State(tmp_path)
        with pytest.raises(StateError, match=f"in use by process {other.pid}"):
            state.lock()
        other.send_signal(signal.SIGKILL)
        other.wait()
    state.lock()
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    state.unlock()


def test_the_lock_is_held_by_all_that_inherited_it(tmp_path: Path) -> None:
    code = """
import subprocess, sys
from pathlib import Path
from larbinpy.storage.state import State
state = State(Path(sys.argv[1]))
state.lock()
print(subprocess.Popen(["cat"], pass_fds=[state.held]).pid, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    state = State(tmp_path)
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        left = int(first.stdout.readline())
        pidfd = os.pidfd_open(left)
        with pytest.raises(StateInUse, match=f"in use by process {first.pid};") as error:
            state.lock()
        assert error.value.owner == first.pid
        first.kill()
        first.wait()
        with pytest.raises(StateInUse) as error:
            state.lock()
        assert error.value.owner == first.pid
        one_line(error)
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        assert select.select([pidfd], [], [], 20.0)[0]
        os.close(pidfd)
    state.lock()
    state.unlock()


def test_an_unlocked_state_is_free_while_others_have_the_descriptor(tmp_path: Path) -> None:
    first, second = State(tmp_path), State(tmp_path)
    first.lock()
    inherited = os.dup(first.held)
    first.unlock()
    second.lock()
    second.unlock()
    os.close(inherited)


def test_a_folder_that_cannot_be_made_raises_the_systems_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        State(tmp_path / "file").lock()


@pytest.mark.parametrize(
    "value",
    [{}, [], {"a": []}, {"a": {}}, {"a": {"b": [1, 2, 3]}}, [[1, 2], [3]], {"a": 1, "b": None}],
)
@pytest.mark.parametrize("entries", [1, 2, 9])
def test_json_in_pieces_is_json(value: Any, entries: int) -> None:
    assert json.loads("".join(_json(value, entries))) == value


_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=3), inner, max_size=5)
        | st.dictionaries(st.text(max_size=3), st.integers(), max_size=5).map(Counter)
        | st.dictionaries(st.integers(), inner, max_size=5)
    ),
    max_leaves=30,
)


def as_read(value: Any) -> Any:
    """`value` as JSON gives it back: its keys are texts, and a Counter is a dict."""
    if isinstance(value, list):
        return [as_read(each) for each in value]
    if isinstance(value, dict):
        return {str(key): as_read(entry) for key, entry in value.items()}
    return value


@given(value=_VALUES, entries=st.integers(1, 6))
def test_what_is_saved_is_read_back(value: Any, entries: int) -> None:
    assert json.loads("".join(_json(value, entries))) == as_read(value)


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 2000, 2500])
@pytest.mark.parametrize("kind", [dict, Counter])
def test_a_table_of_any_size_is_read_back(tmp_path: Path, size: int, kind: Any) -> None:
    """By the sizes of a crawl, in whose state the counts of rules are such a table."""
    table = kind({f"reject host:s{number}.example": number for number in range(size)})
    state, saved = State(tmp_path), Saved({}, {"totals": Table(table)})
    for _ in state.checkpoint(saved, 0.0):
        pass
    again = Table({})
    state.load(Saved({}, {"totals": again}), 0.0)
    assert again.value == table


class Table(SavedValue):
    def __init__(self, value: Any) -> None:
        self.value = value

    def cut(self, now: float, *, ended: bool) -> Any:
        return self.value

    def load(self, value: Any, now: float) -> None:
        self.value = value


@pytest.mark.parametrize("key", [("a", 1), None, 1.5, b"a"])
@pytest.mark.parametrize("entries", [1, 9])
def test_a_key_that_would_not_be_read_back_is_refused_at_any_size(key: Any, entries: int) -> None:
    with pytest.raises(TypeError, match="a key of the state is no text"):
        list(_json({"counts": {key: 1, "b": 2}}, entries))


def test_json_of_numbers_as_keys() -> None:
    for entries in (1, 9):
        text = "".join(_json({"open": {1: 2, 1 << 70: 3}}, entries))
        assert json.loads(text) == {"open": {"1": 2, str(1 << 70): 3}}


def test_the_manifest_has_the_keys_and_types_of_format_1(
    frontier: Frontier, tmp_path: Path
) -> None:
    """A state of an earlier version of the program can be resumed."""
    saved = saved_by(frontier, Log(), NullOutput())
    for _ in State(tmp_path).checkpoint(saved, 0.0, ended=True):
        pass
    manifest = json.loads((tmp_path / "state.json").read_bytes())
    assert {key: type(value) for key, value in manifest.items()} == {
        "format": int,
        "log": dict,
        "outputs": dict,
        "store": dict,
        "seen": dict,
        "digests": dict,
        "ended": bool,
        "seed_hosts": dict,
        "waits": dict,
        "traps": dict,
        "rules": dict,
        "site_counts": type(None),
    }
    assert (manifest["format"], manifest["ended"]) == (1, True)
    assert sorted(manifest["seed_hosts"]["hosts"]) == ["a.test", "b.test"]
