from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import SETTINGS
from larbinpy.config.rule import parse_rule
from larbinpy.frontier.scope import Candidate, Reason, Scope, within_domains, without_extensions
from larbinpy.page import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks
from larbinpy.url import Url
from tests.support.frontiers import all_pages

HERE = "http://a.test/"
INSIDE = "http://a.test/b/c.html"
OUTSIDE = "http://b.test/"


def refuse(
    url: str, *, redirect: bool = False, kind: Kind = Kind.PAGE, via: str = HERE, **settings: Any
) -> Outcome | None:
    scope = Scope(all_pages(**settings))
    scope.area.load(["a.test"], {})
    return scope.refuse(Candidate(url, via, redirect, kind), None)


def test_without_rules_everything_may_be_wanted() -> None:
    for url in (INSIDE, OUTSIDE, "https://b.test/cgi-bin/x?y=z", "http://[2001:db8::1]/"):
        assert refuse(url) is None


def test_queries_need_get_cgi() -> None:
    assert refuse(HERE + "?a", get_cgi=False) is Outcome.BAD_URL
    assert refuse(HERE + "?a", get_cgi=True) is None
    assert refuse(INSIDE, get_cgi=False) is None


@pytest.mark.parametrize("domain", ["fr", ".fr", "FR", "fr."])
def test_limit_to_domain_takes_whole_labels(domain: str) -> None:
    def outside(host: str) -> Any:
        return refuse(f"http://{host}/", limit_to_domain=("org", domain)) is Outcome.OUT_SITE

    assert not outside("site.fr")
    assert not outside("www.site.fr")
    assert not outside("fr")
    assert not outside("a.org")
    assert outside("xfr")
    assert outside("site.frs")
    assert outside("fr.com")
    assert outside("[2001:db8::1]")
    assert outside("192.0.2.1")


def test_limit_to_a_site_takes_its_subdomains() -> None:
    assert refuse("http://www.a.test/", limit_to_domain=("a.test",)) is None
    assert refuse("http://ba.test/", limit_to_domain=("a.test",)) is Outcome.OUT_SITE
    assert refuse("http://test/", limit_to_domain=("a.test",)) is Outcome.OUT_SITE


def test_the_domain_limit_binds_redirects_too() -> None:
    more: dict[str, Any] = {"redirect": True, "limit_to_domain": ("a.test",)}
    assert refuse(OUTSIDE, **more) is Outcome.OUT_SITE


@pytest.mark.parametrize("name", ["x.jpg", "x.JPG", "x.tar.gz", "x.jpg?y=.html"])
def test_forbidden_extensions(name: str) -> None:
    assert refuse(HERE + name, forbidden_extensions=(".jpg", ".tar.gz")) is Outcome.BAD_TYPE


@pytest.mark.parametrize("name", ["", "x.html", "a.jpg/", "x.jpg.html", "x?y=z.jpg", "jpg"])
def test_endings_that_are_not_forbidden(name: str) -> None:
    assert refuse(HERE + name, forbidden_extensions=(".jpg",)) is None


def test_pages_and_sitemaps_are_never_forbidden() -> None:
    test = without_extensions((".html", ".htm", ".xml", ".gz", "/"), ())
    for name in ("", "a.html", "a.htm", "sitemap.xml", "sitemap.xml.gz"):
        assert test(Candidate(HERE + name, HERE, redirect=False)) is None
    assert test(Candidate(HERE + "a.gz", HERE, redirect=False)) is Outcome.BAD_TYPE


def test_privileged_extensions_are_not_forbidden() -> None:
    settings: dict[str, Any] = {
        "forbidden_extensions": (".mp3", ".pdf"),
        "privileged_extensions": (".MP3",),
    }
    assert refuse(HERE + "a.mp3", **settings) is None
    assert refuse(HERE + "a.pdf", **settings) is Outcome.BAD_TYPE


