"""What a fetcher is told: once for all of them, and for each request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from larbinpy.outcome import Outcome
from larbinpy.url import Url

#: Asked once a 2xx reply's headers are complete, with its media type (lower case, no
#: parameters, empty where none was sent): None to go on, or the outcome to stop with before
#: the body is read.
Accept = Callable[[str], Outcome | None]


@dataclass(frozen=True)
class FetchSettings:
    """How every page is asked for. Times in seconds, sizes in bytes."""

    #: Transfers at once.
    handles: int
    user_agent: str
    #: `Fetcher.resize` gives no more, for want of descriptors.
    most_handles: int = 100_000
    #: The From header, where there is one (RFC 9110, 10.1.2).
    sender: str = ""
    #: A page gets this long, and a second more for each 2,000 bytes that came.
    timeout_page: float = 30.0
    #: TCP and TLS handshakes together.
    timeout_connect: float = 10.0
    #: ``http://ADDRESS:PORT``. The proxy looks names up itself, so the addresses of the
    #: requests go unused; its own should be numeric, or libcurl's resolver is asked.
    proxy_url: str | None = None
    #: Bytes per second for all transfers together, 0 for no limit.
    bond_width: float = 0.0
    #: One cookie jar in memory for the whole crawl, emptied once it holds more than so many
    #: bytes. libcurl keeps most cookies for good, and may go through all of them for each
    #: request: 4 MB are some 15,000 ordinary ones.
    use_cookies: bool = False
    most_cookies: int = 4_000_000
    #: URLs that are remembered for a more lenient request; beyond that the oldest is forgotten,
    #: and merely fails once more.
    most_lenient: int = 1000
    #: PEM file of the authorities to trust, in place of the system's.
    ca_file: str | None = None
    insecure_tls: bool = False
    #: Keep the head of each request with its page.
    keep_requests: bool = False
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(slots=True)
class Request:
    """One page to be fetched."""

    url: Url
    #: Numeric, already checked; IPv6 with or without brackets. Nothing else is contacted.
    address: str
    accept: Accept
    #: Longest body that is kept, in decoded bytes.
    max_size: int
    #: Header lines of this request alone.
    headers: Sequence[str] = ()
