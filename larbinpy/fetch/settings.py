"""The settings of a fetcher, its requests and their options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from larbinpy.outcome import Outcome
from larbinpy.url import Url


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
    #: URLs remembered for a more lenient request. If there are more, the oldest is forgotten, so
    #: that its next request fails, too.
    most_lenient: int = 1000
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

        Never a Referer, which would disclose one site to another; credentials only in `headers`.
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
