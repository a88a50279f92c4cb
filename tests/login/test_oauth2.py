"""Tokens of OAuth 2, by scripted endpoints."""

import base64
import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.login.exchange import LoginFailed
from larbinpy.login.methods.oauth import steps
from larbinpy.login.session import Session, SessionState
from larbinpy.login.spec import Login, Method
from larbinpy.page import Page
from larbinpy.url import Ask
from tests.support.loginpages import exchange, reply, silence

SITE, URL, DEVICE = "http://a.test", "http://id.test/token", "http://id.test/device"
CLIENT = Login(
    SITE,
    Method.OAUTH2,
    client_id="cl ient",
    client_secret="s&+%",
    grant="client_credentials",
    token_url=URL,
    scope="read all",
)
REFRESH = replace(CLIENT, grant="refresh_token", refresh_token="r/1", scope="")
PHONE = replace(CLIENT, grant="device_code", client_secret="", device_url=DEVICE)
BASIC = "Authorization: Basic " + base64.b64encode(b"cl+ient:s%26%2B%25").decode()


def said(status: int = 200, **values: Any) -> Page:
    return reply(URL, json.dumps(values), status, type="application/json")


def token(**values: Any) -> Page:
    return said(**{"access_token": "at-1", "token_type": "Bearer", "expires_in": 600, **values})


def form(ask: Ask) -> dict[str, str]:
    assert ask.body is not None
    assert "Content-Type: application/x-www-form-urlencoded" in ask.headers
    found = parse_qs(ask.body.decode(), keep_blank_values=True, strict_parsing=True)
    return {name: value for name, (value,) in found.items()}


def failure(login: Login, *pages: Page) -> str:
    with pytest.raises(LoginFailed) as failed:
        exchange(steps(login, {}, 0.0), *pages)
    assert "\n" not in str(failed.value)
    return str(failed.value)


def test_client_credentials() -> None:
    (ask,), grant = exchange(steps(CLIENT, {}, 1000.0), token(refresh_token="not used"))
    assert ask.href == URL
    assert form(ask) == {"grant_type": "client_credentials", "scope": "read all"}
    assert BASIC in ask.headers
    assert grant.headers == ("Authorization: Bearer at-1",)
    assert grant.expires == 1600.0


def test_a_server_that_wants_the_secret_in_the_body() -> None:
    refused = said(401, error="invalid_client")
    (first, second), grant = exchange(steps(CLIENT, {}, 0.0), refused, token())
    assert BASIC in first.headers
    assert not any(line.startswith("Authorization") for line in second.headers)
    assert form(second)["client_secret"] == "s&+%"
    assert form(second)["client_id"] == "cl ient"
    # It is known the next time.
    (ask,), _ = exchange(steps(CLIENT, grant.kept, 0.0), token())
    assert "client_secret" in form(ask)


def test_a_refresh_token_that_changes() -> None:
    (ask,), grant = exchange(steps(REFRESH, {}, 0.0), token(refresh_token="r/2"))
    assert form(ask) == {"grant_type": "refresh_token", "refresh_token": "r/1"}
    (ask,), grant = exchange(steps(REFRESH, grant.kept, 0.0), token())
    assert form(ask)["refresh_token"] == "r/2"
    # One that does not change stays.
    for values in ({}, {"refresh_token": ""}, {"refresh_token": 5}):
        (ask,), grant = exchange(steps(REFRESH, grant.kept, 0.0), token(**values))
        assert form(ask)["refresh_token"] == "r/2"
        assert grant.kept == {"refresh": "r/2"}


def test_a_public_client_names_itself() -> None:
    login = replace(REFRESH, client_secret="", scope="read")
    (ask,), _ = exchange(steps(login, {}, 0.0), token())
    assert form(ask) == {
        "grant_type": "refresh_token",
        "client_id": "cl ient",
        "refresh_token": "r/1",
        "scope": "read",
    }


def code(**values: Any) -> Page:
    given = {"device_code": "d-1", "user_code": "WD-JB", "verification_uri": "http://id.test/go"}
    return said(**{**given, "expires_in": 60, "interval": 2, **values})


