"""Links of HTML pages: which, of what kind, in which order."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from larbinpy.page import Outcome, Page
from larbinpy.parse import MAX_LINKS, links, read
from larbinpy.url import Url, resolve

HERE = "http://h.example/dir/page.html"
PYTHON_DOC = Path("/usr/share/doc/python3-doc/html")


def page(body: bytes, type_: str = "text/html") -> Page:
    return Page(Url(HERE, 5), Outcome.SUCCESS, 200, [("content-type", type_)], body)


def kinds(markup: str, agent: str = "larbinpy") -> list[tuple[str, str]]:
    """URLs, without the page's folder, and the names of their kinds."""
    found = read(page(markup.encode()), agent).links
    return [(link.url.removeprefix("http://h.example/dir/"), link.kind.name) for link in found]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a href=x>", [("x", "PAGE")]),
        ("<map><area href=x></map>", [("x", "PAGE")]),
        ("<iframe src=x></iframe>", [("x", "SHOWN")]),
        ("<frameset><frame src=x></frameset>", [("x", "SHOWN")]),
        # What a page shows is a part of it, even if it links to it, too.
        ("<a href=x><img src=x></a><img src=y>", [("x", "SHOWN"), ("y", "IMAGE")]),
        ("<iframe src=x></iframe><a href=x>", [("x", "SHOWN")]),
        ("<form action=x></form>", [("x", "PAGE")]),
        ("<form action=x method=GET></form>", [("x", "PAGE")]),
        ("<form action=x method=Post></form><form action=y method=dialog></form>", []),
        ("<img src=x srcset='y, z 2x'>", [("x", "IMAGE"), ("y", "IMAGE"), ("z", "IMAGE")]),
        (
            "<picture><source srcset='x 1x'><img src=y></picture>",
            [("x", "IMAGE"), ("y", "IMAGE")],
        ),
        ("<input type=Image src=x><input src=no>", [("x", "IMAGE")]),
        ("<object data=x></object><embed src=y>", [("x", "REQUISITE"), ("y", "REQUISITE")]),
        ("<audio src=x></audio>", [("x", "REQUISITE")]),
        (
            "<video src=x poster=y><source src=z><track src=t></video>",
            [("x", "REQUISITE"), ("y", "IMAGE"), ("z", "REQUISITE"), ("t", "REQUISITE")],
        ),
        ("<script src=x></script>", [("x", "REQUISITE")]),
        ("<link rel=stylesheet href=x>", [("x", "SHEET")]),
        (
            "<link rel=preload as=style href=x><link rel=preload as=font href=y>",
            [("x", "SHEET"), ("y", "REQUISITE")],
        ),
        ("<link rel='alternate stylesheet' href=x>", [("x", "SHEET")]),
        ("<link rel=manifest href=x>", [("x", "REQUISITE")]),
        ("<link rel='shortcut ICON' href=x>", [("x", "IMAGE")]),
        ("<link rel=next href=x><link rel=canonical href=y>", [("x", "PAGE"), ("y", "PAGE")]),
        ("<link rel=alternate type=application/rss+xml href=x>", [("x", "PAGE")]),
        ("<link rel=preconnect href=//no/><link rel=dns-prefetch href=//no/>", []),
        ("<link rel=preload as=font href=x>", [("x", "REQUISITE")]),
        (
            "<link rel=preload as=image href=x imagesrcset='y 1x, z 2x'>",
            [("x", "IMAGE"), ("y", "IMAGE"), ("z", "IMAGE")],
        ),
        ("<link rel=prefetch href=x>", [("x", "PAGE")]),
        (
            "<svg><a xlink:href=x /><a href=y /><image href=z /><use href='t#u' /></svg>",
            [("x", "PAGE"), ("y", "PAGE"), ("z", "IMAGE"), ("t", "REQUISITE")],
        ),
        ("<svg><feImage xlink:href=x /><use href='#part' /></svg>", [("x", "IMAGE")]),
        ("<meta http-equiv=Refresh content='1 url=x'>", [("x", "PAGE")]),
        ("<meta http-equiv=refresh content=1>", []),
        ("<p style='background:url(x)'>", [("x", "REQUISITE")]),
        ("<style>@import 'x'; a{b:url(y)}</style>", [("x", "SHEET"), ("y", "REQUISITE")]),
        ("<body background=x><table background=y>", [("x", "IMAGE"), ("y", "IMAGE")]),
        ("<a href=x ping=no>", [("x", "PAGE")]),
        ("<img longdesc=x lowsrc=y dynsrc=z>", [("y", "IMAGE"), ("z", "REQUISITE"), ("x", "PAGE")]),
        ("<iframe src=x longdesc=y></iframe>", [("x", "SHOWN"), ("y", "PAGE")]),
        (
            "<svg><path fill='url(x#a)' stroke='url(#b)'>"
            "<g mask=url(y) marker-end='url(\"z\")'></svg>",
            [("x", "REQUISITE"), ("y", "REQUISITE"), ("z", "REQUISITE")],
        ),
        ("<svg><image clip-path='url(x)' href=y></svg>", [("y", "IMAGE"), ("x", "REQUISITE")]),
        (
            "<script type=module>import a from './x.js'; import{b}from'../dir/y.js';"
            "import './z.js'</script>",
            [("x.js", "REQUISITE"), ("y.js", "REQUISITE"), ("z.js", "REQUISITE")],
        ),
        ("<script>import './x.js'</script>", []),
        (
            "<style>@import 'x';@import url(y) print;a{b:url(z)}</style>",
            [("x", "SHEET"), ("y", "SHEET"), ("z", "REQUISITE")],
        ),
        (
            '<script type=importmap>{"imports": {"a": "./x.js", "b/": "/b/"},'
            ' "scopes": {"/c/": {"a": "./y.js"}}}</script>',
            [("x.js", "REQUISITE"), ("y.js", "REQUISITE")],
        ),
        (
            '<script type=importmap>{"imports": {"a": "./x.js", "b/": "./b/", "b/c/": "./c/"}}'
            "</script><script type=module>import 'a'; import {d} from 'b/d.js'; import 'no';"
            "import * as e from 'b/c/e.js'</script>",
            [("x.js", "REQUISITE"), ("b/d.js", "REQUISITE"), ("c/e.js", "REQUISITE")],
        ),
        (
            "<script type=module>x = () => import('./x.js'); new URL(`./y.js`, import.meta.url);"
            "new URL('./no.js', b); /** {import('./no.ts').Type} */ import('./no')</script>",
            [("x.js", "REQUISITE"), ("y.js", "REQUISITE")],
        ),
        ("<script type=module>new URL('x.js', import.meta.url)</script>", [("x.js", "REQUISITE")]),
        (
            "<script>new Worker('x.js');new SharedWorker(\"y.js\", {name: 'no'});"
            "new Worker(no);new Worker('data:,');newWorker('no')</script>",
            [("x.js", "REQUISITE"), ("y.js", "REQUISITE")],
        ),
        (
            "<script type=text/javascript>new Worker('x.js')</script>"
            "<script type=module>new Worker('y.js')</script>"
            "<script type=text/template>new Worker('no.js')</script>",
            [("x.js", "REQUISITE"), ("y.js", "REQUISITE")],
        ),
        ("<script type=importmap>[{</script><script type=importmap>[]</script>", []),
        (
            "<amp-img src=x srcset='y 2x'></amp-img><amp-video src=z poster=p></amp-video>"
            "<amp-audio src=a></amp-audio><amp-iframe src=f></amp-iframe><amp-anim src=n>",
            [
                *(("x", "IMAGE"), ("y", "IMAGE"), ("z", "REQUISITE"), ("p", "IMAGE")),
                *(("a", "REQUISITE"), ("f", "SHOWN"), ("n", "IMAGE")),
            ],
        ),
        ("<noframes><body><a href=x>1</a></noframes>", [("x", "PAGE")]),
        (
            "<applet codebase=c archive='x.jar, /y.jar'></applet><bgsound src=s><isindex action=i>",
            [
                ("c", "PAGE"),
                ("c/x.jar", "REQUISITE"),
                ("http://h.example/y.jar", "REQUISITE"),
                ("s", "REQUISITE"),
                ("i", "PAGE"),
            ],
        ),
        (
            "<object data=x codebase=c><param name=Movie value=y.swf><param name=no value=/no>"
            "<param name=src value=no><param name=z valuetype=ref value=z.x></object>",
            [("x", "REQUISITE"), ("c", "PAGE"), ("y.swf", "REQUISITE"), ("z.x", "REQUISITE")],
        ),
        (
            "<blockquote cite=x></blockquote><q cite=y></q><p cite=no><html xmlns='http://no/'>",
            [("x", "PAGE"), ("y", "PAGE")],
        ),
        ("<a href=javascript:x><a href=mailto:a@b><a href=data:,x><a href=tel:1><a>", []),
        (
            "<noscript><a href=x></noscript><template><a href=y></template>",
            [(n, "PAGE") for n in "xy"],
        ),
        ("<div><template shadowrootmode=open><a href=x></template></div>", [("x", "PAGE")]),
        # " " is not empty, and resolves to the page.
        (
            "<img src=''><link rel=stylesheet href=''><script src=' '></script>",
            [("page.html", "REQUISITE")],
        ),
    ],
)
def test_kinds_of_links(markup: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<img src=x data-src=/y>", [("x", "IMAGE"), ("/y", "IMAGE")]),
        ("<img data-srcset='y 1x, /z 2x'>", [("y", "IMAGE"), ("/z", "IMAGE")]),
        (
            "<img data-original=x.jpg data-lazy-srcset='y.jpg 9w'>",
            [("x.jpg", "IMAGE"), ("y.jpg", "IMAGE")],
        ),
        (
            "<iframe data-src=/x></iframe><video data-src=/y data-poster=/z></video>",
            [("/x", "SHOWN"), ("/y", "REQUISITE"), ("/z", "IMAGE")],
        ),
        (
            "<img src=x data-large_image=/y.jpg data-img-sm='//h.example/z.png?1' data-file=no.jpg"
            " data-name='/a b.png?{c}' data-page=/no.html><p data-thumb=/no.png>",
            [("x", "IMAGE"), ("/y.jpg", "IMAGE"), ("/z.png?1", "IMAGE")],
        ),
        (
            "<p data-bg-image='url(x)' data-lazy-background=y.png>",
            [("x", "IMAGE"), ("y.png", "IMAGE")],
        ),
        (
            "<div id=rustdoc-vars data-search-index-js=../x.js data-search-js=../y.js></div>",
            [("/y.js", "REQUISITE"), ("/x.js", "REQUISITE")],
        ),
        (
            "<div id=rustdoc-vars data-root-path=./ data-resource-suffix=1.63></div>",
            [("search1.63.js", "REQUISITE"), ("search-index1.63.js", "REQUISITE")],
        ),
        (
            "<meta name=rustdoc-vars data-root-path=../ data-static-root-path=/s/"
            " data-search-js=y-1.js data-resource-suffix=-2>",
            [("/s/y-1.js", "REQUISITE"), ("/search-index-2.js", "REQUISITE")],
        ),
        ("<source data-srcset=/x data-src=/y>", [("/y", "REQUISITE"), ("/x", "IMAGE")]),
        ("<div data-src=x.PNG?1></div><div data-src=/no.html></div>", [("x.PNG?1", "IMAGE")]),
        (
            "<div data-bg=x.gif><p data-bg='url(/y)'><p data-bgset='z.png 1x'>",
            [("x.gif", "IMAGE"), ("/y", "IMAGE"), ("z.png", "IMAGE")],
        ),
        # Switches, numbers, colours, templates and JSON.
        ("<img data-lazy=true data-original=1.5 data-src=no><p data-background=#fff>", []),
        (
            "<img data-src='/{width}/no.jpg'><img data-lazy='/{width}/no.jpg'>"
            "<img data-src='[\"/no.jpg\"]'>",
            [],
        ),
    ],
)
def test_links_of_lazy_loaders(markup: str, expected: list[tuple[str, str]]) -> None:
    found = [(url.removeprefix("http://h.example"), kind) for url, kind in kinds(markup)]
    assert found == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<form><button formaction=x>", ["x"]),
        (
            "<form><input type=submit formaction=x><input type=image src=y formaction=z>",
            ["x", "y", "z"],
        ),
        ("<form method=post><button formaction=no></form>", []),
        ("<form method=post><button formaction=x formmethod=GET></form>", ["x"]),
        ("<form><button formaction=no formmethod=post></form>", []),
        ("<form><button type=button formaction=no><input formaction=no></form>", []),
        ("<form id=f></form><form method=post><button form=f formaction=x></form>", ["x"]),
        ("<form id=f method=post></form><form><button form=f formaction=no></form>", []),
        ("<form method=post></form><form></form><button formaction=no>", []),
        ("<button formaction=no>", []),
        # The parser moves the second button out of the table, away from its form.
        (
            "<table><form><tr><td><button formaction=x></td><button formaction=y></table>",
            ["x", "y"],
        ),
    ],
)
def test_targets_of_buttons_count_if_their_form_uses_get(markup: str, expected: list[str]) -> None:
    assert sorted(url for url, _ in kinds(markup)) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<iframe srcdoc='<a href=x>1</a><img src=y>'></iframe>", [("x", "PAGE"), ("y", "IMAGE")]),
        ('<iframe src=x srcdoc="&lt;a href=&quot;y&quot;&gt;">', [("x", "SHOWN"), ("y", "PAGE")]),
        (
            "<iframe srcdoc='<base href=/z/><a href=x>'></iframe><a href=y>",
            [("http://h.example/z/x", "PAGE"), ("y", "PAGE")],
        ),
        ("<iframe srcdoc='<iframe srcdoc=&quot;<a href=x>&quot;>'></iframe>", [("x", "PAGE")]),
    ],
)
def test_links_of_a_document_within_an_attribute(
    markup: str, expected: list[tuple[str, str]]
) -> None:
    assert kinds(markup) == expected


