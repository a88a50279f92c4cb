"""The addresses of a site's login pages: the one in loginFile, and those that it redirects to."""

from collections.abc import Iterable
from itertools import islice
from urllib.parse import parse_qsl

from larbinpy.url import split

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

    def __repr__(self) -> str:
        return f"<LoginPages {self._page} and {len(self._learned)}>"

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
