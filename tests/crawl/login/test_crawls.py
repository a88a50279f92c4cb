"""Crawls behind logins of all kinds: what they store, how often they log in, what leaks.

Each crawl writes all outputs, and its ports are asked while it runs. Afterwards each page behind
the door must be in each output once and complete, no page of a visitor in any, and no secret in any
file, reply or command line. The log of the site shows logins and wasted requests.
"""

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crawl.login.conftest import CrawlOf
from tests.support.doors.crawl import WAIT, DoorCrawl
from tests.support.doors.door import (
    Door,
    Kind,
    Life,
    Link,
    Refusal,
    asks_for_login,
    forbidden,
    to_login,
)
from tests.support.doors.forms import FormDoor, JsonDoor, SsoDoor, TwoStepDoor
from tests.support.doors.headers import BasicDoor, BearerDoor, DigestDoor, OAuth1Door
from tests.support.doors.ledger import Ledger, ledger
from tests.support.doors.oauth2 import OAuth2Door

pytestmark = pytest.mark.slow

#: The reason of `explain` for links that are not asked for.
_ENDS = "loginFile: it ends the session of a login, or is a login page"
#: Wasted requests that an end of a session may cost.
_WASTE = 2


def check(crawl: DoorCrawl, also: tuple[str, ...] = ()) -> Ledger:
    """Check a crawl that has fetched all pages; `also` are further paths that may be there."""
    assert crawl.faults(also) == []
    assert crawl.leaks() == []
    seen = ledger(crawl.door)
    assert set(crawl.door.paths) <= set(seen.pages)
    assert (seen.denied, seen.entangled) == (0, [])
    assert (seen.at_once, seen.gap >= WAIT) == (1, True)
    return seen


def crawled(crawl: DoorCrawl, allowance: int = 0) -> Ledger:
    """Run a crawl to its end, which logs in once, and once more after each end of a session.

    `allowance` are requests that the login itself wastes: the page that it leads to comes twice.
    """
    assert crawl.run() == 0, crawl.printed
    seen = check(crawl)
    assert set(crawl.outcomes()) == {"success"}
    assert seen.wasted <= _WASTE * crawl.door.expiries + allowance
    assert seen.logouts == 0
    return seen


# -- a header with each request


@pytest.mark.parametrize("make", [BasicDoor, BearerDoor, OAuth1Door])
def test_a_header(crawl_of: CrawlOf, make: Callable[[], Door]) -> None:
    crawl = crawl_of(make())
    # Basic and OAuth 1 are not challenged; no request is made to log in.
    assert crawled(crawl).granted == 0
    assert getattr(crawl.door, "wrong", []) == []


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_digest_with_nonces_that_become_stale(crawl_of: CrawlOf, qop: str) -> None:
    door = DigestDoor(qop=qop, uses=25)
    crawled(crawl_of(door))
    assert door.stale >= 2
    # The requests without an answer to a challenge, which begin a nonce.
    assert set(door.wrong) <= set()


def test_a_netrc(crawl_of: CrawlOf, tmp_path: Path) -> None:
    password = "netrc-pass-4711"
    door = BasicDoor(user="reader", password=password)
    crawl = crawl_of(door, method="netrc", file="netrc", user="", password="")
    netrc = crawl.own / "netrc"
    netrc.touch(0o600)
    netrc.write_text(f"machine 127.0.0.1 login reader password {password}\n")
    # The first reply says whether it is Basic or Digest.
    crawled(crawl, allowance=1)


# -- forms


def test_a_form_whose_session_ends_after_fifty_pages(crawl_of: CrawlOf) -> None:
    """The other ways to say so are cases of tests/login/test_judge.py."""
    door = FormDoor(forbidden, Life(pages=50), pages=110)
    seen = crawled(crawl_of(door), allowance=1)
    assert door.expiries == 2
    assert seen.granted == 3


@pytest.mark.parametrize("make", [TwoStepDoor, SsoDoor])
@pytest.mark.parametrize("refusal", [to_login, asks_for_login])
def test_other_forms(
    crawl_of: CrawlOf, make: Callable[[Refusal, Life], Door], refusal: Refusal
) -> None:
    door = make(refusal, Life(pages=25))
    seen = crawled(crawl_of(door), allowance=1)
    assert door.expiries >= 2
    assert seen.granted == door.expiries + 1
    assert getattr(door, "mixed", []) == []


def test_a_session_that_ends_after_three_seconds(crawl_of: CrawlOf) -> None:
    door = FormDoor(life=Life(seconds=3.0))
    crawled(crawl_of(door, "waitDuration 0.1"), allowance=1)
    assert door.expiries >= 2


