"""The methods of login, each a generator of requests.

    form    finds the form of a page as a browser sees it, fills it in and sends it
    oauth   tokens (OAuth 2), signatures (OAuth 1)
    hook    the user's own program

The others have no requests of their own: libcurl sends user and password.
"""

from collections.abc import Mapping

from larbinpy.login.exchange import Grant, Steps
from larbinpy.login.methods import form, hook, oauth
from larbinpy.login.spec import Login, Method


def steps_of(
    login: Login,
    kept: Mapping[str, str],
    wall: float,
    user_login: hook.UserLogin | None = None,
) -> Steps:
    """The requests of a login that begins at the Unix time `wall`.

    `kept` are the values of its last `Grant`; `user_login` is the function of a hook.
    """
    match login.method:
        case Method.FORM:
            return form.steps(login)
        case Method.OAUTH2:
            return oauth.steps(login, kept, wall)
        case Method.HOOK:
            return hook.steps(login, kept, user_login)
    return _nothing()


def _nothing() -> Steps:
    yield from ()
    return Grant()


def request_headers(login: Login, grant: Grant, href: str, wall: float) -> tuple[str, ...]:
    """The header lines of a GET of `href`, a URL of the site, at the Unix time `wall`.

    User and password (basic, digest, netrc) and tickets (negotiate) are sent by libcurl.
    """
    match login.method:
        case Method.BEARER:
            return (f"Authorization: Bearer {login.token}",)
        case Method.OAUTH1:
            return (oauth.header(login, href, wall),)
    return grant.headers
