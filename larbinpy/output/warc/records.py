"""WARC records of pages, and the index of a WARC file.

`Records` makes requests and replies, each record a gzip member, by WARC/1.1 (ISO 28500:2017). Heads
are stored exactly as received, with the following exceptions. Bodies are stored decoded, as libcurl
returns them. Headers that name a coding would then be wrong, so they are renamed
(``X-Archive-Orig-...``), and Content-Length is that of the decoded body. HTTP/2 has no text form:
its replies are written like those of HTTP/1.1, and ``WARC-Protocol`` names the version.

The index has a line of CDXJ for each capture, sorted by the `key` of its URL: the URL with its host
reversed (SURT), so that sites of one domain are adjacent. It ignores differences that seldom
matter: it has no ``www.``, no session ids, lower case only, and sorted parameters. The Internet
Archive's Java code and its Python port, `surt`, define it. Replay software computes the key of the
URL that a user asks for, so the keys must be exactly equal to its, including all oddities.

`surt` is not used here: it is under the AGPL, was last released in 2019, takes 14 us for a key
instead of 5, and imports tldextract and requests (76 ms, 9 MB). It would save 75 lines. The tests
compare `key` with it on the web platform's URLs and on 10,000 odd ones: no key differs.

While a WARC file grows, the lines of its index are in a journal, in the order of the captures.
They may be too many for memory, so an external merge sort makes the index from the journal.
"""

import heapq
import json
import os
import re
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from hashlib import sha1
from http import HTTPStatus
from itertools import islice, pairwise
from json.encoder import encode_basestring_ascii as _quoted
from typing import IO, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes
from uuid import NAMESPACE_URL, uuid5

from larbinpy.page import Outcome, Page
from larbinpy.storage.deflate import compress
from larbinpy.storage.files import discard
from larbinpy.url import split

# Everything printable but "#", "%" and space.
_PLAIN = """!"$&'()*+,-./:;<=>?@[\\]^_`{|}~"""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_WWW = re.compile(r"www\d*\.")

# Applied one after the other. "++" does not backtrack: a query may be made to be expensive.
_SESSIONS_IN_QUERY = [
    re.compile(rf"(.*)(?:{session})(?:&(.*))?", re.IGNORECASE)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]++&cftoken=[^&]+",
    )
]
_SESSIONS_IN_PATH = [
    re.compile(rf"(.*/){session}/([^?]+\.aspx.*)", re.IGNORECASE)
    for session in (r"\((?:[a-z]\([0-9a-z]{24}\))+\)", r"\([0-9a-z]{24}\)")
]

#: Paths whose key is their lower case: no escapes, no empty parts, no sessions of ASP.
_ORDINARY = re.compile(r"(?:/(?![.(])[^/%]+)+")

#: Bytes of the journal that are sorted in one step (16,000 lines, 30 ms).
_CHUNK = 4 << 20
#: Bytes that are read at once when sorted chunks are merged.
_BLOCK = 1 << 16
#: Lines that are merged in one step (3 ms).
MERGED_LINES = 1000


def key(url: str) -> str:
    """Return the key of a canonical http or https URL, or of a dns: URL (itself, lower case)."""
    if url.startswith("dns:"):
        return url.lower()
    end = url.find("/", len("https://"))
    path, _, query = url[end:].partition("?")
    asked = _query_key(query) if query else ""
    return f"{_site_key(url[:end])}{_path_key(path)}{asked and '?'}{asked}"


# Pages of a site often come one after the other.
@lru_cache(1 << 8)
def _site_key(site: str) -> str:
    scheme, host, port, _ = split(site)
    host = _WWW.sub("", host.strip("[]").replace("..", ".").strip("."), count=1)
    ported = "" if port in (_DEFAULT_PORTS[scheme], 0) else f":{port}"
    return ",".join(reversed(host.split("."))) + ported + ")" if host else f"{scheme}:"


def _path_key(path: str) -> str:
    return path.lower() if _ORDINARY.fullmatch(path) else _odd_path_key(path)


def _odd_path_key(path: str) -> str:
    kept: list[str] = []
    *folders, name = _spell(path, _unescaped(path)).split("/")[1:]
    for part in (*folders, name):
        if part == ".." and kept:
            kept.pop()
        elif part != ".":
            kept.append(part)
    last = kept.pop() if kept else ""
    text = "/" + "".join(f"{part}/" for part in kept if part) + last
    text = text.lower()
    if ".aspx" in text:
        for session in _SESSIONS_IN_PATH:
            if match := session.fullmatch(text):
                text = match[1] + match[2]
    return text[:-1] if len(text) > 1 and text.endswith("/") else text


