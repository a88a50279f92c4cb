"""OAuth 1 and 2, by oauthlib, which makes the bodies of requests, signs them and reads the tokens.

OAuth 1 signs each request (RFC 5849, HMAC-SHA1). OAuth 2 gets tokens by client credentials, refresh
tokens (RFC 6749) and device codes (RFC 8628).
"""

import base64
import json
import re
from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import quote_plus

from larbinpy.login.exchange import Grant, LoginFailed, Steps, asked
from larbinpy.login.spec import Login
from larbinpy.page import Page, asks_for_less
from larbinpy.url import Ask, resolve

#: Characters of queries that oauthlib refuses, though URLs may have them, and stray "%". An escape
#: of them is signed as they are.
_ODD = re.compile(r"[^A-Za-z0-9_.~=&;:%+,*@!()/?'$-]|%(?![0-9A-Fa-f]{2})")


def header(login: Login, href: str, wall: float, nonce: str | None = None) -> str:
    """The header Authorization of a GET of `href` at the Unix time `wall`; a nonce is random."""
    # Here, since other logins need no OAuth.
    from oauthlib.oauth1 import Client

    client = Client(
        login.client_id,
        login.client_secret,
        login.token or None,
        login.token_secret or None,
        timestamp=str(int(wall)),
        nonce=nonce,
    )
    _, headers, _ = client.sign(signable(href))
    return f"Authorization: {headers['Authorization']}"


def signable(href: str) -> str:
    """`href` with the same signature, in a spelling that oauthlib reads."""
    path, mark, query = href.partition("?")
    return path + mark + _ODD.sub(lambda found: f"%{ord(found[0]):02X}", query)


#: Seconds between two questions whether the user has agreed, if the server does not say.
_INTERVAL = 5.0
#: The longest wait for the user (s), and between two questions.
_LONGEST = 1800.0
_LONGEST_INTERVAL = 60.0
#: The longest life of a token (s); JSON has numbers that no clock holds.
_LONGEST_LIFE = 10**9
#: Characters that a header can carry (RFC 6750, 2.1, is narrower than what servers send).
_TOKEN = re.compile(r"[!-~]{1,16384}")
_ERROR = re.compile("[a-z_]{1,40}")
_CODE = re.compile(r"[!-~ ]{1,40}")

#: Keys of the values that are kept: the newest refresh token; "body" if the client's secret has
#: to be in the body.
_REFRESH, _SECRET_IN = "refresh", "secret_in"


