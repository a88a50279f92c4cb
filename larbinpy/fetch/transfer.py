"""One reply as it arrives: headers and body collected within bounds.

libcurl calls `header` and `write`, which return 0 to stop the transfer; libcurl then reports a
write error. If the request is to be kept, it calls `debug` too. There is no socket and no clock:
tests feed it by hand. Where libcurl refuses what browsers show, a `RawExchange` reads the reply.

`decode` removes content codings that libcurl cannot, as most browsers do. libcurl knows no zstd
here, and refuses a gzip file with anything after its first member. Servers send both even if
`identity` is asked for. What is no such file at all has a wrong label.
"""

import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pycurl

from larbinpy.fetch.options import Request, proxy_unauthorized, raw_head
from larbinpy.page import LONG_HEADERS, NEEDS_LOGIN, Outcome, Page, declared_type, of_status
from larbinpy.url import SECRET_HEADER, hash64

#: Codings of one body, as libcurl.
_MOST_LAYERS = 5
#: Members of one file: an empty one takes 6 us and 20 bytes.
_MOST_MEMBERS = 10_000
_PORTION = 1 << 16
#: RFC 9659: the largest window of a zstd body (bytes).
_ZSTD_WINDOW = 8 << 20
_NAMES = {"x-gzip": "gzip", "x-compress": "compress"}
_NONE = frozenset({"", "identity", "none"})
_CODINGS = frozenset({"br", "compress", "deflate", "gzip", "zstd"})
_AROUND = ' \t"'
#: Beginnings of files with these codings; a body without is not packed so, whatever its label is.
_BEGINNINGS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "compress": b"\x1f\x9d"}
#: No text has one of these bytes (MIME Sniffing standard, section 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HEAD = 512
_DAMAGED = "its packed content is damaged"
#: The head of a gzip file, in bytes, and the flags of what follows it (RFC 1952, 2.3).
_GZIP_HEAD, _HEAD_CHECK, _EXTRA, _FILE_NAME, _COMMENT = 10, 2, 4, 8, 16
#: Types of files that are packed by themselves: nobody packs them once more.
_MEDIA = re.compile(r"(?:audio|font|image|video)/(?!svg)")


#: Types of gzip files, and endings of their names. Browsers keep those as they are if a server says
#: that they are packed: it means the file, not its transfer.
_PACKED = re.compile(r"application/(?:x-)?(?:gzip|gunzip|gtar-compressed|compressed-tar|tgz)")
_PACKED_NAME = re.compile(r"\.(?:gz|tgz)(?:\?|\Z)")
_PACKED_AS = frozenset({"", "application/octet-stream", "application/x-tar", "application/tar"})


def is_packed_file(url: str, media_type: str, codings: str) -> bool:
    """Whether the Content-Encoding of a reply names what its content is: a gzip file."""
    if codings.strip().lower() not in ("gzip", "x-gzip"):
        return False
    if media_type in _PACKED_AS:
        return _PACKED_NAME.search(url) is not None
    return _PACKED.fullmatch(media_type) is not None


class Decoded(NamedTuple):
    """A body without its codings."""

    body: bytes
    #: It is longer, and was cut.
    is_cut: bool = False
    #: Why it is not the whole content; empty if it is.
    fault: str = ""


def decode(body: bytes, codings: str, media_type: str, most: int) -> Decoded:
    """Return at most `most` bytes of a body without its `codings`, a Content-Encoding.

    A label that is obviously wrong is ignored. A body that cannot be decoded is empty; of one that
    ends too early, there is what can be decoded.
    """
    # A quality is of requests, and quotes are of nothing; servers send both.
    names = [name.partition(";")[0].strip(_AROUND).lower() for name in codings.split(",")]
    layers = [_NAMES.get(name, name) for name in reversed(names) if name not in _NONE]
    # Beside a coding, other names are of transfers and storages (gzip, aws-chunked).
    layers = [name for name in layers if name in _CODINGS] or layers
    if len(layers) > _MOST_LAYERS:
        layers = [codings[:_HEAD]]
    decoded = Decoded(body)
    for name in layers:
        if not decoded.fault:
            whole = decoded
            decoded = _without(name, whole.body, media_type, most)
            decoded = decoded._replace(is_cut=decoded.is_cut or whole.is_cut)
    return decoded