def test_directives_of_a_document_within_an_attribute_are_not_those_of_the_page() -> None:
    parsed = read(page(b"<iframe srcdoc='<meta name=robots content=none>'></iframe>"), "x")
    assert (parsed.noindex, parsed.nofollow) == (False, False)


@pytest.mark.parametrize(
    "markup",
    [
        "<meta property=og:image content={}>",
        "<meta name=twitter:image content={}>",
        "<meta itemprop=image content={}>",
        '<script type=application/ld+json>{{"@graph": [{{"image": "{}"}}]}}</script>',
        '<script type=application/ld+json>{{"logo": {{"url": "{}", "width": 1}}}}</script>',
        '<script type=application/ld+json>{{"@type": "ImageObject", "contentUrl": "{}"}}</script>',
    ],
)
@pytest.mark.parametrize(
    ("reference", "counts"),
    [
        ("/x.png", True),
        ("http://h.example/x.png", True),
        ("https://www.H.example:8080/x", True),
        ("//h.example/x", True),
        ("http://cdn.example/x.png", False),
        ("//h.example.evil/x", False),
        ("none", False),
    ],
)
def test_images_of_metadata_count_on_the_same_site(
    markup: str, reference: str, counts: bool
) -> None:
    expected = [(resolve(reference, HERE), "IMAGE")] if counts else []
    assert [(resolve(url, HERE), kind) for url, kind in kinds(markup.format(reference))] == expected


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, '{"image": 1, "logo": null}', '{"name": "/x.png", "url": "/x.png"}'],
)
def test_other_json_has_no_images(text: str) -> None:
    assert kinds(f"<script type=application/ld+json>{text}</script>") == []


