import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from frontiers import WALL, World, links, make_frontier

from larbinpy.frontier import disk_queue as disk_queue_module
from larbinpy.frontier import state as state_module
from larbinpy.frontier import store as store_module
from larbinpy.frontier.state import State, StateError
from larbinpy.url import Url

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Segments of three URLs, so that there are some."""
    monkeypatch.setattr(store_module, "SEGMENT", 3)


def urls(*numbers):
    return [f"http://a.test/{number}" for number in numbers]


@pytest.fixture
def frontier(tmp_path):
    """One that owes eleven URLs: in segments, at both ends of queues and with a site."""
    frontier = make_frontier(tmp_path, max_urls=16)
    for url in urls(*range(10)):
        frontier.seed(url)
    frontier.store.spill()
    for _ in range(4):
        frontier.sites.join(frontier.sequencer.take(), 0.0)
    frontier.seed("http://b.test/", depth=2, priority=True)
    frontier.digests.add([77])
    return frontier


def owed(frontier):
    return sorted([url.href for url in frontier.store] + [url.href for url in frontier.in_memory()])


def load(folder):
    frontier = make_frontier(folder, max_urls=16)
    State(folder).load(frontier, 0.0)
    return frontier


def test_a_saved_crawl_goes_on(frontier, tmp_path):
    state = State(tmp_path)
    assert not state.exists
    state.save(frontier, 0.0)
    assert state.exists
    again = load(tmp_path)
    assert owed(again) == owed(frontier) == sorted([*urls(*range(10)), "http://b.test/"])
    assert again.owed == 11
    assert again.sequencer.load == frontier.sequencer.load
    assert again.seed("http://a.test/3") is not None, "it was seen"
    assert again.digests.add([77]) == [False]
    assert again.seed_hosts == {"a.test", "b.test"}
    # What had left the queues comes first.
    assert [next(iter(again.store.priority)).href] == urls(0)
    assert {u.href: u.depth for u in again.store.priority}["http://b.test/"] == 2
    assert sorted(url.href for url in state.owed()) == owed(frontier)
    world = World(again, now=WALL)
    world.run()
    assert len(world.outcomes()) == 11


def test_a_url_keeps_its_tries_and_its_standing(tmp_path):
    frontier = make_frontier(tmp_path)
    there = Url("http://a.test/x?y", 2, "http://b.test/", 2, 3, True, True)
    frontier.sequencer.put(there)
    State(tmp_path).save(frontier, 0.0)
    assert list(State(tmp_path).owed()) == [there]


def test_a_wait_goes_on_from_when_the_state_is_loaded(tmp_path):
    frontier = make_frontier(tmp_path, least=30)
    frontier.seed("http://a.test/")
    World(frontier, now=1000.0).run(1010.0)
    waits = frontier.waits(1010.0)
    assert waits == {"198.51.100.1": pytest.approx(20.1)}
    State(tmp_path).save(frontier, 1010.0, ended=True)
    again = make_frontier(tmp_path, least=30)
    State(tmp_path).load(again, 7.0)
    assert again.waits(7.0) == waits
    world = World(again, now=7.0)
    world.run()
    assert world.starts[0].at == pytest.approx(27.1)


def test_after_a_kill_no_address_is_asked_before_wait_duration(tmp_path):
    """Whom it asked since it last saved, the state does not know."""
    frontier = make_frontier(tmp_path, least=30)
    frontier.seed("http://a.test/")
    State(tmp_path).save(frontier, 0.0)
    again = make_frontier(tmp_path, least=30)
    State(tmp_path).load(again, 7.0)
    world = World(again, now=7.0)
    world.run()
    assert world.starts[0].at == 37.0


def test_a_state_without_hosts_of_seeds_is_none(frontier, tmp_path):
    State(tmp_path).save(frontier, 0.0)
    path = tmp_path / "state.json"
    manifest = json.loads(path.read_bytes())
    del manifest["seed_hosts"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(StateError) as error:
        load(tmp_path)
    assert "seed_hosts" in one_line(error)


def test_saving_again_leaves_nothing_behind(frontier, tmp_path):
    state = State(tmp_path)
    for _ in range(3):
        state.save(frontier, 0.0)
    manifest = json.loads((tmp_path / "state.json").read_bytes())
    named = {name for queue in manifest["queues"].values() for name in queue["segments"]}
    found = {path.name for path in tmp_path.iterdir()}
    assert found == named | {"state.json", "seen.bin", "digests.bin"}


def test_without_a_save_there_is_nothing_to_load(tmp_path):
    with pytest.raises(StateError, match="no saved crawl here"):
        load(tmp_path)
    with pytest.raises(StateError, match="no saved crawl here"):
        list(State(tmp_path).owed())


def test_scratch_forgets_all(frontier, tmp_path):
    state = State(tmp_path)
    state.lock()
    state.save(frontier, 0.0)
    (tmp_path / "crawl.jsonl").write_text("{}\n")
    (tmp_path / "notes.txt").write_text("somebody else's")
    state.clear()
    state.clear()
    assert not state.exists
    assert {path.name for path in tmp_path.iterdir()} == {"lock", "notes.txt"}
    state.unlock()


# Damage.


def saved_files(folder):
    return sorted(path.name for path in folder.iterdir())


def damages(data):
    """Ways in which the bytes of a file can be wrong."""
    middle = bytearray(data)
    middle[len(middle) // 2] ^= 0xFF
    return {"torn": data[:-5], "empty": b"", "flipped": bytes(middle), "noise": b"\x00\xff" * 40}


def one_line(error):
    text = str(error.value)
    assert "\n" not in text and len(text) < 400
    return text


@pytest.mark.parametrize("kind", ["torn", "empty", "flipped", "noise", "missing"])
def test_every_damaged_file_is_one_error(frontier, tmp_path, kind):
    state = State(tmp_path)
    frontier.seed("http://c.test/" + "x" * 100)
    state.save(frontier, 0.0)
    tried = 0
    for name in saved_files(tmp_path):
        if name.endswith(".bin") and kind in ("flipped", "noise"):
            continue  # any bytes are fingerprints
        path = tmp_path / name
        whole = path.read_bytes()
        if kind == "missing":
            path.unlink()
        else:
            path.write_bytes(damages(whole)[kind])
        with pytest.raises(StateError) as error:
            load(tmp_path)
        assert str(tmp_path) in one_line(error)
        assert "--scratch" in one_line(error) or kind == "missing"
        path.write_bytes(whole)
        tried += 1
    assert tried >= 5
    assert load(tmp_path).owed == 12


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"queues": 7},
        {"queues": []},
        {"queues": {}},
        {"queues": {name: {} for name in ("priority", "ordinary")}},
        {"seen": 10**18},
        {"seen": -1},
        {"seen": "many"},
        {"seen": None},
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
def test_every_wrong_value_is_one_error(frontier, tmp_path, changes):
    State(tmp_path).save(frontier, 0.0)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))
    with pytest.raises(StateError) as error:
        load(tmp_path)
    one_line(error)


@pytest.mark.parametrize(
    "changes",
    [
        {"segments": ["../outside"]},
        {"segments": [5]},
        {"segments": "abc"},
        {"segments": ["\0"]},
        {"segments": None},
        {"length": 3},
        {"length": "4"},
        {"serial": "x"},
        {"serial": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("queue", ["ordinary", "ordinary_wait"])
def test_every_wrong_queue_is_one_error(frontier, tmp_path, queue, changes):
    State(tmp_path).save(frontier, 0.0)
    path = tmp_path / "state.json"
    manifest = json.loads(path.read_bytes())
    saved = manifest["queues"]
    name = next(name for name in saved if name.startswith(queue) and saved[name]["length"])
    saved[name] |= changes
    path.write_text(json.dumps(manifest))
    with pytest.raises(StateError) as error:
        load(tmp_path)
    one_line(error)


@pytest.mark.parametrize("text", ["[]", "5", "null", "{}", '"x"', "{", ""])
def test_every_wrong_manifest_is_one_error(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    for use in (load, lambda folder: list(State(folder).owed())):
        with pytest.raises(StateError) as error:
            use(tmp_path)
        one_line(error)


def test_a_damaged_queue_is_one_error_for_those_who_only_look(frontier, tmp_path):
    State(tmp_path).save(frontier, 0.0)
    segment = next(tmp_path.glob("ordinary.*"))
    segment.write_bytes(segment.read_bytes()[:-3])
    with pytest.raises(StateError) as error:
        list(State(tmp_path).owed())
    assert "damaged" in one_line(error)


# Full disks.


class Disk:
    """Fails from write number `room` on."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self.writes = 0
        original = disk_queue_module.write_atomic

        def write(path, chunks):
            self.use(path)
            original(path, chunks)

        def fsync(fd):
            self.use(None)

        monkeypatch.setattr(disk_queue_module, "write_atomic", write)
        monkeypatch.setattr(state_module, "write_atomic", write)
        monkeypatch.setattr(os, "fsync", fsync)

    def use(self, path):
        self.writes += 1
        if self.writes > self.room:
            raise OSError(errno.ENOSPC, "No space left on device", path and str(path))


