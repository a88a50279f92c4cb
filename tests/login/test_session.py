"""Sessions: one login at a time, and no page of a lost one is forgotten."""

import json
from collections import Counter
from collections.abc import Generator
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from larbinpy.login.judge import Standing
from larbinpy.login.methods.hook import HookLogin
from larbinpy.login.session import Session, SessionState
from larbinpy.login.spec import Login, Method
from larbinpy.page import Page
from larbinpy.url import Ask, Url
from tests.support.loginpages import redirect, reply, silence

SITE = "http://a.test"
CHECK = f"{SITE}/account"
BASIC = Login(SITE, Method.BASIC, user="me", password="x")
CHECKED = replace(BASIC, check=CHECK, logged_in="Hello me")
NEEDED, RUNNING, IN, FAILED = SessionState


def url(path: str) -> Url:
    return Url(SITE + path, 0)


def log_in(session: Session, body: str = "Hello me") -> None:
    """A login with a check."""
    assert session.begin(0.0) == Ask(CHECK)
    assert session.replied(reply(CHECK, body), 0.0) is None


def logged_in() -> Session:
    session = Session(CHECKED, {})
    log_in(session)
    assert session.state is IN
    return session


def test_a_method_without_requests_is_logged_in_at_once() -> None:
    session = Session(BASIC, {})
    assert session.state is NEEDED
    assert session.is_due(0.0)
    assert session.begin(0.0) is None
    assert session.state is IN
    assert not session.is_due(1e12)


def test_the_check_decides() -> None:
    session = Session(CHECKED, {})
    assert session.begin(0.0) == Ask(CHECK)
    assert session.state is RUNNING
    assert session.replied(reply(CHECK, "Please sign in"), 0.0) is None
    assert session.state is NEEDED
    assert session.reason == "the page to check has no sign of being logged in"
    log_in(session)
    assert session.state is IN
    assert session.reason == ""


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (silence(CHECK), "no reply to a request of the login at http://a.test: connection refused"),
        (reply(CHECK, status=503), "a reply to the login has status 503"),
        (reply(CHECK, status=429), "a reply to the login has status 429"),
        (reply(CHECK, status=401), "the page to check has status 401"),
        (reply(CHECK, status=404), "the page to check has status 404"),
        (reply(CHECK, "<p>Log in"), "the page to check has no sign of being logged in"),
        (redirect(CHECK, "http://b.test/"), "the page to check has status 302"),
        (redirect(CHECK, "/login?next=x"), "the page to check redirects to the login page"),
    ],
)
def test_three_failures_are_the_last(page, reason) -> None:  # type: ignore[no-untyped-def]
    session = Session(replace(CHECKED, page=f"{SITE}/login"), {})
    states = []
    for _ in range(3):
        assert session.begin(0.0) is not None
        assert session.replied(page, 0.0) is None
        states.append(session.state)
        assert session.reason == reason
    assert states == [NEEDED, NEEDED, FAILED]
    with pytest.raises(ValueError, match="FAILED"):
        session.begin(0.0)


SAFE = Login(
    "https://a.test", Method.FORM, page="https://a.test/in", user="me", password="x",
    also=("https://id.test",),
)  # fmt: skip
SAFE_FORM = reply(SAFE.page, "<form method=post><input name=u><input type=password name=p></form>")


@pytest.mark.parametrize(
    "pages",
    [
        [redirect(SAFE.page, "http://a.test/in")],
        [redirect(SAFE.page, "https://id.test/"), redirect("https://id.test/", "http://id.test/")],
        [reply(SAFE.page, "<meta http-equiv=refresh content='0; url=http://a.test/'>")],
        [SAFE_FORM, redirect(SAFE.page, "http://a.test:81/after", 303)],
        [SAFE_FORM, reply(SAFE.page, refresh="0; url=http://a.test/")],
    ],
    ids=["page", "another host", "refresh", "after the form", "refresh after the form"],
)
def test_no_step_falls_from_https_to_http(pages: list[Page]) -> None:
    session = Session(SAFE, {})
    ask = session.begin(0.0)
    for page in pages:
        assert ask is not None
        assert ask.href.startswith("https:")
        ask = session.replied(page, 0.0)
    assert (ask, session.state) == (None, NEEDED)
    assert session.reason.endswith("; the site has https, so none may go by http")


@pytest.mark.parametrize("href", ["http://a.test/api", "HTTP://B.test", " http://b.test/"])
def test_nor_do_those_of_a_hook(href: str) -> None:
    def user_login(login: HookLogin) -> Generator[Ask, Page, None]:
        yield Ask(href)

    session = Session(Login("https://a.test", Method.HOOK), {}, user_login)
    assert session.begin(0.0) is None
    assert session.reason.startswith("a step of it leads to http://")


