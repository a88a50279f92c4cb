"""The experiment with `larbinpy report`: its crawl is what it says."""

from pathlib import Path

from experiments.brokenlinks import make

from larbinpy.observe.report.formats import Report

URLS = 2000


def test_the_crawl_has_the_shares_that_it_says(tmp_path: Path) -> None:
    make(tmp_path, URLS)
    report = Report(tmp_path)
    assert report.errors == []
    assert report.summary.urls == URLS
    assert len(report.summary.broken) == URLS * 2 // 100
    assert len(report.summary.redirects) == URLS * 8 // 100
    assert report.robots == URLS * 15 // 100
    assert not report.broken.unknown
    # A page in a hundred links to each URL, and three in ten URLs are pages.
    pages = [report.broken.count(number) for number in range(len(report.broken))]
    assert 10 < sum(pages) / len(pages) < 50
