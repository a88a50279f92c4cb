"""TLS: what is verified, and the outcome of handshakes that fail."""

import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from larbinpy.fetch.options import FetchSettings
from larbinpy.page import Outcome
from tests.support.certificates import self_signed
from tests.support.webserver import OPTIONS, Act, Loop, once, reply

Files = tuple[Path, Path]
MakeLoop = Callable[..., Loop]

#: A group of 1024 bits, which OpenSSL refuses after it offered DHE.
GROUP = """\
-----BEGIN X9.42 DH PARAMETERS-----
MIIBJgKBgQDSxLOxQg5CSEXaiOmDdmLnS/Fow9TYIe1YJtqPlxcumxhSiKrgG0Ke
bHHYqmt9mw7FpobnMN3H6bE2PBeyY+qJtgIZKjDBe7v34L+MSG932HNH9XZHHry1
fO/hoVvLi6/BjTOPqarXBViJdTQosnUIKUTAkTwSNYg3tBqzHy53fQKBgBuWPRF1
IoLWYk5HC9fkqgcxj6tir/FMOcnVn0p/xluqmDmePyuF9Bc/eP/zNCY5Pu1/TV8g
MO63yggF27wZrcHw7/TPFEyHIaBXduT/cOrnrdXt31JpUxbNL/PGM/IYLT9Jvuqz
jC7ZrhgMlqmgUcDNOiAYWndwZNyhmbKf2q7kAh0AoB9FgFKNiWI4Ajffqf0x6J+q
ZYYB624ZoFkgRw==
-----END X9.42 DH PARAMETERS-----
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A self-signed certificate for site.test, and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"), "site.test")


@pytest.fixture
def context(certificate: Files) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture
def make_loop() -> Iterator[MakeLoop]:
    loops: list[Loop] = []

    def make(**changes: Any) -> Loop:
        options = replace(OPTIONS, **changes)
        loops.append(Loop(FetchSettings(handles=2), options=options))
        return loops[-1]

    yield make
    for loop in loops:
        assert (loop.fetcher.free, loop.fetcher.busy) == (2, 0)
        loop.close()


def test_a_certificate_of_no_known_authority(make_loop: MakeLoop, context: ssl.SSLContext) -> None:
    loop = make_loop()
    server = loop.serve(once(reply(b"secret")), tls=context)
    page = loop.fetch(server.url())
    assert (page.outcome, page.status, page.body) == (Outcome.BAD_TLS, 0, b"")
    assert "certificate" in page.detail
    assert server.requests == []


def test_ca_file(make_loop: MakeLoop, context: ssl.SSLContext, certificate: Files) -> None:
    loop = make_loop(ca_file=str(certificate[0]))
    server = loop.serve([Act.REQUEST, reply(b"one"), Act.REQUEST, reply(b"two")], tls=context)
    assert [loop.fetch(server.url()).body for _ in range(2)] == [b"one", b"two"]
    assert server.accepted == 1


def test_what_libcurl_does_not_read_is_verified_as_well(
    make_loop: MakeLoop, context: ssl.SSLContext, certificate: Files
) -> None:
    junk = b"HTTP/1.1 200 OK\r\nuse strict\r\nA: b\r\n\r\npage"
    loop = make_loop(ca_file=str(certificate[0]))
    server = loop.serve(once(junk), tls=context)
    assert [loop.fetch(server.url()).body for _ in range(2)] == [b"", b"page"]
    assert loop.fetch(server.url()).misread
    loop.options = replace(loop.options, ca_file=None)
    assert loop.fetch(server.url()).outcome is Outcome.BAD_TLS
    assert server.accepted == 4


def test_the_name_must_be_the_certificates(
    make_loop: MakeLoop, context: ssl.SSLContext, certificate: Files
) -> None:
    loop = make_loop(ca_file=str(certificate[0]))
    server = loop.serve(once(reply(b"secret")), tls=context)
    assert loop.fetch(server.url(host="other.test")).outcome is Outcome.BAD_TLS


def test_insecure_tls(make_loop: MakeLoop, context: ssl.SSLContext) -> None:
    loop = make_loop(insecure_tls=True)
    server = loop.serve(once(reply(b"whatever")), tls=context)
    assert loop.fetch(server.url(host="other.test")).body == b"whatever"


def test_a_server_that_speaks_no_tls(make_loop: MakeLoop) -> None:
    loop = make_loop()
    server = loop.serve([b"HTTP/1.1 400 Bad Request\r\n\r\n"])
    page = loop.fetch(server.url().replace("http:", "https:"))
    assert (page.outcome, page.detail) == (Outcome.BAD_TLS, "what answers does not speak TLS")


@pytest.mark.parametrize("act", [Act.CLOSE, Act.RESET])
def test_a_cut_handshake_is_no_connection(make_loop: MakeLoop, act: Act) -> None:
    loop = make_loop()
    server = loop.serve([act])
    page = loop.fetch(server.url().replace("http:", "https:"))
    assert page.outcome is Outcome.NO_CONNECTION


def test_a_handshake_that_stalls(make_loop: MakeLoop) -> None:
    loop = make_loop(timeout_connect=0.05)
    server = loop.serve([Act.HANG])
    page = loop.fetch(server.url().replace("http:", "https:"))
    assert page.outcome is Outcome.TIMEOUT


def test_a_server_that_prefers_a_weak_group_is_asked_without_dhe(
    make_loop: MakeLoop, tmp_path: Path
) -> None:
    """It is known from the first failure on. Others are offered DHE: some know nothing else."""
    files = self_signed(tmp_path, "site.test", key="rsa:2048")
    group = tmp_path / "dh.pem"
    group.write_text(GROUP)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    dhe = "DHE-RSA-AES256-GCM-SHA384"
    context.set_ciphers(f"{dhe}:EC{dhe}:@SECLEVEL=0")
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.load_cert_chain(*files)
    context.load_dh_params(str(group))
    loop = make_loop(ca_file=str(files[0]))
    server = loop.serve(once(reply(b"sealed")), tls=context)
    first = loop.fetch(server.url())
    assert (first.outcome, first.misread) == (Outcome.BAD_TLS, True)
    assert [loop.fetch(server.url(path)).body for path in ("/", "/2")] == [b"sealed"] * 2
    assert server.accepted == 3


def test_a_proxy_by_tls_is_verified_by_its_name(
    make_loop: MakeLoop, certificate: Files, context: ssl.SSLContext
) -> None:
    """Its name is not looked up: the options have its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name, outcome in (("site.test", Outcome.SUCCESS), ("other.test", Outcome.BAD_TLS)):
        loop = make_loop(
            ca_file=str(certificate[0]),
            proxy_url=f"https://{name}:{port}",
            proxy_address="127.0.0.1",
            proxy_login="me:secret",
        )
        proxy = loop.serve(once(reply(b"by proxy")), tls=context, port=port)
        page = loop.fetch("http://a.test/x", address="192.0.2.7")
        assert page.outcome is outcome, page.detail
        proxy.close()
    assert len(proxy.requests) == 0
