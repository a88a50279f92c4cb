"""The figures of a log, with values: the last line about a URL counts."""

from typing import Any

from larbinpy.observe.report.log import LogSummary


def line(url: str, outcome: str, **more: Any) -> dict[str, Any]:
    made = {"ts": "2026-11-26T08:00:00.000Z", "url": url, "outcome": outcome}
    return {**made, "status": 200, "size": 9, "ms": 1, "via": None, **more}


def summary(*lines: dict[str, Any]) -> LogSummary:
    made = LogSummary()
    for each in lines:
        made.add(each)
    made.finish()
    return made


def test_a_redirect_that_is_a_page_later_is_none() -> None:
    moved = line("http://a.test/1", "err30X", status=301, detail="http://a.test/2")
    assert summary(moved).redirects.keys() == {"http://a.test/1"}
    assert summary(moved, line("http://a.test/1", "success")).redirects == {}
    assert summary(line("http://a.test/1", "success"), moved).redirects.keys() == {moved["url"]}


def test_a_broken_page_that_is_there_later_is_not_broken() -> None:
    gone = line("http://a.test/1", "err40X", status=404)
    assert summary(gone).broken.keys() == {"http://a.test/1"}
    assert summary(gone, line("http://a.test/1", "success")).broken == {}


def test_a_sitemap_that_is_read_to_its_end_later_is_not_read_in_part() -> None:
    part = line("http://a.test/map", "success", detail="read in part: its XML is broken")
    assert summary(part).parts == {"http://a.test/map": "read in part: its XML is broken"}
    assert summary(part, line("http://a.test/map", "success")).parts == {}
    cut = line("http://a.test/map", "tooBig", detail="read in part: cut at 9 bytes")
    assert summary(part, cut).parts == {"http://a.test/map": "read in part: cut at 9 bytes"}
