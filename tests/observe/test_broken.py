"""Broken links and redirects, with values: how many hops count, and pages that come twice."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy.observe.report.broken import BrokenLinks, chains
from larbinpy.observe.report.log import LogSummary
from larbinpy.output.links import NAME, LinkRecord
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
    assert broken.page_count == 5
