"""Connections and links by told clocks: when a server is away, and when it is tried again."""

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import hiredis
import pytest

from larbinpy.fleet.redis import link
from larbinpy.fleet.redis.link import (
    AWAY,
    SILENCE,
    Connection,
    LinkState,
    RedisCall,
    RedisLink,
    SystemAddress,
)
from larbinpy.fleet.redis.wire import Endpoint, pack
from larbinpy.loop.poller import Poller
from tests.support.ports import free_port
from tests.support.scriptedredis import ScriptedRedis

PING = pack("PING")
#: More than the system takes at once.
LARGE = pack("SET", "x", b"x" * (1 << 26))


@pytest.fixture
def poller() -> Iterator[Poller]:
    made = Poller()
    yield made
    made.close()


class Wire:
    """A connection, and the socket of its server."""

    def __init__(self, poller: Poller) -> None:
        self.now = 100.0
        self.poller = poller
        self.is_open = False
        self.ends: list[str] = []
        self.replies: list[Any] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            place = SystemAddress(socket.AF_INET, listener.getsockname())
            self.connection = Connection(
                poller,
                lambda: self.now,
                self,  # type: ignore[arg-type]
                place,
            )
            self.server, _ = listener.accept()

    def close(self) -> None:
        self.connection.close()
        self.server.close()

    def opened(self) -> None:
        self.is_open = True

    def failed(self, request: RedisCall, error: hiredis.ReplyError) -> None:
        self.replies.append(error)

    def ended(self, why: str) -> None:
        self.ends.append(why)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20.0
        while not holds():
            assert time.monotonic() < deadline
            self.poller.wait(0.02)

    def send(self, data: bytes = PING) -> None:
        self.connection.send(deque([RedisCall(data, self.replies.append)]))

    def say(self, data: bytes) -> None:
        """What the server says; it is read."""
        self.server.sendall(data)
        assert self.poller.wait(20.0) == 1

    @property
    def left(self) -> float | None:
        """Seconds of silence that are left."""
        due = self.connection.deadline
        return None if due is None else due - self.now


@pytest.fixture
def wire(poller: Poller) -> Iterator[Wire]:
    made = Wire(poller)
    yield made
    made.close()


def test_the_silence_of_a_server_begins_when_something_is_due(wire: Wire) -> None:
    assert wire.left == SILENCE
    wire.now += 1.0
    assert wire.left == SILENCE - 1.0, "it may not accept the connection at all"
    wire.until(lambda: wire.is_open)
    assert wire.left is None
    wire.now += 60.0
    wire.send()
    assert wire.left == SILENCE
    wire.now += 2.0
    # What is sent meanwhile says nothing about the server.
    wire.send()
    assert wire.left == SILENCE - 2.0
    wire.now += 2.0
    wire.say(b"+PO")
    assert (wire.left, wire.replies) == (SILENCE, [])
    wire.now += 2.0
    wire.say(b"NG\r\n+PONG\r\n")
    assert (wire.left, wire.replies) == (None, [b"PONG", b"PONG"])


def test_a_server_that_takes_bytes_is_not_silent(wire: Wire) -> None:
    wire.until(lambda: wire.is_open)
    wire.send(LARGE)
    assert not wire.connection.has_room
    assert wire.poller.wait(0.0) == 0
    for _ in range(3):
        wire.now += 4.0
        before = wire.left
        taken = 0
        while wire.left == before:
            taken += len(wire.server.recv(1 << 16))
            assert taken < len(LARGE), "nothing of it counted"
            wire.poller.wait(0.0)
        assert wire.left == SILENCE


def test_a_connection_waits_for_room_only_while_it_has_none(wire: Wire) -> None:
    wire.until(lambda: wire.is_open)
    wire.send()
    assert wire.poller.wait(0.0) == 0
    wire.send(LARGE)
    left = len(PING) + len(LARGE)
    while left:
        left -= len(wire.server.recv(1 << 20))
        wire.poller.wait(0.0)
    assert wire.connection.has_room
    assert wire.poller.wait(0.0) == 0, "the loop would never sleep"
    wire.send()
    assert wire.server.recv(100) == PING
    assert wire.ends == []


