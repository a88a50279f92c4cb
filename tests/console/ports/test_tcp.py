import os
import resource
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from larbinpy.console.ports.tcp import _HIGH_WATER, READ_SIZE, Limits, TcpServer
from tests.support.console_loop import Loop


class Echo:
    """Answers each piece after one turn; a piece with a full stop is the last."""

    patience = 20.0
    farewell = b"bye"
    resting = False
    answers = 1

    def __init__(self) -> None:
        self.inbox = b""
        self.closing = False
        self.largest = 0

    @property
    def busy(self) -> bool:
        return bool(self.inbox)

    def greeting(self) -> bytes:
        return b"hello"

    def receive(self, data: bytes) -> None:
        self.largest = max(self.largest, len(self.inbox) + len(data))
        self.inbox += data

    def left(self) -> None:
        self.gone = True

    def work(self) -> bytes:
        said, self.inbox = self.inbox * self.answers, b""
        self.closing = b"." in said
        return said


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


def serve(
    loop: Loop, session: Callable[[], Any] = Echo, **limits: Any
) -> tuple[TcpServer, list[Any]]:
    sessions: list[Any] = []

    def converse(local: str) -> Any:
        assert local == "127.0.0.1"
        sessions.append(session())
        return sessions[-1]

    server = TcpServer(
        loop.poller, "127.0.0.1", 0, converse, Limits(**{"connections": 3, "batch": 2, **limits})
    )
    return loop.add(server), sessions


def test_a_conversation(loop: Loop) -> None:
    server, _ = serve(loop)
    peer = loop.dial(server)
    assert loop.read_until(peer, b"hello") == b"hello"
    loop.send(peer, b"abc")
    assert loop.read_until(peer, b"abc") == b"abc"
    loop.send(peer, b"end.")
    assert loop.read_all(peer) == b"end."
    assert len(server) == 0
    assert repr(server) == f"<TcpServer 127.0.0.1:{server.port} 0/3 connections, 0 ready>"


def test_bytes_before_the_end_are_answered(loop: Loop) -> None:
    server, _ = serve(loop)
    peer = loop.dial(server)
    peer.send(b"abc")
    peer.shutdown(socket.SHUT_WR)
    assert loop.read_all(peer) == b"helloabc"


def test_at_the_limit_the_longest_silent_connection_is_closed(loop: Loop) -> None:
    server, sessions = serve(loop)
    first, second, third = [loop.dial(server) for _ in range(3)]
    loop.later(1)
    loop.send(first, b"abc")
    loop.later(1)
    fourth = loop.dial(server)
    assert loop.read_until(fourth, b"hello") == b"hello"
    assert loop.read_all(second) == b"hellobye"
    assert len(server) == 3
    assert [getattr(session, "gone", False) for session in sessions] == [False, True, False, False]
    loop.send(first, b"abc")
    loop.until(lambda: not sessions[0].inbox)
    assert loop.read_until(first, b"abcabc") == b"helloabcabc"
    third.close()


def test_at_the_limit_new_peers_wait_for_busy_sessions(loop: Loop) -> None:
    class Slow(Echo):
        def work(self) -> bytes:
            return b""

    server, sessions = serve(loop, Slow)
    peers = [loop.dial(server) for _ in range(3)]
    for peer in peers:
        loop.send(peer, b"abc")
    late = loop.dial(server)
    loop.turn(5)
    assert len(server) == len(sessions) == 3
    # Nor does their patience end.
    loop.later(3600)
    assert len(server) == 3
    peers[0].close()
    sessions[0].inbox = b""
    sessions[0].closing = True
    loop.later(1)
    loop.until(lambda: len(sessions) == 4)
    late.close()


def test_a_thousand_silent_peers_do_not_block_others(loop: Loop) -> None:
    server, _ = serve(loop, connections=32)
    for number in range(1000):
        loop.dial(server)
        if number % 10 == 0:
            loop.turn()
            # As many as there may be descriptors in a test.
            for peer in loop.peers[:-200]:
                peer.close()
            del loop.peers[:-200]
    assert len(server) <= 32
    peer = loop.dial(server)
    loop.send(peer, b"end.")
    assert loop.read_all(peer) == b"helloend."


def test_a_resting_session_does_not_hurry_the_loop(loop: Loop) -> None:
    class Resting(Echo):
        resting = True
        works = 0

        def work(self) -> bytes:
            self.works += 1
            return super().work() if self.works > 3 else b""

    server, _ = serve(loop, Resting)
    peer = loop.dial(server)
    loop.send(peer, b"end.")
    loop.turn(2)
    assert server.deadline is None or server.deadline == float("inf")
    assert loop.read_all(peer) == b"helloend."


