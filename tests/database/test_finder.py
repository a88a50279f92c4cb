"""Questions to a database: words, filters, order, what is shown of a page."""

from collections.abc import Iterator
from contextlib import closing
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from larbinpy.database.base import Change, Finder, Wish
from larbinpy.database.preparation import Gone
from larbinpy.database.search.query import Form, Item, Query, parse
from larbinpy.database.writer import Writer
from larbinpy.loop.clock import clock
from tests.support.databasepages import prepared
from tests.support.databases import Database
from tests.support.finderpages import (
    BERG,
    BOATS,
    COPY,
    HARBOUR,
    NIGHT,
    PAGES,
    PATIENT,
    PDF,
    SEA,
    ask,
    fill,
    page,
    urls,
)
from tests.support.questions import item, query


@pytest.fixture(name="filled")
def _filled(database: Database) -> Database:
    fill(database.where, PAGES)
    return database


@pytest.fixture(name="finder")
def _finder(filled: Database) -> Iterator[Finder]:
    finder = filled.finder(clock)
    yield finder
    finder.close()


def test_words_are_anded_and_titles_come_first(finder: Finder) -> None:
    assert ask(finder, query("sea")) == [SEA, BOATS]
    assert ask(finder, query("blue", "salt")) == [SEA, BOATS]
    assert ask(finder, query("boat")) == [BOATS, HARBOUR]
    assert ask(finder, query("nothing")) == []


def test_phrases_prefixes_and_unwanted_words(finder: Finder) -> None:
    assert ask(finder, query("blue sea")) == [BOATS]
    assert set(ask(finder, query("wat*"))) == {SEA, HARBOUR, PDF}
    assert set(ask(finder, query("water", unwanted=(item("salt"),)))) == {HARBOUR, PDF}
    assert set(ask(finder, query("water", unwanted=(item("salt"), item("report"))))) == {HARBOUR}


def test_alternatives_of_a_word(finder: Finder) -> None:
    either = Item("boats", (Form(("boat",)), Form(("harbour",))))
    assert set(ask(finder, query(either))) == {BOATS, HARBOUR}


def test_fields(finder: Finder) -> None:
    assert ask(finder, query(item("sea", "title"))) == [SEA]
    assert ask(finder, query(item("boats", "url"))) == [BOATS]
    assert ask(finder, query("water", item("harbour", "url"))) == [HARBOUR]


def test_the_text_of_a_link_finds_the_page_that_it_leads_to(finder: Finder) -> None:
    assert ask(finder, query("ships", "night")) == [HARBOUR]


def test_pages_that_are_named_as_the_query_come_first(filled: Database) -> None:
    """However long they are, and however often others have the words."""
    filled.empty()
    long = "Many words about other things. " * 50
    settings = page("http://a.test/", long, title="Settings")
    printing = page("http://b.test/", "Settings of settings.", title="Print settings")
    linked = page("http://c.test/", long + "End.", title="Choices")
    links = ((linked.url, "all settings"), (printing.url, "more settings"))
    others = [
        page(f"http://d.test/{number}", f"Text {number}.", links=links) for number in range(9)
    ]
    fill(filled.where, [settings, printing, linked, *others])
    finder = filled.finder(clock)
    assert urls(finder.search(query("settings"), Wish(limit=PATIENT)))[0] == settings.url
    assert urls(finder.search(query("all settings"), Wish(limit=PATIENT)))[0] == linked.url
    finder.close()


def test_a_site_is_a_host_or_a_domain_with_its_hosts(finder: Finder) -> None:
    assert set(ask(finder, query("blue", site="a.test"))) == {SEA, BOATS}
    assert ask(finder, query("blue", site="www.a.test")) == [BOATS]
    assert ask(finder, query("boat", site="b.test")) == [HARBOUR]
    assert ask(finder, query("boat", site="b.test:8080")) == [HARBOUR]
    assert ask(finder, query("boat", site="b.test:80")) == []
    assert ask(finder, query("blue", site="test.a")) == []


