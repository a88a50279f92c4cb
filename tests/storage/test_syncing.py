"""Bringing files to the disk in a child process, and the checkpoint that waits for it."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy.crawl.on_disk import saved_by
from larbinpy.loop.poller import Poller
from larbinpy.output.log import CrawlLog
from larbinpy.storage.state import Checkpoints, SavedPart, State, StateError
from larbinpy.storage.syncing import Syncing
from tests.support.crawling import Asked, World, html, missing, one_line
from tests.support.frontiers import make_frontier
from tests.support.processes import cpu
from tests.support.webserver import Step, Until

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

#: Longest wait for an event, on a busy machine (s).
PATIENCE = 30.0


@pytest.fixture
def poller() -> Iterator[Poller]:
    before = open_files()
    poller = Poller()
    yield poller
    assert repr(poller) == "<Poller 0 descriptors>"
    poller.close()
    assert open_files() == before


def open_files() -> set[str]:
    folder = "/proc/self/fd"
    return {f"{fd} {os.readlink(f'{folder}/{fd}')}" for fd in os.listdir(folder) if live(fd)}


def live(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The ids of the processes that were started; none may be left at the end."""
    begun: list[int] = []
    spawn = os.posix_spawnp

    def noting(*args: Any, **kwargs: Any) -> int:
        begun.append(spawn(*args, **kwargs))
        return begun[-1]

    monkeypatch.setattr(os, "posix_spawnp", noting)
    yield begun
    for child in begun:
        with pytest.raises(ChildProcessError):
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG)


class Command:
    """A command `sync` of the test: it records its arguments, and may wait or fail."""

    def __init__(self, folder: Path, *lines: str) -> None:
        folder.mkdir()
        self._calls = folder / "calls"
        os.mkfifo(folder / "gate")
        self._gate = os.open(folder / "gate", os.O_RDWR)
        text = ["#!/bin/sh", f"cd {folder}", 'echo "$@" >> calls', *lines]
        (folder / "sync").write_text("\n".join(text) + "\n")
        (folder / "sync").chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def end(self, status: int = 0) -> None:
        """Let the command that waits end."""
        os.write(self._gate, b"%d\n" % status)

    def close(self) -> None:
        os.close(self._gate)


#: Waits until `end`.
HELD = 'read status < gate; exit "$status"'
#: Returns at once for the checkpoint at the start.
LATER = "[ $(wc -l < calls) -gt 1 ] || exit 0"

Make = Callable[..., Command]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Command] = []

    def make(*lines: str) -> Command:
        folder = tmp_path / "bin"
        made.append(Command(folder, *lines))
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return made[0]

    yield make
    for each in made:
        each.close()


def wait(poller: Poller, syncing: Syncing) -> None:
    for _ in range(10):
        if syncing.done:
            break
        poller.wait(PATIENCE / 10)
    assert syncing.done


def test_the_command_of_this_system(tmp_path: Path, poller: Poller, children: list[int]) -> None:
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    assert repr(syncing) == "<Syncing 1 folders under way>"
    wait(poller, syncing)
    assert syncing.error is None
    assert len(children) == 1
    assert repr(syncing) == "<Syncing 1 folders done>"


