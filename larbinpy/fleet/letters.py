"""Lines on their way through the vault: packed, and sorted by the shard that they go to."""

from collections.abc import Iterable

from isal import isal_zlib
from isal.igzip_lib import IsalError

from larbinpy.storage.deflate import compress

_PLAIN, _DEFLATED = b"=", b"~"
_RAW = -15  # deflate without header and checksum
_LEVEL = 2
#: Shorter texts (bytes) hardly shrink.
_SHORT = 150
#: Bytes of a text at most: 256 lines of two URLs of 8,000 characters each, and more.
_LONGEST = 16 << 20


def pack(lines: Iterable[str]) -> bytes:
    """Lines without newlines as bytes."""
    text = "\n".join(lines).encode()
    if len(text) < _SHORT:
        return _PLAIN + text
    return _DEFLATED + compress(text, _LEVEL, _RAW)


def unpack(packed: bytes) -> list[str]:
    """The lines of `pack`; ValueError for other bytes."""
    kind, text = packed[:1], packed[1:]
    if kind == _DEFLATED:
        inflating = isal_zlib.decompressobj(_RAW)
        try:
            text = inflating.decompress(text, _LONGEST)
        except IsalError as error:  # type: ignore[misc]  # a class, whatever its stub says
            raise ValueError(f"damaged lines: {error}") from error
        if not inflating.eof:
            raise ValueError("lines that are cut off or too long")
    elif kind != _PLAIN:
        raise ValueError("no packed lines")
    return text.decode().split("\n")