def _without(name: str, body: bytes, media_type: str, most: int) -> Decoded:
    beginning = _BEGINNINGS.get(name, b"")
    if not body.startswith(beginning):
        return Decoded(body)
    if name == "gzip":
        decoded = _unpacked(body, partial(zlib.decompressobj, 31), beginning, most)
        return _unchecked(body, most) if decoded.fault == _DAMAGED else decoded
    if name == "zstd":
        return _unpacked(body, _Zstd, beginning, most)
    if name == "deflate":
        # Some servers leave out the frame of zlib, or have that of gzip.
        for bits in (47, -15):
            decoded = _unpacked(body, partial(zlib.decompressobj, bits), None, most)
            if decoded.body:
                return decoded
    if name not in _BEGINNINGS and not _BINARY.search(body, 0, _HEAD):
        return Decoded(body)
    if _MEDIA.match(media_type):
        return Decoded(body)
    return Decoded(b"", fault=f"it is packed as {name!r}, which cannot be read")


def _unchecked(body: bytes, most: int) -> Decoded:
    """The one member of a gzip file, whose checksum is wrong; browsers do not look at it."""
    flags, start = int.from_bytes(body[3:4], "little"), _GZIP_HEAD
    if flags & _EXTRA:
        start += 2 + int.from_bytes(body[start : start + 2], "little")
    for field in (_FILE_NAME, _COMMENT):
        if flags & field:
            start = body.find(b"\0", start) + 1
    start += 2 * bool(flags & _HEAD_CHECK)
    member = zlib.decompressobj(-15)
    with suppress(zlib.error):
        text = member.decompress(body[start:], most + 1)
        if len(text) > most or (member.eof and _BEGINNINGS["gzip"] not in member.unused_data):
            return Decoded(text[:most], len(text) > most)
    return Decoded(b"", fault=_DAMAGED)


class _Zstd:
    """A frame of zstd, as zlib's objects unpack theirs; `decompress` takes some bytes only."""

    #: A block of 4 bytes becomes 128 kB.
    _PORTION = 128

    def __init__(self) -> None:
        # Loaded here, as hardly any server sends this unasked.
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        self._error = zstandard.ZstdError
        self.unconsumed_tail = b""

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, _most: int) -> bytes:
        """Raises zlib.error."""
        self.unconsumed_tail = data[self._PORTION :]
        try:
            return self._frame.decompress(data[: self._PORTION])
        except self._error as error:
            raise zlib.error from error


def _unpacked(body: bytes, make: Callable[[], Any], beginning: bytes | None, most: int) -> Decoded:
    """All members of a file that begin so; the first one if that is None.

    What follows the last one does not count.
    """
    chunks: list[bytes] = []
    position, room = 0, most + 1
    for _ in range(_MOST_MEMBERS):
        member = make()
        while not member.eof and position < len(body) and room > 0:
            # A portion at a time, as zlib copies the rest of its input.
            portion = body[position : position + _PORTION]
            try:
                chunks.append(member.decompress(portion, room))
            except zlib.error:
                return Decoded(b"", fault=_DAMAGED)
            position += len(portion) - len(member.unused_data) - len(member.unconsumed_tail)
            room -= len(chunks[-1])
        is_last = beginning is None or not body.startswith(beginning, position)
        if room <= 0 or not member.eof or is_last:
            break
    else:
        return Decoded(b"", fault=f"its packed content has more than {_MOST_MEMBERS} members")
    fault = "" if room <= 0 or member.eof else "its packed content ends too early"
    unpacked = b"".join(chunks)
    return Decoded(unpacked[:most], len(unpacked) > most, fault)


#: How files begin, the mark of their end, and how many bytes there are from it on.
_FILES = (
    (b"\x89PNG", b"IEND", 8),
    (b"\xff\xd8\xff", b"\xff\xd9", 2),
    (b"GIF8", b";", 1),
    (b"%PDF-", b"%%EOF", 5),
    (b"PK\3\4", b"PK\5\6", 22),
)
#: Blanks and comments that may follow the end of a file.
_SLACK = 32
_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: A file of gzip that unpacks to more is not examined.
_MOST_UNPACKED = 32 << 20


