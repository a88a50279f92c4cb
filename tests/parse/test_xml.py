"""XML, sitemaps, feeds and manifests, and which reader a body goes to."""

import gzip
import json
import zlib

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.parse import MAX_LINKS, Parsed, is_sitemap, links, read, read_in_steps
from larbinpy.parse.xml import MAX_DECODED, chunked, gunzip, mended
from larbinpy.url import GUESS, Purpose, Url
from larbinpy.url import SITEMAP as SITEMAP_PURPOSE

HERE = "http://h.example/dir/doc"


def parsed(body: str | bytes, type_: str, url: str = HERE) -> Parsed:
    if isinstance(body, str):
        body = body.encode()
    return read(
        Page(Url(url, 5), Outcome.SUCCESS, 200, [("content-type", type_)], body), "larbinpy"
    )


def found(
    body: str | bytes, type_: str = "application/xml", url: str = HERE
) -> list[tuple[str, str]]:
    """URLs, without the host, and the names of their kinds."""
    links = parsed(body, type_, url).links
    return [(link.url.removeprefix("http://h.example/"), link.kind.name) for link in links]


SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url><loc> http://h.example/a?x=1&amp;y=2
</loc><xhtml:link rel="alternate" hreflang="de" href="http://h.example/de"/>
<image:image><image:loc>http://h.example/i.png</image:loc></image:image></url>
<url><loc>http://h.example/b</loc><lastmod>2020-01-01</lastmod></url></urlset>"""
IN_SITEMAP = [("a?x=1&y=2", "PAGE"), ("de", "PAGE"), ("i.png", "IMAGE"), ("b", "PAGE")]


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (SITEMAP, "application/xml"),
        (SITEMAP, "text/xml"),
        (SITEMAP, "text/html"),
        (SITEMAP, ""),
        (SITEMAP, "application/octet-stream"),
        ("\ufeff\n" + SITEMAP, "application/xml"),
        (SITEMAP.replace("&amp;", "&"), "application/xml"),
        (SITEMAP.replace("UTF-8", "utf-16"), "application/xml"),
        (SITEMAP.replace("UTF-8", "no-such"), "application/xml"),
        (SITEMAP.replace("UTF-8", "utf-16").encode("utf-16"), "application/xml"),
        (SITEMAP, "application/xml; charset=utf-16"),
        (SITEMAP.partition("\n")[2], "application/xml; charset=iso-8859-5"),
        (gzip.compress(SITEMAP.encode()), "application/x-gzip"),
        (gzip.compress(SITEMAP.encode()), "application/octet-stream"),
        (gzip.compress(SITEMAP.encode()), "text/xml"),
    ],
)
def test_sitemap_however_it_is_labelled(body: str | bytes, type_: str) -> None:
    assert found(body, type_) == IN_SITEMAP


def test_sitemap_index() -> None:
    body = "<sitemapindex><sitemap><loc>http://h.example/s.xml.gz</loc></sitemap></sitemapindex>"
    assert found(body) == [("s.xml.gz", "PAGE")]


def test_text_sitemap() -> None:
    body = "http://h.example/a\nnonsense\nhttp://h.example/b\r\n"
    assert found(body, "text/plain", "http://h.example/Sitemap.txt") == [
        ("a", "PAGE"),
        ("b", "PAGE"),
    ]
    assert found(body, "text/plain") == []
    assert found(SITEMAP, "text/plain", "http://h.example/sitemap.xml") == IN_SITEMAP
    assert found(SITEMAP, "text/plain") == []


def in_named(body: str | bytes, type_: str, purpose: Purpose = SITEMAP_PURPOSE) -> list[str]:
    """The URLs in what robots.txt names as a sitemap."""
    data = body.encode() if isinstance(body, str) else body
    url = Url(HERE, 5, purpose=purpose)
    page = Page(url, Outcome.SUCCESS, 200, [("content-type", type_)], data)
    assert not page.body or is_sitemap(page) or type_ == "text/html"
    return [link.url.removeprefix("http://h.example/") for link in read(page, "larbinpy").links]


