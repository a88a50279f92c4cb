"""Content codings, with values: what is unpacked, what is no page, and the bounds."""

import gzip
import zlib

import pytest
import zstandard

from larbinpy.fetch.transfer import Decoded, decode

TEXT = b"<p>A page.</p>" * 200
GZIP, ZSTD = gzip.compress(TEXT, mtime=0), zstandard.compress(TEXT)
DEFLATE = zlib.compress(TEXT)
#: A head with an extra field, a name, a comment and a checksum.
NAMED = GZIP[:3] + b"\x1e" + GZIP[4:10] + b"\2\0xxname\0comment\0cc"
BINARY = bytes(range(200))
DAMAGED = "its packed content is damaged"
TOO_MANY = "its packed content has more than 10000 members"
TOO_EARLY = "its packed content ends too early"


def decoded(body: bytes, codings: str, media_type: str = "text/html", most: int = 9999) -> Decoded:
    return decode(body, codings, media_type, most)


@pytest.mark.parametrize(
    ("codings", "body", "copies"),
    [
        ("gzip", GZIP, 1),
        ("x-gzip", GZIP + GZIP + GZIP, 3),
        ("gzip", GZIP + bytes(1000), 1),
        ("gzip", GZIP + b"\n", 1),
        ("GZIP , identity", GZIP + b"<!-- served by 7 -->", 1),
        ("deflate", DEFLATE + b"\n", 1),
        ("deflate", DEFLATE[2:-4], 1),
        ("deflate", GZIP, 1),
        ("gzip", GZIP[:-8] + b"checksum", 1),
        ("gzip", GZIP[:-8] + b"checksum<!-- cached -->", 1),
        ("gzip", NAMED + GZIP[10:-8] + b"checksum", 1),
        ("zstd", ZSTD, 1),
        ("zstd", ZSTD + ZSTD, 2),
        ("zstd", ZSTD + bytes(9), 1),
        ("zstd, gzip", gzip.compress(ZSTD, mtime=0), 1),
        ("gzip, gzip", gzip.compress(GZIP, mtime=0), 1),
        ("gzip;q=1.0", GZIP, 1),
        ('"deflate"', DEFLATE, 1),
        ("gzip,aws-chunked", GZIP, 1),
        ("aws-chunked, gzip", GZIP, 1),
    ],
)
def test_what_is_packed_is_unpacked(codings: str, body: bytes, copies: int) -> None:
    assert decoded(body, codings) == Decoded(TEXT * copies)


@pytest.mark.parametrize(
    "codings", ["gzip", "zstd", "deflate", "br", "compress", "utf-8", "none", "", "gzip, gzip"]
)
def test_a_page_with_a_wrong_label_is_as_it_was_sent(codings: str) -> None:
    assert decoded(TEXT, codings) == Decoded(TEXT)
    assert decoded(b"", codings) == Decoded(b"")


def test_a_label_for_more_layers_than_there_are_is_wrong() -> None:
    assert decoded(GZIP, "gzip, gzip, gzip") == Decoded(TEXT)
    assert decoded(GZIP, ", ".join(["gzip"] * 6)).body == b""


@pytest.mark.parametrize("codings", ["br", "compress", "x-compress", "lzma", "deflate"])
def test_what_cannot_be_unpacked_is_no_page(codings: str) -> None:
    found = decoded(b"\x1f\x9d" + BINARY, codings)
    why = f"it is packed as {codings.removeprefix('x-')!r}, which cannot be read"
    assert found == Decoded(b"", fault=why)


@pytest.mark.parametrize("codings", ["gzip", "zstd", "compress", "br", "utf-8"])
def test_an_image_with_a_wrong_label_is_an_image(codings: str) -> None:
    assert decoded(BINARY, codings, "image/png") == Decoded(BINARY)
    assert decoded(BINARY, "br", "image/svg+xml").body == b""


@pytest.mark.parametrize(
    ("codings", "body", "fault"),
    [
        ("gzip", GZIP[:-8] + b"checksum" + GZIP, DAMAGED),
        ("gzip", GZIP[:10] + b"\xff" * 20, DAMAGED),
        ("gzip", GZIP + GZIP[:10] + b"\xff" * 20, DAMAGED),
        ("zstd", ZSTD[:4] + b"\xff" * 20, DAMAGED),
        ("gzip", GZIP[:-4], TOO_EARLY),
        ("zstd", ZSTD[:-1], TOO_EARLY),
        ("deflate", DEFLATE[:-1], TOO_EARLY),
        (
            "gzip",
            gzip.compress(b"", mtime=0) * 10_001,
            "its packed content has more than 10000 members",
        ),
    ],
)
def test_damage_is_said(codings: str, body: bytes, fault: str) -> None:
    found = decoded(body, codings)
    assert found.fault == fault
    assert TEXT.startswith(found.body)


@pytest.mark.parametrize(
    ("codings", "body"), [("gzip", GZIP), ("zstd", ZSTD), ("deflate", DEFLATE)]
)
@pytest.mark.parametrize(("most", "is_cut"), [(len(TEXT) - 1, True), (len(TEXT), False)])
def test_no_more_than_the_limit_is_unpacked(
    codings: str, body: bytes, most: int, is_cut: bool
) -> None:
    assert decoded(body, codings, most=most) == Decoded(TEXT[:most], is_cut)


def test_a_bomb_of_zstd_is_unpacked_in_pieces() -> None:
    found = decoded(zstandard.compress(bytes(1 << 30)), "zstd", most=1000)
    assert found == Decoded(bytes(1000), is_cut=True)