def test_the_page_after_a_login_by_a_program_may_ask_for_a_password() -> None:
    """Only a form that comes again shows that it was not accepted."""

    def user_login(login: HookLogin) -> Generator[Ask, Page, None]:
        yield login.get("/in")

    session = Session(Login("https://a.test", Method.HOOK), {}, user_login)
    assert session.begin(0.0) is not None
    assert session.replied(SAFE_FORM, 0.0) is None
    assert (session.state, session.reason) == (IN, "")


def test_nor_that_to_a_token_endpoint() -> None:
    login = Login(
        "https://a.test", Method.OAUTH2, grant="client_credentials", client_id="a",
        client_secret="b", token_url="http://id.test/",
    )  # fmt: skip
    session = Session(login, {})
    assert session.begin(0.0) is None
    assert session.reason.startswith("a step of it leads to http://id.test;")


def test_a_site_without_https_may_log_in_by_it() -> None:
    form = reply("https://a.test/in", SAFE_FORM.body)
    login = replace(SAFE, site=SITE, also=())
    session = Session(login, {})
    session.begin(0.0)
    assert session.replied(form, 0.0) is not None
    ask = session.replied(redirect(form.url.href, f"{SITE}/"), 0.0)
    assert ask == Ask(f"{SITE}/")


def test_a_success_ends_the_row_of_failures() -> None:
    session = Session(CHECKED, {})
    for body in ["no", "no", "Hello me", "no", "no"]:
        log_in(session, body)
        session.came(url("/x"), Standing.IN)
        session.lost(url("/y"))
    assert session.state is NEEDED


def test_a_login_that_a_page_proves_ends_the_row_without_pages_of_the_crawl() -> None:
    session = Session(CHECKED, {})
    for body in ["no", "no", "Hello me"]:
        log_in(session, body)
    session.lost(url("/y"))
    for _ in range(2):
        log_in(session, "no")
        assert session.state is NEEDED
    log_in(session, "no")
    assert session.state is FAILED


def test_links_that_say_that_they_log_out_are_those_of_pages() -> None:
    session = logged_in()
    body = "<a href=/bye>Log out</a>"
    session.note_links(reply(f"{SITE}/a", body, type="text/plain"))
    assert not session.avoids(f"{SITE}/bye")
    session.note_links(reply(f"{SITE}/b", body))
    assert session.avoids(f"{SITE}/bye")


def test_failures_of_a_login_that_nothing_proves_count_in_a_row_only() -> None:
    session = Session(BASIC, {})
    for number in range(5):
        assert session.begin(0.0) is None
        session.lost(url(f"/{number}"), 401)
        assert session.reason == "the site refuses it, with status 401"
        assert session.begin(0.0) is None
        session.came(url("/page"), Standing.IN)
        assert session.lost(url(f"/{number}b")) == []
        assert session.state is NEEDED


def test_the_check_is_followed_on_the_site() -> None:
    session = Session(CHECKED, {})
    session.begin(0.0)
    assert session.replied(redirect(CHECK, "/account/me"), 0.0) == Ask(f"{CHECK}/me")
    assert session.replied(reply(f"{CHECK}/me", "Hello me"), 0.0) is None
    assert session.state is IN


def test_a_check_that_redirects_forever_fails() -> None:
    session = Session(CHECKED, {})
    ask = session.begin(0.0)
    asked = 0
    while ask is not None:
        asked += 1
        ask = session.replied(redirect(ask.href, f"/{asked}"), 0.0)
    assert (asked, session.state) == (10, NEEDED)


def test_the_check_has_the_headers_of_the_site() -> None:
    login = Login(SITE, Method.BEARER, token="t0ken", check=CHECK)
    session = Session(login, {})
    assert session.begin(0.0) == Ask(CHECK, headers=("Authorization: Bearer t0ken",))
    assert session.replied(reply(CHECK, "{}", type="application/json"), 0.0) is None
    assert session.state is IN
    assert session.request_headers(f"{SITE}/x", 0.0) == ("Authorization: Bearer t0ken",)


def test_one_login_at_a_time() -> None:
    session = Session(CHECKED, {})
    session.begin(0.0)
    with pytest.raises(ValueError, match="RUNNING"):
        session.begin(0.0)
    assert session.lost(url("/a")) == []
    assert session.state is RUNNING
    assert not session.is_due(0.0)


def test_a_reply_after_the_end_changes_nothing() -> None:
    session = logged_in()
    assert session.replied(reply(CHECK, "no"), 0.0) is None
    assert session.state is IN


