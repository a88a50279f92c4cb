"""The index of a WARC file: a line of CDXJ for each capture, sorted by the key of its URL.

The key is the URL with its host reversed (SURT), so that sites of one domain are adjacent. It
ignores differences that seldom matter: it has no ``www.``, no session ids, lower case only, and
sorted parameters. The Internet Archive's Java code and its Python port, `surt`, define it.
Replay software computes the key of the URL that a user asks for, so the keys must be exactly
equal to its, including all oddities.

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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import IO
from urllib.parse import quote_from_bytes, unquote_to_bytes

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
    scheme, host, port, rest = split(url)
    path, _, query = rest.partition("?")
    host = _WWW.sub("", host.strip("[]").replace("..", ".").strip("."), count=1)
    ported = "" if port in (_DEFAULT_PORTS[scheme], 0) else f":{port}"
    site = ",".join(reversed(host.split("."))) + ported + ")" if host else f"{scheme}:"
    asked = _query_key(query)
    return f"{site}{_path_key(path)}{asked and '?'}{asked}"


def _path_key(path: str) -> str:
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


@dataclass(slots=True, frozen=True)
class Entry:
    """One capture in the index."""

    url: str
    #: As in the record: 2026-01-31T23:59:59.123Z.
    date: str
    mime: str | None
    status: int | None
    digest: str

    def line(self, offset: int, length: int, file: str) -> bytes:
        """Return its line; the record is `length` bytes at `offset` of `file`."""
        about = {
            "url": self.url,
            "mime": self.mime,
            "status": None if self.status is None else str(self.status),
            "digest": self.digest,
            "length": str(length),
            "offset": str(offset),
            "filename": file,
        }
        known = {name: value for name, value in about.items() if value is not None}
        stamp = "".join(filter(str.isdigit, self.date))[:14]
        return f"{key(self.url)} {stamp} {json.dumps(known)}\n".encode()


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