def _query_key(query: str) -> str:
    text = _spell(query, _unescaped(query))
    for session in _SESSIONS_IN_QUERY:
        if "=" in text and (match := session.fullmatch(text)):
            text = match[1] + (match[2] or "")
    pairs = sorted(tuple(pair.split("=", 1)) for pair in text.lower().split("&"))
    return "&".join("=".join(pair) for pair in pairs)


def _unescaped(text: str) -> bytes:
    """Return `text` without escapes; unescaped repeatedly, as that may produce new escapes."""
    data = text.encode()
    while b"%" in data:
        once = unquote_to_bytes(data)
        if once == data:
            break
        data = once
    return data


def _spell(text: str, data: bytes) -> str:
    """Return `data` escaped once; `text` is its canonical spelling."""
    return quote_from_bytes(data, safe=_PLAIN) if "%" in text else text


class Entry(NamedTuple):
    """One capture in the index."""

    url: str
    #: As in the record: 2026-01-31T23:59:59.123Z.
    date: str
    mime: str | None
    status: int | None
    digest: str

    def line(self, offset: int, length: int, file: str) -> bytes:
        """Return its line; the record is `length` bytes at `offset` of `file`."""
        mime = "" if self.mime is None else f', "mime": {_quoted(self.mime)}'
        status = "" if self.status is None else f', "status": "{self.status}"'
        return (
            f'{key(self.url)} {_stamp(self.date)} {{"url": {_quoted(self.url)}{mime}{status}, '
            f'"digest": "{self.digest}", "length": "{length}", "offset": "{offset}", '
            f'"filename": {_quoted(file)}}}\n'
        ).encode()


def _stamp(date: str) -> str:
    """The fourteen digits of `date` to the second."""
    return date[:19].replace("-", "").replace("T", "").replace(":", "")


def before(lines: Iterable[bytes], offset: int) -> Iterator[bytes]:
    """Yield the lines of captures that begin before `offset`, without damaged lines."""
    for line in lines:
        with suppress(ValueError, LookupError, TypeError):
            if line.endswith(b"\n") and int(json.loads(line.split(b" ", 2)[2])["offset"]) < offset:
                yield line


def build(
    journal: str,
    index: str,
    *,
    folder: int,
    chunk: int = _CHUNK,
    block: int = _BLOCK,
    merged_lines: int = MERGED_LINES,
) -> Iterator[None]:
    """Make `index` from `journal`, in steps of some milliseconds.

    Both are names in `folder`, a descriptor. A step sorts `chunk` bytes or merges
    `merged_lines` lines, read `block` bytes at a time. The next call replaces temporary files
    that a kill left. Raises `OSError`, with no index made.
    """
    chunks, part = f"{index}.chunks", f"{index}.part"
    with ExitStack() as closing:
        source = closing.enter_context(_open(journal, "rb", folder))
        closing.callback(discard, chunks, folder=folder)
        pieces = closing.enter_context(_open(chunks, "w+b", folder))
        ends = []
        while lines := source.readlines(chunk):
            pieces.writelines(sorted(lines))
            ends.append(pieces.tell())
            yield
        pieces.flush()
        runs = pairwise([0, *ends])
        in_order = heapq.merge(*(_between(pieces, start, end, block) for start, end in runs))
        with ExitStack() as undo:
            undo.callback(discard, part, folder=folder)
            with _open(part, "wb", folder) as file:
                while lines := list(islice(in_order, merged_lines)):
                    file.writelines(lines)
                    yield
            os.rename(part, index, src_dir_fd=folder, dst_dir_fd=folder)
            undo.pop_all()


def _open(name: str, mode: str, folder: int) -> IO[bytes]:
    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NOFOLLOW, 0o666, dir_fd=folder)

    return open(name, mode, opener=opener)


def _between(file: IO[bytes], start: int, end: int, size: int) -> Iterator[bytes]:
    """Yield the lines of `file` from `start` to `end`, reading `size` bytes at a time.

    Uses pread, so that several readers share one descriptor.
    """
    rest = b""
    while start < end:
        block = os.pread(file.fileno(), min(size, end - start), start)
        start += len(block)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line + b"\n"


