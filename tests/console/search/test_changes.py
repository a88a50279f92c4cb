"""The page about changes and the feed: their parts, and stored text that stays text."""

import re
from collections.abc import Sequence
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from larbinpy.console.search.form import Frame
from larbinpy.console.search.replies import SHOWN, Replies, feed
from larbinpy.console.status.markup import CHANGES, FEED, FEED_TYPE, relative
from larbinpy.database.base import Change
from tests.support.searchable import PAYLOAD, SearchableFinder, no_database, parse

FRAME = Frame("books", "running", with_crawl=True)
ATOM = "{http://www.w3.org/2005/Atom}"
_ID = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def change(number: int, kind: str = "changed", **fields: Any) -> Change:
    at = f"2026-11-{number // 24 + 1:02}T{number % 24:02}:00:00Z"
    return Change(at, f"http://a.test/{number}", kind, **{"title": f"Page {number}", **fields})


MANY = [change(number) for number in range(2 * SHOWN + 3, 0, -1)]


def get(path: str, changes: Sequence[Change], query: str = "") -> bytes:
    finder = SearchableFinder([])
    finder.changed = list(changes)
    reply = Replies(lambda: finder, parse).reply(path, query, FRAME)
    assert (reply.status, reply.type) == (200, FEED_TYPE if path == FEED else reply.type)
    return reply.body


def page(changes: Sequence[Change], query: str = "") -> Any:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    found = parser.parse(get(CHANGES, changes, query).decode())
    assert parser.errors == []
    return found


def links(tree: Any) -> dict[str, str]:
    return {"".join(a.itertext()): a.attrib["href"] for a in tree.find("body/main").iter("a")}


def checked(body: bytes) -> Any:
    """The feed, if it has what RFC 4287 asks of feeds and entries without a source (4.1)."""
    root = etree.fromstring(body)
    assert root.tag == f"{ATOM}feed"
    for element in [root, *root.findall(f"{ATOM}entry")]:
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1
        assert _ID.fullmatch(str(element.findtext(f"{ATOM}id")))
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert len(ids) == len(set(ids))
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    for entry in root.iter(f"{ATOM}entry"):
        assert len(entry.findall(f"{ATOM}content")) == 1
    return root


def entries(body: bytes) -> list[tuple[Any, ...]]:
    """Title, time, link and content of each entry."""
    found = []
    for entry in checked(body).iter(f"{ATOM}entry"):
        link = entry.find(f"{ATOM}link[@rel='alternate']")
        texts = [entry.findtext(f"{ATOM}{name}") for name in ("title", "updated", "content")]
        found.append((texts[0], texts[1], None if link is None else link.get("href"), texts[2]))
    return found


def test_the_page_lists_changes_with_links_to_stored_pages() -> None:
    tree = page([change(2, "moved", target="http://b.test/"), change(1, "gone", title="")])
    rows = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert rows == [
        ["When (UTC)", "What", "Page"],
        ["2026-11-01 02:00:00", "moved", "Page 2http://a.test/2 moved to http://b.test/"],
        ["2026-11-01 01:00:00", "gone", "(no title)http://a.test/1"],
    ]
    assert links(tree)["Page 2"] == "page.html?q=&url=http://a.test/2"
    (current,) = [a for a in tree.find("body/header/nav") if "aria-current" in a.attrib]
    assert current.text == "Changes"
    # The script of the status pages leaves such links alone.
    assert current.attrib["rel"]


def test_the_page_names_the_feed() -> None:
    tree = page([])
    (found,) = [a for a in tree.iter("link") if a.attrib["rel"] == "alternate"]
    assert (found.attrib["type"], found.attrib["href"]) == (FEED_TYPE, relative(FEED))
    assert links(tree)["feed"] == relative(FEED)
    assert "No page has changed." in "".join(tree.find("body/main").itertext())


@pytest.mark.parametrize(
    ("query", "first", "expected"),
    [
        ("", 2 * SHOWN + 3, {"Older": "changes.html?page=2"}),
        ("page=2", SHOWN + 3, {"Newer": relative(CHANGES), "Older": "changes.html?page=3"}),
        ("page=3", 3, {"Newer": "changes.html?page=2"}),
        ("page=99", None, {"Newer": "changes.html?page=98"}),
    ],
)
def test_the_pages_of_changes(query: str, first: int | None, expected: dict[str, str]) -> None:
    found = links(page(MANY, query))
    shown = [int(text.removeprefix("Page ")) for text in found if text.startswith("Page ")]
    assert shown[:1] == ([] if first is None else [first])
    assert len(shown) <= SHOWN
    assert {text: to for text, to in found.items() if text in ("Older", "Newer")} == expected