WARNING = "<br />\n<b>Warning</b>: include() in <b>/x.php</b> on line <b>3</b><br />\n"
LIST = "http://h.example/a\nhttp://h.example/b?x=1\n"
TYPES = [
    *("binary/octet-stream", "gzip", "application/x-gzip", "application/x-gzip-compressed"),
    *("text/plain", "text/html; charset=utf-8", "application/x-xml", "text/xml, application/xml"),
    *("", "application/json", "application/octet-stream", "application/pdf"),
]


@pytest.mark.parametrize("type_", TYPES)
def test_what_is_named_as_a_sitemap_is_read_by_its_bytes(type_: str) -> None:
    in_sitemap = [url for url, _ in IN_SITEMAP]
    for pack in (bytes, gzip.compress, lambda body: gzip.compress(gzip.compress(body))):
        assert in_named(pack(SITEMAP.encode()), type_) == in_sitemap
        assert in_named(pack(LIST.encode()), type_) == ["a", "b?x=1"]


@pytest.mark.parametrize(
    "body",
    [
        "\n\n \t" + SITEMAP,
        "\ufeff\r\n" + SITEMAP,
        WARNING + SITEMAP,
        "<!-- made by hand -->\n" + SITEMAP.partition("\n")[2],
        SITEMAP.encode("utf-16"),
    ],
)
def test_what_precedes_a_sitemap_does_not_hide_it(body: str | bytes) -> None:
    in_sitemap = [url for url, _ in IN_SITEMAP]
    assert in_named(body, "text/html") == in_named(body, "text/plain") == in_sitemap


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        ("<s:urlset xmlns:s='x'><s:url><s:loc>/a</s:loc></s:url></s:urlset>", ["a"]),
        ("<urlset xmlns='https://wrong'><url><loc>/a</loc></url></urlset>", ["a"]),
        ("<urlset><url> http://h.example/a?x&amp;y </url><url>no</url></urlset>", ["a?x&y"]),
        ("<sitemapindex><sitemap>\nhttp://h.example/s?a=1\n</sitemap></sitemapindex>", ["s?a=1"]),
        ("\ufeffhttp://h.example/a\r\n  http://h.example/b\r\n", ["a", "b"]),
        ("HTTP://h.example/a\n# more\n\nHttps://h.example/b", ["a", "https://h.example/b"]),
    ],
)
def test_sitemaps_as_they_are_written(body: str, urls: list[str]) -> None:
    assert in_named(body, "application/octet-stream") == urls
    assert in_named(body, "text/plain", GUESS) == urls


def test_a_page_that_is_named_as_a_sitemap_is_a_page() -> None:
    assert in_named("<title>map</title><a href=/a>a</a> http://h.example/b", "text/html") == ["a"]


def test_links_reads_declared_xml() -> None:
    urls = ["a?x=1&y=2", "de", "i.png", "b"]
    expected = [f"http://h.example/{url}" for url in urls]
    assert links(SITEMAP.encode(), HERE) == expected
    assert links(gzip.compress(SITEMAP.encode()), HERE) == expected


def test_rss() -> None:
    body = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
      xmlns:media="http://search.yahoo.com/mrss/"><channel><link>http://h.example/</link>
      <atom:link rel="self" href="http://h.example/rss"/>
      <image><url>http://h.example/logo.png</url><link>http://h.example/</link></image>
      <item><link>/relative</link><guid>http://h.example/guid</guid>
      <guid isPermaLink="false">http://h.example/no</guid><guid>no-url</guid>
      <comments>http://h.example/talk</comments>
      <enclosure url="http://h.example/a.mp3" type="audio/mpeg"/>
      <media:content url="/m.jpg" medium="image"/><media:thumbnail url="/t.jpg"/></item>
      </channel></rss>"""
    assert found(body, "application/rss+xml") == [
        ("", "PAGE"),
        ("rss", "PAGE"),
        ("logo.png", "IMAGE"),
        ("relative", "PAGE"),
        ("guid", "PAGE"),
        ("talk", "PAGE"),
        ("a.mp3", "REQUISITE"),
        ("m.jpg", "IMAGE"),
        ("t.jpg", "IMAGE"),
    ]


def test_atom() -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><logo>l.png</logo>
      <id>http://h.example/no</id><link href="x"/><link rel="enclosure" href="x.mp3"/>
      <entry xml:base="one/"><link rel="alternate nofollow" href="y"/><content src="z"/></entry>
      </feed>"""
    assert found(body, "application/atom+xml") == [
        ("blog/l.png", "IMAGE"),
        ("blog/x", "PAGE"),
        ("blog/x.mp3", "REQUISITE"),
        ("blog/one/y", "PAGE"),
        ("blog/one/z", "PAGE"),
    ]
    assert [link.nofollow for link in parsed(body, "application/atom+xml").links][3]


