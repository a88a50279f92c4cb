"""The keywords of the content database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from tests.support.keywords import effect_of
from tests.support.smallweb import Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


@pytest.fixture
def two_pages(web: Web) -> Web:
    web.page("a.test/", "/page.html")
    web.pages("a.test/page.html")
    return web


def rows(file: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as base:
        return base.execute(question).fetchall()


def fill(crawl: Worlds, *lines: str) -> World:
    """The child process lives by the real clock, so the crawl's must not leap."""
    world = crawl("outputMode database", *lines, leaps=False)
    assert world.code == 0
    return world


@effect_of("database")
def test_database_names_the_file(two_pages: Web, crawl: Worlds, tmp_path: Path) -> None:
    file = tmp_path / "pages.db"
    world = fill(crawl, f'database "{file}"')
    assert (world.files("out"), rows(file, "SELECT count(*) FROM page")) == (set(), [(2,)])
    assert fill(crawl).files("out") == {"larbinpy.db"}


@effect_of("keepBodies")
def test_keep_bodies_keeps_pages_as_they_came(two_pages: Web, crawl: Worlds) -> None:
    question = "SELECT zstd FROM body JOIN page ON page.id = body.page ORDER BY url DESC"
    kept, *others = rows(fill(crawl, "keepBodies").folder / "out/larbinpy.db", question)
    assert len(others) == 1
    packed = kept[0]
    assert isinstance(packed, bytes)
    body = two_pages.places["a.test/page.html"][0].body
    assert zstandard.ZstdDecompressor().decompress(packed) == body
    assert rows(fill(crawl).folder / "out/larbinpy.db", question) == []


@effect_of("nearDuplicates")
def test_near_duplicates_are_marked_or_skipped(web: Web, crawl: Worlds) -> None:
    words = [f"word{number}" for number in range(100)]
    for place, text in (("a.test/", words), ("a.test/copy.html", [*words[:50], *words[51:]])):
        body = f"<title>Title</title><p>{' '.join(text)}<p><a href=/copy.html>copy</a>"
        web.file(place, body.encode(), "text/html")

    def found(*lines: str) -> list[tuple[object, ...]]:
        question = "SELECT same_as IS NOT NULL, near IS NOT NULL FROM page ORDER BY url"
        return rows(fill(crawl, *lines).folder / "out/larbinpy.db", question)

    assert found() == [(0, 0), (0, 0)]
    assert found("nearDuplicates mark") == [(0, 0), (0, 1)]
    assert found("nearDuplicates skip") == [(0, 0), (1, 0)]


@effect_of("spoolMax")
def test_spool_max_closes_the_gate(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(9)])
    web.pages(*[f"a.test/{n}" for n in range(9)])

    def reasons(*lines: str) -> set[str]:
        found: set[str] = set()

        def watch(world: World) -> None:
            gate = world.snapshot("gate")
            if not gate["open"]:
                found.add(gate["reason"])

        world = crawl("outputMode database", *lines, leaps=False, watch=watch)
        assert rows(world.folder / "out/larbinpy.db", "SELECT count(*) FROM page") == [(10,)]
        return found

    assert any("spoolMax" in reason for reason in reasons("spoolMax 1", "canReload"))
    assert not any("spoolMax" in reason for reason in reasons("canReload"))