def test_a_device_tells_its_user_where_to_go() -> None:
    pending = said(400, error="authorization_pending")
    slower = said(400, error="slow_down")
    busy = said(429)
    asks, _ = exchange(steps(PHONE, {}, 0.0), code(), pending, busy, token())
    assert [ask.wait for ask in asks] == [0.0, 2.0, 2.0, 4.0]
    asks, grant = exchange(
        steps(PHONE, {}, 0.0), code(), pending, slower, silence(URL), token(refresh_token="r")
    )
    assert form(asks[0]) == {"client_id": "cl ient", "scope": "read all"}
    assert [ask.wait for ask in asks] == [0.0, 2.0, 2.0, 7.0, 14.0]
    assert [ask.notice for ask in asks if ask.notice] == [
        "to log in at http://a.test, open http://id.test/go and enter WD-JB"
    ]
    assert asks[1].notice
    assert form(asks[1])["device_code"] == "d-1"
    assert form(asks[1])["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"
    assert grant.kept["refresh"] == "r"


def test_a_device_refreshes_its_token_and_asks_the_user_again_if_that_ended() -> None:
    kept = {"refresh": "r"}
    (ask,), _ = exchange(steps(PHONE, kept, 0.0), token())
    assert form(ask) == {
        "grant_type": "refresh_token",
        "client_id": "cl ient",
        "refresh_token": "r",
    }
    ended = said(400, error="invalid_grant")
    asks, _ = exchange(steps(PHONE, kept, 0.0), ended, code(), token())
    assert [ask.href for ask in asks] == [URL, DEVICE, URL]


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client"])
def test_a_user_is_not_asked_for_what_the_operator_has_to_mend(error: str) -> None:
    refused = said(400, error=error)
    with pytest.raises(LoginFailed, match=error):
        exchange(steps(PHONE, {"refresh": "r"}, 0.0), refused)


def test_a_device_with_a_secret_tells_it_in_the_body_if_it_must() -> None:
    login = replace(PHONE, client_secret="s")
    kept = {"secret_in": "body"}
    asks, _ = exchange(steps(login, kept, 0.0), code(), token())
    assert [form(ask).get("client_secret") for ask in asks] == ["s", "s"]
    asks, _ = exchange(steps(login, {}, 0.0), code(), token())
    assert [form(ask).get("client_secret") for ask in asks] == [None, None]


def test_nobody_enters_the_code() -> None:
    pending = [said(400, error="authorization_pending")] * 30
    assert failure(PHONE, code(), *pending) == "nobody entered the code in time"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (said(400, error="invalid_grant"), "the token endpoint says invalid_grant"),
        (said(400, error="x\r\nsecret"), "the token endpoint says an error"),
        (said(400, error=["x"]), "the token endpoint says an error"),
        (said(400), "the endpoint gave no token (status 400)"),
        (said(200, access_token=None), "the endpoint gave a token that no header can carry"),
        (said(200, access_token="a b"), "the endpoint gave a token that no header can carry"),
        (said(200, access_token="a\nb"), "the endpoint gave a token that no header can carry"),
        (token(token_type="mac"), "the endpoint gave no bearer token (status 200)"),
        (reply(URL, "<h1>Hello"), "the endpoint gave no token (status 200)"),
        (reply(URL, "[1]"), "the endpoint gave no token (status 200)"),
        (reply(URL, b"\xff\xfe"), "the endpoint gave no token (status 200)"),
        (reply(URL, "[" * 100_000), "the endpoint gave no token (status 200)"),
        (token(expires_in="soon"), "the endpoint gave no token (status 200)"),
        (reply(URL, "", 503), "a reply to the login has status 503"),
        (reply(URL, "", 429), "a reply to the login has status 429"),
        (silence(URL), "no reply to a request of the login at http://id.test: connection refused"),
    ],
)
def test_failures(page: Page, reason: str) -> None:
    assert failure(REFRESH, page) == reason


