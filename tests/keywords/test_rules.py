"""accept, reject and stay, as whole crawls."""

import pytest

from larbinpy.storage.state import Start
from tests.support.keywords import effect_of
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

PDF = b"%PDF-1.7\n"


def asked(world: World) -> set[str]:
    """The places that were asked for, robots.txt apart."""
    return {request.place for request in world.pages_asked}


@pytest.fixture
def docs(web: Web) -> Web:
    """A site with folders, a query, another host and an image."""
    web.page("a.test/docs/", "a.html", "b.html?sort=up", "old/", "/news/", "//www.a.test/", "c.pdf")
    web.page("a.test/docs/old/", "deep/")
    web.page("a.test/docs/a.html", images=["/img/a.png"])
    web.page("a.test/news/", "//b.other/")
    web.pages("a.test/docs/b.html?sort=up", "a.test/docs/old/deep/", "www.a.test/", "b.other/")
    web.file("a.test/docs/c.pdf", PDF, "application/pdf")
    web.file("a.test/img/a.png", b"\x89PNG\r\n\x1a\n", "image/png")
    return web


SEEDS = ["a.test/docs/"]


@effect_of("accept", "reject")
def test_everything_below_docs_but_not_old(docs: Web, crawl: Worlds) -> None:
    world = crawl("reject **/docs/old/**", "accept **/docs/**", "reject **", seeds=SEEDS)
    assert asked(world) == {
        "a.test/docs/", "a.test/docs/a.html", "a.test/docs/b.html?sort=up", "a.test/docs/c.pdf",
    }  # fmt: skip
    # The crawl takes no PDF, and an accept rule without a type does not change that.
    assert world.outcomes["a.test/docs/c.pdf"] == "badType"
    assert world.report_outcomes["rejected"] == 3
    assert world.snapshot("rules") == {
        "reject **/docs/old/**": 1,
        "accept **/docs/**": 3,
        "reject **": 2,
    }


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        (r"reject **\?*", ["a.test/docs/b.html?sort=up"]),
        (r"reject /[?&]sort=/", ["a.test/docs/b.html?sort=up"]),
        ("reject host:a.test", ["a.test/docs/a.html", "www.a.test/"]),
        ("reject host:*.a.test", ["www.a.test/"]),
        ("reject domain:b.other", ["b.other/"]),
        ("reject depth:>1", ["b.other/", "a.test/docs/old/deep/"]),
        ('reject "depth:1 **/old/**"', ["a.test/docs/old/", "a.test/docs/old/deep/"]),
    ],
)
def test_each_kind_of_condition(docs: Web, crawl: Worlds, rule: str, missing: list[str]) -> None:
    left = {place for place in docs.places if not place.endswith((".pdf", ".png"))}
    world = crawl("getCGI", seeds=SEEDS)
    assert world.fetched == left
    ruled = crawl("getCGI", rule, seeds=SEEDS)
    assert not ruled.fetched & set(missing)
    if "host:a.test" not in rule:
        assert ruled.fetched == left - set(missing)
    assert "rejected" not in ruled.outcomes.values()


@effect_of("accept")
def test_an_accept_rule_is_final_over_other_keywords(docs: Web, crawl: Worlds) -> None:
    limits = ("lockSite", "noExternalLinks", "limitToDomain a.test end", "stay prefix")
    assert "b.other/" not in crawl(*limits, seeds=SEEDS).fetched
    world = crawl(
        *limits, "accept **/news/", r"accept **\?sort=*", "accept host:b.other", seeds=SEEDS
    )
    assert {"b.other/", "a.test/news/", "a.test/docs/b.html?sort=up"} <= world.fetched
    assert "www.a.test/" not in asked(world)


def test_redirects_are_tested_on_each_hop(web: Web, crawl: Worlds) -> None:
    def moved(place: str) -> Answer:
        return Answer(status=302, headers=(f"Location: {web.url(place)}",))

    web.page("a.test/", "/1")
    web.put("a.test/1", moved("a.test/2"))
    web.put("a.test/2", moved("a.test/3"))
    web.pages("a.test/3")
    assert crawl().fetched == {"a.test/", "a.test/3"}
    world = crawl("reject **/3")
    assert asked(world) == {"a.test/", "a.test/1", "a.test/2"}
    assert world.report_outcomes["rejected"] == 1
    assert asked(crawl("reject hops:>1")) == {"a.test/", "a.test/1", "a.test/2"}
    assert asked(crawl("reject hops:>0")) == {"a.test/", "a.test/1"}