def is_of_use(body: bytes, *, stalled: bool) -> bool:
    """Whether a body that ends before its declared end is worth having.

    That is a file that ends as those of its kind do, although the length is wrong; and the
    beginning of a text, unless the server has `stalled`, and might have gone on.
    """
    for begin, end, size in _FILES:
        if body.startswith(begin):
            return _has_near_end(body, end, size)
    if body.startswith(_BEGINNINGS["gzip"]):
        unpacked = decode(body, "gzip", "", _MOST_UNPACKED)
        return not unpacked.fault and not unpacked.is_cut
    if body.startswith(b"RIFF"):
        return len(body) >= 8 + int.from_bytes(body[4:8], "little")
    is_text = body.startswith(_MARKS) or not _BINARY.search(body, 0, _HEAD)
    return is_text and (not stalled or _has_near_end(body.lower(), b"</html>", 7))


def _has_near_end(body: bytes, mark: bytes, size: int) -> bool:
    at = body.rfind(mark, max(len(body) - size - _SLACK, 0))
    return 0 <= at <= len(body) - size


#: Most header lines and bytes of a reply, including status lines, interim replies (1xx) and
#: trailers. Common servers accept far less from clients (Apache: 100 lines of 8 kB).
MAX_HEADER_LINES = 300
MAX_HEADER_BYTES = 256 * 1024

#: Most packed bytes of a reply beyond the size of a page. A long sitemap takes an eighth of its
#: size; one that cannot be packed is none.
MAX_PACKED = 8 << 20

#: Larbin's allowance for slow servers: each so many bytes add one second.
_BYTES_PER_SECOND = 2000

#: Takes a piece of a reply; returns 0 to stop the transfer.
Taker = Callable[[bytes], int | None]


class Attempt(NamedTuple):
    """A request whose reply broke off, or could not be read."""

    #: libcurl's error.
    code: int
    #: Of its reply, as `ending_of` has it.
    ending: int | None


def ending_of(page: Page) -> int | None:
    """Identifies what came of a body that broke off; None if there is none."""
    return hash64(page.body) if page.truncated == "disconnect" and page.body else None


#: How servers begin that speak another protocol of lines: SSH, SMTP, FTP and NNTP, POP3 and Redis,
#: IMAP, VNC, rsync, SIP and RTSP, IRC, Memcached. No document without headers (HTTP/0.9) does.
_BANNER = re.compile(
    rb"SSH-\d|(?:1[02]0|20[01]|220|4[02][01]|5\d\d)[ -]|[+-](?:OK|ERR)\b|\* (?:OK|PREAUTH|BYE)\b|"
    rb"RFB \d|@RSYNCD:|(?:SIP|RTSP)/\d|:\S+ (?:NOTICE|\d{3}) |(?:NOTICE|ERROR)\b"
)
#: So many bytes tell.
_TELLING = 64
#: How documents begin that may be binary.
_DOCUMENTS = (*(begin for begin, _, _ in _FILES), *_MARKS, b"RIFF", b"ICY ", _BEGINNINGS["gzip"])
_STATUS = re.compile(rb"HTTP/?\S*\s+(\d{3})", re.IGNORECASE)
#: A status line in another form, or, as in browsers, after some bytes of the reply before.
_LATE_STATUS = re.compile(rb"[\s\S]{0,4}HTTP[/ ]", re.IGNORECASE)
_TELLING_HTTP = 9
_CHOICES = 300
_NOT_MODIFIED = 304
_SWITCHING = 101
_UNAUTHORIZED = 401
_PROXY_UNAUTHORIZED = 407
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_CHUNK = re.compile(rb"[0-9a-fA-F]{1,15}")


