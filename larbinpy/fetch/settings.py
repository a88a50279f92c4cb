"""The settings of a fetcher, and its requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from larbinpy.outcome import Outcome
from larbinpy.url import Url

#: Called when the headers of a 2xx reply are complete, with its media type (lower case, no
#: parameters, empty if none was sent). Returns None to continue, or the outcome with which to stop
#: before the body is read.
Accept = Callable[[str], Outcome | None]


@dataclass(frozen=True)
class FetchSettings:
    """The settings of all requests. Times in seconds, sizes in bytes."""

    #: Simultaneous transfers.
    handles: int
    user_agent: str
    #: The most transfers that `Fetcher.resize` allows, because descriptors are limited.
    most_handles: int = 100_000
    #: The From header; empty for none (RFC 9110, 10.1.2).
    sender: str = ""
    #: Time for a page, to which each 2,000 bytes received add one second.
    timeout_page: float = 30.0
    #: Time for the TCP and TLS handshakes together.
    timeout_connect: float = 10.0
    #: ``http://ADDRESS:PORT``. The proxy resolves names itself, so the addresses of the requests
    #: are not used; its own should be numeric, else libcurl's resolver is asked.
    proxy_url: str | None = None
    #: Bytes per second for all transfers together; 0 for no limit.
    bond_width: float = 0.0
    #: One cookie jar in memory for the whole crawl.
    use_cookies: bool = False
    #: Bytes of cookies beyond which the jar is emptied. libcurl keeps most cookies forever, and
    #: may go through all of them for each request: 4 MB are some 15,000 ordinary ones.
    most_cookies: int = 4_000_000
    #: URLs remembered for a more lenient request. If there are more, the oldest is forgotten, so
    #: that its next request fails, too.
    most_lenient: int = 1000
    #: PEM file of the authorities to trust instead of the system's.
    ca_file: str | None = None
    insecure_tls: bool = False
    #: Keep the head of each request in its page.
    keep_requests: bool = False
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(slots=True)
class Request:
    """A page to fetch."""

    url: Url
    #: Numeric and already checked; IPv6 with or without brackets. No other address is contacted.
    address: str
    accept: Accept
    #: Most bytes of the decoded body that are kept.
    max_size: int
    #: Header lines for this request only.
    headers: Sequence[str] = ()
