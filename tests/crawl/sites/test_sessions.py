"""The sessions of a crawl: what they answer to the frontier, and how they judge replies."""

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from larbinpy.crawl.on_disk import SavedSessions
from larbinpy.crawl.sessions import SiteSessions, with_login
from larbinpy.fetch.cookies import Jar, Jars, LoginJars, NoJar
from larbinpy.fetch.options import RequestOptions
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.login.exchange import Grant
from larbinpy.login.spec import Login, Method
from larbinpy.page import ENDS_SESSION, Outcome, Page, of_status
from larbinpy.url import Ask, Url

SITE = "http://a.test"
BEARER = Login(SITE, Method.BEARER, token="t0ken")
WALL = 1_700_000_000.0


@pytest.fixture
def jars() -> Iterator[Jars]:
    with closing(Jars(NoJar(), partial(Jar, 10**6))) as made:
        yield made


class Around:
    """Sessions with a clock, and a count of what they changed."""

    def __init__(self, jars: Jars, *logins: Login, user_login: Any = None) -> None:
        self.wall = WALL
        self.begun = self.saved = 0
        self.sessions = SiteSessions(logins, jars, self._begin, lambda: self.wall, user_login)
        self.sessions.on_login = self._save

    def _begin(self) -> None:
        self.begun += 1

    def _save(self) -> None:
        self.saved += 1


def page(path: str = "/", status: int = 200, body: bytes = b"", **headers: str) -> Page:
    lines = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Page(Url(SITE + path, 3), of_status(status), status=status, headers=lines, body=body)


def test_a_login_without_requests(jars: Jars) -> None:
    around = Around(jars, BEARER)
    sessions = around.sessions
    assert (sessions.needs(SITE), sessions.needs("http://b.test")) == (True, False)
    assert sessions.begin(SITE) is None
    assert (sessions.needs(SITE), sessions.failure(SITE), sessions.lasts(SITE)) == (False, "", None)
    assert (around.begun, around.saved) == (1, 1)
    assert sessions.headers(Url(f"{SITE}/x", 1)) == ["Authorization: Bearer t0ken"]
    for other in ("https://a.test/", "http://a.test:8080/", "http://b.a.test/"):
        assert sessions.headers(Url(other, 1)) == ()
    assert sessions.failed_for_nothing() == []


def test_a_lost_session_and_one_that_never_works(jars: Jars) -> None:
    around = Around(jars, BEARER)
    sessions = around.sessions
    for _ in range(2):
        assert sessions.begin(SITE) is None
        assert sessions.judge(page(status=401))[0] is Judgement.LOST
        assert sessions.needs(SITE)
        assert not sessions.is_final(SITE)
    sessions.begin(SITE)
    assert sessions.judge(page(status=401))[0] is Judgement.LOST
    assert sessions.needs(SITE)
    assert (sessions.begin(SITE), sessions.is_final(SITE)) == (None, True)
    assert sessions.failure(SITE)
    assert sessions.failed_for_nothing() == [SITE]
    [notice] = sessions.take_notices()
    assert notice.startswith(f"{SITE}: the login failed, for the last time: ")
    assert sessions.take_notices() == []
    # A day later.
    assert sessions.begin(SITE) is None
    assert (sessions.failure(SITE), sessions.is_final(SITE)) == ("", False)


def test_what_came_since_the_last_confirmed_page_is_fetched_again(jars: Jars) -> None:
    login = Login(SITE, Method.BEARER, logged_in="Log out", token="t")
    sessions = Around(jars, login).sessions
    sessions.begin(SITE)
    html: dict[str, Any] = {"content_type": "text/html"}
    inside = page(body=b"<p>Log out", **html)
    image = page("/i.png", body=b"png", content_type="image/png")
    failed = page("/500", 500, b"<p>Oops", **html)
    for each in (inside, image, failed):
        assert sessions.judge(each)[0] is Judgement.KEEP
    lost = sessions.judge(page("/1", body=b"<p>Sign in", **html))
    assert (lost[0], list(lost[1])) == (Judgement.LOST, [image.url])
    # A late one, which was requested before.
    assert sessions.judge(page("/2.png", body=b"x", content_type="image/png"))[0] is (
        Judgement.LOST
    )
    assert sessions.judge(Page(Url(f"{SITE}/3", 1), Outcome.TIMEOUT))[0] is Judgement.KEEP
    assert sessions.failed_for_nothing() == []