class _Refused(LoginFailed):
    """The endpoint answered with an error of OAuth, which is `code`."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the token endpoint says {code}")
        self.code = code


def steps(login: Login, kept: Mapping[str, str], wall: float) -> Steps:
    """The requests for a token of `login`."""
    client = _Client(login, kept.get(_SECRET_IN) == "body")
    refresh = kept.get(_REFRESH, "") or login.refresh_token
    if login.grant == "client_credentials":
        token = yield from client.token(client.by_credentials)
        refresh = ""
    elif refresh:
        try:
            token = yield from client.token(lambda secret: client.by_refresh(refresh, secret))
        except _Refused as error:
            if login.grant != "device_code" or error.code != "invalid_grant":
                raise
            token = yield from client.by_device()
    else:
        token = yield from client.by_device()
    given = token.get("refresh_token")
    newest = given if given and isinstance(given, str) else refresh
    values = {_REFRESH: newest, _SECRET_IN: "body" if client.secret_in_body else ""}
    life = token.get("expires_in")
    return Grant(
        (f"Authorization: Bearer {token['access_token']}",),
        wall + min(life, _LONGEST_LIFE) if isinstance(life, int) and life > 0 else None,
        {key: value for key, value in values.items() if value},
    )


class _Client:
    """The client as the endpoints know it."""

    def __init__(self, login: Login, secret_in_body: bool) -> None:
        # Here, since other logins need no OAuth.
        from oauthlib.oauth2 import BackendApplicationClient, DeviceClient

        self._login = login
        self._backend = BackendApplicationClient(login.client_id)
        self._device = DeviceClient(login.client_id)
        #: Section 2.3.1 of RFC 6749: servers must know Basic, and may know the body.
        self.secret_in_body = secret_in_body

    # The bodies of the requests; `own` is what the client says about itself.

    def by_credentials(self, own: dict[str, Any]) -> str:
        return str(self._backend.prepare_request_body(scope=self._scope, **own))

    def by_refresh(self, refresh: str, own: dict[str, Any]) -> str:
        # The scope of a token that the user gave may be narrowed; that of a device is right.
        scope = self._scope if self._login.grant == "refresh_token" else None
        own = {"client_id": self._login.client_id, **own}
        body = self._backend.prepare_refresh_body(refresh_token=refresh, scope=scope, **own)
        return str(body)

    @property
    def _scope(self) -> list[str] | None:
        return self._login.scope.split() or None

    def token(self, body: Any) -> Generator[Ask, Page, dict[str, Any]]:
        """Ask for a token; if the server does not know the client, in the other way."""
        page = yield from asked(self._ask(self._login.token_url, body))
        try:
            return _token(page)
        except _Refused as error:
            if error.code != "invalid_client" or not self._login.client_secret:
                raise
        self.secret_in_body = not self.secret_in_body
        return _token((yield from asked(self._ask(self._login.token_url, body))))

    def _ask(self, href: str, body: Any, wait: float = 0.0, notice: str = "") -> Ask:
        own: dict[str, Any] = {"include_client_id": True}
        lines = ["Content-Type: application/x-www-form-urlencoded", "Accept: application/json"]
        secret = self._login.client_secret
        if secret and self.secret_in_body:
            own["client_secret"] = secret
        elif secret:
            own = {"include_client_id": False}
            pair = f"{quote_plus(self._login.client_id)}:{quote_plus(secret)}"
            lines.append(f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        return Ask(href, body(own).encode(), tuple(lines), wait, notice)

    def by_device(self) -> Generator[Ask, Page, dict[str, Any]]:
        """Get a code for the user, and ask until the user has entered it."""
        page = yield from asked(self._ask(self._login.device_url, self._device_body))
        given = _read(page)
        try:
            device, user = str(given["device_code"]), str(given["user_code"])
            where = str(given.get("verification_uri") or given["verification_url"])
            # In this order, "not a number" becomes the limit.
            interval = min(_LONGEST_INTERVAL, max(1.0, float(given.get("interval") or _INTERVAL)))
            left = min(_LONGEST, float(given.get("expires_in") or _LONGEST))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise LoginFailed("the device endpoint gave no code") from None
        if resolve(where) is None or not _CODE.fullmatch(user):
            raise LoginFailed("the device endpoint gave no address or code for the user")
        notice = f"to log in at {self._login.site}, open {resolve(where)} and enter {user}"

        def body(own: dict[str, Any]) -> str:
            return str(self._device.prepare_request_body(device, **own))

        while left > 0:
            left -= interval
            page = yield self._ask(self._login.token_url, body, interval, notice)
            notice = ""
            if not page.status or page.status >= 500 or asks_for_less(page.status):
                # RFC 8628, 3.5: less often, if no reply comes.
                interval = min(2 * interval, _LONGEST_INTERVAL)
                continue
            try:
                return _token(page)
            except _Refused as error:
                if error.code == "slow_down":
                    interval = min(interval + 5.0, _LONGEST_INTERVAL)
                elif error.code != "authorization_pending":
                    raise
        raise LoginFailed("nobody entered the code in time")

    def _device_body(self, own: dict[str, Any]) -> str:
        values = {"client_id": self._login.client_id, "scope": self._login.scope}
        values |= {"client_secret": own["client_secret"]} if "client_secret" in own else {}
        return "&".join(f"{key}={quote_plus(value)}" for key, value in values.items() if value)


def _read(page: Page) -> dict[str, Any]:
    """The object of JSON in a reply; raises LoginFailed if it has none, or an error."""
    try:
        found = json.loads(page.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise LoginFailed(f"the endpoint gave no JSON (status {page.status})")
    if "error" in found:
        raise _refused(found["error"])
    return found


def _token(page: Page) -> dict[str, Any]:
    """The token of a reply; raises LoginFailed if it has none."""
    from oauthlib.oauth2 import OAuth2Error
    from oauthlib.oauth2.rfc6749.parameters import parse_token_response

    try:
        token: dict[str, Any] = parse_token_response(page.body.decode())
    except OAuth2Error as error:
        code = error.error
        if code == "missing_token":
            raise LoginFailed(f"the endpoint gave no token (status {page.status})") from None
        raise _refused(code) from None
    except Exception:
        raise LoginFailed(f"the endpoint gave no token (status {page.status})") from None
    kind = str(token.get("token_type") or "bearer").lower()
    if page.status >= 400 or not kind.startswith("bearer"):
        raise LoginFailed(f"the endpoint gave no bearer token (status {page.status})")
    access = token["access_token"]
    if not isinstance(access, str) or not _TOKEN.fullmatch(access):
        raise LoginFailed("the endpoint gave a token that no header can carry")
    return token


def _refused(code: object) -> _Refused:
    return _Refused(code if isinstance(code, str) and _ERROR.fullmatch(code) else "an error")