def test_a_full_page_is_not_said_to_go_on() -> None:
    assert "Older" not in links(page(MANY[:SHOWN]))
    assert "Older" in links(page(MANY[: SHOWN + 1]))


def test_the_feed_has_an_entry_for_each_change() -> None:
    body = get(FEED, [change(2, "moved", target="http://b.test/?a&b"), change(1, "new", title="")])
    assert entries(body) == [
        ("moved: Page 2", "2026-11-01T02:00:00Z", "http://a.test/2",
         "The page has moved. It is at http://b.test/?a&b now."),
        ("new: http://a.test/1", "2026-11-01T01:00:00Z", "http://a.test/1", "The page is new."),
    ]  # fmt: skip
    root = checked(body)
    assert root.findtext(f"{ATOM}updated") == "2026-11-01T02:00:00Z"
    assert root.findtext(f"{ATOM}title") == "Changes - larbinpy books"


def test_the_parts_of_the_feed_name_the_next_one() -> None:
    hrefs, urls = [], []
    for query in ("", "page=2", "page=3"):
        body = get(FEED, MANY, query)
        named = {link.get("rel"): link.get("href") for link in checked(body).findall(f"{ATOM}link")}
        hrefs.append((named["self"], named.get("next")))
        urls += [url for _, _, url, _ in entries(body)]
    assert hrefs == [
        ("changes.xml", "changes.xml?page=2"),
        ("changes.xml?page=2", "changes.xml?page=3"),
        ("changes.xml?page=3", None),
    ]
    assert urls == [each.url for each in MANY]


def test_an_entry_keeps_its_id() -> None:
    ids = [
        [entry.findtext(f"{ATOM}id") for entry in checked(feed(name, MANY[:n], 1, more=False))
         .iter(f"{ATOM}entry")]
        for name, n in (("books", 3), ("other", 2))
    ]  # fmt: skip
    assert ids[0][:2] == ids[1]


def test_a_change_that_is_there_twice_is_one_entry() -> None:
    assert len(entries(feed("x", [change(1), change(1), change(1, "gone")], 1, more=False))) == 2


def test_a_feed_without_changes_is_valid() -> None:
    assert entries(feed("", [], 1, more=False)) == []


def test_stored_text_stays_text() -> None:
    evil = Change("2026-11-01T00:00:00Z", "javascript:alert(1)", PAYLOAD, PAYLOAD, PAYLOAD)
    usual = page([change(1, "moved", target="http://b.test/")])
    shape = {(node.tag, *sorted(node.attrib)) for node in usual.iter()}
    tree = page([evil])
    assert {(node.tag, *sorted(node.attrib)) for node in tree.iter()} <= shape
    assert all(
        re.match(r"\w+\.(html|xml)", a.attrib["href"]) for a in tree.find("body/main").iter("a")
    )
    root = checked(get(FEED, [evil]))
    assert {node.tag.removeprefix(ATOM) for node in root.iter()} == {
        *("feed", "id", "title", "updated", "author", "name", "link"),
        *("entry", "category", "content"),
    }
    assert "javascript:" not in [link.get("href", "")[:11] for link in root.iter(f"{ATOM}link")]


@given(st.text(), st.text(), st.text(), st.none() | st.text())
def test_any_text_makes_a_feed(url: str, kind: str, title: str, target: str | None) -> None:
    changes = [Change("2026-11-01T00:00:00Z", url, kind, title, target)]
    checked(feed(title, changes, 1, more=True))


def test_a_large_feed_stays_below_the_limit_of_a_reply() -> None:
    url = f"http://a.test/{'&' * 8000}"
    changes = [Change(f"{n:04}", url, "moved", "&" * 300, url) for n in range(SHOWN + 1)]
    for path in (FEED, CHANGES):
        assert len(get(path, changes)) < 4 << 20


def test_a_database_that_is_not_there_yet() -> None:
    for path in (FEED, CHANGES):
        reply = Replies(no_database, parse).reply(path, "", FRAME)
        assert reply.status == 503
