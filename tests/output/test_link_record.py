"""The record of links: what is written can be read, whatever a kill or another file left."""

import errno
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.errors import UserError
from larbinpy.native import native
from larbinpy.output.links import (
    BLAKE2B,
    FOLD,
    LinkHash,
    LinkReader,
    LinkRecord,
    NoLinkRecord,
    fold_hash,
    has_part,
)
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks

PAGES = {
    "http://a.test/": ["http://a.test/1", "http://a.test/2"],
    "http://a.test/1": ["http://a.test/"],
    "http://b.test/": ["http://a.test/2", "http://b.test/x?y=1", "http://c.test/"],
}


def links(urls: list[str]) -> list[Link]:
    return [Link(url, Kind.PAGE) for url in urls]


def write(record: LinkRecord, pages: dict[str, list[str]] = PAGES) -> None:
    for url, targets in pages.items():
        record.page(url, links(targets))
    record.flush()


def read(path: Path, known: dict[str, list[str]] = PAGES) -> dict[str, list[str]]:
    """The pages of a record, with the URLs of `known` in place of hashes."""
    reader = LinkReader(path)
    urls = {reader.hash.one(url): url for targets in known.values() for url in targets}
    return {url: [urls[number] for number in hashes] for url, hashes in reader.pages()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "links.bin"


def test_all_pages_can_be_read(path: Path) -> None:
    record = LinkRecord(path)
    write(record)
    record.page("http://none.test/", [])
    record.close()
    assert read(path) == PAGES


def test_similar_texts_have_different_hashes() -> None:
    texts = [b"a" * n for n in range(100)] + [b"a" * n + b"\0" for n in range(100)]
    texts += [bytes([n]) * 40 for n in range(256)] + [b"http://a.test/%d" % n for n in range(1000)]
    key = bytes(range(16))
    hashes = {fold_hash(key, text) for text in texts}
    assert len(hashes) == len(set(texts))
    for bit in range(64):
        assert 0.4 < sum(number >> bit & 1 for number in hashes) / len(hashes) < 0.6


@given(
    st.lists(st.text("abc/:.%09é", max_size=40), max_size=30), st.binary(min_size=16, max_size=16)
)
def test_the_module_and_python_agree(texts: list[str], key: bytes) -> None:
    urls = links([text.encode().hex()[: len(text)] for text in texts])
    for kind in (FOLD, BLAKE2B):
        hashing = LinkHash(kind, key)
        expected = struct.pack(f"={len(urls)}Q", *(hashing.one(link.url) for link in urls))
        assert hashing.all(urls) == hashing.all(PackedLinks.pack(urls)) == expected
    if native is not None:
        with pytest.raises(ValueError, match="16 bytes"):
            native.hash_links(key[1:], b"", b"", b"")
        with pytest.raises(ValueError, match="no links"):
            native.hash_links(key, b"", b"\1\0\0\0", b"\0")


def test_each_record_has_another_key(path: Path) -> None:
    record = LinkRecord(path)
    keys = [path.read_bytes()]
    record.clear()
    record.close()
    keys.append(path.read_bytes())
    assert len(keys[0]) == len(keys[1]) == 32
    assert keys[0][:16] == keys[1][:16]
    assert keys[0][16:] != keys[1][16:]


def test_a_record_is_continued_with_its_own_hash(path: Path) -> None:
    for kind in (FOLD, BLAKE2B):
        path.write_bytes(b"larbinpy links\n" + kind + os.urandom(16))
        for url, targets in PAGES.items():
            record = LinkRecord(path)
            write(record, {url: targets})
            record.close()
        assert read(path) == PAGES


@pytest.mark.parametrize("foreign", [b"x" * 40, b"larbinpy links\nz" + bytes(16), b"my notes"])
def test_another_file_is_refused_and_kept(path: Path, foreign: bytes) -> None:
    path.write_bytes(foreign)
    for opening in (LinkRecord, LinkReader):
        with pytest.raises(UserError, match="not a record of links; move it away"):
            opening(path)
    assert path.read_bytes() == foreign


def test_another_file_that_is_discarded_is_written_anew(path: Path) -> None:
    path.write_bytes(b"x" * 40)
    record = LinkRecord(path, discard=True)
    assert path.read_bytes() == b"x" * 40
    record.clear()
    write(record)
    record.close()
    assert read(path) == PAGES


def test_a_symbolic_link_is_not_followed(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"")
    path.symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"):
        LinkRecord(path)
    assert other.read_bytes() == b""


@pytest.mark.parametrize("left", [b"", b"larbinpy lin", b"larbinpy links\n" + FOLD + b"key"])
def test_a_torn_header_is_written_anew(path: Path, left: bytes) -> None:
    path.write_bytes(left)
    record = LinkRecord(path)
    write(record)
    record.close()
    assert read(path) == PAGES


def test_a_record_torn_anywhere_has_its_complete_pages(path: Path) -> None:
    record = LinkRecord(path)
    write(record)
    record.close()
    whole = path.read_bytes()
    more = {"http://late.test/": ["http://a.test/1"]}
    for end in range(32, len(whole) + 1):
        path.write_bytes(whole[:end])
        complete = read(path)
        assert list(complete.items()) == list(PAGES.items())[: len(complete)]
        # A crawl continues behind the torn page.
        again = LinkRecord(path)
        write(again, more)
        again.close()
        assert read(path) == {**complete, **more}
    assert complete == PAGES


@given(st.data())
def test_no_damage_breaks_the_reader(data: st.DataObject) -> None:
    path = Path(f"/tmp/larbinpy-test-{os.getpid()}.bin")
    try:
        path.unlink(missing_ok=True)
        record = LinkRecord(path)
        write(record)
        record.close()
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(32, len(content) - 1))
        some = data.draw(st.binary(min_size=1, max_size=20))
        content[at : at + len(some)] = some
        path.write_bytes(content)
        assert len(list(LinkReader(path).pages())) <= len(PAGES)
    finally:
        path.unlink()


