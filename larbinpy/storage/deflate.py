"""Compression in the formats of zlib, by isal, which takes a fifth of zlib's time.

isal's compression returns without VZEROUPPER: it leaves the upper halves of the vector registers in
use. On x86 processors with AVX-512, each old SSE instruction then takes some hundred cycles, for as
long as the process runs. The C library copies 16 to 31 bytes with these: a short string takes
Python 220 to 370 ns instead of 70, and a page a crawl 15 us more. So the registers are cleared
after each call.
"""

from isal import isal_zlib

from larbinpy.native import native


def compress(data: bytes, level: int, wbits: int) -> bytes:
    """As `zlib.compress`; isal's levels are 0 to 3."""
    packed: bytes = isal_zlib.compress(data, level, wbits)
    _clear()
    return packed


class Compressor:
    """As a `zlib.compressobj`."""

    def __init__(self, level: int, wbits: int, zdict: bytes = b"") -> None:
        make = isal_zlib.compressobj
        self._inner = make(level, wbits=wbits, zdict=zdict) if zdict else make(level, wbits=wbits)

    def compress(self, data: bytes) -> bytes:
        packed: bytes = self._inner.compress(data)
        _clear()
        return packed

    def flush(self) -> bytes:
        packed: bytes = self._inner.flush()
        _clear()
        return packed


def _clear() -> None:
    if native is not None:
        native.clear_registers()
