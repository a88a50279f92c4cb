"""One loop against threads: both fetch all pages, and the report has their counts."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiments.latepages import LatePages, reply
from experiments.runs import PYTHON, serving
from experiments.transferring import Plan, carry_out, measure

from tests.support.checkout import ROOT

pytestmark = pytest.mark.slow

WAIT = 0.05
SIZE = 3000
WAYS = ["loop", "threads"]


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """Child processes import the same packages as this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'scripts'}:{ROOT}")
        yield


@pytest.fixture(scope="module")
def port(environment: None) -> Iterator[int]:
    command = [PYTHON, "-m", "experiments.latepages", str(WAIT), str(SIZE)]
    with serving(command) as (line, _):
        yield int(line)


@pytest.mark.parametrize("way", WAYS)
def test_each_site_gets_its_number_of_requests(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=5, rounds=3))
    assert (done.pages, done.bytes, done.failed) == (15, 15 * SIZE, 0)
    assert 3 * WAIT <= done.elapsed < 5
    assert done.cpu < done.elapsed


@pytest.mark.parametrize("way", WAYS)
def test_replies_in_time_count(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=4, seconds=5.5 * WAIT))
    assert 4 <= done.pages <= 4 * 5
    assert (done.bytes, done.failed) == (done.pages * SIZE, 0)


@pytest.mark.parametrize("way", WAYS)
def test_late_replies_do_not_count(way: str, port: int) -> None:
    done = carry_out(Plan(way, port, count=2, seconds=WAIT / 2))
    assert (done.pages, done.bytes) == (0, 0)


@pytest.mark.parametrize("way", WAYS)
def test_failures_are_counted(way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    done = carry_out(Plan(way, port, count=2, rounds=2))
    assert (done.pages, done.failed) == (0, 4)


@pytest.mark.parametrize("way", WAYS)
def test_the_memory_of_a_child_process_is_measured(way: str, port: int) -> None:
    done = measure(Plan(way, port, count=2, seconds=1.2), look_after=0.9)
    assert done.pages > 0
    assert 10e6 < done.resident < 200e6


def test_pages_are_sent_after_the_delay_and_connections_are_kept() -> None:
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


def test_tables_and_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from experiments import transfers

    text = transfers.run(
        tmp_path,
        quick=True,
        wait=0.1,
        latency=0.01,
        seconds=0.3,
        size=SIZE,
        repeats=1,
        sizes=(1, 3),
    )
    assert re.findall(r"^\| (\d) ", text, re.MULTILINE) == ["1", "3"] * 3
    assert "- data of the loop, beside threads, 1 to 3 in flight: " in text
    names = {"transfers.md", "transfers.png", *(f"transfers-{n}.csv" for n in (1, 2, 3))}
    assert {path.name for path in tmp_path.iterdir()} == names