def test_seeds_are_exempt(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/x")
    web.pages("a.test/x")
    assert asked(crawl("reject **")) == {"a.test/"}
    assert asked(crawl("reject type:*")) == {"a.test/", "a.test/x"}


def test_requisites_are_tested_too(docs: Web, crawl: Worlds) -> None:
    page = ["a.test/docs/a.html"]
    assert crawl("requisites site", seeds=page).fetched == {*page, "a.test/img/a.png"}
    assert crawl("requisites site", "reject **.png", seeds=page).fetched == {*page}


# Once the headers are there.


@effect_of("reject")
def test_a_type_is_rejected_without_its_body(docs: Web, crawl: Worlds) -> None:
    docs.file("a.test/docs/c.pdf", PDF * 10**6, "application/pdf")
    world = crawl("anyType", "reject type:application/pdf", "getCGI", seeds=SEEDS)
    assert "a.test/docs/c.pdf" in asked(world)
    fate = world.fates["a.test/docs/c.pdf"]
    assert (fate["outcome"], fate["size"], fate["status"]) == ("rejected", 0, 200)
    line = (
        (world.folder / "larbin.conf").read_text().splitlines().index("reject type:application/pdf")
    )
    assert fate["detail"] == f"reject type:application/pdf ({world.folder}/larbin.conf:{line + 1})"
    assert world.snapshot("rules") == {"reject type:application/pdf": 1}
    assert "a.test/docs/c.pdf" not in world.kept


@effect_of("accept")
def test_a_rule_for_a_type_takes_it(docs: Web, crawl: Worlds) -> None:
    assert crawl(seeds=SEEDS).outcomes["a.test/docs/c.pdf"] == "badType"
    world = crawl("accept type:application/pdf", seeds=SEEDS)
    assert world.outcomes["a.test/docs/c.pdf"] == "success"
    assert "a.test/img/a.png" not in asked(world)
    images = crawl("accept type:image/*", seeds=SEEDS)
    assert images.outcomes["a.test/img/a.png"] == "success"
    assert images.outcomes["a.test/docs/c.pdf"] == "badType"


def test_what_a_type_decides_for_a_link_to_elsewhere(docs: Web, crawl: Worlds) -> None:
    """The link is followed, because its type may be right; if it is not, lockSite decides."""
    docs.page("a.test/news/", "//b.other/", "//b.other/x.pdf")
    docs.file("b.other/x.pdf", PDF, "application/pdf")
    world = crawl("lockSite", "accept type:application/pdf", seeds=SEEDS)
    assert world.outcomes["b.other/x.pdf"] == "success"
    assert world.outcomes["b.other/"] == "outSite"
    assert world.fates["b.other/"]["size"] == 0
    assert world.snapshot("failures") == []


@pytest.mark.parametrize("rule", ["reject type:application/pdf", "accept type:application/pdf"])
def test_a_rule_for_types_leaves_the_sitemaps_of_a_folder(
    docs: Web, crawl: Worlds, rule: str
) -> None:
    """stay prefix takes the sitemaps of the whole host, as they may name pages of the folder."""
    docs.put("a.test/robots.txt", Answer(f"Sitemap: {docs.url('a.test/map.xml')}".encode()))
    named = "".join(f"<url><loc>{docs.url(f'a.test/{at}')}</loc></url>" for at in ("docs/m", "m"))
    docs.file("a.test/map.xml", f"<urlset>{named}</urlset>".encode(), "application/xml")
    docs.pages("a.test/docs/m", "a.test/m")
    world = crawl("stay prefix", rule, seeds=SEEDS)
    assert world.outcomes["a.test/map.xml"] == "success"
    assert "a.test/docs/m" in world.fetched
    assert "a.test/m" not in world.fetched


def test_an_image_at_its_headers_is_no_redirect(web: Web, crawl: Worlds) -> None:
    """noExternalLinks lets redirects pass, but not images."""
    web.page("a.test/", "/door", images=["//b.test/i", "//b.test/j"])
    web.put("a.test/door", Answer(status=302, headers=(f"Location: {web.url('b.test/')}",)))
    web.page("b.test/")
    web.file("b.test/i", b"GIF89a", "image/gif")
    web.file("b.test/j", b"\x89PNG", "image/png")
    world = crawl("noExternalLinks", "getImage", "accept type:image/png")
    assert world.outcomes["b.test/i"] == "outSite"
    assert (world.outcomes["b.test/j"], world.outcomes["b.test/"]) == ("success", "success")


def test_sizes(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/large", "/small", "/unknown")
    web.put("a.test/large", Answer(b"<p>" + b"x" * 3000))
    web.put("a.test/small", Answer(b"<p>x"))
    web.put("a.test/unknown", Answer(b"<p>" + b"x" * 3001, chunked=True))
    world = crawl("reject size:>2K")
    assert world.outcomes["a.test/large"] == "rejected"
    assert world.fetched == {"a.test/", "a.test/small", "a.test/unknown"}
    both = crawl('reject "size:>2K type:image/*"', 'reject "size:<9 type:text/*"')
    assert both.outcomes["a.test/small"] == "rejected"
    assert both.fetched == {"a.test/", "a.test/large", "a.test/unknown"}


# stay


def stays(crawl: Worlds, *lines: str) -> set[str]:
    return crawl(*lines, "getCGI", seeds=SEEDS).fetched


@effect_of("seedRules")
def test_rules_for_seeds(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/", "spam.test/", "b.test/")
    seeds = ["a.test/", "spam.test/", "b.test/"]
    assert crawl("reject host:spam.test", seeds=seeds).fetched == set(seeds)
    world = crawl("reject host:spam.test", "seedRules", seeds=seeds)
    assert world.fetched == {"a.test/", "b.test/"}
    assert world.fates["spam.test/"]["outcome"] == "rejected"
    assert "spam.test" in world.stderr.getvalue()


@effect_of("stay")
def test_stay(docs: Web, crawl: Worlds) -> None:
    prefix = {place for place in docs.places if place.startswith("a.test/docs/")}
    prefix -= {"a.test/docs/c.pdf"}
    host = prefix | {"a.test/news/"}
    assert stays(crawl, "stay page") == {"a.test/docs/"}
    assert stays(crawl, "stay prefix") == prefix
    assert stays(crawl, "stay host") == stays(crawl, "lockSite") == host
    assert stays(crawl, "stay domain") == host | {"www.a.test/"}
    assert stays(crawl, "stay any") == host | {"www.a.test/", "b.other/"}


def test_a_seed_that_redirects_widens_the_area(web: Web, crawl: Worlds) -> None:
    web.put("a.test/door", Answer(status=302, headers=(f"Location: {web.url('b.test/docs/')}",)))
    web.page("b.test/docs/", "x", "/y")
    web.pages("b.test/docs/x", "b.test/y")
    seeds = ["a.test/door"]
    assert crawl("stay prefix", "followSeed", seeds=seeds).fetched == {
        "b.test/docs/",
        "b.test/docs/x",
    }
    assert crawl("stay page", "followSeed", seeds=seeds).fetched == {"b.test/docs/"}
    assert crawl("stay host", seeds=seeds).fetched == {"b.test/docs/"}
    whole = {"b.test/docs/", "b.test/docs/x", "b.test/y"}
    assert crawl("stay host", "followSeed", seeds=seeds).fetched == whole


def test_a_seed_without_its_slash_is_its_folder_once_it_redirects_there(
    web: Web, crawl: Worlds
) -> None:
    web.put("a.test/docs", Answer(status=301, headers=("Location: /docs/",)))
    web.page("a.test/docs/", "1", "/no")
    web.page("a.test/docs/1", "2", "/no", "/docsno")
    web.pages("a.test/docs/2", "a.test/no", "a.test/docsno")
    folder = {"a.test/docs/", "a.test/docs/1", "a.test/docs/2"}
    assert crawl("stay prefix", seeds=["a.test/docs"]).fetched == folder
    for limit in ("limitPage 1", "limitPage 2"):
        first = crawl("stay prefix", limit, seeds=["a.test/docs"])
        again = crawl("stay prefix", seeds=["a.test/docs"], folder=first.folder, start=Start.RESUME)
        assert again.fetched == folder


def test_stay_holds_across_a_resume(web: Web, crawl: Worlds) -> None:
    """The folder of the seed is saved, and that of the URL that it redirects to."""
    web.put("a.test/docs/", Answer(status=302, headers=(f"Location: {web.url('b.test/d/')}",)))
    web.page("b.test/d/", "1", "/no")
    web.page("b.test/d/1", "2", "/no", "//a.test/docs/x", "//a.test/no")
    web.pages("b.test/d/2", "b.test/no", "a.test/docs/x", "a.test/no")
    first = crawl("stay prefix", "followSeed", "limitPage 1", seeds=["a.test/docs/"])
    assert first.fetched == {"b.test/d/"}
    again = crawl("stay prefix", "followSeed", seeds=[], folder=first.folder, start=Start.RESUME)
    assert again.fetched == {"b.test/d/", "b.test/d/1", "b.test/d/2", "a.test/docs/x"}


def test_stay_and_requisites(docs: Web, crawl: Worlds) -> None:
    """Those of the site lie outside of the folder."""
    world = crawl("stay prefix", "requisites site", seeds=["a.test/docs/a.html"])
    assert world.fetched == {"a.test/docs/a.html", "a.test/img/a.png"}
