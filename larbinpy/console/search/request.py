"""The query string of an address of the Search page as values, and back."""

import re
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import parse_qs, quote, urlencode

from larbinpy.console.status.frame import SEARCH

#: Address of the stored page of a hit.
PAGE = "/page.html"
SEARCH_JSON = "/search.json"
#: The path of questions of other programs of larbinpy; no address of the server.
FOUND = "/found"

SORTS = ("rank", "date")

#: Hits on a page: of the Search page, and the most that /search.json gives.
_HITS = 10
_MOST_HITS = 100
#: Largest page number.
_LAST = 1000
#: Fields of a query string that are read; more are no request of ours.
_MOST_FIELDS = 20
#: Characters of a URL that a query string may have without being encoded (RFC 3986, 3.4).
_IN_URLS = "/:?@!$'()*,;=~"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A request: for the hits of a query, or for the stored page of `url`."""

    q: str = ""
    page: int = 1
    sort: str = SORTS[0]
    n: int = _HITS
    url: str = ""

    @classmethod
    def of(cls, query: str, most: int = _MOST_HITS) -> Self:
        """The values of a query string; those that make no sense are as if they were not there.

        `most` is the largest number of hits.
        """
        try:
            fields = parse_qs(query, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return cls()
        given = {name: values[-1] for name, values in fields.items()}
        sort = given.get("sort", "")
        return cls(
            q=" ".join(given.get("q", "").split()),
            page=_number(given.get("page", ""), 1, _LAST),
            sort=sort if sort in SORTS else SORTS[0],
            n=_number(given.get("n", ""), _HITS, most),
            url=given.get("url", ""),
        )

    def address(self, **changes: str | int) -> str:
        """The address of the Search page that asks this, with `changes`."""
        other = replace(self, **changes)  # type: ignore[arg-type]
        fields: dict[str, str | int] = {"q": other.q}
        if other.page > 1:
            fields["page"] = other.page
        if other.sort != SORTS[0]:
            fields["sort"] = other.sort
        return f"{SEARCH}?{urlencode(fields, errors='replace')}"

    def address_of(self, url: str) -> str:
        """The address of the stored page of `url`, from which a link leads back to the hits."""
        return f"{PAGE}?{urlencode({'q': self.q}, errors='replace')}&url={quote(url, _IN_URLS)}"


def _number(text: str, default: int, most: int) -> int:
    digits = text.isascii() and text.isdecimal() and len(text) < 10
    return min(max(int(text), 1), most) if digits else default


_FILTER = r'(?:^|(?<=\s)){name}:(?:"[^"]*"|\S*)\s*'


def with_filter(q: str, name: str, value: str) -> str:
    """The query with the filter `name:value`, in place of others of that name."""
    return f"{without_filter(q, name)} {name}:{value}".strip()


def without_filter(q: str, name: str) -> str:
    return re.sub(_FILTER.format(name=name), "", q, flags=re.IGNORECASE).strip()