def test_a_marker_of_logged_out_pages(crawl_of: CrawlOf) -> None:
    door = FormDoor(asks_for_login, Life(pages=20))
    crawl = crawl_of(door, loggedIn="", loggedOut="/(?i)please (log|sign) in/")
    crawled(crawl, allowance=1)
    assert door.expiries >= 2


def test_a_page_to_check(crawl_of: CrawlOf) -> None:
    door = FormDoor(to_login, Life(pages=20))
    crawl = crawl_of(door, loggedIn="", check="/p/0")
    assert crawl.run() == 0, crawl.printed
    seen = check(crawl)
    # The page to check comes once more with each login.
    assert seen.wasted <= _WASTE * door.expiries + 1 + seen.granted


# -- a program and tokens


_PROGRAM = """
    import sys
    from larbinpy import Crawl, load
    from larbinpy.login.exchange import LoginFailed

    class Members:
        def user_login(self, login):
            token = (yield login.get("/api/csrf")).body
            import json
            header = f"X-CSRF-Token: {json.loads(token)['token']}"
            values = {"user": login.user, "password": login.password}
            page = yield login.post("/api/session", json=values, headers=[header])
            if page.status != 200:
                raise LoginFailed(f"/api/session answered {page.status}")

        def loaded(self, page): pass
        def failed(self, url, outcome): pass
        def stats(self): return {}
        def close(self): pass

    sys.exit(Crawl(load("larbin.conf", {}, []), output=Members()).run())
"""


def test_a_login_by_json_and_the_hook(crawl_of: CrawlOf) -> None:
    door = JsonDoor(asks_for_login, Life(pages=25))
    crawl = crawl_of(door)
    program = crawl.folder / "program.py"
    program.write_text(textwrap.dedent(_PROGRAM))
    assert crawl.run(command=[sys.executable, str(program)]) == 0, crawl.printed
    seen = check(crawl)
    assert seen.granted == door.expiries + 1 >= 3
    assert seen.wasted <= _WASTE * door.expiries


def test_a_login_by_a_hook_needs_its_program(crawl_of: CrawlOf) -> None:
    crawl = crawl_of(JsonDoor())
    assert crawl.run() == 2
    assert "is made by a program of yours (method hook); start the crawl by it" in crawl.printed
    assert crawl.door.log == []


@pytest.mark.parametrize("grant", ["client_credentials", "refresh_token"])
def test_tokens_that_the_site_ends(crawl_of: CrawlOf, grant: str) -> None:
    """The endpoint is unwell at first, and each refresh token is good once."""
    door = OAuth2Door(life=Life(pages=25), grant=grant, failures=2)
    seen = crawled(crawl_of(door, "maxWait 3"))
    assert door.wrong == []
    assert seen.granted == door.expiries + 1 >= 3


def test_tokens_are_renewed_before_they_end(crawl_of: CrawlOf) -> None:
    # A busy machine may be late, but not by two seconds.
    door = OAuth2Door(life=Life(seconds=4.0), lives=2, grant="refresh_token")
    seen = crawled(crawl_of(door, "waitDuration 0.1"))
    assert (door.expiries, door.wrong) == (0, [])
    assert seen.granted >= 3


def test_a_device_code(crawl_of: CrawlOf) -> None:
    door = OAuth2Door(grant="device_code", interval=1)
    crawl = crawl_of(door)
    seen = crawled(crawl)
    assert (door.wrong, seen.granted) == ([], 1)
    assert "WDJB-MJHT" in crawl.printed


# -- cookies of a browser


def export(crawl: DoorCrawl, key: str) -> None:
    """Write the cookies of a session as browsers export them."""
    path = crawl.own / "cookies.txt"
    path.touch(0o600)
    path.write_text(
        f"# Netscape HTTP Cookie File\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t{key}\n"
    )


def test_the_cookies_of_a_browser(crawl_of: CrawlOf) -> None:
    door = FormDoor()
    crawl = crawl_of(
        door, method="cookies", file="cookies.txt", user="", password="", page="/login"
    )
    export(crawl, door.begin().key)
    assert crawled(crawl).granted == 0


def test_cookies_of_a_session_that_ended(crawl_of: CrawlOf) -> None:
    door = FormDoor(life=Life(pages=10))
    crawl = crawl_of(
        door, method="cookies", file="cookies.txt", user="", password="", page="/login"
    )
    export(crawl, door.begin().key)
    assert crawl.run() == 0, crawl.printed
    assert crawl.outcomes()["success"] == 10
    assert set(crawl.outcomes()) == {"success", "loginFailed"}
    assert crawl.leaks() == []
    assert [each for each in crawl.faults() if "logged out" in each] == []


# -- what must not happen