class _Rest:
    """What comes beyond the size of a page, packed: at most `most` bytes, and `MAX_PACKED`."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._packer = zlib.compressobj(level=1)
        self._chunks: list[bytes] = []
        self._size = 0
        #: Whether more came than there is room for.
        self.is_full = False

    def add(self, chunk: bytes) -> int:
        """Take as much of `chunk` as there is room for; return how many bytes that is."""
        taken = chunk[: self._room]
        self._room -= len(taken)
        self.is_full = len(taken) < len(chunk)
        self._chunks.append(self._packer.compress(taken))
        self._size += len(self._chunks[-1])
        if self._size > MAX_PACKED:
            self._room, self.is_full = 0, True
        return len(taken)

    def packed(self) -> bytes:
        """All that was taken; to be called once."""
        return b"".join((*self._chunks, self._packer.flush()))


class Transfer:
    """The reply to one request; `complete` once all headers of the final reply were read.

    From then on, the body cannot change the outcome of a reply that it does not show, and headers
    do not change (later ones are trailers).
    """

    def __init__(self, request: Request, started: float) -> None:
        self.request = request
        self.started = started
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        #: Status line and header lines as received.
        self.head: list[bytes] = []
        #: The head of the request, as sent.
        self.sent = b""
        self.complete = False
        #: A cookie came that its site did not have, or with another value.
        self.new_cookies = False
        #: libcurl leaves the body in the codings of its Content-Encoding.
        self.coded = False
        #: The attempt before this one, if its reply was broken.
        self.earlier: Attempt | None = None
        #: Decoded bytes of the body that were kept.
        self.size = 0
        self.header_bytes = 0
        #: Seconds during which the throttle held it back.
        self.held = 0.0
        #: Seconds during which this process stood still.
        self.stood = 0.0
        #: Bytes already spent from the throttle.
        self.charged = 0
        # Bytes of headers and body at the last call of `news`.
        self._known = 0
        self._header_lines = 0
        self._chunks: list[bytes] = []
        self._rest: _Rest | None = None
        self._truncated: str | None = None
        self._stop: Outcome | None = None
        self._detail = ""
        # Browsers show the body.
        self._shown = False
        # No headers came, and not enough of the body to tell whether it is a document.
        self._headless = False

    def header(self, line: bytes) -> int | None:
        """Take one header line; 0 stops the transfer."""
        self._header_lines += 1
        self.header_bytes += len(line)
        if self._header_lines > MAX_HEADER_LINES or self.header_bytes > MAX_HEADER_BYTES:
            return self._refuse_headers()
        if self.complete and not self._begins_again(line):
            return None
        if not line.rstrip(b"\r\n"):
            return self._end_headers()
        self.head.append(line)
        return None

    def _begins_again(self, line: bytes) -> bool:
        """Whether libcurl repeats the request with the login that a 401 asks for."""
        options = self.request.options
        if not (options.login or options.auth):
            return False
        if self.status != _UNAUTHORIZED or line[:5] != b"HTTP/":
            return False
        self.complete = False
        self.head = []
        return True

    def debug(self, kind: int, data: bytes) -> None:
        """Take libcurl's debug output; the last head sent is that of the request, after CONNECT."""
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            first, *lines = data.splitlines(keepends=True)
            self.sent = first + b"".join(line for line in lines if not _is_secret(line))

    def write(self, chunk: bytes) -> int | None:
        """Take a piece of the decoded body; 0 stops the transfer."""
        if self._stop is not None or not (self.complete or self._begin_headless()):
            return 0
        room = self.request.max_size - self.size
        if room > 0:
            self._chunks.append(chunk[:room])
            self.size += len(self._chunks[-1])
        if self._headless and not self._may_be_document():
            return 0
        if len(chunk) <= room:
            return None
        return self._write_beyond(chunk[max(room, 0) :])

    def _write_beyond(self, chunk: bytes) -> int | None:
        """Take a piece that is beyond `max_size`."""
        if self._rest is None and self.request.most_beyond and not self.coded:
            self._rest = _Rest(self.request.most_beyond)
        if self._rest is not None:
            self._truncated = "length"
            self.size += self._rest.add(chunk)
            if not self._rest.is_full:
                return None
        self._cut()
        return 0

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is taken."""
        return self._stop is not None

    def news(self) -> int:
        """Bytes of headers and body that came since the last call."""
        known, self._known = self._known, self.header_bytes + self.size
        return self._known - known

    def overdue(self, now: float) -> bool:
        """Whether the page has used up its time.

        As in Larbin, each 2,000 bytes received add one second, so that a slow server may finish
        a long page. A slower server loses its handle; one at that rate may hold it until
        `max_size` is reached: 70 minutes for 8 MB.
        """
        earned = (self.header_bytes + self.size) / _BYTES_PER_SECOND
        given = self.request.options.timeout_page + earned + self.held + self.stood
        return now > self.started + given

    def page(self, failure: Outcome | None, message: str = "") -> Page:
        """The page; `failure` is the outcome of libcurl's error, if there was one.

        Only the page keeps the body: a free handle still refers to its last transfer.
        """
        if failure is not None and self._stop is None and self.complete:
            self._truncated = "disconnect"
        if self.head and not self.complete:
            self._read_head()
        body = b"".join(self._chunks)
        self._chunks.clear()
        rest = b"" if self._rest is None else self._rest.packed()
        self._rest = None
        misread = False
        if self.coded:
            body, rest, fault = self._decoded(body)
            if fault and failure is None and self._stop is None:
                misread, failure, message = True, Outcome.EARLY_STOP, fault
                self._truncated = "disconnect" if body else None
        return Page(
            self.request.url,
            self._outcome(failure),
            status=self.status,
            headers=self.headers,
            head=b"".join(self.head),
            request=self.sent,
            body=body,
            rest=rest,
            truncated=self._truncated,
            detail=self._explained(message),
            misread=misread,
            new_cookies=self.new_cookies,
        )

    def _decoded(self, body: bytes) -> tuple[bytes, bytes, str]:
        """The body without its codings and its rest, and what is wrong; empty if nothing is."""
        codings = self._codings()
        media_type, most = declared_type(self.headers)[0], self.request.max_size
        if is_packed_file(self.request.url.href, media_type, codings):
            codings = ""
        decoded = decode(body, codings, media_type, most + self.request.most_beyond)
        self.size = len(decoded.body)
        if decoded.is_cut:
            self._cut()
        if self.size <= most:
            return decoded.body, b"", decoded.fault
        self._truncated = "length"
        return decoded.body[:most], zlib.compress(decoded.body[most:], 1), decoded.fault

    def _is_packed_file(self, media_type: str) -> bool:
        """Whether libcurl would unpack what is to be kept as it is."""
        href = self.request.url.href
        return not self.coded and is_packed_file(href, media_type, self._codings())

    def _codings(self) -> str:
        return ", ".join(value for name, value in self.headers if name == "content-encoding")

    def _cut(self) -> None:
        self._truncated = "length"
        self._stop = Outcome.TOO_BIG
        self._detail = f"cut at {self.size} bytes"

    def _explained(self, message: str) -> str:
        """The detail of the page; `message` is libcurl's."""
        if self.complete and self.status == _UNAUTHORIZED:
            return "refuses the login" if self.request.options.login else NEEDS_LOGIN
        if self.complete and self.status == _PROXY_UNAUTHORIZED:
            asked = [value for name, value in self.headers if name == "proxy-authenticate"]
            return proxy_unauthorized(bool(self.request.options.proxy_login), asked)
        return message if self._stop is None else self._detail

    def _shows_body(self) -> bool:
        """Whether browsers show the body: of a 2xx, and of a redirect that leads nowhere.

        They follow none of 300, which lists alternatives.
        """
        if self.status == _CHOICES or not 300 <= self.status < 400:
            return 200 <= self.status <= _CHOICES
        leads = any(name == "location" and value for name, value in self.headers)
        return self.status != _NOT_MODIFIED and not leads

    def _outcome(self, failure: Outcome | None) -> Outcome:
        if self.complete and not (self._shown and (self.status < _CHOICES or self.size)):
            return of_status(self.status)
        if self._stop is not None:
            return self._stop
        if failure is not None:
            return failure
        # libcurl reports no error if the connection is closed within the headers.
        return Outcome.SUCCESS if self.complete else Outcome.EARLY_STOP

    def _refuse_headers(self) -> int:
        self._discard(Outcome.TOO_BIG)
        self._detail = f"{LONG_HEADERS} {MAX_HEADER_LINES} lines or {MAX_HEADER_BYTES:,} bytes"
        return 0

    def _discard(self, outcome: Outcome) -> None:
        """Stop, and discard all of the reply, including its status."""
        self.status = self.size = 0
        self.headers = []
        self.head = []
        self._chunks.clear()
        self.complete = False
        self._stop = outcome

    def _end_headers(self) -> int | None:
        self._read_head()
        if 100 <= self.status < 200 and self.status != _SWITCHING:
            self.headers, self.head = [], []
            return None
        return self._check_type()

    def _read_head(self) -> None:
        match = _STATUS.match(self.head[0]) if self.head else None
        self.status = int(match[1]) if match else 0
        self.headers = _fields(self.head[1:])

    def _begin_headless(self) -> bool:
        """A body without headers before it is HTTP/0.9, which has no status."""
        self.status = 200
        self._headless = True
        return self._check_type() is None

    def _may_be_document(self) -> bool:
        """Whether a reply without headers is no greeting of another protocol."""
        begin = b"".join(self._chunks)[:_TELLING]
        self._headless = len(begin) < _TELLING
        if _LATE_STATUS.match(begin):
            self._discard(Outcome.EARLY_STOP)
            self._detail = "Unsupported HTTP status line"
            return False
        if not _BANNER.match(begin) and (begin.startswith(_DOCUMENTS) or not _BINARY.search(begin)):
            return True
        self._discard(Outcome.NO_CONNECTION)
        line = begin.partition(b"\n")[0].rstrip().decode("latin-1")
        proxy = self.request.options.proxy_url
        where = f" at the proxy {proxy}" if proxy else ""
        self._detail = f"what answers{where} is no HTTP server; it says {line!r}"
        return False

    def _check_type(self) -> int | None:
        """Complete the headers; ask `accept` whether a body that is shown is wanted."""
        self.complete = True
        self._shown = self._shows_body()
        if self._shown:
            # The first of repeated lengths counts.
            fields = dict(reversed(self.headers))
            media_type = declared_type(self.headers)[0]
            refusal = self.request.accept(media_type, declared_length(fields.get("content-length")))
            if refusal is not None:
                self._stop, self._detail = refusal
            elif "content-encoding" in fields and self._is_packed_file(media_type):
                # It is asked for again, so that libcurl does not unpack it.
                self._stop, self._detail = Outcome.EARLY_STOP, "a packed file, to be kept as it is"
        return None if self._stop is None else 0


