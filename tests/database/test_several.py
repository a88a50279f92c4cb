"""Several databases as one, and the answers of several as one."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from larbinpy.database.base import DatabaseError, Finder, Found, Hit, Wish
from larbinpy.database.finder import (
    DatabaseFinder,
    SeveralFinders,
    fields_of,
    found_of,
    merged,
    open_finders,
)
from larbinpy.database.search.query import Query
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared
from tests.support.fakefinder import FakeFinder
from tests.support.questions import query

T1, T2, T3 = (f"2026-11-2{day}T08:00:00Z" for day in (1, 2, 3))


def hit(name: str, score: float, at: str = T1) -> Hit:
    return Hit(f"http://{name}.test/", name, score, "en", at, date=at)


def urls(found: Found) -> str:
    return " ".join(hit.title for hit in found.hits)


def test_hits_are_merged_by_score_or_date() -> None:
    one = Found([hit("a", 9, T1), hit("b", 5, T3)], total=2)
    two = Found([hit("c", 7, T2), hit("d", 1, T1)], total=2, cut=True)
    ranked = merged([one, two], Wish(n=3))
    assert (urls(ranked), ranked.total, ranked.cut) == ("a c b", 4, True)
    assert urls(merged([one, two], Wish(n=3, page=2))) == "d"
    assert urls(merged([one, two], Wish(n=3, page=3))) == ""
    assert urls(merged([one, two], Wish(sort="date"))) == "b c a d"
    assert merged([], Wish()) == Found()


def test_of_a_url_the_newest_page_counts() -> None:
    one = Found([hit("a", 9, T1), hit("b", 5, T1)], total=12)
    two = Found([hit("a", 4, T2)], total=1)
    found = merged([one, two], Wish())
    assert [(each.title, each.score) for each in found.hits] == [("b", 5), ("a", 4)]
    assert found.total == 12


def test_pages_with_all_words_come_alone() -> None:
    all_words = Found([hit("a", 1)], total=1, notes=["x", "y"])
    some = Found([hit("b", 9)], total=30, missing=["word"], notes=["y"])
    none = Found(missing=[], total=0, seconds=0.5)
    found = merged([some, all_words, none], Wish())
    assert (urls(found), found.total, found.missing) == ("a", 1, [])
    assert (found.notes, found.seconds) == (["y", "x"], 0.5)
    found = merged([some, none], Wish())
    assert (urls(found), found.missing) == ("b", ["word"])


def test_facets_are_summed() -> None:
    one = Found(sites=[("a.test", 3), ("b.test", 1)], langs=[("en", 4)], types=[("t", 1)])
    two = Found(sites=[("b.test", 9)], langs=[("zh", 5), ("en", 4)], types=[("t", 2)])
    found = merged([one, two], Wish())
    assert found.sites == [("b.test", 10), ("a.test", 3)]
    assert found.langs == [("en", 8), ("zh", 5)]
    assert found.types == [("t", 3)]


def test_an_answer_is_the_same_after_its_way() -> None:
    whole = hit("a", 2.5)
    whole.snippet, whole.marks, whole.published = "one \u202e网 two", [(4, 5)], T2
    found = Found([whole], 1, False, ["w"], notes=["n"], seconds=0.25)
    assert found_of(json.loads(json.dumps(fields_of(found)))) == found


def test_an_answer_is_bounded() -> None:
    found = Found([hit(f"h{n}" * 50, 1) for n in range(100)], total=100)
    fields = fields_of(found, 2000)
    assert 2 < len(fields["hits"]) < 10
    assert (fields["cut"], fields["total"]) == (True, 100)


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> list[str]:
    """Three databases; two have the page /0, and the second its newer version."""
    places = [str(tmp_path / f"{name}.db") for name in "abc"]
    for number, place in enumerate(places):
        with closing(Writer(place)) as writer:
            writer.write(
                [
                    prepared(
                        f"http://a.test/{n}",
                        f"sea number{n} {'sea ' * n}",
                        title=f"T{n}",
                        at=T1,
                        lang="en" if n % 2 else "de",
                    )
                    for n in range(number, 30, 3)
                ]
            )
    with closing(Writer(places[1])) as writer:
        writer.write(
            [
                prepared(
                    "http://a.test/0",
                    "sea of now",
                    title="new",
                    at=T2,
                    body=zstandard.compress(b"!"),
                )
            ]
        )
    return places


@pytest.fixture(name="finder")
def _finder(places: list[str]) -> Iterator[Finder]:
    with closing(open_finders(places)) as finder:
        yield finder


def test_a_search_of_several_databases(finder: Finder) -> None:
    found = finder.search(query("sea"), Wish(n=5))
    assert (len(found.hits), found.total) == (5, 31)
    pages = [finder.search(query("sea"), Wish(n=10, page=page)) for page in (1, 2, 3, 4)]
    hits = [hit for page in pages for hit in page.hits]
    assert sorted(hit.url for hit in hits) == sorted(f"http://a.test/{n}" for n in range(30))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    newest = finder.search(query("sea"), Wish(sort="date")).hits[0]
    assert (newest.title, newest.date) == ("new", T2)
    assert finder.search(query("nothing"), Wish()).hits == []


def test_hits_of_one_database_fill_all_pages(places: list[str]) -> None:
    """All of them may be better than those of the others."""
    with closing(Writer(places[0])) as writer:
        writer.write([prepared(f"http://b.test/{n}", f"salt in jar{n}") for n in range(7)])
    with closing(open_finders(places)) as finder:
        pages = [finder.search(query("salt"), Wish(n=3, page=page)).hits for page in (1, 2, 3)]
    assert [len(hits) for hits in pages] == [3, 3, 1]


class SlowFinder(FakeFinder):
    """Answers after a time of `clock`, a number of one element."""

    def __init__(self, clock: list[float], seconds: float) -> None:
        super().__init__()
        self._clock, self._seconds = clock, seconds

    def search(self, query: Query, wish: Wish) -> Found:
        self._clock[0] += self._seconds
        return super().search(query, wish)


@pytest.mark.parametrize(
    ("seconds", "limits"),
    [((0, 0, 0), [1, 1.5, 3]), ((1, 1, 1), [1, 1, 1]), ((0.5, 0, 2), [1, 1.25, 2.5])],
)
def test_several_databases_share_the_time_of_a_search(
    seconds: tuple[float, ...], limits: list[float]
) -> None:
    """What one leaves is for the others."""
    now = [100.0]
    finders = [SlowFinder(now, each) for each in seconds]
    found = SeveralFinders(finders, lambda: now[0]).search(query("sea"), Wish(limit=3))
    assert [wish.limit for finder in finders for _, wish in finder.asked] == limits
    assert found.seconds == sum(seconds)


def test_a_page_of_several_databases_is_the_newest(finder: Finder) -> None:
    stored = finder.show("http://a.test/0")
    assert stored is not None
    assert stored.text == "sea of now"
    assert finder.fetched("http://a.test/0") == T2
    assert finder.body("http://a.test/0") == b"!"
    assert finder.body("http://a.test/1") is None
    assert finder.show("http://a.test/99") is None
    assert finder.fetched("http://a.test/99") is None
    assert [(each.at, each.kind) for each in finder.history("http://a.test/0")] == [
        (T1, "new"),
        (T2, "new"),
    ]


def test_all_pages_of_several_databases_each_once(finder: Finder) -> None:
    pages = [(page.columns["url"], page.columns["title"]) for page in finder.pages()]
    assert sorted(pages) == sorted(
        (f"http://a.test/{n}", f"T{n}" if n else "new") for n in range(30)
    )
    ats = [change.at for change in finder.changes(T1)]
    assert (len(ats), ats) == (31, sorted(ats))
    latest = finder.latest(40)
    assert [change.at for change in latest] == ats[::-1]
    assert finder.latest(3, 5) == latest[5:8]
    assert finder.counts()["pages"] == 31
    assert set(finder.languages()) == {"en", "de"}


def test_one_that_is_not_there(places: list[str], tmp_path: Path) -> None:
    missing = str(tmp_path / "none.db")
    with pytest.raises(DatabaseError, match=r"none\.db"):
        open_finders([*places, missing])
    with closing(open_finders(places[:1])) as one, closing(DatabaseFinder(places[0])) as same:
        assert type(one) is type(same)