def test_a_url_that_ends_each_session_is_given_up(jars: Jars) -> None:
    login = Login(SITE, Method.BEARER, logged_in="Log out", token="t")
    sessions = Around(jars, login).sessions
    html: dict[str, Any] = {"content_type": "text/html"}
    verdicts = []
    for _ in range(3):
        sessions.begin(SITE)
        sessions.judge(page(body=b"<p>Log out", **html))
        odd = page("/odd", body=b"<p>Sign in", **html)
        verdicts.append(sessions.judge(odd)[0])
    assert verdicts == [Judgement.LOST, Judgement.LOST, Judgement.DROP]
    assert (odd.outcome, odd.detail) == (Outcome.REJECTED, ENDS_SESSION)
    assert sessions.avoids(f"{SITE}/odd")
    assert not sessions.avoids("http://b.test/odd")
    assert sessions.avoids(f"{SITE}/logout")
    assert not sessions.avoids("http://b.test/logout")


def test_headers_are_blanked(jars: Jars) -> None:
    sessions = Around(jars, BEARER).sessions
    head = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=s3cret; Path=/\r\nX-A: 1\r\n"
        b"WWW-Authenticate: Digest nonce=s3cret,\r\n  opaque=s3cret\r\nContent-Type: text/html\r\n"
    )
    reply = page(set_cookie="sid=s3cret", x_a="1", www_authenticate="Digest nonce=s3cret")
    reply.head = head
    sessions.blank(reply)
    assert reply.headers == [("set-cookie", "***"), ("x-a", "1"), ("www-authenticate", "***")]
    assert reply.head == (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: ***\r\nX-A: 1\r\n"
        b"WWW-Authenticate: ***\r\nContent-Type: text/html\r\n"
    )


HOOK = Login(SITE, Method.HOOK, user="me", password="pw")


def test_a_hook_logs_in_by_requests_of_its_own(jars: Jars) -> None:
    def user_login(login: Any) -> Any:
        reply = yield Ask(f"{login.site}/api", login.password.encode(), ("X-A: b",), notice="Wait")
        return Grant(headers=(f"X-Token: {reply.body.decode()}",), expires=WALL + 1000)

    around = Around(jars, HOOK, user_login=user_login)
    sessions = around.sessions
    ask = sessions.begin(SITE)
    assert ask is not None
    assert (ask.href, ask.body, around.saved) == (f"{SITE}/api", b"pw", 0)
    assert sessions.take_notices() == ["Wait"]
    assert sessions.replied(SITE, page("/api", body=b"42")) is None
    assert sessions.headers(Url(f"{SITE}/", 1)) == ["X-Token: 42"]
    left = sessions.lasts(SITE)
    assert left is not None
    assert 900 < left < 1000
    around.wall += left + 1
    assert (sessions.needs(SITE), sessions.lasts(SITE)) == (True, 0.0)


def test_a_header_that_no_request_can_carry_is_a_failure(jars: Jars) -> None:
    def user_login(login: Any) -> Any:
        yield Ask(f"{login.site}/api", headers=("X-A: caf\xe9",))

    sessions = Around(jars, HOOK, user_login=user_login).sessions
    why = "user_login made a header that no request can carry"
    for last in ("", "", ", for the last time"):
        assert sessions.begin(SITE) is None
        assert sessions.failure(SITE) == why
        assert sessions.take_notices() == [f"{SITE}: the login failed{last}: {why}"]


@pytest.mark.parametrize("token", ["t\r\nX-Evil: 1", "caf\xe9", "t\n"])
def test_a_header_that_no_request_can_carry_is_left_out(jars: Jars, token: str) -> None:
    """Some tokens come from the site."""
    sessions = Around(jars, Login(SITE, Method.BEARER, token=token)).sessions
    sessions.begin(SITE)
    assert sessions.headers(Url(f"{SITE}/", 1)) == []


# The jar.


