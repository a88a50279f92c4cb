"""WACZ files: what is in them, and that they are whole or absent."""

import gzip
import json
import zipfile
import zlib
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from larbinpy.errors import UserError
from larbinpy.output.warc.wacz import archives_in, entries, pack
from larbinpy.output.warc.warc import WarcOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.warcs import warcs

NOW = 1_800_000_000.0
HTML = "text/html; charset=windows-1251"


def archive(folder: Path, *pages: tuple[str, int, str, bytes], size: int = 10**9) -> list[Path]:
    """Archives in `folder` of pages: URL, status, type and body."""
    seconds = count(1_800_000_000)
    output = WarcOutput(folder, {}, lambda: next(seconds), file_size=size)
    for url, status, kind, body in pages:
        head = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\n" % (status, kind.encode())
        page = Page(Url(url, 1), Outcome.SUCCESS, status, [("content-type", kind)], head=head)
        page.body = body
        output.loaded(page)
    output.close()
    return warcs(folder)


def title(text: str) -> bytes:
    return f"<title>{text}</title><p>x".encode("cp1251")


PAGES = (
    ("http://b.test/", 200, HTML, title("\u0414\u043e\u043c &amp;\n co")),
    ("http://b.test/i.png", 200, "image/png", b"\x89PNG"),
    ("http://a.test/gone", 404, HTML, title("gone")),
    ("http://a.test/copy", 200, HTML, title("\u0414\u043e\u043c &amp;\n co")),
    ("http://c.test/plain", 200, "text/html", b"<p>no title"),
)


class Opened:
    """The parts of a WACZ file."""

    def __init__(self, path: Path) -> None:
        self.file = zipfile.ZipFile(path)
        self.package: dict[str, Any] = json.loads(self.file.read("datapackage.json"))
        self.pages = [json.loads(x) for x in self.file.read("pages/pages.jsonl").splitlines()]
        self.index = gzip.decompress(self.file.read("indexes/index.cdx.gz")).splitlines()
        self.blocks = self.file.read("indexes/index.idx").splitlines()


def test_it_has_the_archives_with_their_index_and_pages(tmp_path: Path) -> None:
    files = archive(tmp_path, *PAGES, size=1)
    assert len(files) == len(PAGES)
    target = tmp_path / "all.wacz"
    packed = pack(files, target, NOW, lambda url: "words" if url.endswith("plain") else "")
    assert (packed.archives, packed.captures, packed.pages) == (5, 5, 3)
    found = Opened(target)
    assert [found.file.read(f"archive/{path.name}") for path in files] == [
        path.read_bytes() for path in files
    ]
    lines = b"".join(path.read_bytes() for path in tmp_path.glob("*.cdxj")).splitlines()
    assert found.index == sorted(lines)
    head, *rows = found.pages
    assert (head["format"], head["hasText"]) == ("json-pages-1.0", True)
    # The page of a revisit record has the title of its first capture if that comes before.
    assert [(row["url"], row["title"], row.get("text")) for row in rows] == [
        ("http://a.test/copy", "http://a.test/copy", None),
        ("http://b.test/", "\u0414\u043e\u043c & co", None),
        ("http://c.test/plain", "http://c.test/plain", "words"),
    ]
    assert found.package["mainPageUrl"] == "http://b.test/"
    assert found.package["mainPageDate"] == rows[1]["ts"]


def test_its_digests_and_places_are_those_of_its_parts(tmp_path: Path) -> None:
    files = archive(tmp_path, *PAGES)
    pack(files, tmp_path / "x.wacz", NOW)
    found = Opened(tmp_path / "x.wacz")
    resources = {each["path"]: each for each in found.package["resources"]}
    data = {name: found.file.read(name) for name in found.file.namelist()}
    own = json.loads(data.pop("datapackage-digest.json"))
    assert own["hash"] == f"sha256:{sha256(data.pop('datapackage.json')).hexdigest()}"
    assert resources.keys() == data.keys()
    for name, part in data.items():
        assert resources[name]["bytes"] == len(part)
        assert resources[name]["hash"] == f"sha256:{sha256(part).hexdigest()}"
    stored = {i.filename for i in found.file.infolist() if i.compress_type == zipfile.ZIP_STORED}
    assert stored == {"indexes/index.cdx.gz", f"archive/{files[0].name}"}
    first = json.loads(found.blocks[1][found.blocks[1].index(b"{") :])
    block = data["indexes/index.cdx.gz"][first["offset"] :][: first["length"]]
    assert gzip.decompress(block).splitlines() == found.index


def test_each_part_begins_where_the_central_directory_says(tmp_path: Path) -> None:
    """Readers such as ReplayWeb.page do not look for further fields in the header of a part."""
    path = tmp_path / "x.wacz"
    pack(archive(tmp_path, *PAGES), path, NOW)
    data = path.read_bytes()
    for part in zipfile.ZipFile(path).infolist():
        begin = part.header_offset + 30 + len(part.filename) + len(part.extra)
        body = data[begin : begin + part.compress_size]
        whole = body if part.compress_type == zipfile.ZIP_STORED else zlib.decompress(body, -15)
        assert zlib.crc32(whole) == part.CRC


def test_a_long_index_has_several_blocks(tmp_path: Path) -> None:
    pages = [(f"http://h/{n}", 404, "text/plain", b"%d" % n) for n in range(2000)]
    pack(archive(tmp_path, *pages), tmp_path / "x.wacz", NOW)
    found = Opened(tmp_path / "x.wacz")
    assert len(found.index) == 2000 and len(found.blocks) == 3
    assert found.index[1024].startswith(found.blocks[2].partition(b" {")[0])


def test_an_archive_without_an_index_is_read(tmp_path: Path) -> None:
    [file] = archive(tmp_path, *PAGES)
    index = Path(f"{str(file).removesuffix('.warc.gz')}.cdxj")
    lines = index.read_bytes().splitlines(keepends=True)
    assert sorted(entries(file)) == lines
    other = tmp_path / "renamed.warc.gz"
    file.rename(other)
    index.rename(tmp_path / "renamed.cdxj")  # it names another file
    pack([other], tmp_path / "x.wacz", NOW)
    assert b'"filename": "renamed.warc.gz"' in Opened(tmp_path / "x.wacz").index[0]


def test_what_cannot_be_packed_leaves_the_old_file(tmp_path: Path) -> None:
    [file] = archive(tmp_path / "one", *PAGES)
    target = tmp_path / "x.wacz"
    target.write_bytes(b"old")
    whole = tmp_path / "whole.warc.gz"
    whole.write_bytes(gzip.compress(gzip.decompress(file.read_bytes())))
    with pytest.raises(UserError, match=r"whole\.warc\.gz"):
        pack([whole], target, NOW)
    (tmp_path / "two").mkdir()
    twin = tmp_path / "two" / file.name
    twin.write_bytes(file.read_bytes())
    with pytest.raises(UserError, match="one name"):
        pack([file, twin], target, NOW)
    with pytest.raises(FileNotFoundError):
        pack([file.with_name("none.warc.gz")], target, NOW)
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("one", "two", "whole.warc.gz", "x.wacz")
    ]


def test_archives_that_grow_are_not_taken(tmp_path: Path) -> None:
    for name in ("a.warc.gz", "b.warc", "c.warc.gz.open", "a.cdxj", "d.txt"):
        (tmp_path / name).touch()
    found, growing = archives_in([tmp_path])
    assert [path.name for path in found] == ["a.warc.gz", "b.warc"]
    assert [path.name for path in growing] == ["c.warc.gz.open"]
