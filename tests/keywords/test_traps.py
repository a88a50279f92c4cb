"""The keywords that keep a crawl out of pages without end, and links that differ in vain."""

import re
from itertools import count

import pytest

from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

#: 14 November 2023.
NOW = 1_700_000_000.0
DEEP = "depthInSite 100000 getCGI"


def page(*links: str) -> Answer:
    return Answer("".join(f'<a href="{link}">x</a>' for link in links).encode())


class Maze:
    """Pages that each link to another new one, and to some good page."""

    GOOD = frozenset({"a.test/", *(f"a.test/good/{name}.html" for name in "abcdefgh")})

    def __init__(self, web: Web) -> None:
        self._numbers = count(1)
        names = [f"/good/{name}.html" for name in "abcdefgh"]
        web.page("a.test/", *names, "/month/2023/10/", "/rows?page=1", "/loop/", "/shop?from=home")
        for name in "abcdefgh":
            web.page(f"a.test/good/{name}.html", "/", f"/?utm_source={name}", "/shop?from=good")
        web.make = self._make

    def _make(self, place: str) -> Answer | None:
        if month := re.fullmatch(r"a.test/month/(\d+)/(\d+)/", place):
            months = int(month[1]) * 12 + int(month[2])  # one after this, counted from 0
            return page("/good/a.html", f"/month/{months // 12}/{months % 12 + 1:02}/")
        if row := re.fullmatch(r"a.test/rows\?page=(\d+)", place):
            return page("/good/b.html", f"/rows?page={int(row[1]) + 1}")
        if place.startswith("a.test/loop/"):
            return page("/good/c.html", "loop/")
        if place.startswith("a.test/shop?"):
            # Each visit without a session begins one, with a link to itself.
            session = f"PHPSESSID={next(self._numbers):032x}"
            return page(
                "/good/d.html", f"/shop?from=home&{session}", f"/cart;jsessionid=1?{session}"
            )
        if place.startswith("a.test/cart"):
            return page("/good/e.html")
        return None


@pytest.fixture
def maze(web: Web) -> Maze:
    return Maze(web)


def below(world: World, start: str) -> int:
    return sum(place.startswith(f"a.test/{start}") for place in world.fetched)


@effect_of("traps", "limitByShape", "dropParameters")
def test_a_crawl_of_a_site_without_end_ends(maze: Maze, crawl: Worlds) -> None:
    world = crawl(DEEP, "limitByShape 500", wall=lambda: NOW)
    assert world.code == 0
    assert world.fetched >= maze.GOOD
    # October 2023 to December 2025, and 100 to 125 months beyond.
    assert 27 + 100 <= below(world, "month/") <= 27 + 125
    assert 500 - 25 <= below(world, "rows") <= 500
    assert below(world, "loop/") == 6
    assert below(world, "shop") == 2
    assert below(world, "cart") == 1
    assert world.snapshot("traps") == {"calendars": 1, "shapes": 1, "repeats": 1}
    assert world.report_outcomes["trap"] == 3
    # No spelling of the first page was asked for but its own.
    assert sum(asked.path.startswith("/?") for asked in world.asked) == 0


@effect_of("traps")
def test_traps_none_follows_them(maze: Maze, crawl: Worlds) -> None:
    world = crawl(DEEP, "traps none", "limitByShape 10", "limitPage 700", wall=lambda: NOW)
    assert below(world, "loop/") > 100


@effect_of("limitByShape")
def test_limit_by_shape_of_0_is_no_limit(web: Web, crawl: Worlds) -> None:
    links = [f"/p/{number}" for number in range(40)]
    web.page("a.test/", *links)
    web.make = lambda place: page()
    assert len(crawl("limitByShape 20").fetched) == 21
    assert len(crawl("limitByShape 0").fetched) == 41


@effect_of("dropParameters")
def test_drop_parameters_replaces_the_default_list(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x?utm_source=a&id=1", "/x?ref=b&id=1", "/x?id=1")
    web.make = lambda place: page()
    both = {"a.test/", "a.test/x?id=1", "a.test/x?utm_source=a&id=1"}
    assert crawl("getCGI", "dropParameters re? end").fetched == both
    three = both | {"a.test/x?ref=b&id=1"}
    for nothing in ("none end", "end"):
        assert crawl("getCGI", f"dropParameters {nothing}").fetched == three
    # Without getCGI, a link whose query is dropped as a whole is one without a query.
    web.page("a.test/", "/y?utm_source=a", "/y?id=1")
    assert crawl().fetched == {"a.test/", "a.test/y"}


def test_a_seed_is_fetched_as_given(web: Web, crawl: Worlds) -> None:
    web.page("a.test/?utm_source=a", "/?utm_source=b", "/y?utm_source=a")
    web.make = lambda place: page()
    world = crawl(seeds=["a.test/?utm_source=a"])
    assert world.fetched == {"a.test/?utm_source=a", "a.test/", "a.test/y"}


def test_a_redirect_that_sets_a_session_is_followed(web: Web, crawl: Worlds) -> None:
    """/in needs a session, and redirects to itself with one; /out redirects with a campaign."""

    def moved(to: str) -> Answer:
        return Answer(status=302, headers=(f"Location: {to}",))

    web.page("a.test/", "/in", "/out")
    web.put("a.test/in", moved("/in?PHPSESSID=1"))
    web.page("a.test/in?PHPSESSID=1", "/more?PHPSESSID=1", "/in?PHPSESSID=1")
    web.put("a.test/out", moved("/landing?utm_source=a"))
    web.pages("a.test/more", "a.test/landing")
    world = crawl("getCGI")
    good = {"a.test/", "a.test/in?PHPSESSID=1", "a.test/more", "a.test/landing"}
    assert world.fetched == good
    assert len(world.pages_asked) == 6


def test_guards_are_reversible_on_the_console(web: Web, crawl: Worlds) -> None:
    """A page waits for the console, which turns the guards off; its links then pass."""
    port = free_port()
    lines = (
        "explain http://a.test:{0}/p/9",
        "explain http://a.test:{0}/x?utm_source=a&id=1",
        "set limitByShape 0",
        "set traps calendars",
        "set dropParameters none",
        "explain http://a.test:{0}/p/9",
        "explain http://a.test:{0}/x?utm_source=a&id=1",
        "quit",
    )
    console = Client(crawl, port, "console", *(line.format(web.port) for line in lines))
    pages = [f"/p/{number}" for number in range(9)]
    links = (*pages, "/p/9", "/x?utm_source=a&id=1", "/y" * 9)
    web.page("a.test/", "/x?id=1", *links, "/later")
    web.make = lambda place: page()
    web.page("a.test/later", *links, until=console.done)
    world = crawl("getCGI", f"inputPort {port}", "limitByShape 9")
    before, folded, *done, after, plain, _ = console.answers
    assert [answer["ok"] for answer in done] == [True] * 3
    assert (before["reason"], before["rule"], before["guard"]) == ("trap", "trap", "shapes")
    assert "limitByShape" in before["why"]
    assert folded["folded"] == web.url("a.test/x?id=1") and folded["dropped"] == ["utm_source"]
    assert folded["seen"] and "dropParameters" in folded["why"]
    assert "reason" not in after and "folded" not in plain
    assert {"a.test/p/9", "a.test/x?utm_source=a&id=1", "a.test" + "/y" * 9} <= world.fetched