def test_a_file_with_the_addresses_of_tiles_is_a_requisite() -> None:
    name = "<meta name=msapplication-config content={}>"
    assert kinds(name.format("/t.xml")) == [("http://h.example/t.xml", "REQUISITE")]
    assert kinds(name.format("none")) == []


def test_every_url_once_in_order_of_appearance() -> None:
    body = b"<img src=b><a href=a><a href=./b><a href=a#x><a href=c><a href='#top'><a href='#x'>"
    assert links(body, HERE) == [f"http://h.example/{p}" for p in ("dir/b", "dir/a", "dir/c")] + [
        HERE
    ]
    assert kinds(body.decode())[0] == ("b", "SHOWN")


def test_a_repeated_link_is_still_read_for_its_style() -> None:
    markup = "<a href=x><a href=x#y style='background: url(z)'><a href=x background=b>"
    assert kinds(markup) == [("x", "PAGE"), ("z", "REQUISITE"), ("b", "IMAGE")]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "http://h.example/other/x"),
        ("//o.example", "http://o.example/x"),
        ("data:,x", "http://h.example/dir/x"),
        ("javascript:x", "http://h.example/dir/x"),
        ("http://[", "http://h.example/dir/x"),
        ("", "http://h.example/dir/x"),
    ],
)
def test_base_counts_for_the_whole_document(base: str, expected: str) -> None:
    markup = f"<a href=x></a><base target=_top><base href='{base}'><base href=/no/>"
    assert links(markup.encode(), HERE) == [expected]


