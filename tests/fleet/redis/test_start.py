"""Refusals at the start, in one line each, and warnings."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from larbinpy.errors import UserError
from larbinpy.loop.poller import READ
from tests.support.ports import free_port
from tests.support.redisserver import Cluster, RedisServer, program_of
from tests.support.redisvault import SETTINGS, Asker

Connect = Callable[..., Asker]


@contextmanager
def server_with(folder: Path, **options: str) -> Iterator[RedisServer]:
    server = RedisServer(folder, program_of("redis"), free_port(), **options)
    server.start()
    try:
        yield server
    finally:
        server.end()


def refusal(asker: Asker) -> str:
    with pytest.raises(UserError) as error:
        asker.open(SETTINGS)
    text = str(error.value)
    assert "\n" not in text
    return re.sub(r"127\.0\.0\.1:\d+", "HERE", text)


def test_nobody_listens(connect: Connect) -> None:
    text = refusal(connect(free_port()))
    assert text == "Redis HERE does not answer: Connection refused"


def test_an_unknown_host(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    text = refusal(connect("redis.example"))
    assert text == "Redis redis.example:6379 is unknown: its name has no address"


@pytest.mark.parametrize(
    "greeting",
    [b"220 mail ready\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$3\r\nhey\r\n", b"+OK\r\n"],
)
def test_a_server_that_is_no_redis(connect: Connect, greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asker = connect(listener.getsockname()[1])
        kept: list[socket.socket] = []

        def greet(_fd: int, _events: int) -> None:
            kept.append(listener.accept()[0])
            kept[-1].sendall(greeting)

        asker.poller.register(listener.fileno(), READ, greet)
        assert refusal(asker) == "Redis HERE is no Redis"
        for sock in kept:
            sock.close()


def test_a_server_that_says_nothing(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert refusal(connect(listener.getsockname()[1])) == "Redis HERE does not answer"


def test_passwords(tmp_path: Path, connect: Connect) -> None:
    with server_with(tmp_path / "it", requirepass="s3cret/word") as server:
        # Commands of the test itself have no password.
        place = f"127.0.0.1:{server.port}"
        text = refusal(connect(place))
        assert text.startswith("Redis HERE asks for a password; give it in LARBINPY_JOIN ")
        wrong = connect(f":wrong@{place}")
        assert refusal(wrong) == "Redis HERE refuses the login (WRONGPASS)"
        right = connect(f":s3cret%2Fword@{place}")
        assert right.open(SETTINGS).created
        assert "s3cret" not in repr(right.vault)
        user = connect(f"default:s3cret%2Fword@{place}")
        assert user.open(SETTINGS).created


def test_a_password_where_none_is_asked(redis: RedisServer, connect: Connect) -> None:
    text = refusal(connect(f":needless@127.0.0.1:{redis.port}"))
    assert text == "Redis HERE refuses the login (ERR)"


def test_a_server_that_would_evict_keys(tmp_path: Path, connect: Connect) -> None:
    options = {"maxmemory-policy": "allkeys-lru", "maxmemory": "100mb"}
    with server_with(tmp_path / "it", **options) as server:
        text = refusal(connect(server.port))
    assert text.endswith("set its maxmemory-policy to noeviction (it is allkeys-lru)")


def test_a_server_without_an_append_only_file_is_warned_of(
    tmp_path: Path, connect: Connect
) -> None:
    with server_with(tmp_path / "it", appendonly="no") as server:
        asker = connect(server.port)
        assert asker.open(SETTINGS).created
        assert len(asker.client.warnings) == 1
        assert "has no append-only file" in asker.client.warnings[0]


def test_a_user_who_may_not(redis: RedisServer, connect: Connect) -> None:
    redis("ACL", "SETUSER", "guest", "on", ">word", "~*", "+@all", "-evalsha")
    text = refusal(connect(f"guest:word@127.0.0.1:{redis.port}"))
    assert text.startswith("Redis HERE: NOPERM")


def test_a_user_who_may_load_no_scripts(redis: RedisServer, connect: Connect) -> None:
    redis("ACL", "SETUSER", "guest", "on", ">word", "~*", "+@all", "-script")
    text = refusal(connect(f"guest:word@127.0.0.1:{redis.port}"))
    assert text.startswith("Redis HERE: NOPERM")


def test_an_old_server(connect: Connect) -> None:
    info = b"redis_version:5.0.14\r\nrun_id:x\r\nrole:master\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asker = connect(listener.getsockname()[1])
        kept: list[socket.socket] = []

        def answer(_fd: int, _events: int) -> None:
            kept.append(listener.accept()[0])
            kept[-1].sendall(b"$%d\r\n%s\r\n" % (len(info), info))

        asker.poller.register(listener.fileno(), READ, answer)
        assert refusal(asker) == "Redis HERE has version 5.0.14; 6.2 or newer is needed"
        for sock in kept:
            sock.close()


def test_a_cluster_without_slots(tmp_path: Path, connect: Connect) -> None:
    with server_with(tmp_path / "it", **{"cluster-enabled": "yes"}) as server:
        text = refusal(connect(server.port))
    assert text == "Redis HERE has a Cluster that is down: 16384 slots have no master"


def test_a_socket_file(redis: RedisServer) -> None:
    asker = Asker(f"unix:{redis.path}?crawl=it")
    try:
        assert asker.open(SETTINGS).created
        assert redis("EXISTS", "lb:{it}:crawl") == 1
    finally:
        asker.close()


def test_the_first_server_that_is_a_master_is_taken(
    redis: RedisServer, tmp_path: Path, connect: Connect
) -> None:
    with server_with(tmp_path / "replica", replicaof=f"127.0.0.1 {redis.port}") as replica:
        Cluster.wait(lambda: replica.info("master_link_status") == "up")
        alone = refusal(connect(replica.port))
        assert alone == "Redis HERE is a replica"
        places = f"127.0.0.1:{free_port()},127.0.0.1:{replica.port},127.0.0.1:{redis.port}"
        asker = connect(places)
        asker.begin("one.1")
        assert redis("KEYS", "lb:*") != []
        assert asker.post({0: b"x"}) and asker.flush()