def test_pages_after_a_mark_are_cut_off(path: Path) -> None:
    record = LinkRecord(path)
    write(record)
    mark = record.cut()
    write(record, {"http://late.test/": ["http://a.test/1"]})
    record.close()
    again = LinkRecord(path)
    again.load(mark)
    again.close()
    assert read(path) == PAGES


def test_a_record_without_mark_is_continued(path: Path) -> None:
    record = LinkRecord(path)
    write(record)
    record.load(None)
    record.close()
    assert read(path) == PAGES


def test_a_full_disk_loses_no_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = LinkRecord(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            write(record)
    record.flush()
    record.close()
    assert read(path) == PAGES


def full(fd: int, data: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_without_keep_links_nothing_is_written(path: Path) -> None:
    record = NoLinkRecord(path)
    record.page("http://a.test/", links(["http://a.test/1"]))
    record.flush()
    record.load(record.cut())
    record.close()
    assert not path.exists()


def test_scratch_removes_the_record_of_an_earlier_crawl(path: Path) -> None:
    LinkRecord(path).close()
    NoLinkRecord(path).clear()
    assert not path.exists()
    NoLinkRecord(path).clear()


@pytest.mark.parametrize(
    ("names", "part", "found"),
    [
        ({"a"}, "a", True),
        ({"a"}, "A", False),
        ({"caf\u00e9"}, "caf%C3%A9", True),
        ({"caf%C3%A9"}, "caf%C3%A9", True),
        ({"a b"}, "a%20b", True),
        ({"user-content-a"}, "a", True),
        ({"a"}, "a/", False),
    ],
)
def test_the_names_that_browsers_find(names: set[str], part: str, found: bool) -> None:
    assert has_part(names, part) is found