def cookies(jars: Jars) -> list[bytes]:
    return [line.split(b"\t")[5] for line in jars.own(SITE).lines()]


def test_the_cookies_of_a_file_come_with_each_login(jars: Jars, tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("a.test\tFALSE\t/\tFALSE\t0\tsid\t1\n")
    login = Login(SITE, Method.COOKIES, file=str(file))
    sessions = Around(jars, login).sessions
    assert cookies(jars) == []
    sessions.begin(SITE)
    assert cookies(jars) == [b"sid"]
    assert list(jars.common.lines()) == []


def test_a_login_after_a_failed_one_begins_without_cookies(jars: Jars) -> None:
    """A site may refuse everybody who brings the cookie of a session that it has ended."""
    sessions = Around(jars, BEARER).sessions
    sessions.begin(SITE)
    jars.own(SITE).add([b"a.test\tFALSE\t/\tFALSE\t0\tsid\told"], over_given=True)
    sessions.judge(page())
    sessions.judge(page("/1", status=401))
    # That one had pages: its cookies may help.
    sessions.begin(SITE)
    assert cookies(jars) == [b"sid"]
    sessions.judge(page("/2", status=401))
    assert sessions.failure(SITE)
    sessions.begin(SITE)
    assert cookies(jars) == []


def test_a_session_goes_on_in_the_next_run(jars: Jars, tmp_path: Path) -> None:
    first = SavedSessions(tmp_path, Around(jars, BEARER).sessions)
    assert first.cut() == {"number": 1}
    around = Around(jars, BEARER)
    saved = SavedSessions(tmp_path, around.sessions)
    around.sessions.begin(SITE)
    jars.own(SITE).add([b"a.test\tFALSE\t/\tFALSE\t0\tsid\ts3cret"], over_given=True)
    mark = saved.cut()
    saved.sync()
    assert saved.cut() == mark
    [path] = tmp_path.glob("logins.*")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "s3cret" in path.read_text()
    with closing(Jars(NoJar(), partial(Jar, 10**6))) as others:
        later = Around(others, BEARER).sessions
        loaded = SavedSessions(tmp_path, later)
        loaded.load(mark)
        assert (later.needs(SITE), cookies(others)) == (False, [b"sid"])
        jar = others.own(SITE)
        jar.empty()
        assert loaded.cut() == {"number": mark["number"] + 1}
        loaded.tidy({"number": mark["number"] + 1})
    assert [each.name for each in tmp_path.glob("logins.*")] == ["logins.000002.json"]


def test_the_values_of_a_site_without_a_login_are_left(jars: Jars) -> None:
    """It had one in the run before."""
    around = Around(jars, BEARER)
    around.sessions.begin(SITE)
    around.sessions.judge(page("/x"))
    kept = {"http://gone.test": {}, **around.sessions.values()}
    later = Around(jars, BEARER).sessions
    later.load(kept)
    assert not later.needs(SITE)
    assert later.values()[SITE]["gave"]


@pytest.mark.parametrize(
    ("href", "avoided"),
    [(f"{SITE}/logout", True), (f"{SITE}/x", False), ("http://b.test/logout", False)],
)
def test_links_that_end_a_session_are_avoided_on_its_site(
    jars: Jars, href: str, avoided: bool
) -> None:
    assert Around(jars, BEARER).sessions.avoids(href) is avoided


def test_links_that_say_on_a_page_that_they_log_out_are_avoided(jars: Jars) -> None:
    sessions = Around(jars, BEARER).sessions
    sessions.begin(SITE)
    html: dict[str, Any] = {"content_type": "text/html"}
    sessions.judge(page("/404", 404, b"<a href=/not>Log out</a>", **html))
    sessions.judge(page(body=b"<a href=/bye>Log out</a>", **html))
    assert [sessions.avoids(f"{SITE}/{name}") for name in ("bye", "not")] == [True, False]


def test_the_jar_of_a_login_knows_each_origin_that_it_asks(
    jars: Jars, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(LoginJars, "asks", lambda self, site: asked.append(site))
    login = Login(SITE, Method.FORM, page=f"{SITE}/in", user="me", password="x")
    sessions = Around(jars, login).sessions
    assert sessions.begin(SITE) is not None
    sessions.replied(SITE, page("/in", 302, location="http://a.test:81/in"))
    assert asked == [SITE, f"{SITE}:81"]


def test_a_failure_is_no_page_of_a_session(jars: Jars) -> None:
    sessions = Around(jars, BEARER).sessions
    sessions.begin(SITE)
    sessions.judge(page("/x", 404))
    assert not sessions.values()[SITE]["gave"]


@pytest.mark.parametrize("other", [Login(SITE, Method.BEARER, token="other"), None])
def test_a_session_of_another_login_does_not_go_on(
    jars: Jars, tmp_path: Path, other: Login | None
) -> None:
    around = Around(jars, BEARER)
    around.sessions.begin(SITE)
    jars.own(SITE).add([b"a.test\tFALSE\t/\tFALSE\t0\tsid\ts3cret"], over_given=True)
    values = json.loads(json.dumps(around.sessions.values()))
    with closing(Jars(NoJar(), partial(Jar, 10**6))) as others:
        later = Around(others, *([other] if other else [])).sessions
        later.load(values)
        assert later.needs(SITE) is (other is not None)
        assert cookies(others) == []


def fail_for_good(sessions: SiteSessions) -> None:
    """Log in, and lose the session at once, until that is final."""
    for _ in range(9):
        sessions.begin(SITE)
        if sessions.is_final(SITE):
            return
        sessions.judge(page(status=401))
    raise AssertionError("it is tried again and again")


def test_a_site_that_gave_pages_has_not_failed_for_nothing(jars: Jars) -> None:
    first = Around(jars, BEARER).sessions
    first.begin(SITE)
    first.judge(page())
    values = json.loads(json.dumps(first.values()))
    fail_for_good(first)
    assert first.failed_for_nothing() == []
    # Nor has it in a later run.
    later = Around(jars, BEARER).sessions
    later.load(values)
    fail_for_good(later)
    assert later.failed_for_nothing() == []
    other = Around(jars, BEARER).sessions
    fail_for_good(other)
    assert other.failed_for_nothing() == [SITE]


def test_sessions_that_could_not_be_written_are_written_by_the_next_checkpoint(
    jars: Jars, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    saved = SavedSessions(folder, Around(jars, BEARER).sessions)
    folder.touch()
    with pytest.raises(OSError):
        saved.cut()
    folder.unlink()
    folder.mkdir()
    mark = saved.cut()
    [path] = folder.iterdir()
    # It cannot be flushed, so nobody knows what is on the disk.
    path.unlink()
    with pytest.raises(FileNotFoundError):
        saved.sync()
    later = saved.cut()
    saved.sync()
    assert mark["number"] < later["number"]
    assert [path.name for path in folder.iterdir()] == [f"logins.{later['number']:06}.json"]
    assert saved.cut() == later


def test_without_logins_the_file_of_an_earlier_run_goes(jars: Jars, tmp_path: Path) -> None:
    around = Around(jars, BEARER)
    mark = SavedSessions(tmp_path, around.sessions).cut()
    later = SavedSessions(tmp_path, None)
    later.load(mark)
    assert later.cut() == {"number": 0}
    later.sync()
    later.tidy({"number": 0})
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_removed_means_a_new_login(jars: Jars, tmp_path: Path) -> None:
    sessions = Around(jars, BEARER).sessions
    SavedSessions(tmp_path, sessions).load({"number": 7})
    assert sessions.needs(SITE)


# Options of requests.


@pytest.mark.parametrize(
    ("method", "login", "auth"),
    [
        (Method.BASIC, "me:pw", "basic"),
        (Method.DIGEST, "me:pw", "digest"),
        (Method.NETRC, "me:pw", ""),
        (Method.NEGOTIATE, "", "negotiate"),
        (Method.FORM, "", ""),
        (Method.BEARER, "", ""),
    ],
)
def test_the_options_of_a_method(method: Method, login: str, auth: str) -> None:
    made = with_login(Login(SITE, method, user="me", password="pw"), RequestOptions("us"))
    assert (made.login, made.auth, made.jar) == (login, auth, SITE)
