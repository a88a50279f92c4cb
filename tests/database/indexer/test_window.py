"""The window of pages under way: their order, and when a batch is due."""

from collections import deque
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.indexer.indexer import Job, Window
from larbinpy.database.preparation import Gone
from larbinpy.storage.spool import Position, RecordPlace

GONE = Gone("http://a.test/", "2026-11-23T08:00:00Z", 404)


def place(number: int) -> RecordPlace:
    return RecordPlace(Position(0, 10 * number), Position(0, 10 * number + 10), number, 0.0)


def filled(count: int) -> tuple[Window, list[Job]]:
    window = Window()
    for number in range(count):
        window.add(place(number))
    return window, list(window.to_read)


def numbers(jobs: list[Job]) -> list[int]:
    return [job.place.number for job in jobs]


def test_a_batch_waits_for_more_pages_but_not_long() -> None:
    window, jobs = filled(3)
    assert window.deadline == inf
    window.done(jobs[0], GONE, 5, now=100.0)
    assert window.batch(100.4) == []
    assert window.deadline == 100.5
    assert numbers(window.batch(100.5)) == [0]


def test_a_batch_is_written_at_once_if_no_page_is_left_to_wait_for() -> None:
    window, jobs = filled(2)
    window.done(jobs[1], GONE, 5, now=1.0)
    assert window.batch(9.0) == []
    window.done(jobs[0], GONE, 5, now=9.0)
    assert numbers(window.batch(9.0)) == [0, 1]
    window.written(Position(0, 20), 9.0)
    assert (len(window), window.batch(inf), window.deadline) == (0, [], inf)


def test_a_full_batch_is_written_at_once() -> None:
    window, jobs = filled(700)
    for job in jobs[:600]:
        window.done(job, GONE, 5, now=1.0)
    assert numbers(window.batch(1.0)) == list(range(500))
    window.written(Position(0, 5000), 2.0)
    assert window.batch(2.4) == []
    assert numbers(window.batch(2.5)) == list(range(500, 600))


def test_many_bytes_are_a_full_batch_and_fill_the_window() -> None:
    window, jobs = filled(3)
    assert window.has_room
    for job in jobs[:2]:
        window.done(job, GONE, 40 << 20, now=1.0)
    assert not window.has_room
    assert numbers(window.batch(1.0)) == [0]
    window.written(Position(0, 10), 1.0)
    assert window.has_room


def test_pages_of_a_lost_reader_come_first() -> None:
    window, jobs = filled(4)
    window.to_read.popleft()
    window.to_read.popleft()
    window.put_back(jobs[:2])
    assert list(window.to_read) == jobs


def test_results_for_a_cleared_window_are_dropped() -> None:
    window, jobs = filled(2)
    window.clear()
    window.done(jobs[0], GONE, 5, now=1.0)
    window.put_back(jobs[1:])
    assert (len(window), list(window.to_read), window.deadline) == (0, [], inf)


def test_a_cleared_window_takes_as_many_bytes_as_before() -> None:
    window, jobs = filled(3)
    for job in jobs:
        window.done(job, GONE, 40 << 20, now=1.0)
    assert not window.has_room
    window.clear()
    window.add(place(0))
    window.add(place(1))
    window.done(window.to_read[0], GONE, 33 << 20, now=2.0)
    assert window.has_room
    window.done(window.to_read[1], GONE, 33 << 20, now=2.0)
    assert not window.has_room
    assert numbers(window.batch(2.0)) == [0]


@given(st.permutations(range(30)), st.lists(st.integers(1, 6)))
def test_pages_are_written_in_their_order_whatever_the_readers_do(
    order: list[int], steps: list[int]
) -> None:
    window, jobs = filled(30)
    pace, written, now = deque(steps), [], 0.0
    for number in order:
        window.done(jobs[number], GONE, 1, now)
        now += pace.popleft() / 10 if pace else 0.1
        batch = window.batch(now)
        written += numbers(batch)
        if batch:
            window.written(batch[-1].place.end, now)
    assert written == list(range(30))
