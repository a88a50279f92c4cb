"""Numbers and URLs of pages in little memory."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from larbinpy.observe.report.broken import PageNumbers, PageUrls


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_numbers_come_back_as_runs(steps: list[tuple[int, int]]) -> None:
    numbers, at = PageNumbers(), 0
    expected: list[int] = []
    for gap, length in steps:
        first = at + gap
        numbers.add(first, first + length)
        expected += range(first, first + length + 1)
        at = first + length + 1
    runs = list(numbers.runs())
    assert [n for first, last in runs for n in range(first, last + 1)] == expected
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(runs))
    assert bool(numbers) == bool(steps)


@given(st.lists(st.sampled_from([f"http://a.test/{n}" for n in range(9)])))
def test_urls_come_back_and_repeats_are_known(urls: list[str]) -> None:
    pages = PageUrls()
    for url in urls:
        pages.add(url)
    assert len(pages) == len(urls)
    assert [pages.between(n, n)[0] for n in range(len(urls))] == urls
    if urls:
        assert pages.between(0, len(urls) - 1) == urls
    twice = {n: urls.index(url) for n, url in enumerate(urls) if urls.count(url) > 1}
    assert pages.repeats() == twice
