"""Judges whether a page is one of a session.

Counts of texts, bounded: those that were counted least recently are forgotten.

Markers: texts, or regular expressions between slashes, that tell pages of a session apart.

The addresses of a site's login pages: the one in loginFile, and those that it redirects to.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import lru_cache
from html import unescape
from http import HTTPStatus
from itertools import islice
from urllib.parse import parse_qsl

from larbinpy.login.exchange import next_of
from larbinpy.login.spec import Login
from larbinpy.page import Page
from larbinpy.parse import meta_refresh, sniff
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import named, text_of, undeclared
from larbinpy.url import resolve, split


class RecentCounts:
    """Counts of at most `most` texts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def of(self, text: str) -> int:
        return self._counts.get(text, 0)

    def add(self, text: str, number: int = 1) -> int:
        """Count `text`; returns its new count."""
        count = self._counts[text] = self._counts.get(text, 0) + number
        self._counts.move_to_end(text)
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return count


#: Memory of a compiled expression (bytes). RE2 refuses a larger one.
_MEMORY = 1 << 20

Marker = Callable[[str], bool]


@lru_cache(256)
def marker(text: str) -> Marker:
    """Whether a page has the marker `text`; raises ValueError if it is no expression of RE2.

    RE2 takes a time linear in the length of the page, whatever the expression.
    """
    if len(text) < 3 or not (text[0] == text[-1] == "/"):
        return lambda page: text in page
    # Here, since a configuration without logins needs no RE2.
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        search = re2.compile(text[1:-1], options).search
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ValueError(f"{text[:60]!r} is not a regular expression of RE2: {shown}") from None
    return lambda page: search(page) is not None


#: Addresses of a login are few, unless a site redirects without end.
_MOST = 50


class LoginPages:
    """Addresses that only those get to who are logged out.

    A page is told by its path, as its query often has the address to return to. If the query of
    the address in loginFile chooses the page (``/index.php?do=login``), all its values must be
    there. The query of a redirect has values that change; their names must be there.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._place = _place(page) if page else ""
        self._values = _query(page)
        # (place, names of the query)
        self._learned: set[tuple[str, frozenset[str]]] = set()

    @property
    def _is_home(self) -> bool:
        """Whether the page in loginFile is the home page, which others see as well."""
        return not self._values and self._place.endswith("/") and self._place.count("/") == 1

    def learn(self, href: str) -> None:
        """The site redirected a login to `href`, which has its form."""
        place, names = _place(href), frozenset(name for name, _ in _query(href))
        if len(self._learned) < _MOST and (names or not place.endswith("/")):
            self._learned.add((place, names))

    @property
    def learned(self) -> list[tuple[str, list[str]]]:
        """The places that were learned, with the names in their queries."""
        return sorted((place, sorted(names)) for place, names in self._learned)

    def remember(self, learned: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Learn what another run has learned."""
        pairs = ((str(place), frozenset(map(str, names))) for place, names in learned)
        self._learned.update(islice(pairs, _MOST))

    def has(self, href: str) -> bool:
        """Whether `href` is the address of a login page."""
        place = _place(href)
        if place == self._place and self._values <= _query(href):
            return True
        if not any(place == learned for learned, _ in self._learned):
            return False
        names = {name for name, _ in _query(href)}
        return any(place == learned and wanted <= names for learned, wanted in self._learned)

    def only(self, href: str) -> bool:
        """Whether `href` is the address of a login page, and of nothing else."""
        return self.has(href) and not (self._is_home and _place(href) == self._place)


def _place(href: str) -> str:
    """Host, port and path; sites redirect from http to https to log in."""
    parts = split(href)
    port = "" if parts.port in (80, 443) else f":{parts.port}"
    return f"{parts.host}{port}{parts.path.partition('?')[0]}"


def _query(href: str) -> set[tuple[str, str]]:
    return set(parse_qsl(href.partition("?")[2], keep_blank_values=True))


