"""One loop against threads: both fetch what they are to, and what comes of it is told."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiments.latepages import LatePages, reply
from experiments.runs import PYTHON, SERVER, in_background
from experiments.transferring import Plan, carry_out, measure

from tests.support.checkout import ROOT

WAIT = 0.05
SIZE = 3000
WAYS = ["loop", "threads"]


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """Processes of their own find what we find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'scripts'}:{ROOT}")
        yield


@pytest.fixture(scope="module")
def port(environment: None) -> Iterator[int]:
    command = [PYTHON, "-m", "experiments.latepages", str(WAIT), str(SIZE)]
    with in_background(command, SERVER) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


@pytest.mark.parametrize("way", WAYS)
def test_each_site_is_asked_so_often(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=5, rounds=3))
    assert (done.pages, done.bytes, done.failed) == (15, 15 * SIZE, 0)
    assert 3 * WAIT <= done.elapsed < 5
    assert done.cpu < done.elapsed


@pytest.mark.parametrize("way", WAYS)
def test_what_comes_in_time_counts(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=4, seconds=5.5 * WAIT))
    assert 4 <= done.pages <= 4 * 5
    assert (done.bytes, done.failed) == (done.pages * SIZE, 0)


@pytest.mark.parametrize("way", WAYS)
def test_what_comes_too_late_does_not(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=2, seconds=WAIT / 2))
    assert (done.pages, done.bytes) == (0, 0)


@pytest.mark.parametrize("way", WAYS)
def test_failures_are_told(way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    done = carry_out(Plan(way, port, count=2, rounds=2))
    assert (done.pages, done.failed) == (0, 4)


@pytest.mark.parametrize("way", WAYS)
def test_a_process_of_its_own_has_its_memory_looked_at(way: str, port: int) -> None:
    done = measure(Plan(way, port, count=2, seconds=1.2), look_after=0.9)
    assert done.pages > 0
    assert 10e6 < done.resident < 200e6


def test_no_page_comes_before_its_time_and_connections_are_kept() -> None:
    whole = reply(SIZE)
    assert len(whole.partition(b"\r\n\r\n")[2]) == SIZE
    server = LatePages(WAIT, SIZE)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        server.turn()  # takes the connection
        for _ in range(2):
            began = time.monotonic()
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            server.turn()  # takes the request
            server.turn()  # answers it
            assert client.recv(2 * len(whole), socket.MSG_WAITALL | socket.MSG_DONTWAIT) == whole
            assert time.monotonic() - began >= WAIT
    server.turn()
    assert server.connections == 0
    server.close()


def test_tables_and_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from experiments import transfers

    monkeypatch.setattr(transfers, "SIZES", (1, 3))
    text = transfers.run(
        tmp_path, quick=True, wait=0.1, latency=0.01, seconds=0.3, size=SIZE, repeats=1
    )
    assert re.findall(r"^\| (\d) ", text, re.MULTILINE) == ["1", "3"] * 3
    assert "- data from 1 to 3 in flight, of the threads': " in text
    names = {"transfers.md", "transfers.png", *(f"transfers-{n}.csv" for n in (1, 2, 3))}
    assert {path.name for path in tmp_path.iterdir()} == names
