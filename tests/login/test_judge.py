"""Whether a page is one of a session."""

import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.login.exchange import next_of
from larbinpy.login.judge import (
    Judge,
    LoginPages,
    RecentCounts,
    Standing,
    has_password_field,
    marker,
    refresh_target,
)
from larbinpy.login.spec import Login, Method
from larbinpy.page import Page
from tests.support.loginpages import redirect, reply, silence

SITE = "http://a.test"
IN, OUT, UNKNOWN = Standing
PAGE = f"{SITE}/x"


def judge(page: str = "/login", logged_in: str = "", logged_out: str = "") -> Judge:
    where = SITE + page if page else ""
    return Judge(Login(SITE, Method.FORM, page=where, logged_in=logged_in, logged_out=logged_out))


def cut(page: Page) -> Page:
    page.truncated = "length"
    return page


BOTH = {"logged_in": "Log out", "logged_out": "Please sign in"}


@pytest.mark.parametrize(
    ("markers", "page", "standing"),
    [
        ({}, reply(PAGE, "Hello"), IN),
        ({}, reply(PAGE, b"\x89PNG", type="image/png"), IN),
        ({}, reply(PAGE, "", 404), UNKNOWN),
        ({}, reply(PAGE, "", 500), UNKNOWN),
        ({}, silence(PAGE), UNKNOWN),
        ({}, redirect(PAGE, "/y"), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>Log out"), IN),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>Log in"), OUT),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>log out"), OUT),
        ({"logged_in": "/(?i)log out/"}, reply(PAGE, "<a>lOG out"), IN),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>Log out", 404), IN),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>", 404), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "<a>Log out", 403), IN),
        ({"logged_in": "Log out"}, reply(PAGE, b"\x89PNG", type="image/png"), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "", type="text/html"), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "<html><p>x", type=""), OUT),
        ({"logged_in": "Log out"}, reply(PAGE, "<html>x", type="application/xhtml+xml"), OUT),
        ({"logged_in": "Log out"}, cut(reply(PAGE, "<p>long")), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "Log out", 304), UNKNOWN),
        ({"logged_out": "Sign in"}, reply(PAGE, "<a>Sign in"), OUT),
        ({"logged_out": "Sign in"}, reply(PAGE, "<a>Sign in", 404), OUT),
        ({"logged_out": "Sign in"}, reply(PAGE, "<a>Hello"), IN),
        ({"logged_out": "Sign in"}, reply(PAGE, "<a>Hello", 404), UNKNOWN),
        ({"logged_out": "Sign in"}, cut(reply(PAGE, "<a>Hello")), UNKNOWN),
        ({"logged_out": "Sign in"}, reply(PAGE, "Sign in", type="text/plain"), UNKNOWN),
        (BOTH, reply(PAGE, "Log out. Please sign in"), OUT),
        (BOTH, reply(PAGE, "Log out"), IN),
        (BOTH, reply(PAGE, "nothing"), OUT),
        ({}, reply(PAGE, "", 401), OUT),
        ({}, reply(PAGE, "Page Expired", 419), OUT),
        ({}, reply(PAGE, "Invalid token", 498), OUT),
        ({}, reply(PAGE, "Network Authentication Required", 497), UNKNOWN),
        ({"logged_in": "Log out"}, reply(PAGE, "Login Timeout", 440), OUT),
        ({"logged_in": "Log out"}, reply(PAGE, "Log out", 440), IN),
        ({}, redirect(PAGE, "/login"), OUT),
        ({}, redirect(PAGE, "/login?next=%2Fx", 303), OUT),
        ({}, redirect(PAGE, "https://a.test/login", 307), OUT),
        ({}, redirect(PAGE, "/logins"), UNKNOWN),
        ({}, redirect(PAGE, "http://b.test/login"), UNKNOWN),
        ({"logged_in": "Log out"}, redirect(PAGE, "/login"), OUT),
        ({}, reply(PAGE, "<p>", refresh="0; url=/login"), OUT),
        ({}, reply(PAGE, "<meta http-equiv=refresh content='0; url=/login?x'>"), OUT),
        ({}, reply(PAGE, "<meta http-equiv=refresh content='60'>"), IN),
        ({}, reply(f"{SITE}/login?a", "<p>no form"), OUT),
        ({"logged_in": "Log out"}, reply(f"{SITE}/login", "Log out"), IN),
        ({}, reply(f"{SITE}/login", "", 404), UNKNOWN),
    ],
)
def test_one_page(markers: dict[str, str], page: Page, standing: Standing) -> None:
    assert judge(**markers).standing(page) is standing


