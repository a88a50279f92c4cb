"""Refuses connections outside loopback, so that no test leaves the machine; deals the tests.

The guard does not see libcurl, which opens its own sockets. libcurl connects only to addresses
that the crawler's own check allows, and finds no proxy in the environment here.
"""

import gc
import os
import signal
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from itertools import groupby
from typing import Any

import hypothesis
import pytest

from larbinpy.native import NO_SCAN
from tests.support.dealing import dealt

# The same examples in each run, and none is too slow, as its time varies on a busy machine.
# Others are tried with --hypothesis-profile=default.
hypothesis.settings.register_profile(
    "larbinpy",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("larbinpy")

# A shell starts background jobs with SIGINT ignored, which the crawlers under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


class OutsideConnection(RuntimeError):
    """A test tried to reach another machine. Not an OSError: no code under test may catch it."""


def check(address: Any) -> None:
    """Raise OutsideConnection unless `address`, as connect() takes it, is on this machine."""
    if not isinstance(address, tuple):
        return  # AF_UNIX and netlink
    host = str(address[0])
    if host in ("", "localhost"):
        return
    try:
        ip = ip_address(host.partition("%")[0])
    except ValueError:
        raise OutsideConnection(f"name to look up by the system: {address}") from None
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if not (ip.is_loopback or ip.is_unspecified):
        raise OutsideConnection(f"connection to {address}")


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            _guard(patch, name)
        for name in list(os.environ):
            # A developer's own settings and proxies must not affect the tests.
            setting = name.startswith("LARBINPY_") and name != NO_SCAN
            if setting or name.lower().endswith("_proxy"):
                patch.delenv(name)
        yield


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The name of a value within that of its test; None leaves it to pytest.

    Packed bytes may differ from second to second, and the workers must have the same names.
    """
    return argname if isinstance(val, bytes) and not val.isascii() else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into an order for the workers of pytest-xdist, if there are any."""
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):
        slow = [item for item in items if item.get_closest_marker("slow")]
        quick = [item for item in items if not item.get_closest_marker("slow")]
        files = [list(tests) for _, tests in groupby(slow, key=lambda item: item.path)]
        items[:] = dealt(files, quick, workers)


def pytest_collection_finish() -> None:
    # Modules that are loaded by now stay, so that the collector need not look at them again.
    gc.freeze()


def _guard(patch: pytest.MonkeyPatch, name: str) -> None:
    original = getattr(socket.socket, name)

    def guarded(self: socket.socket, *arguments: Any) -> Any:
        check(arguments[-1])
        return original(self, *arguments)

    patch.setattr(socket.socket, name, guarded)
