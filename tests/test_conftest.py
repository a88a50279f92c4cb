"""The guard that refuses connections outside loopback, and the names of tests."""

import gzip
import socket

import pytest

# Addresses for documentation, RFC 5737 and RFC 3849.
OUTSIDE = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "example.com"]


@pytest.mark.parametrize("host", OUTSIDE)
def test_outside_is_refused(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(family, kind) as sock:
            for call in (sock.connect, sock.connect_ex):
                with pytest.raises(RuntimeError, match=r"connection to|look up"):
                    call((host, 9))
            with pytest.raises(RuntimeError, match=r"connection to|look up"):
                sock.sendto(b"", (host, 9))


def test_loopback_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address) as client:
            assert client.getpeername() == address


@pytest.mark.parametrize("packed", [gzip.compress(b"a"), gzip.compress(b"b")])
def test_no_name_of_a_test_has_the_time(packed: bytes, request: pytest.FixtureRequest) -> None:
    number = gzip.decompress(packed) == b"b"
    assert request.node.name == f"test_no_name_of_a_test_has_the_time[packed{number:d}]"
