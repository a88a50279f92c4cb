"""The compiled scan against the tree, page by page."""

from itertools import permutations

import pytest

from larbinpy.native import native
from larbinpy.parse import grammars
from larbinpy.parse.body import read_html, read_scan
from larbinpy.parse.html import read_tree
from larbinpy.parse.link import Collector, Kind, Parsed
from larbinpy.url import MAX_LENGTH

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not in use")

URL = "http://a.test/x/y/page.html?q"

#: Pages that the scan reads, by the rule of the HTML standard that they need.
ORDINARY = {
    "relative": '<a href=b><a href="../c"><a href="../../../d"><a href=./e><a href="?q"><a href>',
    "dots": '<a href=".."><a href="a/./b"><a href="a/../b"><a href=".hidden"><a href="./">',
    "absolute": '<a href=/><a href=/r/s><a href=//b.test/><a href="http://b.test"><a href=HTTP://C/>',
    "other schemes": '<a href=mailto:x><a href=javascript:y><a href="data:,z"><a href=x:y>',
    "colon": '<a href="a:b"><a href="./a:b"><a href="c/a:b"><a href="?a:b">',
    "ports": '<a href="http://b.test:81"><a href="http://b.test:80/"><a href="http://b.test:22">',
    "escapes": '<a href="%7Ex"><a href="a%2fb"><a href="a b"><a href=" c "><a href="d\n">',
    "fragments": '<a href="#x"><a href="b#x"><img src="#x"><a href="b#y?z">',
    "not ASCII": '<a href="é?é"><img src="/ü"><a href="http://bücher.test/">',
    "references": '<a href="?a&amp;b&c=d&amp=e&copy=f&copy"><a href=&#x62;><a href="?&eacute;">',
    "attributes": "<A HREF='b' href=c><a/href=d/><a title='>' href=e><a =x href=f><a href = g>",
    "relations": '<a rel="NoFollow x" href=b><a rel=ugc href=c><a href=c><area href=d rel=ugc>',
    "links": "<link rel=stylesheet href=a><link href=b><link rel=icon href=c>"
    '<link rel=dns-prefetch href=d><link rel="preload" as=image href=e>'
    "<link rel=preload as=script href=f>",
    "kinds": "<img src=a><a href=a><script src=a></script><link rel=icon href=b><img src=b>",
    "nofollow": "<a rel=nofollow href=a><img src=a><a rel=nofollow href=b><a href=b>",
    "media": '<img srcset="a 1x, b 2x" src=c><source src=d><video poster=e src=f><object data=g>',
    "more media": "<iframe src=h></iframe><embed src=i><input type=image src=j><track src=k>"
    "<audio src=l>",
    "comments": "<!-- <a href=a> --><!--><a href=b>--><!---><a href=c><!--x--!><a href=d><!------->"
    "<a href=e><!----!><a href=f><!-- <a>",
    "declarations": "<!doctype html><?x <a href=a>?><! <a href=b>></ <a href=c>></><a href=d>",
    "no tags": "<<a href=a>< a href=b><1><a href=c>< /a>",
    "raw text": "<script>'<a href=a></scripty>'</script ><style><a href=b></style><title><a href=c>"
    "</TITLE x='>'><textarea><a href=d></textarea/><xmp><a href=e></xmp><a href=f>",
    "unended raw text": "<a href=a><script><a href=b></scrip",
    "script with a comment": "<script><!-- <a href=a></script><a href=b>",
    "styles": "<p style='background:url(a)'><style>@import 'b';x{src:url( c )}</style>"
    "<p style='color:rgb(1,2,3)'><p style='x:u\\72l(d)'><table background=e>",
    "forms": "<form action=a><form action=b></form><form action=c method=POST></form>"
    "<form action=d method=get rel=nofollow></form>",
    "forms in a table": "<table><form action=a><tr><td><form action=b></table><form action=c>",
    "drawing": "<svg><title>t</title><g><use xlink:href='#x'/><use href=a /><image href=b></image>"
    "<a href=c><text>x</text></a><style>p{fill:url(d)}</style></g><feImage href=e /></svg>"
    "<a href=f>",
    "shapes outside of a drawing": "<use href=a><filter href=b><image src=c><path href=d>",
    "select": "<select><option><a href=a>x</a></select><select><tr><a href=b></select>",
    "head": "<noscript><link rel=stylesheet href=a><img src=b></noscript><meta name=robots "
    "content=none><meta http-equiv=refresh content='0;url=c'></head><base href=/z/><a href=d>",
    "tables": "<table><a href=a><tr><td><a href=b></table><tr><td><a href=c>",
    "template": "<template><a href=a><template><img src=b></template></template><form action=c>",
    "formatting": "<a href=a><b><p><a href=b></b>x</a><p>y</p></a><a href=c>",
    "lazy": "<img src=a data-src=/b data-srcset='/c 1x, /d 2.5x'><iframe data-src=/e></iframe>"
    "<div data-src=/f.png data-bg=/g><img data-lazy-src=/h data-original=i.j><img data-src=k>"
    "<source data-srcset='/l 10w' data-src=/m><video data-src=/n data-poster=/o></video>",
    "candidates": "<img srcset=',a,, b 1x ,c  00100w,d 0w, e 1.x,f -1x, g (1,2) 2x'>"
    "<img srcset='h?a&amp;b 1.5x, i&comma; 1x'><source srcset=j>",
    "documents within": "<iframe srcdoc='<a href=a>' src=b></iframe>"
    "<noframes><a href=c></noframes>",
    "buttons": "<form action=a><button formaction=b></button><input type=submit formaction=c>"
    "</form>"
    "<button formaction=d formmethod=post></button>",
    "buttons of forms that post": "<button formaction=a></button><form method=post>"
    "<button formaction=b></button><button formaction=c formmethod=get></button></form>",
    "images of metadata": "<meta property=og:image content=http://a.test/a>"
    "<meta name=image content=/b><meta property=og:image content=https://www.a.test/c>"
    "<meta property=og:image content=http://b/d>"
    "<meta name=msapplication-config content=/e.xml><meta property=og:image content='/&quot;f'>"
    '<script type=application/ld+json>{"image": ["/g", "http://b.test/h"]}</script>',
    "earlier versions": "<img longdesc=a lowsrc=b><applet archive=c,d><object codebase=e>"
    "<param name=movie value=/f><param name=x value=/g></object><q cite=h></q><bgsound src=i>",
    "cut": "<a href=a><a href='b",
}