@pytest.mark.parametrize("codec", ["utf-8", "cp1251", "koi8-r", "utf-16"])
def test_markers_in_any_encoding(codec: str) -> None:
    body = "<!DOCTYPE html><p>Выйти</p>".encode(codec)
    label = {"cp1251": "windows-1251"}.get(codec, codec)
    page = reply(PAGE, body, type=f"text/html; charset={label}")
    assert judge(logged_in="Выйти").standing(page) is IN
    page = reply(PAGE, f"<meta charset={label}>".encode() + body, type="text/html")
    if codec != "utf-16":
        assert judge(logged_in="Выйти").standing(page) is IN
        assert judge(logged_in="Войти").standing(page) is OUT


def test_a_login_form_on_the_home_page() -> None:
    home = judge("/")
    form = "<form><input name=u><input id=p type='password'></form>"
    assert home.standing(reply(f"{SITE}/", "Welcome")) is IN
    assert home.standing(reply(f"{SITE}/", form)) is OUT
    assert home.standing(reply(PAGE, form)) is IN
    assert home.standing(redirect(PAGE, "/")) is OUT


def test_a_site_without_a_login_page() -> None:
    assert judge("").standing(redirect(PAGE, "/login")) is UNKNOWN


# 403: a session that has ended, or a page that this user may not see.


def refusals(number: int, first: int = 0) -> Iterable[Page]:
    return (reply(f"{SITE}/f{each}", "", 403) for each in range(first, first + number))


def test_a_403_after_pages_is_a_loss() -> None:
    mine = judge()
    assert mine.standing(reply(PAGE, "x")) is IN
    assert mine.standing(reply(PAGE, "", 403)) is OUT


def test_a_403_that_stays_after_another_login_is_none() -> None:
    mine = judge()
    mine.standing(reply(PAGE, "x"))
    refused = reply(f"{SITE}/admin", "", 403)
    assert mine.standing(refused) is OUT
    mine.standing(reply(PAGE, "x"))
    assert mine.standing(refused) is UNKNOWN


def test_a_page_without_a_marker_shows_that_the_login_works_for_some() -> None:
    """So what is refused before and after another login is refused to this user."""
    mine = judge(logged_in="Log out")
    image = reply(PAGE, b"\x89PNG", type="image/png")
    refused = reply(f"{SITE}/admin", "", 403)
    standings = [mine.standing(each) for each in (image, refused, image, refused)]
    assert standings == [UNKNOWN, OUT, UNKNOWN, UNKNOWN]


def test_pages_that_came_after_their_403_leave_no_doubt() -> None:
    """They were losses indeed, so the next 403 is one at once."""
    subject = judge()
    assert subject.standing(reply(PAGE, "Hello")) is IN
    for number in range(20):
        assert subject.standing(reply(f"{SITE}/{number}", "", 403)) is OUT
        subject.logged_in(proven=False)
        assert subject.standing(reply(f"{SITE}/{number}", "Hello")) is IN


def test_the_first_reply_may_be_a_403() -> None:
    """Of pages that were asked for before a login."""
    assert judge().standing(reply(PAGE, "", 403)) is OUT


def test_more_forbidden_pages_need_more_in_a_row() -> None:
    """Those that came in a row before a page of the session were forbidden, all of them."""
    mine = judge()
    few = judge()
    for number in (mine, few):
        number.standing(reply(PAGE, "x"))
    for each in range(30):
        for page in refusals(2, first=2 * each):
            mine.standing(page)
        mine.standing(reply(PAGE, "x"))
    rows = []
    for number in (mine, few):
        standings = [number.standing(page) for page in refusals(30, first=1000)]
        rows.append(standings.index(OUT))
    assert rows == [20, 0]