def test_lock_site_stays_on_the_host() -> None:
    assert refuse(INSIDE, lock_site=True) is None
    assert refuse("https://a.test:444/", lock_site=True) is None
    assert refuse(OUTSIDE, lock_site=True) is Outcome.OUT_SITE
    assert refuse(OUTSIDE, lock_site=True, redirect=True) is Outcome.OUT_SITE
    assert refuse(INSIDE, lock_site=True, via=OUTSIDE) is None


def test_without_seeds_lock_site_lets_nothing_pass() -> None:
    scope = Scope(all_pages(lock_site=True))
    inside = Candidate(INSIDE, HERE, redirect=False)
    assert scope.refuse(inside, None) is Outcome.OUT_SITE
    scope.area.load(["a.test"], {})
    assert scope.refuse(inside, None) is None


def test_no_external_links_lets_redirects_pass() -> None:
    assert refuse(INSIDE, no_external_links=True) is None
    assert refuse(OUTSIDE, no_external_links=True) is Outcome.OUT_SITE
    assert refuse(OUTSIDE, no_external_links=True, redirect=True) is None


def test_another_port_of_the_host_is_not_external() -> None:
    """noExternalLinks and depthBySite go by the host, as Larbin's do."""
    assert refuse("http://a.test:8080/", no_external_links=True) is None
    assert refuse("https://a.test/", no_external_links=True, via="http://a.test:81/") is None
    assert depth("http://a.test:8080/", 3, depth_by_site=True) == 2


def depth(
    url: str, here: int, *, redirect: bool = False, kind: Kind = Kind.PAGE, **settings: Any
) -> int:
    scope = Scope(all_pages(**settings))
    return scope.depth(Candidate(url, HERE, redirect, kind), here)


def test_depth_counts_down() -> None:
    assert depth(INSIDE, 3) == 2
    assert depth(OUTSIDE, 3) == 2
    assert depth(INSIDE, 0) == -1


def test_redirects_and_requisites_cost_no_depth() -> None:
    assert depth(INSIDE, 0, redirect=True) == 0
    assert depth(INSIDE, 0, kind=Kind.IMAGE) == 0
    assert depth(OUTSIDE, 0, kind=Kind.REQUISITE) == 0


def test_with_depth_by_site_another_host_starts_afresh() -> None:
    assert depth(OUTSIDE, 0, depth_by_site=True, depth_in_site=7) == 7
    assert depth(INSIDE, 3, depth_by_site=True, depth_in_site=7) == 2


@pytest.mark.parametrize("pack", [list, PackedLinks.pack])
def test_which_kinds_are_followed(pack: Callable[[list[Link]], Sequence[Link]]) -> None:
    def kinds(url: str = "http://a.test/x.mp3", **settings: Any) -> Any:
        scope = Scope(all_pages(**settings))
        return [link.kind for link in scope.followed(pack([Link(url, kind) for kind in Kind]))]

    assert kinds() == [Kind.PAGE, Kind.SHOWN]
    assert kinds(get_image=True) == [Kind.PAGE, Kind.IMAGE, Kind.SHOWN]
    assert kinds(any_type=True) == list(Kind)
    assert kinds(privileged_extensions=(".mp3",)) == list(Kind)
    assert kinds("http://a.test/x?.mp3", privileged_extensions=(".mp3",)) == [Kind.PAGE, Kind.SHOWN]


def test_repr_names_the_rules() -> None:
    scope = Scope(all_pages(get_cgi=False, limit_to_domain=("fr",)))
    assert repr(scope) == "<Scope ['getCGI', 'limitToDomain'] <Rules 0>>"


EVERY_RULE = {
    "get_cgi": False,
    "limit_to_domain": ("test",),
    "forbidden_extensions": (".jpg",),
    "lock_site": True,
    "no_external_links": True,
}


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        (HERE + "?a", "getCGI"),
        ("http://a.com/", "limitToDomain"),
        (HERE + "a.jpg", "forbiddenExtensions"),
        (OUTSIDE, "lockSite"),
        ("http://c.test/", "noExternalLinks"),
    ],
)
def test_each_rule_is_known_by_its_keyword(url: str, rule: str) -> None:
    scope = Scope(all_pages(**EVERY_RULE))
    scope.area.load(["a.test", "c.test"], {})
    candidate = Candidate(url, HERE, redirect=False)
    refused = scope.refusing(candidate)
    assert refused is not None
    assert (refused.outcome, refused.rule) == (scope.refuse(candidate, None), rule)
    assert rule.lower() in SETTINGS


