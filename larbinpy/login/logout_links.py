"""The links and buttons of a page whose text says that they end the session."""

from collections.abc import Iterator

from larbinpy.login.logout import says_logout
from larbinpy.page import Page
from larbinpy.parse.charset import document
from larbinpy.parse.html import base_url
from larbinpy.url import resolve

_SELECTOR = "a[href],area[href],button,input[type=submit i],input[type=image i]"
#: Attributes that stand for the text of a link or a button without one.
_LABELS = ("aria-label", "title", "alt", "value")
#: Elements of a page that are read.
_MOST_ELEMENTS = 5000


def logout_links(page: Page) -> Iterator[str]:
    """The canonical URLs of the links and forms of an HTML page that say that they log out."""
    tree = document(page.body, page.http_charset)
    base = ""
    for element in tree.select(_SELECTOR)[:_MOST_ELEMENTS]:
        image = element.select_one("img[alt]")
        texts = [element.text, *(element.attr(name) or "" for name in _LABELS)]
        texts.append("" if image is None else image.attr("alt") or "")
        if not any(map(says_logout, texts)):
            continue
        reference = element.attr("href") or element.attr("formaction")
        if reference is None:
            form = element.closest("form")
            reference = None if form is None else form.attr("action")
        base = base or base_url(tree.select("base"), page.url.href)
        href = resolve(reference, base) if reference else None
        if href is not None:
            yield href
