"""From pages to WARC records: what was asked and answered, as one gzip member each.

WARC/1.1 (ISO 28500:2017). Heads are kept as they came, to the byte. What libcurl hands over
of a body is decoded, though: a record with the codings' headers over a body without them
could be read by nobody. So those get names of their own (``X-Archive-Orig-...``), and
Content-Length is that of the body which is there. HTTP/2 has no form in text: its replies
are written as HTTP/1.1 has it, and ``WARC-Protocol`` says what it was.
"""

import re
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1
from http import HTTPStatus
from io import BytesIO
from uuid import NAMESPACE_URL, uuid4, uuid5

from isal import isal_zlib
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from larbinpy.outcome import Outcome
from larbinpy.output.warc.cdxj import Entry
from larbinpy.page import Page

#: Of a page of 33 kB: 36 us and 5,904 bytes; 34 and 5,950 at level 1, 77 and 5,815 at 3.
#: zlib, with threefold to tenfold the time, makes 6,316 at its level 1 and 5,219 at 6.
_LEVEL = 2
_GZIP = 31
_VERSION = "WARC/1.1"
_CONFORMS = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_FIELDS = "application/warc-fields"
#: Records whose payload is their block.
_WHOLE = frozenset({"metadata", "resource"})
_HTTP = "application/http; msgtype="
_CODINGS = (b"content-encoding", b"transfer-encoding")
_LENGTH = b"content-length"
_PARAMETERS = re.compile(r"[;\s]")
_ORIGINAL = b"X-Archive-Orig-"
#: What WARC-Protocol calls the versions that status lines name.
_PROTOCOLS = {
    "HTTP/1.0": "http/1.0",
    "HTTP/1.1": "http/1.1",
    "HTTP/2": "h2",
    "HTTP/3": "h3",
}


@dataclass(slots=True, frozen=True)
class Record:
    """A record as a gzip member, and its line in the index where it has one."""

    data: bytes
    entry: Entry | None = None


@dataclass(slots=True, frozen=True)
class Original:
    """Where a payload was first met."""

    url: str
    date: str


def digest(data: bytes) -> str:
    """As the fields of records spell it."""
    return "sha1:" + b32encode(sha1(data).digest()).decode()


_EMPTY = digest(b"")


class Records:
    """Makes records for the file that `into` named last."""

    def __init__(self) -> None:
        self._members = _Members()
        self._writer = WARCWriter(self._members, gzip=False, warc_version="1.1")
        self._info = ""

    def __repr__(self) -> str:
        return f"<Records {self._info}>"

    def into(self, name: str) -> None:
        """The next records are for the file `name`."""
        self._info = f"<urn:uuid:{uuid5(NAMESPACE_URL, name)}>"

    def info(self, name: str, date: str, about: Mapping[str, str]) -> Record:
        """The first record of the file `name`."""
        self.into(name)
        lines = {**about, "format": "WARC File Format 1.1", "conformsTo": _CONFORMS}
        block = _fields((key, value) for key, value in lines.items() if value)
        named = [("WARC-Date", date), ("WARC-Filename", name)]
        return Record(self._record("warcinfo", self._info, _FIELDS, block, named))

    def names(self, name: str, date: str, addresses: Iterable[str]) -> Record:
        """What a name server told: RFC 4027's text/dns, in the form of RFC 2540, 2.2."""
        stamp = "".join(filter(str.isdigit, date))[:14]
        rows = (f"{name}. IN {'AAAA' if ':' in ip else 'A'} {ip}\n" for ip in addresses)
        block = "".join((f"{stamp}\n", *rows)).encode()
        url = f"dns:{name}"
        data = self._record("resource", _identity(), "text/dns", block, self._common(date, url))
        return Record(data, Entry(url, date, "text/dns", None, digest(block)))

    def capture(
        self, page: Page, date: str, payload: str, original: Original | None
    ) -> Iterator[Record]:
        """A fetch: response (or revisit, where the payload is that of `original`), request,
        metadata."""
        identity = _identity()
        yield self._response(page, date, payload, original, identity)
        common = [*self._common(date, page.url.href), ("WARC-Concurrent-To", identity)]
        if page.request:
            head = request_head(page.request)
            fields = [*common, *_address(page), ("WARC-Payload-Digest", _EMPTY)]
            yield Record(self._record("request", _identity(), f"{_HTTP}request", head, fields))
        block = _metadata(page)
        yield Record(self._record("metadata", _identity(), _FIELDS, block, common))

    def _response(
        self, page: Page, date: str, payload: str, original: Original | None, identity: str
    ) -> Record:
        fields = [*self._common(date, page.url.href), *_address(page), *_protocol(page)]
        fields.append(("WARC-Payload-Digest", payload))
        kind, block = "response", response_head(page) + page.body
        if original is not None:
            kind, block = "revisit", response_head(page)
            fields.append(("WARC-Profile", _SAME_PAYLOAD))
            fields.append(("WARC-Refers-To-Target-URI", original.url))
            fields.append(("WARC-Refers-To-Date", original.date))
        if page.truncated is not None:
            fields.append(("WARC-Truncated", _why_truncated(page)))
        data = self._record(kind, identity, f"{_HTTP}response", block, fields)
        mime = "warc/revisit" if original is not None else _mime(page)
        return Record(data, Entry(page.url.href, date, mime, page.status, payload))

    def _common(self, date: str, url: str) -> list[tuple[str, str]]:
        return [("WARC-Date", date), ("WARC-Target-URI", url), ("WARC-Warcinfo-ID", self._info)]

    def _record(
        self, kind: str, identity: str, type_: str, block: bytes, fields: list[tuple[str, str]]
    ) -> bytes:
        head = [("WARC-Type", kind), ("WARC-Record-ID", identity), *fields]
        whole = digest(block)
        head.append(("WARC-Block-Digest", whole))
        if kind in _WHOLE:
            head.append(("WARC-Payload-Digest", whole))
        head += [("Content-Type", type_), ("Content-Length", str(len(block)))]
        # With no head for warcio to spell anew, the block is written as it is; of what it
        # takes for a revisit it would write none.
        self._writer.write_record(
            ArcWarcRecord(
                "warc",
                "response" if kind == "revisit" else kind,
                StatusAndHeaders("", head, protocol=_VERSION),
                BytesIO(block),
                None,
                type_,
                len(block),
            )
        )
        return self._members.take()