def test_filters_by_language_type_and_time(finder: Finder) -> None:
    assert ask(finder, query("meer", lang="de")) == [BERG]
    assert ask(finder, query("meer", lang="en")) == []
    assert ask(finder, query("water", type="pdf")) == [PDF]
    assert ask(finder, query("water", type="application/pdf")) == [PDF]
    assert set(ask(finder, query("water", since="2026-11-21"))) == {SEA, PDF}


def test_pages_that_pass_a_filter_can_be_left_out(filled: Database) -> None:
    fill(filled.where, [prepared("http://d.test/", "Blue.", type=None, lang=None)])
    with closing(filled.finder(clock)) as finder:
        assert ask(finder, query("blue", excluded=(("site", "a.test"),))) == ["http://d.test/"]
        unfit = (("type", "pdf"), ("site", "www.a.test"), ("site", "b.test"))
        assert ask(finder, query("water", excluded=unfit)) == [SEA]
        assert "http://d.test/" in ask(finder, query(excluded=(("lang", "en"), ("lang", "de"))))
        assert set(ask(finder, query(excluded=(("lang", "en"),)))) == {BERG, "http://d.test/"}
        since = (("since", "2026-11-21"),)
        assert ask(finder, query("water", excluded=since)) == [HARBOUR]
        assert ask(finder, query("water", excluded=(("site", "nowhere.test"),), lang="en"))


def test_a_page_has_one_of_several_values(finder: Finder) -> None:
    for name, one, other in (
        ("site", "www.a.test", "b.test"),
        ("site", "www.a.test/sea", "b.test"),
        ("lang", "de", "zh"),
        ("type", "pdf", "text/plain"),
        ("type", "application", "plain"),
    ):
        alone = [set(ask(finder, query(**{name: value}))) for value in (one, other)]
        assert set(ask(finder, query(**{name: f"{one} {other}"}))) == alone[0] | alone[1]
    assert ask(finder, query("water", type="application text")) != []
    assert ask(finder, query("water", type="image")) == []


def test_newest_first(finder: Finder) -> None:
    """A date in the future is not believed; pages without one are as old as the database."""
    assert ask(finder, query("water"), "date") == [HARBOUR, SEA, PDF]


def test_a_page_that_claims_to_be_of_tomorrow_is_as_old_as_its_first_visit(
    filled: Database,
) -> None:
    """Its zone may be east of ours, so that is no fault."""
    early, late = "2026-11-23T08:00:00Z", "2026-11-23T10:00:00Z"
    claims = [
        page("http://d.test/1", "Lava.", at=early, published="2026-11-24T01:00:00+13:00"),
        page("http://d.test/2", "Lava.", title="Other", at=late),
        page("http://d.test/3", "Lava.", title="Third", at=late, published="2026-11-23T09:00:00Z"),
    ]
    fill(filled.where, claims)
    with closing(filled.finder(clock)) as finder:
        found = finder.search(query("lava"), Wish(sort="date"))
        assert [(hit.url[-1], hit.date) for hit in found.hits] == [
            ("2", late),
            ("3", "2026-11-23T09:00:00Z"),
            ("1", early),
        ]


def test_filters_alone_list_pages_by_date_without_copies(finder: Finder) -> None:
    assert ask(finder, query(site="test")) == [BERG, HARBOUR, BOATS, SEA, PDF, NIGHT]
    assert ask(finder, query(lang="de")) == [BERG]
    assert ask(finder, query(site="b.test", unwanted=(item("report"),))) == [HARBOUR]
    assert ask(finder, query()) == []


def test_frequent_words_decide_only_if_there_are_no_others(finder: Finder) -> None:
    the = item("nothing", common=True)
    assert ask(finder, query("sea", the)) == [SEA, BOATS]
    assert ask(finder, query(item("the", common=True))) == [SEA, BOATS, HARBOUR]


def test_pages_of_hits(finder: Finder) -> None:
    everything = [
        finder.search(query(site="test"), Wish(n=2, page=number, limit=PATIENT))
        for number in (1, 2, 3, 4)
    ]
    assert [urls(found) for found in everything] == [
        [BERG, HARBOUR],
        [BOATS, SEA],
        [PDF, NIGHT],
        [],
    ]
    assert {found.total for found in everything} == {6}


