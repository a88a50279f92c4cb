"""The requests of a fetcher and their options for libcurl; libcurl's errors as outcomes of a page.

An option is *common*, *shared* by all requests with the same `RequestOptions`, or *single*, set
for every request whatever its value. A handle is reset when it changes from one `RequestOptions`
to another, and after one with a spelling of its own (pycurl cannot unset a request target). So no
option of one request remains in force for the next.
"""

import base64
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, NamedTuple

import pycurl

from larbinpy.page import PROXY_NEEDS_LOGIN, Outcome
from larbinpy.url import Url, split


class Refusal(NamedTuple):
    """The outcome of a reply whose body is not wanted."""

    outcome: Outcome
    detail: str = ""


#: Called when the headers of a 2xx reply are complete, with its media type (lower case, no
#: parameters, empty if none was sent) and the declared length of its body (encoded as it is sent;
#: None if there is none). Returns None to continue; a refusal stops before the body is read.
Accept = Callable[[str, int | None], Refusal | None]


@dataclass(frozen=True)
class FetchSettings:
    """The settings that all requests share. Sizes in bytes."""

    #: Simultaneous transfers.
    handles: int
    #: The most transfers that `Fetcher.resize` allows, because descriptors are limited.
    most_handles: int = 100_000
    #: Bytes per second for all transfers together; 0 for no limit.
    bond_width: float = 0.0
    #: One cookie jar in memory for the whole crawl.
    use_cookies: bool = False
    #: A cookies.txt in Netscape's format, whose cookies are in the jar from the start.
    cookie_file: str | None = None
    #: Bytes of cookies beyond which the jar is emptied. libcurl keeps most cookies forever, and
    #: may go through all of them for each request: 4 MB are some 15,000 ordinary ones.
    most_cookies: int = 4_000_000
    #: URLs remembered with the end of a broken reply. If there are more, the oldest is forgotten,
    #: so that its next request fails, too.
    most_broken: int = 1000
    #: Keep the head of each request in its page.
    keep_requests: bool = False


