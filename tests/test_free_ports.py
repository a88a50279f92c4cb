"""Free ports, which no other process of the tests gets."""

import socket
import subprocess
import sys

from tests.support.checkout import ROOT
from tests.support.ports import free_port

_ANOTHER = "from tests.support.ports import free_port; print(*(free_port() for _ in range(99)))"


def test_no_two_processes_share_a_port() -> None:
    mine = {free_port() for _ in range(99)}
    done = subprocess.run(
        [sys.executable, "-c", _ANOTHER], cwd=ROOT, capture_output=True, text=True, check=True
    )
    others = {int(port) for port in done.stdout.split()}
    assert len(mine) > 90 and len(others) > 90
    assert not mine & others


def test_a_port_in_use_is_not_given() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert port not in {free_port() for _ in range(200)}
    assert port in {free_port() for _ in range(99)}
