"""Pages that would take a careless reader seconds, gigabytes or all of its stack."""

import time

import pytest

from larbinpy.database.content.main_text import split
from larbinpy.parse.charset import document

RULES = "".join(f".a{n} .b{n % 7}{{color:#{n % 4096:03x};display:none}}\n" for n in range(30_000))
PAGES = {
    "a line of 8 MB": "<p>" + "word " * ((8 << 20) // 5),
    "100,000 nested elements": "<div class=nav>" * 100_000 + "deep",
    "100,000 nested inline elements": "<b><i>" * 50_000 + "deep",
    "a word of a million characters": "<p>" + "x" * 1_000_000,
    "a class of a million characters": f'<p class="{"nav-" * 250_000}">seen',
    "200,000 attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">seen",
    "200,000 classes": "".join(f"<i class=c{n}>x</i>" for n in range(200_000)),
    "nested tables": "<table><tr><td>" * 30_000 + "deep",
    "nested lists": "<ul><li>" * 30_000 + "deep",
    "nested paragraphs' parents": "<section><p>" + "word " * 20 + "</p>",
    "many paragraphs within each other": ("<section><p>" + "word " * 20 + "</p>") * 10_000,
    "30,000 rules": f"<style>{RULES}</style><p class='a1 b1 a2'><b class=b1>seen</b></p>",
    "30,000 rules that match": "<style>"
    + ".a .b{display:none}\n" * 30_000
    + "</style>"
    + "<div class=a><p class=b>seen</p></div>" * 2000,
    "30,000 rules in media": "<style>"
    + "@media(width:1px){.a{display:none}}" * 30_000
    + "</style><p class=a>seen",
    "open at-rules": "<style>" + "@media x{" * 50_000 + ".a{display:none}</style><p class=a>seen",
    "open braces": "<style>" + "{" * 500_000 + "display:none}</style><p>seen",
    "a long list of selectors": "<style>"
    + ".a," * 100_000
    + ".b{display:none}</style><p class=a>x",
    "brackets": "<style>" + "a[" * 50_000 + "(" * 50_000 + "{display:none}</style><p>seen",
    "comments": "<style>" + "/*" * 200_000 + "</style><p>seen",
    "nested selectors": "<style>.a .a .a .a .a .a .b{display:none}</style>"
    + "<div class=a>" * 3000
    + "seen",
    "siblings": "<style>.a ~ .a ~ .a ~ .b{display:none}</style>" + "<p class='a'>x</p>" * 5000,
    "styles": "<p style='color:#fff;background:#fff'>x</p>" * 20_000,
    "nested styles": "<div style='color:#fff'>" * 20_000 + "x",
    "nested invisible": "<div style='visibility:hidden'>" * 2000 + "x",
    "hidden in hidden": "<div style='display:none'>" * 20_000 + "x",
    "a declaration without end": "<p style='" + "display:" * 100_000 + "'>x",
    "numbers": "<p style='text-indent:-" + "9" * 100_000 + "px;clip:rect(" + "0 " * 50_000 + ")'>x",
    "links": "<a href=x>y</a>" * 100_000,
    "options": "<select>" + "<option>y" * 100_000,
    "no body": "<frameset><frame>",
    "nothing": "",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_is_read_in_bounded_time(name: str) -> None:
    tree = document(PAGES[name].encode())
    begin = time.process_time()
    found = split(tree)
    assert time.process_time() - begin < 5
    assert len(found.main) + len(found.rest) <= len(PAGES[name])
