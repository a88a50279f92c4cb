"""The requests of a login and their replies.

A method of login is a generator: it yields an `Ask`, is sent the `Page` that came for it, and
returns a `Grant`. It raises `LoginFailed`.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from larbinpy.page import Page, asks_for_less
from larbinpy.parse import redirect_target
from larbinpy.url import Ask, site_of

#: Redirects in a row that a login follows.
_MOST_REDIRECTS = 10
_SEE_OTHER = frozenset({301, 302, 303})
_SAME_METHOD = frozenset({307, 308})


@dataclass(frozen=True)
class Grant:
    """The result of a login; its cookies are in the jar of the site."""

    #: Header lines of each request to the site.
    headers: tuple[str, ...] = field(default=(), repr=False)
    #: The Unix time at which it must be renewed; None if only the site knows.
    expires: float | None = None
    #: Values that the next login uses, such as a refresh token. They are kept over a stop.
    kept: Mapping[str, str] = field(default_factory=dict, repr=False)


Steps = Generator[Ask, Page, Grant]


class LoginFailed(Exception):
    """The site did not accept a login. The text has no secret."""


def asked(ask: Ask) -> Generator[Ask, Page, Page]:
    """Yield `ask` and return its page; raises LoginFailed if the server is unwell."""
    page = yield ask
    check_well(page)
    return page


def follow(ask: Ask) -> Generator[Ask, Page, Page]:
    """Yield `ask` and the requests to which it is redirected; return the last page.

    A body goes to the origin of `ask` alone (RFC 9110, 15.4.8), and so do its headers.
    """
    origin = site_of(ask.href)
    for _ in range(_MOST_REDIRECTS):
        page = yield from asked(ask)
        target = next_of(page)
        if not target:
            return page
        body, headers = ask.body, ask.headers
        if page.status in _SEE_OTHER and body is not None:
            body, headers = None, ()
        if site_of(target) != origin:
            if body is not None:
                raise LoginFailed("the login was redirected to another origin with its password")
            headers = ()
        ask = Ask(target, body, headers)
    raise LoginFailed(f"the login was redirected {_MOST_REDIRECTS} times")


def next_of(page: Page) -> str:
    """The canonical URL to which `page` redirects; empty for none that can be fetched."""
    if page.status not in _SEE_OTHER | _SAME_METHOD:
        return ""
    targets = redirect_target(page)
    return targets[0].url if targets else ""


def check_well(page: Page) -> None:
    """Raise LoginFailed if no reply came, or one by which the server says that it is unwell."""
    if not page.status:
        # The detail is a text of libcurl or of the resolver.
        reason = page.detail or page.outcome.words
        site = site_of(page.url.href)
        raise LoginFailed(f"no reply to a request of the login at {site}: {reason[:200]}")
    if page.status >= HTTPStatus.INTERNAL_SERVER_ERROR or asks_for_less(page.status):
        raise LoginFailed(f"a reply to the login has status {page.status}")
