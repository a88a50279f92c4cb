"""When a process that died is started again."""

import pytest

from larbinpy.cli.nodes.node import Restarts, in_words


def test_it_waits_longer_each_time_and_gives_up_at_last() -> None:
    restarts, now, waits = Restarts(), 100.0, []
    for _ in range(5):
        restarts.started(now)
        waits.append(restarts.died(now + 0.5))
        now += waits[-1] or 0.0
    assert waits == [1.0, 2.0, 4.0, 8.0, None]


def test_one_that_lived_may_die_as_often_as_a_new_one() -> None:
    restarts = Restarts()
    for number in range(20):
        restarts.started(100.0 * number)
        assert restarts.died(100.0 * number + 60) == 1.0


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (1, "died with status 1"),
        (-9, "was killed by SIGKILL"),
        (-35, "was killed by signal 35"),
    ],
)
def test_its_end_in_words(status: int, words: str) -> None:
    assert in_words(status) == words