def test_a_session_may_become_busy_by_itself(loop: Loop) -> None:
    server, sessions = serve(loop)
    peer = loop.dial(server)
    loop.turn(3)
    assert server.deadline == loop.now + 20
    sessions[0].inbox = b"news."
    assert server.deadline <= loop.now
    assert loop.read_all(peer) == b"hellonews."


def test_silence_ends_with_a_farewell(loop: Loop) -> None:
    server, _ = serve(loop)
    peer = loop.dial(server)
    loop.turn(3)
    assert server.deadline == loop.now + 20
    loop.later(19)
    assert len(server) == 1
    loop.later(1)
    assert loop.read_all(peer) == b"hellobye"
    assert server.deadline is None


def test_a_long_poll_before_the_first_step_costs_no_patience(loop: Loop) -> None:
    server, _ = serve(loop)
    loop.turn()
    loop.now += 1000
    loop.dial(server)
    loop.turn(3)
    assert len(server) == 1
    assert server.deadline == loop.now + 20


def test_life_ends_however_busy_the_peer_is(loop: Loop) -> None:
    server, _ = serve(loop, life=10.0)
    peer = loop.dial(server)
    for _ in range(9):
        loop.send(peer, b"x")
        loop.later(1)
    assert len(server) == 1
    loop.send(peer, b"x")
    loop.later(1)
    assert len(server) == 0


def test_a_peer_that_reads_nothing_is_not_read_and_then_dropped(loop: Loop) -> None:
    class Loud(Echo):
        answers = 8

    server, sessions = serve(loop, Loud, stall=30.0)
    peer = loop.dial(server, receive_buffer=4096)
    sent = loop.send(peer, b"x" * 20_000_000)
    assert sent < 20_000_000
    [connection] = server._connections.values()
    assert _HIGH_WATER <= len(connection.outbox) <= _HIGH_WATER + 8 * READ_SIZE
    assert sessions[0].largest <= READ_SIZE
    assert server.deadline is not None and server.deadline > loop.now
    loop.later(29)
    assert len(server) == 1
    loop.later(1)
    assert len(server) == 0


def test_a_slow_reader_gets_everything(loop: Loop) -> None:
    class Loud(Echo):
        answers = 50

    server, _ = serve(loop, Loud)
    peer = loop.dial(server, receive_buffer=4096)
    loop.send(peer, b"x" * 9999 + b".")
    assert len(loop.read_all(peer)) == len(b"hello") + 50 * 10_000


def test_a_batch_a_step(loop: Loop) -> None:
    server, sessions = serve(loop)
    peers = [loop.dial(server) for _ in range(3)]
    loop.turn(3)
    for peer in peers:
        peer.send(b"x")
    loop.poller.wait(1)
    loop.until(lambda: sum(s.busy for s in sessions) == 3 or not loop.poller.wait(0))
    assert [s.busy for s in sessions] == [True] * 3
    assert server.deadline is not None and server.deadline <= loop.now
    server.step(loop.now)
    assert sum(s.busy for s in sessions) == 1
    server.step(loop.now)
    assert sum(s.busy for s in sessions) == 0


def test_a_peer_that_resets_is_forgotten(loop: Loop) -> None:
    server, _ = serve(loop)
    peer = loop.dial(server)
    loop.turn(3)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    peer.close()
    loop.until(lambda: len(server) == 0)


def test_without_descriptors_the_listener_rests(loop: Loop) -> None:
    server, sessions = serve(loop)
    loop.turn()
    loop.dial(server)
    spare = os.dup(0)
    os.close(spare)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        loop.turn(3)
        assert sessions == []
        assert loop.poller.wait(0) == 0
        assert server.deadline == loop.now + 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    loop.later(1)
    assert len(sessions) == 1


def test_close_flushes_and_may_be_repeated(loop: Loop) -> None:
    server, _ = serve(loop)
    peer = loop.dial(server)
    loop.turn(3)
    server.close()
    server.close()
    assert loop.read_all(peer) == b"hello"
    server.step(loop.now)
    assert server.deadline is None


def test_a_port_that_is_taken_is_an_error_that_names_it(loop: Loop) -> None:
    server, _ = serve(loop)
    with pytest.raises(OSError, match=str(server.port)):
        TcpServer(loop.poller, "127.0.0.1", server.port, lambda _: Echo(), Limits(1, 1))


def test_ipv6(loop: Loop) -> None:
    try:
        server = TcpServer(loop.poller, "[::1]", 0, lambda _: Echo(), Limits(1, 1))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    loop.add(server)
    peer = socket.create_connection(("::1", server.port))
    peer.setblocking(False)
    loop.peers.append(peer)
    assert loop.read_until(peer, b"hello") == b"hello"