def test_the_folders_are_arguments_of_the_command(
    tmp_path: Path,
    poller: Poller,
    children: list[int],
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sync = command()
    monkeypatch.chdir(tmp_path)
    syncing = Syncing(poller, ["-out", tmp_path])
    monkeypatch.chdir("/")
    syncing.begin(1)
    wait(poller, syncing)
    assert sync.calls == [f"-f {tmp_path}/-out {tmp_path}"]


def test_the_loop_wakes_when_the_child_ends(
    tmp_path: Path, poller: Poller, children: list[int], command: Make
) -> None:
    sync = command(HELD)
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    assert poller.wait(0) == 0
    assert not syncing.done
    sync.end()
    # A single wait, however long.
    assert poller.wait(PATIENCE) == 1
    assert syncing.done
    assert syncing.error is None


def test_waiting_without_the_loop(
    tmp_path: Path, poller: Poller, children: list[int], command: Make
) -> None:
    sync = command(HELD)
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    sync.end(2)
    syncing.wait()
    assert syncing.done
    assert syncing.error is not None
    syncing.wait()


def test_without_folders_nothing_is_done(poller: Poller, children: list[int]) -> None:
    syncing = Syncing(poller, [])
    syncing.begin(1)
    syncing.begin(2)
    assert syncing.done
    assert children == []


def test_without_new_pages_nothing_is_done(
    tmp_path: Path, poller: Poller, children: list[int]
) -> None:
    syncing = Syncing(poller, [tmp_path])
    for written in ({"save": 1}, {"save": 1}, {"save": 2}, {"save": 2}):
        syncing.begin(written)
        wait(poller, syncing)
    assert len(children) == 2


def test_one_at_a_time(tmp_path: Path, poller: Poller, children: list[int], command: Make) -> None:
    """A child that is under way may miss bytes written since it began."""
    sync = command(HELD)
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    sync.end()
    syncing.begin(2)
    assert len(children) == 2
    assert not syncing.done
    sync.end()
    wait(poller, syncing)
    assert syncing.error is None


@pytest.mark.parametrize("line", ["exit 1", "kill -KILL $$"])
def test_a_failure_is_final(
    line: str, tmp_path: Path, poller: Poller, children: list[int], command: Make
) -> None:
    """The system reports a lost page only once."""
    command(line)
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    wait(poller, syncing)
    assert isinstance(syncing.error, OSError)
    assert syncing.error.errno == errno.EIO
    assert syncing.error.filename == str(tmp_path)
    assert repr(syncing) == "<Syncing 1 folders failed>"
    syncing.begin(2)
    assert syncing.error
    assert len(children) == 1


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of sync(2), which do nothing."""
    calls: list[str] = []
    monkeypatch.setattr(os, "sync", lambda: calls.append("sync"))
    return calls


def test_a_system_without_the_command(
    tmp_path: Path, poller: Poller, by_itself: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    assert syncing.done
    assert syncing.error is None
    assert by_itself == ["sync"]


def test_a_program_that_collects_all_children(
    tmp_path: Path, poller: Poller, children: list[int], by_itself: list[str]
) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        syncing = Syncing(poller, [tmp_path])
        syncing.begin(1)
        wait(poller, syncing)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert syncing.error is None
    assert by_itself == ["sync"]


def test_a_kernel_without_pidfd_open(
    tmp_path: Path, poller: Poller, children: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    syncing = Syncing(poller, [tmp_path])
    syncing.begin(1)
    assert syncing.done
    assert syncing.error is None


# The checkpoint that waits for it.


class Outputs(SavedPart):
    """Outputs as a part of the state; `calls` is shared with the disk."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.mark = 0

    def cut(self) -> dict[str, int]:
        self.calls.append("cut")
        return {"pages": self.mark}

    def sync(self) -> None:
        self.calls.append("sync")

    def load(self, mark: dict[str, int]) -> None:
        self.calls.append(f"load {mark['pages']}")


class Disk(Syncing):
    """A disk that is busy until the test ends it."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.free = True
        self.error: OSError | None = None

    @property
    def done(self) -> bool:
        return self.free

    def begin(self, written: object) -> None:
        self.calls.append(f"begin {written}")
        self.free = False

    def wait(self) -> None:
        raise AssertionError("the test makes all steps")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[CrawlLog]:
    log = CrawlLog(tmp_path / "crawl.jsonl")
    yield log
    log.close()


def manifest(folder: Path) -> Any:
    path = folder / "state.json"
    return json.loads(path.read_bytes()) if path.exists() else None


def test_the_manifest_comes_after_all_of_it(tmp_path: Path, log: CrawlLog) -> None:
    calls: list[str] = []
    outputs, disk = Outputs(calls), Disk(calls)
    frontier = make_frontier(tmp_path)
    steps = State(tmp_path).checkpoint(saved_by(frontier, log, outputs, disk), 0.0)
    assert next(steps) is True
    outputs.mark = 7
    assert [next(steps) for _ in range(5)] == [False] * 5
    assert calls == ["cut", "begin {'pages': 0}"]
    disk.free = True
    assert manifest(tmp_path) is None
    assert set(steps) == {True}
    assert calls == ["cut", "begin {'pages': 0}", "sync"]
    assert manifest(tmp_path)["outputs"] == {"pages": 0}
    again = make_frontier(tmp_path)
    State(tmp_path).load(saved_by(again, log, outputs), 0.0)
    assert calls[3:] == ["load 0"]
    frontier.close()
    again.close()


def test_an_error_of_the_disk_keeps_the_last_manifest(tmp_path: Path, log: CrawlLog) -> None:
    outputs, disk = Outputs([]), Disk([])
    frontier = make_frontier(tmp_path)
    state = State(tmp_path)
    assert list(state.checkpoint(saved_by(frontier, log, outputs), 0.0))
    before = manifest(tmp_path)
    assert before["outputs"] == {"pages": 0}
    steps = state.checkpoint(saved_by(frontier, log, outputs, disk), 1.0)
    assert [next(steps), next(steps)] == [True, False]
    disk.free, disk.error = True, OSError(errno.EIO, "gone")
    with pytest.raises(OSError, match="gone"):
        next(steps)
    assert manifest(tmp_path) == before
    state.load(saved_by(make_frontier(tmp_path), log, outputs), 0.0)
    assert outputs.calls[-1] == "load 0"
    frontier.close()


def test_outputs_that_are_not_whole_are_damage(tmp_path: Path, log: CrawlLog) -> None:
    class Short(Outputs):
        def load(self, mark: dict[str, int]) -> None:
            raise ValueError("index is shorter than it was")

    frontier = make_frontier(tmp_path)
    assert list(State(tmp_path).checkpoint(saved_by(frontier, log, Outputs([])), 0.0))
    with pytest.raises(StateError, match=r"damaged \(index is shorter"):
        State(tmp_path).load(saved_by(make_frontier(tmp_path), log, Short([])), 0.0)
    frontier.close()


def test_checkpoints_are_not_due_while_they_wait_for_the_disk(
    tmp_path: Path, log: CrawlLog, poller: Poller, children: list[int], command: Make
) -> None:
    sync = command(HELD)
    outputs = Outputs([])
    syncing = Syncing(poller, [tmp_path])
    frontier = make_frontier(tmp_path)
    checkpoints = Checkpoints(State(tmp_path), saved_by(frontier, log, outputs, syncing), 5.0)
    checkpoints.begin(0.0)
    assert checkpoints.deadline == -inf
    checkpoints.step()
    assert checkpoints.deadline == -inf
    for _ in range(3):
        checkpoints.step()
        assert checkpoints.under_way
        assert checkpoints.deadline != -inf
    sync.end()
    wait(poller, syncing)
    for _ in range(20):
        checkpoints.step()
        assert (checkpoints.deadline == -inf) == checkpoints.under_way
    assert not checkpoints.under_way
    assert manifest(tmp_path)["outputs"] == {"pages": 0}

    # A checkpoint that is wanted at once is made, whatever is under way.
    outputs.mark = 1
    checkpoints.begin(5.0)
    checkpoints.step()
    checkpoints.step()
    outputs.mark = 2
    sync.end()
    sync.end()
    checkpoints.save(6.0, ended=True)
    assert len(children) == 3
    assert manifest(tmp_path)["outputs"] == {"pages": 2}
    frontier.close()


# Whole crawls.


class Site:
    """A page with links to others; the last one is answered once `open` is set."""

    def __init__(self, world: World, *settings: str) -> None:
        self.open = False
        self.web = world.web(self._answer, "site.test")
        world.conf(f"startUrl {self.web.url()}", "limitTime 60 canReload", *settings)

    def _answer(self, asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield html(*self.pages, "/held")
        elif asked.path in self.pages:
            yield html(text=asked.path)
        elif asked.path == "/held":
            yield Until(lambda: self.open)
            yield html()
        else:
            yield missing()

    pages = tuple(f"/{number}" for number in range(5))

    @property
    def urls(self) -> set[str]:
        return {self.web.url(path) for path in ("/", "/held", *self.pages)}

    def saved(self, world: World) -> list[str]:
        """The URLs of the pages in save mode, each of which is in its file."""
        found = []
        index = (world.out / "d00000/index").read_text()
        for number, line in enumerate(index.splitlines()):
            said, _, url = line.partition(" ")
            assert int(said) == number
            body = (world.out / f"d00000/f{number:05}").read_bytes()
            assert (b"/held" in body) == (url == self.web.url())
            found.append(url)
        assert len(os.listdir(world.out / "d00000")) == len(found) + 1
        return found


def test_killed_and_resumed_in_save_mode(world: World) -> None:
    """Pages fetched again after the last checkpoint are saved once in the end."""
    site = Site(world, "outputMode save canReload off")
    for flags in ((), ("--resume",), ("--resume",)):
        crawler = world.crawl(*flags)
        world.until(lambda: crawler.out.count("\n") == 6)  # noqa: B023
        crawler.signal(signal.SIGKILL)
        world.finish(crawler)
    site.open = True
    assert world.run("--resume").process.returncode == 0
    assert sorted(site.saved(world)) == sorted(site.urls)
    assert set(world.outcomes()) == site.urls
    assert site.web.count("/0") == 4


def test_the_crawl_goes_on_while_the_disk_is_slow(world: World, command: Make) -> None:
    """No state is saved before it is done, and waiting takes no processor time."""
    sync = command(LATER, HELD)
    site = Site(world, "debug")
    crawler = world.crawl()
    world.until(lambda: len(sync.calls) == 2)
    saved = (world.state / "state.json").read_bytes()
    seconds, begun = crawler.err.count("requests in flight"), cpu(crawler.process.pid)
    world.until(lambda: crawler.err.count("requests in flight") >= seconds + 2)
    assert cpu(crawler.process.pid) - begun < 0.3
    site.open = True
    world.until(lambda: len(world.fates) == 7)
    assert (world.state / "state.json").read_bytes() == saved
    assert len(sync.calls) == 2
    # For the checkpoint that waits, and for the last one.
    sync.end()
    sync.end()
    assert world.finish(crawler) == 0
    assert len(sync.calls) == 3
    assert (world.state / "state.json").read_bytes() != saved


def test_a_disk_that_loses_pages_ends_the_crawl(
    world: World, command: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier state stays, as it is unknown which pages are whole."""
    path = os.environ["PATH"]
    command(LATER, "exit 1")
    site = Site(world)
    crawler = world.run()
    assert crawler.process.returncode == 3
    said = one_line(crawler)
    assert str(world.out) in said
    assert "--resume from the last save" in said
    assert set(world.larbinpy("frontier", str(world.state)).out.split()) == {site.web.url()}
    monkeypatch.setenv("PATH", path)
    site.open = True
    assert world.run("--resume").process.returncode == 0
    assert set(world.outcomes()) == site.urls


def test_the_child_ignores_signals(world: World, command: Make) -> None:
    """Ctrl-C on a terminal and the end of a service signal all processes of the crawl."""
    sync = command(HELD)
    Site(world)
    crawler = world.crawl()
    world.until(lambda: len(sync.calls) == 1)
    for number in (signal.SIGHUP, signal.SIGINT):
        os.killpg(crawler.process.pid, number)
    sync.end()
    sync.end()
    assert world.finish(crawler) == 11
    assert crawler.err == ""


@pytest.mark.parametrize("mode", ["none", "stats"])
def test_without_files_there_is_no_child(mode: str, world: World, command: Make) -> None:
    sync = command("exit 1")
    site = Site(world, f"outputMode {mode}")
    site.open = True
    assert world.run().process.returncode == 0
    assert sync.calls == []
