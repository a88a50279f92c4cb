"""libcurl's options for a request, in one place.

An option is *common*, *shared* by all requests with the same `RequestOptions`, or *single*, set
for every request whatever its value. A handle is reset when it changes from one `RequestOptions`
to another. So no option of one request remains in force for the next.
"""

import os
from collections.abc import Callable

import pycurl

from larbinpy.fetch.errors import WEIRD_SERVER_REPLY
from larbinpy.fetch.settings import FetchSettings, Request, RequestOptions

# CURLOPT_SUPPRESS_CONNECT_HEADERS has no name in pycurl. Without it the header callback would get
# a proxy's reply to CONNECT before the reply itself.
_SUPPRESS_CONNECT_HEADERS = 265

_PROTOCOLS = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS

#: libcurl's errors for a body that it cannot decode: it is not packed as its Content-Encoding
#: says, or in an unknown way; or (a write error of its own) more follows the packed content.
UNDECODED = frozenset({pycurl.E_BAD_CONTENT_ENCODING, pycurl.E_WRITE_ERROR})
#: Errors that a more lenient request avoids; the last is a Content-Length that is not a number.
LENIENCY = UNDECODED | {WEIRD_SERVER_REPLY}

_AUTH = {
    "": pycurl.HTTPAUTH_BASIC | pycurl.HTTPAUTH_DIGEST,
    "basic": pycurl.HTTPAUTH_BASIC,
    "digest": pycurl.HTTPAUTH_DIGEST,
    "negotiate": pycurl.HTTPAUTH_NEGOTIATE,
}

Setter = Callable[[int, object], None]


def common(settings: FetchSettings) -> list[tuple[int, object]]:
    """Options of all requests."""
    return [
        # Without it libcurl changes signal handlers all the time.
        (pycurl.NOSIGNAL, 1),
        (pycurl.PROTOCOLS, _PROTOCOLS),
        (pycurl.REDIR_PROTOCOLS, _PROTOCOLS),
        # A redirect is an ordinary link, with its own robots.txt and address.
        (pycurl.FOLLOWLOCATION, 0),
        # Request exactly the path that was checked.
        (pycurl.PATH_AS_IS, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.HTTP09_ALLOWED, 1),
        # Requests have addresses and no names. Even so, libcurl would cache each for a minute,
        # and search the cache whenever a connection ends.
        (pycurl.DNS_CACHE_TIMEOUT, 0),
        *([(pycurl.COOKIEFILE, "")] if settings.use_cookies else []),
        *([(pycurl.VERBOSE, 1)] if settings.keep_requests else []),
    ]


def shared(options: RequestOptions) -> list[tuple[int, object]]:
    """Options of all requests with `options`."""
    return [
        (pycurl.CONNECTTIMEOUT_MS, round(options.timeout_connect * 1000)),
        (pycurl.USERAGENT, options.user_agent),
        *([(pycurl.NOBODY, 1)] if options.head else []),
        *([] if options.body is None else [(pycurl.POSTFIELDS, options.body)]),
        *([(pycurl.COOKIEFILE, "")] if options.jar else []),
        *_tls(options),
        *_login(options),
        *_proxy(options),
    ]


def _tls(options: RequestOptions) -> list[tuple[int, object]]:
    """Verification of sites and of proxies, and our own certificate, which only sites get."""
    verify = not options.insecure_tls
    chosen: list[tuple[int, object]] = [
        (pycurl.SSL_VERIFYPEER, int(verify)),
        (pycurl.SSL_VERIFYHOST, 2 * verify),
        (pycurl.PROXY_SSL_VERIFYPEER, int(verify)),
        (pycurl.PROXY_SSL_VERIFYHOST, 2 * verify),
    ]
    if options.ca_file and verify:
        # pycurl takes text only if it is ASCII.
        authorities = os.fsencode(options.ca_file)
        chosen += [(pycurl.CAINFO, authorities), (pycurl.PROXY_CAINFO, authorities)]
    if options.client_cert:
        chosen += [
            (pycurl.SSLCERT, os.fsencode(options.client_cert)),
            (pycurl.SSLKEY, os.fsencode(options.client_key or options.client_cert)),
        ]
    return chosen


def _login(options: RequestOptions) -> list[tuple[int, object]]:
    """The login of the site.

    A handle asks without it once, to see whether the site wants Basic or Digest, unless that is
    known to be Basic. NTLM and Negotiate, which log a connection in, are not offered of themselves.
    """
    if not (options.login or options.auth):
        return []
    # With an empty name libcurl takes the ticket.
    return [
        (pycurl.HTTPAUTH, _AUTH[options.auth]),
        (pycurl.USERPWD, (options.login or ":").encode()),
    ]


def _proxy(options: RequestOptions) -> list[tuple[int, object]]:
    """The configured proxy or none; by default libcurl obeys http_proxy and no_proxy."""
    chosen: list[tuple[int, object]] = [
        (pycurl.PROXY, options.proxy_url),
        (pycurl.NOPROXY, ""),
        (_SUPPRESS_CONNECT_HEADERS, 1),
        # Headers for a site are not for a proxy that tunnels to it.
        (pycurl.HEADEROPT, pycurl.HEADER_SEPARATE),
    ]
    host_and_port = options.proxy_url.partition("://")[2]
    address = _bracketed(options.proxy_address)
    if address and not host_and_port.startswith(f"{address}:"):
        # Its entries in libcurl's cache of names are the only ones; `common` has the reason.
        chosen.append((pycurl.RESOLVE, [f"{host_and_port}:{address}"]))
    if options.proxy_login:
        chosen += [
            (pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC),
            (pycurl.PROXYUSERPWD, options.proxy_login.encode()),
        ]
    return chosen


def single(setopt: Setter, request: Request, leniency: int) -> None:
    """Set the options of one request. `leniency` is the error with which it failed before, or 0."""
    setopt(pycurl.URL, request.url.href.encode())
    options = request.options
    if options.source_addresses:
        setopt(pycurl.INTERFACE, f"host!{_source(options, request.address)}")
    if not options.proxy_url:
        # Connect to this address for any host and port, so that libcurl resolves nothing. With
        # a proxy the option is left out: it would force a tunnel to an address, but the proxy
        # resolves hosts itself.
        setopt(pycurl.CONNECT_TO, [f"::{_bracketed(request.address)}:"])
    coded = leniency in UNDECODED
    # Empty: offer all codings that libcurl was built with: gzip, deflate, br.
    setopt(pycurl.ENCODING, "identity" if coded else "")
    setopt(pycurl.HTTP_CONTENT_DECODING, not coded)
    # Without a usable Content-Length, the body ends with the connection.
    to_the_end = leniency == WEIRD_SERVER_REPLY
    setopt(pycurl.IGNORE_CONTENT_LENGTH, to_the_end)
    closing = ["Connection: close"] if to_the_end else []
    setopt(pycurl.HTTPHEADER, [*options.lines, *request.headers, *closing])


def _source(options: RequestOptions, address: str) -> str:
    """The address to send from; if there is none of the family, another, so that it fails."""
    six = ":" in (options.proxy_address or address)
    fitting = (source for source in options.source_addresses if (":" in source) == six)
    return next(fitting, options.source_addresses[0])


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address and address[0] != "[" else address
