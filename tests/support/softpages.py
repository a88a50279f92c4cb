"""Pages of one site for tests of `larbinpy.frontier.soft404`."""

from larbinpy.page import Page, of_status
from larbinpy.url import Url

SITE = "http://a.test"


def page(
    path: str, body: str = "", status: int = 200, type_: str = "text/html", **more: str
) -> Page:
    """The reply for `path`; `more` are its headers."""
    headers = [("content-type", f"{type_}; charset=utf-8"), *more.items()]
    return Page(Url(f"{SITE}{path}", 0), of_status(status), status, headers, body.encode())


def moved(path: str, target: str) -> Page:
    return page(path, status=302, location=target)


def framed(title: str, main: str = "") -> str:
    """A page of a site whose pages have much in common."""
    nav = "".join(f"<a href=/{word}>{word}</a> " for word in ("Home", "News", "Not now", "Found"))
    return f"<title>{title}</title><nav>{nav}</nav><main><h1>{title}</h1>{main}</main><p>Imprint"
