"""WARC files as a source of pages: those of a crawl, of other programs, and damaged ones."""

import gzip
import os
import struct
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.database.indexer.reader import ReadOptions, read_page
from larbinpy.database.preparation import Prepared
from larbinpy.database.sources import DAMAGED, Payloads, SourceError, find
from larbinpy.errors import UserError
from larbinpy.output.warc.warc import WarcOutput
from larbinpy.page import Outcome, Page
from larbinpy.storage.spool import Spooled
from larbinpy.url import Url
from tests.support.warcmaking import Archive

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"


@pytest.fixture
def payloads() -> Iterator[Payloads]:
    made = Payloads()
    yield made
    made.close()


def taken(payloads: Payloads, *names: str, most: int = 1 << 20) -> list[Spooled]:
    sources = find(names, payloads, most)
    return [each.spooled for source in sources for each in source.pages()]


def said(pages: list[Spooled]) -> list[tuple[str, str, bytes]]:
    return [(each.page.url.href, each.page.outcome.value, each.page.body) for each in pages]


def test_the_archive_of_a_crawl(tmp_path: Path, payloads: Payloads) -> None:
    seconds = count(1_800_000_000)
    output = WarcOutput(tmp_path, {"software": "larbinpy/1"}, lambda: next(seconds))
    headers = [("content-type", "text/html; charset=utf-8")]

    def page(path: str, body: bytes, status: int = 200) -> Page:
        outcome = Outcome.SUCCESS if status == 200 else Outcome.ERR_40X
        head = HEAD.replace(b"200 OK", b"%d X" % status)
        return Page(Url(f"http://h{path}", 1), outcome, status, headers, body, head=head)

    output.loaded(page("/a", b"<title>one</title>"))
    output.replied(page("/robots.txt", b"User-agent: *\n"))
    output.loaded(page("/b", b"<title>one</title>"))  # becomes a revisit
    output.replied(page("/gone", b"no", 404))
    output.loaded(page("/a", b"<title>two</title>"))
    output.close()
    pages = taken(payloads, str(tmp_path))
    assert said(pages) == [
        ("http://h/a", "success", b"<title>one</title>"),
        ("http://h/b", "success", b"<title>one</title>"),
        ("http://h/gone", "err40X", b""),
        ("http://h/a", "success", b"<title>two</title>"),
    ]
    assert [each.at for each in pages] == sorted(each.at for each in pages)
    assert pages[0].at >= 1_800_000_000
    assert pages[0].page.http_charset == "utf-8"


def test_archives_of_other_programs(tmp_path: Path, payloads: Payloads) -> None:
    first = Archive(tmp_path / "a.warc", plain=True)
    first.add("warcinfo", "")
    first.add("response", "<http://h/x#part>", b"wget")
    first.add("request", "http://h/x")
    first.add("resource", "http://h/resource", b"stored")
    first.add("resource", "dns:h", b"h. IN A 1.2.3.4")
    zipped = ("Content-Encoding: gzip", "Content-Type: text/html")
    first.add("response", "http://h/zip", gzip.compress(b"zipped"), headers=zipped)
    chunked = ("Transfer-Encoding: chunked", "Content-Type: text/html")
    first.add("response", "http://h/chunked", b"3\r\nabc\r\n0\r\n\r\n", headers=chunked)
    first.add("response", "http://h/br", b"\x8b\x02\x80?\x03", headers=("Content-Encoding: br",))
    first.add("response", "http://h/moved", status="301 Moved", headers=("Location: /x",))
    first.add("response", "http://h/part", b"x", status="206 Partial")
    first.add("response", "http://h/error", b"x", status="503 Busy")
    second = Archive(tmp_path / "b.warc.gz")
    second.add("revisit", "http://h/x", status="304 Not Modified")  # names nothing but itself
    second.add("revisit", "http://h/y", WARC_Refers_To_Target_URI="http://h/zip")
    second.add("revisit", "http://h/lost", status="404 Not Found")
    second.add("revisit", "http://h/busy", status="503 Busy")
    second.add("revisit", "http://h/z", WARC_Refers_To_Target_URI="http://h/nowhere")
    files = first.close(), second.close()
    sources = find(files, payloads, 1 << 20)
    pages = [each.spooled for source in sources for each in source.pages()]
    assert said(pages) == [
        ("http://h/x", "success", b"wget"),
        ("http://h/resource", "success", b"stored"),
        ("http://h/zip", "success", b"zipped"),
        ("http://h/chunked", "success", b"abc"),
        ("http://h/moved", "err30X", b""),
        ("http://h/x", "success", b"wget"),
        ("http://h/y", "success", b"zipped"),
        ("http://h/lost", "err40X", b""),
    ]
    assert pages[0].at == 1_577_836_800
    assert pages[1].page.type == "text/html"
    assert [dict(source.left_out) for source in sources] == [
        {"coded as br": 1},
        {"a repetition of a page that is in none of the files before": 1},
    ]


