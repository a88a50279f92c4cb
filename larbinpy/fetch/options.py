"""How a request is made: libcurl's options, in one place.

Each is either common to all requests, and set once for a handle, or single, and set for each
request anew whatever its value; so nothing of one request can be left for the next.
"""

from collections.abc import Callable

import pycurl

from larbinpy.fetch.errors import WEIRD_SERVER_REPLY
from larbinpy.fetch.settings import FetchSettings, Request

# CURLOPT_SUPPRESS_CONNECT_HEADERS has no name in pycurl. Without it a proxy's answer to
# CONNECT would reach the header callback in front of the reply.
_SUPPRESS_CONNECT_HEADERS = 265

_PROTOCOLS = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS

#: Errors that a more lenient request can do without: a Content-Encoding that the body
#: does not have or that nobody knows, and a Content-Length that is no number.
LENIENCY = frozenset({pycurl.E_BAD_CONTENT_ENCODING, WEIRD_SERVER_REPLY})

Setter = Callable[[int, object], None]


def common(settings: FetchSettings) -> list[tuple[int, object]]:
    """Options that all requests share."""
    return [
        # Without it libcurl changes signal handlers all the time.
        (pycurl.NOSIGNAL, 1),
        (pycurl.PROTOCOLS, _PROTOCOLS),
        (pycurl.REDIR_PROTOCOLS, _PROTOCOLS),
        # A redirect is a link like any other, with its own robots.txt and address.
        (pycurl.FOLLOWLOCATION, 0),
        # The path that was checked is the path that is asked for.
        (pycurl.PATH_AS_IS, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.HTTP09_ALLOWED, 1),
        # Addresses are given, there are no names. Of each libcurl would keep a minute's note
        # all the same, and go through all of these whenever a connection is done.
        (pycurl.DNS_CACHE_TIMEOUT, 0),
        (pycurl.CONNECTTIMEOUT_MS, round(settings.timeout_connect * 1000)),
        (pycurl.USERAGENT, settings.user_agent),
        *_tls(settings),
        *_proxy(settings),
        *([(pycurl.COOKIEFILE, "")] if settings.use_cookies else []),
        *([(pycurl.VERBOSE, 1)] if settings.keep_requests else []),
    ]


def _headers(settings: FetchSettings) -> list[str]:
    """No Referer and no credentials, ever: they would tell one site about another."""
    sender = [f"From: {settings.sender}"] if settings.sender else []
    return [f"Accept: {settings.accept}", *sender]


def _tls(settings: FetchSettings) -> list[tuple[int, object]]:
    if settings.insecure_tls:
        return [(pycurl.SSL_VERIFYPEER, 0), (pycurl.SSL_VERIFYHOST, 0)]
    verified: list[tuple[int, object]] = [(pycurl.SSL_VERIFYPEER, 1), (pycurl.SSL_VERIFYHOST, 2)]
    return verified + ([(pycurl.CAINFO, settings.ca_file)] if settings.ca_file else [])


def _proxy(settings: FetchSettings) -> list[tuple[int, object]]:
    """The configured proxy or none: libcurl would obey http_proxy and no_proxy."""
    return [
        (pycurl.PROXY, settings.proxy_url or ""),
        (pycurl.NOPROXY, ""),
        (_SUPPRESS_CONNECT_HEADERS, 1),
    ]


def single(setopt: Setter, request: Request, settings: FetchSettings, leniency: int) -> None:
    """Options of one request. `leniency` is the error it failed with before, or 0."""
    setopt(pycurl.URL, request.url.href.encode())
    if settings.proxy_url is None:
        # The catch-all leaves libcurl nothing to look up. Through a proxy it would only
        # force a tunnel, and name a host that the proxy is to reach on its own.
        setopt(pycurl.CONNECT_TO, [f"::{_bracketed(request.address)}:"])
    as_sent = leniency == pycurl.E_BAD_CONTENT_ENCODING
    # The empty one offers what was built in: gzip, deflate, br.
    setopt(pycurl.ENCODING, "identity" if as_sent else "")
    setopt(pycurl.HTTP_CONTENT_DECODING, not as_sent)
    # The body then ends where the connection does.
    to_the_end = leniency == WEIRD_SERVER_REPLY
    setopt(pycurl.IGNORE_CONTENT_LENGTH, to_the_end)
    closing = ["Connection: close"] if to_the_end else []
    setopt(pycurl.HTTPHEADER, [*_headers(settings), *request.headers, *closing])


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address and address[0] != "[" else address
