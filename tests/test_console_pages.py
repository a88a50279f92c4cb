import html5lib
import pytest
from snapshots import hostile, snapshot

from larbinpy.console import pages
from larbinpy.console.markup import el, table

PAYLOADS = [
    "<script>alert(1)</script>",
    '"onload="alert(1)',
    "' onmouseover='alert(1)",
    "</style></title><img src=x onerror=alert(1)>",
    "--><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "]]><!-- x",
    "&lt;script&gt;&#60;b&#62;",
    "</svg></section></table><iframe src=//evil.example>",
]
PATHS = list(pages.PAGES)


def parse(text):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(text)
    for node in tree.iter():
        if isinstance(node.tag, str):
            node.tag = node.tag.removeprefix("{http://www.w3.org/2000/svg}")
    return tree, parser.errors


def shape(text):
    """The elements and their attribute names, which crawled text must not change."""
    tree, _ = parse(text)
    return {(node.tag, *sorted(node.attrib)) for node in tree.iter() if isinstance(node.tag, str)}


def words(text):
    tree, _ = parse(text)
    for style in list(tree.iter("style")):
        style.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_larbins_addresses_are_there():
    assert set(PATHS) == {
        "/", "/stats.html", "/histograms.html", "/urls.html", "/dns.html", "/system.html",
        "/output.html", "/all.html"}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_correct_html_that_needs_nothing(path):
    text = pages.render(path, snapshot())
    tree, errors = parse(text)
    assert errors == []
    tags = {node.tag for node in tree.iter()}
    assert not tags & {"script", "link", "img", "iframe", "object", "form"}
    hrefs = [node.get("href") for node in tree.iter("a")]
    assert all(href.startswith("/") for href in hrefs)
    assert not any("style" in node.attrib or "src" in node.attrib for node in tree.iter())
    assert [n.get("href") for n in tree.iter("a") if "aria-current" in n.attrib] == [path]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_crawled_text_becomes_no_element_and_no_attribute(path, payload):
    shown = pages.render(path, hostile(payload))
    assert shape(shown) <= shape(pages.render("/all.html", snapshot()))
    tree, _ = parse(shown)
    for node in tree.iter():
        if "aria-label" in node.attrib:
            del node.attrib["aria-label"]
        assert not any("alert" in value or "evil" in value for value in node.attrib.values())
    assert len(list(tree.iter("style"))) == 1
    if path == "/all.html":
        assert " ".join(payload.split()) in words(shown)


@pytest.mark.parametrize("path", PATHS)
def test_controls_and_directions_are_spelled_out(path):
    bad = "\0\x1b\x07\x85\x9b\u202e\u2066\u2028\ud800\ufeff"
    shown = pages.render(path, hostile(bad)).replace("\n", "")
    assert not set(shown) & set(bad)
    shown.encode()
    assert "\\u202e" in shown


def test_the_overview_has_the_figures():
    shown = words(pages.render("/", snapshot()))
    for figure in ("48,213", "18.4/s now", "342,809", "1.9 GB", "93.1 %", "0:44:39", "running"):
        assert figure in shown, figure
    assert "tooBig" not in shown


def test_each_page_shows_what_it_is_for():
    data = snapshot()
    expected = {
        "/stats.html": ["err40X", "robots.txt", "44,907"],
        "/histograms.html": ["mean", "60 s ago"],
        "/urls.html": ["http://site3.example", "Retry-After: 120", "page-49.html", "118 s"],
        "/dns.html": ["192.0.2.53:53", "20,544", "yes", "93.9 %", "48.0 kB", "4,021", "21.4 ms"],
        "/system.html": ["closed: www.example.com holds", "188.7 MB", "1.7 ms", "waitDuration"],
        "/output.html": ["mirror", "44,885", "1.7 GB", "text/css 878", "7, 1"],
    }
    for path, parts in expected.items():
        shown = words(pages.render(path, data))
        whole = words(pages.render("/all.html", data))
        for part in parts:
            assert part in shown, (path, part)
            assert part in whole, part


def test_a_histogram_has_a_bar_a_second_to_scale():
    tree, _ = parse(pages.render("/histograms.html", snapshot(history={"pages": [0, 5, 10]})))
    bars = [node for node in tree.iter("rect") if node.get("class") != "hit"]
    assert [float(bar.get("height")) for bar in bars] == [0, 50, 100]
    assert [node.text for node in tree.iter("title")][1:] == [
        "3 s ago: 0", "2 s ago: 5", "1 s ago: 10"]  # fmt: skip


def test_histograms_can_be_off():
    off = pages.render("/", snapshot(), with_histograms=False)
    assert "The last minute" not in off
    assert "keyword histograms" in pages.render(
        "/histograms.html", snapshot(), with_histograms=False
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("data", [{}, dict.fromkeys(snapshot())])
def test_a_snapshot_that_lacks_keys_is_still_a_page(path, data):
    tree, errors = parse(pages.render(path, data))
    assert errors == []
    assert tree.find("body/main/section") is not None


@pytest.mark.parametrize("path", PATHS)
def test_a_crawl_that_has_just_begun(path):
    zero = snapshot(
        outcomes={}, recent=[], history={"pages": []}, sites={"total": 0, "by_state": {},
        "busiest": [], "suspended": []}, output={})  # fmt: skip
    assert parse(pages.render(path, zero))[1] == []


def test_markup_escapes_all_but_markup():
    assert el("p", "a<b", el("b", 1), None, title='"') == '<p title="&quot;">a&lt;b<b>1</b></p>'
    assert el("meta", charset="utf-8") == '<meta charset="utf-8">'
    with pytest.raises(AssertionError):
        el("p", **{"x onload": "1"})


def test_a_long_url_is_cut():
    shown = pages.render("/urls.html", hostile("x" * 8000))
    assert "x" * 400 not in shown


def test_a_table_without_rows_says_so():
    assert table(("A",), [], "No site.") == '<p class="none">No site.</p>'


def test_the_start_may_be_unix_time_or_text():
    assert "2026-03-01 12:00:00 UTC" in pages.render("/", snapshot(started=1772366400.5))
    assert "2026-03-01T11:15:20Z" in pages.render("/", snapshot())
