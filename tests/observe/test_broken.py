"""Broken links and redirects, with values: how many hops count, and pages that come twice."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy.observe.report.broken import BrokenLinks, Group, Judging, chains, follow, judging_of
from larbinpy.observe.report.log import LogSummary, Redirect
from larbinpy.output.links import CHECK, NAME, CheckRecord, LinkRecord
from larbinpy.page import Outcome, Page
from larbinpy.parse import read
from larbinpy.url import Url
from tests.support.frontiers import links


def url(name: object) -> str:
    return f"http://a.test/{name}"


def line(name: object, outcome: str, **more: Any) -> dict[str, Any]:
    made = {"ts": "2026-11-26T08:00:00.000Z", "url": url(name), "outcome": outcome}
    return {**made, "status": 200, "size": 9, "ms": 1, "via": url("page"), **more}


def moved(name: int, to: int) -> dict[str, Any]:
    return line(name, "err30X", status=302, detail=url(to))


def summary(*lines: dict[str, Any]) -> LogSummary:
    made = LogSummary()
    for each in lines:
        made.add(each)
    return made


@pytest.mark.parametrize(("hops", "reasons"), [(10, []), (11, ["more than 10 redirects in a row"])])
def test_ten_redirects_in_a_row_are_followed(hops: int, reasons: list[str]) -> None:
    redirects = [moved(number, number + 1) for number in range(hops)]
    found = summary(*redirects, line(hops, "success"))
    broken = [link for link in BrokenLinks(found).links if link.url == url(0)]
    assert [link.reason for link in broken] == reasons
    [chain] = chains(found.redirects, [url(0)])
    assert len(chain.hops) == hops


def test_a_page_that_was_fetched_twice_is_listed_once(tmp_path: Path) -> None:
    record = LinkRecord(tmp_path / NAME)
    for page in ("1", "2", "1", "3", "2"):
        record.page(url(page), links(url("gone"), url(f"only-on-{page}")))
    record.flush()
    record.close()
    gone = (line(name, "err40X", status=404) for name in ("gone", "only-on-2"))
    broken = BrokenLinks(summary(*gone))
    broken.find_pages([tmp_path])
    pages = [list(broken.pages(number)) for number in range(len(broken))]
    assert pages == [[url("1"), url("2"), url("3")], [url("2")]]
    assert [broken.count(number) for number in range(len(broken))] == [3, 1]
    assert broken.page_count(Group.BROKEN) == 3
    assert broken.page_count(Group.REFUSED) == 0


@pytest.mark.parametrize(
    ("status", "listed", "group"),
    [
        (404, {}, Group.BROKEN),
        (410, {}, Group.BROKEN),
        (500, {}, Group.BROKEN),
        *((status, {}, Group.REFUSED) for status in (401, 403, 405, 429, 451, 999)),
        (403, {"broken": ["403"]}, Group.BROKEN),
        (429, {"broken": ["400-499"]}, Group.BROKEN),
        (403, {"accept": ["4xx"], "broken": ["403"]}, Group.BROKEN),
        (503, {"accept": ["403,5xx"]}, None),
        (404, {"accept": ["403,5xx"]}, Group.BROKEN),
        (404, {"known": [url("it")]}, Group.KNOWN),
        (403, {"known": [url("it")]}, Group.REFUSED),
    ],
)
def test_the_status_decides_about_a_link(
    status: int, listed: dict[str, Any], group: Group | None
) -> None:
    outcome = "err50X" if 500 <= status < 600 else "err40X"
    lines = [line("it", outcome, status=status), moved(1, 2), line("2", outcome, status=status)]
    found = BrokenLinks(summary(*lines), Judging(**listed)).links
    assert [link.group for link in found if link.url == url("it")] == ([group] if group else [])
    # That of a redirect is the one of its end.
    plain = group if group is not Group.KNOWN else Group.BROKEN
    assert [link.group for link in found if link.url == url(1)] == ([plain] if plain else [])


def test_a_page_like_one_that_is_not_there_is_broken() -> None:
    [link] = BrokenLinks(summary(line("it", "err40X", detail="soft 404: x"))).links
    assert link.group is Group.BROKEN


def checks(
    folder: Path, pages: dict[str, str], *more: dict[str, Any], **judges: Any
) -> BrokenLinks:
    """The broken links of a check that has read these pages."""
    record = CheckRecord(folder / CHECK, judges)
    headers = [("content-type", "text/html")]
    for name, body in pages.items():
        page = Page(Url(url(name), 0), Outcome.SUCCESS, 200, headers, body.encode())
        checked = read(page, "x", checking=True).checked
        assert checked is not None
        record.checked(page.url.href, checked)
    record.flush()
    record.close()
    lines = [line(name, "success") for name in pages]
    found = BrokenLinks(summary(*lines, *more), judging_of(folder))
    found.find_pages([folder])
    return found


def missing(found: BrokenLinks) -> dict[str, list[str]]:
    """The pages of each link to a part that is not there."""
    return {
        link.url.removeprefix(url("")): [page.removeprefix(url("")) for page in found.pages(number)]
        for number, link in enumerate(found.links)
        if link.failure.outcome == "noPart"
    }


def test_parts_that_a_page_does_not_have_are_broken(tmp_path: Path) -> None:
    pages = {
        "a": '<h1 id="b">x</h1><a href="#b">1</a><a href="#c">2</a><a href="d#e">3</a>',
        "d": '<a name="f"></a><a href="a#b">1</a><a href="a#c">2</a><a href="d#f">3</a>',
    }
    found = checks(tmp_path, pages)
    assert missing(found) == {"a#c": ["a", "d"], "d#e": ["a"]}
    assert {link.reason for link in found.links} == {"the page has no part of this name"}
    assert found.unseen == {}


def test_a_part_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    found = checks(tmp_path, {"a": '<a href="#b&#27;[2J caf\u00e9">x</a>'})
    assert missing(found) == {"a#b%1B%5B2J%20caf%C3%A9": ["a"]}
    assert list(found.places_of(0)) == [(url("a"), 1, "x")]


def test_parts_are_looked_for_at_the_end_of_redirects(tmp_path: Path) -> None:
    pages = {"a": '<a href="1#x">1</a><a href="1#y">2</a>', "2": "<p id=x>"}
    assert missing(checks(tmp_path, pages, moved(1, 2))) == {"1#y": ["a"]}


def test_parts_of_pages_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    pages = {
        "a": '<a href="app#x">1</a><a href="//b.test/#y">2</a><a href="gone#z">3</a>',
        "app": "<div id=root></div><script src=app.js></script>",
    }
    found = checks(tmp_path, pages, line("gone", "err40X", status=404))
    assert missing(found) == {}
    assert found.unseen == {"script": 1, "unread": 1}


def test_the_line_and_the_text_of_a_link_are_known(tmp_path: Path) -> None:
    pages = {
        "a": '<p>\n<a href="gone">An\n old  page</a><a href="gone#x">again</a>',
        "b": '\n\n\n<img src="gone" alt="a picture"><a href="a#x">x</a>',
    }
    gone = line("gone", "err40X", status=404, via=url("a"))
    found = checks(tmp_path, pages, gone)
    assert found.links[0].url == url("gone")
    assert list(found.places_of(0)) == [(url("a"), 2, "An old page")]
    assert list(found.places_of(1)) == [(url("b"), 4, "x")]


def test_known_faults_that_are_none_any_more_are_named(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text(f"\ufeff# ours\n\n{url('a')}#b\n  {url('old')}\n")
    found = checks(tmp_path, {"a": '<a href="#b">x</a>'}, known=str(known))
    assert [link.group for link in found.links] == [Group.KNOWN]
    assert found.mended == [url("old")]


def test_a_torn_record_of_a_check_is_read(tmp_path: Path) -> None:
    found = checks(tmp_path, {"a": '<a href="#b">x</a>', "c": '<a href="#d">x</a>'})
    path = tmp_path / CHECK
    path.write_bytes(path.read_bytes()[:-9])
    again = BrokenLinks(summary(line("a", "success"), line("c", "success")))
    again.find_pages([tmp_path])
    assert missing(again) == missing(found)


@pytest.mark.parametrize(
    ("urls", "difference"),
    [
        (["http://a.test/x", "https://a.test/x"], "http and https"),
        (["http://a.test/x", "http://www.a.test/x"], "www."),
        (["http://a.test/x", "http://b.test/x"], "the host"),
        (["http://a.test/x", "http://a.test:81/x"], "the port"),
        (["http://a.test/x", "http://a.test/x/"], "the slash at the end"),
        (["http://a.test/x", "http://a.test/X"], "upper and lower case"),
        (["http://a.test/x", "http://a.test/y", "http://a.test/z"], "the path"),
        (["http://a.test/x", "http://a.test/x?y"], "the query"),
        (["http://a.test/x", "https://www.a.test/x?y"], "http and https and www. and the query"),
    ],
)
def test_a_circle_says_in_what_its_urls_differ(urls: list[str], difference: str) -> None:
    there = dict(zip(urls, [*urls[1:], urls[0]], strict=True))
    redirects = {url: Redirect(302, target, None) for url, target in there.items()}
    hops, why = follow(urls[0], redirects)
    assert hops == (*urls[1:], urls[0])
    assert why == f"its redirects go in a circle: its URLs differ in {difference}"
