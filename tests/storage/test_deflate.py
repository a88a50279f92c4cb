import zlib
from collections.abc import Callable
from time import perf_counter_ns

import pytest

from larbinpy.native import native
from larbinpy.storage.deflate import Compressor, compress

TEXT = b"http://a.test/one http://a.test/two " * 100


def compressed_at_once() -> bytes:
    return compress(TEXT, 2, 31)


def compressed_in_parts() -> bytes:
    compressor = Compressor(2, 31)
    return compressor.compress(TEXT[:99]) + compressor.compress(TEXT[99:]) + compressor.flush()


WAYS = pytest.mark.parametrize("way", [compressed_at_once, compressed_in_parts])


@WAYS
def test_zlib_reads_it(way: Callable[[], bytes]) -> None:
    assert zlib.decompress(way(), 31) == TEXT


def test_a_sample_makes_it_shorter() -> None:
    compressor = Compressor(2, 15, TEXT)
    data = compressor.compress(TEXT) + compressor.flush()
    assert len(data) < len(compress(TEXT, 2, 15))
    assert zlib.decompressobj(zdict=TEXT).decompress(data) == TEXT


def nanoseconds_of_a_slice() -> float:
    """The least of several measurements, as other processes make some longer."""
    text = "a" * 20

    def measure() -> int:
        began = perf_counter_ns()
        for _ in range(500):
            text[1:]
        return perf_counter_ns() - began

    return min(measure() for _ in range(20)) / 500


@pytest.mark.skipif(native is None, reason="the compiled module clears the registers")
@WAYS
def test_short_strings_take_no_longer_afterwards(way: Callable[[], bytes]) -> None:
    """Where the vector registers were left in use, a slice took three times as long."""
    assert native is not None
    native.clear_registers()
    before = nanoseconds_of_a_slice()
    way()
    assert nanoseconds_of_a_slice() < 2 * before