def work_on(frontier):
    """A bit of crawling, so that the queues have changed."""
    for _ in range(3):
        frontier.sites.join(frontier.sequencer.take(), 0.0)
    found = links(*[f"http://a.test/new/{number}" for number in range(8)])
    frontier.admit(Url("http://a.test/", 4), found, 0.0)


def test_a_full_disk_leaves_the_last_save_in_force(frontier, tmp_path):
    state = State(tmp_path)
    state.save(frontier, 0.0)
    before = owed(frontier)
    known = len(frontier.seen)
    work_on(frontier)
    room, states = 0, []
    while True:
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, room)
            try:
                state.save(frontier, 0.0)
                break
            except OSError:
                pass
        again = load(tmp_path)
        # Only the very last step, after the rename, may fail with the new one in force.
        state_is = (owed(again), len(again.seen))
        assert state_is in [(before, known), (owed(frontier), known + 8)], disk.writes
        states.append(state_is[0])
        room += 1
    assert room >= 5
    assert states[:-1] == [before] * (room - 1)
    again = load(tmp_path)
    assert owed(again) == owed(frontier) != before
    assert len(again.seen) == known + 8


def test_a_crawl_may_go_on_after_a_failed_save(frontier, tmp_path):
    state = State(tmp_path)
    for room in range(6):
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, room)
            with pytest.raises(OSError):
                state.save(frontier, 0.0)
        if room == 2:
            work_on(frontier)
    state.save(frontier, 0.0)
    assert owed(load(tmp_path)) == owed(frontier)


# The lock.


def test_a_second_crawl_is_kept_out(tmp_path):
    first, second = State(tmp_path / "state"), State(tmp_path / "state")
    first.lock()
    with pytest.raises(StateError, match=f"in use by process {os.getpid()}") as error:
        second.lock()
    one_line(error)
    assert repr(first) == f"<State {tmp_path / 'state'} locked>"
    assert repr(second) == f"<State {tmp_path / 'state'} free>"
    first.unlock()
    second.lock()
    second.unlock()
    second.unlock()


def test_the_lock_of_a_killed_crawl_is_taken_over(tmp_path):
    code = """
import sys
from pathlib import Path
from larbinpy.frontier.state import State
state = State(Path(sys.argv[1]))
state.lock()
print("locked", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
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


def test_a_folder_that_cannot_be_had_is_the_systems_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        State(tmp_path / "file").lock()
