"""Power cuts and failing disks over whole checkpoints, at each operation in turn.

The last test has the parts of a crawl on the disk as the crawl assembles them.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.context import Context, Tuning
from larbinpy.crawl.on_disk import OnDisk
from larbinpy.crawl.requests import Logins
from larbinpy.output.modes import open_outputs
from larbinpy.page import Outcome, Page
from larbinpy.storage.state import Start, State
from larbinpy.url import Url
from tests.support.crashdisk import CrashDisk, Operation
from tests.support.frontiers import WALL, make_frontier
from tests.support.moments import moments
from tests.support.platter import EXTREMES, Keep
from tests.support.valuecrawl import NOTHING, ValueCrawl, small_parts
from tests.support.warcs import captures, warcs

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # `CrashDisk` decides what is durable, and the real disk would take long.
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    with small_parts():
        yield


class Disk:
    """Makes the pages durable on the disk below, at once."""

    error = None
    done = True

    def __init__(self, below: CrashDisk) -> None:
        self._below = below

    def begin(self, written: object) -> None:
        self._below.sync_all("pages")

    def wait(self) -> None:
        pass


class Zeros(Random):
    """Random numbers with zeros for garbage, as file systems with a journal leave."""

    def randbytes(self, n: int) -> bytes:
        return bytes(n)


class Cuts:
    """Cuts the power of a crawl repeatedly, and checks what is left each time."""

    def __init__(self, room: Path, crawl: ValueCrawl, disk: CrashDisk, *, number: int = 0) -> None:
        self._room = room
        self._crawl = crawl
        self._disk = disk
        self._number = number
        #: For each cut: 0 if the last committed state was found, 1 or more for a later one.
        self.found: list[int] = []

    def cut(self, keeps: Iterable[str] = EXTREMES, *, seeds: int = 1) -> None:
        """Check several possible remains of a power cut now; finish the crawl of one in twelve."""
        self._number += 1
        # With other garbage the index of the pages would be that of another crawl.
        chance = Zeros if self._crawl.pages else Random
        dice: Iterator[Keep] = (chance(f"{self._number} {seed}") for seed in range(seeds))
        ways: list[Keep] = [*keeps, *dice]
        for at, keep in enumerate(ways):
            label = f"cut {self._number} after {self._disk.operations[-1:]}, {keep}"
            left = self._disk.remains(self._room / "left", keep)
            try:
                self._look(left, Random(label), goes_on=self._number % 12 == at)
            except Exception as error:
                error.add_note(label)
                raise
            shutil.rmtree(left)

    def _look(self, left: Path, random: Random, *, goes_on: bool) -> None:
        saves = self._crawl.saves
        crawl = ValueCrawl(left, random, pages=self._crawl.pages)
        try:
            assert crawl.state.exists or NOTHING in saves
            # A scratch that was interrupted is repeated.
            crawl.scratch = self._crawl.scratch and not crawl.state.exists
            crawl.open()
            self.found.append(saves.index(crawl.saves[0]))
            if goes_on:
                crawl.run(slow=0.7)
                assert crawl.account().is_whole
                assert crawl.found() == crawl.account()
        finally:
            crawl.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if possible, as there are tens of thousands of files."""
    memory = "/dev/shm"
    where = memory if os.access(memory, os.W_OK) else tmp_path
    with TemporaryDirectory(dir=where) as name:
        yield Path(name)


@pytest.fixture
def folder(room: Path) -> Path:
    made = room / "run"
    made.mkdir()
    return made