#: Pages that are left to the tree.
LEFT = {
    "table parts with links": "<tr><td background=a><td style='x:url(b)'>",
    "attributes that merge": "<p><body background=a>",
    "frames": "<frameset><frame src=a></frameset>",
    "the copy of an option": "<select><selectedcontent><img src=a><option>b",
    "plain text": "<plaintext><a href=a>",
    "formulas": "<math><mi xlink:href=a></math>",
    "a script within a script": "<script><!-- <script> </script> <a href=a> --></script><a href=b>",
    "HTML in a drawing": "<svg><p><a href=a></svg>",
    "HTML in the title of a drawing": "<svg><title><a href=a></title></svg>",
    "CDATA": "<svg><text><![CDATA[ <a href=a> ]]></text></svg>",
    "a drawing with wrong nesting": "<svg><g></svg><a href=a>",
    "deep styles": "<div/>" * 600 + "<style>x{src:url(a)}</style>",
    "deep drawings": "<div>" * 600 + "<svg><image href=a /></svg>",
    "a comment in a style in a drawing": "<svg><style>ur</>l(a)</style></svg>",
    "a drawing cut in a style": "<svg><style>@import 'a",
    "many relations": "".join(f"<a rel=x{n} href=a>" for n in range(1000)),
    "a form in a template": "<template><form action=a></template>",
    "a column in a template": "<template><col><a href=a></template>",
    "two bases": "<base href=a><base href=b>",
    "zero": "<a href=a\0>",
    "a mark of UTF-16": "\ufeff<a href=a>",
    "a base within": "<iframe srcdoc='<base href=/z/><a href=a>'></iframe>",
    "buttons and both kinds of forms": "<form></form><form method=post><button formaction=a>",
    "a form after a button": "<button form=f formaction=a></button><form id=f></form>",
    "many questions": "<img longdesc=a>" * 1000,
}


def read(markup: str, *, tree: bool, charset: str | None = "utf-8") -> Parsed | None:
    out = Collector(URL, "larbinpy")
    body = markup.encode("utf-16-le" if markup[0] == "\ufeff" else "utf-8")
    name = (read_tree if tree else read_scan)(body, charset, out)
    return None if name is None else out.parsed(name)


def contents(parsed: Parsed | None) -> object:
    assert parsed is not None
    links = [(link.url, link.kind, link.nofollow) for link in parsed.links]
    return links, parsed.charset, parsed.noindex, parsed.nofollow


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_page_has_the_links_of_its_tree(name: str) -> None:
    markup = ORDINARY[name]
    found = contents(read(markup, tree=False))
    expected = contents(read(markup, tree=True))
    if name != "tables":  # the tree moves a link before the table
        assert found == expected
    assert sorted(str(found)) == sorted(str(expected))


@pytest.mark.parametrize("folder", [20, 4000, 7000])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 200])
def test_urls_that_become_too_long_are_left_out(folder: int, beyond: int) -> None:
    """Folder and reference are no longer than allowed, and together they may be."""
    base = "http://a.test/" + "d" * (folder - len("http://a.test//")) + "/"
    name = "x" * (MAX_LENGTH - folder + beyond)
    found = []
    for way in (read_scan, read_tree):
        out = Collector(base)
        way(f"<a href={name}><a href=y>".encode(), "utf-8", out)
        found.append([link.url for link in out.parsed(None).links])
    assert found[0] == found[1] == [*([base + name] if beyond <= 0 else []), f"{base}y"]