def test_links_that_end_the_session(crawl_of: CrawlOf) -> None:
    links = (
        Link("/logout", "Log out", ends=True),
        Link("/account/abmelden", "Bis bald", ends=True),
        Link("/leave?now=1", "Se déconnecter", ends=True),
        Link("/do.php?action=signout", "Bye", ends=True),
        Link("/quit", "退出登录", ends=True),
        Link("/about/log-out-problems", "What to do if you cannot log out"),
    )
    door = FormDoor(links=links)
    crawl = crawl_of(door)
    assert crawl.run() == 0, crawl.printed
    seen = check(crawl, also=("/about/log-out-problems",))
    assert (seen.logouts, seen.granted, door.expiries) == (0, 1, 0)
    assert seen.wasted <= 1
    report = json.loads(crawl.report.read_text())
    assert report["outcomes"]["rejected"] >= sum(link.ends for link in links)
    # No state has the links that only their texts tell.
    texts = "links whose texts say that they log out were left out (loginFile)"
    by_text = crawl.larbinpy("explain", door.url("/leave?now=1"))
    assert f"never seen: no page that was read links to it; {texts}" in by_text
    # The secrets are not needed here, and nothing is asked for.
    crawl.table(password="env:UNSET")
    for path in ("/logout", "/quit/logout", "/login"):
        assert f"refused: rejected by: {_ENDS}" in crawl.larbinpy("explain", door.url(path))
    crawl.table(password="ask")
    (crawl.folder / "larbin.conf").write_text("\n".join([*crawl.lines, "stateDir new"]) + "\n")
    for path, fate in (("/logout", f"refused: rejected by: {_ENDS}"), ("/p/3", "wanted: ")):
        assert fate in crawl.larbinpy("explain", door.url(path))


def test_links_that_end_the_session_without_saying_so(crawl_of: CrawlOf) -> None:
    """Nobody can know that before; the session is gone after each of them, so they are learned."""
    links = (
        Link("/x/7", "More", ends=True),
        Link("/x/8", "Further", ends=True, quiet=True),
    )
    door = FormDoor(asks_for_login, links=links)
    crawl = crawl_of(door)
    assert crawl.run() == 0, crawl.printed
    seen = check(crawl, also=("/x/8",))
    assert seen.logouts <= 6
    assert seen.granted == seen.logouts + 1
    assert seen.wasted <= _WASTE * seen.logouts + 1
    explained = crawl.larbinpy("explain", door.url("/x/7"))
    ends = "it ends the session of a login, or has no sign of being logged in"
    assert f"decided: {ends} (HTTP " in explained
    reported = crawl.larbinpy("report", "state")
    assert "1  rejected         a rule rejects it, or it ends a session" in reported
    left_out = next(line for line in reported.splitlines() if "they end the session" in line)
    assert left_out.split()[0] == "1"


def test_a_wrong_password(crawl_of: CrawlOf) -> None:
    door = FormDoor()
    crawl = crawl_of(door, password="wrong-Pass-1")
    door.secrets.add("wrong-Pass-1")
    assert crawl.run() == 6, crawl.printed
    seen = ledger(door)
    assert (seen.granted, seen.denied, seen.entangled) == (0, 3, [])
    assert crawl.outcomes() == {"loginFailed": 1}
    assert crawl.leaks() == []
    assert f"{door.site}: the login failed, for the last time" in crawl.printed
    assert b"loginFailed" in crawl.heard or "loginFailed" in crawl.printed


# -- over a stop


@pytest.mark.parametrize("make", [FormDoor, lambda: OAuth2Door(grant="refresh_token")])
def test_a_killed_crawl_is_still_logged_in(crawl_of: CrawlOf, make: Callable[[], Door]) -> None:
    door = make()
    crawl = crawl_of(door, "waitDuration 0.1")
    crawl.start()
    crawl.until(lambda: sum(heard.kind == Kind.PAGE for heard in door.log) >= 25)
    # Some checkpoint is later than the login, which is saved at once.
    crawl.kill()
    state = next(crawl.state.glob("login*"))
    assert state.stat().st_mode & 0o077 == 0
    assert crawl.run("--resume") == 0, crawl.printed
    seen = check(crawl)
    assert (seen.granted, door.expiries) == (1, 0)
    assert set(crawl.outcomes()) == {"success"}


def test_a_stopped_crawl_whose_session_ended_meanwhile_logs_in_again(crawl_of: CrawlOf) -> None:
    door = FormDoor()
    crawl = crawl_of(door, "waitDuration 0.1")
    crawl.start()
    crawl.until(lambda: sum(heard.kind == Kind.PAGE for heard in door.log) >= 20)
    assert crawl.process
    crawl.process.terminate()
    assert crawl.finish() == 11
    for session in door.sessions.values():
        session.ended = True
    assert crawl.run("--resume") == 0, crawl.printed
    seen = check(crawl)
    assert seen.granted == 2
    assert seen.wasted <= _WASTE + 1
