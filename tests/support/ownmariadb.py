"""The fixture `mariadb`; modules and a conftest.py import it."""

import socket
from collections.abc import Iterator

import pytest

from tests.support.mariadb import MariaDb, is_installed


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """A server of this process of the tests."""
    if not is_installed():
        pytest.skip("mariadb-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = MariaDb(tmp_path_factory.mktemp("mariadb"), port)
    server.install()
    server.start()
    yield server
    server.end()