@pytest.mark.parametrize(
    ("requisites", "binding"),
    [("site", [OUTSIDE, "http://a.com/"]), ("everywhere", [])],
)
def test_which_rules_bind_requisites(requisites: Any, binding: Any) -> None:
    scope = Scope(all_pages(**EVERY_RULE, requisites=requisites))
    scope.area.load(["a.test"], {})

    def bound(url: str) -> Any:
        candidate = Candidate(url, HERE, redirect=False, kind=Kind.IMAGE, requisite=True)
        return scope.refuse(candidate, None) is not None

    assert [url for url in (HERE + "?a", OUTSIDE, "http://a.com/") if bound(url)] == binding
    assert bound(HERE + "a.jpg")


LABEL = st.text("ab-1", min_size=1, max_size=3)


@given(st.lists(LABEL, min_size=1, max_size=4), st.lists(LABEL, min_size=1, max_size=2))
def test_limit_to_domain_is_a_comparison_of_labels(host: str, domain: str) -> None:
    url = f"http://{'.'.join(host)}/"
    within = host[-len(domain) :] == domain
    expected = None if within else Outcome.OUT_SITE
    test = within_domains((".".join(domain),))
    assert test(Candidate(url, HERE, redirect=False)) is expected


# Rules that wait for the headers.


def at_headers(line: str, url: Url, **settings: Any) -> object:
    keyword, pattern = line.split(" ", 1)
    rule = parse_rule(keyword == "accept", pattern)
    scope = Scope(all_pages(rules=[rule], **settings))
    scope.area.add([HERE])
    return scope.at_headers(url, "text/html", 100)


def test_limits_that_passed_for_a_link_are_not_applied_again() -> None:
    """They had decided when only a rule that rejects was open."""
    url = Url(OUTSIDE, 3, via=HERE)
    assert at_headers("reject type:image/*", url, lock_site=True) is None
    reason = at_headers("accept type:image/*", url, lock_site=True)
    assert isinstance(reason, Reason) and reason.rule == "lockSite"


def test_at_the_headers_a_url_is_what_its_link_was() -> None:
    rule, limits = "accept type:application/pdf", {"no_external_links": True}
    assert at_headers(rule, Url(OUTSIDE, 3, via=HERE, hops=1, redirect=True), **limits) is None
    image = at_headers(rule, Url(OUTSIDE, 3, via=HERE, hops=1), **limits)
    assert isinstance(image, Reason) and image.rule == "noExternalLinks"


# What rules and limits say, by value.


def scope_of(*lines: str, **settings: Any) -> Scope:
    """A scope with rules as they are written, and a seed on a.test."""
    rules = [
        parse_rule(*(line.split(" ", 1)[0] == "accept", line.split(" ", 1)[1])) for line in lines
    ]
    scope = Scope(all_pages(rules=rules, **settings))
    scope.area.add([HERE])
    return scope


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("accept type:image/*", [Kind.PAGE, Kind.IMAGE, Kind.SHOWN]),
        ("accept type:video/mp4", [Kind.PAGE, Kind.SHEET, Kind.REQUISITE, Kind.SHOWN]),
        ("accept type:audio/*", [Kind.PAGE, Kind.SHEET, Kind.REQUISITE, Kind.SHOWN]),
        ("accept type:font/woff2", [Kind.PAGE, Kind.SHEET, Kind.REQUISITE, Kind.SHOWN]),
        ("accept type:text/css", [Kind.PAGE, Kind.SHEET, Kind.REQUISITE, Kind.SHOWN]),
        ("accept type:*/*", list(Kind)),
        ("accept type:application/pdf", [Kind.PAGE, Kind.SHOWN]),
        ("accept type:audience/x", [Kind.PAGE, Kind.SHOWN]),
        ("accept **/image/*", [Kind.PAGE, Kind.SHOWN]),
        ("reject type:image/*", [Kind.PAGE, Kind.SHOWN]),
    ],
)
def test_links_to_the_types_of_rules_are_followed(line: str, kinds: list[Kind]) -> None:
    links = [Link(f"{HERE}x", kind) for kind in Kind]
    found = [link.kind for link in scope_of(line).followed(links)]
    assert sorted(found, key=list(Kind).index) == sorted(kinds, key=list(Kind).index)


