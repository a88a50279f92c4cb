"""Tags and texts without end are bounded, in time linear in their length."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.parse import links
from larbinpy.parse.charset import KEPT, LONGEST, bounded

LENGTHS = st.sampled_from([0, 1, KEPT, LONGEST // 2, LONGEST - 1, LONGEST, LONGEST + 1, 600_000])


@settings(max_examples=60, deadline=None)
@given(st.lists(LENGTHS, max_size=5), st.booleans())
def test_runs_of_the_bound_and_more_are_replaced(lengths: list[int], ends: bool) -> None:
    runs = ["ab"[number % 2] * length for number, length in enumerate(lengths)]
    expected = ">".join(f"{len(run)}" if len(run) >= LONGEST else run for run in runs)
    text = ">".join(runs) + ">" * ends
    assert bounded(text, ">", lambda run: f"{len(run)}") == expected + ">" * ends
    assert bounded(text.encode(), b">", lambda run: b"%d" % len(run)).decode() == (
        expected + ">" * ends
    )


@pytest.mark.parametrize("length", [LONGEST // 2, LONGEST - 1, LONGEST])
def test_long_tags_cost_no_more_than_their_length(length: int) -> None:
    page = (b"<a href=" + b"x" * length + b">") * (4_000_000 // length)
    started = time.process_time()
    links(page, "http://h.example/")
    assert time.process_time() - started < 1.0
