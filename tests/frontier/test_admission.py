"""Admission: links packed in buffers, and links as objects, lead to the same URLs and counts."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import Config
from larbinpy.config.rule import parse_rule
from larbinpy.frontier.admission import (
    Admission,
    Detours,
    Folding,
    RecentHashes,
    RecentLinks,
    key_of,
)
from larbinpy.frontier.scope import Scope
from larbinpy.frontier.traps import Traps
from larbinpy.native import native
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks, followed
from larbinpy.storage.seen import Seen
from larbinpy.storage.sizes import SEEN_SIZES, SeenSizes, TableSizes
from larbinpy.url import GUESS, SITEMAP, Url, fingerprint
from tests.support.frontiers import WALL, all_pages, make_frontier
from tests.support.frontiers import links as plain_links

PARENT = Url("http://a.test/page", 3, seed=True)
#: Sizes with which a handful of URLs makes the table grow, and leaves fingerprints without a slot.
SMALL = SeenSizes(batch=4, table=TableSizes(region_bits=2, width=1, tail=2, growth=1))

SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"get_image": True},
    {"any_type": True},
    {"no_external_links": True},
    {"lock_site": True, "requisites": "site"},
    {"get_cgi": False, "privileged_extensions": (".mp3",)},
)
URLS = st.builds(
    "http://{}.test/{}{}".format,
    st.sampled_from("ab"),
    st.integers(0, 30),
    st.sampled_from(["", "x.mp3", "?x", "?utm_x=1", "?utm_y=1", "x" * 130]),
)
LINKS = st.builds(Link, URLS, st.sampled_from(Kind), st.booleans())
PAGES = st.lists(st.tuples(st.lists(LINKS, max_size=20), st.booleans()), max_size=12)


def admission(sizes: SeenSizes = SMALL, scope: int = 0) -> Admission:
    seen = Seen(Path("none"), "seen", sizes)
    traps = Traps(Config(limit_by_shape=0), WALL)
    return Admission(Scope(all_pages(**SCOPES[scope])), seen, traps, Folding(("utm_*",)))


def in_python(admission: Admission) -> Admission:
    admission._recent = RecentLinks(8)
    return admission


def compiled(admission: Admission) -> Admission:
    if native is not None:
        admission._recent = RecentHashes(native, 2)
    return admission


def take(admission: Admission, links: Sequence[Link], redirect: bool = False) -> list[Url]:
    return admission.links(PARENT, links, redirect=redirect)


@given(PAGES, st.integers(0, len(SCOPES) - 1))
def test_packed_links_are_admitted_like_others(
    pages: list[tuple[list[Link], bool]], scope: int
) -> None:
    plain = in_python(admission(scope=scope))
    packed, mixed = (compiled(admission(scope=scope)) for _ in range(2))
    endorsed = partial(followed, nofollow=False, needed=False)
    for links, redirect in pages:
        new = take(plain, endorsed(links), redirect)
        assert take(packed, endorsed(PackedLinks.pack(links)), redirect) == new
        assert take(mixed, endorsed(links), redirect) == new
    assert packed.refused == mixed.refused == plain.refused
    assert len(packed.seen) == len(mixed.seen) == len(plain.seen)


def test_links_out_of_scope_are_counted_each_time() -> None:
    here = admission(scope=3)
    page = PackedLinks.pack([Link("http://b.test/", Kind.PAGE), Link("http://a.test/", Kind.PAGE)])
    assert [url.href for url in take(here, page)] == ["http://a.test/"]
    assert take(here, page) == take(here, page) == []
    assert here.refused == {Outcome.OUT_SITE: 3, Outcome.URL_DUP: 2}


@pytest.mark.parametrize("count", [1, 2000, 50_000])
def test_a_page_of_very_many_links(count: int) -> None:
    here = admission(SEEN_SIZES)
    page = PackedLinks.pack([Link(f"http://a.test/{k}", Kind.PAGE) for k in range(count)])
    assert len(take(here, page)) == count
    assert take(here, page) == []
    assert here.refused[Outcome.URL_DUP] == count


def test_links_into_a_trap_count_once_until_settings_change(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, limit_by_shape=1)
    page = PackedLinks.pack([Link(f"http://a.test/{k}", Kind.PAGE) for k in range(4)])

    def taken() -> int:
        before = frontier.owed
        frontier.admit(PARENT, page, 0.0)
        return frontier.owed - before

    assert [taken(), taken()] == [1, 0]
    assert frontier.traps.refused == {"shapes": 3}
    frontier.guard(Config(limit_by_shape=1))
    assert (taken(), frontier.traps.refused) == (0, {"shapes": 3})
    frontier.guard(Config(limit_by_shape=3))
    assert (taken(), frontier.traps.refused) == (2, {"shapes": 4})
    assert frontier.admission.refused[Outcome.TRAP] == 4


def test_folded_links_are_urls_that_were_seen(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, dropped=("utm_*",))
    urls = ["http://a.test/x?utm_a=1", "http://a.test/x", "http://a.test/x?utm_b=2&id=3"]
    page = PackedLinks.pack([Link(url, Kind.PAGE) for url in urls])
    for _ in range(3):
        frontier.admit(PARENT, page, 0.0)
    assert frontier.owed == 2
    assert frontier.admission.is_seen("http://a.test/x") and not frontier.admission.is_seen(urls[0])
    assert frontier.admission.refused == {Outcome.URL_DUP: 7}
    frontier.drop_parameters(())
    frontier.admit(PARENT, page, 0.0)
    assert frontier.owed == 4


def moved(url: Url, location: str, *, new_cookies: bool = False) -> Page:
    headers = [("location", location)]
    return Page(url, Outcome.ERR_30X, 302, headers, new_cookies=new_cookies)


@pytest.mark.parametrize(
    ("href", "locations", "spellings"),
    [
        ("/%D0", ["/%d0", "/%d0"], ["/%d0", None]),
        ("/Panther", ["http://a.test/%50anther#part", "/Panther"], ["/%50anther", None]),
        ("/x", ["/x?", "/%78", "/%78"], ["/x?", "/%78", None]),
        ("/x", ["/x"], [None]),
        ("/x", ["/y"], [None]),
        ("/x", ["mailto:x"], [None]),
    ],
)
def test_a_url_is_asked_for_again_as_its_server_spells_it(
    href: str, locations: list[str], spellings: list[str | None]
) -> None:
    url, detours = Url(f"http://a.test{href}", 3), Detours()
    for location, spelling in zip(locations, spellings, strict=True):
        assert detours.again(moved(url, location)) is (spelling is not None)
        if spelling is not None:
            assert (url.href, url.spelling) == (f"http://a.test{href}", f"http://a.test{spelling}")
    assert url.hops == len(spellings) - 1


def test_a_spelling_of_a_page_may_be_redirected_to_the_canonical_one_once() -> None:
    url, detours = Url("http://a.test/%D0", 3, spelling="http://a.test/%d0"), Detours()
    again = [detours.again(moved(url, location)) for location in ("/%D0", "/%d0", "/%D0")]
    assert again == [True, True, False]


def test_a_link_is_asked_for_as_its_page_spells_it(tmp_path: Path) -> None:
    frontier = make_frontier(tmp_path, dropped=("s",))
    found = plain_links(
        "http://a.test/%D0", "http://a.test/~x", "http://a.test/y?s=%D0", "http://a.test/z"
    )
    spellings = {
        "http://a.test/%D0": "http://a.test/%d0",
        "http://a.test/~x": "http://a.test/%7ex",
        "http://a.test/y?s=%D0": "http://a.test/y?s=%d0",
    }
    new = frontier.admission.links(PARENT, found, redirect=False, spellings=spellings)
    assert [(url.href, url.spelling) for url in new] == [
        ("http://a.test/%D0", "http://a.test/%d0"),
        ("http://a.test/~x", "http://a.test/%7ex"),
        ("http://a.test/y", ""),
        ("http://a.test/z", ""),
    ]
    assert not frontier.admission.links(PARENT, found, redirect=False)


@pytest.mark.parametrize(
    ("typed", "spelling"),
    [
        ("a.test/%d0#x", "http://a.test/%d0"),
        ("http://a.test/%7Ex?", "http://a.test/%7Ex?"),
        ("http://u:p@a.test/%d0", "http://a.test/%d0"),
        ("http://a.test/%D0?x", ""),
        ("http://a.test/x", ""),
    ],
)
def test_a_seed_is_asked_for_as_it_was_typed(tmp_path: Path, typed: str, spelling: str) -> None:
    admission = make_frontier(tmp_path).admission
    url = admission.seed(typed, depth=None, priority=False, again=False, label="")
    assert isinstance(url, Url) and url.spelling == spelling


@pytest.mark.parametrize(("render", "suffix"), [((), ""), (("**",), "#/b?c")])
def test_the_view_of_a_seed_is_a_page_where_pages_are_rendered(
    render: tuple[str, ...], suffix: str
) -> None:
    scope = Scope(all_pages(render=render, stay="prefix"))
    seen = Seen(Path("none"), "seen", SMALL)
    admission = Admission(scope, seen, Traps(Config(), WALL), Folding(()))
    url = admission.seed("a.test/docs/#/b?c", depth=None, priority=False, again=False, label="")
    assert isinstance(url, Url)
    assert (url.href, url.site) == (f"http://a.test/docs/{suffix}", "http://a.test")
    assert admission.scope.area.places == {"a.test/docs/": 1}
    other = admission.seed("a.test/docs/#b", depth=None, priority=False, again=False, label="")
    assert other is (Outcome.URL_DUP if not render else other)
    assert render == () or (isinstance(other, Url) and other.href == "http://a.test/docs/")


def test_a_url_is_asked_for_again_with_a_new_cookie_but_not_without_end() -> None:
    url = Url("http://a.test/", 3)
    assert not Detours().again(moved(url, "/"))
    again = [Detours().again(moved(url, "/", new_cookies=True)) for _ in range(12)]
    assert again == [True] * 10 + [False] * 2


WALL_URL, DOOR = Url("http://a.test/", 3), Url("http://a.test/?set", 3)


def test_a_redirect_leads_back_once_with_a_new_cookie() -> None:
    detours = Detours()
    assert not detours.returns(moved(WALL_URL, "/?set"), DOOR.href)
    door = moved(DOOR, "/", new_cookies=True)
    assert detours.may_return(door, WALL_URL.href)
    assert detours.returns(door, WALL_URL.href)
    assert not detours.returns(door, WALL_URL.href)
    # The cookie did not help.
    detours.leave(moved(WALL_URL, "/?set"))
    assert not detours.may_return(moved(DOOR, "/"), WALL_URL.href)
    assert not detours.returns(moved(DOOR, "/"), WALL_URL.href)


def test_the_cookie_of_any_redirect_on_the_way_counts() -> None:
    detours = Detours()
    detours.leave(moved(WALL_URL, "/1", new_cookies=True))
    assert detours.returns(moved(Url("http://sso.test/1", 3), "//a.test/"), WALL_URL.href)


def test_a_cookie_of_a_request_in_another_way_counts() -> None:
    """A link check asks by HEAD first, whose reply sets the cookie."""
    detours = Detours()
    detours.leave(moved(WALL_URL, "/?set"))
    detours.note_cookies(moved(DOOR, "/", new_cookies=True))
    assert detours.returns(moved(DOOR, "/"), WALL_URL.href)


def test_a_page_that_loads_itself_is_asked_for_again_but_not_without_end() -> None:
    page = Page(Url("http://a.test/", 3), Outcome.SUCCESS, new_cookies=True)
    again = [Detours().reloads(page, "http://a.test/") for _ in range(12)]
    assert again == [True] * 10 + [False] * 2


def test_a_redirect_may_lead_back_to_a_page_that_loads_another() -> None:
    detours = Detours()
    page = Page(WALL_URL, Outcome.SUCCESS, new_cookies=True)
    assert not detours.reloads(page, DOOR.href)
    assert detours.returns(moved(DOOR, "/"), WALL_URL.href)


def test_a_redirect_does_not_lead_back_without_end() -> None:
    """Each page of the site redirects to the same one, with a new session."""
    detours, returns = Detours(), 0
    for number in range(20):
        detours.leave(moved(WALL_URL, "/?set"))
        page = moved(Url(f"http://a.test/{number}", 3), "/", new_cookies=True)
        returns += detours.returns(page, WALL_URL.href)
    assert returns == 3


def test_the_oldest_redirect_may_be_the_one_that_is_led_back_to() -> None:
    detours = Detours(most=1)
    detours.leave(moved(WALL_URL, "/?set"))
    assert detours.returns(moved(DOOR, "/", new_cookies=True), WALL_URL.href)


def test_few_redirects_are_remembered() -> None:
    detours = Detours(most=2)
    for url in (WALL_URL, Url("http://a.test/2", 3), DOOR):
        detours.leave(moved(url, "/", new_cookies=True))
    assert not detours.returns(moved(DOOR, "/", new_cookies=True), WALL_URL.href)


ROBOTS = "http://a.test/robots.txt"


def sitemap_on_another_host(limits: dict[str, Any]) -> tuple[Admission, Url]:
    scope = Scope(all_pages(**limits))
    scope.area.add(["http://a.test/"])
    seen = Seen(Path("none"), "seen", SMALL)
    taking = Admission(scope, seen, Traps(Config(limit_by_shape=0), WALL), Folding(()))
    robots = Url(ROBOTS, 3)
    [found] = taking.links(
        robots, plain_links("http://store.test/index.xml?q"), redirect=False, purpose=SITEMAP
    )
    return taking, found


@pytest.mark.parametrize(
    "limits",
    [
        {"lock_site": True},
        {"no_external_links": True},
        {"stay": "host", "get_cgi": False},
        {"check_links": True},
    ],
)
def test_a_sitemap_on_another_host_gives_the_pages_of_the_site_that_names_it(
    limits: dict[str, Any],
) -> None:
    taking, index = sitemap_on_another_host(limits)
    assert (index.via, index.purpose) == (ROBOTS, SITEMAP)
    [inner] = taking.links(
        index,
        plain_links("http://store.test/1.xml", "http://third.test/2.xml"),
        redirect=False,
        purpose=SITEMAP,
    )
    assert (inner.href, inner.via) == ("http://store.test/1.xml", ROBOTS)
    pages = plain_links("http://a.test/page", "http://store.test/not-this")
    [page] = taking.links(inner, pages, redirect=False)
    assert (page.href, page.via, page.depth) == ("http://a.test/page", inner.href, 2)


def test_what_a_sitemap_redirects_to_is_a_sitemap() -> None:
    taking, index = sitemap_on_another_host({"lock_site": True})
    [moved_there] = taking.links(index, plain_links("http://cdn.test/x"), redirect=True)
    assert (moved_there.purpose, moved_there.hops) == (SITEMAP, index.hops + 1)


def test_a_rule_may_reject_a_sitemap_on_another_host() -> None:
    rule = parse_rule(False, "**store.test/**")
    with pytest.raises(ValueError):
        sitemap_on_another_host({"rules": (rule,)})


# What becomes of a link, by value.


def admitting(wants: Callable[[Url], bool] | None = None, **settings: Any) -> Admission:
    scope = Scope(all_pages(**settings))
    scope.area.add([PARENT.href])
    traps = Traps(Config(limit_by_shape=0), WALL)
    return Admission(scope, Seen(Path("none"), "seen", SMALL), traps, Folding(()), wants)


def test_the_plug_of_the_operator_is_asked_once_about_a_link() -> None:
    asked: list[str] = []

    def wants(url: Url) -> bool:
        asked.append(url.href[-1])
        return url.href.endswith("a")

    here = admitting(wants)
    found = plain_links("http://a.test/a", "http://a.test/b")
    for _ in range(2):
        [*new] = here.links(PARENT, found, redirect=False)
        assert [url.href[-1] for url in new] == (["a"] if asked == ["a", "b"] and new else [])
    assert asked == ["a", "b"]
    assert here.refused == {Outcome.REJECTED: 1, Outcome.URL_DUP: 2}
    assert here.asks("http://a.test/xa") and not here.asks("http://a.test/xb")
    assert admitting().asks("http://a.test/xb")


def test_urls_are_remembered() -> None:
    here = admitting()
    assert not here.is_seen("http://a.test/x")
    here.remember("http://a.test/x")
    assert here.is_seen("http://a.test/x")
    assert here.links(PARENT, plain_links("http://a.test/x"), redirect=False) == []


def test_a_sitemap_that_is_looked_for_is_no_url_that_was_found() -> None:
    here = admitting()
    sitemap = plain_links("http://a.test/sitemap.xml")
    robots = Url("http://a.test/robots.txt", 3)
    for guessed in (1, 1):
        here.links(robots, sitemap, redirect=False, purpose=GUESS)
        assert here.guessed == guessed
    # A link to it counts, even if it is not there.
    [url] = here.links(PARENT, sitemap, redirect=False)
    assert (url.is_sitemap, here.guessed) == (False, 1)
    guess = Url(url.href, 3, purpose=GUESS)
    assert key_of(guess) != key_of(url) == fingerprint(url.href)


def test_the_seed_alone_widens_the_area_by_its_redirects() -> None:
    here = admitting(stay="host")
    target = plain_links("http://www.a.test/")
    link = Url("http://a.test/link", 3, via=PARENT.href)
    assert here.links(link, target, redirect=True) == []
    [url] = here.links(PARENT, target, redirect=True)
    assert (url.seed, url.redirect, url.hops) == (True, True, 1)


def test_so_many_hops_in_a_row_and_no_more() -> None:
    here = admitting(requisites="site")
    for hops, redirect, kind, outcome in [
        (9, True, Kind.PAGE, None),
        (10, True, Kind.PAGE, Outcome.ERR_30X),
        (9, False, Kind.IMAGE, None),
        (10, False, Kind.IMAGE, Outcome.TOO_DEEP),
        (10, False, Kind.PAGE, None),
    ]:
        here.refused.clear()
        parent = Url("http://a.test/p", 3, hops=hops)
        link = Link(f"http://a.test/{hops}{redirect}{kind.name}", kind)
        new = here.links(parent, [link], redirect=redirect)
        assert +here.refused == ({} if outcome is None else {outcome: 1})
        assert [url.hops for url in new] == (
            [] if outcome else [hops + 1 if kind is Kind.IMAGE or redirect else 0]
        )
    assert here.scope.left_out == {"hops": 2}


def test_a_requisite_of_another_host_may_need_others_but_leads_to_no_page() -> None:
    """Of a style sheet its images, of a frame its pages not."""
    here = admitting(requisites="site")
    sheet = Url("http://b.test/s.css", 3, via=PARENT.href, requisite=True)
    found = [Link("http://b.test/i.png", Kind.IMAGE), Link("http://b.test/page", Kind.PAGE)]
    assert [url.href for url in here.links(sheet, found, redirect=False)] == ["http://b.test/i.png"]
    assert here.scope.left_out == {"elsewhere": 1}


def test_a_redirect_that_leads_back_is_asked_for_again_once() -> None:
    here = admitting()
    here.detours.leave(moved(WALL_URL, "/?set"))
    door = moved(DOOR, "/", new_cookies=True)
    [target] = plain_links(WALL_URL.href)
    again = here.redirected(door, target)
    assert again is not None and (again.href, again.redirect) == (WALL_URL.href, True)
    assert here.redirected(door, target) is None


def test_names_of_parameters_that_are_dropped() -> None:
    folding = Folding(("utm_*", "sid"))
    assert folding.dropped("http://a.test/x;sid=1;y=2/z?utm_a=1&b=2;utm_a=3&sid=4") == [
        "sid",
        "utm_a",
    ]
    assert folding.dropped("http://a;sid=1.test/x?b") == []


def test_few_spellings_are_remembered() -> None:
    detours = Detours(most=1)
    urls = [Url(f"http://a.test/%D{number}", 3) for number in range(2)]
    for url in urls:
        assert detours.again(moved(url, f"/%d{url.href[-1]}"))
    # That of the first is forgotten, so its server is asked for the canonical one once more.
    for url, is_again in zip(urls, (True, False), strict=True):
        other = Url(url.href, 3)
        assert detours.again(moved(other, url.href)) is False
        other.spelling = f"http://a.test/%d{url.href[-1]}"
        assert detours.again(moved(other, url.href)) is is_again


@pytest.mark.parametrize("redirect", [False, True])
@pytest.mark.parametrize(
    ("more", "name", "value", "other"),
    [
        ({"priority": True}, "priority", True, False),
        ({"label": "mine"}, "label", "mine", ""),
        ({"sheet": True}, "sheet", True, False),
        ({"seed": True}, "seed", True, False),
        ({}, "redirect", True, False),
        ({}, "depth", 3, 2),
        ({}, "via", PARENT.href, PARENT.href),
    ],
)
def test_what_a_url_has_of_the_one_that_redirects_to_it(
    redirect: bool, more: dict[str, Any], name: str, value: object, other: object
) -> None:
    """And of a page that links it nothing of that."""
    parent = Url(PARENT.href, 3, **more)
    [url] = admitting().links(parent, plain_links("http://a.test/to"), redirect=redirect)
    assert getattr(url, name) == (value if redirect else other)
