"""`database.content.main_text`: what is main text, what is the rest, and how both are written."""

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.content.main_text import Texts, split
from larbinpy.parse.charset import document

STORY = "".join(
    f"<p>Paragraph {name} of the story tells what happened, and to whom, at some length.</p>"
    for name in ("one", "two", "three", "four", "five", "six")
)
MENU = "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(5))


def read(markup: str) -> Texts:
    return split(turbohtml.parse(markup))


@pytest.mark.parametrize(
    "markup",
    [
        "<nav><ul>{}</ul></nav>",
        "<div class=site-nav><ul>{}</ul></div>",
        "<div id=mainMenu><ul>{}</ul></div>",
        "<div role=navigation><ul>{}</ul></div>",
        "<header><ul>{}</ul></header>",
        "<footer><ul>{}</ul></footer>",
        "<aside><ul>{}</ul></aside>",
        "<div class='widget Sidebar'><ul>{}</ul></div>",
        "<div class=breadcrumbs><ul>{}</ul></div>",
        "<form><ul>{}</ul></form>",
        "<section class='related posts'><ul>{}</ul></section>",
        "<div class=cookie_notice><ul>{}</ul></div>",
        "<div class=comments><ul>{}</ul></div>",
    ],
)
@pytest.mark.parametrize("page", ["{menu}{story}", "<main>{story}{menu}</main>", "{story}{menu}"])
def test_boilerplate_is_the_rest(markup: str, page: str) -> None:
    menu = markup.format(MENU)
    story = f"<h1>The story</h1>{STORY}"
    found = read(page.format(menu=menu, story=f"<article>{story}</article>"))
    assert "Paragraph one" in found.main and "Paragraph six" in found.main
    assert "Section" not in found.main
    assert "Section 0" in found.rest and "Section 4" in found.rest
    assert "Paragraph" not in found.rest


@pytest.mark.parametrize("around", ["<nav>{}</nav>", "<aside>{}</aside>", "<form>{}</form>"])
def test_what_is_said_to_be_the_main_text_stays_wherever_it_is(around: str) -> None:
    for tag in ("<main>{}</main>", "<div role=main>{}</div>"):
        assert "Paragraph one" in read(around.format(tag.format(STORY)) + f"<p>{MENU}").main


SHELL = """<title>{0} | Harbour News</title><body><header><a href=/>Harbour News</a></header>
<nav><ul><li><a href=/town>Town</a><li><a href=/sea>Sea</a></ul></nav>
<div id=cookie-banner>We use cookies. <button>Agree</button></div>
<div class=layout>{1}<div class=sidebar><h3>Most read</h3><a href=/1>A whale in the bay</a></div>
</div><footer>Harbour News, 1 Quay Street. <a href=/imprint>Imprint</a></footer>"""
PAGES = {
    "article": (
        """<div class=content><h1>The ferry sails again</h1><p class=byline>By Ann Oar</p>
        <div class="share-buttons"><a href=/s>Share this</a></div>
        <p>After three weeks in the dock the ferry has left for the islands on Monday morning.</p>
        <figure><img src=f.jpg alt=Ship><figcaption>The ferry at the quay</figcaption></figure>
        <p>The engine had to be replaced, which cost the town more than it had hoped to spend.</p>
        <blockquote>We are glad that the school children can come by ship again.</blockquote>
        <p>The next ship leaves at noon.</p>
        <div class=related-articles><a href=/2>New nets for the fleet</a></div>
        <div id=comments><p>At last! I have been waiting for this since the beginning.</p></div>
        </div>""",
        [
            "The ferry sails again",
            "After three weeks in the dock the ferry has left for the islands on Monday morning.",
            "The engine had to be replaced, which cost the town more than it had hoped to spend.",
            "We are glad that the school children can come by ship again.",
            "The next ship leaves at noon.",
        ],
    ),
    "documentation": (
        """<main><h1>Knots</h1><p>A knot holds a rope by its own friction, without any tool at all.
        </p><h2 id=bowline>Bowline</h2><p>It makes a loop that does not slip, and is easy to undo.
        </p><pre>make loop
    through it
  around</pre><table><tr><th>Knot<th>Use<tr><td>Bowline<td>loop</table></main>""",
        [
            "Knots",
            "A knot holds a rope by its own friction, without any tool at all.",
            "Bowline",
            "It makes a loop that does not slip, and is easy to undo.",
            "make loop",
            "    through it",
            "  around",
            "Knot Use",
            "Bowline loop",
        ],
    ),
    "thread": (
        """<div class=thread><h1>Which paint for a wooden hull?</h1>
        <div class=post><span class=author>oar77</span><p>My boat is made of larch, forty years old,
        and the paint comes off.</p></div><div class=post><span class=author>quay</span>
        <p>Take it all off and oil the wood first; paint holds for some years on that.</p></div>
        </div>""",
        [
            "Which paint for a wooden hull?",
            "My boat is made of larch, forty years old, and the paint comes off.",
            "Take it all off and oil the wood first; paint holds for some years on that.",
        ],
    ),
}
SHELL_TEXTS = ("Town", "We use cookies.", "A whale in the bay", "1 Quay Street", "Imprint")