@pytest.mark.parametrize("pages", [False, True])
def test_a_power_cut_at_any_point_leaves_the_old_state_or_the_new(
    folder: Path, room: Path, pages: bool
) -> None:
    with CrashDisk(folder) as disk:
        crawl = ValueCrawl(folder, pages=pages, disk=Disk(disk) if pages else None)
        cuts = Cuts(room, crawl, disk)

        def cut(operation: Operation) -> None:
            if not pages:
                cuts.cut(seeds=operation.number % 3 == 0)
            elif operation.kind in ("rename", "syncfs", "unlink") or operation.path.endswith(
                "index"
            ):
                cuts.cut(["bytes", "names"], seeds=2)

        disk.watch = cut
        crawl.open()
        crawl.run()
        assert crawl.account().is_whole
        crawl.close()
    cuts.cut(seeds=0)
    assert {0, 1} <= set(cuts.found)
    # All of these operations were among those interrupted.
    changed = {(operation.kind, Path(operation.path).suffix) for operation in disk.operations}
    assert changed >= {("unlink", ".table"), ("unlink", ".log"), ("unlink", ".00000018")}
    assert crawl.had_images


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that died in the middle of its fourth checkpoint."""
    folder = tmp_path_factory.mktemp("begun")
    with small_parts():
        crawl = ValueCrawl(folder)
        crawl.open()
        crawl.run(2)
        for _ in range(4):
            crawl.turn()
            crawl.save_some()
        crawl.close()
    return folder


#: Ways for a disk to fail, each with the kinds of operations: once, for a while, in one checkpoint
#: and the next, in the middle of a write.
WAYS: dict[str, tuple[list[str], dict[str, int]]] = {
    "once": ([], {}),
    "for a while": ([], {"times": 5}),
    "again": (["fsync"], {"times": 2}),
    "torn": (["write"], {"short": 20}),
}


@pytest.mark.parametrize("way", WAYS)
def test_after_a_failure_at_any_point_the_next_checkpoint_counts(
    folder: Path, room: Path, begun: Path, way: str
) -> None:
    kinds, how = WAYS[way]
    for moment in moments():
        nth = 1 + moment
        shutil.copytree(begun, folder, dirs_exist_ok=True)
        crawl, disk = ValueCrawl(folder, Random(nth // 20)), CrashDisk(folder)
        cuts = Cuts(room, crawl, disk, number=nth)
        with disk:
            crawl.open()
            disk.fail(nth, *kinds, error=(errno.ENOSPC, errno.EIO)[nth % 2], **how)
            begun_at = len(disk.operations)
            errors = go_on_until_saved(crawl, disk, cuts)
        crawl.close()
        shutil.rmtree(folder)
        assert errors <= how.get("times", 1)
        if nth > sum(not kinds or o.kind in kinds for o in disk.operations[begun_at:]):
            break
    assert nth > (10 if kinds else 60)


def go_on_until_saved(crawl: ValueCrawl, disk: CrashDisk, cuts: Cuts) -> int:
    """Go on to the first checkpoint after an error, or to the second one; the number of errors."""
    errors = saved = 0
    for _ in range(100):
        try:
            crawl.turn()
            is_saved = crawl.save_some()
        except OSError:
            errors += 1
            if errors == 1:
                with disk.away():
                    cuts.cut(["none"], seeds=1)
            continue
        if is_saved:
            # It must be on the disk now, whatever failed before.
            with disk.away():
                cuts.cut(["none"], seeds=0)
            saved += 1
            if errors or saved == 2:
                return errors
    raise AssertionError("no checkpoint works any more")


def test_a_power_cut_at_any_point_of_a_scratch_leaves_the_old_state_or_none(
    folder: Path, room: Path, begun: Path
) -> None:
    shutil.copytree(begun, folder, dirs_exist_ok=True)
    old = ValueCrawl(folder)
    old.open()
    assert old.saves[0].decided
    old.close()
    with CrashDisk(folder) as disk:
        crawl = ValueCrawl(folder, scratch=True)
        crawl.saves = old.saves
        cuts = Cuts(room, crawl, disk)
        disk.watch = lambda operation: cuts.cut()
        crawl.open()
        assert crawl.saves == [NOTHING]
        crawl.run(1)
        crawl.close()
    assert {0, 1} <= set(cuts.found)


def test_a_scratch_that_failed_at_any_point_is_made_again(
    folder: Path, room: Path, begun: Path
) -> None:
    for nth in count(1):
        shutil.copytree(begun, folder, dirs_exist_ok=True)
        disk = CrashDisk(folder)
        disk.fail(nth)
        for fails in (True, False):
            crawl = ValueCrawl(folder, scratch=True)
            try:
                with disk:
                    crawl.open()
                break
            except OSError:
                assert fails
                crawl.close()
        crawl.run(slow=0.7)
        assert crawl.found() == crawl.account()
        assert crawl.account().is_whole
        crawl.close()
        shutil.rmtree(folder)
        if len(disk.operations) < nth:
            break
    assert nth > 5


# The outputs of a crawl, as it assembles them.

#: Pages before the power cut; two fill a WARC file.
PAGES = 3


@contextmanager
def parts_on_disk(folder: Path, mode: str, start: Start) -> Iterator[OnDisk]:
    """The outputs, the log and the checkpoints of a crawl in `folder`; closed well at the end."""
    config = Config(
        user_agent="larbinpy",
        sender="operator@example.org",
        output_mode=(mode,),
        warc_size=3000,
        output_dir=str(folder / "out"),
        state_dir=str(folder / "state"),
    )
    with ExitStack() as closing:
        tuning = Tuning(clock=lambda: 0.0, wall=lambda: WALL)
        context = Context.open(config, closing, tuning)
        state = State(context.folder)
        state.lock()
        closing.callback(state.unlock)
        frontier = make_frontier(context.folder)
        output = open_outputs(context)
        parts = OnDisk(context, state, start, frontier, output, Logins(context.folder))
        parts.take_up(0.0)
        yield parts


def page_of(number: int) -> Page:
    body = Random(number).randbytes(600)
    return Page(Url(f"http://a.test/{number}", 5), Outcome.SUCCESS, status=200, body=body)


def kept_bodies(folder: Path, mode: str) -> list[bytes]:
    """The bodies of the pages that a closed output of `mode` holds."""
    if mode == "warc":
        return [body for found in captures(*warcs(folder)).values() for body in found]
    names = "d*/f*" if mode == "save" else "a.test/*"
    return [path.read_bytes() for path in folder.glob(names)]


@pytest.mark.parametrize("mode", ["save", "mirror", "warc"])
def test_pages_before_a_checkpoint_survive_a_power_cut(
    mode: str, room: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In WARC mode there are two files, of which one is complete."""
    spawn = os.posix_spawnp
    with parts_on_disk(folder, mode, Start.REFUSE) as parts, CrashDisk(folder) as disk:

        def sync(file: str, command: list[str], *more: Any, **options: Any) -> int:
            for name in command[command.index("-f") + 1 :]:
                disk.sync_all(os.path.relpath(name, folder))
            return spawn("true", ["true"], *more, **options)

        monkeypatch.setattr(os, "posix_spawnp", sync)
        parts.saving.save()
        for number in range(PAGES):
            parts.output.loaded(page_of(number))
        parts.saving.save()
        if mode != "warc":
            # In WARC mode the next page starts to build an index, which `CrashDisk` does not see.
            parts.output.loaded(page_of(PAGES))
        keeps: list[Keep] = [*EXTREMES, *map(Random, range(12))]
        for keep in keeps:
            left = disk.remains(room / "left", keep)
            with disk.away():
                check_resumed(left, mode, keep)
            shutil.rmtree(left)


def check_resumed(left: Path, mode: str, keep: object) -> None:
    """All pages are there, and the crawl goes on with another one."""
    with parts_on_disk(left, mode, Start.RESUME) as parts:
        parts.output.loaded(page_of(PAGES))
    bodies = [page_of(number).body for number in range(PAGES + 1)]
    assert sorted(kept_bodies(left / "out", mode)) == sorted(bodies), keep
    if mode == "warc":
        indexes = [path.read_text() for path in (left / "out").glob("*.cdxj")]
        assert len(indexes) == 2, keep
        assert len("".join(indexes).splitlines()) == len(bodies), keep