def test_redirects_requisites_and_sitemaps_are_hops() -> None:
    scope = scope_of("accept hops:1", "reject **")
    parent = Url(HERE, 3)
    refused = [
        scope.refuse(Candidate(f"{HERE}x", HERE, redirect, kind, sitemap=sitemap), parent)
        for redirect, kind, sitemap in [
            (True, Kind.PAGE, False),
            (False, Kind.IMAGE, False),
            (False, Kind.PAGE, True),
            (False, Kind.PAGE, False),
        ]
    ]
    # A pattern hops:1 is for URLs to which one hop led, not two.
    assert refused[:3] == [None] * 3


@pytest.mark.parametrize(
    ("lines", "url", "verdict"),
    [
        (["reject type:image/*"], Url(f"{HERE}i", 3, via=HERE), "rejected"),
        (["accept type:image/*"], Url(f"{HERE}i", 3, via=HERE), "accepted"),
        # Seeds are exempt from rules that reject, and need none that accepts.
        (["reject type:image/*"], Url(f"{HERE}i", 3), None),
        (["accept type:image/*"], Url(f"{HERE}i", 3), "accepted"),
        (["reject type:text/*"], Url(f"{HERE}i", 3), None),
        (["reject **/x"], Url(f"{HERE}i", 3, via=HERE), None),
    ],
)
def test_rules_that_wait_for_the_type(lines: list[str], url: Url, verdict: str | None) -> None:
    scope = scope_of(*lines)
    found = scope.at_headers(url, "image/png", 100)
    rules = scope.decided_by_rule
    if verdict is None:
        assert (found, {*rules.values()}) == (None, {0})
    else:
        is_rejected = isinstance(found, Reason) and found.outcome is Outcome.REJECTED
        assert is_rejected is (verdict == "rejected")
        assert found is not None and {*rules.values()} == {1}


def test_the_keywords_of_the_types_that_are_wanted() -> None:
    assert Scope(all_pages()).type_keywords == "anyType, getImage, requisites"
    specific = Scope(all_pages(privileged_extensions=(".mp3",))).type_keywords
    assert specific == "specificSet, anyType, getImage, requisites"


def test_links_that_end_a_session_are_left_out_and_counted() -> None:
    scope = Scope(all_pages(), avoids=lambda url: url.endswith("/logout"))
    outcomes = [
        scope.refuse(Candidate(f"{HERE}{name}", HERE, redirect=False), None)
        for name in ("logout", "x", "logout")
    ]
    assert outcomes == [Outcome.REJECTED, None, Outcome.REJECTED]
    assert scope.left_out == {"loginFile": 2}


@pytest.mark.parametrize(
    ("settings", "url", "takes"),
    [
        ({"requisites": "site"}, f"{HERE}i.png", True),
        ({"requisites": "site"}, f"{OUTSIDE}i.png", True),
        ({"requisites": "site", "no_external_links": True}, f"{OUTSIDE}i.png", False),
        ({"requisites": "site", "no_external_links": True}, f"{HERE}i.png", True),
        ({"requisites": "everywhere", "no_external_links": True}, f"{OUTSIDE}i.png", True),
        ({"requisites": "off"}, f"{HERE}i.png", False),
    ],
)
def test_what_pages_need_is_taken(settings: dict[str, Any], url: str, takes: bool) -> None:
    assert scope_of(**settings).takes_requisite(url) is takes


