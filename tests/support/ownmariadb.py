"""The fixture `mariadb`; modules and a conftest.py import it."""

from collections.abc import Iterator

import pytest

from tests.support.mariadb import MariaDb, is_installed
from tests.support.ports import free_port


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """A server of this process of the tests."""
    if not is_installed():
        pytest.skip("mariadb-server is not installed")
    server = MariaDb(tmp_path_factory.mktemp("mariadb"), free_port())
    server.install()
    server.start()
    yield server
    server.end()
