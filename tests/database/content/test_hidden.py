"""Words that a reader cannot see are in no text; what only looks so is."""

import pytest
import turbohtml

from larbinpy.database.content.hidden import declarations, font_size, selectors
from larbinpy.database.content.main_text import split

HIDDEN_STYLES = [
    "display:none",
    "DISPLAY : None !important",
    "visibility:hidden",
    "visibility: collapse",
    "font-size:0",
    "font-size: 0px; color: black",
    "position:absolute;left:-9999px",
    "position: fixed; top: -3000px",
    "position:absolute; left:-100%",
    "position:absolute; left:99999px",
    "text-indent:-9999px",
    "text-indent: -999em",
    "margin-left:-9999px",
    "width:0;height:0;overflow:hidden",
    "height:1px; overflow:hidden",
    "max-height:0; overflow: hidden",
    "position:absolute; clip: rect(0 0 0 0)",
    "position:absolute; clip:rect(1px, 1px, 1px, 1px)",
    "clip-path: inset(50%)",
    "clip-path:inset(100%)",
    "transform: scale(0)",
    "transform:translateX(-9999px)",
    "color:#fff;background:#fff",
    "color: white; background-color: #ffffff",
    "color:rgb(255, 255, 255);background-color:rgb(255,255,254)",
    "color:#fff",
    "color: #fefefe",
    "content-visibility:hidden",
]
SHOWN_STYLES = [
    "",
    "display:block",
    "opacity:0",
    "visibility:visible",
    "font-size:0.8em",
    "position:absolute;left:-5px",
    "position:absolute;left:4000px",
    "text-indent:-1em",
    "height:0;padding-bottom:56.25%;overflow:hidden",
    "height:100px;overflow:hidden",
    "color:#fff;background:#000",
    "color:#fff;background:url(night.jpg)",
    "color:#fff;background:linear-gradient(red, blue)",
    "color:#fff;background:red;-webkit-background-clip:text",
    "width:1px",
    "clip-path:inset(10%)",
    "transform:scale(0.5)",
    "background:none;color:#333",
]
PAGE = "<title>t</title>{}<body><p>Seen before.</p>{}<p>Seen after.</p>"


def words(page: str) -> str:
    found = split(turbohtml.parse(page))
    return f"{found.main} {found.rest}"


@pytest.mark.parametrize("style", HIDDEN_STYLES)
def test_a_style_attribute_hides(style: str) -> None:
    for tag in ("div", "span", "p", "a"):
        text = words(PAGE.format("", f'<{tag} style="{style}">covert <b>words</b></{tag}>'))
        assert "covert" not in text and "words" not in text
        assert "Seen before." in text and "Seen after." in text


@pytest.mark.parametrize("style", SHOWN_STYLES)
def test_a_style_attribute_does_not_hide(style: str) -> None:
    assert "overt words" in words(PAGE.format("", f'<p style="{style}">overt words</p>'))


@pytest.mark.parametrize("style", HIDDEN_STYLES)
@pytest.mark.parametrize("selector", [".x", "#x", "div.x > p", "p", "p[data-x]", ".y, .x"])
def test_a_rule_of_the_page_hides(style: str, selector: str) -> None:
    if selector == "p":
        style += ";margin:0"
    sheet = f"<style>/* }} */ .z{{color:red}} {selector}{{{style}}} .q{{color:blue}}</style>"
    text = words(f"{sheet}<div>Seen.</div><div class=x><p class=x id=x data-x>covert</p></div>")
    assert "covert" not in text
    assert "Seen." in text


@pytest.mark.parametrize("style", [each for each in SHOWN_STYLES if each])
def test_a_rule_of_the_page_does_not_hide(style: str) -> None:
    sheet = f"<style>.x{{{style}}}</style>"
    assert "overt words" in words(PAGE.format(sheet, "<p class=x>overt words</p>"))


@pytest.mark.parametrize(
    "sheet",
    [
        ".x{display:none} p.x{display:block}",
        ".x{display:none} .x{display:block}",
        "p.x{display:block} .x{display:none}",
        ".x{display:block!important} .x{display:none}",
        "#i{display:block} .x{display:none}",
        "@media print{.x{display:none}}",
        "@media (max-width:600px){.x{display:none}}",
        "@media screen and (min-width:900px){.a{color:red}.x{display:none}}",
        ".x{display:none} @media (min-width:600px){.x{display:block}}",
        "@keyframes k{from{visibility:hidden}to{visibility:visible}}",
        "@media print{.a{color:red}} @media print{.x{display:none}} .b{color:red}",
        ".x:hover{display:none} .x::before{display:none}",
        ".no-such .x{display:none} .x .no-such{display:none}",
        ".js .x{display:none}",
        "body{display:none}",
        "html{visibility:hidden}",
        "main{visibility:hidden} .x{font-size:1em}",
        "}}} .x{display:block}",
        ".x{display:none",
    ],
)
def test_what_is_shown_on_some_screen_is_text(sheet: str) -> None:
    page = PAGE.format(f"<style>{sheet}</style>", "<main><p class=x id=i>overt words</p></main>")
    assert "overt words" in words(page)