def test_a_long_page_is_cut(tmp_path: Path, payloads: Payloads) -> None:
    archive = Archive(tmp_path / "a.warc.gz")
    zipped = ("Content-Encoding: gzip",)
    archive.add("response", "http://h/bomb", gzip.compress(bytes(9_000_000)), headers=zipped)
    archive.add("response", "http://h/next", b"next")
    long, following = taken(payloads, archive.close(), most=1000)
    assert (long.page.body, long.page.truncated) == (bytes(1000), "length")
    assert (following.page.body, following.page.truncated) == (b"next", None)


def test_a_record_that_is_cut_off_is_no_page(tmp_path: Path, payloads: Payloads) -> None:
    for name in ("a.warc", "a.warc.gz"):
        archive = Archive(tmp_path / name, plain=name == "a.warc")
        archive.add("response", "http://h/whole", b"whole")
        archive.add("response", "http://h/cut", Random(0).randbytes(5000))
        path = Path(archive.close())
        path.write_bytes(path.read_bytes()[:-900])
        (source,) = find([str(path)], payloads, 1 << 20)
        assert [each.spooled.page.body for each in source.pages()] == [b"whole"]


def test_a_file_that_is_compressed_as_a_whole(tmp_path: Path, payloads: Payloads) -> None:
    archive = Archive(tmp_path / "a.warc", plain=True)
    archive.add("response", "http://h/1", b"1")
    archive.add("response", "http://h/2", b"2")
    archive.add("revisit", "http://h/3", WARC_Refers_To_Target_URI="http://h/1")
    whole = Path(archive.close()).read_bytes()
    path = tmp_path / "b.warc.gz"
    path.write_bytes(gzip.compress(whole))
    pages = said(taken(payloads, str(path)))
    assert [(url, body) for url, _, body in pages] == [
        ("http://h/1", b"1"),
        ("http://h/2", b"2"),
        ("http://h/3", b"1"),
    ]
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(gzip.compress(whole, 0)[:-300])
    (source,) = find([str(cut)], payloads, 1 << 20)
    pages_before_the_cut = source.pages()
    assert next(pages_before_the_cut).spooled.page.body == b"1"
    with pytest.raises(SourceError, match=r"damaged after byte \d"):
        list(pages_before_the_cut)


def _records(number: int = 3, end: bytes = b"\r\n\r\n") -> list[bytes]:
    """Records of the pages http://h/0, http://h/1 ..., each followed by `end`."""
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Page"
    return [
        (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h/{n}\r\n"
            f"WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Length: {len(http)}\r\n\r\n"
        ).encode()
        + http
        + end
        for n in range(number)
    ]


def _packed(records: list[bytes]) -> list[bytes]:
    return [gzip.compress(record, mtime=0) for record in records]


@pytest.mark.parametrize(
    ("name", "content", "expected", "left_out"),
    [
        ("plain.warc", b"".join(_records(end=b"")), "012", 2),
        ("other.warc", b"junk\n".join(_records()), "012", 2),
        ("zeros.warc.gz", bytes(70_000).join(_packed(_records())), "012", 2),
        # The first member is cut in half.
        ("half.warc.gz", b"".join((_packed(_records())[0][:90], *_packed(_records()))), "012", 1),
        ("A.WARC.GZ", b"".join(_packed(_records())), "012", 0),
    ],
)
def test_records_behind_a_damaged_place(
    tmp_path: Path, payloads: Payloads, name: str, content: bytes, expected: str, left_out: int
) -> None:
    (path := tmp_path / name).write_bytes(content)
    (source,) = find([str(path)], payloads, 1 << 20)
    urls = [each.spooled.page.url.href for each in source.pages()]
    assert "".join(url[-1] for url in urls) == expected
    assert source.left_out[DAMAGED] == left_out


def test_what_follows_the_last_record_is_said(tmp_path: Path, payloads: Payloads) -> None:
    (path := tmp_path / "a.warc").write_bytes(b"".join(_records(1)) + b"junk")
    (source,) = find([str(path)], payloads, 1 << 20)
    pages = source.pages()
    assert next(pages).spooled.page.url.href == "http://h/0"
    with pytest.raises(SourceError, match=r"damaged after byte \d+: Invalid WARC record"):
        list(pages)