def test_nofollow_holds_unless_the_page_endorses_the_link_elsewhere() -> None:
    body = (
        b"<a rel='NoFollow' href=a><a rel='ugc' href=b><a rel=sponsored href=c><a href=d>"
        b"<a rel=nofollow href=e><a href=e><a href=f><a rel=nofollow href=f>"
        b"<img src=g><a rel=nofollow href=g>"
    )
    found = {link.url[-1]: link.nofollow for link in read(page(body), "x").links}
    assert found == {"a": True, "b": True, "c": True, "d": False, "e": False, "f": False, "g": True}


@pytest.mark.parametrize(
    ("markup", "agent", "expected"),
    [
        ("<meta name=robots content='noindex'>", "larbinpy", (True, False)),
        ("<meta name=ROBOTS content='index, NoFollow'>", "larbinpy", (False, True)),
        ("<meta name=robots content=none>", "larbinpy", (True, True)),
        ("<meta name=larbinpy content=none>", "Larbinpy/1.0 (+http://x)", (True, True)),
        ("<meta name=otherbot content=none>", "larbinpy", (False, False)),
        ("<meta name='' content=none>", "", (False, False)),
        ("<meta name=description content=none>", "larbinpy", (False, False)),
    ],
)
def test_meta_robots(markup: str, agent: str, expected: tuple[bool, bool]) -> None:
    parsed = read(page(markup.encode()), agent)
    assert (parsed.noindex, parsed.nofollow) == expected