#: Bytes that are received at once, and so often before others have their turn.
_RECEIVED = 1 << 16
_TURN = 4
_BODYLESS = frozenset({204, 304})


class RawExchange:
    """A request, and its reply, on a connection that libcurl has made and does not read.

    libcurl refuses replies that browsers show: with header lines that have no colon, such as a
    second status line, or have a NUL, and with a Content-Length that is no number. Here, such
    lines do not count. `transfer` gets the others, and the body; the connection closes after it.
    """

    def __init__(
        self, curl: pycurl.Curl, transfer: Transfer, take: Taker | None = None, cookies: str = ""
    ) -> None:
        """`take` takes header lines for `transfer`; `cookies` is what a Cookie header says."""
        self._curl = curl
        self._transfer = transfer
        self._take = transfer.header if take is None else take
        self._unsent = raw_head(transfer.request, cookies)
        transfer.debug(pycurl.INFOTYPE_HEADER_OUT, self._unsent)
        # What came, and how much of it was read.
        self._data = b""
        self._at = 0
        self._closed = False
        # More may be there without a sign on the socket.
        self._hurried = False
        self._reader = self._read()
        self.received = 0

    @property
    def waits_to_write(self) -> bool:
        """Whether `go_on` is to be called as soon as the socket can be written to."""
        return bool(self._unsent) or self._hurried

    def go_on(self) -> tuple[int, str] | None:
        """Send and receive what is possible; libcurl's error and its message at the end."""
        try:
            for _ in range(_TURN):
                if self._unsent:
                    self._unsent = self._unsent[self._curl.send(self._unsent) :]
                else:
                    self._receive()
                    next(self._reader)
        except BlockingIOError:
            self._hurried = False
            return None
        except pycurl.error as error:
            return pycurl.E_SEND_ERROR, str(error.args[-1])
        except StopIteration as end:
            return (pycurl.E_PARTIAL_FILE, end.value) if end.value else (pycurl.E_OK, "")
        self._hurried = True
        return None

    def _receive(self) -> None:
        try:
            data = self._curl.recv(_RECEIVED)
        except pycurl.error:
            # Many servers close TLS without a word.
            data = b""
        self._closed = not data
        self._data, self._at = self._data[self._at :] + data, 0
        self.received += len(data)

    def _read(self) -> Generator[None, None, str]:
        """Read the reply; yields when it needs more. Returns why it is not whole, or nothing."""
        transfer = self._transfer
        while len(self._data) < _TELLING_HTTP and not self._closed:
            yield
        late = _LATE_STATUS.match(self._data)
        if late is None and self._data:
            # No HTTP, or HTTP/0.9, which libcurl refuses on a connection that was used.
            return (yield from self._body(None))
        self._at = late.end() - len(b"HTTP/") if late else 0
        while not transfer.complete:
            line = yield from self._line()
            if self._closed and not line:
                return "closed within the headers"
            is_field = b":" in line or line[:1] in b" \t\r\n"
            is_read = is_field or not transfer.head
            transfer.header_bytes += 0 if is_read else len(line)
            # That the headers are too long, it says itself.
            is_read = is_read or transfer.header_bytes > MAX_HEADER_BYTES
            if is_read and self._take(line.replace(b"\0", b"")) == 0:
                return ""
        if transfer.request.options.head or transfer.status in _BODYLESS:
            return ""
        fields = dict(transfer.headers)
        if "chunked" in fields.get("transfer-encoding", "").lower():
            return (yield from self._chunks())
        lengths = {value for name, value in transfer.headers if name == "content-length"}
        length = declared_length(lengths.pop()) if len(lengths) == 1 else None
        return (yield from self._body(length))

    def _line(self) -> Generator[None, None, bytes]:
        while not (end := self._data.find(b"\n", self._at) + 1):
            if self._closed or len(self._data) - self._at > MAX_HEADER_BYTES:
                end = len(self._data)
                break
            yield
        line, self._at = self._data[self._at : end], end
        return line

    def _chunks(self) -> Generator[None, None, str]:
        is_first = True
        while True:
            line = yield from self._line()
            size = line.partition(b";")[0].strip()
            if not _CHUNK.fullmatch(size) and is_first:
                # Some servers send this header alone.
                self._at -= len(line)
                return (yield from self._body(None))
            if not _CHUNK.fullmatch(size):
                return "no size of a chunk"
            if int(size, 16) == 0:
                return ""
            lacking = yield from self._body(int(size, 16))
            if lacking or self._transfer.is_stopped:
                return lacking
            is_first = False
            yield from self._line()

    def _body(self, size: int | None) -> Generator[None, None, str]:
        """Pass on `size` bytes, None for all until the end."""
        left = sys.maxsize if size is None else size
        while left:
            piece = self._data[self._at : self._at + left]
            self._at += len(piece)
            left -= len(piece)
            if piece and self._transfer.write(piece) == 0:
                return ""
            if self._closed and left:
                return "" if size is None else f"end of response with {left} bytes missing"
            if left:
                yield
        return ""


def _fields(lines: Iterable[bytes]) -> list[tuple[str, str]]:
    """Names in lower case and values of header lines, which may be folded."""
    fields: list[tuple[str, str]] = []
    for line in lines:
        text = line.decode("latin-1")
        if text[0] in " \t" and fields:  # obs-fold (RFC 9112, 5.2)
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {text.strip()}")
            continue
        name, _, value = text.partition(":")
        fields.append((name.strip().lower(), value.strip()))
    return fields


def _is_secret(line: bytes) -> bool:
    return _is_secret_name(line.partition(b":")[0])


# The operator chooses the names, so they are few.
@lru_cache(1 << 6)
def _is_secret_name(name: bytes) -> bool:
    return SECRET_HEADER.search(name.decode("latin-1")) is not None


def declared_length(text: str | None) -> int | None:
    """The number in a Content-Length; None if it is not a plain one, which libcurl judges."""
    return int(text) if text and _LENGTH.fullmatch(text) else None