@pytest.mark.parametrize("kind", PAGES)
def test_the_main_text_of_a_whole_page(kind: str) -> None:
    markup, expected = PAGES[kind]
    found = split(turbohtml.parse(SHELL.format("A page", markup)))
    assert found.main.splitlines() == expected
    assert [text for text in SHELL_TEXTS if text not in found.rest or text in found.main] == []


def test_no_visible_word_is_lost_or_twice() -> None:
    found = read(
        f"<nav>{MENU}</nav><h1>Title</h1>{STORY}<div class=tags>tag</div><footer>end</footer>"
    )
    sections = " ".join(f"Section {n}" for n in range(5))
    expected = f"{sections} Title {read(STORY).main} tag end"
    assert sorted(f"{found.main} {found.rest}".split()) == sorted(expected.split())


def test_the_node_of_the_main_text_has_its_headings_and_images() -> None:
    found = read(
        f"<nav><h2>Menu</h2><img src=m></nav><article><h2>H</h2><img src=i>{STORY}</article>"
    )
    assert [each.text for each in found.node.select("h2")] == ["H"]
    assert [each.attr("src") for each in found.node.select("img")] == ["i"]


@pytest.mark.parametrize("name", ["comments", "sidebar", "menu", "ads", "related", "footer"])
def test_a_name_does_not_take_away_most_of_a_page(name: str) -> None:
    assert "Paragraph six" in read(f"<p>Short.</p><div class={name}>{STORY}</div>").main
    assert "Paragraph six" in read(f"<body class=has-{name}><div>{STORY}</div>").main


LONG = "".join(
    f"<p>Paragraph {name} of a long story tells what happened on that day at the lighthouse, who "
    "was there, and why nobody spoke of it for some years.</p>"
    for name in ("one", "two", "three", "four", "five", "six")
)
TEASERS = "".join(
    f"<div class=card><h3><a href=/{n}>Another story {n} of the town, with a long headline</a></h3>"
    "<span>The mayor opens a bridge, and falls.</span></div>"
    for n in range(20)
)


@pytest.mark.parametrize(
    "names",
    ["l-sidebar-fixed", "lightbox-wrapper", "related", "comments", "article-with-rail", "share"],
)
def test_a_name_costs_no_place_if_hardly_any_text_is_left(names: str) -> None:
    menu = (
        "<div>"
        + "".join(f"<p><a href=/{n}>A link of the menu</a></p>" for n in range(99))
        + "</div>"
    )
    found = read(f"{menu}<h1>The story</h1><p>By someone.</p><div class={names}>{LONG}</div>")
    assert "Paragraph one" in found.main and "Paragraph six" in found.main


@pytest.mark.parametrize("tag", ["h3", "dt", "summary"])
def test_a_question_that_is_a_button_stays(tag: str) -> None:
    item = (
        "<{0}><button aria-expanded=true>Question {1}?</button></{0}><div><p>Fill the tank.</div>"
    )
    items = "".join(item.format(tag, n) for n in range(3))
    found = read(f"<main><h1>Help</h1>{items}<button>Buy</button></main>")
    lines = [f"Question {n}?\nFill the tank." for n in range(3)]
    assert found.main == "\n".join(["Help", *lines])
    assert found.rest == "Buy"


def test_another_element_with_a_role_is_left_out_of_a_question_too() -> None:
    item = "<summary>Question {0}? <b role=navigation>Home</b></summary><p>Fill the tank.</p>"
    items = "".join(f"<details open>{item.format(n)}</details>" for n in range(3))
    found = read(f"<main><h1>Help</h1>{items}</main>")
    assert "Home" not in found.main and "Question 2?" in found.main
    assert "Home" in found.rest


