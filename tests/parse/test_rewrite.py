"""Pages for a disk: what is rewritten, how, and that all else stays."""

import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.loop.clock import run_to_end
from larbinpy.page import Outcome, Page
from larbinpy.parse import Form, css_urls, form_of, read, rewrite, rewriting, srcset
from larbinpy.parse.css import replace_css_urls
from larbinpy.parse.grammars import replace_srcset
from larbinpy.parse.rewrite import Marked, read_marked_html
from larbinpy.url import Url

HOME = "http://h/a/"
FILES = {
    "http://h/a/": "index.html",
    "http://h/a/b": "b.html",
    "http://h/s.css": "../s.css",
    "http://h/i?x=1&y": "../i%3Fx%3D1%26y",
    "http://h/a/?%E9": "e.html",
    "http://h/x.png": "../x.png",
    # A view of a page that scripts make.
    "http://h/a/#/v": "%2323/v.html",
}


def page(body: bytes, type_: str = "text/html", charset: str | None = None) -> Page:
    made = Page(Url(HOME, 1), Outcome.SUCCESS, 200, [("content-type", type_)], body)
    made.charset = charset or read(made, "x").charset
    return made


def rewritten(text: str, type_: str = "text/html") -> str:
    return rewrite(page(text.encode(), type_, "UTF-8"), FILES.get).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<a href=b>", '<a href="b.html">'),
        ("<A  HREF = 'b#x' Title=T>", "<A  HREF = 'b.html#x' Title=T>"),
        ("<a href='#/v'><a href='/a/#/v'>", "<a href='%2323/v.html'><a href='%2323/v.html'>"),
        ("<a href='#/w'><a href='#v'>", "<a href='#/w'><a href='#v'>"),
        ("<a href='b#/w'>", "<a href='b.html#/w'>"),
        ("<a href=//h/a/b#%20x>", '<a href="b.html#%20x">'),
        ("<a href='c?d&amp;e'>", "<a href='http://h/a/c?d&amp;e'>"),
        ("<a href='c?d=\"e'>", "<a href='http://h/a/c?d=%22e'>"),
        ("<a href=//o/x>", '<a href="http://o/x">'),
        ("<a href=./>", '<a href="index.html">'),
        ("<a href='../i?x=1&y'>", "<a href='../i%3Fx%3D1%26y'>"),
        (
            "<img srcset='/i?x=1&amp;y 1x, z 2x' src=z>",
            "<img srcset='../i%3Fx%3D1%26y 1x, http://h/a/z 2x' src=\"http://h/a/z\">",
        ),
        (
            "<p style='background:url(\"/s.css\")'>",
            "<p style='background:url(\"../s.css\")'>",
        ),
        (
            "<style>@import '/s.css';a{b:url( z )}</style>",
            "<style>@import '../s.css';a{b:url( http://h/a/z )}</style>",
        ),
        ("<noscript><img src=z></noscript>", '<noscript><img src="http://h/a/z"></noscript>'),
        (
            "<svg viewBox=1><use xlink:href='b#c'/></svg>",
            "<svg viewBox=1><use xlink:href='b.html#c'/></svg>",
        ),
        ("<object data=b></object>", '<object data="b.html"></object>'),
        ("<p data=b>", "<p data=b>"),
        ("<table background=b>", '<table background="b.html">'),
        (
            "<meta http-equiv=Refresh content='3; URL=\"b\"'>",
            "<meta http-equiv=Refresh content='3; url=b.html'>",
        ),
        (
            "<img data-src=./b data-srcset='./b 1x, /i?x=1&amp;y 2x'>",
            "<img data-src=\"b.html\" data-srcset='b.html 1x, ../i%3Fx%3D1%26y 2x'>",
        ),
        (
            "<div data-bg=/s.css data-background=#fff data-lazy=true><p data-bg='url(/s.css)'>",
            '<div data-bg="../s.css" data-background=#fff data-lazy=true>'
            "<p data-bg='url(../s.css)'>",
        ),
        (
            "<img data-full=/x.png data-other=/none.png data-file=x.png><p data-full=/x.png>",
            '<img data-full="../x.png" data-other=/none.png data-file=x.png><p data-full=/x.png>',
        ),
        ('<img data-src=\'{"a": "/b"}\'>', '<img data-src=\'{"a": "/b"}\'>'),
        (
            "<iframe srcdoc=\"<a href='b'>&amp;amp;</a>\"></iframe>",
            "<iframe srcdoc=\"&lt;a href='b.html'&gt;&amp;amp;&lt;/a&gt;\"></iframe>",
        ),
        (
            "<iframe srcdoc='<base href=/a/x/><a href=../b>'></iframe><a href=b>",
            '<iframe srcdoc=\'&lt;base &gt;&lt;a href="b.html"&gt;\'></iframe><a href="b.html">',
        ),
        (
            '<script type=importmap>{"imports": {"a": "./b", "c/": "/c/", "d": "b"},\n'
            ' "scopes": {"/b": {"a":"/s.css"}}}</script><script>x={"a": "./b"}</script>',
            '<script type=importmap>{"imports": {"a": "./b.html", "c/": "http://h/c/", "d": "b"},\n'
            ' "scopes": {"/b": {"a":"../s.css"}}}</script><script>x={"a": "./b"}</script>',
        ),
        (
            '<script type=importmap>{"imports": {"c/": "/", "no/": "/no/"}}</script>'
            "<script type=module>import 'c/s.css'; import 'no/s.css'</script>",
            '<script type=importmap>{"imports": {"c/": "../", "no/": "http://h/no/"}}</script>'
            "<script type=module>import 'c/s.css'; import 'no/s.css'</script>",
        ),
        ("<noframes><a href=b>x</a></noframes>", '<noframes><a href="b.html">x</a></noframes>'),
        ("<img lowsrc=b longdesc=b>", '<img lowsrc="b.html" longdesc="b.html">'),
        # A form that asks with a GET leads to the page that answers it with a script.
        ("<form action=b><input>", '<form action="b.html"><input>'),
        ("<form action=c>", '<form action="http://h/a/c">'),
        ("<form method=POST action=b>", '<form method=POST action="http://h/a/b">'),
        ("<form method=post action=''>", "<form method=post action='http://h/a/'>"),
        ("<FORM method=post>", '<FORM action="http://h/a/" method=post>'),
        ("<form method=dialog>", "<form method=dialog>"),
        (
            "<form method=post><button formaction=b><button formmethod=get formaction=b>",
            '<form action="http://h/a/" method=post><button formaction="http://h/a/b">'
            '<button formmethod=get formaction="b.html">',
        ),
        ("<link rel=canonical href=b>", '<link rel=canonical href="http://h/a/b">'),
        # Checks that a file cannot pass.
        (
            "<link rel=stylesheet integrity=x href=/s.css crossorigin>",
            '<link rel=stylesheet  href="../s.css" >',
        ),
        (
            "<script integrity=x src=//o/s.js></script>",
            '<script integrity=x src="http://o/s.js"></script>',
        ),
        ("<meta http-equiv=Content-Security-Policy content=\"default-src 'self'\">x", "x"),
    ],
)
def test_references_that_change(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "<a href=#x>",
        "<a href=''>",
        "<a href=mailto:x@y><a href=javascript:z()><img src=data:image/gif,x>",
        "<a href=http://o/x?a&b>",
        "<a href=http://[>",
        "<script>'<a href=b>'</script><!-- <a href=b> --><textarea><a href=b></textarea>",
        "<p>&eacute; & <b><i>mis</b>nested</i>\r\n<br/></p\n>",
    ],
)
def test_references_that_stay(text: str) -> None:
    assert rewritten(text) == text