def test_what_came_since_the_last_confirmed_page_is_fetched_again() -> None:
    session = logged_in()
    for path, standing in [
        ("/1.png", Standing.UNKNOWN),
        ("/2", Standing.IN),
        ("/3.png", Standing.UNKNOWN),
        ("/4.png", Standing.UNKNOWN),
    ]:
        session.came(url(path), standing)
    assert session.lost(url("/5")) == [url("/3.png"), url("/4.png")]
    assert session.state is NEEDED
    # The same loss, seen by another page.
    assert session.lost(url("/6")) == []


def test_pages_of_an_earlier_loss_are_not_fetched_again_at_the_next() -> None:
    session = logged_in()
    session.came(url("/1.png"), Standing.UNKNOWN)
    assert session.lost(url("/x")) == [url("/1.png")]
    log_in(session)
    session.came(url("/2.png"), Standing.UNKNOWN)
    assert session.lost(url("/y")) == [url("/2.png")]


def test_only_the_last_thousand_are_fetched_again() -> None:
    session = logged_in()
    for number in range(1500):
        session.came(url(f"/{number}.png"), Standing.UNKNOWN)
    assert session.lost(url("/x")) == [url(f"/{number}.png") for number in range(500, 1500)]


def test_a_page_that_nothing_confirms_is_not_fetched_forever() -> None:
    session = logged_in()
    fetched = Counter[str]()
    for _ in range(6):
        waiting = [url("/1.png"), url("/2.png")]
        for each in waiting:
            session.came(each, Standing.UNKNOWN)
        fetched.update(each.href for each in session.lost(url("/x")))
        session.came(url("/y"), Standing.IN)
        log_in(session)
    assert fetched == {f"{SITE}/1.png": 3, f"{SITE}/2.png": 3}


def test_an_address_after_which_the_session_was_gone_twice_is_learned() -> None:
    session = logged_in()
    for lost in ("/1", "/2"):
        assert not session.avoids(f"{SITE}/bye")
        session.came(url("/page"), Standing.IN)
        session.came(url("/bye"), Standing.UNKNOWN)
        assert session.lost(url(lost)) == [url("/bye")]
        log_in(session)
    assert session.avoids(f"{SITE}/bye")
    assert not session.avoids(f"{SITE}/1")


def test_a_session_that_ends_by_itself_teaches_nothing() -> None:
    session = logged_in()
    for number in range(50):
        session.came(url(f"/{number}"), Standing.IN)
        session.came(url(f"/{number}.png"), Standing.UNKNOWN)
        session.lost(url(f"/{number}b"))
        log_in(session)
    assert session.kept()["ends"] == []


def test_a_page_that_no_session_shows_is_learned() -> None:
    session = logged_in()
    tries = 0
    while not session.avoids(f"{SITE}/print"):
        session.lost(url("/print"))
        log_in(session)
        tries += 1
    assert tries == 2


def test_any_number_of_pages_that_no_session_shows_are_given_up() -> None:
    session = Session(CHECKED, {})
    for number in range(1100):
        page = f"/print/{number}"
        for _ in range(2):
            assert not session.avoids(SITE + page)
            log_in(session)
            session.lost(url(page))
        assert session.avoids(SITE + page)
    assert len(json.loads(json.dumps(session.kept()))["ends"]) == 1000


def test_a_page_that_was_lost_twice_among_others_is_not() -> None:
    session = logged_in()
    for _ in range(2):
        session.came(url("/other"), Standing.IN)
        session.lost(url("/p"))
        log_in(session)
    assert not session.avoids(f"{SITE}/p")


def test_sessions_without_a_page_are_no_success() -> None:
    """A login that nothing proves, after which all pages are those of a visitor."""
    session = Session(BASIC, {})
    for number in range(3):
        assert session.state is NEEDED
        assert session.begin(0.0) is None
        assert session.standing(reply(f"{SITE}/{number}", status=401)) is Standing.OUT
        session.lost(url(f"/{number}"))
    assert session.state is FAILED
    assert session.reason == "after the login, pages are those of a visitor"


def test_sessions_that_end_at_once_are_not_tried_forever() -> None:
    session = Session(CHECKED, {})
    tries = 0
    while session.state is not FAILED:
        log_in(session)
        session.lost(url(f"/{tries}"))
        tries += 1
    assert (tries, session.reason) == (10, "each session ends before its first page")


def test_a_page_between_sessions_is_fetched_again() -> None:
    session = logged_in()
    image = reply(f"{SITE}/a.png", b"\x89PNG", type="image/png")
    assert session.standing(image) is Standing.UNKNOWN
    session.lost(url("/x"))
    assert session.standing(image) is Standing.OUT
    assert session.standing(reply(f"{SITE}/a", "Hello me")) is Standing.IN