def test_facets(finder: Finder) -> None:
    found = finder.search(query("water"), Wish(facets=True, limit=PATIENT))
    assert found.sites == [("b.test:8080", 2), ("a.test", 1)]
    assert found.langs == [("en", 3)]
    assert found.types == [("text/html", 2), ("application/pdf", 1)]
    assert [time for time, _ in found.since] == ["1d", "7d", "1m", "1y"]
    found = finder.search(query(site="test"), Wish(facets=True, limit=PATIENT))
    assert found.langs == [("en", 5), ("de", 1)]


def test_without_a_page_that_has_all_words_those_with_most(finder: Finder) -> None:
    found = finder.search(query("blue", "salt", "calm"), Wish(limit=PATIENT))
    assert urls(found) == [SEA, BOATS, HARBOUR]
    assert found.missing == ["calm"]
    found = finder.search(query("calm", "volcano"), Wish(limit=PATIENT))
    assert (urls(found), found.missing) == ([HARBOUR], ["volcano"])
    found = finder.search(query("volcano", "salt water lake"), Wish(limit=PATIENT))
    assert urls(found)[0] == SEA
    assert found.missing == ["volcano", "salt water lake"]


def test_a_hit_shows_its_page(finder: Finder) -> None:
    (hit,) = finder.search(query("calm"), Wish(limit=PATIENT)).hits
    assert (hit.title, hit.lang, hit.type) == ("Harbour", "en", "text/html")
    assert hit.snippet == "Boats rest. The water is calm."
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["calm"]
    assert hit.score > 0


def test_a_hit_in_the_rest_of_a_page_is_shown(finder: Finder) -> None:
    hits = finder.search(query("salt"), Wish(limit=PATIENT)).hits
    assert {hit.url: hit.snippet for hit in hits} == {SEA: "Blue water and salt.", BOATS: "salt"}


def test_rows_of_the_index_without_a_page_are_not_shown(filled: Database, finder: Finder) -> None:
    filled.execute("UPDATE page SET gone = '2026-11-23' WHERE url = ?", SEA)
    filled.execute("DELETE FROM page WHERE url = ?", PDF)
    assert ask(finder, query("water")) == [HARBOUR]


def test_show_by_any_spelling_of_the_url(finder: Finder) -> None:
    for spelling in (HARBOUR, "b.test:8080/harbour", "HTTP://B.test:8080/./harbour"):
        stored = finder.show(spelling)
        assert stored is not None
        assert stored.columns["url"] == HARBOUR
    assert stored is not None
    assert stored.columns["host"] == "b.test:8080"
    assert stored.text == "Boats rest. The water is calm."
    assert stored.more["headings"] == []
    assert stored.anchors == ["Where ships are at night"]
    assert finder.show("http://nowhere.test/") is None
    assert finder.show("\0 no URL") is None
    copy = finder.show(COPY)
    assert copy is not None and copy.columns["same_as"] == BOATS


def test_show_finds_a_view_before_the_page_that_it_is_of(database: Database) -> None:
    web = "http://a.test/app"
    fill(database.where, [page(web, "The app"), page(f"{web}#/b", "A view")])
    finder = database.finder(clock)
    found = [finder.show(text) for text in ("a.test/app", "a.test/app#/b", "a.test/app#/c")]
    finder.close()
    assert [stored and stored.text for stored in found] == ["The app", "A view", "The app"]


def test_when_a_page_was_fetched_its_history_and_all_changes(finder: Finder) -> None:
    assert finder.fetched(HARBOUR) == "2026-11-20T08:00:00Z"
    assert finder.fetched("http://nowhere.test/") is None
    assert finder.history(SEA) == [Change("2026-11-23T08:00:00Z", SEA, "new", "The sea")]
    assert finder.history("nowhere.test") == []
    changed = [change.url for change in finder.changes("2026-11-21")]
    assert changed == [SEA, BOATS, BERG, PDF, COPY, NIGHT]
    latest = finder.latest(10)
    assert [change.at for change in latest[-2:]] == ["2026-11-23T08:00:00Z", "2026-11-20T08:00:00Z"]
    assert sorted(change.url for change in latest) == sorted(made.url for made in PAGES)
    assert finder.latest(2, 3) == latest[3:5]
    assert finder.latest(2, 7) == []