def test_a_base_is_obeyed_and_removed() -> None:
    text = "<base target=_top href='/a/x/'><a href=../b>1</a><a href=#f>2</a><base href=/z>"
    after = '<base target=_top ><a href="b.html">1</a><a href="http://h/a/x/#f">2</a><base >'
    assert rewritten(text) == after


def test_a_transformation_is_rewritten_where_it_includes_others() -> None:
    """What is relative in its other elements is so to the documents that it makes."""
    xsl = (
        '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:include href="{}"/>'
        '<xsl:import href="{}"/><a href="b"/><xsl:template match="/"><img src="{{@x}}"/>'
        '<link href="{}"/><img src="/{{@y}}"/></xsl:template></xsl:stylesheet>'
    )
    before, after = xsl.format("b", "/a/b", "/s.css"), xsl.format("b.html", "b.html", "../s.css")
    for type_ in ("text/xsl", "application/xslt+xml", "application/xml"):
        assert rewritten(before, type_) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("<style>a{b:url(#x)}</style><p style='b:url(#x)'>", None),
        ("<svg><use href='#x'/><use xlink:href='#x'/><path fill='url(#x)'/></svg>", None),
        ("<svg><linearGradient href='#x'/><image mask='url(\"#x\")'/></svg>", None),
        ("<meta http-equiv=refresh content=30><form action=''>", None),
        ("<svg><a href='#x'/></svg>", "<svg><a href='http://h/a/x/#x'/></svg>"),
        ("<svg><path fill='url(../b#x)'/></svg>", "<svg><path fill='url(b.html#x)'/></svg>"),
        ("<form method=post action=''>", "<form method=post action='http://h/a/'>"),
    ],
)
def test_what_obeys_a_base_and_what_does_not(text: str, after: str | None) -> None:
    """Parts of the document that CSS and SVG name are there, and so is the target of a form."""
    assert rewritten(f"<base href='/a/x/'>{text}") == f"<base >{after or text}"


