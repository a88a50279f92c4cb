"""Texts, titles and dates of the pages of the suite main-text (WCXB), against their truth."""

from statistics import mean

import pytest
from experiments.contents import Score, cases, score, share

from larbinpy.database.content import read
from tests.support.contents import AT
from tests.support.suites import suite

pytestmark = pytest.mark.slow


@pytest.fixture(name="kinds", scope="module")
def _kinds() -> list[tuple[str, Score]]:
    return [(case.kind, score(case, read(case.page, AT))) for case in cases(suite("main-text"))]


@pytest.fixture(name="scores", scope="module")
def _scores(kinds: list[tuple[str, Score]]) -> list[Score]:
    return [each for _, each in kinds]


def test_main_texts_have_the_words_of_the_truth(kinds: list[tuple[str, Score]]) -> None:
    """0.857; the truth is cut after some thousand words on many pages of forums and products."""
    assert mean(each.f1 for _, each in kinds) >= 0.85
    assert mean(each.f1 for kind, each in kinds if kind == "article") >= 0.97
    assert mean(each.f1 for kind, each in kinds if kind == "documentation") >= 0.92


def test_articles_have_the_words_of_a_reader_mode() -> None:
    """0.968, two below a half: a page with another article, and a list of stories."""
    scores = [score(case, read(case.page, AT)).f1 for case in cases(suite("articles"))]
    assert mean(scores) >= 0.965
    assert sum(each < 0.5 for each in scores) <= 2


def test_titles_are_right(scores: list[Score]) -> None:
    """85 % are; readers of one rule, as the first heading, have 60 % of them."""
    assert share(each.title for each in scores) >= 0.84


def test_dates_are_right(scores: list[Score]) -> None:
    assert share(each.date for each in scores) >= 0.84


def test_authors_are_right(scores: list[Score]) -> None:
    assert share(each.author for each in scores) >= 0.60