def test_each_row_of_refused_pages_is_counted_once() -> None:
    mine = judge()
    mine.standing(reply(PAGE, "x"))
    [first] = refusals(1)
    assert mine.standing(first) is OUT
    mine.logged_in(proven=False)
    for page in (first, *refusals(1, first=1), *[reply(PAGE, "x")] * 3):
        assert mine.standing(page) is not OUT
    # Two pages are forbidden for certain, so the third in a row is a loss.
    assert [mine.standing(page) for page in refusals(3, first=2)] == [UNKNOWN, UNKNOWN, OUT]


def test_a_site_that_refuses_everything_is_not_logged_in() -> None:
    mine = judge()
    for _ in range(2):
        assert [mine.standing(page) for page in refusals(3)] == [OUT] * 3


@pytest.mark.parametrize("between", [1, 3, 1000])
@pytest.mark.parametrize("proven", [True, False])
def test_a_site_with_many_forbidden_pages_costs_few_logins(between: int, proven: bool) -> None:
    """Pages that the user may see are `between` those."""
    mine = judge()
    mine.standing(reply(PAGE, "x"))
    waiting, logins, requests = list(refusals(300)), 0, 0
    unconfirmed: list[Page] = []
    while waiting:
        page = waiting.pop(0)
        requests += 1
        if mine.standing(page) is OUT:
            logins += 1
            waiting = [page, *waiting, *unconfirmed]
            unconfirmed.clear()
            mine.logged_in(proven)
        else:
            unconfirmed.append(page)
        if requests % between == 0:
            assert mine.standing(reply(PAGE, "x")) is IN
            unconfirmed.clear()
    assert logins <= (40 if proven or between < 1000 else 200)


@pytest.mark.parametrize("forbidden", [0, 9, 500])
def test_a_loss_is_seen_even_on_such_a_site(forbidden: int) -> None:
    mine = judge()
    for page in refusals(forbidden):
        mine.standing(reply(PAGE, "x"))
        mine.standing(page)
    mine.standing(reply(PAGE, "x"))
    standings = [mine.standing(page) for page in refusals(30, first=1000)]
    assert standings.index(OUT) <= min(forbidden, 20)


#: Replies of a site to those whose session has ended; some sites do not show that there is a page.
HIDING = {
    "403": lambda href: reply(href, "", 403),
    "404": lambda href: reply(href, "<p>no", 404),
    "410": lambda href: reply(href, "", 410),
    "home": lambda href: redirect(href, "/"),
}


@pytest.mark.parametrize("markers", [{}, {"logged_in": "Log out"}])
@pytest.mark.parametrize("hide", HIDING.values(), ids=HIDING)
def test_pages_that_a_site_hides_from_visitors(
    hide: Callable[[str], Page], markers: dict[str, str]
) -> None:
    mine = judge(**markers)
    assert mine.standing(reply(PAGE, "Log out")) is IN
    hidden = hide(f"{SITE}/hidden")
    assert mine.standing(hidden) is OUT
    # It comes first after the next login, which shows that it is not there.
    mine.logged_in(proven=True)
    assert mine.standing(hidden) is UNKNOWN
    # So one more page alone says nothing; two in a row do.
    assert mine.standing(hide(f"{SITE}/a")) is UNKNOWN
    assert mine.standing(hide(f"{SITE}/b")) is OUT


def test_a_page_that_is_not_there_before_any_page() -> None:
    """Not every site has the seeds of the user."""
    assert judge().standing(reply(PAGE, "", 404)) is UNKNOWN
    assert judge().standing(redirect(f"{SITE}/", "/")) is UNKNOWN


def test_the_last_page_ends_a_row() -> None:
    mine = judge()
    mine.standing(reply(PAGE, "x"))
    for number in range(5):
        mine.standing(reply(f"{SITE}/{number}", "", 404))
        mine.standing(reply(PAGE, "x"))
    assert mine.standing(reply(f"{SITE}/a", "", 404)) is UNKNOWN
    assert mine.standing(reply(f"{SITE}/b", "", 404), last=True) is OUT
    mine.logged_in(proven=True)
    assert mine.standing(reply(f"{SITE}/b", "", 404), last=True) is UNKNOWN


# The addresses of login pages.


