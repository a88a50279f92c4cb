"""The options of reading, as arguments of a process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.database.indexer.reader import ReadOptions


@given(st.builds(ReadOptions, st.booleans(), st.booleans(), st.sampled_from(("off", "mark"))))
def test_arguments_say_all(options: ReadOptions) -> None:
    assert ReadOptions.of(options.arguments()) == options
    assert ReadOptions.of([]) == ReadOptions()


@pytest.mark.parametrize(("near", "skips"), [("off", False), ("mark", False), ("skip", True)])
def test_near_copies_leave_the_index_with_skip(near: str, skips: bool) -> None:
    options = ReadOptions(near_duplicates=near)
    assert ReadOptions.of(options.arguments()).skip_near is skips
