"""The sites of the tests of logins are as they should be, for a client of another make."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from io import BytesIO
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pycurl
import pytest
from lxml import html
from oauthlib import oauth1

from tests.support.doors.door import (
    OPEN,
    SHUT,
    USER,
    Door,
    Kind,
    Life,
    Link,
    asks_for_login,
    forbidden,
    to_login,
)
from tests.support.doors.forms import FormDoor, JsonDoor, SsoDoor, TwoStepDoor
from tests.support.doors.headers import BasicDoor, BearerDoor, DigestDoor, OAuth1Door
from tests.support.doors.ledger import ledger
from tests.support.doors.oauth2 import CLIENT, SCOPE, OAuth2Door

pytestmark = pytest.mark.slow
D = TypeVar("D", bound=Door)


@contextmanager
def serving(door: D) -> Iterator[D]:
    try:
        yield door
    finally:
        door.close()


class Client:
    """A browser without scripts: cookies, redirects, forms."""

    def __init__(self) -> None:
        self.jar = CookieJar()
        self._opener = build_opener(HTTPCookieProcessor(self.jar))
        self.status, self.url = 0, ""

    def __call__(
        self, url: str, fields: dict[str, str] | bytes | None = None, **headers: str
    ) -> str:
        data = urlencode(fields).encode() if isinstance(fields, dict) else fields
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with self._opener.open(Request(url, data, names)) as reply:
                self.status, self.url = reply.status, reply.url
                return str(reply.read().decode())
        except HTTPError as error:
            with error:
                self.status, self.url = error.code, url
                return error.read().decode()

    def form(self, text: str) -> dict[str, str]:
        """The last form of a page, as a browser would send it by its button."""
        document: Any = html.fromstring(text)
        form = document.forms[-1]
        sent = {name: value or "" for name, value in form.form_values()}
        return sent | {each.get("name"): each.get("value") for each in form.xpath(".//button")}


def test_a_form_wants_the_token_of_its_cookie() -> None:
    with serving(FormDoor()) as door:
        client = Client()
        shut = client(door.url("/p/7"))
        assert SHUT in shut and client.url.endswith("/login?next=%2Fp%2F7")
        fields = client.form(shut)
        assert fields["next"] == "/p/7"
        fields |= {"login": USER, "pass": door.password}
        client(client.url, fields | {"csrfToken": "x"})
        assert client.status == 403
        page = client(client.url, fields)
        assert client.status == 403, "a token is good once"
        fields = client.form(client(door.url("/login"))) | {"login": USER, "pass": "wrong"}
        assert SHUT in client(client.url, fields)
        fields = client.form(client(door.url("/login?next=/p/7")))
        page = client(client.url, fields | {"login": USER, "pass": door.password})
        assert (client.status, client.url) == (200, door.url("/p/7"))
        assert OPEN in page and SHUT not in page and door.text("/p/7") in page
        seen = ledger(door)
        assert (seen.granted, seen.denied, seen.refused) == (1, 3, 1)
        assert {cookie.name for cookie in client.jar} == {"sid"}
        assert all(cookie.value in door.secrets for cookie in client.jar)


def sign_in(client: Client, door: FormDoor) -> str:
    fields = client.form(client(door.url("/login")))
    return client(client.url, fields | {"login": USER, "pass": door.password})


def test_all_pages_can_be_reached() -> None:
    with serving(FormDoor()) as door:
        client = Client()
        found, queue = {"/"}, ["/"]
        sign_in(client, door)
        for path in queue:
            page: Any = html.fromstring(client(door.url(path)))
            links = page.xpath("//a/@href")
            new = sorted(set(links) - found)
            found.update(new)
            queue += new
        assert sorted(found) == sorted(door.paths)
        assert len(found) == 61
        seen = ledger(door)
        assert seen.wasted == 1, "the front page came twice"
        assert seen.at_once == 1 and seen.entangled == []


def test_a_session_ends() -> None:
    with serving(FormDoor(asks_for_login, Life(pages=3))) as door:
        client = Client()
        sign_in(client, door)
        texts = [client(door.url(f"/p/{number}")) for number in range(4)]
        assert [OPEN in text for text in texts] == [True, True, False, False]
        assert [SHUT in text for text in texts] == [False, False, True, True]
        assert client.status == 200 and "<form" not in texts[-1]
        assert (door.expiries, ledger(door).refused) == (1, 2)
    with serving(FormDoor(forbidden, Life(seconds=0.0))) as door:
        sign_in(client := Client(), door)
        assert client.status == 403


def test_links_end_a_session() -> None:
    links = (
        Link("/logout", "Log out", ends=True),
        Link("/x/7", "More", ends=True, quiet=True),
        Link("/about", "About"),
    )
    with serving(FormDoor(to_login, links=links)) as door:
        client = Client()
        text = sign_in(client, door)
        assert all(f'href="{link.path}"' in text for link in links)
        assert OPEN in client(door.url("/about"))
        assert SHUT in client(door.url("/logout")) and client.status == 200
        assert SHUT in client(door.url("/p/1"))
        sign_in(client, door)
        assert OPEN in client(door.url("/x/7"))
        assert SHUT in client(door.url("/p/1"))
        assert (ledger(door).logouts, door.expiries) == (2, 2)


def test_the_password_comes_after_the_user() -> None:
    with serving(TwoStepDoor()) as door:
        client = Client()
        first = client.form(client(door.url("/login")))
        second = client.form(client(door.url("/login/user"), first | {"login": USER}))
        page = client(door.url("/login/password"), second | {"pass": door.password})
        assert OPEN in page and client.url == door.url("/")
        kinds = [heard.kind for heard in door.log]
        assert kinds == [Kind.FIRST, Kind.FURTHER, Kind.GRANTED, Kind.PAGE]
        assert ledger(door).entangled == []


def test_another_host_has_the_form() -> None:
    with serving(SsoDoor()) as door:
        client = Client()
        text = client(door.url("/login"))
        assert client.url.startswith(door.provider.url("/login?next="))
        fields = client.form(text) | {"login": USER, "pass": door.password}
        page = client(client.url, fields)
        assert OPEN in page and client.url == door.url("/")
        assert {cookie.name for cookie in client.jar} == {"sid", "idp", "start", "csrf"}
        assert door.mixed == []
        assert ledger(door).entangled == [] and ledger(door).granted == 1


def test_a_script_logs_in() -> None:
    with serving(JsonDoor()) as door:
        client = Client()
        token = json.loads(client(door.url("/api/csrf")))["token"]
        body = json.dumps({"user": USER, "password": door.password}).encode()
        address, type_ = door.url("/api/session"), "application/json"
        client(address, body, Content_Type=type_, X_CSRF_Token="x")
        assert client.status == 403
        client(address, body, Content_Type=type_, X_CSRF_Token=token)
        assert OPEN in client(door.url("/p/9"))


def curl(url: str, **options: Any) -> tuple[int, str]:
    """Status and body by libcurl, whose options have these names."""
    handle, body = pycurl.Curl(), BytesIO()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.WRITEDATA, body)
    for name, value in options.items():
        handle.setopt(getattr(pycurl, name), value)
    handle.perform()
    status = handle.getinfo(pycurl.RESPONSE_CODE)
    handle.close()
    return int(status), body.getvalue().decode()


def test_basic_and_bearer_want_their_header() -> None:
    with serving(BasicDoor()) as door:
        login = f"{USER}:{door.password}".encode()
        status, text = curl(door.url("/p/1"), HTTPAUTH=pycurl.HTTPAUTH_BASIC, USERPWD=login)
        assert status == 200 and OPEN in text
        status, text = curl(door.url("/p/1"), HTTPAUTH=pycurl.HTTPAUTH_BASIC, USERPWD="me:x")
        assert status == 401 and SHUT in text
    with serving(BearerDoor()) as bearer:
        assert curl(bearer.url())[0] == 401
        headers = [f"Authorization: Bearer {bearer.bearer}"]
        assert curl(bearer.url(), HTTPHEADER=headers)[0] == 200


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_digest_is_that_of_libcurl(qop: str, algorithm: str) -> None:
    with serving(DigestDoor(qop=qop, algorithm=algorithm, uses=2)) as door:
        handle = pycurl.Curl()
        handle.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST)
        handle.setopt(pycurl.USERPWD, f"{door.user}:{door.password}".encode())
        handle.setopt(pycurl.WRITEFUNCTION, lambda data: None)
        for number in range(5):
            handle.setopt(pycurl.URL, door.url(f"/p/{number}"))
            handle.perform()
            assert handle.getinfo(pycurl.RESPONSE_CODE) == 200, door.wrong
        handle.close()
        assert [heard.status for heard in door.log] == [401, 200, 200, 401, 200, 200, 401, 200]
        assert (door.stale, door.wrong) == (2, [])
        options = {"HTTPAUTH": pycurl.HTTPAUTH_DIGEST, "USERPWD": f"{door.user}:x"}
        assert curl(door.url(), **options)[0] == 401
        assert door.wrong == ["response"]


def test_signatures_are_those_of_oauthlib() -> None:
    with serving(OAuth1Door()) as door:
        client = oauth1.Client(
            door.consumer, door.consumer_secret, door.user_token, door.user_secret
        )
        for path in (door.paths[5], door.paths[-1]):
            url, headers, _ = client.sign(door.url(path))
            assert Client()(url, Authorization=headers["Authorization"]).count(OPEN) == 1
            Client()(url, Authorization=headers["Authorization"])
        assert door.wrong == ["nonce", "nonce"]
        _, headers, _ = client.sign(door.url("/p/2"))
        Client()(door.url("/p/3"), Authorization=headers["Authorization"])
        assert door.wrong[2:] == ["signature"]


def test_an_endpoint_gives_tokens() -> None:
    with serving(OAuth2Door(failures=2, life=Life(pages=2))) as door:
        client, url = Client(), door.endpoint.url("/token")
        fields = {"grant_type": "client_credentials", "client_id": CLIENT}
        fields["client_secret"] = door.client_secret
        for status in (503, 503):
            client(url, fields)
            assert client.status == status
        token = json.loads(client(url, fields))["access_token"]
        header = f"Bearer {token}"
        assert [OPEN in client(door.url(), Authorization=header) for _ in "123"] == [1, 1, 0]
        client(url, fields | {"client_secret": "x"})
        assert (client.status, door.wrong) == (401, ["client"])
        assert (door.expiries, ledger(door).granted, ledger(door).entangled) == (1, 1, [])


def test_refresh_tokens_change() -> None:
    with serving(OAuth2Door(grant="refresh_token")) as door:
        client, url = Client(), door.endpoint.url("/token")
        fields = {"grant_type": "refresh_token", "client_id": CLIENT}
        fields["client_secret"] = door.client_secret
        first = door.refresh
        reply = json.loads(client(url, fields | {"refresh_token": first}))
        again = json.loads(client(url, fields | {"refresh_token": reply["refresh_token"]}))
        assert len({first, reply["refresh_token"], again["refresh_token"]}) == 3
        header = f"Bearer {again['access_token']}"
        assert OPEN in client(door.url(), Authorization=header)
        client(url, fields | {"refresh_token": first})
        assert door.wrong == ["an old refresh token"]
        assert SHUT in client(door.url(), Authorization=header)


def test_a_device_waits_for_its_user() -> None:
    said: list[str] = []
    with serving(OAuth2Door(grant="device_code", approve=said.append, interval=0)) as door:
        client = Client()
        asked = {"client_id": CLIENT, "scope": SCOPE}
        given = json.loads(client(door.endpoint.url("/device"), asked))
        fields = {
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            "client_id": CLIENT,
            "device_code": given["device_code"],
        }
        replies = [json.loads(client(door.endpoint.url("/token"), fields)) for _ in "123"]
        assert [reply.get("error") for reply in replies] == ["authorization_pending"] * 2 + [None]
        header = f"Bearer {replies[-1]['access_token']}"
        assert OPEN in client(door.url(), Authorization=header)
        assert (said, door.wrong) == (["WDJB-MJHT"], [])
        assert ledger(door).entangled == []