@pytest.mark.parametrize(
    "page",
    [
        said(200),
        code(device_code=None, user_code="x" * 99),
        code(verification_uri="javascript:alert(1)"),
        code(user_code="a\nb"),
        code(interval="often"),
        code(interval=10**400),
        code(expires_in=10**400),
        reply(DEVICE, "<p>"),
    ],
)
def test_a_device_endpoint_that_gives_no_code(page: Page) -> None:
    assert failure(PHONE, page).startswith("the ")


@pytest.mark.parametrize("values", [{"expires_in": None}, {"expires_in": 0}, {"expires_in": -5}])
def test_a_token_that_does_not_say_how_long_it_lives(values: dict[str, Any]) -> None:
    assert exchange(steps(CLIENT, {}, 0.0), token(**values))[1].expires is None


def test_a_token_that_lives_for_a_second() -> None:
    assert exchange(steps(CLIENT, {}, 1000.0), token(expires_in=1))[1].expires == 1001.0


@pytest.mark.parametrize("life", [10**9, 10**300, 10**400])
def test_a_token_that_lives_for_longer_than_any_clock(life: int) -> None:
    assert exchange(steps(CLIENT, {}, 1000.0), token(expires_in=life))[1].expires == 1000.0 + 10**9


def test_a_device_endpoint_that_does_not_say_how_often_it_may_be_asked() -> None:
    asks, _ = exchange(steps(PHONE, {}, 0.0), code(interval=None), token())
    assert [ask.wait for ask in asks] == [0.0, 5.0]


def test_a_device_endpoint_with_times_that_are_no_numbers() -> None:
    pending = said(400, error="authorization_pending")
    odd = code(interval=float("nan"), expires_in=float("nan"))
    asks, _ = exchange(steps(PHONE, {}, 0.0), odd, pending, token())
    assert [ask.wait for ask in asks] == [0.0, 1.0, 1.0]


def test_old_endpoints_answer_with_a_form() -> None:
    page = reply(URL, "access_token=at-2&token_type=bearer", type="text/plain")
    assert exchange(steps(CLIENT, {}, 0.0), page)[1].headers == ("Authorization: Bearer at-2",)


_ODD = st.dictionaries(st.sampled_from(["access_token", "token_type", "expires_in", "scope",
    "refresh_token", "error", "expires_at"]), st.none() | st.integers() | st.text() | st.floats()
    | st.lists(st.text()))  # fmt: skip
_GOOD = {"access_token": st.just("at-1"), "token_type": st.sampled_from(["bearer", "Bearer"])}


def test_any_reply_is_a_token_or_a_failure() -> None:
    ends = set()

    @given(_ODD, st.fixed_dictionaries({}, optional=_GOOD))
    def check(odd: dict[str, Any], good: dict[str, str]) -> None:
        values = odd | good
        try:
            _, grant = exchange(steps(REFRESH, {}, 0.0), said(**values))
        except LoginFailed as failed:
            assert str(failed).isprintable()
            ends.add("failure")
        else:
            [line] = grant.headers
            assert line == f"Authorization: Bearer {values['access_token']}"
            assert line.isascii() and line.isprintable()
            assert grant.expires is None or grant.expires > 0
            assert not values.get("error")
            ends.add("token")

    check()
    assert ends == {"failure", "token"}


def test_a_token_is_renewed_before_it_ends() -> None:
    session = Session(CLIENT, {})
    assert session.begin(1000.0) is not None
    assert session.replied(token(), 1000.0) is None
    assert session.state is SessionState.IN
    assert session.request_headers(f"{SITE}/x", 1000.0) == ("Authorization: Bearer at-1",)
    assert session.due == 1570.0
    assert not session.is_due(1569.0)
    assert session.is_due(1570.0)
    again = Session(CLIENT, json.loads(json.dumps(session.kept())))
    assert (again.state, again.due) == (SessionState.IN, 1570.0)
    assert session.begin(1570.0) is not None


def test_three_times_503_and_the_site_is_given_up() -> None:
    session = Session(CLIENT, {})
    for _ in range(3):
        assert session.begin(0.0) is not None
        assert session.replied(reply(URL, "", 503), 0.0) is None
    assert session.state is SessionState.FAILED
