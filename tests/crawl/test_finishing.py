"""The last work of the outputs when a crawl has ended, in slices."""

import errno
from collections.abc import Iterator

import pytest

from larbinpy.crawl.ending import Finishing
from larbinpy.output.plug import LeftOut, NoRefresh


class Work(NoRefresh):
    """Ten steps of 6 ms each by its own clock; the fourth fails the first time."""

    def __init__(self, fails: bool = False) -> None:
        self.now = 0.0
        self.done: list[int] = []
        self.fails = fails

    def clock(self) -> float:
        return self.now

    def finish(self, *, complete: bool, left_out: LeftOut = ()) -> Iterator[None]:
        for number in range(10):
            if number == 3 and self.fails:
                self.fails = False
                raise OSError(errno.ENOSPC, "full")
            self.now += 0.006
            self.done.append(number)
            yield


def test_it_goes_on_for_a_moment_each_turn_until_it_is_done() -> None:
    work = Work()
    finishing = Finishing(work, work.clock, 10.0)
    counts = []
    while not finishing.step(work.now, stop=False, complete=True):
        counts.append(len(work.done))
    assert counts == [4, 8]
    assert work.done == [*range(10)]
    assert not finishing.left
    assert finishing.step(work.now, stop=False, complete=True)
    assert len(work.done) == 10


def test_after_a_full_disk_it_begins_anew() -> None:
    work = Work(fails=True)
    finishing = Finishing(work, work.clock, 10.0)
    with pytest.raises(OSError):
        finishing.step(0.0, stop=False, complete=True)
    while not finishing.step(0.0, stop=False, complete=True):
        pass
    assert work.done == [0, 1, 2, *range(10)]


def test_a_stop_waits_ten_seconds_at_most() -> None:
    work = Work()
    finishing = Finishing(work, work.clock, 10.0)
    assert not finishing.step(100.0, stop=True, complete=True)
    assert not finishing.left
    assert finishing.step(110.0, stop=True, complete=True)
    assert finishing.left
    assert len(work.done) == 4


def test_with_nothing_to_do_it_is_done() -> None:
    assert Finishing(NoRefresh(), lambda: 0.0, 10.0).step(0.0, stop=False, complete=True)
