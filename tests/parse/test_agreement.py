"""Links that three HTML parsers agree on are found, in any encoding of the page.

Real pages (Debian's python3-doc) get text of other languages with links in it, are written in
many encodings, and labelled rightly, not at all, or wrongly. turbohtml, lxml and html5lib each
read the text as it was meant; the links that all three see have to be found in the bytes, under
the label.
"""

import random
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import html5lib
import lxml.html
import pytest
import turbohtml

from larbinpy.parse import links
from larbinpy.url import resolve

PYTHON_DOC = Path("/usr/share/doc/python3-doc/html")
HERE = "http://h.example/dir/page.html"

#: The attributes that are compared; larbinpy reads more.
PLACES = [(tag, "href") for tag in ("a", "area", "link")]
PLACES += [(tag, "src") for tag in ("frame", "iframe", "img", "script")]
PLACES += [(tag, "src") for tag in ("audio", "video", "source", "track", "embed")]
#: Pages of each case, and the sizes they may have: html5lib takes its time.
PAGES = 2
SIZES = range(5_000, 40_000)

LATIN = ("Voilà comment naïveté et Œdipe se mêlent à l'été, où déjà l'âme s'élève.", "été")
RUSSIAN = ("Съешь же ещё этих мягких французских булок, да выпей чаю.", "страница")
JAPANESE = ("このページでは、ソートの方法と表示について説明します。詳しくは一覧へ。", "日本語")
KOREAN = ("키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.", "한국어")
CHINESE = ("視野無限廣。窗外有藍天。我能吞下玻璃而不伤身体。中文网页", "中文")
MIXED = (" ".join(text for text, _ in (RUSSIAN, JAPANESE, KOREAN, CHINESE)), "página")


@dataclass(frozen=True)
class Case:
    """The language, encoding and labels of a page."""

    language: tuple[str, str]
    #: Python's name of the encoding.
    codec: str
    http: str | None = None
    meta: str | None = None
    #: Is it read in another encoding? Then only ASCII links can be found.
    garbled: bool = False

    def __str__(self) -> str:
        return f"{self.codec}, http {self.http}, meta {self.meta}"


CASES = [
    Case(MIXED, "utf-8", http="utf-8"),
    Case(MIXED, "utf-8", meta="utf-8"),
    Case(MIXED, "utf-8"),
    Case(MIXED, "utf-16"),
    Case(MIXED, "utf-16-le", http="utf-16"),
    Case(MIXED, "utf-16-be"),
    Case(JAPANESE, "cp932", http="Shift_JIS"),
    Case(JAPANESE, "cp932", meta="shift_jis"),
    Case(JAPANESE, "cp932"),
    Case(JAPANESE, "euc_jp", http="euc-jp"),
    Case(JAPANESE, "iso2022_jp", meta="iso-2022-jp"),
    Case(KOREAN, "cp949", http="euc-kr"),
    Case(KOREAN, "cp949", meta="ks_c_5601-1987"),
    Case(KOREAN, "cp949"),
    Case(CHINESE, "gb18030", http="gb18030"),
    Case(CHINESE, "gb18030", meta="gb2312"),
    Case(CHINESE, "big5", http="big5"),
    Case(RUSSIAN, "cp1251", http="windows-1251"),
    Case(RUSSIAN, "cp1251"),
    Case(RUSSIAN, "koi8_r", meta="koi8-r"),
    Case(LATIN, "iso8859-1", http="iso-8859-1"),
    Case(LATIN, "iso8859-1", meta="latin1"),
    Case(LATIN, "cp1252"),
    # Labels that are ignored: they cannot be true, or better evidence contradicts them.
    Case(MIXED, "utf-8", http="utf-16"),
    Case(MIXED, "utf-8", meta="utf-16"),
    Case(RUSSIAN, "utf-8", http="iso-2022-kr"),
    Case(RUSSIAN, "utf-8", http="no such label"),
    Case(RUSSIAN, "utf-8", http="utf-8", meta="koi8-r"),
    Case(RUSSIAN, "utf-8-sig", http="windows-1251"),
    Case(RUSSIAN, "utf-16", http="windows-1251"),
    Case(RUSSIAN, "utf-16-le", http="utf-8"),
    # Labels that are obeyed, as by browsers.
    Case(MIXED, "utf-8", http="gbk", garbled=True),
    Case(JAPANESE, "utf-8", meta="gbk", garbled=True),
    Case(MIXED, "utf-8", http="windows-1251", garbled=True),
    Case(CHINESE, "utf-8", meta="windows-1251", garbled=True),
    Case(JAPANESE, "utf-8", http="shift_jis", garbled=True),
    Case(MIXED, "utf-8", meta="big5", garbled=True),
    Case(RUSSIAN, "cp1251", http="utf-8", garbled=True),
    Case(JAPANESE, "cp932", http="euc-jp", garbled=True),
    Case(KOREAN, "cp949", http="utf-8", garbled=True),
    Case(CHINESE, "gb18030", meta="utf-8", garbled=True),
    Case(LATIN, "iso8859-1", http="utf-8", garbled=True),
]

