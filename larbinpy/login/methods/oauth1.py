"""OAuth 1: each request is signed (RFC 5849, HMAC-SHA1), by oauthlib."""

import re

from larbinpy.login.spec import Login

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