def test_positions_are_right_after_line_breaks_and_wide_characters() -> None:
    text = "\r\n\r\n\u00e9\U0001f600<a\r\nhref=b>\r\n</a>\r\r\n<a href=b>"
    after = '\r\n\r\n\u00e9\U0001f600<a\r\nhref="b.html">\r\n</a>\r\r\n<a href="b.html">'
    assert rewritten("<meta charset=utf-8>" + text) == "<meta charset=utf-8>" + after


def test_xml_keeps_its_own_rules() -> None:
    text = (
        '<?xml version="1.0"?><?xml-stylesheet href="/s.css"?><svg viewBox="0"><title/>'
        '<style><![CDATA[@import "/s.css";]]></style><!-- <a href="b"/> -->'
        '<a xlink:href="b#1&amp;2"/><script href="z"/></svg>'
    )
    after = (
        '<?xml version="1.0"?><?xml-stylesheet href="../s.css"?><svg viewBox="0"><title/>'
        '<style><![CDATA[@import "../s.css";]]></style><!-- <a href="b"/> -->'
        '<a xlink:href="b.html#1&amp;2"/><script href="http://h/a/z"/></svg>'
    )
    assert rewritten(text, "image/svg+xml") == after


@pytest.mark.parametrize(
    ("before", "type_", "after"),
    [
        (
            '<?xml version="1.0" encoding="iso-8859-1"?><svg><a href="b">\u00e9</a></svg>',
            "image/svg+xml",
            '<?xml version="1.0" encoding="iso-8859-1"?><svg><a href="b.html">\u00e9</a></svg>',
        ),
        (
            '<?xml version="1.0"?><html>\u00e9<a href="b"/></html>',
            "application/xhtml+xml; charset=iso-8859-1",
            '<?xml version="1.0" encoding="iso-8859-1"?><html>\u00e9<a href="b.html"/></html>',
        ),
        (
            '<html>\u00e9<a href="b"/></html>',
            "text/xml; charset=iso-8859-1",
            '<?xml version="1.0" encoding="iso-8859-1"?><html>\u00e9<a href="b.html"/></html>',
        ),
        ("<rss><link>\u00e9</link><a href='b'/></rss>", "text/xml; charset=iso-8859-1", None),
    ],
)
def test_xml_in_another_encoding(before: str, type_: str, after: str | None) -> None:
    found = rewrite(page(before.encode("latin-1"), type_), FILES.get)
    assert found == (after or before).encode("latin-1")


HREF = '<a href="b.html">'