@pytest.mark.parametrize("learned", [False, True])
def test_files_compressed_by_zstd(tmp_path: Path, payloads: Payloads, learned: bool) -> None:
    """Each record is a frame. What they have in common may be the first one, itself compressed."""
    archive = Archive(tmp_path / "a.warc", plain=True)
    archive.add("response", "http://h/1", b"<p>one")
    archive.add("revisit", "http://h/2", WARC_Refers_To_Target_URI="http://h/1")
    whole = Path(archive.close()).read_bytes()
    known = zstandard.ZstdCompressionDict(whole)
    packer = zstandard.ZstdCompressor(dict_data=known if learned else None)
    second = whole.index(b"WARC/1.0", 1)
    frames = [packer.compress(whole[:second]), packer.compress(whole[second:])]
    if learned:
        common = zstandard.ZstdCompressor().compress(whole)
        frames.insert(0, struct.pack("<II", 0x184D2A5D, len(common)) + common)
    (path := tmp_path / "a.warc.zst").write_bytes(b"".join(frames))
    pages = said(taken(payloads, str(path)))
    assert [(url, body) for url, _, body in pages] == [
        ("http://h/1", b"<p>one"),
        ("http://h/2", b"<p>one"),
    ]


def test_a_file_whose_last_frame_is_cut(tmp_path: Path, payloads: Payloads) -> None:
    """Each byte that a frame has lost is noticed, with checksums and without, in all its blocks."""
    archive = Archive(tmp_path / "a.warc", plain=True)
    archive.add("response", "http://h/1", b"<p>one")
    archive.add("response", "http://h/2", b"<p>" + bytes(range(256)) * 3 + b"x" * 300_000)
    whole = Path(archive.close()).read_bytes()
    second = whole.index(b"WARC/1.0", 1)
    for checksum in (True, False):
        packer = zstandard.ZstdCompressor(write_checksum=checksum)
        first, last = packer.compress(whole[:second]), packer.compress(whole[second:])
        for lost in (0, 1, 4, 5, len(last) - 9, len(last) - 1, len(last), len(last) + 1):
            (path := tmp_path / "a.warc.zst").write_bytes(
                (first + last)[: len(first + last) - lost]
            )
            (source,) = find([str(path)], payloads, 1 << 20)
            pages = []
            try:
                pages += [each.spooled.page.url.href for each in source.pages()]
                cut = False
            except SourceError as error:
                cut = "cut off" in str(error)
            assert cut == (lost not in (0, len(last))), (checksum, lost)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_archives_in_a_package(tmp_path: Path, payloads: Payloads, method: int) -> None:
    archive = Archive(tmp_path / "b.warc.gz")
    archive.add("revisit", "http://h/2", WARC_Refers_To_Target_URI="http://h/1")
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", method) as package:
        package.writestr("archive/a.warc.gz", b"".join(_packed(_records(2))))
        package.write(archive.close(), "archive/b.warc.gz")
        package.writestr("pages/pages.jsonl", "{}")
    (tmp_path / "b.warc.gz").unlink()
    first, second = find([str(tmp_path)], payloads, 1 << 20)
    assert second.name == f"{tmp_path}/a.wacz/archive/b.warc.gz"
    pages = [each.spooled.page for source in (first, second) for each in source.pages()]
    assert [page.url.href[-1] for page in pages] == ["0", "1", "2"]
    assert pages[2].body == b"<p>Page"


def test_a_package_that_is_none(tmp_path: Path, payloads: Payloads) -> None:
    (path := tmp_path / "a.wacz").write_bytes(b"junk")
    with pytest.raises(UserError, match=r"a\.wacz: no WACZ file \(File is not a zip file\)"):
        find([str(path)], payloads, 1)


def test_a_damaged_package_in_a_folder_costs_no_other_file(
    tmp_path: Path, payloads: Payloads
) -> None:
    (tmp_path / "a.wacz").write_bytes(b"PK\3\4 cut off")
    archive = Archive(tmp_path / "b.warc", plain=True)
    archive.add("response", "http://h/1", b"<p>one")
    archive.close()
    damaged, other = find([str(tmp_path)], payloads, 1 << 20)
    with pytest.raises(SourceError, match="damaged"):
        list(damaged.pages())
    assert [each.spooled.page.url.href for each in other.pages()] == ["http://h/1"]