@pytest.mark.parametrize("name", LEFT)
def test_any_other_page_is_left_to_the_tree(name: str) -> None:
    assert read(LEFT[name], tree=False) is None
    out = Collector(URL)
    body = LEFT[name].encode("utf-16-le" if LEFT[name][0] == "\ufeff" else "utf-8")
    read_html(body, "utf-8", out)
    assert out.parsed(None).links == getattr(read(LEFT[name], tree=True), "links", None)


@pytest.mark.parametrize(
    ("head", "charset", "name"),
    [
        ("", None, "windows-1252"),
        ("<p>é", None, "UTF-8"),
        ("", "latin1", "windows-1252"),
        ("", "no such charset", "windows-1252"),
        ("<meta charset=koi8-r>", None, "KOI8-R"),
        ("<meta charset=koi8-r>", "utf-8", "UTF-8"),
        ("<meta charset=x><meta charset=gbk>", None, "GBK"),
        (" " * 2000 + "<meta charset=gbk>", None, "GBK"),
        ("<meta http-equiv=content-type content='x;charset=big5'>", None, "Big5"),
        ("<meta charset=utf-16>", None, "UTF-8"),
        ("<script>'<meta charset=gbk>'</script>", None, None),
        ("<meta charset=iso-2022-jp>", None, None),
        ("<meta charset=iso-2022-kr><meta charset=gbk>", None, None),
        ("<title><meta charset=replacement></title><meta charset=gbk>", None, None),
        (" " * 2000 + "<meta charset=replacement><meta charset=gbk>", None, None),
        ("", "utf-16", None),
    ],
)
def test_the_encoding_is_that_of_the_tree(head: str, charset: str | None, name: str | None) -> None:
    markup = head + "<a href=/?&eacute;>"
    found = read(markup, tree=False, charset=charset)
    if name is None:
        assert found is None
    else:
        expected = read(markup, tree=True, charset=charset)
        assert found is not None and found.charset == name
        assert contents(found) == contents(expected)


@pytest.mark.parametrize("name", sorted(grammars.NAMES))
def test_the_scan_knows_all_attributes_of_lazy_loaders(name: str) -> None:
    markup = "".join(f"<{tag} {name}='/{tag}.png'>" for tag in ("img", "source", "video", "p"))
    found = contents(read(markup, tree=False))
    assert found == contents(read(markup, tree=True))
    assert "/img.png" in str(found) or "/video.png" in str(found)


@pytest.mark.parametrize("name", sorted(grammars.IMAGES))
def test_the_scan_knows_all_images_of_metadata(name: str) -> None:
    markup = "".join(f"<meta {each}={name} content=/{each}>" for each in ("property", "name"))
    found = contents(read(markup, tree=False))
    assert found == contents(read(markup, tree=True))
    assert "/property" in str(found) and "/name" in str(found)


def test_links_of_the_header_come_first_and_are_merged() -> None:
    for tree in (False, True):
        out = Collector(URL)
        out.add("b", Kind.IMAGE)
        out.add("c", Kind.PAGE, nofollow=True)
        (read_tree if tree else read_scan)(b"<a href=a><a href=c><a href=b rel=ugc>", "utf-8", out)
        links = [(link.url[-1], link.kind, link.nofollow) for link in out.parsed(None).links]
        page, shown = Kind.PAGE, Kind.SHOWN
        assert links == [("b", shown, True), ("c", page, False), ("a", page, False)]


ONE = {
    "page": "<a href=x>",
    "not followed": "<a rel=ugc href=x>",
    "image": "<img src=x>",
    "sheet": "<link rel=stylesheet href=x>",
    "script": "<script src=x></script>",
    "frame": "<iframe src=x></iframe>",
}


@pytest.mark.parametrize("tree", [True, False])
def test_the_kind_of_a_url_with_several(tree: bool) -> None:
    """A page that is shown, too, is both; its nofollow is that of the links that lead to it."""
    for first, second in permutations(ONE, 2):
        out = Collector(URL)
        (read_tree if tree else read_scan)((ONE[first] + ONE[second]).encode(), "utf-8", out)
        [link] = out.parsed(None).links
        both = {first, second}
        pages = both & {"page", "not followed", "frame"}
        if not pages:
            order = ["image", "sheet", "script"]
            known = {"image": Kind.IMAGE, "sheet": Kind.SHEET, "script": Kind.REQUISITE}
            assert link.kind is known[min(both, key=order.index)]
        elif pages <= {"page", "not followed"} and pages == both:
            assert link.kind is Kind.PAGE
        else:
            assert link.kind is Kind.SHOWN
        assert link.nofollow == (pages == {"not followed"})


def test_more_references_than_the_scan_takes_are_left_to_the_tree() -> None:
    pages = ["".join(f"<a href={n}>" for n in range(most)) for most in (30_000, 30_001)]
    assert len(getattr(read(pages[0], tree=False), "links", ())) == 30_000
    assert read(pages[1], tree=False) is None
