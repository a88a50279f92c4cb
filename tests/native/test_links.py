"""The compiled functions for links in buffers: fingerprints, and buffers that do not fit."""

from array import array
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

native = pytest.importorskip("larbinpy.native._native")

KEY = bytes(16)
#: Around the size of one block of BLAKE2b and of two.
SIZES = [0, 1, 127, 128, 129, 255, 256, 257]


def packed(texts: list[bytes]) -> tuple[bytes, bytes, bytes]:
    return b"".join(texts), array("I", accumulate(map(len, texts))).tobytes(), bytes(len(texts))


@given(st.lists(st.binary(max_size=300)))
@example([b"x" * size for size in SIZES])
@example([b"\xff" * 8000])
def test_fingerprints_are_blake2b(texts: list[bytes]) -> None:
    text, ends, flags = packed(texts)
    found, prints = native.unknown_links(bytearray(KEY + bytes(32)), text, ends, flags)
    digests = [blake2b(text, digest_size=8).digest() for text in texts]
    assert prints == [int.from_bytes(digest, "little") for digest in digests]
    assert found == (text, ends, flags)


@pytest.mark.parametrize(
    ("text", "ends", "flags"),
    [
        (b"abc", [4], b"\0"),
        (b"abc", [2, 1], b"\0\0"),
        (b"abc", [2, 2**32 - 1, 3], b"\0\0\0"),
        (b"abc", [1, 2], b"\0"),
        (b"abc", [1], b"\0\0"),
        (b"abc", [], b"\0"),
    ],
)
def test_buffers_that_do_not_fit(text: bytes, ends: list[int], flags: bytes) -> None:
    links = text, array("I", ends), flags
    with pytest.raises(ValueError, match="no links"):
        native.select_links(*links, b"\0")
    with pytest.raises(ValueError, match="no links"):
        native.unknown_links(bytearray(48), *links)
    with pytest.raises(ValueError, match="no links"):
        native.learn_links(bytearray(48), *links, [False])


@pytest.mark.parametrize("size", [0, 15, 16, 47, 49, 16 + 3 * 32, 16 + 31])
def test_a_cache_of_an_odd_size(size: int) -> None:
    with pytest.raises(ValueError, match=r"2\*\*n sets"):
        native.unknown_links(bytearray(size), *packed([b"x"]))


@pytest.mark.parametrize("unseen", [[], [True], [True] * 3, (True, True), None])
def test_not_one_answer_for_each_link(unseen: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.learn_links(bytearray(48), *packed([b"x", b"y"]), unseen)


def test_the_wanted_flags_choose_the_links() -> None:
    text, ends, _ = packed([b"a", b"b", b"c"])
    found = native.select_links(text, ends, bytes([8, 2, 255]), b"\2\3")
    assert found == (b"b", array("I", [1]).tobytes(), b"\2")
