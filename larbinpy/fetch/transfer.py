"""One reply as it arrives: headers and body collected within bounds.

Bytes in, a page out. libcurl calls `header` and `write`; both return 0 to have the
transfer stopped, which libcurl then reports as a write error; and `debug`, where what was
sent is to be kept. No socket, no clock: the
tests feed it by hand.
"""

import re
from collections.abc import Callable

import pycurl

from larbinpy.fetch.settings import Request
from larbinpy.outcome import Outcome, of_status
from larbinpy.page import Page

#: All header lines of a reply, status lines, interim replies (1xx) and trailers included.
#: Servers of note refuse far less from their clients (Apache: 100 lines of 8 kB).
MAX_HEADER_LINES = 300
MAX_HEADER_BYTES = 256 * 1024

#: Larbin's allowance for slow servers.
_BYTES_PER_SECOND = 2000

#: Takes a piece of a reply; 0 has the transfer stopped.
Taker = Callable[[bytes], int | None]

_STATUS = re.compile(rb"HTTP/\S+\s+(\d{3})")
_SWITCHING = 101


class Transfer:
    """The reply to one request; `complete` once its final headers were all read.

    Once they are, nothing that happens to the body changes the outcome of a reply that
    is not 2xx, and headers change no more (what comes then are trailers).
    """

    def __init__(self, request: Request, started: float) -> None:
        self.request = request
        self.started = started
        self.status = 0
        #: As received, without its line end.
        self.status_line = ""
        self.headers: list[tuple[str, str]] = []
        #: The same with their status line, as received.
        self.head: list[bytes] = []
        #: The head of the request, as sent.
        self.sent = b""
        self.complete = False
        #: Decoded bytes of the body that were kept.
        self.size = 0
        self.header_bytes = 0
        #: Seconds during which it was held back by us, not by the server.
        self.held = 0.0
        #: Bytes already accounted for by the throttle.
        self.charged = 0
        self._header_lines = 0
        self._chunks: list[bytes] = []
        self._truncated: str | None = None
        self._stop: Outcome | None = None
        self._detail = ""

    def __repr__(self) -> str:
        state = "body" if self.complete else "headers"
        return f"<Transfer {self.request.url.href} {state} {self.status} {self.size} bytes>"

    def header(self, line: bytes) -> int | None:
        """Take one header line; 0 stops the transfer."""
        self._header_lines += 1
        self.header_bytes += len(line)
        if self._header_lines > MAX_HEADER_LINES or self.header_bytes > MAX_HEADER_BYTES:
            return self._refuse_headers()
        if self.complete:
            return None
        text = line.rstrip(b"\r\n")
        if not text:
            return self._end_headers()
        self.head.append(line)
        if self.status_line:
            self._field(text.decode("latin-1"))
        else:
            match = _STATUS.match(text)
            self.status = int(match[1]) if match else 0
            self.status_line = text.decode("latin-1")
        return None

    def debug(self, kind: int, data: bytes) -> None:
        """Take what libcurl tells of its doings; after a proxy's CONNECT comes the request."""
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.sent = data

    def write(self, chunk: bytes) -> int | None:
        """Take a piece of the decoded body; 0 stops the transfer."""
        if self._stop is not None or not (self.complete or self._begin_headless()):
            return 0
        room = self.request.max_size - self.size
        self._chunks.append(chunk[:room])
        self.size += len(self._chunks[-1])
        if len(chunk) <= room:
            return None
        self._truncated = "length"
        self._stop = Outcome.TOO_BIG
        self._detail = f"cut at {self.request.max_size} bytes"
        return 0

    def overdue(self, now: float, timeout: float) -> bool:
        """Whether a page that gets `timeout` seconds has had its time.

        As in Larbin it gets a second more for each 2,000 bytes that came, so that a slow
        server may finish a long page. One that drips bytes more slowly loses its handle; one
        that keeps to that rate may hold it until `max_size` is reached: 70 minutes for 8 MB.
        """
        earned = (self.header_bytes + self.size) / _BYTES_PER_SECOND
        return now > self.started + timeout + earned + self.held

    def page(self, failure: Outcome | None, message: str = "") -> Page:
        """The page, where `failure` is what libcurl made of the transfer, if it failed.

        Its body is the page's alone from now on: a free handle still knows its last transfer.
        """
        if failure is not None and self._stop is None and self.complete:
            self._truncated = "disconnect"
        body = b"".join(self._chunks)
        self._chunks.clear()
        return Page(
            self.request.url,
            self._outcome(failure),
            status=self.status,
            headers=self.headers,
            head=b"".join(self.head),
            request=self.sent,
            body=body,
            truncated=self._truncated,
            detail=message if self._stop is None else self._detail,
        )

    def _outcome(self, failure: Outcome | None) -> Outcome:
        if self.complete and not 200 <= self.status < 300:
            return of_status(self.status)
        if self._stop is not None:
            return self._stop
        if failure is not None:
            return failure
        # libcurl is content with a connection that was closed in the middle of headers.
        return Outcome.SUCCESS if self.complete else Outcome.EARLY_STOP

    def _refuse_headers(self) -> int:
        """Nothing of such a reply is believed, its status included."""
        self.status = 0
        self.headers = []
        self.head = []
        self.complete = False
        self._stop = Outcome.TOO_BIG
        self._detail = f"more than {MAX_HEADER_LINES} lines or {MAX_HEADER_BYTES} bytes of headers"
        return 0

    def _field(self, line: str) -> None:
        if line[0] in " \t" and self.headers:  # obs-fold (RFC 9112, 5.2)
            name, value = self.headers[-1]
            self.headers[-1] = (name, f"{value} {line.strip()}")
            return
        name, _, value = line.partition(":")
        self.headers.append((name.strip().lower(), value.strip()))

    def _end_headers(self) -> int | None:
        if 100 <= self.status < 200 and self.status != _SWITCHING:
            self.status_line = ""
            self.headers = []
            self.head = []
            return None
        return self._admit()

    def _begin_headless(self) -> bool:
        """A body without headers before it is HTTP/0.9, which knew no failures."""
        self.status = 200
        return self._admit() is None

    def _admit(self) -> int | None:
        """The headers are complete; ask whether the body of a good reply is wanted."""
        self.complete = True
        if 200 <= self.status < 300:
            self._stop = self.request.accept(self._essence())
        return None if self._stop is None else 0

    def _essence(self) -> str:
        declared = next((value for name, value in self.headers if name == "content-type"), "")
        return declared.partition(";")[0].strip().lower()