@dataclass(frozen=True)
class RequestOptions:
    """The part of a request that its site decides. Times in seconds.

    Requests with the same options share one object: a handle whose last request had another
    object is reset, which costs 4 us. Credentials are not part of the repr.
    """

    user_agent: str
    #: Ask for the headers alone (HEAD).
    head: bool = False
    #: The From header; empty for none (RFC 9110, 10.1.2).
    sender: str = ""
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    #: The Accept-Language header; empty for none.
    accept_language: str = ""
    #: Further header lines, "Name: value"; they replace those above.
    headers: tuple[str, ...] = field(default=(), repr=False)
    #: Time for a page, to which each 2,000 bytes received add one second.
    timeout_page: float = 30.0
    #: Time for the TCP and TLS handshakes together.
    timeout_connect: float = 10.0
    #: ``SCHEME://HOST:PORT``, empty for none; http, https or socks5h. The proxy resolves names
    #: itself, so the addresses of the requests are not used.
    proxy_url: str = ""
    #: The numeric address of the proxy.
    proxy_address: str = ""
    #: ``USER:PASSWORD`` for the proxy; empty for none.
    proxy_login: str = field(default="", repr=False)
    #: ``USER:PASSWORD`` for the site; empty for none.
    login: str = field(default="", repr=False)
    #: How to send the login: "basic", "digest" or "negotiate", which takes the user's Kerberos
    #: ticket; empty for Basic or Digest, as the site asks.
    auth: str = ""
    #: The body of a POST; None for other requests. Its type is one of `headers`.
    body: bytes | None = field(default=None, repr=False)
    #: The name of the cookie jar; empty for that of the crawl.
    jar: str = ""
    #: PEM file of the authorities to trust instead of the system's.
    ca_file: str | None = None
    insecure_tls: bool = False
    #: The newest version that is offered: "1.0", "1.1" or "2", which servers take by TLS alone.
    http_version: str = "2"
    #: Offer keys by DHE in TLS 1.2, too.
    with_dhe: bool = True
    #: PEM files of the client's certificate and of its key, which may be one.
    client_cert: str | None = None
    client_key: str | None = None
    #: Numeric addresses to send from; a connection uses the first of its family. Empty for the
    #: system's choice.
    source_addresses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (*self.headers, self.user_agent, self.sender, self.accept_language):
            if not line.isprintable():
                raise ValueError(f"a header has a control character: {_head_of(line)!r}")
            if not line.isascii():
                raise ValueError(f"a header has characters that are not ASCII: {_head_of(line)!r}")

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The header lines.

        Credentials are only in `headers`.
        """
        own = {
            "Accept": self.accept,
            "From": self.sender,
            "Accept-Language": self.accept_language,
        }
        given = {line.partition(":")[0].lower() for line in self.headers}
        lines = [f"{name}: {value}" for name, value in own.items() if value]
        return (
            *(line for line in lines if line.partition(":")[0].lower() not in given),
            *self.headers,
        )


def _head_of(line: str) -> str:
    """The name of a header, for messages; its value may be a secret."""
    return line.partition(":")[0][:60]


@dataclass(slots=True)
class Request:
    """A page to fetch."""

    url: Url
    #: Numeric and already checked; IPv6 with or without brackets. No other address is contacted.
    address: str
    accept: Accept
    #: Most bytes of the decoded body that are kept.
    max_size: int
    options: RequestOptions
    #: Header lines for this request only.
    headers: Sequence[str] = ()
    #: Most bytes of the decoded body that are kept beyond `max_size`, packed.
    most_beyond: int = 0


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

#: OpenSSL's messages for a peer that closed during a handshake, and for one that chose DHE with a
#: group below our bound (browsers offer no DHE).
_CUT_HANDSHAKE = "unexpected eof"
_WEAK_DHE = "dh key too small"
#: Others, and what they mean.
_PLAINLY = {
    "unable to get local issuer certificate": (
        "certificate: the server does not send the one between its own and a known authority's "
        "(browsers find it elsewhere), or its authority is unknown"
    ),
    "wrong version number": "what answers does not speak TLS",
    "alert protocol version": "the server knows neither TLS 1.2 nor 1.3",
    "unsafe legacy renegotiation disabled": (
        "the server's TLS is too old: it cannot renegotiate safely (RFC 5746)"
    ),
    "alert handshake failure": "the server knows no cipher that is offered",
}
#: Why a SOCKS proxy refuses (RFC 1928, 6).
_SOCKS = re.compile(r"SOCKS5 connection to .*\(([1-8])\)").search
_BY_SOCKS = [
    *("", "a general failure", "its rules forbid it", "the network is unreachable"),
    *("the host is unreachable", "connection refused", "it took too long"),
    *("it knows no such command", "it knows no such address"),
]
#: Schemes at the beginning of a challenge, or behind another one.
_CHALLENGES = re.compile(r"(?:^|,)\s*([A-Za-z][\w-]*)(?=\s*(?:,|$)|\s+\w+\s*=)").findall
#: Errors of HTTP/2: of a connection, and of one stream.
_OF_TWO = frozenset({pycurl.E_HTTP2, 92})
#: Errors of a connection that ends before any reply.
_CUT_OFF = frozenset({pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING})
#: The words of a server that asks for fewer requests.
_CALM = "ENHANCE_YOUR_CALM"


def meaning(code: int, message: str, os_errno: int) -> Outcome:
    """The outcome for libcurl's `code`; `os_errno` is that of the last system call.

    A TLS handshake that was cut off is a noConnection, because it says nothing about the peer's
    certificate or protocol. libcurl reports it under the same code as a failed one, with a
    system error or with OpenSSL's message about an end of file.
    """
    if code == pycurl.E_SSL_CONNECT_ERROR and (os_errno or _CUT_HANDSHAKE in message):
        return Outcome.NO_CONNECTION
    return _OUTCOMES.get(code, Outcome.EARLY_STOP)


#: Values of `RequestOptions` for a site that fails with others.
Changes = tuple[tuple[str, Any], ...]


def milder(code: int, message: str, *, by_two: bool) -> Changes:
    """What to change after an error, so that the site may answer; empty if nothing helps.

    `by_two`: the reply had begun by HTTP/2.
    """
    if code == pycurl.E_SSL_CONNECT_ERROR and _WEAK_DHE in message:
        return (("with_dhe", False),)
    if code in _OF_TWO or (by_two and code not in LENIENCY):
        return (("http_version", "1.1"),)
    return ()


def unanswered(code: int, given: RequestOptions) -> Changes:
    """Return the changes after an error of TLS before any reply; `given` were the options.

    Servers that know HTTP/2 for some of their pages only, or not quite, end the connection.
    """
    is_by_two = given.http_version == "2" and code in _CUT_OFF
    return (("http_version", "1.1"),) if is_by_two else ()


def asks_for_calm(message: str) -> bool:
    """Whether an error of HTTP/2 says that the server gets too many requests."""
    return _CALM in message


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


def proxy_unauthorized(login: bool, asked: Iterable[str] = ()) -> str:
    """The reason of a 407; `login`: the proxy has got one. `asked` has its Proxy-Authenticate."""
    schemes = [scheme for value in asked for scheme in _CHALLENGES(value)]
    if schemes and "basic" not in map(str.lower, schemes):
        return f"the proxy asks for a login by {' or '.join(dict.fromkeys(schemes))}, not by Basic"
    return "the proxy refuses the login" if login else PROXY_NEEDS_LOGIN


def concise(code: int, message: str, os_errno: int) -> str:
    """libcurl's `message`, or a plainer one; the system's if there was no connection."""
    plain = next((plain for words, plain in _PLAINLY.items() if words in message), None)
    if plain is not None:
        return plain
    if refused := _SOCKS(message):
        return f"it cannot connect to the server: {_BY_SOCKS[int(refused[1])]}"
    return os.strerror(os_errno) if code == pycurl.E_COULDNT_CONNECT and os_errno else message


# CURLOPT_SUPPRESS_CONNECT_HEADERS has no name in pycurl. Without it the header callback would get
# a proxy's reply to CONNECT before the reply itself.
_SUPPRESS_CONNECT_HEADERS = 265

_PROTOCOLS = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS

#: libcurl's errors for a body that it cannot decode: it is not packed as its Content-Encoding
#: says, or in an unknown way; or (a write error of its own) more follows the packed content.
UNDECODED = frozenset({pycurl.E_BAD_CONTENT_ENCODING, pycurl.E_WRITE_ERROR})
#: Errors that a more lenient request avoids; the last is a header line without a colon, or with a
#: NUL, a Content-Length that is not a number, and others.
LENIENCY = UNDECODED | {WEIRD_SERVER_REPLY}

#: Words of libcurl's messages about other heads and framings that we may understand.
_FRAMING = ("Unsupported HTTP", "Transfer-Encoding", "chunk hex-length")


def about_framing(code: int, message: str) -> int:
    """The error `code`, WEIRD_SERVER_REPLY if it, or its message, says as much.

    A header line may be longer than libcurl takes (100 kB).
    """
    is_framing = code == _TOO_LARGE or any(words in message for words in _FRAMING)
    return WEIRD_SERVER_REPLY if is_framing else code


_AUTH = {
    "": pycurl.HTTPAUTH_BASIC | pycurl.HTTPAUTH_DIGEST,
    "basic": pycurl.HTTPAUTH_BASIC,
    "digest": pycurl.HTTPAUTH_DIGEST,
    "negotiate": pycurl.HTTPAUTH_NEGOTIATE,
}

_VERSIONS = {
    "1.0": pycurl.CURL_HTTP_VERSION_1_0,
    "1.1": pycurl.CURL_HTTP_VERSION_1_1,
    "2": pycurl.CURL_HTTP_VERSION_2TLS,
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
        (pycurl.HTTP09_ALLOWED, 1),
        # Requests have addresses and no names. Even so, libcurl would cache each for a minute,
        # and search the cache whenever a connection ends.
        (pycurl.DNS_CACHE_TIMEOUT, 0),
        *([(pycurl.COOKIEFILE, "")] if settings.use_cookies else []),
    ]


def shared(options: RequestOptions) -> list[tuple[int, object]]:
    """Options of all requests with `options`."""
    return [
        (pycurl.CONNECTTIMEOUT_MS, round(options.timeout_connect * 1000)),
        (pycurl.USERAGENT, options.user_agent),
        (pycurl.HTTP_VERSION, _VERSIONS[options.http_version]),
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
    if not options.with_dhe:
        chosen.append((pycurl.SSL_CIPHER_LIST, "DEFAULT:!kDHE"))
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


def may_ask_again(head: bytes, request: Request) -> bool:
    """Whether a handle may send another head after this one: through a tunnel, or to log in."""
    options = request.options
    return bool(options.login or options.auth) or head.startswith(b"CONNECT ")


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


def _target(spelling: str, options: RequestOptions) -> str:
    """The request target for the server's own spelling of a URL, which libcurl would change."""
    # A proxy that makes the request itself needs the host, too.
    whole = options.proxy_url.startswith("http") and spelling.startswith("http:")
    return spelling if whole else split(spelling).path