#: A page of 33 kB takes 36 us and 5,904 bytes; at level 1 34 us and 5,950, at level 3 77 us and
#: 5,815. zlib takes three to ten times as long: 6,316 bytes at its level 1, 5,219 at 6.
_LEVEL = 2
_GZIP = 31
_VERSION = "WARC/1.1"
_CONFORMS = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_FIELDS = "application/warc-fields"
#: Records whose payload is their block.
_WHOLE = frozenset({"metadata", "resource", "conversion"})
_HTTP = "application/http; msgtype="
_PAYLOAD = "WARC-Payload-Digest"
_CODINGS = {b"content-encoding", b"transfer-encoding"}
_LENGTH = b"content-length"
_PARAMETERS = re.compile(r"[;\s]")
_ORIGINAL = b"X-Archive-Orig-"
#: Names in WARC-Protocol of the versions in status lines.
_PROTOCOLS = {
    "HTTP/1.0": "http/1.0",
    "HTTP/1.1": "http/1.1",
    "HTTP/2": "h2",
    "HTTP/3": "h3",
}


class Record(NamedTuple):
    """A record, and its entry in the index if it has one."""

    data: bytes
    entry: Entry | None = None

    def packed(self) -> bytes:
        """The record as a gzip member."""
        return compress(self.data, _LEVEL, _GZIP)


class Original(NamedTuple):
    """URL and date of the first capture of a payload."""

    url: str
    date: str


def digest(data: bytes) -> str:
    """Return the SHA-1 of `data` in the form of WARC fields."""
    return "sha1:" + b32encode(sha1(data).digest()).decode()


_EMPTY_PAYLOAD = f"{_PAYLOAD}: {digest(b'')}\r\n"


class Records:
    """Makes records for the file that was last passed to `into` or `info`."""

    def __init__(self) -> None:
        self._info = ""

    def into(self, name: str) -> None:
        """Make the next records for the file `name`."""
        self._info = f"<urn:uuid:{uuid5(NAMESPACE_URL, name)}>"

    def info(self, name: str, date: str, about: Mapping[str, str]) -> Record:
        """Return the first record of the file `name`, and make the next ones for that file."""
        self.into(name)
        lines = {**about, "format": "WARC File Format 1.1", "conformsTo": _CONFORMS}
        block = "".join(_field(key, value) for key, value in lines.items() if value).encode()
        named = _field("WARC-Date", date) + _field("WARC-Filename", name)
        return Record(_record("warcinfo", self._info, _FIELDS, block, named))

    def look_up(self, name: str, date: str, addresses: Iterable[str]) -> Record:
        """Return a name lookup as text/dns (RFC 4027), in the form of RFC 2540, section 2.2."""
        stamp = _stamp(date)
        rows = (f"{name}. IN {'AAAA' if ':' in ip else 'A'} {ip}\n" for ip in addresses)
        block = "".join((f"{stamp}\n", *rows)).encode()
        url = f"dns:{name}"
        data = _record("resource", _identity(), "text/dns", block, self._common(date, url))
        return Record(data, Entry(url, date, "text/dns", None, digest(block)))

    def capture(
        self,
        page: Page,
        date: str,
        payload: str,
        original: Original | None,
        rendered: Page | None = None,
    ) -> Iterator[Record]:
        """Yield the records of a fetch: response, request, metadata, and the page as `rendered`.

        With `original`, an earlier capture of the same payload, a revisit record takes the place
        of the response. `payload` is the digest of the body.
        """
        identity, common = _identity(), self._common(date, page.url.href)
        yield _response(page, date, payload, original, identity, common)
        common += _field("WARC-Concurrent-To", identity)
        if page.request:
            head = request_head(page.request)
            fields = common + _address(page) + _EMPTY_PAYLOAD
            yield Record(_record("request", _identity(), f"{_HTTP}request", head, fields))
        yield Record(_record("metadata", _identity(), _FIELDS, _metadata(page), common))
        if rendered is not None:
            # The index does not have it: replay runs the scripts with what they were sent.
            fields = self._common(date, rendered.url.href) + _field("WARC-Refers-To", identity)
            type_ = "text/html; charset=utf-8"
            yield Record(_record("conversion", _identity(), type_, rendered.body, fields))

    def _common(self, date: str, url: str) -> str:
        about = f"WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n"
        return about + _field("WARC-Warcinfo-ID", self._info)