def test_changes_of_one_second_have_an_order(filled: Database) -> None:
    (page,) = filled.rows("SELECT id FROM page WHERE url = ?", SEA)
    kinds = [("gone", None), ("moved", BOATS), ("changed", None), ("moved", BERG), ("back", None)]
    for kind, target in kinds:
        at = "2026-11-23T08:00:00Z"
        filled.execute("INSERT INTO change VALUES (?, ?, ?, ?, ?)", at, page, kind, 1, target)
    with closing(filled.finder(clock)) as finder:
        history = [(change.kind, change.target) for change in finder.history(SEA)]
    assert history == [("new", None), *sorted(kinds, key=lambda each: (each[0], each[1] or ""))]


def test_the_target_of_a_page_that_moved(filled: Database) -> None:
    """A change keeps its target, also after the page has come back and moved to elsewhere."""
    with closing(Writer(filled.where)) as writer:
        writer.write([Gone(SEA, "2026-11-24T08:00:00Z", 301, BOATS)])
    with closing(filled.finder(clock)) as finder:
        (moved,) = finder.changes("2026-11-24")
        assert moved == Change("2026-11-24T08:00:00Z", SEA, "moved", "The sea", BOATS)
        assert finder.history(SEA)[1:] == [moved]
        assert finder.latest(1) == [moved]
    with closing(Writer(filled.where)) as writer:
        back = [page(SEA, "Water.", title="Sea", at=f"2026-11-{day}T08:00:00Z") for day in (25, 27)]
        elsewhere = Gone(SEA, "2026-11-26T08:00:00Z", 301, BERG)
        writer.write([back[0], elsewhere, back[1], Gone(SEA, "2026-11-28T08:00:00Z", 410)])
    with closing(filled.finder(clock)) as finder:
        history = [(change.kind, change.target) for change in finder.history(SEA)]
        moves = [("moved", BOATS), ("back", None), ("moved", BERG), ("back", None)]
        assert history == [("new", None), *moves, ("gone", None)]
        assert next(iter(finder.changes("2026-11-24"))) == moved._replace(title="Sea")


def test_all_pages_languages_and_counts(finder: Finder) -> None:
    assert [stored.columns["url"] for stored in finder.pages()] == [made.url for made in PAGES]
    assert finder.languages() == ["en", "de"]
    counts = finder.counts()
    assert counts.pop("bytes") > 10_000
    assert counts == {"pages": 7, "gone": 0, "hosts": 4}
    assert finder.body(SEA) is None


def test_languages_of_pages_that_come_later(filled: Database) -> None:
    ticks = Ticks(10**6)
    finder = filled.finder(ticks)
    assert finder.languages() == ["en", "de"]
    fill(filled.where, [page("http://d.test/", "Bonjour.", lang="fr")])
    assert finder.languages() == ["en", "de"]
    ticks.looks += 10**6 + 20
    assert finder.languages() == ["en", "de", "fr"]
    finder.close()


class Ticks:
    """A clock that goes on by a second at each look from `late` on."""

    def __init__(self, late: int) -> None:
        self.looks = 0
        self._late = late

    def __call__(self) -> float:
        self.looks += 1
        return float(max(0, self.looks - self._late))


@pytest.mark.parametrize(
    "asked",
    [
        query("water"),
        query("water", "wat*"),
        query("water", lang="en"),
        query("water", "volcano"),
        query(site="test"),
    ],
    ids=str,
)
def test_without_time_an_answer_is_cut_and_says_so(filled: Database, asked: Query) -> None:
    for late in range(30):
        finder = filled.finder(Ticks(late))
        found = finder.search(asked, Wish(facets=True))
        assert found.cut or found.hits
        finder.close()


