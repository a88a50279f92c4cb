"""The hits of a search as they are shown."""

from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.database.base import Hit, Wish
from larbinpy.database.ranking import HitReader, Ranked
from larbinpy.database.sqlite.file import connect
from tests.support.databases import File
from tests.support.finderpages import fill, page
from tests.support.questions import query

ONE, TWO = "http://a.test/one", "http://a.test/two"


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> File:
    file = File(tmp_path / "it.db")
    fill(
        file.where,
        [
            page(ONE, "Blue water and salt.", title="Sea", summary="What the sea is."),
            page(TWO, "Boats on the water.", title="Boats", summary="What boats do."),
        ],
    )
    return file


def read(file: File, *times: float) -> list[Hit]:
    """The two pages as hits for "water", shown by 10.0, at these times."""
    with closing(connect(file.where)) as base:
        pages = [(number, 1.0) for number in file.rows("SELECT id FROM page ORDER BY url")]
        reader = HitReader(lambda ask, given: base.execute(ask, given), iter(times).__next__)
        return reader.read(Ranked(pages, len(pages)), query("water"), Wish(), 10.0)


def test_passages_are_shown_while_there_is_time(file: File) -> None:
    one, two = read(file, 8.0, 9.9)
    assert (one.snippet, one.marks) == ("Blue water and salt.", [(5, 10)])
    assert (two.snippet, two.marks) == ("Boats on the water.", [(13, 18)])
    one, two = read(file, 9.9, 10.0)
    assert one.marks == [(5, 10)]
    assert (two.snippet, two.marks) == ("What boats do.", [])
    one, two = read(file, 10.0, 11.0)
    assert (one.snippet, one.marks) == ("What the sea is.", [])


def test_a_page_without_a_title_is_called_by_its_url(file: File) -> None:
    file.execute("UPDATE page SET title = '' WHERE url = ?", ONE)
    assert [hit.title for hit in read(file, 1.0, 2.0)] == [ONE, "Boats"]


def test_a_page_without_main_text_is_shown_by_the_rest(tmp_path: Path) -> None:
    """Also if the words of the query are elsewhere, as in the text of a link."""
    file = File(tmp_path / "rest.db")
    fill(file.where, [page(ONE, rest="Ropes and nets."), page(TWO, "Knots.", rest="Sails.")])
    one, two = read(file, 1.0, 2.0)
    assert (one.snippet, one.marks) == ("Ropes and nets.", [])
    assert two.snippet == "Knots."


def test_a_damaged_text_is_shown_by_its_summary(file: File) -> None:
    file.execute("UPDATE content SET text = x'00' WHERE page = 1")
    one, two = read(file, 1.0, 2.0)
    assert (one.snippet, one.marks) == ("What the sea is.", [])
    assert two.marks == [(13, 18)]