def _response(
    page: Page, date: str, payload: str, original: Original | None, identity: str, common: str
) -> Record:
    fields = common + _address(page) + _protocol(page) + _field(_PAYLOAD, payload)
    kind, block = "response", response_head(page) + page.body
    if original is not None:
        kind, block = "revisit", response_head(page)
        fields += _field("WARC-Profile", _SAME_PAYLOAD)
        fields += _field("WARC-Refers-To-Target-URI", original.url)
        fields += _field("WARC-Refers-To-Date", original.date)
    if page.truncated is not None:
        fields += _field("WARC-Truncated", _why_truncated(page))
    data = _record(kind, identity, f"{_HTTP}response", block, fields)
    mime = "warc/revisit" if original is not None else _mime(page)
    return Record(data, Entry(page.url.href, date, mime, page.status, payload))


def _record(kind: str, identity: str, type_: str, block: bytes, fields: str) -> bytes:
    """A record; `fields` are lines of its head."""
    whole = digest(block)
    payload = _field(_PAYLOAD, whole) if kind in _WHOLE else ""
    head = (
        f"{_VERSION}\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {identity}\r\n{fields}"
        f"WARC-Block-Digest: {whole}\r\n{payload}"
        f"Content-Type: {type_}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((head.encode(), block, b"\r\n\r\n"))


def _identity() -> str:
    """A random UUID, as `uuid.uuid4` makes one in twice the time."""
    text = os.urandom(16).hex()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}>"


def _field(name: str, value: str) -> str:
    return f"{name}: {value}\r\n"


def _address(page: Page) -> str:
    return _field("WARC-IP-Address", page.ip) if page.ip else ""


def _protocol(page: Page) -> str:
    version = page.head.partition(b" ")[0].decode("latin-1").strip()
    return _field("WARC-Protocol", _PROTOCOLS[version]) if version in _PROTOCOLS else ""


def _why_truncated(page: Page) -> str:
    if page.truncated == "disconnect" and page.outcome is Outcome.TIMEOUT:
        return "time"
    return page.truncated or "unspecified"


def _mime(page: Page) -> str | None:
    """Return the media type as indexers read it: without parameters, in the case sent."""
    value = page.header("content-type")
    if value is None:
        return None
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return _PARAMETERS.split(value, maxsplit=1)[0]


def _metadata(page: Page) -> bytes:
    """Return fields on how the page was found and fetched, and its links, as in Heritrix."""
    via = f"via: {page.url.via}\r\n" if page.url.via is not None else ""
    charset = f"charsetForLinkExtraction: {page.charset}\r\n" if page.charset else ""
    links = "\r\noutlink: ".join(("", *page.links))
    return (f"{via}fetchTimeMs: {page.ms}\r\n{charset}"[:-2] + links + "\r\n").encode()


def request_head(sent: bytes) -> bytes:
    """Return the head of a request in the form of HTTP/1.1."""
    line, end, rest = sent.partition(b"\r\n")
    method, _, version = line.rpartition(b" ")
    if version not in (b"HTTP/1.0", b"HTTP/1.1"):
        line = method + b" HTTP/1.1"
    return line + end + rest


def response_head(page: Page) -> bytes:
    """Return the head of a reply, adapted to the decoded body, with its final empty line."""
    status, *lines = page.head.splitlines(keepends=True) or [b"HTTP/1.0"]
    version, _, rest = status.rstrip(b"\r\n").partition(b" ")
    if version not in (b"HTTP/1.0", b"HTTP/1.1") or not rest:
        version = version if version == b"HTTP/1.0" else b"HTTP/1.1"
        status = b"%s %d %s\r\n" % (version, page.status, _phrase(page.status))
    length = str(len(page.body))
    lengths = [value for name, value in page.headers if name == "content-length"]
    false = _CODINGS if lengths == [length] else {*_CODINGS, _LENGTH}
    lines = [_ORIGINAL + line if _name(line) in false else line for line in lines]
    if _LENGTH in false and (lengths or page.body):
        lines.append(f"Content-Length: {length}\r\n".encode())
    return b"".join((status, *lines, b"\r\n"))


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].strip().lower()
