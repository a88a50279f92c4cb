"""Logins by a program of the user's own."""

from collections.abc import Generator
from typing import Any

import pytest

from larbinpy.login.exchange import Grant, LoginFailed
from larbinpy.login.methods.hook import HookLogin, steps
from larbinpy.login.spec import Login, Method
from larbinpy.page import Page
from larbinpy.url import Ask
from tests.support.loginpages import exchange, reply, silence

SITE = "http://a.test"
SECRET = "pa55w0rd"
LOGIN = Login(SITE, Method.HOOK, user="me", password=SECRET, fields={"pin": "1"})
PAGE = reply(f"{SITE}/api", "{}")
Hook = Generator[Any, Page, Any]


def failure(hook: Any, *pages: Page) -> str:
    with pytest.raises(LoginFailed) as failed:
        exchange(steps(LOGIN, {}, hook), *pages)
    assert SECRET not in str(failed.value)
    assert failed.value.__cause__ is None
    return str(failed.value)


def test_requests_and_header_lines() -> None:
    def hook(login: HookLogin) -> Hook:
        page = yield login.get("/api/csrf", ["X-A: 1"])
        assert page is PAGE
        yield login.post("api", json={"user": login.user, "password": login.password})
        yield login.post("http://b.test/x", {"pin": login.fields["pin"], "q": "a b"})
        yield login.post("/raw", b"bytes", headers=["content-type: text/x"])
        yield login.post("/as", json=[], headers=["X-A: 1", "CONTENT-TYPE: application/x"])
        yield Ask(f"{SITE}/own")
        return ["X-Token: t"]

    asks, grant = exchange(steps(LOGIN, {}, hook), *[PAGE] * 6)
    assert asks == [
        Ask(f"{SITE}/api/csrf", None, ("X-A: 1",)),
        Ask(
            f"{SITE}/api",
            b'{"user": "me", "password": "pa55w0rd"}',
            ("Content-Type: application/json",),
        ),
        Ask(
            "http://b.test/x", b"pin=1&q=a+b", ("Content-Type: application/x-www-form-urlencoded",)
        ),
        Ask(f"{SITE}/raw", b"bytes", ("content-type: text/x",)),
        Ask(f"{SITE}/as", b"[]", ("X-A: 1", "CONTENT-TYPE: application/x")),
        Ask(f"{SITE}/own"),
    ]
    assert grant == Grant(("X-Token: t",))


def test_nothing_or_a_grant_may_be_returned() -> None:
    def nothing(login: HookLogin) -> Hook:
        yield login.get("/")

    def again(login: HookLogin) -> Hook:
        yield login.get(login.kept["next"])
        return Grant(expires=9.0, kept={"next": "/2"})

    assert exchange(steps(LOGIN, {}, nothing), PAGE)[1] == Grant()
    asks, grant = exchange(steps(LOGIN, {"next": "/1"}, again), PAGE)
    assert asks == [Ask(f"{SITE}/1")]
    assert grant == Grant(expires=9.0, kept={"next": "/2"})


def test_a_hook_without_requests() -> None:
    assert exchange(steps(LOGIN, {}, lambda login: [f"X-User: {login.user}"])) == (  # type: ignore[arg-type,return-value]
        [],
        Grant(("X-User: me",)),
    )


def raises(login: HookLogin) -> Hook:
    yield login.get("/")
    raise ValueError(f"wrong: {login.password}")


def fails(login: HookLogin) -> Hook:
    yield login.get("/")
    raise LoginFailed("no\nentry")


def raises_at_once(login: HookLogin) -> Hook:
    raise KeyError(login.password)


def yields_text(login: HookLogin) -> Hook:
    yield "/login"


def yields_odd_url(login: HookLogin) -> Hook:
    yield login.get("ftp://a.test/")


def yields_odd_ask(login: HookLogin) -> Hook:
    yield Ask("mailto:me")


def yields_odd_header(login: HookLogin) -> Hook:
    yield login.get("/", ["X: a\r\nY: b"])


def yields_bytes_as_header(login: HookLogin) -> Hook:
    yield login.get("/", [b"X: 1"])  # type: ignore[list-item]


def yields_text_as_body(login: HookLogin) -> Hook:
    yield Ask(f"{SITE}/", "text")  # type: ignore[arg-type]


def returns_text(login: HookLogin) -> Hook:
    yield login.get("/")
    return "X: 1"


def returns_number(login: HookLogin) -> Hook:
    yield login.get("/")
    return 7


def does_not_stop(login: HookLogin) -> Hook:
    while True:
        try:
            yield login.get("/")
        except GeneratorExit:
            yield "more"


@pytest.mark.parametrize(
    ("hook", "pages", "reason"),
    [
        (None, [], "no user_login"),
        (raises, [PAGE], "user_login raised ValueError (test_hook.py:"),
        (raises_at_once, [], "user_login raised KeyError (test_hook.py:"),
        (lambda: None, [], "user_login raised TypeError"),
        (fails, [PAGE], "no entry"),
        (yields_text, [], "user_login yielded str, not login.get() or login.post()"),
        (yields_odd_url, [], "user_login raised ValueError"),
        (yields_odd_ask, [], "user_login made a URL that is none of http or https"),
        (yields_odd_header, [], "user_login made a header that no request can carry"),
        (yields_bytes_as_header, [], "user_login made a header that no request can carry"),
        (yields_text_as_body, [], "user_login made a body that is not bytes"),
        (returns_text, [PAGE], "user_login returned neither None"),
        (returns_number, [PAGE], "user_login returned neither None"),
        (does_not_stop, [silence(SITE + "/")], "no reply to a request of the login"),
        (raises, [reply(SITE + "/", "", 503)], "a reply to the login has status 503"),
    ],
)
def test_all_errors_fail_the_login_with_one_line(hook: Any, pages: list[Page], reason: str) -> None:
    found = failure(hook, *pages)
    assert found.startswith(reason)
    assert "\n" not in found


def test_the_generator_is_closed() -> None:
    closed = []

    def hook(login: HookLogin) -> Hook:
        try:
            yield login.get("/")
        finally:
            closed.append(True)

    run = steps(LOGIN, {}, hook)
    next(run)
    run.close()
    assert closed == [True]


def test_no_secret_is_in_a_repr() -> None:
    assert SECRET not in repr(HookLogin(LOGIN, {}))