@pytest.mark.parametrize(
    ("body", "type_", "said"),
    [
        ("\u00e9<a href=b>".encode("latin-1"), "text/html; charset=latin1", "windows-1252"),
        ("<meta charset=latin1>\u00e9<a href=b>".encode("latin-1"), "text/html", ""),
        ("<meta charset=latin1>\u00e9<a href=b>".encode(), "text/html; charset=utf-8", "utf-8"),
        ("\u00e9<a href=b>".encode(), "text/html; charset=utf-8", "utf-8"),
        ("\u00e9<a href=b>".encode(), "text/html", "utf-8"),
        ("\u00e9<a href=b>".encode("utf-8-sig"), "text/html", ""),
        ("\ufeff\u00e9<a href=b>".encode("utf-16le"), "text/html", ""),
        ("\u65e5\u672c<a href=b>".encode("shift_jis"), "text/html; charset=sjis", "shift_jis"),
        ("\u65e5\u8868<a href=b>".encode("cp932"), "text/html; charset=sjis", "shift_jis"),
        ("\u65e5\u672c<a href=b>".encode("gb18030"), "text/html; charset=gbk", "gbk"),
        (
            "\u65e5\u672c<a href=b>".encode("iso-2022-jp"),
            "text/html; charset=iso-2022-jp",
            "iso-2022-jp",
        ),
        # What loads nothing reads the same.
        (b"<a href=b>", "text/html; charset=windows-1251", ""),
        (b"<script src=http://o/x></script><a href=b>", "text/html", ""),
    ],
)
def test_a_page_keeps_its_bytes_and_says_what_its_header_said(
    body: bytes, type_: str, said: str
) -> None:
    codec = "utf-16le" if body.startswith(b"\xff\xfe") else "ascii"
    after = body.replace("<a href=b>".encode(codec), HREF.encode(codec))
    added = f'<meta charset="{said}">'.encode() if said else b""
    assert rewrite(page(body, type_), FILES.get) == added + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<!doctype html>\n<meta>", "<!doctype html>{}\n<meta>"),
        ("<!DOCTYPE html><!-- x --><html lang=a>\n<head a=b>\n", None),
        ("<html><head><meta>", "<html><head>{}<meta>"),
        (f"<!doctype html><!-- {'x' * 1000} --><head>", None),
        ("<p>", "{}<p>"),
    ],
)
def test_the_encoding_is_said_at_the_beginning_of_the_head(before: str, after: str | None) -> None:
    loads = "<script src=http://o/x></script>"
    found = rewrite(page((before + loads).encode(), "text/html; charset=big5"), FILES.get).decode()
    said = '<meta charset="big5">'
    assert found.replace(said, "") == before + loads
    assert found.index(said) < 100
    if after is not None:
        assert found.startswith(after.format(said))


def test_utf_16_without_a_mark_gets_one() -> None:
    body = "\u00e9<a href=b>".encode("utf-16le")
    found = rewrite(page(body, "text/html; charset=utf-16le"), FILES.get)
    assert found.decode("utf-16") == f"\u00e9{HREF}"


CODECS = ["utf-8", "utf-16le", "cp1251", "latin-1", "cp932", "gb18030", "big5", "euc_kr", "euc_jp"]
LABELS = {"cp932": "shift_jis", "latin-1": "windows-1252", "cp1251": "windows-1251"}
#: Pieces of pages, and what becomes of them.
LINKS = {
    "<a href=b>": '<a href="b.html">',
    "<A HREF='b'>": "<A HREF='b.html'>",
    '<a\thref = "b#x"\r\ntitle=\u8868>': '<a\thref = "b.html#x"\r\ntitle=\u8868>',
    "<img alt=.\u8868 srcset='b 1x, b 2x'>": "<img alt=.\u8868 srcset='b.html 1x, b.html 2x'>",
    "<style>.\u8868{b:url(b)}</style>": "<style>.\u8868{b:url(b.html)}</style>",
}
OTHERS = ["\u8868\u8a9e", "\u0416", "&eacute;", "a", "<p>", "\r\n", "\r", "</p>", "'", "<!-- b -->"]
pieces = st.lists(st.sampled_from([*LINKS, *OTHERS]), max_size=20)


@given(pieces, st.sampled_from(CODECS), st.sampled_from([b"", b"\xff", b"\x98", b"\xe2\x80"]))
def test_the_bytes_between_links_stay(pieces: list[str], codec: str, stray: bytes) -> None:
    name = LABELS.get(codec, codec.replace("_", "-"))
    if codec not in ("utf-8", "cp1251"):
        stray = b""

    def whole(parts: Iterable[str]) -> bytes:
        return b"".join(part.encode(codec, "ignore") + stray for part in parts)

    # UTF-16 without a zero byte is a wrong label.
    pieces = ["<p>", *pieces]
    body = whole(pieces)
    found = rewrite(page(body, f"text/html; charset={name}"), FILES.get)
    said = "\ufeff" if codec == "utf-16le" else f'<meta charset="{name}">'
    after = whole(LINKS.get(piece, piece) for piece in pieces)
    assert found.removeprefix(said.encode(codec)) == after