def test_codings_that_a_page_does_not_have(tmp_path: Path, payloads: Payloads) -> None:
    """Some programs store pages decoded, with the headers of the reply; some servers send words."""
    archive = Archive(tmp_path / "a.warc.gz")
    for path, coding, body in (
        ("br", "br", b"<p>plain"),
        ("gzip", "gzip", b"<p>plain"),
        ("zstd", "zstd", zstandard.compress(b"<p>packed")),
        ("x-gzip", "x-gzip", gzip.compress(b"<p>packed")),
        ("twice", "gzip", gzip.compress(gzip.compress(b"<p>packed"))),
        ("word", "UTF-8", b"<p>plain"),
        ("none", "none", b"<p>plain"),
        ("lost", "br", b"\x8b\x02\x80\xff\x03"),
    ):
        archive.add("response", f"http://h/{path}", body, headers=(f"Content-Encoding: {coding}",))
    (source,) = find([archive.close()], payloads, 1 << 20)
    bodies = [each.spooled.page.body for each in source.pages()]
    assert bodies == [b"<p>plain"] * 2 + [b"<p>packed"] * 3 + [b"<p>plain"] * 2
    assert dict(source.left_out) == {"coded as br": 1}


@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz", "b.arc.gz"])
def test_archives_of_the_older_form(tmp_path: Path, payloads: Payloads, name: str) -> None:
    head = b"1 0 Internet Archive\nURL IP-address Archive-date Content-type Archive-length\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>arc"
    parts = [b"filedesc://a.arc 0.0.0.0 20050101000000 text/plain %d\n%s\n" % (len(head), head)]
    parts += [
        b"http://h/%d 1.2.3.4 20050102030405 text/html %d\n%s\n" % (number, len(reply), reply)
        for number in (1, 2)
    ]
    packed = {"a.arc": b"".join(parts), "a.arc.gz": b"".join(map(gzip.compress, parts))}
    path = tmp_path / name
    path.write_bytes(packed.get(name) or gzip.compress(b"".join(parts)))
    pages = taken(payloads, str(path))
    assert [url for url, _, _ in said(pages)] == ["http://h/1", "http://h/2"]
    assert (pages[0].page.body, pages[0].at) == (b"<p>arc", 1_104_635_045)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_files_raise_nothing_else(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    is_plain = data.draw(st.booleans())
    archive = Archive(folder / "a.warc", plain=is_plain)
    zipped = ("Content-Encoding: gzip",)
    archive.add("response", "http://h/1", gzip.compress(b"1", mtime=0), headers=zipped)
    archive.add("revisit", "http://h/1", status="304 Not Modified")
    archive.add("response", "http://h/2", b"2", headers=("Transfer-Encoding: chunked",))
    path = Path(archive.close())
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, 1 << 20)) % len(whole)
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(whole)
    store = Payloads()
    try:
        taken(store, str(path))
    except SourceError as error:
        assert "damaged after byte" in str(error)
    finally:
        store.close()


def test_paths_without_pages_are_named(tmp_path: Path, payloads: Payloads) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").touch()
    for name in ("empty", "a.txt", "missing.warc"):
        with pytest.raises(UserError, match=f"{name}: no"):
            find([str(tmp_path / name)], payloads, 1)


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path, payloads: Payloads) -> None:
    (file := tmp_path / "a.warc").touch()
    sources = find([str(file), str(tmp_path), str(file)], payloads, 1000)
    assert [source.name for source in sources] == [str(file)]


def test_a_pipe_is_not_waited_for(tmp_path: Path, payloads: Payloads) -> None:
    os.mkfifo(tmp_path / "a.warc")
    (tmp_path / "b.warc.gz").mkdir()
    with pytest.raises(UserError, match="no pages in this folder"):
        taken(payloads, str(tmp_path))


@pytest.mark.parametrize(
    ("date", "fetched"),
    [
        ("9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00+14:00", "1970-01-01T00:00:00Z"),
    ],
)
def test_dates_at_the_ends_of_time(
    tmp_path: Path, payloads: Payloads, date: str, fetched: str
) -> None:
    archive = Archive(tmp_path / "a.warc", plain=True)
    archive.add("response", "http://h/x", b"<p>Some words", WARC_Date=date)
    archive.close()
    (spooled,) = taken(payloads, str(tmp_path))
    read = read_page(spooled, ReadOptions())
    assert isinstance(read, Prepared)
    assert (read.fetched, read.text.text()) == (fetched, "Some words")
