"""Keyed 64-bit hashes of URLs, as the record of links stores them.

The compiled module folds products, 4 ns a link. In Python that takes 2 us, and BLAKE2b 1 us, so a
record begun without the module uses BLAKE2b. The record says which: each can be read and continued
with and without the module.
"""

import struct
import sys
from collections.abc import Sequence
from hashlib import blake2b

from larbinpy.native import native
from larbinpy.parse.link import Link, buffers, urls

FOLD, BLAKE2B = b"f", b"b"
KEY_SIZE = 16

_MASK = (1 << 64) - 1

#: The hash for a new record.
FASTEST = BLAKE2B if native is None else FOLD


class LinkHash:
    """The hash `kind`, FOLD or BLAKE2B, under a `key` of 16 bytes."""

    def __init__(self, kind: bytes, key: bytes) -> None:
        self._folds = kind == FOLD
        self._key = key

    def __repr__(self) -> str:
        return f"<LinkHash {'fold' if self._folds else 'BLAKE2b'}>"

    def one(self, url: str) -> int:
        """The hash of `url`."""
        data = url.encode()
        if self._folds:
            return fold_hash(self._key, data)
        return int.from_bytes(blake2b(data, digest_size=8, key=self._key).digest(), sys.byteorder)

    def all(self, links: Sequence[Link]) -> bytes:
        """The hashes of the URLs of `links`, 8 bytes each, in the byte order of the machine."""
        if self._folds and native is not None:
            hashes: bytes = native.hash_links(self._key, *buffers(links))
            return hashes
        return struct.pack(f"={len(links)}Q", *map(self.one, urls(links)))


def fold_hash(key: bytes, data: bytes) -> int:
    """The hash of larbinpy/native/link_hashes.c."""
    k0, k1 = struct.unpack("=QQ", key)
    pairs = len(data) // 16 + 1
    hashed: int = k0 ^ len(data)
    for a, b in struct.iter_unpack("=QQ", data.ljust(16 * pairs, b"\0")):
        hashed = _fold(a ^ k1, b ^ hashed)
    return _fold(hashed ^ k0, k1)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & _MASK
