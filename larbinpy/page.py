"""The result of fetching one URL, and its line in the crawl log."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from operator import attrgetter

from larbinpy.outcome import READABLE, Outcome
from larbinpy.url import GUESS, Url

_NOT_MODIFIED = HTTPStatus.NOT_MODIFIED.value
#: RFC 6838, 4.2: names of at most 127 characters before and after the slash.
_LONGEST_TYPE = 255
#: 9999-12-31T23:59:59Z, the last one that has four digits of a year.
_LAST_SECOND = 253_402_300_799


def timestamp(wall: float, timespec: str = "seconds") -> str:
    """Return the Unix time `wall` in ISO 8601, in UTC, to "seconds" or "milliseconds".

    Archives and files may have any time: those before 1970 and after 9999 become the nearest one.
    """
    second, microseconds = divmod(round(wall * 1e6), 10**6)
    fraction = f".{microseconds // 1000:03d}" if timespec == "milliseconds" else ""
    return f"{_second(second)}{fraction}Z"


@lru_cache(1)
def _second(unix: int) -> str:
    """A time that many pages have in common, to the second."""
    unix = min(max(unix, 0), _LAST_SECOND)
    return datetime.fromtimestamp(unix, UTC).replace(tzinfo=None).isoformat()


# Most servers send one of a few values. The longest that a `Transfer` takes would fill 16 MB.
@lru_cache(1 << 6)
def content_type(value: str | None) -> tuple[str, str | None]:
    """Return the media type and the charset of a Content-Type, as `Page` does."""
    sent, _, parameters = (value or "").partition(";")
    media_type = sent.strip()[:_LONGEST_TYPE].lower()
    for parameter in parameters.split(";"):
        name, _, charset = parameter.partition("=")
        if name.strip().lower() == "charset" and charset.strip():
            return media_type, charset.strip().strip("\"'") or None
    return media_type, None


@dataclass(slots=True)
class Page:
    """The result of one fetch: a page, or the reason why there is none."""

    url: Url
    outcome: Outcome
    #: HTTP status; 0 if no reply came.
    status: int = 0
    #: In the order received; names in lower case, values stripped, decoded as Latin-1.
    headers: list[tuple[str, str]] = field(default_factory=list)
    #: Decoded (gzip, br). Empty for one that is `not_modified` since a visit that put it into the
    #: database, or, if it is a large file without links, into the mirror.
    body: bytes = b""
    #: The body ended early: "length" (cut at maxPageSize) or "disconnect"; else None.
    truncated: str | None = None
    #: Address the request went to.
    ip: str | None = None
    #: Milliseconds from the start of the request to its end, and to the first byte of the reply.
    ms: int = 0
    first_byte_ms: int = 0
    #: Bytes on the wire, headers included.
    received: int = 0
    #: One short line with the reason, if the outcome alone does not give it.
    detail: str = ""
    #: A reply came whose Content-Encoding could not be decoded: no sign of overload. The next
    #: request offers no coding.
    misread: bool = False
    #: Makes the list of `links`, once the page is parsed.
    list_links: Callable[[], list[str]] = list
    #: Its encoding, once it is parsed.
    charset: str | None = None
    #: Status line and header lines of the reply as received, each with its line end.
    head: bytes = b""
    #: The head of the request as sent, if the fetcher keeps requests.
    request: bytes = b""
    #: What follows the body of a sitemap that is longer than maxPageSize, packed (zlib).
    rest: bytes = b""
    _links: list[str] | None = field(default=None, init=False, repr=False)

    @property
    def links(self) -> list[str]:
        """Canonical URLs of all kinds that the page links to, once it is parsed.

        The list is made when it is first read, so pages whose links no output reads cost nothing.
        """
        if self._links is None:
            self._links = self.list_links()
        return self._links

    def header(self, name: str) -> str | None:
        """Return the first value of header `name` (lower case)."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    @property
    def not_modified(self) -> bool:
        """Whether the server says that the page has not changed since the last fetch."""
        return self.status == _NOT_MODIFIED

    @property
    def vain(self) -> bool:
        """Whether a sitemap was looked for and is not there: no page, and no failure either."""
        return self.url.purpose is GUESS and self.outcome not in READABLE

    @property
    def type(self) -> str:
        """Media type without parameters, lower case; empty if none was sent.

        Cut at the longest that the RFC allows, as it is logged and servers may send anything.
        """
        return content_type(self.header("content-type"))[0]

    @property
    def http_charset(self) -> str | None:
        """The charset parameter of Content-Type."""
        return content_type(self.header("content-type"))[1]


@dataclass(slots=True)
class Fate:
    """The final record of a URL: a line of the crawl log. Units as in `Page`."""

    ts: str
    url: str
    outcome: str
    status: int
    size: int
    type: str
    depth: int
    via: str | None
    ip: str | None
    ms: int
    #: Which try this was, from 1; 0 if no request was made.
    attempt: int
    detail: str = ""
    #: Needed to show a page (requisites).
    requisite: bool = False

    @classmethod
    def of(cls, page: Page, wall: float) -> "Fate":
        """Return the record for the URL of `page`, decided at the Unix time `wall`."""
        url = page.url
        return cls(
            ts=timestamp(wall, "milliseconds"),
            url=url.href,
            outcome=page.outcome.value,
            status=page.status,
            size=len(page.body),
            type=page.type,
            depth=url.depth,
            via=url.via,
            ip=page.ip,
            ms=page.ms,
            attempt=url.attempt,
            detail=page.detail,
            requisite=url.requisite,
        )

    def as_dict(self) -> dict[str, object]:
        """Return the fields by name, without an empty detail, `requisite` only if it is true."""
        # dataclasses.asdict copies deeply: a millisecond for the fates of a status page.
        values = dict(zip(_NAMES, _values(self), strict=True))
        if not self.detail:
            del values["detail"]
        if not self.requisite:
            del values["requisite"]
        return values


_NAMES = tuple(each.name for each in fields(Fate))
_values = attrgetter(*_NAMES)
