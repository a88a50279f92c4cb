"""The keywords that say which pages are wanted."""

from itertools import pairwise
from pathlib import Path

import pytest

from larbinpy.config import Config
from larbinpy.observe.report.broken import Group
from larbinpy.observe.report.formats import Report
from larbinpy.page import NOINDEX
from tests.support.keywords import effect_of
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds
from tests.support.warcs import captures, warcs

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"
PDF = b"%PDF-1.7\n"


def asked(world: World) -> set[str]:
    """The places that were asked for, robots.txt apart."""
    return {request.place for request in world.pages_asked}


# From site to site.


@pytest.fixture
def two_sites(web: Web) -> Web:
    """a.test links to b.test and redirects to it; the seed a.test/door only redirects."""
    web.page("a.test/", "/more", "/moved", "//b.test/linked")
    web.pages("a.test/more", "b.test/linked", "b.test/landed", "b.test/hall")
    moved = [f"Location: {web.url('b.test/landed')}", f"Location: {web.url('b.test/hall')}"]
    web.put("a.test/moved", Answer(status=302, headers=(moved[0],)))
    web.put("a.test/door", Answer(status=302, headers=(moved[1],)))
    return web


@effect_of("lockSite")
def test_lock_site_stays_on_the_sites_of_the_first_urls(two_sites: Web, crawl: Worlds) -> None:
    free, locked = crawl(), crawl("lockSite")
    assert free.fetched == {"a.test/", "a.test/more", "b.test/linked", "b.test/landed"}
    assert asked(locked) == {"a.test/", "a.test/more", "a.test/moved"}
    assert locked.report_outcomes["outSite"] == 2
    # A link from one seed's site to another's stays on the sites of the seeds.
    both = crawl("lockSite", seeds=["a.test/", "b.test/hall"])
    assert both.fetched == free.fetched | {"b.test/hall"}


@effect_of("lockSite")
def test_lock_site_lets_a_seed_redirect_to_its_site(two_sites: Web, crawl: Worlds) -> None:
    assert crawl("lockSite", seeds=["a.test/door"]).fetched == {"b.test/hall"}


@effect_of("followSeed")
@pytest.mark.parametrize("area", ["lockSite", "stay host", "stay prefix", "stay domain"])
def test_follow_seed_takes_the_other_site_that_a_seed_redirects_to(
    web: Web, crawl: Worlds, area: str
) -> None:
    for place, target in (("a.test/", "a.test/far"), ("a.test/far", "b.test/profile")):
        web.put(place, Answer(status=302, headers=(f"Location: {web.url(target)}",)))
    web.page("b.test/profile", "/other", "//a.test/home", "//c.test/")
    web.pages("b.test/other", "a.test/home", "c.test/")
    alone, whole = crawl(area), crawl(area, "followSeed")
    assert alone.fetched == {"b.test/profile", "a.test/home"}
    assert whole.fetched == alone.fetched | {"b.test/other"}
    limit = area.partition(" ")[0]
    assert alone.snapshot("left_out") == {"followSeed": 1, limit: 1}
    # Another name of the same domain is the same site.
    web.put("a.test/", Answer(status=301, headers=(f"Location: {web.url('www.a.test/')}",)))
    web.page("www.a.test/", "/more")
    web.pages("www.a.test/more")
    assert crawl(area).fetched == {"www.a.test/", "www.a.test/more"}


def test_a_rule_may_refuse_where_a_seed_redirects_to(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(status=302, headers=(f"Location: {web.url('b.test/')}",)))
    web.pages("b.test/")
    assert crawl("stay host", "reject *://b.test*/**").fetched == set()


@effect_of("checkLinks")
def test_check_links_asks_other_hosts_for_headers_alone(two_sites: Web, crawl: Worlds) -> None:
    world = crawl("checkLinks")
    assert world.fetched == {"a.test/", "a.test/more"}
    methods = {asked.place: asked.method for asked in world.pages_asked}
    assert methods == {
        "a.test/": "GET",
        "a.test/more": "GET",
        "a.test/moved": "GET",
        "b.test/linked": "HEAD",
        "b.test/landed": "HEAD",
    }
    assert world.outcomes["b.test/landed"] == "checked"


def broken(world: World) -> set[str]:
    """The links that count as broken in the report of `world`."""
    found = Report(world.folder / "state").broken
    return {found.links[number].url for number in found.of_group(Group.BROKEN)}


