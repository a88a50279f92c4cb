"""A node that is stopped between its look at the clock and its look at the sockets."""

import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.config import Config
from larbinpy.context import Tuning
from larbinpy.crawl.crawl import Crawl
from larbinpy.loop.poller import Poller
from tests.support.fleetworld import Fleet

pytestmark = pytest.mark.slow
pytest_plugins = ["tests.support.fleetcrawls"]

_SYN_SENT = "02"


def is_connecting(port: int) -> bool:
    """Whether a connection to `port` is being made."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[2].endswith(f":{port:04X}") and row[3] == _SYN_SENT for row in rows)


class OverError(Exception):
    """The test has seen enough."""


class Stopping(Poller):
    """A poller before whose wait the process is stopped, as soon as a connection is being made."""

    def __init__(self, server: socket.socket) -> None:
        super().__init__()
        self._server = server
        self._stopped_for = 0.0
        self.connection: socket.socket | None = None

    def clock(self) -> float:
        return time.monotonic() + self._stopped_for

    def wait(self, timeout: float) -> int:
        if self.connection is not None:
            raise OverError
        if is_connecting(self._server.getsockname()[1]):
            # The system makes the next connection once there is room for it.
            self._server.accept()[0].close()
            self.connection, _ = self._server.accept()
            self._stopped_for = 20.0
        return super().wait(timeout)


def test_no_request_is_sent_on_a_connection_that_was_made_meanwhile(
    fleet: Fleet, tmp_path: Path
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as server,
        socket.create_connection(server.getsockname()),
        closing(Stopping(server)) as poller,
    ):
        server.settimeout(30.0)
        config = Config(
            join=fleet.join,
            node="n1",
            allow_private=True,
            wait_duration=1.0,
            state_dir=str(tmp_path / "state"),
            output_dir=str(tmp_path / "save"),
            start_url=(f"http://127.0.0.1:{server.getsockname()[1]}/",),
        )
        with pytest.raises(OverError):
            Crawl(config, tuning=Tuning(poller=poller, clock=poller.clock)).run()
        assert poller.connection is not None
        with poller.connection:
            poller.connection.settimeout(10.0)
            assert poller.connection.recv(100) == b""