#: Addresses that are remembered as refused with 403.
_MOST_REFUSED = 10_000
#: Addresses that have not come again after a 403, so that two of them in a row are needed.
_PATIENCE = 3
#: One more is needed for each so many of them.
_FEW = 10
#: The most replies 403 in a row that are needed.
_LONGEST_ROW = 20
#: Bytes at the beginning of a page that are searched for its encoding and for a refresh.
_HEAD = 4096
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_REFRESH = re.compile(rb"""<meta\s[^>]*http-equiv\s*=\s*["']?refresh[^>]*>""", re.IGNORECASE)
_CONTENT = re.compile(rb"""\scontent\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
#: The search ends at the next input, so a page of tags without end is searched once.
_PASSWORD = re.compile(
    rb"""<input\s(?:(?!<input)[^>])*?type\s*=\s*["']?password\b""", re.IGNORECASE
)


class Standing(Enum):
    """Whether a page is one of a session, or that is not known."""

    IN = auto()
    OUT = auto()
    UNKNOWN = auto()


class Judge:
    """Judges the pages of a site with a login, in the order in which they came."""

    def __init__(self, login: Login) -> None:
        self.login_pages = LoginPages(login.page)
        self._logged_in = marker(login.logged_in) if login.logged_in else None
        self._logged_out = marker(login.logged_out) if login.logged_out else None
        #: Pages that were not refused, and replies 403 in a row.
        self._good = 0
        self._refusals = 0
        # Whether a login has been proven, and no reply came since.
        self._is_fresh = False
        # Addresses that were refused, and the number of those that no session shows.
        self._refused = RecentCounts(_MOST_REFUSED)
        self._forbidden = 0
        # Addresses that were taken for lost because of a 403, and have not come again.
        self._awaited: set[str] = set()

    def standing(self, page: Page) -> Standing:
        """The standing of a page of the crawl.

        Without markers, a page is one of the session if its status is 2xx and nothing speaks
        against it.
        """
        standing = self._standing(page)
        self._is_fresh = False
        if standing is Standing.IN or (standing is not Standing.OUT and 200 <= page.status < 300):
            self._good += 1
            # The session lived before them and lives now.
            self._forbidden += self._refusals
            self._refusals = 0
            self._awaited.discard(page.url.href)
        return standing

    def logged_in(self, proven: bool) -> None:
        """A login has ended; `proven` if a page has shown that it worked."""
        self._refusals = 0
        self._is_fresh = proven

    def _standing(self, page: Page) -> Standing:
        target = next_of(page) or refresh_target(page)
        if target and self.login_pages.has(target) and not self.login_pages.has(page.url.href):
            return Standing.OUT
        marked = self.by_marker(page)
        if marked is not Standing.UNKNOWN:
            return marked
        if page.status == HTTPStatus.UNAUTHORIZED or self._is_login_page(page):
            return Standing.OUT
        if page.status == HTTPStatus.FORBIDDEN:
            return self._of_forbidden(page.url.href)
        judged_by_marker = self._logged_in or self._logged_out
        is_good = 200 <= page.status < 300 and not judged_by_marker
        return Standing.IN if is_good else Standing.UNKNOWN

    def by_marker(self, page: Page) -> Standing:
        """The standing by the markers alone; they judge HTML."""
        if not (self._logged_in or self._logged_out) or page.not_modified or not has_html(page):
            return Standing.UNKNOWN
        text = _text(page)
        if self._logged_out and self._logged_out(text):
            return Standing.OUT
        if self._logged_in and self._logged_in(text):
            return Standing.IN
        if page.status != HTTPStatus.OK or page.truncated:
            return Standing.UNKNOWN
        return Standing.OUT if self._logged_in else Standing.IN

    def has_logged_out(self, page: Page) -> bool:
        """Whether the marker of visitors is on an HTML page."""
        return self._logged_out is not None and has_html(page) and self._logged_out(_text(page))

    def _is_login_page(self, page: Page) -> bool:
        if page.status != HTTPStatus.OK or not self.login_pages.has(page.url.href):
            return False
        return self.login_pages.only(page.url.href) or has_password_field(page)

    def _of_forbidden(self, href: str) -> Standing:
        """A 403 means a lost session, unless that is known to live.

        The more pages there are that this user may not see, the more of them in a row are needed;
        and while some that may be such pages have not come again. If the session has really
        ended, they come in a row, and the first of them are fetched again: they are not confirmed.
        """
        was_refused = href in self._refused
        self._refused.add(href)
        if self._good and (was_refused or self._is_fresh):
            self._awaited.discard(href)
            self._forbidden += 1
            return Standing.UNKNOWN
        awaited = len(self._awaited)
        doubts = (awaited >= _PATIENCE) + awaited // _FEW
        row = min(max(self._forbidden, doubts), _LONGEST_ROW)
        if self._good and self._refusals < row:
            self._refusals += 1
            return Standing.UNKNOWN
        self._refusals = 0
        self._awaited.add(href)
        return Standing.OUT


def has_html(page: Page) -> bool:
    """Whether `page` has a text that is HTML."""
    return bool(page.body.strip()) and (page.type in _HTML or is_html(page))


def has_password_field(page: Page) -> bool:
    """Whether `page` looks as if it asked for a password."""
    return has_html(page) and _PASSWORD.search(page.body) is not None


def refresh_target(page: Page) -> str:
    """The canonical URL that a refresh in the header or the head of `page` leads to, or nothing."""
    content = page.header("refresh") or ""
    if not content and has_html(page):
        found = _REFRESH.search(page.body[:_HEAD])
        value = _CONTENT.search(found[0]) if found else None
        content = (value[1] or value[2] or b"").decode("utf-8", "replace") if value else ""
    reference = meta_refresh(unescape(content)) if content else None
    return (resolve(reference, page.url.href) or "") if reference else ""


def _text(page: Page) -> str:
    body = page.body
    label = page.http_charset
    name = page.charset or (label and named(label)) or undeclared(body) or sniff(body[:_HEAD])
    return text_of(body, name)[0]