@pytest.mark.parametrize(
    "sheet",
    [
        "@media screen{.x{display:none}}",
        "@media all { .a{color:red} .x{display:none} }",
        "@supports (display:grid){.x{display:none}}",
        "@media print{.a{color:red}} .x{display:none}",
        "@media print{.x{display:block}} .x{display:none}",
        '@charset "utf-8"; @import url(a.css); .x{display:none}',
        ".a{color:red}\n\n.x\n{\n  display : none\n}",
        ".x{display:none!important} .x{display:block}",
        ".x{display:block} .x{display:none}",
        "P.x:not(.y){display:none}",
        "body > p:nth-child(2){display:none}",
        "body{background:#eee} .x{color:#eee}",
        "body{background:#123} p{color:#fff} .x{color:#112233}",
    ],
)
def test_what_no_screen_shows_is_no_text(sheet: str) -> None:
    page = PAGE.format(f"<style>{sheet}</style>", "<p class=x id=i>covert words</p>")
    assert "covert" not in words(page)


def test_a_sheet_for_some_screens_hides_nothing() -> None:
    sheet = '<style media="print">.x{display:none}</style>'
    assert "overt" in words(PAGE.format(sheet, "<p class=x>overt</p>"))
    sheet = '<style media="all">.x{display:none}</style>'
    assert "overt" not in words(PAGE.format(sheet, "<p class=x>overt</p>"))


def test_an_attribute_overrides_a_rule() -> None:
    sheet = "<style>.x{display:none}</style>"
    assert "overt" in words(PAGE.format(sheet, '<p class=x style="display:block">overt</p>'))


@pytest.mark.parametrize(
    "markup",
    [
        "<p hidden>covert</p>",
        "<noscript>covert</noscript>",
        "<noscript><p>covert</p></noscript>",
        "<template><p>covert</p></template>",
        "<!-- covert -->",
        "<script>covert</script>",
        "<script type='text/template'><p>covert</p></script>",
        "<style>.covert{}</style>",
        "<iframe>covert</iframe>",
        "<object>covert</object>",
        "<video>covert</video>",
        "<audio>covert</audio>",
        "<canvas>covert</canvas>",
        "<dialog>covert</dialog>",
        "<div popover>covert</div>",
        "<datalist><option>covert</option></datalist>",
        "<svg><title>covert</title><desc>covert</desc></svg>",
        "<math><annotation>covert</annotation></math>",
        "<input type=hidden value=covert><input type=password value=covert>",
        "<font color=white>covert</font>",
        "<table bgcolor=red><td><font color=red>covert</table>",
    ],
)
def test_html_hides(markup: str) -> None:
    assert "covert" not in words(PAGE.format("", markup))


@pytest.mark.parametrize(
    "markup",
    [
        "<p aria-hidden=true>overt</p>",
        "<p hidden=until-found>overt</p>",
        "<details><summary>More</summary>overt</details>",
        "<dialog open>overt</dialog>",
        "<svg><text>overt</text></svg>",
        "<textarea>overt</textarea>",
        "<button>overt</button>",
        "<select><option>overt</option></select>",
        "<ul style='font-size:0'><li style='font-size:14px'>overt</li></ul>",
        "<div style='visibility:hidden'>no<p style='visibility:visible'>overt</p></div>",
        "<div style='color:#fff'>no<p style='color:#000'>overt</p></div>",
        "<div style='color:#fff'>no<p style='background:#000'>overt</p></div>",
        "<link rel=stylesheet href=a.css><h2 style='color:#fff'>overt</h2>",
    ],
)
def test_html_does_not_hide(markup: str) -> None:
    assert "overt" in words(PAGE.format("", markup))


@pytest.mark.parametrize(
    "page",
    [
        "<body style='visibility:hidden'><p>overt</p>",
        "<style>.loading{display:none}</style><body class=loading><p>overt</p>",
        "<html style='display:none'><p>overt</p>",
        "<style>html,body{visibility:hidden}</style><p>overt</p>",
        "<main style='position:absolute; left:-9999px'><p>overt</p></main>",
        "<style>body{color:#fff}</style><p>overt</p>",
    ],
)
def test_a_page_that_hides_all_of_itself_is_read(page: str) -> None:
    assert words(page).split() == ["overt"]


@pytest.mark.parametrize("tag", ["html", "body", "main"])
@pytest.mark.parametrize(
    "style", ["visibility:hidden", "font-size:0", "display:none", "color:#fff;background:#fff"]
)
def test_rules_that_show_parts_of_a_hidden_page_move_nothing(tag: str, style: str) -> None:
    sheet = f"<style>{tag}{{{style}}} .x{{visibility:visible;font-size:1em;color:#000}}</style>"
    for begin in (sheet, f'<{tag} style="{style}">'):
        page = f"{begin}<body><main><p>Seen.</p><p class=x style='visibility:visible'>Too.</p>"
        assert words(page).split() == ["Seen.", "Too."]