@pytest.mark.parametrize(
    ("page", "href", "is_one"),
    [
        ("/login", "/login", True),
        ("/login", "/login?next=/a", True),
        ("/login", "/login/", False),
        ("/index.php?do=login", "/index.php?do=login", True),
        ("/index.php?do=login", "/index.php?back=1&do=login", True),
        ("/index.php?do=login", "/index.php?do=show", False),
        ("/index.php?do=login", "/index.php", False),
    ],
)
def test_the_login_page(page: str, href: str, is_one: bool) -> None:
    pages = LoginPages(SITE + page)
    assert pages.has(SITE + href) is is_one
    assert pages.only(SITE + href) is is_one


def test_learned_login_pages() -> None:
    pages = LoginPages(f"{SITE}/login")
    pages.learn("http://id.test/sso?client=1&state=2")
    pages.learn("http://id.test/form")
    pages.learn(f"{SITE}/")
    assert pages.has("http://id.test/sso?state=9&client=1&x=")
    assert not pages.has("http://id.test/sso?client=1")
    assert pages.has("http://id.test/form?y")
    assert not pages.has(f"{SITE}/")


def test_not_more_than_fifty_are_learned() -> None:
    pages = LoginPages(f"{SITE}/login")
    for number in range(60):
        pages.learn(f"{SITE}/sso/{number}")
    assert len(pages.learned) == 50
    assert pages.has(f"{SITE}/sso/49")
    assert not pages.has(f"{SITE}/sso/50")
    again = LoginPages(f"{SITE}/login")
    again.remember((f"a.test/{number}", []) for number in range(60))
    assert len(again.learned) == 50


def test_the_home_page_is_no_page_to_avoid() -> None:
    pages = LoginPages(f"{SITE}/")
    assert pages.has(f"{SITE}/")
    assert not pages.only(f"{SITE}/")


def test_counts_of_the_newest_are_kept() -> None:
    counts = RecentCounts(2)
    assert [counts.add(text) for text in "abab"] == [1, 1, 2, 2]
    assert counts.add("a", 3) == 5
    assert counts.add("c") == 1
    assert [text in counts for text in "abc"] == [True, False, True]
    assert (len(counts), counts.of("a"), counts.of("b")) == (2, 5, 0)


@pytest.mark.parametrize(
    ("text", "page", "found"),
    [
        ("/a.c/", "xabcx", True),
        ("/a.c/", "/ac/", False),
        ("/a.c", "abc", False),
        ("/a.c", "x/a.cx", True),
        ("a.c/", "a.c/", True),
        ("//", "x", False),
        ("/", "x", False),
        ("/x/", "x", True),
    ],
)
def test_a_marker_between_slashes_is_an_expression(text: str, page: str, found: bool) -> None:
    assert marker(text)(page) is found


def test_an_expression_that_is_none_is_told_by_an_error_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match=r"'/\(/' is not a regular expression of RE2: missing"):
        marker("/(/")
    assert capfd.readouterr() == ("", "")


def test_redirects_are_those_of_http() -> None:
    followed = [code for code in range(200, 500) if next_of(redirect(PAGE, "/y", code))]
    assert followed == [301, 302, 303, 307, 308]


@given(st.binary(max_size=300))
def test_any_bytes_are_judged(body: bytes) -> None:
    page = reply(PAGE, b"<meta http-equiv=refresh " + body, type="text/html")
    assert refresh_target(page) is not None
    for markers in ({}, BOTH):
        assert judge(**markers).standing(page) in Standing


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        ("<input type=password>", True),
        ('<INPUT name="a<b" class = x\nTYPE = "Password">', True),
        ("<input name=a><input type='password'", True),
        ("<input <input type=password>", True),
        ("<input><p>type=password", False),
        ("<input type=passwords><inputs type=password>", False),
    ],
)
def test_fields_for_a_password(body: str, asks: bool) -> None:
    assert has_password_field(reply(PAGE, body)) is asks
    assert not has_password_field(reply(PAGE, body, type="text/plain"))


@pytest.mark.parametrize("piece", ["<input ", "<input type ", "<input type= "])
def test_a_page_of_tags_without_end_takes_no_time(piece: str) -> None:
    began = time.process_time()
    assert not has_password_field(reply(PAGE, piece * 150_000))
    assert time.process_time() - began < 2