def test_a_page_that_declares_its_encoding_keeps_every_byte() -> None:
    body = b"<meta charset=utf-8>\xc3\xa9\x80\xff<a href=b>"
    assert rewrite(page(body), FILES.get) == body.replace(b"=b", b'="b.html"')


def test_a_query_is_looked_up_in_the_encoding_of_its_page() -> None:
    body = "<a href='?\u00e9'>".encode("latin-1")
    assert b"href='e.html'" in rewrite(page(body, "text/html; charset=latin1"), FILES.get)


def test_a_style_sheet_and_its_encoding() -> None:
    body = '@import "/s.css";/* \u00e9 */'.encode("latin-1")
    found = rewrite(page(body, "text/css; charset=latin1"), FILES.get)
    assert found == b'@charset "latin1";' + body.replace(b"/s.css", b"../s.css")
    plain = '@charset "utf-8";@import "/s.css";/* \u00e9 */'.encode("latin-1")
    found = rewrite(page(plain, "text/css; charset=latin1"), FILES.get)
    assert found == b'@charset "latin1";' + body.replace(b"/s.css", b"../s.css")
    for type_ in ("text/css", "text/css; charset=utf-8"):
        for ascii_or_declared in (b"a{b:url(/s.css)}", b'@charset "utf-8";\xc3\xa9{b:url(/s.css)}'):
            found = rewrite(page(ascii_or_declared, type_), FILES.get)
            assert found == ascii_or_declared.replace(b"/s.css", b"../s.css")
    assert rewritten("a{b:url(x\\)y)}", "text/css") == "a{b:url(http://h/a/x\\)y)}"


def test_other_types_stay_as_they_are_and_unknown_ones_are_looked_at() -> None:
    assert rewritten("<a href=b>", "text/plain") == "<a href=b>"
    assert rewritten("<html><a href=b>", "application/octet-stream").endswith('"b.html">')
    assert rewritten("no page <a href=b>", "") == "no page <a href=b>"


def test_what_was_once_taken_for_a_page_stays() -> None:
    body = b"%PDF-1.4 <a href=b>\xe9"
    taken = page(body, "text/html; charset=latin1")
    assert run_to_end(rewriting(taken, FILES.get, Form.HTML)) == body


def test_rewriting_a_rewritten_page_changes_nothing() -> None:
    once = rewritten("<base href=/a/><a href=b>1</a><a href=c>2</a><style>a{b:url(b)}</style>")
    local = {f"{HOME}{name}": name for name in ("b.html", "index.html")}
    assert rewrite(page(once.encode(), charset="UTF-8"), local.get).decode() == once


def test_positions_after_long_runs_are_right() -> None:
    script, tag = f"<script>{'x=1;' * 100_000}</script>", f"<a {'x ' * 200_000}"
    before = f"{script}\r\n<a href=b>{tag}href=b><a href=b>"
    after = f'{script}\r\n<a href="b.html">{tag}href="b.html"><a href="b.html">'
    assert rewritten(before) == after


def marks(text: str, chunk_size: int) -> tuple[str | None, list[Marked]]:
    """The base and the elements of a page that the parser gets in portions."""
    base, found = run_to_end(read_marked_html(text, chunk_size))
    return base, [*found]


def test_a_page_is_read_alike_in_portions_of_any_size() -> None:
    text = "\r\n\r\n<p title='\r\n\r\n' style='b:url(b)'>\r<style>a{b:url(b)}</style>\r\n" * 3
    text = "<meta charset=utf-8>" + text + "<a href=b>\u00e9</a>"
    assert rewritten(text).count("b.html") == 7
    at_once = marks(text, len(text))
    assert [element.tag for element in at_once[1]].count("style") == 3
    for size in range(1, 40):
        assert marks(text, size) == at_once


