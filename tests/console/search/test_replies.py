"""The pages of the search, made from the answers of a finder."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.search.form import (
    PAGE,
    SEARCH_JSON,
    Frame,
    SearchRequest,
    message_page,
)
from larbinpy.console.search.replies import Replies
from larbinpy.console.search.results import found_page, snippet, stored_page
from larbinpy.console.status.markup import SEARCH, relative
from larbinpy.database.base import Found, Hit, Stored, Unavailable
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.search.query import Query
from larbinpy.database.search.query import parse as real_parse
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.searchable import PAYLOAD, SearchableFinder, no_database, page, pages, parse

FRAME = Frame("books", "running", with_crawl=True)
STORED = pages()


def tree(html: str) -> Any:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    found = parser.parse(html)
    # HTML has autofocus and other newer attributes, but no errors of syntax.
    assert parser.errors == []
    return found


def shape(html: str) -> set[tuple[str, ...]]:
    """The elements and their attribute names, which stored text must not change."""
    return {(node.tag, *sorted(node.attrib)) for node in tree(html).iter()}


def words(html: str) -> str:
    found = tree(html)
    for node in list(found.iter("style")):
        node.text = ""
    return " ".join(" ".join(found.itertext()).split())


def links(html: str) -> dict[str, str]:
    """Text -> address of the links in the content of a page."""
    return {"".join(a.itertext()): a.attrib["href"] for a in tree(html).find("body/main").iter("a")}


def replies() -> Replies:
    return Replies(lambda: SearchableFinder(STORED), parse)


def get(path: str, **fields: object) -> str:
    reply = replies().reply(path, urlencode(fields), FRAME)
    assert reply.status == 200
    return reply.body.decode()


def search(q: str, **fields: object) -> str:
    return get(SEARCH, q=q, **fields)


def test_hits_have_title_address_and_marked_snippet() -> None:
    html = search("energy solar")
    assert "30 pages in 12.3 ms" in words(html)
    first = tree(html).find("body/main").find(".//ol[@class='hits']/li")
    assert "".join(first.find("h3/a").itertext()) == "Page 0 about energy"
    outside = first.find("h3/a")
    assert outside.attrib == {"href": "http://www.site0.example/0", "rel": "noreferrer noopener"}
    [kept] = first.findall("p[@class='none']/a")
    stored = urlsplit(kept.attrib["href"])
    assert stored.path == relative(PAGE)
    assert parse_qs(stored.query) == {"q": ["energy solar"], "url": ["http://www.site0.example/0"]}
    assert first.find("p[@class='url']/bdi").text == "http://www.site0.example/0"
    assert [mark.text for mark in first.iter("mark")] == ["Solar", "energy"]


def test_the_form_keeps_the_query() -> None:
    field = tree(search('"a b" <c>')).find("body/main").find(".//input[@name='q']")
    assert field.attrib["value"] == '"a b" <c>'
    assert "autofocus" not in field.attrib
    assert "autofocus" in tree(search("")).find("body/main").find(".//input[@name='q']").attrib


def test_an_empty_query_shows_what_can_be_asked() -> None:
    shown = words(search(""))
    assert "The database has 37 pages of 9 hosts (1 page gone), 123.5 kB on the disk." in shown
    for example in ("site:example.org", "lang:en", "type:pdf", "since:7d", "intitle:", "-wind"):
        assert example in shown


def test_pages_of_results() -> None:
    found = links(search("energy"))
    assert found["Next"] == "search.html?q=energy&page=2"
    assert {"1", "2", "3"} <= found.keys() and "Previous" not in found
    last = search("energy", page=3)
    assert links(last)["Previous"] == "search.html?q=energy&page=2"
    assert "Next" not in links(last)
    assert tree(last).find("body/main").find(".//ol").attrib["start"] == "21"


@pytest.mark.parametrize(
    ("total", "numbers"), [(10, []), (11, ["1", "2"]), (25, ["1", "2", "3"]), (30, ["1", "2", "3"])]
)
def test_all_pages_of_results_are_linked(total: int, numbers: list[str]) -> None:
    """The last one may have fewer hits than the others."""
    html = found_page(FRAME, SearchRequest("energy"), Query(), Found(total=total))
    assert [name for name in links(html) if name.isdigit()] == numbers


def test_a_page_after_the_last_leads_back() -> None:
    html = search("energy", page=99)
    assert "There are not so many pages of results." in words(html)
    assert links(html)["Previous"] == "search.html?q=energy&page=3"


def test_the_order_is_kept_by_links_and_form() -> None:
    html = search("energy", sort="date")
    assert "sort=date" in links(html)["Next"]
    assert "sort" not in links(html)["best first"]
    hidden = tree(html).find("body/main").find(".//input[@name='sort']")
    assert hidden.attrib["value"] == "date"


def test_facets_narrow_and_widen_the_query() -> None:
    narrow = links(search("solar energy"))
    assert narrow["www.site1.example"] == (
        "search.html?q=solar+energy+site%3Awww.site1.example"
    )  # fmt: skip
    narrowed = search("solar energy site:www.site1.example")
    assert "10 pages" in words(narrowed)
    assert links(narrowed)["all sites"] == "search.html?q=solar+energy"
    assert "www.site1.example" not in links(narrowed)


def test_what_the_user_should_know_is_said() -> None:
    found = Found(
        [], 7, cut=True, missing=["<b>", "foo"], notes=["The word <i> is left out."], seconds=1.0
    )
    query = Query(notes=("The word <i> is left out.", "AND is taken as a word."))
    shown = words(found_page(FRAME, SearchRequest("x"), query, found))
    assert "No page has all words; at least 7 pages come near" in shown
    assert "Not in all of these: <b> , foo" in shown
    assert "Only a part of the pages was compared" in shown
    assert shown.count("The word <i> is left out.") == 1
    assert "AND is taken as a word." in shown
    assert "No page" in words(search("nothinghasthis"))


def test_marks_out_of_range_or_overlapping_are_left_out() -> None:
    def marked(*marks: tuple[int, int]) -> str:
        return "".join(snippet("a<b>c", marks))

    assert marked((1, 4), (0, 1)) == "<mark>a</mark><mark>&lt;b&gt;</mark>c"
    assert marked((0, 2), (1, 3)) == "<mark>a&lt;</mark>b&gt;c"
    assert marked((3, 99), (-2, 1), (2, 2), (4, 1)) == "a&lt;b&gt;c"


def test_a_stored_page_has_all_that_is_known() -> None:
    html = get(PAGE, url="http://www.site0.example/0", q="solar")
    shown = words(html)
    for part in (
        "Page 0 about energy", "Solar energy, 0.", "Fetched 2026-11-23T08:00:00Z", "A heading",
        "an anchor", "another page http://other.example/", "History", "new",
    ):  # fmt: skip
        assert part in shown
    found = links(html)
    assert found["Back to the results"] == "search.html?q=solar"
    assert "http://other.example/" not in found.values()
    assert "is gone since 2026-11-22" in words(get(PAGE, url="http://gone.example/"))


def test_the_words_of_the_query_are_marked_in_the_stored_text() -> None:
    text = "Solar power,\n\nfree <energy>\nand more power"
    query = real_parse('power "free <energy>" and', ["en"], 1.8e9)
    html = stored_page(FRAME, SearchRequest("x"), query, page("http://h/", "", text), [])
    lines = tree(html).findall("body/main//div[@class='text']/p")
    assert ["".join(line.itertext()) for line in lines] == text.replace("\n\n", "\n").split("\n")
    marked = [[mark.text for mark in line.iter("mark")] for line in lines]
    assert [marked[0], marked[2][-1:]] == [["power"], ["power"]]
    assert "".join(marked[1]).startswith("free")


def test_a_stored_page_is_bounded() -> None:
    html = get(PAGE, url="http://large.example/")
    assert len(html) < 1_500_000
    assert "The text goes on" in words(html)
    many = page("http://m.example/", "", "", links=[[f"http://m/{n}", "", ""] for n in range(9000)])
    html = stored_page(FRAME, SearchRequest(), Query(), many, [])
    assert "Links of the page (9000)" in words(html) and "And 8,500 more." in words(html)
    assert len(html) < 100_000


@pytest.mark.parametrize("url", ["", "http://nowhere.example/", "<b>"])
def test_a_page_that_is_not_there(url: str) -> None:
    reply = replies().reply(PAGE, urlencode({"url": url}), FRAME)
    assert reply.status == 404
    assert "This page is not in the database." in words(reply.body.decode())


def test_stored_text_stays_text() -> None:
    usual = shape(search("energy")) | shape(get(PAGE, url="http://gone.example/", q="x"))
    evil = [
        search("evil"),
        get(PAGE, url="http://evil.example/?<b>", q="evil"),
        *(get(PAGE, url=url) for url in ("http://evil.example/?<b>", "javascript:alert(7)")),
    ]
    for html in evil:
        # Rest and summary are not on the usual pages.
        assert shape(html) <= usual | {("p", "dir")}
        assert "\u202e" not in html and "\x00" not in html and "\x1b" not in html
        hrefs = [node.attrib["href"] for node in tree(html).iter("a")]
        assert all(
            re.match(r"\./|(page|search|changes|[a-z]+)\.html|http://(evil|e)\.example/", href)
            for href in hrefs
        )
    title = "<script>alert(1)</script><img src=//evil.example/i onerror=alert(2)>"
    assert title in words(evil[0])


def test_a_query_stays_text() -> None:
    usual = shape(search("nothinghasthis"))
    html = search(f"{PAYLOAD} nothinghasthis")
    assert shape(html) <= usual
    assert html.count("<script>") == 0


def test_joiners_stay_and_controls_of_direction_go() -> None:
    text = "\u0645\u06cc\u200c\u062e\u0648 \u202eabc\u202c\u2066x\u2069"
    found = Found([Hit("http://h/", text, 1, "fa", "2026", snippet=text)], 1)
    html = found_page(FRAME, SearchRequest("x"), Query(), found)
    assert html.count("\u0645\u06cc\u200c\u062e\u0648 abcx") == 2
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", html)
    assert 'dir="auto"' in html


def test_json_has_the_hits_and_the_totals() -> None:
    found = json.loads(get(SEARCH_JSON, q="energy", n=2, page=2))
    assert found["total"] == 30 and found["page"] == 2 and found["cut"] is False
    assert found["sites"]["www.site0.example"] == 10
    assert [hit["title"] for hit in found["hits"]] == ["Page 2 about energy", "Page 3 about energy"]
    assert found["hits"][0].keys() == {
        "url", "title", "snippet", "marks", "score", "lang", "fetched"
    }  # fmt: skip
    assert json.loads(get(SEARCH_JSON, q=""))["hits"] == []


def test_a_database_that_fails_is_opened_again() -> None:
    opened: list[SearchableFinder] = []

    class Failing(SearchableFinder):
        def languages(self) -> list[str]:
            raise Unavailable("the server is <down>")

    def opening() -> SearchableFinder:
        opened.append(Failing(STORED) if len(opened) < 2 else SearchableFinder(STORED))
        return opened[-1]

    made = Replies(opening, parse)
    html = made.reply(SEARCH, "q=energy", FRAME)
    assert html.status == 503
    assert "the server is <down>" in words(html.body.decode())
    assert json.loads(made.reply(SEARCH_JSON, "q=energy", FRAME).body) == {
        "error": "the server is <down>"
    }
    assert made.reply(SEARCH, "q=energy", FRAME).status == 200
    assert made.reply(SEARCH, "q=energy", FRAME).status == 200
    assert len(opened) == 3


def test_a_database_that_is_not_there_yet() -> None:
    reply = Replies(no_database, parse).reply(SEARCH, "q=x", FRAME)
    assert reply.status == 503
    assert "there is no database; <crawl> first" in words(reply.body.decode())


def test_the_navigation() -> None:
    with_crawl = tree(search("x")).find("body/header/nav")
    assert len(with_crawl) == 11
    [current] = [a for a in with_crawl if "aria-current" in a.attrib]
    assert current.text == "Search"
    alone = tree(message_page(Frame("larbinpy.db"), SearchRequest(), "no")).find("body/header/nav")
    assert [a.text for a in alone] == ["Search", "Changes"]


@given(st.text(max_size=200), st.sampled_from([SEARCH, SEARCH_JSON, PAGE]))
def test_any_query_gets_a_page(q: str, path: str) -> None:
    text = quote(q, errors="replace")
    reply = replies().reply(path, f"q={text}&url={text}&page=2", FRAME)
    assert reply.status in (200, 404)
    if path != SEARCH_JSON:
        assert "script" not in {tag for tag, *_ in shape(reply.body.decode())}
        q = SearchRequest.of(f"q={text}").q
        value = tree(reply.body.decode()).find(".//input[@name='q']")
        assert path == PAGE or len(value.attrib["value"]) <= len(q)


@pytest.mark.parametrize("query", ["q=caf%C3%A9", "q=caf%E9", "q=caf\xe9"])
def test_a_bookmark_may_be_in_the_encoding_of_the_west(query: str) -> None:
    assert SearchRequest.of(query).q == "caf\xe9"


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=300))
def test_any_query_string_can_be_read(text: str) -> None:
    request = SearchRequest.of(text)
    assert 1 <= request.page <= 1000 and 1 <= request.n <= 100 and request.sort in ("rank", "date")
    again = SearchRequest.of(urlsplit(request.address()).query)
    assert again == SearchRequest(request.q, request.page, request.sort)
    stored = SearchRequest.of(urlsplit(request.address_of(request.url)).query)
    assert stored == SearchRequest(request.q, url=request.url)


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(
    st.fixed_dictionaries({"url": st.text(), "title": st.text()}),
    st.text(),
    st.dictionaries(st.sampled_from(["rest", "headings", "links"]), _VALUES),
)
def test_any_stored_page_can_be_shown(columns: Any, text: str, more: Any) -> None:
    html = stored_page(FRAME, SearchRequest(), Query(), Stored(columns, text, more), [])
    assert "script" not in {tag for tag, *_ in shape(html)}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replies]:
    """Replies from a database file."""
    path = str(tmp_path_factory.mktemp("base") / "larbinpy.db")
    writer = Writer(path)
    texts = ["Solar energy is free", "\u592a\u9633\u80fd\u662f\u4e00\u79cd\u80fd\u6e90", PAYLOAD]
    writer.write([prepared(f"http://a.test/{n}", text, title=text) for n, text in enumerate(texts)])
    writer.close()
    made = Replies(lambda: DatabaseFinder(path), lambda text, known: real_parse(text, known, 1.8e9))
    yield made
    made.close()


_OPERATORS = 'solar "solar energy" -free free* site: lang:en type:html intitle: inurl:a since:7d'
_SYNTAX = "OR AND NEAR( NULL' ; -- \u592a\u9633 \u80fd* \u202e \x00 ( ) ^ : * -"
_WORDS = [*_OPERATORS.split(), *_SYNTAX.split()]
_TYPED = st.lists(st.text(max_size=20) | st.sampled_from(_WORDS), max_size=8).map(" ".join)


@given(_TYPED, st.sampled_from([SEARCH, SEARCH_JSON, PAGE]), st.sampled_from(["rank", "date"]))
def test_anything_can_be_asked_of_a_database(real: Replies, q: str, path: str, sort: str) -> None:
    fields = {"q": q, "sort": sort, "url": "http://a.test/2"}
    reply = real.reply(path, urlencode(fields, errors="replace"), FRAME)
    assert reply.status == 200
    if path != SEARCH_JSON:
        html = reply.body.decode()
        assert "script" not in {tag for tag, *_ in shape(html)}
        assert "\u202e" not in html