class _Members:
    """The file that warcio writes to, a gzip member at a time."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._compressor = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP)
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._parts.append(self._compressor.compress(data))

    def flush(self) -> None:
        """Called once at the end of each record, where `take` ends the member."""

    def take(self) -> bytes:
        """The member that was written, and begin another."""
        member = b"".join((*self._parts, self._compressor.flush()))
        self._begin()
        return member


def _identity() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in pairs).encode()


def _address(page: Page) -> list[tuple[str, str]]:
    return [("WARC-IP-Address", page.ip)] if page.ip else []


def _protocol(page: Page) -> list[tuple[str, str]]:
    version = page.head.partition(b" ")[0].decode("latin-1").strip()
    return [("WARC-Protocol", _PROTOCOLS[version])] if version in _PROTOCOLS else []


def _why_truncated(page: Page) -> str:
    if page.truncated == "disconnect" and page.outcome is Outcome.TIMEOUT:
        return "time"
    return page.truncated or "unspecified"


def _mime(page: Page) -> str | None:
    """The media type as indexers read it: no parameters, in the case it was sent in."""
    value = page.header("content-type")
    if value is None:
        return None
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return _PARAMETERS.split(value, maxsplit=1)[0]


def _metadata(page: Page) -> bytes:
    """How it was found and fetched, and what it links to; the names are Heritrix's."""
    via = f"via: {page.url.via}\r\n" if page.url.via is not None else ""
    charset = f"charsetForLinkExtraction: {page.charset}\r\n" if page.charset else ""
    links = "".join([f"outlink: {link}\r\n" for link in page.links])
    return f"{via}fetchTimeMs: {page.ms}\r\n{charset}{links}".encode()


def request_head(sent: bytes) -> bytes:
    """The head of a request as HTTP/1.1 has it."""
    line, end, rest = sent.partition(b"\r\n")
    method, _, version = line.rpartition(b" ")
    if version not in (b"HTTP/1.0", b"HTTP/1.1"):
        line = method + b" HTTP/1.1"
    return line + end + rest


def response_head(page: Page) -> bytes:
    """The head of a reply, made true of the body as it is here; its empty line included."""
    status, *lines = page.head.splitlines(keepends=True) or [b"HTTP/1.0"]
    version, _, rest = status.rstrip(b"\r\n").partition(b" ")
    if version not in (b"HTTP/1.0", b"HTTP/1.1") or not rest:
        version = version if version == b"HTTP/1.0" else b"HTTP/1.1"
        status = b"%s %d %s\r\n" % (version, page.status, _phrase(page.status))
    length = str(len(page.body))
    lengths = [value for name, value in page.headers if name == "content-length"]
    true = (b"",) if lengths == [length] else (_LENGTH,)
    lines = [_renamed(line, (*_CODINGS, *true)) for line in lines]
    if true[0] and (lengths or page.body):
        lines.append(f"Content-Length: {length}\r\n".encode())
    return b"".join((status, *lines, b"\r\n"))


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""


def _renamed(line: bytes, names: Iterable[bytes]) -> bytes:
    """A header line, under another name where it is one of `names`."""
    return _ORIGINAL + line if line.partition(b":")[0].strip().lower() in names else line