def test_links_in_a_shadow_root_are_rewritten_too() -> None:
    text = "<p><template id=x shadowrootmode=open><a href=b></a><a href='?shadowrootmode='></a>"
    after = '<p><template id=x shadowrootmode=open><a href="b.html"></a>'
    after += "<a href='http://h/a/?shadowrootmode='></a>"
    assert rewritten(text) == after


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("".join(f"a{{b:url({n})}}" for n in range(40_000)), "text/css"),
        ("()" * 400_000, "text/css"),
        ("".join(f"<style>a{{b:url({n})}}</style>" for n in range(20_000)), "text/html"),
        (f"<style>{''.join(f'a{{b:url({n})}}' for n in range(40_000))}</style>", "text/html"),
        ("".join(f"<img srcset='{n} 1x, {n}? 2x'>" for n in range(20_000)), "text/html"),
        (f"<img srcset='{', '.join(f'{n} {n}w' for n in range(1, 2000))}'>" * 40, "text/html"),
        ("<p>x" * 300_000, "text/html"),
        ("x\r\n" * 300_000, "text/html"),
        ("<svg>" + "".join(f"<a href='{n}'/>" for n in range(40_000)) + "</svg>", "image/svg+xml"),
        ("<svg><base/>" + "<g class='a'/>" * 40_000 + "</svg>", "image/svg+xml"),
    ],
)
def test_long_pages_are_rewritten_in_short_steps(text: str, type_: str) -> None:
    """A step has few references and little text, so that no turn of a crawl is long."""
    asked: list[str] = []
    longest = steps = known = 0
    long = page(text.encode(), type_, "UTF-8")
    for _ in rewriting(long, lambda url: asked.append(url), form_of(long)):
        longest, known, steps = max(longest, len(asked) - known), len(asked), steps + 1
    assert max(longest, len(asked) - known) <= 2500
    assert steps >= len(text) // 200_000


def test_hostile_pages_take_no_time() -> None:
    for text in (
        "<a " + "x " * 2_000_000,
        "<a href=" * 200_000,
        "<!--" * 500_000,
        "<a '\"" * 400_000,
        "<style>" * 300_000,
        "<a style='" + "url(" * 500_000,
        "<template " * 300_000 + "shadowrootmode",
    ):
        for type_ in ("text/html", "image/svg+xml", "text/css"):
            began = time.process_time()
            rewrite(page(text.encode(), type_, "UTF-8"), FILES.get)
            assert time.process_time() - began < 2, (text[:10], type_)


@given(st.text("<>\"'/=! -abchrefstyl[]?&;\r\n\u00e9\ud800", max_size=80))
def test_to_rewrite_twice_is_to_rewrite_once(text: str) -> None:
    for type_ in ("text/html", "image/svg+xml"):
        body = text.encode("utf-8", "surrogatepass")
        found = rewrite(page(body, type_, "UTF-8"), lambda url: None)
        assert rewrite(page(found, type_, "UTF-8"), lambda url: None) == found


@given(st.text("url()\"'@import image-set\\\n a/", max_size=60))
def test_urls_of_a_sheet_are_replaced_where_they_are_found(text: str) -> None:
    seen: list[str] = []

    def new(url: str) -> str:
        seen.append(url)
        return "n'e\"w)"

    after = run_to_end(replace_css_urls(text, new))
    assert seen == css_urls(text)
    if "\\" not in text:
        assert css_urls(after)[: len(seen)] == ["n'e\"w)"] * len(seen)
    assert run_to_end(replace_css_urls(text, lambda url: None)) == text


@given(st.text("ab ,1x2w()", max_size=40))
def test_candidates_are_replaced_where_they_are_found(value: str) -> None:
    seen: list[str] = []

    def leave(url: str) -> None:
        seen.append(url)

    run_to_end(replace_srcset(value, leave))
    assert seen == srcset(value)
    assert srcset(run_to_end(replace_srcset(value, lambda url: "n,ew,"))) == ["n,ew"] * len(seen)


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (b"\xff\xfe" + "<a href=/x>x</a>".encode("utf-16-le") + b"\n", "text/html"),
        (b"<svg><base/><base href='/b'/><a href='/x'/></svg>", "image/svg+xml"),
        (b"<base href=/b><base><a href=/x>x</a>", "text/html"),
        (b"<base href='/" + b"b" * 40_000 + b"'><a href=/x>x</a>", "text/html"),
        (b'<meta charset=utf-8><a href=/x title="a"b\xe9"c>x</a>', "text/html"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><a href='&#xd800;'/></svg>", "image/svg+xml"),
    ],
)
def test_no_page_ends_the_crawl(body: bytes, type_: str) -> None:
    assert rewrite(page(body, type_), lambda href: None)
