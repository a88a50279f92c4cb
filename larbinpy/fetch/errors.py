"""libcurl's errors as outcomes of a page."""

import os
from http import HTTPStatus

import pycurl

from larbinpy.outcome import Outcome
from larbinpy.reason import PROXY_NEEDS_LOGIN

# Errors for which pycurl has no name, or an old one (CURLE_WEIRD_SERVER_REPLY).
WEIRD_SERVER_REPLY = pycurl.E_FTP_WEIRD_SERVER_REPLY
_PROXY = 97
_CLIENT_CERTIFICATE = 98
_TOO_LARGE = 100

#: All other errors mean that the reply was cut short: earlyStop.
_OUTCOMES: dict[int, Outcome] = {
    pycurl.E_URL_MALFORMAT: Outcome.BAD_URL,
    pycurl.E_COULDNT_RESOLVE_HOST: Outcome.NO_DNS,
    pycurl.E_COULDNT_RESOLVE_PROXY: Outcome.NO_CONNECTION,
    pycurl.E_COULDNT_CONNECT: Outcome.NO_CONNECTION,
    pycurl.E_INTERFACE_FAILED: Outcome.NO_CONNECTION,
    _PROXY: Outcome.NO_CONNECTION,
    pycurl.E_OPERATION_TIMEDOUT: Outcome.TIMEOUT,
    pycurl.E_FILESIZE_EXCEEDED: Outcome.TOO_BIG,
    _TOO_LARGE: Outcome.TOO_BIG,
    pycurl.E_SSL_CONNECT_ERROR: Outcome.BAD_TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Outcome.BAD_TLS,
    pycurl.E_SSL_CACERT_BADFILE: Outcome.BAD_TLS,
    pycurl.E_SSL_CERTPROBLEM: Outcome.BAD_TLS,
    pycurl.E_SSL_CIPHER: Outcome.BAD_TLS,
    pycurl.E_SSL_ISSUER_ERROR: Outcome.BAD_TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: Outcome.BAD_TLS,
    pycurl.E_SSL_PINNEDPUBKEYNOTMATCH: Outcome.BAD_TLS,
    _CLIENT_CERTIFICATE: Outcome.BAD_TLS,
}

#: OpenSSL's message for a peer that closed during a handshake.
_CUT_HANDSHAKE = "unexpected eof"


def meaning(code: int, message: str, os_errno: int) -> Outcome:
    """The outcome for libcurl's `code`; `os_errno` is that of the last system call.

    A TLS handshake that was cut off is a noConnection, because it says nothing about the peer's
    certificate or protocol. libcurl reports it under the same code as a failed one, with a
    system error or with OpenSSL's message about an end of file.
    """
    if code == pycurl.E_SSL_CONNECT_ERROR and (os_errno or _CUT_HANDSHAKE in message):
        return Outcome.NO_CONNECTION
    return _OUTCOMES.get(code, Outcome.EARLY_STOP)


def by_proxy(proxy: str, code: int, message: str, *, tunnel: int, login: bool) -> str:
    """The reason of a failure on the way through `proxy`, which it names.

    `tunnel` is the status of the reply to CONNECT, 0 if there was none; `login`: the proxy has a
    login of ours.
    """
    # E_COULDNT_CONNECT also means a tunnel that the proxy refuses.
    if code == pycurl.E_COULDNT_CONNECT and not tunnel:
        return f"the proxy {proxy} could not be reached: {message}"
    if code == pycurl.E_OPERATION_TIMEDOUT and not tunnel:
        return f"the proxy {proxy} did not answer: {message}"
    if tunnel == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        message = proxy_unauthorized(login)
    return f"by proxy {proxy}: {message}"


def proxy_unauthorized(login: bool) -> str:
    """The reason of a 407; `login`: the proxy has got one."""
    return "the proxy refuses the login" if login else PROXY_NEEDS_LOGIN


def concise(code: int, message: str, os_errno: int) -> str:
    """libcurl's `message`, or the system's if there was no connection: it names the reason."""
    return os.strerror(os_errno) if code == pycurl.E_COULDNT_CONNECT and os_errno else message
