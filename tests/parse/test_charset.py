"""Which encoding a page is in."""

import re

import pytest

from larbinpy.parse import links, sniff
from larbinpy.parse.charset import decode, document
from tests.support.suites import suite

_CASE = re.compile(rb"#data\n(.*?)\n#encoding\n(.*?)\n(?=\n#data|\n*\Z)", re.DOTALL)
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю."


def test_encoding_cases_of_html5lib() -> None:
    files = sorted(suite("html5lib-encoding").glob("*.dat"))
    cases = [case for file in files for case in _CASE.findall(file.read_bytes())]
    assert len(cases) == 82
    wrong = [(body, name) for body, name in cases if sniff(body).lower() != name.decode().lower()]
    assert wrong == []


@pytest.mark.parametrize(
    ("body", "http", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "windows-1251", "UTF-8"),
        (b"<meta charset=koi8-r>", "windows-1251", "windows-1251"),
        (b"<meta charset=koi8-r>", "no such label", "KOI8-R"),
        (b"<meta charset=koi8-r>", "\0\xe9", "KOI8-R"),
        (b"<meta charset=koi8-r>", None, "KOI8-R"),
        (b"<p>" * 1000 + b"<meta charset=koi8-r>", None, "KOI8-R"),
        (RUSSIAN.encode(), None, "UTF-8"),
        (RUSSIAN.encode()[:-1] + "ю".encode()[:1], None, "UTF-8"),
        (RUSSIAN.encode("windows-1251"), None, "windows-1251"),
        (b"plain", None, "windows-1252"),
        (b"", None, "windows-1252"),
        ("<p>wide".encode("utf-16le"), None, "UTF-16LE"),
        ("<p>wide".encode("utf-16be"), None, "UTF-16BE"),
        (b"<p>narrow", "utf-16", "windows-1252"),
        (b"<p>narrow", "iso-2022-kr", "windows-1252"),
        (b"<meta charset=hz-gb-2312><p>narrow", None, "windows-1252"),
    ],
)
def test_order_of_evidence(body: bytes, http: str | None, expected: str) -> None:
    assert sniff(body, http) == expected
    assert document(body, http).encoding == expected


@pytest.mark.parametrize(
    "markup",
    [
        "<META CHARSET='koi8-r'>",
        "<meta\tcharset\n=\rkoi8-r >",
        "<!--><meta charset=koi8-r>",
        "<!-- <meta charset=big5> --><meta charset=koi8-r>",
        "<!doctype html><?pi <p>?><meta charset=koi8-r>",
        "<p title='<meta charset=big5>'><meta charset=koi8-r>",
        "<metax charset=big5><meta charset=koi8-r>",
        "<meta charset=nonsense><meta charset=''><meta charset=koi8-r>",
        "<meta charset=koi8-r charset=big5>",
        "<meta name=x charset=koi8-r>",
        "<script><meta charset=koi8-r></script>",
        "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>",
        "<meta content='text/html; charset=\"koi8-r\"' http-equiv=content-type>",
        "<meta http-equiv=content-type content='charset; charset = koi8-r;x'>",
        "<meta content='charset=big5'><meta charset=koi8-r>",
        "<meta http-equiv=refresh content='charset=big5'><meta charset=koi8-r>",
    ],
)
def test_a_page_declares_its_encoding_in_many_ways(markup: str) -> None:
    assert sniff(markup.encode()) == "KOI8-R"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<!-- <meta charset=koi8-r> -->", "windows-1252"),
        ("<meta/charset=koi8-r/>", "windows-1252"),
        ("<meta charset=koi8-r", "windows-1252"),
        ("</p title='><meta charset=koi8-r>", "windows-1252"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<meta charset=ascii>", "windows-1252"),
        ("<meta charset=utf-16>", "UTF-8"),
    ],
)
def test_declarations_that_count_for_nothing_or_another(markup: str, expected: str) -> None:
    assert sniff(markup.encode()) == expected


@pytest.mark.parametrize("real", ["utf-8", "windows-1251", "shift_jis", "gb18030", "euc-kr"])
@pytest.mark.parametrize(
    "label", ["utf-8", "gbk", "shift_jis", "big5", "utf-16", "iso-2022-jp", "hz-gb-2312", "x"]
)
def test_links_survive_any_label(real: str, label: str) -> None:
    text = "<p>Москва</p><a href='/один'>x</a><a href='/two?x=1'>y</a>" * 3
    body = text.encode(real)
    declared = b"<meta charset=%s>" % label.encode() + body
    for found in (links(body, "http://h/", label), links(declared, "http://h/")):
        assert len(found) == 2
        assert found[1] == "http://h/two?x=1"


def test_queries_are_spelled_in_the_encoding_of_the_page() -> None:
    body = "<meta charset=windows-1251><a href='/ж?ж=ж&ह'>x</a>".encode(
        "windows-1251", "xmlcharrefreplace"
    )
    assert links(body, "http://h/") == ["http://h/%D0%B6?%E6=%E6&%26%232361%3B"]
    body = "<meta charset=shift_jis><a href='/?ソ'>x</a>".encode("shift_jis")
    assert links(body, "http://h/") == ["http://h/?%83\\"]
    body = "<meta charset=utf-8><a href='/?ж'>x</a>".encode()
    assert links(body, "http://h/") == ["http://h/?%D0%B6"]


@pytest.mark.parametrize(
    ("body", "http", "expected"),
    [
        ("url(ж)".encode("windows-1251"), "windows-1251", ("url(ж)", "windows-1251")),
        ('@charset "koi8-r";url(ж)'.encode("koi8-r"), None, ('@charset "koi8-r";url(ж)', "koi8-r")),
        ("\ufeffurl(ж)".encode("utf-16"), "utf-8", ("\ufeffurl(ж)", "utf-16le")),
        (b"url(a)", "utf-16", ("url(a)", "utf-8")),
        (b"url(a)", "no such", ("url(a)", "utf-8")),
        (b"url(\xff)", None, ("url(\ufffd)", "utf-8")),
    ],
)
def test_style_sheets_are_decoded(body: bytes, http: str | None, expected: tuple[str, str]) -> None:
    assert decode(body, http) == expected