@pytest.mark.parametrize(
    ("parent", "kind", "redirect", "requisites", "is_one"),
    [
        (Url(HERE, 3), Kind.IMAGE, False, "site", True),
        (Url(HERE, 3), Kind.PAGE, False, "site", False),
        (Url(HERE, 3), Kind.IMAGE, False, "off", False),
        (Url(HERE, 3, requisite=True), Kind.PAGE, True, "site", True),
        (Url(HERE, 3), Kind.PAGE, True, "site", False),
    ],
)
def test_which_links_are_requisites(
    parent: Url, kind: Kind, redirect: bool, requisites: str, is_one: bool
) -> None:
    scope = scope_of(requisites=requisites)
    assert scope.is_requisite(parent, Link(HERE, kind), redirect) is is_one


@pytest.mark.parametrize(
    ("stay", "url", "given", "outcome"),
    [
        ("prefix", f"{HERE}b/x", {}, None),
        ("prefix", f"{HERE}x", {}, Outcome.OUT_SITE),
        ("prefix", f"{HERE}x", {"seed": True}, None),
        ("prefix", OUTSIDE, {"seed": True}, None),
        ("prefix", f"{HERE}x", {"requisite": True}, None),
        ("prefix", OUTSIDE, {"requisite": True}, Outcome.OUT_SITE),
        ("prefix", f"{HERE}x", {"sitemap": True}, None),
        ("prefix", OUTSIDE, {"sitemap": True}, Outcome.OUT_SITE),
        ("page", f"{HERE}b/c.html", {}, None),
        ("page", f"{HERE}x", {"sitemap": True}, Outcome.OUT_SITE),
        ("host", f"{HERE}x", {}, None),
        ("host", OUTSIDE, {}, Outcome.OUT_SITE),
    ],
)
def test_stay_keeps_to_the_area(
    stay: str, url: str, given: dict[str, Any], outcome: Outcome | None
) -> None:
    scope = Scope(all_pages(stay=stay, requisites="site"))
    scope.area.add([INSIDE])
    kind = Kind.IMAGE if given.get("requisite") else Kind.PAGE
    assert scope.refuse(Candidate(url, INSIDE, False, kind, **given), None) is outcome


def test_a_link_check_asks_outside_whatever_stay_says() -> None:
    scope = Scope(all_pages(stay="host", check_links=True))
    scope.area.add([HERE])
    assert scope.refuse(Candidate(OUTSIDE, HERE, redirect=False), None) is None
    assert scope.ends_at(Url(OUTSIDE, 3), False)
    assert not scope.ends_at(Url(OUTSIDE, 3), True)
    assert not scope.ends_at(Url(HERE, 3), False)


def test_each_site_has_its_depth() -> None:
    depths = {"http://a.test": 2, "http://b.test": 5}
    scope = Scope(all_pages(), depth_of=lambda site: depths[site])
    assert [scope.full_depth(url) for url in (HERE, OUTSIDE)] == [2, 5]
    found = [scope.depth(Candidate(url, HERE, redirect=False), 9) for url in (HERE, OUTSIDE)]
    assert found == [2, 5]
    assert scope.depth(Candidate(OUTSIDE, HERE, redirect=False), 3) == 2


@pytest.mark.parametrize(("depth", "left"), [(3, 3), (1, 1), (0, -1)])
def test_a_sitemap_is_taken_if_its_pages_are(depth: int, left: int) -> None:
    sitemap = Candidate(f"{HERE}s.xml", HERE, redirect=False, sitemap=True)
    assert Scope(all_pages()).depth(sitemap, depth) == left


def test_a_link_to_where_a_seed_led_away_is_told_as_such() -> None:
    scope = Scope(all_pages(stay="host", follow_seed=False))
    scope.area.add([HERE])
    scope.area.redirect(HERE, [OUTSIDE])
    for url in (OUTSIDE, "http://c.test/"):
        assert scope.refuse(Candidate(url, HERE, redirect=False), None) is Outcome.OUT_SITE
    assert scope.left_out == {"followSeed": 1, "stay": 1}
