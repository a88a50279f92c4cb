"""Pages made to stall the compiled scan: none takes it longer than the tree."""

from collections.abc import Callable
from itertools import product

import pytest

from larbinpy.native import native
from larbinpy.parse.body import read_scan
from larbinpy.parse.html import read_tree
from tests.support.oddpages import Page
from tests.support.pagefuzz import time_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(native is None, reason="the compiled module is not there"),
]

SIZE = 2_000_000
#: Seconds of CPU time that the scan may take: 0.02 on an idle machine.
LIMIT = 0.125
#: Shorter times are not compared, because they vary too much. So the tree need not read such pages.
FLOOR = 0.01
#: How much longer than the tree the scan may take: some pages cost both the same, and times of
#: equal work vary by a fifth on a busy machine.
MARGIN = 1.25
#: Longer parts without ">" are left to the tree.
RUN = 200_000


def of(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


def numbered(unit: bytes) -> bytes:
    """Repetitions of `unit` with another number each."""
    count = SIZE // (len(unit) + 4)
    return b"".join(unit.replace(b"%d", b"%d" % number) for number in range(count))


def runs(start: bytes, unit: bytes, end: bytes) -> bytes:
    """Tags or texts as long as they may be."""
    return of(start + unit * (RUN // len(unit)) + end)


def colliding(one: bytes, other: bytes) -> bytes:
    """References with the same hash, if those of `one` and `other` are the same."""
    return b"".join(
        b"<a href=" + b"".join(each) + b">" for each in product((one, other), repeat=14)
    )


#: In quotes, tags and texts of all kinds.
PLACES = {
    "value": (b"<a href=", b">"),
    "quoted value": (b"<img src='", b"'>"),
    "attributes": (b"<a ", b">"),
    "name": (b"<", b">"),
    "end tag": (b"</a ", b">"),
    "relation": (b"<a href=x rel='", b"'>"),
    "relation of a link": (b"<link href=x rel='", b"'>"),
    "candidates": (b"<img srcset='", b"'>"),
    "style attribute": (b"<p style='", b"'>"),
    "style": (b"<style>", b"</style>"),
    "script": (b"<script>", b"</script>"),
    "commented script": (b"<script><!--", b"--></script>"),
    "title": (b"<title>", b"</title>"),
    "comment": (b"<!--", b"-->"),
    "declaration": (b"<!", b">"),
    "base": (b"<base href='", b"'>"),
    "refresh": (b"<meta http-equiv=refresh content='1;", b"'>"),
    "drawing": (b"<svg><title>", b"</title></svg>"),
    "cdata": (b"<svg><![CDATA[", b"]]></svg>"),
    "text": (b"<p>", b"<b>"),
}
UNITS = (
    b"< <a <!-- - --! </ </s </script <script <svg & &amp; &#x &#9999999999 = / ../ ./ %2e/ %41 "
    b"\" ' ? # \\ : , ] ( url( url((( a=b href=x nofollow\t a \n \r \xc3\xa9 \xff"
).split(b" ")

PAGES: dict[str, Callable[[], bytes]] = {
    "links": lambda: of(b"<a href=x>"),
    "references of a character": lambda: of(b"<a href=&x;>"),
    "references of characters": lambda: numbered(b"<a href=&eacute;%d>"),
    "relations": lambda: numbered(b"<a rel=x%d href=y>"),
    "unknown elements": lambda: numbered(b"<t%d>"),
    "distinct attributes": lambda: numbered(b"<p c%d=1>"),
    "distinct references": lambda: numbered(b"<a href=%d>"),
    "absolute references": lambda: numbered(b"<a href=http://h.example/%d>"),
    "distinct hosts": lambda: numbered(b"<a href=http://h%d.example/>"),
    "dots in references": lambda: numbered(b"<a href=../%d/../x>"),
    "escapes in references": lambda: numbered(b"<a href=%41%d>"),
    "blanks in references": lambda: numbered(b"<a href='a b%d'>"),
    "letters in references": lambda: numbered(b"<a href=\xc3\xa9%d>"),
    "other schemes": lambda: of(b"<a href=a:b>"),
    "ways up": lambda: numbered(b"<a href=" + b"../" * 300 + b"%d>"),
    "long references": lambda: numbered(b"<a href=" + b"x" * 7900 + b"%d>"),
    "too long references": lambda: of(b"<a href=" + b"x" * 33_000 + b">"),
    "equal hashes, times 33": lambda: colliding(b"Ez", b"FY"),
    "equal hashes, times 31": lambda: colliding(b"Aa", b"BB"),
    "equal ends": lambda: numbered(b"<a href=" + b"a" * 40 + b"%d" + b"b" * 40 + b">"),
    "candidates of images": lambda: numbered(b"<img srcset='%d 1x'>"),
    "style attributes": lambda: numbered(b"<p style='b:url(%d)'>"),
    "styles": lambda: numbered(b"<style>url(%d)</style>"),
    "robots": lambda: of(b"<meta name=robots content=x>"),
    "distinct robots": lambda: numbered(b"<meta name=robots content=%d>"),
    "charsets": lambda: of(b"<meta charset=x>"),
    "refreshes": lambda: numbered(b"<meta http-equiv=refresh content='1;%d'>"),
    "bases": lambda: numbered(b"<base href=%d>"),
    "relations of links": lambda: numbered(b"<link rel=x%d href=y>"),
    "depth": lambda: of(b"<div>"),
    "formatting": lambda: of(b"<a><b><font>"),
    "depth of drawings": lambda: of(b"<svg>"),
    "depth in a drawing": lambda: b"<svg>" + b"<g>" * (SIZE // 8) + b"</g>" * (SIZE // 8),
    "bad nesting in a drawing": lambda: b"<svg>" + b"<g>" * (SIZE // 8) + b"</a>" * (SIZE // 8),
    "styles in a drawing": lambda: b"<svg>" + of(b"<style></style>"),
    "tables": lambda: of(b"<table><tr><td>"),
    "forms": lambda: numbered(b"<form action=%d>"),
    "closed forms": lambda: of(b"<form></form>"),
    "templates": lambda: of(b"<template>"),
    "forms in templates": lambda: of(b"<template><form>"),
    "lists": lambda: of(b"<select><option>"),
    "noscript": lambda: of(b"<noscript>"),
    "scripts": lambda: of(b"<script></script>"),
    "scripts without end": lambda: of(b"<script>"),
    "scripts in comments": lambda: b"<script>" + of(b"<!--<script>"),
    "styles without end": lambda: of(b"<style>"),
    "comments": lambda: of(b"<!-->"),
    "empty end tags": lambda: of(b"</>"),
    "quotes": lambda: of(b"<a b='\">"),
    "zero bytes": lambda: of(b"\0>"),
    "brackets": lambda: of(b"> "),
}


def check(body: bytes) -> None:
    """Check the times; those of a page that seems slow, three times."""
    page = Page("hostile", body)
    scan = tree = 0.0
    for _ in range(3):
        if (scan := time_of(read_scan, page)) < FLOOR:
            return
        tree = time_of(read_tree, page)
        if scan < LIMIT and scan < MARGIN * tree:
            return
    pytest.fail(f"{body[:60]!r}: scan {1000 * scan:.0f} ms, tree {1000 * tree:.0f} ms")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_takes_longer_than_the_tree(name: str) -> None:
    check(PAGES[name]())


@pytest.mark.parametrize("place", PLACES)
def test_no_repetition_takes_longer_than_the_tree(place: str) -> None:
    start, end = PLACES[place]
    for unit in UNITS:
        check(runs(start, unit, end)[: SIZE // 4])


def test_a_page_without_brackets_is_left_to_the_tree() -> None:
    """The tree drops the middle of such parts."""
    for unit in UNITS:
        check(of(unit))
