"""Replies to the requests of logins, by values."""

from larbinpy.login.exchange import Grant, Steps
from larbinpy.page import Outcome, Page, of_status
from larbinpy.url import Ask, Url

HTML = "text/html; charset=utf-8"


def reply(
    href: str, body: str | bytes = "", status: int = 200, type: str = HTML, **headers: str
) -> Page:
    """A page; the names of `headers` have underscores for hyphens."""
    lines = [(name.replace("_", "-"), value) for name, value in headers.items()]
    data = body.encode() if isinstance(body, str) else body
    lines += [("content-type", type)] if type else []
    return Page(Url(href, 0), of_status(status), status, lines, data)


def redirect(href: str, target: str, status: int = 302) -> Page:
    return reply(href, status=status, location=target)


def silence(href: str) -> Page:
    """No reply."""
    return Page(Url(href, 0), Outcome.NO_CONNECTION, detail="connection refused")


def exchange(steps: Steps, *replies: Page) -> tuple[list[Ask], Grant]:
    """The requests of a login and its result; it must take all `replies` and no more."""
    asks, left = [], list(replies)
    try:
        asks.append(next(steps))
        while left:
            asks.append(steps.send(left.pop(0)))
    except StopIteration as end:
        assert left == []
        return asks, end.value
    raise AssertionError(f"one more request: {asks[-1]}")
