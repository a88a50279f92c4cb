"""The jars of a login: which origin gets which cookies."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pycurl
import pytest

from larbinpy.fetch.cookies import Jar, Jars, LoginJars, NoJar, login_jar
from larbinpy.url import Url

SITE = "https://a.test"
#: The same host by another port and by another scheme, and other hosts.
OTHERS = ["https://a.test:8443", "http://a.test", "https://id.test", "https://x.id.test"]
ID, BELOW = OTHERS[2:]


@pytest.fixture
def jars() -> Iterator[Jars]:
    with closing(Jars(NoJar(), partial(Jar, 10**6))) as made:
        yield made


def names(jars: Jars, origin: str) -> set[str]:
    """The names of the cookies in the jar of a login for `origin`."""
    lines = jars.own(login_jar(SITE, origin)).lines()
    return {line.split(b"\t")[5].decode() for line in lines}


def visit(jars: Jars, login: LoginJars, origin: str, *cookies: str) -> None:
    """A request of the login to `origin`, whose reply sets `cookies`; those with a dot for all."""
    login.asks(origin)
    host = origin.split("/")[2].split(":")[0]
    lines = [
        f"{host}\t{'TRUE' if name[0] == '.' else 'FALSE'}\t/\tFALSE\t0\t{name}\t1".encode()
        for name in cookies
    ]
    jars.own(login_jar(SITE, origin)).add(lines, over_given=True)
    login.replied(origin)


def test_the_cookies_of_the_site_stay_there(jars: Jars) -> None:
    login = jars.of_login(SITE)
    visit(jars, login, OTHERS[0])
    visit(jars, login, SITE, "sid", ".wide")
    for other in OTHERS:
        visit(jars, login, other)
        assert names(jars, other) == set()
    assert names(jars, SITE) == {"sid", ".wide"}
    assert jars.common.lines() == []


def test_those_of_another_origin_stay_there_unless_they_have_a_domain(jars: Jars) -> None:
    login = jars.of_login(SITE)
    visit(jars, login, BELOW)
    visit(jars, login, ID, "idp", ".wide")
    for other in (SITE, BELOW, "https://y.id.test"):
        visit(jars, login, other)
        assert names(jars, other) == {".wide"}
    visit(jars, login, ID)
    assert names(jars, ID) == {"idp", ".wide"}


def test_a_value_that_is_new_is_not_replaced_by_an_old_one(jars: Jars) -> None:
    login = jars.of_login(SITE)
    visit(jars, login, ID, ".wide")
    jars.own(SITE).add([b"id.test\tTRUE\t/\tFALSE\t0\t.wide\tnew"], over_given=True)
    visit(jars, login, SITE)
    visit(jars, login, ID, "more")
    [line] = jars.own(SITE).lines()
    assert line.endswith(b"\tnew")


def test_a_login_that_begins_anew_has_no_cookies(jars: Jars) -> None:
    login = jars.of_login(SITE)
    curl = pycurl.Curl()
    for anew, left in ((False, {"1"}), (True, set())):
        for origin in (SITE, ID):
            visit(jars, login, origin, "1")
        jars.hand(curl, login_jar(SITE, ID))
        login.begin(anew=anew)
        for origin in (SITE, ID):
            assert names(jars, origin) == left
    jars.hand(curl, "")
    curl.close()


def test_origins_without_end_have_no_jars_without_end(jars: Jars) -> None:
    login = jars.of_login(SITE)
    for number in range(200):
        if not number % 10:
            login.begin(anew=False)
        visit(jars, login, f"https://{number}.test", "1")
    assert len(list(jars)) < 40


@pytest.mark.parametrize(
    ("line", "fitting"),
    [
        ("a.test\tFALSE\t/\tFALSE", [SITE, OTHERS[0], OTHERS[1]]),
        ("#HttpOnly_a.test\tFALSE\t/\tTRUE", [SITE, OTHERS[0]]),
        (".id.test\tTRUE\t/\tFALSE", [ID, BELOW]),
        ("id.test\tFALSE\t/p\tFALSE", [ID]),
        ("id.test\tFALSE\t/p/\tFALSE", [ID]),
        ("id.test\tFALSE\t/pa\tFALSE", []),
        ("d.test\tTRUE\t/\tFALSE", []),
    ],
)
def test_the_requests_that_get_a_cookie(line: str, fitting: list[str]) -> None:
    with closing(Jar(10**6)) as jar:
        jar.add([f"{line}\t0\tname\tvalue".encode()], over_given=True)
        found = [each for each in (SITE, *OTHERS) if jar.cookies_for(Url(f"{each}/p/x?q", 0))]
        assert found == fitting
    assert NoJar().cookies_for(Url(SITE, 0)) == ""
