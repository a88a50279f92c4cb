"""Titles and dates of the pages of the suite main-text (WCXB), against what people say of them."""

import pytest
from experiments.contents import Score, cases, score, share

from larbinpy.content import read
from tests.support.contents import AT
from tests.support.suites import suite

pytestmark = pytest.mark.slow


@pytest.fixture(name="scores", scope="module")
def _scores() -> list[Score]:
    return [score(case, read(case.page, AT)) for case in cases(suite("main-text"))]


def test_titles_are_right(scores: list[Score]) -> None:
    """85 % are; readers of one rule, as the first heading, have 60 % of them."""
    assert share(each.title for each in scores) >= 0.84


def test_dates_are_right(scores: list[Score]) -> None:
    assert share(each.date for each in scores) >= 0.80


def test_authors_are_right(scores: list[Score]) -> None:
    assert share(each.author for each in scores) >= 0.60
