"""What larbinpy relies on in turbohtml, whose next version may come only if this holds."""

import re
from configparser import ConfigParser
from importlib.metadata import version
from pathlib import Path

import pytest
import turbohtml
from turbohtml import Document, Element, Namespace, PlainText, SelectorSyntaxError, Text
from turbohtml.detect import detect, detect_language


def tree(markup: str) -> Document:
    return turbohtml.parse(markup.encode(), encoding="utf-8", positions=False)


def test_its_version_is_one_that_was_tried() -> None:
    config = ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg")
    [bounds] = re.findall(r"turbohtml>=(.+),<(.+)", config["options"]["install_requires"])
    first, end = (tuple(map(int, bound.split("."))) for bound in bounds)
    assert first <= tuple(map(int, version("turbohtml").split("."))) < end


# Encodings (parse.charset).


def test_the_encoding_of_a_page_and_how_certain_it_is() -> None:
    for body, label, name, confidence in (
        (b"<p>x", "latin1", "windows-1252", "certain"),
        (b"\xef\xbb\xbf<p>x", "latin1", "UTF-8", "certain"),
        (b"<meta charset=koi8-r>", None, "KOI8-R", "certain"),
        (b"<p>x", None, "windows-1252", "tentative"),
    ):
        found = turbohtml.parse(
            body, encoding=label, positions=False, allow_declarative_shadow_roots=False
        )
        assert (found.encoding, found.encoding_confidence) == (name, confidence)
    with pytest.raises(LookupError):
        turbohtml.parse(b"", encoding="no label")


def test_encodings_are_guessed_and_have_codecs() -> None:
    sample = "Съешь же ещё этих мягких французских булок, да выпей чаю".encode("cp1251")
    assert detect(sample * 4).encoding == "windows-1251"
    assert b"\x80".decode("whatwg-latin1") == "€"


# The tree (parse.html, content, soft404, login.methods.form).


def test_elements_are_found_in_the_order_of_the_page() -> None:
    page = tree("<title>T</title><a HREF='/1'>one</a><svg><a href=/2>two</a></svg><img src=/3>")
    assert [each.attr("href") for each in page.select("a[href]")] == ["/1", "/2"]
    assert [each.tag for each in page.iter_elements(("img", "a"))] == ["a", "a", "img"]
    html, svg = page.select("a")
    assert (html.namespace, svg.namespace) == (Namespace.HTML, Namespace.SVG)
    assert html.attr("none") is None
    assert "href" in html.attrs
    assert page.select_one("title").text == "T"  # type: ignore[union-attr]
    assert html.closest("body") is svg.closest("body") is not None
    with pytest.raises(SelectorSyntaxError):
        page.select("a[")


def test_nodes_know_their_neighbours() -> None:
    page = tree("<body><p>one<b>two</b>three</p></body>")
    [bold] = page.select("b")
    assert isinstance(bold.previous_sibling, Text)
    assert isinstance(bold.next_sibling, Text)
    parent = bold.parent
    assert isinstance(parent, Element) and parent.tag == "p" and len(parent) == 3
    assert [type(each) for each in parent.children] == [Text, Element, Text]
    kinds = [type(each) for each in page.descendants if type(each) in (Text, Element)]
    assert kinds == [Element] * 4 + [Text, Element, Text, Text]


def test_elements_are_hashable_and_equal_by_identity() -> None:
    page = tree("<p>x<p>x")
    one, other = page.select("p")
    assert len({one, other, page.select("p")[0]}) == 2


def test_a_tree_can_be_changed() -> None:
    page = tree("<body><p>one<aside>two</aside><p>three")
    [aside] = page.select("aside")
    aside.extract()
    aside.tag = "div"
    assert (aside.parent, aside.tag, aside.text) == (None, "div", "two")
    assert "two" not in page.to_text()


def test_text_is_laid_out_as_readers_see_it() -> None:
    plain = PlainText(bullet="", table_cell_separator="|", layout="strict")
    page = tree("<p>one<br>two<ul><li>a<li>b</ul><table><tr><td>1<td>2</table><script>x</script>")
    lines = [line.strip() for line in page.to_text(plain).splitlines() if line.strip()]
    assert lines == ["one", "two", "a", "b", "1|2"]
    assert turbohtml.parse_fragment("a &amp; <b>b</b>").to_text() == "a & b"


# Places in the source (parse.rewrite).


def test_places_of_tags_and_attributes_in_the_source() -> None:
    text = "<p>é</p>\n<a class=x href='/1'>one</a><style>p{}</style>"
    parser = turbohtml.IncrementalParser(positions=False, source_locations=True)
    for start in range(0, len(text), 7):
        parser.feed(text[start : start + 7])
    page = parser.close()
    [link] = page.select("a")
    [style] = page.select("style")
    assert link.source_location is not None and style.source_location is not None
    place = link.source_location.attrs["href"]
    assert text[place.start_offset : place.end_offset] == "href='/1'"
    tag = link.source_location.start_tag
    assert text[tag.start_offset : tag.end_offset] == "<a class=x href='/1'>"
    end = style.source_location.end_tag
    assert end is not None
    assert text[style.source_location.start_tag.end_offset : end.start_offset] == "p{}"


# Languages (content.language).


def test_languages_have_three_letters() -> None:
    for text, code, script in (
        ("The dog does not mind at all that the quick brown fox jumps over it.", "eng", "Latin"),
        ("Le chien paresseux ne s'en soucie pas du tout, et le renard saute.", "fra", "Latin"),
        ("北京是中华人民共和国的首都也是全国的政治中心和文化中心", "cmn", "Mandarin"),
    ):
        found = detect_language(text)
        assert (found.language, found.script) == (code, script)
        assert found.confidence >= 0.5
    assert detect_language("").language is None