class Owned:
    """A link with a told clock, and what it reports."""

    def __init__(self, poller: Poller, port: int, *, login: tuple[str, ...] = ()) -> None:
        self.now = 100.0
        self.poller = poller
        self.aways: list[str] = []
        self.readies = 0
        greeting = (pack("SCRIPT", "LOAD", "one"), pack("HELLO"))
        server = Endpoint("127.0.0.1", port)
        self.link = RedisLink(
            poller,
            lambda: self.now,
            server,
            login,
            greeting,
            self.changed,
            self.failed,
        )
        self.link.start()

    def changed(self, link: RedisLink) -> None:
        if link.is_ready:
            self.readies += 1
        else:
            self.aways.append(link.trouble)

    def failed(self, link: RedisLink, request: RedisCall, error: hiredis.ReplyError) -> None:
        request.then(error)

    def until(self, holds: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 20.0
        while not holds():
            assert time.monotonic() < deadline, self.link.trouble
            self.link.step(self.now)
            self.poller.wait(0.02)

    def try_again(self) -> float:
        """Fail to connect once; return the wait that follows (s)."""
        aways = len(self.aways)
        if self.link.state is LinkState.WAITING and self.link.deadline is not None:
            self.now = self.link.deadline
        self.until(lambda: len(self.aways) > aways)
        assert self.link.deadline is not None
        return round(self.link.deadline - self.now, 6)


Own = Callable[..., Owned]


@pytest.fixture
def own(poller: Poller) -> Iterator[Own]:
    """Makes links: `own(port, login=())`."""
    made: list[Owned] = []

    def own(port: int, login: tuple[str, ...] = ()) -> Owned:
        made.append(Owned(poller, port, login=login))
        return made[-1]

    yield own
    for each in made:
        each.link.stop()


@pytest.fixture
def server(poller: Poller) -> Iterator[ScriptedRedis]:
    made = ScriptedRedis(poller)
    yield made
    made.close()


def test_each_wait_is_twice_the_one_before_up_to_two_seconds(
    own: Own, server: ScriptedRedis
) -> None:
    server.close()
    owned = own(server.port)
    waits = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert [owned.try_again() for _ in waits] == waits
    # After a connection they begin anew; nothing is tried before its time.
    server.start()
    owned.link.step(owned.now + 1.9)
    assert owned.link.state is LinkState.WAITING
    owned.now += 2.0
    owned.until(lambda: owned.link.is_ready)
    assert owned.link.trouble == ""
    server.close()
    assert [owned.try_again() for _ in waits] == waits
    # So they do when it is stopped.
    owned.link.stop()
    owned.link.start()
    assert owned.try_again() == 0.1
    owned.link.stop()
    assert (owned.link.deadline, owned.link.trouble) == (None, "")


def test_each_address_of_a_server_is_tried_before_it_is_away(
    own: Own, server: ScriptedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name has two, and it listens at the last of them."""
    ports = (free_port(), server.port)
    places = [SystemAddress(socket.AF_INET, ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(link, "_places_of", lambda server: list(places))
    owned = own(server.port)
    owned.until(lambda: owned.link.is_ready)
    assert owned.aways == []
    # Where it listens is tried first from now on, and the other one again.
    server.close()
    assert owned.try_again() == 0.1
    assert owned.try_again() == 0.2
    assert owned.aways[1:] == ["does not answer: Connection refused"]
    server.start()
    owned.now += 0.2
    owned.until(lambda: owned.link.is_ready)
    assert len(owned.aways) == 2


@pytest.mark.parametrize("login", [(), ("me", "pw")])
def test_what_waits_is_sent_after_the_login_and_the_greeting(
    own: Own, server: ScriptedRedis, login: tuple[str, ...]
) -> None:
    owned = own(server.port, login)
    answers: list[Any] = []
    owned.link.send(RedisCall(pack("GET", "a"), answers.append))
    owned.link.send(RedisCall(pack("SET", "b", "1"), answers.append))
    owned.until(lambda: len(answers) == 2)
    assert server.heard == [*(["AUTH"] if login else []), "INFO", "SCRIPT", "HELLO", "GET", "SET"]
    assert owned.readies == 1


def test_a_server_that_refused_once_may_be_away_later(own: Own, server: ScriptedRedis) -> None:
    server.info = {}
    owned = own(server.port)
    assert owned.try_again() == 0.1
    assert (owned.link.refuses, owned.aways) == (True, ["is no Redis"])
    server.close()
    assert owned.try_again() == 0.2
    assert (owned.link.refuses, owned.link.trouble) == (
        False,
        "does not answer: Connection refused",
    )


def test_requests_that_were_sent_are_away_and_others_wait(own: Own, server: ScriptedRedis) -> None:
    owned = own(server.port)
    owned.until(lambda: owned.link.is_ready and "HELLO" in server.heard)
    server.reply = lambda command: "late"
    sent: list[Any] = []
    waits: list[Any] = []
    owned.link.send(RedisCall(PING, sent.append))
    owned.link.step(owned.now)
    owned.link.send(RedisCall(PING, waits.append))
    owned.link.drop("is a replica")
    assert (sent, waits, owned.aways) == ([AWAY], [], ["is a replica"])
    owned.now += 0.1
    owned.until(lambda: waits)
    assert waits == [b"late"]


def test_a_server_that_is_silent_for_five_seconds_is_away(own: Own, server: ScriptedRedis) -> None:
    owned = own(free_port())
    with socket.create_server(("127.0.0.1", owned.link.server.port)):
        owned.until(lambda: owned.link.state is LinkState.GREETING)
        begun = owned.now
        owned.now = begun + SILENCE - 0.01
        owned.link.step(owned.now)
        assert owned.aways == []
        owned.now = begun + SILENCE
        owned.link.step(owned.now)
        assert owned.aways == ["does not answer"]
