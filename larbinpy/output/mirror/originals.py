"""The rewritten pages of a mirror as received, compressed."""

import zlib

from larbinpy.output.mirror.paths import original_of
from larbinpy.output.mirror.tree import Tree

#: zlib's fastest: HTML to a quarter, at 100 MB/s.
_LEVEL = 1


class Originals:
    """One file for each URL, in ``.larbinpy-originals``."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __repr__(self) -> str:
        return f"<Originals in {self._tree!r}>"

    def write(self, url: str, body: bytes) -> None:
        self._tree.write(original_of(url), zlib.compress(body, _LEVEL))

    def read(self, url: str, size: int) -> bytes | None:
        """Return the page, of `size` bytes; None if it is missing or damaged."""
        packed = self._tree.read(original_of(url), _most_packed(size))
        if packed is None:
            return None
        unpacking = zlib.decompressobj()
        try:
            # One byte more: zlib reports the end only when asked for more than there is.
            body = unpacking.decompress(packed, size + 1)
        except zlib.error:
            return None
        return body if unpacking.eof and len(body) == size else None

    def has(self, url: str) -> bool:
        return self._tree.size(original_of(url)) is not None


def _most_packed(size: int) -> int:
    """Return a bound of the compressed size of any `size` bytes."""
    return size + size // 100 + 1000