def leniency_after(request: Request, code: int) -> int:
    """The error `code` if `request` can be made in another way after it, else 0.

    What libcurl does not send has no login of libcurl, and no body.
    """
    options = request.options
    needs_libcurl = options.login or options.auth or options.body is not None
    return 0 if code == WEIRD_SERVER_REPLY and needs_libcurl else code


def single(setopt: Setter, request: Request, leniency: int) -> None:
    """Set the options of one request. `leniency` is the error with which it failed before, or 0."""
    setopt(pycurl.URL, request.url.href.encode())
    options = request.options
    if request.url.spelling:
        setopt(pycurl.REQUEST_TARGET, _target(request.url.spelling, options))
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
    # Then `transfer.RawExchange` sends the request and reads the reply.
    setopt(pycurl.CONNECT_ONLY, int(leniency == WEIRD_SERVER_REPLY))
    setopt(pycurl.HTTPHEADER, [*options.lines, *request.headers])


def raw_head(request: Request, cookies: str = "") -> bytes:
    """The head of a request that is sent without libcurl; `cookies` are what its Cookie says."""
    options = request.options
    scheme, _, rest = request.url.href.partition("://")
    authority, _, path = rest.partition("/")
    by_proxy = scheme == "http" and options.proxy_url.startswith("http")
    login = base64.b64encode(options.proxy_login.encode()).decode()
    lines = [
        f"{'HEAD' if options.head else 'GET'} {request.url.href if by_proxy else f'/{path}'} "
        f"HTTP/{'1.0' if options.http_version == '1.0' else '1.1'}",
        f"Host: {authority}",
        f"User-Agent: {options.user_agent}",
        *([f"Proxy-Authorization: Basic {login}"] if by_proxy and login else []),
        *options.lines,
        *request.headers,
        *([f"Cookie: {cookies}"] if cookies else []),
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def _source(options: RequestOptions, address: str) -> str:
    """The address to send from; if there is none of the family, another, so that it fails."""
    six = ":" in (options.proxy_address or address)
    fitting = (source for source in options.source_addresses if (":" in source) == six)
    return next(fitting, options.source_addresses[0])


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address and address[0] != "[" else address


def versions() -> str:
    """libcurl with its libraries for TLS, HTTP/2 and content codings, and pycurl."""
    binding, libcurl, *libraries = (name.replace("/", " ") for name in pycurl.version.split())
    return f"{libcurl} with {', '.join(libraries)}; {binding}"
