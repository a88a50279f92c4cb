"""Content codings of bodies that libcurl cannot decode, as most browsers decode them.

libcurl knows no zstd here, and refuses a gzip file with anything after its first member. Servers
send both even if `identity` is asked for. What is no such file at all has a wrong label.
"""

import re
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

#: Codings of one body, as libcurl.
_MOST_LAYERS = 5
#: Members of one file: an empty one takes 6 us and 20 bytes.
_MOST_MEMBERS = 10_000
_PORTION = 1 << 16
#: RFC 9659: the largest window of a zstd body (bytes).
_ZSTD_WINDOW = 8 << 20
_NAMES = {"x-gzip": "gzip", "x-compress": "compress"}
_NONE = frozenset({"", "identity", "none"})
#: Beginnings of files with these codings; a body without is not packed so, whatever its label is.
_BEGINNINGS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "compress": b"\x1f\x9d"}
#: No text has one of these bytes (MIME Sniffing standard, section 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HEAD = 512
#: Types of files that are packed by themselves: nobody packs them once more.
_MEDIA = re.compile(r"(?:audio|font|image|video)/(?!svg)")


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
    names = [name.strip().lower() for name in codings.split(",")]
    layers = [_NAMES.get(name, name) for name in reversed(names) if name not in _NONE]
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
        return _unpacked(body, partial(zlib.decompressobj, 31), beginning, most)
    if name == "zstd":
        return _unpacked(body, _Zstd, beginning, most)
    if name == "deflate":
        # Some servers leave out the frame of zlib.
        for bits in (15, -15):
            decoded = _unpacked(body, partial(zlib.decompressobj, bits), None, most)
            if decoded.body:
                return decoded
    if name not in _BEGINNINGS and not _BINARY.search(body, 0, _HEAD):
        return Decoded(body)
    if _MEDIA.match(media_type):
        return Decoded(body)
    return Decoded(b"", fault=f"it is packed as {name!r}, which cannot be read")


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
                return Decoded(b"", fault="its packed content is damaged")
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