@pytest.mark.parametrize("word", ["gdpr", "cookie", "comment", "navigation"])
def test_anchors_of_paragraphs_are_no_names(word: str) -> None:
    paragraphs = LONG.replace("<p>", f"<p id={word}-paragraph>", 1)
    assert "Paragraph one" in read(f"<main><h1 id={word}>On {word}</h1>{paragraphs}</main>").main


@pytest.mark.parametrize("tag", ["form", "aside"])
def test_a_form_around_the_page_is_not_left_out(tag: str) -> None:
    found = read(f"<{tag}><div id=menu><ul>{MENU}</ul></div><div>{LONG}</div></{tag}>")
    assert "Paragraph six" in found.main
    assert "Section 1" in found.rest
    assert "Section" in read(f"<main>{LONG}</main><{tag}><ul>{MENU}</ul></{tag}>").rest


def test_the_comments_below_an_article_are_the_rest_though_they_are_longer() -> None:
    comments = "".join(
        f"<div class=comment><p>{each}</p></div>" for each in [LONG.split("<p>")[1]] * 9
    )
    found = read(f"<h1>The story</h1><div>{LONG}{LONG}</div><div id=comments>{comments}</div>")
    assert found.main.count("Paragraph one") == 2
    assert found.rest.count("Paragraph one") == 9


def test_lists_of_other_stories_are_the_rest() -> None:
    story = f"<h1>The story</h1>{LONG}"
    for page in (
        f"<div class=left>{story}</div><div class=right>{TEASERS}{TEASERS}</div>",
        f"<div><div>{story}</div></div><div><h2>Latest</h2>{TEASERS}{TEASERS}</div>",
    ):
        found = read(page)
        assert "Paragraph six" in found.main
        assert "Another story" not in found.main and "Another story 19" in found.rest
        assert [each.text for each in found.node.select("h2")] == []


def test_what_a_shop_writes_below_its_list_is_not_all_of_the_page() -> None:
    found = read(f"<div>{TEASERS}{TEASERS}</div><div>{LONG}</div>")
    assert "Another story 1" in found.main and "Paragraph six" in found.main