def test_login_pages_and_logouts_are_avoided() -> None:
    session = Session(replace(BASIC, page=f"{SITE}/login"), {})
    assert session.avoids(f"{SITE}/login?next=/a")
    assert session.avoids(f"{SITE}/logout")
    assert not session.avoids(f"{SITE}/log")


def test_a_session_is_kept_over_a_stop() -> None:
    session = logged_in()
    for _ in range(2):
        session.came(url("/bye"), Standing.UNKNOWN)
        session.lost(url("/x"))
        log_in(session)
    kept = json.loads(json.dumps(session.kept()))
    again = Session(CHECKED, kept)
    assert again.state is IN
    assert again.avoids(f"{SITE}/bye")
    assert json.loads(json.dumps(again.kept())) == kept
    # A new password does not end the session; another user does.
    assert Session(replace(CHECKED, password="new"), kept).state is IN
    assert Session(replace(CHECKED, user="other"), kept).state is NEEDED


@pytest.mark.parametrize("key", ["in", "due", "grant", "ends", "pages", "login"])
@pytest.mark.parametrize("value", [None, 1, "x", [], {}])
def test_a_damaged_file_costs_a_login(key: str, value: object) -> None:
    kept = {**logged_in().kept(), key: value}
    session = Session(CHECKED, kept)
    assert session.state in (NEEDED, IN)
    assert isinstance(session.request_headers(f"{SITE}/", 0.0), tuple)


def test_what_was_learned_by_another_marker_is_forgotten() -> None:
    session = logged_in()
    for _ in range(2):
        session.lost(url("/print"))
        log_in(session)
    kept = json.loads(json.dumps(session.kept()))
    assert Session(CHECKED, kept).avoids(f"{SITE}/print")
    other = Session(replace(CHECKED, logged_in="me"), kept)
    assert other.state is IN
    assert not other.avoids(f"{SITE}/print")


def test_a_session_that_ended_during_a_stop_has_failed() -> None:
    """So the next login begins without its cookies."""
    again = Session(CHECKED, logged_in().kept())
    assert again.lost(url("/x")) == []
    assert again.reason == "after the login, pages are those of a visitor"


def test_a_loss_during_no_login_is_kept_as_a_loss() -> None:
    session = logged_in()
    session.lost(url("/x"))
    assert Session(CHECKED, session.kept()).state is NEEDED
    session.begin(0.0)
    assert Session(CHECKED, session.kept()).state is NEEDED


def test_no_secret_is_in_a_repr() -> None:
    session = Session(Login(SITE, Method.BEARER, token="t0ken", password="pa55"), {})
    session.begin(0.0)
    assert "t0ken" not in repr(session)
    assert "pa55" not in repr(session)


class SessionMachine(RuleBasedStateMachine):
    """Any sequence: one login at a time, and each URL that came is somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(CHECKED, {})
        self.asked: Ask | None = None
        #: URLs that came and were neither confirmed nor returned.
        self.open: list[str] = []
        self.returned = Counter[str]()
        self.count = 0

    @precondition(lambda self: self.session.state in (NEEDED, IN))
    @rule()
    def begin(self) -> None:
        assert self.asked is None
        self.asked = self.session.begin(0.0)

    @precondition(lambda self: self.asked is not None)
    @rule(body=st.sampled_from(["Hello me", "no", ""]), status=st.sampled_from([200, 401, 503]))
    def reply(self, body: str, status: int) -> None:
        assert self.asked
        self.asked = self.session.replied(reply(self.asked.href, body, status), 0.0)

    @rule(standing=st.sampled_from([Standing.IN, Standing.UNKNOWN]), again=st.booleans())
    def came(self, standing: Standing, again: bool) -> None:
        self.count += not again
        href = f"{SITE}/{self.count}"
        self.session.came(Url(href, 0), standing)
        if standing is Standing.IN:
            self.open.clear()
        elif self.returned[href] < 3:
            self.open.append(href)

    @rule()
    def lost(self) -> None:
        was_in = self.session.state is IN
        again = self.session.lost(url("/lost"))
        assert was_in or not again
        if was_in:
            assert [each.href for each in again] == self.open
            self.returned.update(self.open)
            self.open.clear()

    @rule()
    def stop(self) -> None:
        kept = json.loads(json.dumps(self.session.kept()))
        assert (Session(CHECKED, kept).state is IN) == (self.session.state is IN)

    @invariant()
    def a_login_runs_if_it_asked(self) -> None:
        assert (self.session.state is RUNNING) == (self.asked is not None)


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_page_that_shows_the_loss_is_not_among_the_others() -> None:
    session = logged_in()
    session.came(url("/1.png"), Standing.UNKNOWN)
    session.came(url("/2.png"), Standing.UNKNOWN)
    assert session.lost(url("/1.png")) == [url("/2.png")]
