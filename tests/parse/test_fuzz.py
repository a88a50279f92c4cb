"""Odd pages: the compiled scan reads them as the tree does, or leaves them to the tree.

A longer run is `scripts/fuzz-pages`.
"""

import gc
import mmap
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.native import native
from larbinpy.parse.body import read_scan
from larbinpy.parse.html import read_tree
from larbinpy.parse.link import Collector, Kind
from tests.support.checkout import ROOT
from tests.support.oddmarkup import GRAMMARS, KINDS
from tests.support.oddpages import OddPages, Page
from tests.support.pagefuzz import Reader, Tally, compare, shrunk

compiled = pytest.mark.skipif(native is None, reason="the compiled module is not there")
PYTHON_DOC = Path("/usr/share/doc/python3-doc/html")


def real() -> list[bytes]:
    """Parts of some real pages; none if they are not installed."""
    return [path.read_bytes()[:20_000] for path in sorted(PYTHON_DOC.glob("library/[a-c]*.html"))]


def odd(count: int, seed: int = 1, start: int = 0) -> list[Page]:
    pages = OddPages(seed, real())
    return [pages.page(number) for number in range(start, start + count)]


# -- the scan


@compiled
@pytest.mark.parametrize("seed", range(4))
def test_odd_pages_are_read_as_the_tree_reads_them(seed: int) -> None:
    tally = Tally()
    tally.run(read_scan, odd(2000, seed))
    assert not tally.findings, tally.findings[0]


@compiled
@pytest.mark.parametrize("kind", KINDS)
def test_each_piece_of_markup_alone(kind: str) -> None:
    pages = OddPages(1)
    for page in pages.pieces(kind):
        finding, _ = compare(read_scan, page)
        assert finding is None, str(finding)


@compiled
@pytest.mark.parametrize("number", range(0, 30, 3))
def test_pages_that_end_at_any_byte(number: int) -> None:
    page = min(odd(3, seed=7, start=100 + number), key=lambda page: len(page.body))
    for end in range(min(len(page.body), 600) + 1):
        finding, _ = compare(read_scan, page._replace(body=page.body[:end]))
        assert finding is None, str(finding)


_PIECES = st.sampled_from(sorted({piece for each in GRAMMARS.values() for piece in each.pieces}))
_BODIES = st.lists(_PIECES | st.text(max_size=5), max_size=8).map(
    lambda pieces: re.sub("%[A-Z]%", "x", "".join(pieces)).encode("utf-8", "surrogateescape")
)


@compiled
@settings(max_examples=400, deadline=None)
@given(_BODIES, st.sampled_from([None, "utf-8", "windows-1252", "shift_jis"]))
def test_any_sequence_of_pieces(body: bytes, http_charset: str | None) -> None:
    finding, _ = compare(read_scan, Page("pieces", body, http_charset))
    assert finding is None, str(finding)


@compiled
def test_the_scan_answers_most_pages_itself() -> None:
    """Otherwise a comparison would compare the tree with itself."""
    tally = Tally()
    tally.run(read_scan, odd(2000))
    assert tally.left.total() < tally.pages.total() / 2


# -- the comparison


def changed(change: Callable[[bytes], bytes]) -> Reader:
    """A scan that reads a page as the tree would read it after a change."""
    return lambda body, http_charset, out: read_tree(change(body), http_charset, out)


def without(pattern: bytes, instead: bytes = b"") -> Reader:
    expression = re.compile(pattern, re.DOTALL | re.IGNORECASE)
    return changed(lambda body: expression.sub(instead, body))


def ignores_http(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    return read_tree(body, None, out)


def raises(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    if len(body) % 97 == 96:
        raise IndexError
    return read_tree(body, http_charset, out)


def leaves_links_behind(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    if b"<svg" in body:
        out.add("of-a-reader-that-gave-up", Kind.PAGE)
        return None
    return read_tree(body, http_charset, out)


def puts_links_first(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    if b"<a href=p7>" in body:
        out.add("p7", Kind.PAGE)
    return read_tree(body, http_charset, out)


FAULTY: dict[str, Reader] = {
    "comments end at --> only": without(rb"<!--.*?-->"),
    "base is ignored": without(rb"<base", b"<bose"),
    "no raw text": without(rb"<(/?)(?:script|style|xmp|title)\b", rb"<\1b"),
    "end tags have no attributes": without(rb"</(script|style|title|textarea|xmp)[\s/]*>", b"</b>"),
    "references end anywhere": without(rb"&(copy|not|amp)(?!;)", rb"&\1;"),
    "line breaks are kept": without(rb"\r", b"%0D"),
    "rel is case-sensitive": changed(lambda body: body.replace(b"NoFollow", b"x")),
    "first attribute wins nothing": without(rb"( href=[\w./]+) (href=[\w./]+)", rb" \2 \1"),
    "forms nest": without(rb"</?form", b"<form"),
    "select keeps all": without(rb"</?select"),
    "templates are skipped": without(rb"<template[^>]*>.*?</template>"),
    "svg is html": without(rb"</?svg"),
    "noscript is text": without(rb"<noscript>.*?</noscript>"),
    "meta counts in the head only": without(rb"<meta charset=\w+>"),
    "the label is ignored": ignores_http,
    "raises": raises,
    "leaves links behind": leaves_links_behind,
    "puts links first": puts_links_first,
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_scan_is_found_out(fault: str) -> None:
    tally = Tally()
    tally.run(FAULTY[fault], odd(3000, seed=3))
    assert tally.findings, f"{tally.pages.total()} pages"


def test_a_difference_is_shown_by_a_small_page() -> None:
    page = Page("x", b"<p>" * 300 + b"<!--><a href=x>-->" + b"<b>y</b>" * 200)
    finding, _ = compare(FAULTY["comments end at --> only"], page)
    assert finding is not None
    small = shrunk(finding, FAULTY["comments end at --> only"])
    assert small.what == "links differ"
    assert len(small.page.body) <= len(b"<!--><a href=x>-->"), small
    assert repr(small.page.body) in str(small)


def test_a_slow_scan_is_found_out() -> None:
    def slow(body: bytes, http_charset: str | None, out: Collector) -> str | None:
        end = process_time() + 0.01
        while process_time() < end:
            pass
        return read_tree(body, http_charset, out)

    tally = Tally()
    tally.run(slow, odd(1), timed=True)
    assert "the scan took" in tally.findings[0].what


def test_a_page_depends_on_seed_and_number_only() -> None:
    assert OddPages(1).page(900) == OddPages(1, []).page(900) != OddPages(2).page(900)
    assert {OddPages(1).page(number).kind for number in range(500)} == set(KINDS)


# -- the script


def fuzz_pages(*options: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/fuzz_pages.py", "--seed", "1", *options],
        env={**os.environ, "PYTHONPATH": f"{ROOT}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@compiled
@pytest.mark.slow
def test_the_script_runs_and_says_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"<title>x</title><a href=b>")
    status, output = fuzz_pages(f"{tmp_path}", "--pages", "1000", "--processes", "2")
    assert status == 0, output
    assert "1 real pages" in output
    assert "1000 pages in" in output
    assert output.endswith("\n0 differences\n")


@compiled
@pytest.mark.slow
def test_reading_keeps_no_memory() -> None:
    pages = odd(1000)
    held = []
    for _ in range(6):
        for page in pages:
            read_scan(page.body, page.http_charset, Collector(page.url, "larbinpy"))
        gc.collect()
        held.append(int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE)
    assert held[-1] - held[1] < 1 << 20, held