def test_links_of_one_page_are_bounded() -> None:
    body = b"".join(b"<a href=%d>" % number for number in range(MAX_LINKS + 10))
    assert len(links(body, HERE)) == MAX_LINKS


def test_long_runs_are_shortened_without_losing_links() -> None:
    data = b"<img src='data:,%s'><a href=x>" % (b"a" * 600_000)
    script = b"<script>%s</script><a href=y>" % (b"f();" * 200_000)
    assert [url[-1] for url in links(data + script, HERE)] == ["x", "y"]


_SAMPLE = """<html><head><title>Проба</title><link rel=next href="/далее"></head><body>
<a href="один">1</a> <a href="two?x=1&amp;y=2">2</a> <img src="/три.png">
<iframe src="four"></iframe>
<p>Съешь же ещё этих мягких французских булок</p><a href="http://другой.example/пять">5</a>"""


@pytest.mark.parametrize("label", [None, "utf-8", "iso-8859-1", "windows-1251", "gbk", "gb2312"])
def test_second_opinion_on_labelled_pages(label: str | None) -> None:
    """A page with a wrong label has the links that lxml finds with the right one."""
    declared = f"<meta charset={label}>" if label else ""
    body = (declared + _SAMPLE).encode()
    expected = _ascii(_second_opinion(body))
    assert len(expected) == 2
    assert expected <= set(links(body, HERE))
    if label in (None, "utf-8"):
        assert _second_opinion(body) == set(links(body, HERE))