POSTS = "".join(f"<p>Paragraph {n} of what the script shows to all readers.</p>" for n in range(9))
SCRIPT = "<script>document.getElementById('x').style.display = ''</script>"


@pytest.mark.parametrize(
    "begin",
    [
        "<div style='display:none'>",
        "<div style='visibility: hidden; opacity: 0'>",
        "<style>.x{visibility:hidden} .ready .x{visibility:visible}</style><div class=x>",
        "<style>.x{display:none}</style><div><section class=x>",
    ],
)
def test_hidden_text_counts_if_a_script_shows_it_and_hardly_any_other_is_left(begin: str) -> None:
    page = f"<body><h1>The title</h1>{begin}{POSTS}</section></div><p>End"
    assert "Paragraph 8" in split(turbohtml.parse(f"{page}{SCRIPT}")).main
    assert "Paragraph" not in words(page)
    assert "Paragraph" not in words(f"{page}{SCRIPT}{'<p>Text that is seen. ' * 9}")


@pytest.mark.parametrize(
    "panel",
    [
        "<div role=tabpanel hidden>",
        "<div role=tabpanel style='display:none'>",
        "<a aria-controls='a b' href=#b>Windows</a><div id=b hidden>",
        "<button data-target=#b>Windows</button><div id=b style='display:none'>",
        "<style>.c{display:none}</style><button data-bs-target=#b>B</button><div id=b class=c>",
    ],
)
def test_what_a_click_shows_is_the_rest(panel: str) -> None:
    found = split(turbohtml.parse(f"<main><p>Choose your system.</p>{panel}<ul><li>overt</ul>"))
    assert "overt" in found.rest.split("\n")
    assert "overt" not in found.main


@pytest.mark.parametrize(
    ("style", "size"),
    [
        ({"font": "0 serif"}, 0.0),
        ({"font": "bold 0/1.2 serif"}, 0.0),
        ({"font": "700 12px serif"}, 12.0),
        ({"font": "700 serif"}, None),
        ({"font-size": "1em", "font": "0 serif"}, 16.0),
        ({"font-size": "0%"}, 0.0),
        ({"font-size": "50%"}, None),
        ({"color": "red"}, None),
    ],
)
def test_the_size_of_a_font(style: dict[str, str], size: float | None) -> None:
    assert font_size(style) == size


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("color:red;color:blue", {"color": "blue"}),
        ("color:red!important;color:blue", {"color": "red!important"}),
        ("color:red!important;color:blue!important", {"color": "blue!important"}),
        (" display : none ;nonsense;", {"display": "none"}),
    ],
)
def test_the_last_declaration_counts_unless_another_is_important(
    body: str, found: dict[str, str]
) -> None:
    assert declarations(body) == found


@pytest.mark.parametrize(
    ("clip", "hides"),
    [
        ("rect(0 0 0 0)", True),
        ("rect(1px, 1px, 1px, 1px)", True),
        ("rect(1px, -1px, 1px, 0)", True),
        ("rect(0, 2px, 2px, 0)", False),
        ("rect(auto, 0, 0, 0)", False),
        ("auto", False),
    ],
)
def test_a_text_is_clipped_to_a_pixel(clip: str, hides: bool) -> None:
    page = PAGE.format("", f"<p style='position:absolute;clip:{clip}'>Unseen.</p>")
    assert ("Unseen." not in words(page)) is hides


def test_a_rule_for_a_font_is_no_rule_for_elements() -> None:
    """Its block has declarations, but `@font-face` selects nothing."""
    style = "<style>@font-face{display:none}@page{display:none}p.x{display:none}</style>"
    assert "Unseen." not in words(PAGE.format(style, "<p class=x>Unseen.</p>"))
    assert "Seen." in words(PAGE.format(style, "<p>Seen.</p>"))


def test_what_is_shown_in_what_is_hidden_stands_alone() -> None:
    page = "<div style='visibility:hidden'>covert<p style='visibility:visible'>overt</p></div>"
    assert words(PAGE.format("", page)).split() == ["Seen", "before.", "overt", "Seen", "after."]


def test_a_page_that_is_empty_without_scripts_has_the_text_for_readers_without() -> None:
    post = "<p>" + "A thread of a forum that draws itself by a script. " * 30 + "</p>"
    assert "A thread" in words(f"<div id=app></div><noscript>{post}</noscript>")
    short = "<p>You need to enable JavaScript to run this app.</p>"
    assert words(f"<div id=app></div><noscript>{short}</noscript>").strip() == ""
    seen = "<p>" + "A page that shows something. " * 20 + "</p>"
    assert "A thread" not in words(f"{seen}<noscript>{post}</noscript>")


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("a, .b", ["a", ".b"]),
        ("a:is(.b, .c), d", ["a:is(.b, .c)", "d"]),
        ("[title='b, c'] d,e", ["[title='b, c'] d", "e"]),
        ("a:not(:is(b,c)),d:hover,", ["a:not(:is(b,c))"]),
    ],
)
def test_a_list_of_selectors_is_parted_at_its_own_commas(text: str, each: list[str]) -> None:
    assert [found for found, _, _ in selectors(text)] == each
