"""Some pages, in English but for one, for tests of finders, and questions to a finder of them."""

from collections.abc import Sequence
from functools import partial

from larbinpy.database.base import Finder, Found, Wish
from larbinpy.database.preparation import Prepared
from larbinpy.database.search.query import Query
from larbinpy.database.writer import Writer
from tests.support.databasepages import prepared

page = partial(prepared, lang="en")

#: Seconds for a search whose answer must not depend on the load of the machine.
PATIENT = 60.0

SEA = "http://a.test/sea"
BOATS = "http://www.a.test/boats"
HARBOUR = "http://b.test:8080/harbour"
BERG = "http://c.test/berg"
PDF = "http://b.test:8080/old.pdf"
COPY = "http://c.test/copy"
NIGHT = "http://c.test/night"
PAGES = [
    page(SEA, "Blue water and salt.", title="The sea", published="2026-01-01"),
    page(BOATS, "A boat is on the blue sea.", title="Boats", rest="salt", published="2026-03-01"),
    page(HARBOUR, "Boats rest. The water is calm.", title="Harbour", at="2026-11-20T08:00:00Z"),
    page(BERG, "Blaue Berge und das Meer.", title="Berge", lang="de", published="2999-01-01"),
    page(PDF, "Water levels.", title="Report", type="application/pdf", published="2020-05-05"),
    page(COPY, "A boat is on the blue sea.", title="Boats", rest="salt"),
    page(NIGHT, "Quiet.", links=((HARBOUR, "Where ships are at night"),), published="2000-01-01"),
]


def fill(where: str, pages: Sequence[Prepared]) -> None:
    """Write `pages`, and all that is deferred, into a database."""
    writer = Writer(where)
    writer.write(pages)
    while writer.tend():
        pass
    writer.close()


def urls(found: Found) -> list[str]:
    return [hit.url for hit in found.hits]


def ask(finder: Finder, asked: Query, sort: str = "rank") -> list[str]:
    """The URLs of the hits of a query that finds all its words in time."""
    found = finder.search(asked, Wish(sort=sort, limit=PATIENT))
    assert not found.cut and not found.missing
    assert found.total == len(found.hits)
    return urls(found)