def test_second_opinion_on_the_python_documentation() -> None:
    if not PYTHON_DOC.is_dir():
        pytest.skip("python3-doc is not installed")
    files = sorted(PYTHON_DOC.glob("**/*.html"))[::12]
    assert len(files) > 20
    for file in files:
        body = file.read_bytes()
        missing = _second_opinion(body) - set(links(body, HERE))
        assert missing == set(), file


def _second_opinion(body: bytes) -> set[str]:
    tree = html.fromstring(body, parser=html.HTMLParser(encoding="utf-8", huge_tree=True))
    found: Any = tree.xpath("//a/@href | //link/@href | //img/@src | //script/@src | //iframe/@src")
    return {url for reference in found if (url := resolve(reference, HERE)) is not None}


def _ascii(urls: set[str]) -> set[str]:
    return {url for url in urls if "%" not in url and "xn--" not in url}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            "import {a as e} from'./x.js';export * from \"../y.js\"\nimport z from 'bare'",
            "dir/x.js y.js",
        ),
        ("a.import '/x.js';$import'/y.js';// import\nfoo('./z.js')", ""),
        ("import('./x.js');import.meta.url;'./y.js';let exports = './z.js'", "dir/x.js"),
        ("import/**/ './x.js'", ""),
        ("importScripts('x.js', '/y.js');importScripts(no)", "dir/x.js y.js"),
        ("export {a,b}from\n'/x.js';import d,{c}from'./y.mjs'", "x.js dir/y.mjs"),
        (
            "function l(doc, tag) {createElem(doc, tag, 'x.js'); createElem(doc, tag, '/y.js')}",
            "dir/x.js",
        ),
    ],
)
def test_what_a_script_needs(script: str, expected: str) -> None:
    for type_ in ("text/javascript", "application/javascript; charset=utf-8"):
        made = page(script.encode(), type_)
        found = [link.url.removeprefix("http://h.example/") for link in read(made, "x").links]
        assert found == expected.split()


def test_a_worker_is_relative_to_the_page_of_its_script() -> None:
    made = page(b"new Worker('x.js');new Worker('/y.js')", "text/javascript")
    made.url = replace(made.url, via="http://h.example/a/page")
    found = [link.url for link in read(made, "x").links]
    assert found == ["http://h.example/a/x.js", "http://h.example/y.js"]


def test_a_hostile_script_takes_no_time() -> None:
    parts = ("import ", "import{", "import'", "export*", "importScripts(", "new Worker('")
    for part in parts:
        script = part * 200_000
        began = time.process_time()
        read(page(script.encode(), "text/javascript"), "x")
        assert time.process_time() - began < 2


@pytest.mark.parametrize("checking", [False, True])
def test_links_keep_the_spelling_of_their_page(checking: bool) -> None:
    """Some servers tell %d0 from %D0; here they are one resource."""
    body = b"""<a href="/n/%d0%bf">a</a><a href="/n/%D0%BF">b</a><a href="/%7Eu?">c</a>
        <a href="/x?q=%c3%a9#%aa">d</a><a href="/%D0?a=%5B">e</a><a href="/plain">f</a>"""
    parsed = read(page(body), "larbinpy", checking=checking)
    assert parsed.spellings == {
        "http://h.example/n/%D0%BF": "http://h.example/n/%d0%bf",
        "http://h.example/~u": "http://h.example/%7Eu?",
        "http://h.example/x?q=%C3%A9": "http://h.example/x?q=%c3%a9",
    }
    assert len(parsed.links) == 5


@pytest.mark.parametrize("checking", [False, True])
def test_links_continue_the_spelling_of_their_page(checking: bool) -> None:
    url = Url("http://h.example/%D0/", 5, spelling="http://h.example/%d0/")
    found = Page(url, Outcome.SUCCESS, 200, [("content-type", "text/html")], b"<a href=x>x</a>")
    parsed = read(found, "larbinpy", checking=checking)
    assert parsed.spellings == {"http://h.example/%D0/x": "http://h.example/%d0/x"}
    assert [link.url for link in parsed.links] == ["http://h.example/%D0/x"]