ODD = [
    *('"', "AND", "OR NOT", "NEAR(", "*", "^", "{title}", "ft:", "\0", "'; DROP TABLE page; --"),
    *("\u202e", "\U0001f600", "\ud800", "blue", "-", "site:", "intitle:", "since:", "水", "wat*"),
]
WORDS = st.text() | st.sampled_from(ODD)


@given(st.lists(WORDS, max_size=8), st.sampled_from(["", " ", ":", "*"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_is_a_query(finder: Finder, parts: list[str], between: str) -> None:
    finder.search(parse(between.join(parts), finder.languages(), 1.8e9), Wish(facets=True))


@pytest.mark.parametrize(
    "text",
    [
        *("blue " * 5000, '"' * 10_000, "水" * 10_000, "a*" * 5000, "(" * 10_000, "é" * 10_000),
        *(" ".join(f"word{number}" for number in range(5000)), "-a " * 5000, "\0" * 10_000),
    ],
    ids=lambda text: text[:10],
)
def test_long_queries_are_answered_soon(finder: Finder, text: str) -> None:
    began = process_time()
    finder.search(parse(text, finder.languages(), 1.8e9), Wish())
    assert process_time() - began < 1.0


@pytest.mark.parametrize(
    "tokens", [("a\0b",), ('"',), ("\ud800",), ("",), (), ('" OR "',), ("{title}", ":")], ids=repr
)
def test_tokens_that_no_segmenter_makes_are_no_syntax(finder: Finder, tokens: Any) -> None:
    finder.search(query(Item("odd", (Form(tokens), Form(tokens, True)))), Wish())


A, B, C = (f"http://d.test/{name}" for name in "abc")


@pytest.fixture(name="forms")
def _forms(database: Database) -> Iterator[Finder]:
    pages = [
        page(A, "The council pays all expenses of the trip."),
        page(B, "Solar panels are expensive. Expensive! Very expensive.", rest="Solved it."),
        page(C, "Meetings.", title="The solvers", rest="An expense.", summary="Of a wharf."),
    ]
    fill(database.where, pages)
    with closing(database.finder(clock)) as finder:
        yield finder


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ('"expenses"', [A]),
        ("+expenses", [A]),
        ('"expense"', [C]),
        ('"expensive panels"', []),
        ('"panels are expensive"', [B]),
        ('intitle:"solvers"', [C]),
        ('intitle:"solver"', []),
        ('"solved"', [B]),
        ("wharf", [C]),
        ('site:d.test -"expenses" -"expensive"', [C]),
        ('panels -"expense"', [B]),
        ('council -"expenses"', []),
    ],
)
def test_words_in_quotes_are_meant_as_typed(forms: Finder, typed: str, found: list[str]) -> None:
    for sort in ("rank", "date"):
        assert ask(forms, parse(typed, ["en"], 0.0), sort) == found


def test_pages_with_the_words_as_typed_come_first(forms: Finder) -> None:
    assert ask(forms, parse("expenses", ["en"], 0.0))[0] == A
    assert ask(forms, parse("expensive", ["en"], 0.0))[0] == B


def test_a_site_may_have_a_path(finder: Finder) -> None:
    for site, found in (("a.test/", {SEA, BOATS}), ("a.test/sea", {SEA}), ("a.test/se", {SEA})):
        assert set(ask(finder, parse(f"site:{site}", [], 0.0))) == found
    assert ask(finder, parse("blue -site:a.test/boats", ["en"], 0.0)) == [SEA]


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("expnses", "expenses"),
        ("coucnil", "council"),
        ("councjl pays", "council pays"),
        ("cuoncil EXPENSIVVE", "council expensive"),
        ("zzzzzz", ""),
        ("cat 12345", ""),
        ("council", ""),
    ],
)
def test_a_mistyped_word_is_one_of_the_pages(forms: Finder, typed: str, instead: str) -> None:
    found = forms.search(parse(typed, ["en"], 0.0), Wish(limit=PATIENT))
    assert found.instead == instead
