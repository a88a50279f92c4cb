"""The options of requests to a site with a login."""

from dataclasses import replace

from larbinpy.fetch.settings import RequestOptions
from larbinpy.login.spec import Login, Method

#: Methods whose login libcurl sends, and how: empty for Basic or Digest, as the site asks.
_AUTH = {
    Method.BASIC: "basic",
    Method.DIGEST: "digest",
    Method.NETRC: "",
    Method.NEGOTIATE: "negotiate",
}


def with_login(login: Login, options: RequestOptions) -> RequestOptions:
    """`options` for the site of `login`: its credentials, and a cookie jar of its own."""
    if login.method not in _AUTH:
        return replace(options, jar=login.site)
    pair = "" if login.method is Method.NEGOTIATE else f"{login.user}:{login.password}"
    return replace(options, login=pair, auth=_AUTH[login.method], jar=login.site)
