"""libcurl's errors as outcomes."""

import pycurl
import pytest

from larbinpy.fetch.options import by_proxy, concise, meaning, proxy_unauthorized
from larbinpy.page import Outcome


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (pycurl.E_URL_MALFORMAT, Outcome.BAD_URL),
        (pycurl.E_COULDNT_RESOLVE_HOST, Outcome.NO_DNS),
        (pycurl.E_COULDNT_CONNECT, Outcome.NO_CONNECTION),
        (pycurl.E_OPERATION_TIMEDOUT, Outcome.TIMEOUT),
        (pycurl.E_PARTIAL_FILE, Outcome.EARLY_STOP),
        (pycurl.E_GOT_NOTHING, Outcome.EARLY_STOP),
        (pycurl.E_PEER_FAILED_VERIFICATION, Outcome.BAD_TLS),
        (pycurl.E_SSL_CONNECT_ERROR, Outcome.BAD_TLS),
        (pycurl.E_FILESIZE_EXCEEDED, Outcome.TOO_BIG),
        (pycurl.E_SSL_CERTPROBLEM, Outcome.BAD_TLS),
        (pycurl.E_SSL_CACERT_BADFILE, Outcome.BAD_TLS),
        (pycurl.E_SSL_CIPHER, Outcome.BAD_TLS),
        (pycurl.E_SSL_ISSUER_ERROR, Outcome.BAD_TLS),
        (pycurl.E_SSL_INVALIDCERTSTATUS, Outcome.BAD_TLS),
        (pycurl.E_SSL_PINNEDPUBKEYNOTMATCH, Outcome.BAD_TLS),
        (pycurl.E_COULDNT_RESOLVE_PROXY, Outcome.NO_CONNECTION),
        (pycurl.E_INTERFACE_FAILED, Outcome.NO_CONNECTION),
        (97, Outcome.NO_CONNECTION),  # CURLE_PROXY
        (98, Outcome.BAD_TLS),  # CURLE_SSL_CLIENTCERT
        (100, Outcome.EARLY_STOP),  # CURLE_TOO_LARGE, which a RawExchange may read
        (9999, Outcome.EARLY_STOP),
    ],
)
def test_meaning(code: int, outcome: Outcome) -> None:
    assert meaning(code, "", 0) is outcome


def test_a_failure_by_proxy_names_the_proxy() -> None:
    proxy, down = "http://p:1", "Connection refused"
    refused = by_proxy(proxy, pycurl.E_COULDNT_CONNECT, down, tunnel=0, login=False)
    assert refused == "the proxy http://p:1 could not be reached: Connection refused"
    late = "Connection timed out after 10000 milliseconds"
    answer = by_proxy(proxy, pycurl.E_OPERATION_TIMEDOUT, late, tunnel=0, login=False)
    assert answer == f"the proxy http://p:1 did not answer: {late}"
    failed = "CONNECT tunnel failed, response 502"
    answer = by_proxy(proxy, pycurl.E_COULDNT_CONNECT, failed, tunnel=502, login=False)
    assert answer == f"by proxy http://p:1: {failed}"
    for login, words in ((False, "needs a login"), (True, "refuses the login")):
        answer = by_proxy(proxy, pycurl.E_RECV_ERROR, failed, tunnel=407, login=login)
        assert answer == f"by proxy http://p:1: the proxy {words}"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([], "refuses the login"),
        (['Digest realm="a, b", qop="auth"', 'basic realm="x"'], "refuses the login"),
        (["Negotiate", "NTLM"], "asks for a login by Negotiate or NTLM, not by Basic"),
        (
            ['Digest realm="r", nonce=n, Negotiate'],
            "asks for a login by Digest or Negotiate, not by Basic",
        ),
    ],
)
def test_a_proxy_may_want_another_login(asked: list[str], words: str) -> None:
    assert proxy_unauthorized(True, asked) == f"the proxy {words}"


def test_why_a_socks_proxy_refuses() -> None:
    message = "cannot complete SOCKS5 connection to a.test. (2)"
    assert concise(pycurl.E_COULDNT_CONNECT, message, 0) == (
        "it cannot connect to the server: its rules forbid it"
    )


def test_a_cut_handshake_is_no_verdict_on_the_peer() -> None:
    assert meaning(pycurl.E_SSL_CONNECT_ERROR, "reset by peer", 104) is Outcome.NO_CONNECTION
    message = "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading"
    assert meaning(pycurl.E_SSL_CONNECT_ERROR, message, 0) is Outcome.NO_CONNECTION


def test_a_certificate_that_is_left_out_is_told_plainly() -> None:
    message = "SSL certificate OpenSSL verify result: unable to get local issuer certificate (20)"
    assert concise(pycurl.E_PEER_FAILED_VERIFICATION, message, 0) == (
        "certificate: the server does not send the one between its own and a known authority's "
        "(browsers find it elsewhere), or its authority is unknown"
    )
    other = "SSL certificate OpenSSL verify result: certificate has expired (10)"
    assert concise(pycurl.E_PEER_FAILED_VERIFICATION, other, 0) == other
    old = "TLS connect error: error:0A00042E:SSL routines::tlsv1 alert protocol version"
    assert concise(pycurl.E_SSL_CONNECT_ERROR, old, 0) == "the server knows neither TLS 1.2 nor 1.3"
