"""`larbinpy.database.content.read` of HTML pages."""

import json

import pytest
import turbohtml

from larbinpy.database.content import Image, Outlink, read
from larbinpy.database.content.html import markdown, read_html
from tests.support.contents import AT, content, page


def test_a_page_says_what_it_is() -> None:
    fact = {
        "@type": "NewsArticle",
        "author": {"name": "A. Writer"},
        "datePublished": "2026-06-13T08:00:00+02:00",
        "commentCount": 7,
    }
    found = content(
        f"""<html lang=en-GB><head><title>One thing | Example</title>
        <meta property=og:site_name content=Example><meta name=description content="It  is\x01 so.">
        <meta property=og:image content=/i.png><link rel=canonical href=/canonical>
        <meta property=article:modified_time content=2026-07-01>
        <script type=application/ld+json>{json.dumps(fact)}</script></head>
        <body><article><h1>One thing<a href=#one>\u00b6</a></h1><p>Text of it.
        <img src=a.png alt="A  picture"><img src=c.gif width=1 height=1>
        <h2>Two <svg><title>Icon</title></svg></h2></article>"""
    )
    assert found.title == "One thing"
    assert found.headings == ["One thing | Example", "One thing", "Two"]
    assert (found.site_name, found.summary, found.author) == ("Example", "It is so.", "A. Writer")
    assert found.image == "http://www.example.test/i.png"
    assert found.canonical == "http://www.example.test/canonical"
    assert (found.published, found.modified) == ("2026-06-13T08:00:00+02:00", "2026-07-01")
    assert (found.comments, found.clicks, found.lang) == (7, None, "en")
    assert found.images == [Image("http://www.example.test/a/a.png", "A picture")]
    assert found.facts == [fact]
    assert "Text of it." in found.text
    assert not found.noindex
    assert not found.trouble


def test_the_first_canonical_counts() -> None:
    found = content("<link rel=canonical href=/one><link rel=canonical href=/two>")
    assert found.canonical == "http://www.example.test/one"


def test_links_and_elements_declare_what_meta_does_not() -> None:
    about = "<link rel=image_src href=/i.png>"
    for author in ("<a rel=author href=/w>A. Writer</a>", "<b itemprop=author>A. Writer</b>"):
        found = content(f"{about}<h1>One</h1><p>Text of it. {author}")
        assert (found.image, found.author) == ("http://www.example.test/i.png", "A. Writer")
    more = "<meta property=og:image content=/og.png><meta name=author content='W. Idget'>"
    found = content(f"{about}{more}<p>Text of it. <a rel=author href=/w>A. Writer</a>")
    assert (found.image, found.author) == ("http://www.example.test/og.png", "W. Idget")


def test_a_page_may_be_dated_of_tomorrow() -> None:
    """Where it comes from, the day has begun; AT is of the 21st."""
    markup = "<meta name=date content=2026-09-{}>"
    assert content(markup.format(22)).published == "2026-09-22"
    assert content(markup.format(23)).published is None


def test_images_that_come_late() -> None:
    """Where there is no `src`; a template is no address."""
    found = content(
        """<article><h1>One</h1><p>Text of it, which is long enough to be the main one.
        <img data-src=b.png><img src="data:image/gif;base64,R0" data-original=/c.png>
        <img data-src="{{path}}/d.jpg"><img data-src="{{path}}/e.jpg" data-lazy-src=e.jpg>
        <img data-lazy-src=on></article>"""
    )
    names = [image.url.removeprefix("http://www.example.test/") for image in found.images]
    assert names == ["a/b.png", "c.png", "a/e.jpg"]


def test_two_hundred_images_are_listed_each_once() -> None:
    images = "".join(f"<img src={number % 250}.png>" for number in range(500))
    found = content(f"<main><h1>Title</h1><p>Text. {images}</main>")
    here = "http://www.example.test/a"
    assert found.images == [Image(f"{here}/{number}.png", "") for number in range(200)]