_META = re.compile(r"<meta\b[^>]*charset[^>]*>", re.IGNORECASE)
_PASTED = """
<p title="{text}">{text} <a href="/{word}/{number}?page={number}">{word}</a>{text}
<img alt={word} src={word}-{number}.png><iframe src="frame-{number}.html"></iframe>
<map name="{word}"><area alt="{word}" href="area-{number}.html"></map>
<a title='{text}' href=ascii-{number}.html>{word}</a></p>
"""


@lru_cache(1)
def sample() -> list[str]:
    """Texts of real pages, as many as all cases take, always the same."""
    if not PYTHON_DOC.is_dir():
        pytest.skip("python3-doc is not installed (scripts/test does that)")
    files = sorted(file for file in PYTHON_DOC.rglob("*.html") if file.stat().st_size in SIZES)
    chosen = random.Random(6).sample(files, PAGES * len(CASES))
    return [file.read_text("utf-8").lstrip() for file in chosen]


def written(text: str, case: Case) -> bytes:
    """A page with text of the case's language here and there, in the case's encoding."""
    language, word = case.language
    head, body, rest = _META.sub("", text).partition("<body>")
    assert body
    if case.meta:
        head = head.replace("<head>", f'<head><meta charset="{case.meta}">')
    head = head.replace("<title>", f"<title>{language} ")
    parts = ["", *re.split(r"(?<=</p>)", rest)]
    for number in range(0, len(parts) - 1, 1 + len(parts) // 4):
        parts[number] += _PASTED.format(text=language, word=word, number=number)
    return "".join([head, body, *parts]).encode(case.codec, "xmlcharrefreplace")


def agreed(text: str) -> tuple[set[str], set[str]]:
    """References that all three parsers see in `text`, and those that any does."""
    views = [_by_turbohtml(text), _by_lxml(text), _by_html5lib(text)]
    return set.intersection(*views), set.union(*views)


def _by_turbohtml(text: str) -> set[str]:
    tree = turbohtml.parse(text)
    values = (e.attr(name) for tag, name in PLACES for e in tree.select(f"{tag}[{name}]"))
    return {value for value in values if value is not None}


def _by_lxml(text: str) -> set[str]:
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    return _in_tree(lxml.html.document_fromstring(text.encode(), parser=parser))


def _by_html5lib(text: str) -> set[str]:
    return _in_tree(html5lib.parse(text, namespaceHTMLElements=False))


def _in_tree(tree: Any) -> set[str]:
    values = (element.get(name) for tag, name in PLACES for element in tree.iter(tag))
    return {value for value in values if value is not None}


def missing(body: bytes, references: set[str], http: str | None) -> set[str]:
    wanted = {url for each in references if (url := resolve(each, HERE)) is not None}
    return wanted - set(links(body, HERE, http))


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: str(CASES[number]))
def test_links_that_three_parsers_agree_on_are_found(number: int) -> None:
    case = CASES[number]
    for page in sample()[number * PAGES : (number + 1) * PAGES]:
        body = written(page, case)
        sure, seen = agreed(body.decode(case.codec))
        assert len(sure) > 20 and len(sure) >= 0.95 * len(seen)
        assert any(not reference.isascii() for reference in sure)
        if case.garbled:
            sure = {reference for reference in sure if reference.isascii()}
        assert missing(body, sure, case.http) == set()


def test_links_that_three_parsers_agree_on_are_found_in_unchanged_pages() -> None:
    for page in sample()[::4]:
        sure, seen = agreed(page)
        assert len(sure) >= 0.95 * len(seen)
        assert missing(page.encode(), sure, None) == set()