XHTML = """<?xml version="1.0"?><?xml-stylesheet href="/s.css"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
 "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:x="http://www.w3.org/1999/xlink"><head>
<base href="/b/"/><script src="s.js"/><style>@import "i.css";</style></head><body>
<a href="x">&nbsp;</a><svg xmlns="http://www.w3.org/2000/svg"><a x:href="y"/>
<image x:href="z"/><use x:href="#here"/></svg><p style="a:url(p)"/></body></html>"""
IN_XHTML = [
    ("s.css", "SHEET"),
    ("b/s.js", "REQUISITE"),
    ("b/i.css", "SHEET"),
    ("b/x", "PAGE"),
    ("b/y", "PAGE"),
    ("b/z", "IMAGE"),
    ("b/p", "REQUISITE"),
]


def test_xhtml() -> None:
    assert found(XHTML, "application/xhtml+xml") == IN_XHTML


def test_xhtml_with_a_fault_is_read_as_html() -> None:
    body = "<html xmlns='http://www.w3.org/1999/xhtml'><a href=x>y<br><a href='z'></html>"
    assert found(body, "application/xhtml+xml") == [("dir/x", "PAGE"), ("dir/z", "PAGE")]


def test_svg() -> None:
    body = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
      <style><![CDATA[a{b:url(c.png)}]]></style><a xlink:href="x"/><image href="y"/></svg>"""
    expected = [("dir/c.png", "REQUISITE"), ("dir/x", "PAGE"), ("dir/y", "IMAGE")]
    assert found(body, "image/svg+xml") == expected


def test_manifest() -> None:
    body = json.dumps(
        {
            "start_url": "/start",
            "icons": [{"src": "i.png"}, {"src": 5}, "x"],
            "screenshots": {"src": "no"},
            "shortcuts": [{"url": "/cut", "icons": [{"src": "c.png"}]}],
            "serviceworker": {"src": "w.js"},
        }
    )
    expected = [
        ("start", "PAGE"),
        ("dir/i.png", "IMAGE"),
        ("cut", "PAGE"),
        ("dir/c.png", "IMAGE"),
        ("dir/w.js", "REQUISITE"),
    ]
    assert found(body, "application/manifest+json") == expected
    assert found(body, "application/json") == []
    in_root = found(body, "application/json", "http://h.example/dir/manifest.json")
    assert in_root == expected


@pytest.mark.parametrize(
    ("body", "type_", "expected"),
    [
        ("a{b:url(x)}", "text/css", [("dir/x", "REQUISITE")]),
        ("<p><a href=x>", "", [("dir/x", "PAGE")]),
        ("<!DOCTYPE html><a href=x>", "application/octet-stream", [("dir/x", "PAGE")]),
        ("hello <a href=x>", "", []),
        ("<a href=x>", "text/plain", []),
        ("<a href=x>", "image/png", []),
        ("<a href=x>", "application/pdf", []),
    ],
)
def test_types(body: str, type_: str, expected: list[tuple[str, str]]) -> None:
    assert found(body, type_) == expected


def test_charset_is_reported() -> None:
    assert parsed("<p>é", "text/html").charset == "UTF-8"
    assert parsed("<p>", "text/html; charset=koi8-r").charset == "KOI8-R"
    assert parsed(SITEMAP, "text/xml").charset == "UTF-8"
    assert parsed("x", "image/png").charset is None


def test_long_sitemaps_end_at_the_protocols_limit() -> None:
    entries = "".join(f"<url><loc>http://h.example/{n}</loc></url>" for n in range(MAX_LINKS + 9))
    found = parsed(f"<urlset>{entries}</urlset>", "text/xml")
    assert (len(found.links), found.cut) == (MAX_LINKS, "only its first 50,000 URLs")
    entries = entries.rpartition("<url>")[0]
    for _ in range(8):
        entries = entries.rpartition("<url>")[0]
    found = parsed(f"<urlset>{entries}</urlset>", "text/xml")
    assert (len(found.links), found.cut) == (MAX_LINKS, "")


def test_gunzip_joins_members_and_reads_up_to_a_fault() -> None:
    whole = gzip.compress(b"one") + gzip.compress(b"two")
    cuts: list[str] = []
    for size in (1, 7, 1000):
        for after in (b"", bytes(9), b"\n", b"\x1fjunk"):
            packed = whole + after
            pieces = [packed[n : n + size] for n in range(0, len(packed), size)]
            assert b"".join(gunzip(pieces, cuts.append)) == b"onetwo"
    assert cuts == []
    assert b"".join(gunzip([gzip.compress(b"x" * 99)[:-9]], cuts.append)).startswith(b"x")
    assert b"".join(gunzip([b"\x1f\x8b\x08junk"], cuts.append)) == b""
    assert list(gunzip([whole, b"\x1f\x8b\x08junk"], cuts.append)) == [b"one", b"two"]
    assert cuts == ["its gzip file ends too early", *["its gzip file is damaged"] * 2]


def test_gunzip_reads_a_thousand_members() -> None:
    cuts: list[str] = []
    member = gzip.compress(b"x")
    assert b"".join(gunzip([member * 1000], cuts.append)) == b"x" * 1000
    assert cuts == []
    assert b"".join(gunzip([member * 1001], cuts.append)) == b"x" * 1000
    assert cuts == ["only its first 1,000 bytes, unpacked"]


def test_ampersands_are_mended_up_to_a_bound() -> None:
    """Each costs a copy; no honest feed has more."""
    text = b"&amp; & &lt; &#38; &#x26; &copy; "
    assert mended(text) == b"&#38; &#38; &lt; &#38; &#x26; &copy; "
    assert mended(b"<x>" + b"& " * 100_010).count(b"&#38;") == 100_000


def test_gunzip_ends_at_its_limit() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(60)) + packer.flush()
    cuts: list[str] = []
    assert sum(map(len, gunzip(chunked(bomb), cuts.append))) == MAX_DECODED
    assert cuts == ["only its first 52,428,800 bytes, unpacked"]


def test_ampersands_are_mended_across_chunks() -> None:
    path = "x" * (65536 - 34)
    for shift in range(12):
        address = f"http://h.example/{path[shift:]}?a&b&amp;c"
        body = f"<urlset><url><loc>{address}</loc></url><url><loc>http://h.example/end</loc></url>"
        assert found(f"{body}</urlset>")[-1] == ("end", "PAGE")
    short = "<urlset><loc>http://h.example/?a&b&amp;c&copy=1</loc></urlset>"
    assert found(short) == [("?a&b&c&copy=1", "PAGE")]


def test_an_ampersand_in_cdata_is_one() -> None:
    cdata = b"<x><![CDATA[a&b&amp;c]]>&<![CDATA[&"
    assert mended(cdata) == b"<x><![CDATA[a&b&amp;c]]>&#38;<![CDATA[&"
    link = "<item><link><![CDATA[ http://h.example/?a&copy=1 ]]></link></item>"
    assert found(f"<rss><channel>{link}</channel></rss>") == [("?a&copy=1", "PAGE")]


def test_cdata_is_known_across_chunks() -> None:
    first, second = "http://h.example/?a&b", "http://h.example/?c&amp;d"
    marked = f"<loc><![CDATA[{first}]]></loc></url><url><loc>{second}"
    for shift in range(len(marked)):
        filler = "x" * (65536 - len("<urlset><!----><url>") - shift)
        body = f"<urlset><!--{filler}--><url>{marked}</loc></url></urlset>"
        assert found(body) == [("?a&b", "PAGE"), ("?c&d", "PAGE")], shift


def test_a_transformation_includes_others() -> None:
    body = (
        '<xsl:transform xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:include href="i"/>'
        '<xsl:import href="/j"/><img src="{@x}"/><img src="/{@y}"/><img src="here"/>'
        '<link rel="stylesheet" href="/s"/></xsl:transform>'
    )
    expected = [("dir/i", "REQUISITE"), ("j", "REQUISITE"), ("s", "SHEET")]
    for type_ in ("text/xsl", "application/xslt+xml", "text/xml"):
        assert found(body, type_) == expected
    page = "<?xml-stylesheet type='text/xsl' href='x'?><?xml-stylesheet href='y'?><doc/>"
    sheets = {("dir/x", "REQUISITE"), ("dir/y", "SHEET")}
    assert set(found(page, "application/xml")) == sheets


@pytest.mark.parametrize("half", ["&#xd800;", "&#57343;"])
@pytest.mark.parametrize(
    "text",
    [
        "<svg xmlns='http://www.w3.org/2000/svg'><a href='{}'/><a href='/b'/></svg>",
        "<html xmlns='http://www.w3.org/1999/xhtml'><base href='{}'/><a href='/b'/></html>",
        "<?xml-stylesheet href='{}'?><svg xmlns='http://www.w3.org/2000/svg'><a href='/b'/></svg>",
        "<rss><channel><link>http://h.example/{}</link><link>http://h.example/b</link>"
        "</channel></rss>",
    ],
)
def test_half_a_surrogate_pair_is_no_link(text: str, half: str) -> None:
    assert ("b", "PAGE") in found(text.format(half))


@pytest.mark.parametrize("type_", ["text/html", "application/xhtml+xml", ""])
def test_half_a_surrogate_pair_is_no_namespace(type_: str) -> None:
    body = '<?xml version="1.0"?><html xmlns="&#xD800;http://x.test/"><a href="/a">a</a></html>'
    page = Page(Url("http://a.test/", 0), Outcome.SUCCESS, 200, [("content-type", type_)])
    page.body = body.encode()
    found = [link.url for link in read(page, "").links]
    assert found == (["http://a.test/a"] if type_ != "application/xhtml+xml" else [])


def entries(first: int, last: int) -> str:
    return "".join(f"<url><loc>http://h.example/{n}</loc></url>" for n in range(first, last))


@pytest.mark.parametrize("cut_at", [70_000, 131_072])
@pytest.mark.parametrize("kind", ["text/xml", "text/html", "", "application/gzip", "text/plain"])
def test_what_follows_the_body_of_a_long_sitemap_is_read(kind: str, cut_at: int) -> None:
    body = f"<urlset>{entries(0, 9000)}</urlset>".encode()
    if kind == "text/plain":
        body = "".join(f"http://h.example/{n}\n" for n in range(9000)).encode()
    if kind == "application/gzip":
        body = gzip.compress(body)
        cut_at //= 10
    found = read(
        Page(
            Url("http://h.example/sitemap", 1),
            Outcome.SUCCESS,
            200,
            [("content-type", kind)],
            body[:cut_at],
            rest=zlib.compress(body[cut_at:]),
        ),
        "",
    )
    assert [link.url for link in found.links] == [f"http://h.example/{n}" for n in range(9000)]
    assert found.cut == ""


def test_a_long_sitemap_is_read_in_steps() -> None:
    page = Page(
        Url("http://h.example/sitemap", 1),
        Outcome.SUCCESS,
        200,
        [("content-type", "text/xml")],
        f"<urlset>{entries(0, 9000)}</urlset>".encode(),
    )
    steps = sum(1 for _ in read_in_steps(page, ""))
    assert steps == -(-len(page.body) // 65536) > 5
    # Also where it has no URL.
    page.body = page.body.replace(b"</urlset>", b"<x>nothing</x>" * 60_000 + b"</urlset>")
    assert sum(1 for _ in read_in_steps(page, "")) == -(-len(page.body) // 65536) > steps + 9


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            gzip.compress(b"<urlset>" + b"<url><loc>http://h.example/</loc></url>" * 9, mtime=0)[
                :-9
            ],
            "early",
        ),
        (gzip.compress(b"<urlset></urlset>", mtime=0) + b"\x1f\x8b\x08\xff\xff", "damaged"),
        (b"<urlset><url><loc>http://h.example/</loc></url><url><lo", "ends too early"),
        (b"<urlset>" + b"<x>nothing</x>" * 90_000 + b"</urlset>", "hardly any URL"),
    ],
)
def test_a_sitemap_that_is_read_in_part_says_why(body: bytes, why: str) -> None:
    assert why in parsed(body, "text/xml").cut