def test_an_image_is_no_heading() -> None:
    found = content("<main><h1>Title</h1><p>Text. <img src=a.png alt='A picture'></main>")
    assert found.headings == ["Title"]


@pytest.mark.parametrize(
    ("title", "headings"),
    [
        ("Title", ["Title", "Two"]),
        ("title", ["Title", "Two"]),
        ("Title - Example", ["Title - Example", "Title", "Two"]),
    ],
)
def test_a_title_with_other_words_is_a_heading(title: str, headings: list[str]) -> None:
    found = content(f"<title>{title}</title><main><h1>Title</h1><h2>Two</h2><p>Text.</main>")
    assert found.headings == headings


@pytest.mark.parametrize(("links", "is_resolved"), [(16, True), (17, False)])
def test_links_of_markdown_are_resolved_to_sixteen_megabytes(links: int, is_resolved: bool) -> None:
    """The base has one."""
    base = "http://www.example.test/".ljust(1 << 20, "a")
    node = turbohtml.parse("<p>" + "<a href=/x>one</a> " * links)
    href = "http://www.example.test/x" if is_resolved else "/x"
    assert markdown(node, base) == " ".join([f"[one]({href})"] * links)


def test_links_have_anchors() -> None:
    found = content(
        """<base href=/b/><a href=one rel="NoFollow x">The  <b>one</b></a><a href=#below>below</a>
        <a href=two><img src=x alt="Picture of two"></a><a href=three title=Three></a>
        <a href=http://www.example.test/a/page>self</a><a href=mailto:x@y.test>mail</a>
        <a href=one#part rel="nofollow x">The one</a><map><area href=four alt=Four></map>"""
    )
    start = "http://www.example.test/b/"
    assert found.links == [
        Outlink(start + "one", "The one", "nofollow x"),
        Outlink(start + "two", "Picture of two", ""),
        Outlink(start + "three", "Three", ""),
        Outlink(start + "four", "Four", ""),
    ]


def test_links_are_bounded() -> None:
    found = content("".join(f"<a href=/{n}>{n}" for n in range(5000)))
    assert len(found.links) == 2000
    base = "http://www.example.test/" + "x" * 7000 + "/"
    found = content(f"<base href={base}>" + "".join(f"<a href={n}>{n}" for n in range(5000)))
    assert sum(len(link.url) for link in found.links) < 1 << 20


def test_pages_may_ask_not_to_be_indexed() -> None:
    assert content("<meta name=robots content='noindex, follow'>").noindex
    asking = page("<p>x")
    asking.headers.append(("x-robots-tag", "otherbot: noindex"))
    assert not read(asking, AT).noindex
    asking.headers.append(("x-robots-tag", "noindex"))
    assert read(asking, AT).noindex


@pytest.mark.parametrize("header", ["nofollow", "otherbot: noindex", "all"])
def test_a_header_does_not_take_back_what_the_page_asks(header: str) -> None:
    asking = page("<meta name=robots content=noindex>")
    asking.headers.append(("x-robots-tag", header))
    assert read(asking, AT).noindex


def test_wrong_labels_do_not_matter() -> None:
    title = "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"
    found = content(f"<title>{title}</title>".encode("utf-16le"))
    assert (found.title, found.charset) == (
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
        "UTF-16LE",
    )


def test_long_texts_are_cut() -> None:
    for text in ("word " * 400_000, ("<p>" + "word " * 100) * 5000):
        found = content("<title>t</title><main><p>" + text)
        assert len(found.text) <= 1 << 20
        assert "cut" in found.trouble


def test_pages_that_were_cut_say_so() -> None:
    fetched = page("<p>The beginning")
    fetched.truncated = "length"
    assert read(fetched, AT).trouble == "only its beginning was fetched"
    damaged = page(b"%PDF-1.4 and no more", "application/pdf")
    damaged.truncated = "length"
    assert read(damaged, AT).trouble == "damaged PDF"


