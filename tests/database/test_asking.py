"""What people type finds what pages say, in files and on servers alike."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from larbinpy.database.base import Finder, Found, Wish
from larbinpy.database.search.query import parse
from larbinpy.loop.clock import clock
from tests.support.databasepages import prepared
from tests.support.databases import Database
from tests.support.finderpages import PATIENT, fill

#: Pages by their paths: language and text.
PAGES = {
    "drinks": ("en", "Red Bull and Kit Kat on a web site. A pine apple, ISO 9001, Windows 11."),
    "joined": ("en", "On this website: redbull, pineapple, iso9001. An apple pie."),
    "codecs": ("en", "The H.264 codec of HTML5 and OAuth2.0, a Remote-robot-assisted tool."),
    "zurich": ("en", "In Zürich, and by the O\u2018zbek border."),
    "arhus": ("da", "Byen Århus ligger ved havet."),
    "azeri": ("az", "Azərbaycan şəhərləri"),
    "catala": ("ca", "La col·lecció de llibres"),
    "ete": ("fr", "Un été chaud."),
    "et": ("fr", "Les fleurs et les arbres."),
    "camel": ("en", "The function checkToolCall and Wi\u2011Fi."),
    "snake": ("en", "The function check_tool_call, wifi."),
    "thai": ("th", "ดื่มน้ำเย็น"),
    "thai2": ("th", "ดื่มนํ้าเย็น"),
    "yen": ("ja", "価格は約1,000円です"),
    "yuan": ("zh", "价格为12,500元"),
    "plural": ("pt", "As informações sobre as ações"),
    "singular": ("pt", "A informação sobre a ação"),
    "hindi": ("hi", "हिन्दी में चाँद और ज़िंदगी"),
    "hindi2": ("hi", "हिंदी में चांद और जिन्दगी"),
    "urdu": ("ur", "کتاب اللہ کی رحمۃ ہے، مسئلہ"),
    "arabic": ("ar", "هذا كتاب عن رحمة الله، مسيلة"),
    "japan": ("ja", "サーバーを使う。澤田さんは廣島へ。コンピュータ"),
    "japan2": ("ja", "サーバを使う。沢田さんは広島へ。コンピューター"),
}


@pytest.fixture(name="finder")
def _finder(database: Database) -> Iterator[Finder]:
    pages = [
        prepared(f"http://a.test/{name}", text, lang=lang) for name, (lang, text) in PAGES.items()
    ]
    fill(database.where, pages)
    with closing(database.finder(clock)) as finder:
        yield finder


def found(finder: Finder, typed: str) -> tuple[Found, set[str]]:
    """The answer, and the names of the pages that have all of a query."""
    answer = finder.search(parse(typed, finder.languages(), 0.0), Wish(n=50, limit=PATIENT))
    names = {hit.url.rpartition("/")[2] for hit in answer.hits}
    return answer, set() if answer.missing else names


def test_words_in_other_spellings(finder: Finder) -> None:
    expected = {
        # In one and in two.
        "web site": {"drinks", "joined"},
        "red bull": {"drinks", "joined"},
        "iso 9001": {"drinks", "joined"},
        "iso9001": {"drinks", "joined"},
        "windows11": {"drinks"},
        "html 5": {"codecs"},
        "html": {"codecs"},
        "oauth 2.0": {"codecs"},
        "h264": {"codecs"},
        "robotassisted": {"codecs"},
        # Letters that are typed for others.
        "aarhus": {"arhus"},
        "azerbaycan": {"azeri"},
        "colleccio": {"catala"},
        "o'zbek": {"zurich"},
        "ozbek": {"zurich"},
        "été": {"ete"},
        "हिंदी": {"hindi", "hindi2"},
        "हिन्दी": {"hindi", "hindi2"},
        "चांद": {"hindi", "hindi2"},
        "जिंदगी": {"hindi", "hindi2"},
        "کتاب": {"urdu", "arabic"},
        "رحمة": {"urdu", "arabic"},
        "الله": {"urdu", "arabic"},
        "サーバー": {"japan", "japan2"},
        "コンピューター": {"japan", "japan2"},
        "広島": {"japan", "japan2"},
        "น้ำ": {"thai", "thai2"},
        "นํ้า": {"thai", "thai2"},
        "1000円": {"yen"},
        "1,000円": {"yen"},
        "12500": {"yuan"},
        "12500元": {"yuan"},
        "informação": {"plural", "singular"},
        "acoes": {"plural", "singular"},
        "checkToolCall": {"camel", "snake"},
        "check_tool_call": {"camel", "snake"},
        "wi-fi": {"camel", "snake"},
        "沢田": {"japan", "japan2"},
        # Operators.
        "pineapple OR zürich": {"joined", "zurich"},
        '"red bull" OR "apple pie"': {"drinks", "joined"},
        '"red bulls" OR "apple pie"': {"joined"},
        "apple NOT pie": {"drinks"},
        "apple AND pie": {"joined"},
    }
    assert {typed: found(finder, typed)[1] for typed in expected} == expected


#: Pages of languages that write compounds in one word.
LONG = {
    "policy": ("de", "Eine Versicherung ist ein Vertrag, der im Schaden hilft."),
    "health": ("de", "Die Krankenversicherung zahlt die Kosten."),
    "contract": ("de", "Der Versicherungsvertrag und der Kaufpreis."),
    "hospital": ("de", "Das Krankenhaus für die Kranken."),
    "format": ("de", "Wir formatieren, wir sortieren den Apparat."),
    "dutch": ("nl", "De ziektekostenverzekering is duur."),
    "swedish": ("sv", "Bostadsrättsföreningen är här."),
    "danish": ("da", "Hovedbanegården ligger her."),
    "finnish": ("fi", "Uusi lentokonemoottori."),
    "english": ("en", "The headquarters of a management."),
}
PART_OF = "these have longer words that it is a part of"


@pytest.fixture(name="compounds")
def _compounds(database: Database) -> Iterator[Finder]:
    pages = [
        prepared(f"http://a.test/{name}", text, lang=lang) for name, (lang, text) in LONG.items()
    ]
    fill(database.where, pages)
    with closing(database.finder(clock)) as finder:
        yield finder


def test_a_part_of_a_compound_finds_it_behind_the_word_itself(compounds: Finder) -> None:
    parts = {
        "Versicherungen": ["policy", "health", "contract"],
        "krankenversicherung": ["health"],
        "Versicherung Kosten": ["health"],
        '"Versicherung"': ["policy"],
        "+Versicherung": ["policy"],
        "Vertrag -Krankenversicherung": ["policy", "contract"],
        # The other part is a word of another page.
        "Haus": ["hospital"],
        "verzekering": ["dutch"],
        "förening": ["swedish"],
        "banegård": ["danish"],
        "moottori": ["finnish"],
        # The other parts are none.
        "Reis": [],
        "Tier": [],
        "Part": [],
        "Quarters": [],
    }
    for typed, names in parts.items():
        answer, found_names = found(compounds, typed)
        hits = [hit.url.rpartition("/")[2] for hit in answer.hits]
        assert (hits[:1], found_names) == (names[:1], set(names)), typed
        assert answer.total == len(names) or not names
        assert all(hit.marks for hit in answer.hits if names)


def test_pages_with_the_words_side_by_side_come_first(database: Database) -> None:
    """The newer page would come first of equal ones."""
    texts = {"exact": "The New York Times is printed.", "apart": "New ideas in York at times."}
    pages = [prepared(f"http://a.test/{name}", text, lang="en") for name, text in texts.items()]
    fill(database.where, pages)
    with closing(database.finder(clock)) as finder:
        for typed in ("new york times", "York Times"):
            answer, names = found(finder, typed)
            assert (answer.hits[0].url, names) == ("http://a.test/exact", set(texts)), typed


def test_that_a_word_is_only_a_part_of_others_is_said(compounds: Finder) -> None:
    assert found(compounds, "Haus")[0].notes == [f"no page has Haus: {PART_OF}"]
    assert found(compounds, "Versicherung")[0].notes == []


def test_compounds_by_date_and_by_site(compounds: Finder) -> None:
    query = parse("Versicherung", compounds.languages(), 0.0)
    by_date = compounds.search(query, Wish(sort="date", facets=True, limit=PATIENT))
    names = [hit.url.rpartition("/")[2] for hit in by_date.hits]
    assert sorted(names) == ["contract", "health", "policy"]
    assert (by_date.sites, by_date.langs) == ([("a.test", 3)], [("de", 3)])


@pytest.mark.parametrize(
    ("typed", "expected", "note"),
    [
        ("kitkat", {"drinks"}, "no page has kitkat: these have kit kat"),
        ("zuerich border", {"zurich"}, "no page has zuerich: these have zurich"),
        ("+kitkat", set(), ""),
        ("kitkat border", set(), ""),
    ],
)
def test_a_word_that_no_page_has_is_looked_for_as_pages_write_it(
    finder: Finder, typed: str, expected: set[str], note: str
) -> None:
    answer, names = found(finder, typed)
    assert names == expected
    assert answer.notes == [note] * bool(note)
    if expected:
        assert all(hit.marks for hit in answer.hits)
