"""The poller: callbacks of ready descriptors, also of those closed and opened again."""

import os
import socket
from collections.abc import Iterator

import pytest

from larbinpy.loop.poller import READ, WRITE, Poller

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def poller() -> Iterator[Poller]:
    poller = Poller()
    yield poller
    poller.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_the_owner_of_a_ready_descriptor_is_called(poller: Poller, pair: Pair) -> None:
    ours, theirs = pair
    calls: list[tuple[int, int]] = []
    poller.register(ours.fileno(), READ, lambda fd, events: calls.append((fd, events)))
    assert poller.wait(0) == 0
    theirs.send(b"x")
    assert poller.wait(0) == 1
    assert calls == [(ours.fileno(), READ)]
    assert repr(poller) == "<Poller 1 descriptors>"


def test_what_is_called_on_waking_may_take_away_the_owners(poller: Poller, pair: Pair) -> None:
    ours, theirs = pair
    calls: list[int] = []
    poller.register(ours.fileno(), READ, lambda fd, events: calls.append(fd))
    poller.woken = lambda: poller.unregister(ours.fileno())
    theirs.send(b"x")
    assert poller.wait(0) == 1
    assert calls == []


def test_the_events_can_change(poller: Poller, pair: Pair) -> None:
    ours, _ = pair
    calls: list[int] = []
    poller.register(ours.fileno(), READ, lambda fd, events: calls.append(events))
    poller.modify(ours.fileno(), READ | WRITE)
    poller.wait(0)
    poller.modify(ours.fileno(), READ)
    poller.wait(0)
    assert calls == [WRITE]


def test_registering_twice_takes_the_newer_owner(poller: Poller, pair: Pair) -> None:
    ours, _ = pair
    calls: list[str] = []
    poller.register(ours.fileno(), READ, lambda fd, events: calls.append("old"))
    poller.register(ours.fileno(), WRITE, lambda fd, events: calls.append("new"))
    poller.wait(0)
    assert calls == ["new"]


def test_a_number_that_was_closed_and_opened_again(poller: Poller) -> None:
    """As libcurl does, without a callback in between."""
    calls: list[int] = []
    first, other = socket.socketpair()
    number = first.fileno()
    poller.register(number, WRITE, lambda fd, events: calls.append(events))
    first.close()
    second = os.dup(other.fileno())
    try:
        assert second == number
        poller.modify(number, WRITE)
        poller.wait(0)
        assert len(calls) == 1
    finally:
        os.close(second)
        other.close()


def test_a_hang_up_is_both_readable_and_writable(poller: Poller) -> None:
    ours, theirs = socket.socketpair()
    calls: list[int] = []
    poller.register(ours.fileno(), 0, lambda fd, events: calls.append(events))
    theirs.close()
    assert poller.wait(0) == 1
    assert calls == [READ | WRITE]
    poller.unregister(ours.fileno())
    assert poller.wait(0) == 0
    ours.close()


def test_unregistering_is_harmless(poller: Poller, pair: Pair) -> None:
    ours, _ = pair
    poller.unregister(ours.fileno())
    poller.register(ours.fileno(), WRITE, lambda fd, events: pytest.fail())
    poller.unregister(ours.fileno())
    poller.unregister(-1)
    assert poller.wait(0) == 0
    assert repr(poller) == "<Poller 0 descriptors>"


def test_a_callback_may_unregister_another(poller: Poller) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    numbers = [ours.fileno() for ours, _ in pairs]
    calls: list[int] = []

    def only_one(fd: int, events: int) -> None:
        calls.append(fd)
        for number in numbers:
            poller.unregister(number)

    for number in numbers:
        poller.register(number, WRITE, only_one)
    poller.wait(0)
    assert len(calls) == 1
    for end in [end for ends in pairs for end in ends]:
        end.close()


def test_a_negative_timeout_is_no_wait(poller: Poller) -> None:
    assert poller.wait(-5) == 0