def test_the_parts_of_an_article_and_the_posts_of_a_thread_stay_together() -> None:
    paragraphs = LONG.split("</p>")
    last = "</p>".join(paragraphs[5:])
    parts = f"<section class=part>{'</p>'.join(paragraphs[:5])}</section><section class=part>{last}"
    for page in (parts, f"<main>{parts}</main>", f"<div>{parts}</section></div>{TEASERS}"):
        found = read(page)
        assert "Paragraph one" in found.main and "Paragraph six" in found.main


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<b>中</b>文", "中文"),
        ("un<i>believ</i>able", "unbelievable"),
        ("<p>one<p>two", "one\ntwo"),
        ("one<br>two", "one\ntwo"),
        ("<div>one</div>two<div>three</div>", "one\ntwo\nthree"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a b\nc d"),
        ("<table><caption>Ships</caption><tr><th>a<th>b</table>", "Ships\na b"),
        ("<a href=1><h4>one</h4><span>two</span></a>", "one two"),
        ("<b><div>one</div>two</b>", "one two"),
        ("<table><tr><th>a<td><p>one</p>two<div>three</div>four</table>", "a one two three four"),
        ("<table><tr><th>one <h4>two</h4><td>x</table>", "one two x"),
        ("<table><tr><td><div>one<div>two</div><b>three</b></div><td>x</table>", "one two three x"),
        ("<p>Press <button>Save</button> to go.", "Press Save to go."),
        ("<ul><li>one<li>two</ul>", "one\ntwo"),
        ("<ol><li>one<li>two</ol>", "one\ntwo"),
        ("<dl><dt>term<dd>meaning</dl>", "term\nmeaning"),
        ("<pre>one  two\n\tthree</pre>", "one two\n    three"),
        ("a  b\n\n\tc", "a b c"),
        ("a&nbsp;&nbsp;b&emsp;c&#x3000;d", "a b c d"),
        ("soft&shy;hyphen zero&#x200b;width &#x202e;turned", "softhyphen zerowidth turned"),
        ("a&#1;b&#x85;c&#xfeff;", "ab…c"),
        ("<a href=1>one</a><a href=2>two</a>", "one\ntwo"),
        ("<sup>1</sup>/<sub>2</sub>", "1/2"),
        ("H<sub>2</sub>O, x<sup>2</sup>, 9 km<sup>2</sup>, 10<sup>6</sup>", "H2O, x2, 9 km2, 106"),
        ("the 19<sup>th</sup> M<sup>me</sup>", "the 19th Mme"),
        ("the pharos<sup><a href=#1>1</a></sup> sold.<sup>2</sup>", "the pharos 1 sold. 2"),
        ("and its clock<a href=#f3><sup>3</sup></a>.<b><sup>4</sup></b>", "and its clock 3. 4"),
        ("<p><sup>1</sup> First", "1 First"),
        (
            "網路爬\n    蟲技術、\n最後 <b>存入\r\n資料</b> abc\n庫。",
            "網路爬蟲技術、最後 存入資料 abc 庫。",
        ),
        ("データ\nベース、\nに\nHTML\nを", "データベース、に HTML を"),
        ("한국어\n문장", "한국어 문장"),
        ("<pre>爬\n蟲</pre>", "爬\n蟲"),
        ("<details><summary>more</summary>inner</details>", "more\ninner"),
        ("<p>x</p>\n\n<p> </p><p>y</p>", "x\ny"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_blocks_and_words(markup: str, expected: str) -> None:
    assert read(markup).main == expected


def test_what_stands_apart_is_apart_in_the_rest() -> None:
    found = read("<p>x</p><button>buy</button><button>sell</button><nav><a>a</a><a>b</a></nav>")
    assert set(found.rest.split("\n")) == {"buy", "sell", "a", "b"}
    assert read("<select><option>one<option>two</select>").rest == "one\ntwo"


def test_readings_of_words_are_not_in_the_middle_of_them() -> None:
    found = read("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>だ")
    assert found.main == "漢字だ"
    assert found.rest == "かん\nじ"


FORMULA = "<math><semantics><mi>x</mi><mn>2</mn><annotation>x_2</annotation></semantics></math>"


NAMES = """html head body main svg math template table tr td select frameset noscript title my-x
dialog p ul li a sup ruby rt form button h1 time article"""
TAGS = NAMES.split()
ATTRIBUTES = [
    "",
    "class=x",
    "hidden",
    "role=tabpanel id=q",
    "aria-controls=q",
    "shadowrootmode=open",
    "class=comments",
    "class=katex aria-hidden=true",
    "style='visibility:hidden'",
    "style='visibility:visible;font-size:1em;color:#000'",
    "style='color:#fff;background:#fff'",
]
SHEETS = ("", "html,svg{visibility:hidden} body,.x{visibility:visible}", "html{font-size:0} .x{}")
TOKEN = st.one_of(
    st.builds("<{} {}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    st.sampled_from(["text ", "\u706f\u5854\n\u7684", f"{LONG[3:120]} "]),
)


@given(st.lists(TOKEN, max_size=25), st.sampled_from(SHEETS))
def test_no_change_of_the_tree_raises(tokens: list[str], sheet: str) -> None:
    split(document(f"<style>{sheet}</style>{''.join(tokens)}".encode(), "utf-8"))


@pytest.mark.parametrize(
    "markup",
    [
        "<div><button aria-expanded=false>May I use it?</button><div class=panel>{}</div></div>",
        "<div><div role=button class=accordion>May I use it?</div><div hidden>{}</div></div>",
        "<h4><a class=btn href='#a' data-toggle=collapse>May I use it?</a></h4>"
        "<div id=a hidden>{}</div>",
        "<section><button class=accordion>On its use</button><div>{}</div></section>",
    ],
)
def test_questions_are_text_and_the_answers_that_they_open_too(markup: str) -> None:
    answer = "Fill the tank, wait for an hour and empty it again, then dry it."
    found = read(f"<main><h1>T</h1>{STORY}{markup.format(answer)}</main>")
    assert ("use it?" in found.main) or ("On its use" in found.main)
    assert answer in found.main or answer in found.rest


@pytest.mark.parametrize("name", ["admonition", "notice--warning", "callout", "footnotes"])
def test_boxes_that_belong_to_a_text_are_of_it(name: str) -> None:
    found = read(
        f"<article><h1>T</h1>{STORY}<aside class='{name}'>Never open it.</aside></article>"
    )
    assert "Never open it." in found.main


def test_what_the_layout_parts_is_apart() -> None:
    line = "<span class=one>Ann</span><span class=two>May</span>"
    program = "<code><span class=k>def</span><span class=n>ine</span></code>"
    found = read(
        f"<p>{line}</p><p>{program}</p><p><span style='display:block'>a</span><span>b</span>"
    )
    assert found.main == "Ann May\ndefine\na\nb"


def test_lines_of_chinese_are_joined_across_elements() -> None:
    broken = "\u7db2\u8def<b>\u722c\n</b>\u87f2<i>\u6280</i>\n<i>\u8853</i> \u5eab"
    found = read(f"<p>{broken}</p><p>\u4e00\n<b>a</b></p>")
    assert found.main == "\u7db2\u8def\u722c\u87f2\u6280\u8853 \u5eab\n\u4e00 a"
    assert read("<pre><i>\u4e00\n</i><i>\u4e8c</i></pre>").main == "\u4e00\n\u4e8c"


def test_a_formula_is_there_once() -> None:
    katex = (
        f"<span class=katex><span class=katex-mathml>{FORMULA}</span>"
        "<span class=katex-html aria-hidden=true><span>x</span><span>2</span></span></span>"
    )
    mathjax = (
        f"<mjx-container><mjx-math aria-hidden=true><mjx-c></mjx-c></mjx-math>"
        f"<mjx-assistive-mml>{FORMULA}</mjx-assistive-mml></mjx-container>"
    )
    hidden = "<style>mjx-assistive-mml{position:absolute;clip:rect(1px,1px,1px,1px)}</style>"
    named = mathjax.replace("<mjx-container", "<mjx-container class=CtxtMenu_Attached_0", 1)
    for markup in (FORMULA, katex, mathjax, hidden + mathjax, named):
        assert read(f"<p>The area {markup} of the field.").main == "The area x2 of the field."


def test_a_formula_that_is_hidden_for_its_drawing_is_text() -> None:
    """As those of Wikipedia, whose drawing is an image; other hidden text with one is not."""
    drawing = "<img alt='x^2' aria-hidden=true>"
    markup = f"<span><span style='display: none'>{FORMULA}</span>{drawing}</span>"
    assert read(f"<p>The area {markup} of the field.").main == "The area x2 of the field."
    spaced = "<math>\n <msup>\n  <mi>x</mi>\n <mn> 2 </mn></msup><mtext> m</mtext>\n</math>"
    markup = f"<p>The area <i><b style='display:none'>{spaced}</b>{drawing}</i> of it."
    assert read(markup).main == "The area x2 m of it."
    other = f"<span style='display:none'>Buy {FORMULA}</span>"
    assert read(f"<p>The area {other} of the field.").main == "The area of the field."


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<h2>Part</h2><p>One.<p>Two.", "Part\nOne.\nTwo."),
        ("<pre>one\n  two</pre>", "one\n  two"),
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>", "a b\nc d"),
    ],
)
def test_tables_that_lay_out_a_page_are_none(cell: str, expected: str) -> None:
    assert read(f"<table><tr><td>side<td>{cell}</table>").main == f"side\n{expected}"


def test_tables_with_heads_of_columns_are_tables() -> None:
    cells = "<tr><td>The <h4>ferry</h4><td>sails"
    assert (
        read(f"<table><tr><th>Ship<th>State{cells}</table>").main == "Ship State\nThe ferry sails"
    )


def test_a_caption_of_a_table_that_a_drawing_of_a_formula_has() -> None:
    drawing = "<div aria-hidden=true><table><caption>Ships</caption><tr><td>a</table></div>"
    found = read(f"<p>One<div class=katex><math><mi>x</mi></math>{drawing}</div>")
    assert found.main == "One\nx"


def test_a_name_of_the_subject_costs_no_place() -> None:
    gdpr = (
        "<section class=gdpr-intro><p>What it asks of a small harbour, and of its boats.</section>"
    )
    assert "small harbour" in read(f"<h1>The GDPR at sea</h1>{STORY}{gdpr}").main
    assert "small harbour" in read(f"<h1>The law at sea</h1>{STORY}{gdpr}").rest


def test_a_declarative_shadow_root_is_text_with_its_slots() -> None:
    page = (
        "<my-x><template shadowrootmode=open><style>p{}</style><p>First <slot name=n></slot></p>"
        "<y-y><template shadowrootmode=closed><p>inner</template></y-y><slot></slot></template>"
        "<p>light</p><b slot=n>name</b></my-x><template><p>never</template>"
    )
    found = split(document(page.encode(), "utf-8"))
    assert found.main.split() == ["First", "name", "inner", "light"]


@given(st.text(alphabet="<>/=\"' abdinopstv!-{}:;#.", max_size=300))
def test_no_markup_raises(markup: str) -> None:
    for wrapped in (markup, f"<style>{markup}</style><p class=a>", f'<p style="{markup}">x'):
        found = read(wrapped)
        for text in (found.main, found.rest):
            assert text == "\n".join(" ".join(each.split()) for each in text.split("\n") if each)


@pytest.mark.parametrize(
    "markup",
    [
        # Sphinx: signatures, constants, and sections with the words of their headings.
        "<dl class='py function'><dt class='sig sig-object py' id=json.dumps><span class=sig-name>"
        "dumps</span><em class=sig-param>obj</em></dt><dd><p>Writes.</p></dd></dl>",
        "<section id=menus><section id=file-menu-shell-and-editor><h3>File menu (Shell and Editor)"
        "</h3><dl><dt>New File</dt><dd>Create a window.</dd></dl></section></section>",
        "<section id=navigation><h3>Navigation<a href=#navigation>¶</a></h3><p>Keys.</p></section>",
        "<section id=core-language><h2><a href=#id8>Core Language</a><a href=#core-language>¶</a>"
        "</h2><p>Variables.</p></section>",
        # Programs as highlighters write them.
        "<pre><code class=language-rust>let x = 1; <span class=comment>// one</span></code></pre>",
        "<pre class=language-text>plain</pre>",
        "<pre><span class=hljs-tag>a</span> <span class='token comment'># b</span></pre>",
        "<h4 id=_code_author_code>author</h4>",
    ],
)
def test_documentation_keeps_its_definitions_and_programs(markup: str) -> None:
    found = read(f"<div role=main><h1>Title</h1>{STORY}{markup}</div>")
    assert found.rest == ""
    letters = "".join(turbohtml.parse(markup).text.split())
    assert letters in "".join(found.main.split())


def test_a_section_with_a_name_of_layout_is_not_text_because_it_has_a_heading() -> None:
    comments = "<div id=comments><h3>Comments</h3><p>First!</p></div>"
    assert "First" not in read(f"<main><h1>Title</h1>{STORY}{comments}</main>").main


def test_the_rest_is_not_torn_apart() -> None:
    menu = "<div class=menu><p>See <span class=tag>one</span>, <em class=badge>two</em>.</p></div>"
    assert read(f"<main>{STORY}</main>{menu}").rest == "See one, two."
    menu = "<ul id=menu><li>a <b class=button>b</b></ul>"
    assert read(f"<main>{STORY}</main><nav>{menu}</nav>").rest == "a b"


@pytest.mark.parametrize("tag", ["ul", "ol", "menu"])
def test_what_stands_between_the_items_of_a_list_is_text(tag: str) -> None:
    found = read(f"<{tag}>Before<div><li>one</li><li>two</li></div><p>after</{tag}>")
    assert f"{found.main} {found.rest}".split() == ["Before", "one", "two", "after"]


def test_programs_keep_their_lines_and_indentation() -> None:
    program = "<pre>def spam(eggs):\n    if eggs:\n\n\treturn  1\n</pre>"
    found = read(
        f"<main>{STORY}<p>  Some   prose:{program}<blockquote>Quoted<p>text.</blockquote>"
        "<table><tr><td><td><td>cell<td>b</table></main>"
    )
    end = "Some prose:\ndef spam(eggs):\n    if eggs:\n    return 1\nQuoted\ntext.\ncell b"
    assert found.main.endswith(end)


def test_a_program_is_freed_of_the_numbers_of_its_lines_but_of_no_others() -> None:
    table = "<table><tr><td>{}<td><pre>{}</pre></table>"
    numbered = read(f"<main>{STORY}{table.format('1 2', 'a = 1<br>b = 2')}</main>")
    assert numbered.main.endswith("\na = 1\nb = 2")
    assert "1 2" not in numbered.main
    digits = read(f"<main>{STORY}{table.format('', '10 20<br>30')}</main>")
    assert digits.main.endswith("\n10 20\n30")