def test_hidden_words_are_no_title() -> None:
    found = content("<title>Font</title><h1><span hidden>Characters</span><span>Font</span></h1>")
    assert found.title == "Font"


def test_signs_of_permalinks_are_no_text() -> None:
    found = content(
        """<title>json</title><main role=main><h1>json: a format<a class=headerlink href=#json>¶</a>
        </h1><h2 id=b><a class=anchor href=#b>§</a>Basic</h2><p>Use <a href=#x>#</a> it.</p>
        <section id=navigation><h3>Navigation<a href=#navigation> # </a></h3><p>Keys of C#.</p>
        </section><p><a href=/post>¶</a> <a href=/csharp>C#</a>"""
    )
    assert found.title == "json: a format"
    assert found.headings == ["json: a format", "Basic", "Navigation"]
    expected = "json: a format\nBasic\nUse it.\nNavigation\nKeys of C#.\nC#"
    assert (found.text, found.rest) == (expected, "")
    assert [link.anchor for link in found.links] == ["C#"]


def test_icons_of_fonts_are_no_text() -> None:
    found = content("<title>\ue001 Home</title><p><i>\uf015</i> One \U000f0001two</p><nav>\ue002 M")
    assert (found.title, found.text, found.rest) == ("Home", "One two", "M")


@pytest.mark.parametrize(
    "markup",
    [
        "<div class=latest>by <a rel=author>Nora</a></div><h1>Lamp</h1><a rel=author>Ruth</a>",
        "<p>by <a rel=author>Nora</a></p><h1>Lamp</h1><p>by <a rel=author>Ruth</a></p>",
        "<b itemprop=author>Ruth</b><h1>Lamp</h1><b itemprop=author><a></a>Nora</b>",
        "<h1>Lamp</h1><b itemprop=author><a></a></b><a rel=author>Ruth</a>",
        "<h1>Lamp</h1><div id=comments><a rel=author>Ruth</a></div>",
    ],
)
def test_the_author_is_that_of_the_page_and_not_of_another_story(markup: str) -> None:
    assert content(markup).author == "Ruth"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<h2>Two</h2><p>A <b>bold</b> <a href='../x#y' title=T>link</a>.",
            "## Two\n\nA **bold** [link](http://a.test/x#y).",
        ),
        ("<ul><li>one<ul><li>in</ul><li>two</ul>", "- one\n  - in\n- two"),
        ("<ol><li>one<li>two</ol>", "1. one\n2. two"),
        ("<blockquote><p>said</blockquote>", "> said"),
        (
            "<table><tr><th>A<th>B<tr><td>1|2<td>x</table>",
            "| A | B |\n| --- | --- |\n| 1\\|2 | x |",
        ),
        ("<p><a href=/x><img src=i alt=No></a> Yes <a href='javascript:x()'>Go</a>", "Yes Go"),
        ("<p>a<b>b</b>c <code>&lt;em&gt;</code>", "a**b**c `<em>`"),
        (
            "<pre><code class='language-js'>let a;\n\n  b &lt;br&gt;</code></pre>",
            "```js\nlet a;\n\n  b <br>\n```",
        ),
        (
            "<div class='highlight-python3 notranslate'><pre><b>&gt;&gt;&gt; </b>x\n</pre></div>",
            "```python3\n>>> x\n```",
        ),
        ("<div class='highlight highlight-source-shell'><pre>ls</pre></div>", "```shell\nls\n```"),
        ("<pre data-lang=go>f</pre>", "```go\nf\n```"),
        ("<pre class='brush: sql;'>f</pre>", "```sql\nf\n```"),
        ("<div class='highlight-default'><pre>f</pre></div>", "```\nf\n```"),
        (
            "<a href=/x><h3>A <b>card</b></h3><p>Its text.</p></a>",
            "### [A **card**](http://a.test/x)\n\nIts text.",
        ),
        ("<h2></h2><p>One<h4><img src=i alt=No></h4>", "One"),
        ("<p>One<br>two<br><br>three", "One  \ntwo  \n\nthree"),
        ("<blockquote><p><br>One<br><br>two</blockquote>", ">\n> One  \n>\n> two"),
        ("<p>C:&bsol;<p>&bsol;", "C:\\\\\n\n\\\\"),
        (
            "<p>soft&shy;hyphen zero&#8203;width <code>a&shy;b</code>",
            "softhyphen zerowidth `a\xadb`",
        ),
        (
            "<p><span style='white-space:pre-wrap'>One </span><b style='white-space:pre'>two</b>",
            "One **two**",
        ),
        ("<ul><li><label><input type=checkbox checked> done</label></ul>", "- [x] done"),
        ("<div role=heading aria-level=3>Three</div><p>x", "### Three\n\nx"),
        ("<div role=heading>Two</div><p>x", "## Two\n\nx"),
        (
            "<table><tr><td><h2>Part</h2><p>One.</p><ul><li>two</ul></table>",
            "## Part\n\nOne.\n\n- two",
        ),
        ("<table><caption>Ships</caption><tr><th>A</table>", "Ships\n\n| A |\n| --- |"),
    ],
)
def test_the_main_text_as_markdown(html: str, expected: str) -> None:
    page = f"<body><nav><a href=/>Home</a></nav><main>{html}</main><footer>Imprint</footer>"
    out = read_html(page.encode(), "utf-8", "http://a.test/b/c", "2026-11-24")
    assert out.as_markdown() == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<h1>A</h1><p class=byline>By Ruth Writer</p>", "Ruth Writer"),
        (
            "<h1>A</h1><div class=post-meta>By <a href=/r>Ruth Writer</a> on May 3, 2024",
            "Ruth Writer",
        ),
        ("<h1>A</h1><div class='author-name'>Ruth Writer</div>", "Ruth Writer"),
        ("<h1>A</h1>by <a rel=author>Ruth</a> and <a rel=author>Tom</a>", "Ruth, Tom"),
        ("<h1>A</h1><p>Text.<div class=comments><b class=comment-author>Ed</b></div>", ""),
        (
            "<meta name=citation_author content=Ruth><meta name=citation_author content=Tom>",
            "Ruth, Tom",
        ),
        ("<meta name=author content='r@a.test (Ruth Writer)'>", "Ruth Writer"),
        ("<meta property='dc:creator twitter:site_name' content='Ruth'>", "Ruth"),
        (
            '<script type=application/ld+json>{"@graph": [{"@type": "Article", "author":'
            ' {"@id": "#p"}}, {"@type": "Person", "@id": "#p", "name": "Ruth"}]}</script>',
            "Ruth",
        ),
    ],
)
def test_authors_are_named_in_many_ways(markup: str, expected: str) -> None:
    assert content(markup).author == expected


def test_a_title_that_was_escaped_twice_is_read_once_more() -> None:
    assert content("<title>Fish &amp;amp; chips</title>").title == "Fish & chips"
    assert content("<title>What &amp;copy; means</title>").title == "What &copy; means"


@pytest.mark.parametrize(
    "program",
    [
        "<pre>if x:<br>    y()</pre>",
        "<pre><code><div class=line>if x:</div><div class=line>    y()</div></code></pre>",
        "<pre><span style='display: block'>if x:</span>"
        "<span style='display:block'>    y()</span></pre>",
        "<div style='white-space: pre'>if x:\n    y()</div>",
        "<table><tr><td class=linenos><pre>1\n2</pre></td>"
        "<td class=code><pre>if x:\n    y()</pre></table>",
        "<pre><span class=lineno>1</span>if x:\n<span class=lineno>2</span>    y()</pre>",
    ],
)
def test_programs_have_the_lines_that_elements_make(program: str) -> None:
    found = content(f"<p>The program:</p>{program}")
    assert found.text == "The program:\nif x:\n    y()"
    assert "```\nif x:\n    y()\n```" in found.as_markdown()
