"""Turns on a Redis whose clock is set: the own clock decides how long they can be old."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hiredis
import pytest

from larbinpy.fleet.redis.scripts import Keys
from larbinpy.fleet.redis.vault import RedisTurns, ServerClock
from larbinpy.fleet.redis.wire import Endpoint
from larbinpy.fleet.vault import Away

ADDRESS = "192.0.2.1"
HOUR_MS = 3_600_000


def test_a_clock_that_goes_is_not_put() -> None:
    clock = ServerClock()
    assert clock.told(5000.0, 0.0, 0.1) == 0.0
    # An answer that took 20 s may tell the time of its begin or of its end.
    assert clock.told(5021.0, 1.0, 21.0) == 0.0
    assert clock.told(5021.5, 21.0, 41.0) == 0.0
    # One that is set right in small steps goes faster or slower for a while.
    assert clock.told(5075.0, 71.0, 71.0) == 0.0
    assert clock.told(5074.9, 71.1, 71.1) == 0.0
    assert clock.ahead_at < 0


@pytest.mark.parametrize("step", [0.8, 3600.0, -2.0, -3600.0])
def test_a_clock_that_is_put_is_noticed_once(step: float) -> None:
    clock = ServerClock()
    clock.told(5000.0, 0.0, 0.1)
    assert clock.told(5001.0 + step, 1.0, 1.1) == pytest.approx(step, abs=0.2)
    assert clock.told(5002.0 + step, 2.0, 2.1) == 0.0
    assert (clock.ahead_at == 1.1) == (step > 0)


class Redis:
    """Replies as the test says, at times that it says."""

    def __init__(self) -> None:
        self.now = 0.0
        #: What the time of day of Redis is ahead of `now` (s).
        self.ahead = 5000.0
        self.sent: list[tuple[list[bytes], Callable[[Any], None]]] = []
        self.soon: list[Callable[[], None]] = []
        link = SimpleNamespace(server=Endpoint("127.0.0.1", 6379))
        self.topology = SimpleNamespace(owner=lambda slot: link)
        self.turns = RedisTurns(self, Keys("n"))  # type: ignore[arg-type]
        self.turns.begin("one.1")

    def clock(self) -> float:
        return self.now

    def send(self, slot: int, data: bytes, then: Callable[[Any], None]) -> None:
        reader = hiredis.Reader()
        reader.feed(data)
        arguments: Any = reader.gets()
        self.sent.append((arguments[4:], then))

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def ask(self, reply: Any = None) -> tuple[list[bytes], int | Away]:
        """The arguments after the key of a question for the turn, and the answer to `reply`.

        Without a reply it is granted.
        """
        answers: list[int | Away] = []
        self.turns.turn(ADDRESS, 5000, answers.append)
        arguments: list[bytes] = []
        if self.soon:
            self.soon.pop()()
        else:
            arguments, then = self.sent.pop()
            assert answers == []
            then(int((self.now + self.ahead) * 1000) if reply is None else reply)
        [answer] = answers
        return arguments, answer


def test_a_turn_of_another_is_over_when_it_has_outlasted_its_time() -> None:
    redis = Redis()
    held = [b"two.1:1:1:3000", HOUR_MS]
    assert redis.ask(held) == ([b"one.1:1:2:5000", b"5000", b""], 3000)
    redis.now = 2.0
    assert redis.ask(held)[1] == 1000
    # It was renewed, so its node lives.
    renewed = [b"two.1:1:2:3000", HOUR_MS]
    assert redis.ask(renewed)[1] == 3000
    redis.now = 4.9
    arguments, left = redis.ask(renewed)
    assert (arguments[2], left) == (b"", 100)
    redis.now = 5.0
    arguments, left = redis.ask()
    assert (arguments[2], left) == (b"two.1:1:2:3000", 0)
    # That was for this time.
    assert redis.ask(renewed)[0][2] == b""


def test_redis_is_believed_when_it_says_less() -> None:
    redis = Redis()
    assert redis.ask([b"two.1:1:1:3000", 40])[1] == 40
    assert redis.ask([b"two.1:1:1:3000", 0])[1] == 1
    # Somebody has made it last for ever; and a value of somebody else.
    assert redis.ask([b"two.1:1:1:3000", -1])[1] == 3000
    assert redis.ask([b"x", -1])[1] == 5000


def test_no_turn_is_used_that_a_clock_put_ahead_has_ended() -> None:
    redis = Redis()
    assert redis.ask()[1] == 0
    redis.now = 1.0
    redis.ahead += 3600
    assert redis.ask()[1] == 5000
    # It is given back, as the others may go on with it.
    [(rest, _)] = redis.sent
    assert rest[2] == b"0"
    assert list(redis.turns.news()) == [
        "the clock of Redis 127.0.0.1:6379 was put 3600 s ahead: "
        "addresses rest for 10 s and waitDuration"
    ]
    redis.now = 5.5
    assert redis.ask() == ([], 500)
    redis.now = 6.0
    assert redis.ask()[1] == 0
    assert list(redis.turns.news()) == []


def test_a_clock_put_ahead_is_noticed_by_any_answer() -> None:
    redis = Redis()
    redis.turns.told(7, 5000.0, 0.0)
    redis.now = 1.0
    redis.turns.told(7, 8601.0, 1.0)
    assert redis.ask() == ([], 5000)


def test_a_clock_put_back_is_said() -> None:
    redis = Redis()
    redis.ask()
    redis.ahead -= 600
    assert redis.ask()[1] == 0
    assert list(redis.turns.news()) == [
        "the clock of Redis 127.0.0.1:6379 was put 600 s back: "
        "requests wait for up to waitDuration more"
    ]


def test_a_turn_that_ended_is_neither_renewed_nor_ended_again() -> None:
    redis = Redis()
    redis.ask()
    redis.turns.rest(ADDRESS, 3000)
    assert [arguments[2] for arguments, _ in redis.sent] == [b"3000"]
    redis.turns.renew([ADDRESS], 5000)
    redis.turns.rest(ADDRESS, 3000)
    assert len(redis.sent) == 1


def test_turns_of_the_session_before_are_left_alone() -> None:
    """Another may have them by now: Redis can have forgotten them."""
    redis = Redis()
    redis.ask()
    redis.turns.renew([ADDRESS], 5000)
    assert len(redis.sent) == 1
    redis.turns.begin("one.2")
    redis.turns.renew([ADDRESS], 5000)
    redis.turns.rest(ADDRESS, 3000)
    assert len(redis.sent) == 1


def test_an_away_is_passed_on() -> None:
    assert isinstance(Redis().ask(Away())[1], Away)
