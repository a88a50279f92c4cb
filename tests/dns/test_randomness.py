"""Octets for questions: each is given out once."""

from random import Random

from larbinpy.dns.questions import RandomBytes


def test_each_octet_is_given_out_once() -> None:
    """Also where one piece ends exactly at the end of what was drawn, or would go beyond it."""
    for first in (8191, 8192, 8173, 8000):
        source = RandomBytes(Random(1))
        stream = Random(1)
        drawn = stream.randbytes(8192)
        assert source.take(first) == drawn[:first]
        pieces = [source.take(size) for size in (20, 20, 5)]
        rest = drawn[first:]
        if len(rest) < 20:  # what is left is not enough for a piece
            rest = stream.randbytes(8192)
        assert b"".join(pieces) == rest[:45]