@effect_of("acceptStatus", "brokenStatus", "knownFaults")
def test_what_counts_as_broken_can_be_said(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    web.page("a.test/", "/gone", "/members", "/old")
    for path, status in (("gone", 410), ("members", 403), ("old", 404)):
        web.put(f"a.test/{path}", Answer(status=status))
    gone, members, old = (web.url(f"a.test/{path}") for path in ("gone", "members", "old"))
    known = tmp_path / "known"
    known.write_text(f"{old}\n")
    assert broken(crawl("checkLinks")) == {gone, old}
    assert broken(crawl("checkLinks", "acceptStatus 410 end")) == {old}
    assert broken(crawl("checkLinks", "brokenStatus 403 end")) == {gone, members, old}
    assert broken(crawl("checkLinks", f"knownFaults {known}")) == {gone}


@effect_of("checkFolder")
def test_pages_of_a_folder_that_is_checked_have_paths(crawl: Worlds, tmp_path: Path) -> None:
    folder = Config(check_links=True, check_folder=f"{tmp_path}/").check_folder
    host, port = Config(check_links=True, check_folder=folder).check_place
    known = tmp_path / "known"
    known.write_text(f"{folder}x.html\n")
    url = f"http://{host}:{port}/x.html"
    lines = ("checkLinks", f"knownFaults {known}", f"startUrl {url}")
    assert broken(crawl(*lines, seeds=())) == {url}
    assert broken(crawl(*lines, f"checkFolder {folder}", seeds=())) == set()


@effect_of("noExternalLinks")
def test_no_external_links_follows_redirects_only(two_sites: Web, crawl: Worlds) -> None:
    world = crawl("noExternalLinks")
    assert world.fetched == {"a.test/", "a.test/more", "b.test/landed"}
    assert world.report_outcomes["outSite"] == 1


@effect_of("limitToDomain")
def test_limit_to_domain_compares_whole_labels(web: Web, crawl: Worlds) -> None:
    hosts = ["www.b.test", "b.test", "not-b.test", "c.other"]
    web.page("a.test/", *[f"//{host}/" for host in hosts])
    web.pages(*[f"{host}/" for host in hosts])
    assert len(crawl().fetched) == 5
    assert crawl("limitToDomain .b.test end").fetched == {"a.test/", "www.b.test/", "b.test/"}
    both = crawl("limitToDomain .other b.test end")
    assert both.fetched == {"a.test/", "www.b.test/", "b.test/", "c.other/"}


# Depth.


@pytest.fixture
def long_way(web: Web) -> Web:
    """a.test/0 -> a.test/1 -> a.test/2 -> b.test/0 -> b.test/1 -> b.test/2 -> b.test/3."""
    places = ["a.test/0", "a.test/1", "a.test/2", *[f"b.test/{n}" for n in range(4)]]
    for place, following in pairwise(places):
        web.page(place, f"//{following}")
    web.pages(places[-1])
    return web


@effect_of("depthInSite")
def test_depth_counts_links_from_the_seed(long_way: Web, crawl: Worlds) -> None:
    def reached(depth: int) -> int:
        return len(crawl(f"depthInSite {depth}", seeds=["a.test/0"]).fetched)

    assert [reached(depth) for depth in (0, 1, 4, 20)] == [1, 2, 5, 7]
    assert len(crawl(seeds=["a.test/0"]).fetched) == 6  # the default, 5
    assert crawl("depthInSite 1", seeds=["a.test/0"]).report_outcomes["tooDeep"] == 1


@effect_of("depthBySite")
def test_depth_by_site_begins_anew_on_each_site(long_way: Web, crawl: Worlds) -> None:
    from_seed = crawl("depthInSite 2", seeds=["a.test/0"])
    by_site = crawl("depthInSite 2", "depthBySite", seeds=["a.test/0"])
    assert from_seed.fetched == {"a.test/0", "a.test/1", "a.test/2"}
    assert by_site.fetched == from_seed.fetched | {"b.test/0", "b.test/1", "b.test/2"}


# Kinds of links.


@effect_of("getCGI")
def test_get_cgi_fetches_urls_with_a_query(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/plain", "/q?n=1")
    web.pages("a.test/plain", "a.test/q?n=1")
    without = crawl()
    assert asked(without) == {"a.test/", "a.test/plain"}
    assert without.report_outcomes["badURL"] == 1
    assert crawl("getCGI").fetched == {"a.test/", "a.test/plain", "a.test/q?n=1"}


@effect_of("forbiddenExtensions")
def test_forbidden_extensions_are_not_asked_for(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/page", "/page.html", "/file.TAR", "/other.zip")
    web.pages("a.test/page", "a.test/page.html", "a.test/file.TAR", "a.test/other.zip")
    world = crawl("forbiddenExtensions .tar .html end")
    # Pages are never forbidden: they hold the links.
    assert asked(world) == {"a.test/", "a.test/page", "a.test/page.html", "a.test/other.zip"}
    assert world.report_outcomes["badType"] == 1
    assert len(crawl().fetched) == 5


@pytest.fixture
def many_kinds(web: Web) -> Web:
    """A page that shows and links to files of several types."""
    web.page("a.test/", "/linked.png", "/book.pdf", "/page", images=["/shown.png"])
    web.page("a.test/page", "/notes.txt")
    web.file("a.test/linked.png", PNG + b"1", "image/png")
    web.file("a.test/shown.png", PNG + b"2", "image/png")
    web.file("a.test/book.pdf", PDF, "application/pdf")
    web.file("a.test/notes.txt", b"notes", "text/plain")
    return web


PAGES = {"a.test/", "a.test/page"}
PICTURES = {"a.test/linked.png", "a.test/shown.png"}


@effect_of("getImage")
def test_get_image_fetches_images_too(many_kinds: Web, crawl: Worlds) -> None:
    without, with_it = crawl(), crawl("getImage")
    assert without.fetched == PAGES
    assert without.outcomes["a.test/linked.png"] == "badType"
    assert "a.test/shown.png" not in asked(without)
    assert with_it.fetched == PAGES | PICTURES


@effect_of("anyType")
def test_any_type_fetches_everything(many_kinds: Web, crawl: Worlds) -> None:
    world = crawl("anyType")
    assert world.fetched == PAGES | PICTURES | {"a.test/book.pdf", "a.test/notes.txt"}
    assert crawl().outcomes["a.test/notes.txt"] == "badType"
    # Servers that look at the Accept header see it.
    assert {request.headers["accept"] for request in world.asked} == {"*/*"}


@effect_of("specificSearch", "specificSet")
def test_specific_search_keeps_only_what_it_looks_for(many_kinds: Web, crawl: Worlds) -> None:
    books = 'specificSet "application/pdf" .pdf end end'
    without = crawl(books)
    assert (without.fetched, without.kept) == (PAGES, PAGES)
    world = crawl(books, "specificSearch")
    # Pages are still read for their links.
    assert world.fetched == PAGES | {"a.test/book.pdf"}
    assert world.kept == {"a.test/book.pdf"}
    pictures = crawl('specificSet "image/" .png "application/pdf" .pdf end end', "specificSearch")
    assert pictures.kept == PICTURES | {"a.test/book.pdf"}


@effect_of("specificSearch", "specificSet")
def test_specific_search_takes_its_extensions_first_and_whatever_is_forbidden(
    web: Web, crawl: Worlds
) -> None:
    web.page("a.test/", "/1", "/2", "/3", "/book.pdf")
    web.pages("a.test/1", "a.test/2", "a.test/3")
    web.file("a.test/book.pdf", PDF, "application/pdf")
    world = crawl(
        'specificSet "application/pdf" .pdf end end specificSearch',
        "forbiddenExtensions .pdf end",
    )
    assert [request.path for request in world.pages_asked][:2] == ["/", "/book.pdf"]
    assert world.kept == {"a.test/book.pdf"}


@effect_of("pageNoDuplicate")
def test_page_no_duplicate_treats_equal_pages_as_one(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/one", "/two", "/other")
    same = Answer(b'<p>The same <a href="/below">link</a>.')
    web.put("a.test/one", same)
    web.put("a.test/two", same)
    web.pages("a.test/other", "a.test/below")
    with_it, without = crawl("pageNoDuplicate"), crawl()
    assert len(without.fetched) == 5
    assert with_it.outcomes["a.test/two"] == "duplicate"
    assert with_it.fetched == without.fetched - {"a.test/two"} == with_it.kept


@effect_of("probeSoft404")
def test_probe_soft_404_drops_pages_like_that_for_an_impossible_name(
    web: Web, crawl: Worlds
) -> None:
    web.page("a.test/", "/real", "/gone")
    web.pages("a.test/real")
    web.make = lambda place: None if "robots" in place else Answer(b"<p>Sorry!")
    with_it, without = crawl("probeSoft404"), crawl()
    assert without.fetched == {"a.test/", "a.test/real", "a.test/gone"}
    assert with_it.fetched == {"a.test/", "a.test/real"} == with_it.kept


# URLs that must not be requested.


@effect_of("guessSitemap")
def test_guess_sitemap_asks_for_one_that_nothing_names(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    worlds = [crawl(f"guessSitemap {word}") for word in ("on", "off")]
    asked = [sorted(each.path for each in world.pages_asked) for world in worlds]
    assert asked == [["/", "/sitemap.xml"], ["/"]]
    # One that is not there is in no count and in no list.
    for name in ("pages", "success", "links", "urls_seen", "outcomes", "left_out"):
        assert worlds[0].crawl.report[name] == worlds[1].crawl.report[name], name
    assert set(worlds[0].fates) == {"a.test/"}
    assert worlds[0].snapshot("failures") == worlds[0].snapshot("broken") == []


@effect_of("ignoreRobots")
def test_ignore_robots_does_not_even_ask(web: Web, crawl: Worlds) -> None:
    web.robots("a.test", "User-agent: *", "Disallow: /closed")
    web.page("a.test/", "/closed", "/marked", "/open")
    web.put("a.test/marked", Answer(b'<meta name="robots" content="noindex,nofollow">'))
    web.pages("a.test/closed", "a.test/open")
    obeys, ignores = crawl(), crawl("ignoreRobots")
    assert obeys.outcomes["a.test/closed"] == "fastRobots"
    assert "a.test/closed" not in asked(obeys)
    assert "a.test/marked" not in obeys.kept
    assert (
        ignores.fetched == ignores.kept == {f"a.test/{x}" for x in ("", "closed", "marked", "open")}
    )
    assert ignores.pages_asked == ignores.asked


@effect_of("robotsMeta")
def test_robots_meta_says_what_is_obeyed_of_the_wishes_of_pages(web: Web, crawl: Worlds) -> None:
    marked = ("X-Robots-Tag: noindex, nofollow",)
    web.page("a.test/", "/marked", "/open")
    web.page("a.test/marked", "/behind", "//b.test/", "/open", headers=marked)
    web.pages("a.test/open", "a.test/behind")
    open_ = {"a.test/", "a.test/open"}
    worlds = {word: crawl(f"robotsMeta {word}", "stay host") for word in ("on", "nofollow", "off")}
    kept = [world.kept for world in worlds.values()]
    assert kept == [open_, open_ | {"a.test/marked"}, open_ | {"a.test/marked", "a.test/behind"}]
    left_out = [world.snapshot("left_out") for world in worlds.values()]
    # The link to another host would be left out in any case.
    assert left_out == [{"noindex": 1, "nofollow": 1}, {"nofollow": 1}, {"stay": 1}]
    assert worlds["on"].fates["a.test/marked"]["detail"] == NOINDEX


def test_a_crawl_that_keeps_none_of_its_pages_is_no_success(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", headers=("X-Robots-Tag: noindex",))
    world = crawl("outputMode save")
    assert world.code == 4
    said = world.stderr.getvalue()
    assert "larbinpy: no page was kept: they ask not to be indexed (noindex)" in said
    web.page("a.test/", "/file.pdf")
    web.file("a.test/file.pdf", b"%PDF", "application/pdf")
    specific = "specificSearch", 'specificSet "image/png" .png end end'
    assert crawl("outputMode save", *specific).code == 4
    assert crawl("outputMode save", "anyType", *specific[:1]).code == 4
    assert crawl(*specific).code == 0
    web.page("a.test/", "/kept", headers=("X-Robots-Tag: noindex",))
    web.pages("a.test/kept")
    assert crawl("outputMode save").code == 0


def test_an_archive_has_the_pages_that_ask_not_to_be_indexed(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", headers=("X-Robots-Tag: noindex",))
    world = crawl("outputMode warc")
    assert world.code == 0
    assert web.url("a.test/") in captures(*warcs(world.folder / "out"))
    # So it is not left out, unless another output has no such pages.
    assert not world.snapshot("left_out")
    assert crawl("outputMode warc,save").snapshot("left_out") == {"noindex": 1}


@effect_of("allowPrivate")
def test_private_addresses_are_refused_unless_allowed(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/next")
    web.pages("a.test/next", "127.0.0.1/literal")
    refused = crawl("allowPrivate off", seeds=["a.test/", "127.0.0.1/literal"])
    assert set(refused.outcomes.values()) == {"privateAddress"}
    assert (refused.asked, refused.code) == ([], 4)
    allowed = crawl("allowPrivate", seeds=["a.test/", "127.0.0.1/literal"])
    assert allowed.fetched == {"a.test/", "a.test/next", "127.0.0.1/literal"}
