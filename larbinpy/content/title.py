"""Chooses the title of a page from what calls itself its title."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from larbinpy.url import split

_WORDS = re.compile(r"\w+")
#: Separators between a title and the name of its site: hyphens, dashes (U+2013, U+2014), bullets
#: and guillemets between blanks, bars anywhere, and hyphens after a letter that takes no blanks.
_SEPARATOR = re.compile(
    r"\s+(?:[-\u2013\u2014\xb7\u2022\xab\u203a>~:]|::|//)\s+|\s*[|\xbb\uff5c]\s*"
    r"|(?<=[\u2e80-\uffff])[-_\u2013\u2014](?=\S)"
)
#: Fewer characters of a host's name are found in too many titles.
_SHORTEST_NAME = 3
#: Labels that `viewtopic.php` of many forums writes before the title.
_LABELS = frozenset({"viewtopic", "viewforum", "thread", "topic"})


@dataclass(slots=True)
class Titles:
    """The candidates, each in one line."""

    url: str
    #: `<title>`, and the title for cards on other sites (og:title).
    title: str = ""
    card: str = ""
    #: Name of the site, if the page declares it.
    site: str = ""
    #: Those of the first level.
    headings: Sequence[str] = ()


def chosen(titles: Titles) -> str:
    """Return the title: a first-level heading if `<title>` has its words, else `<title>`, cut.

    The heading also counts if the page has only one, unless `<title>` and the card agree on
    another title. A home page is called by its whole `<title>`.
    """
    site = _Site(titles.url, titles.site)
    whole = site.cut(titles.title)
    card = site.cut(titles.card)
    first, *more = _parts(titles.title) or ("",)
    if (
        more
        and _key(first) != _key(titles.site)
        and {_key(first)} == set(map(_key, titles.headings))
    ):
        return first  # even if its host is named so
    if site.is_home and titles.title:
        return site.cut_end(titles.title, 2)
    headings = [site.cut_end(heading, 1) for heading in titles.headings]
    headings = [heading for heading in headings if not site.is_named(heading)]
    words = words_of(titles.title)
    for heading in headings:
        for text in (whole, card):
            # The same letters: a heading may lack the blanks of line breaks.
            if _key(heading) == _key(text):
                return text
        if words_of(heading) <= words:
            return heading
    agreed = whole and _key(whole) == _key(card) and not site.is_named(whole)
    if len({_key(heading) for heading in headings}) == 1 and not agreed:
        heading = headings[0]
        return whole if whole and _begins(heading, whole) else heading
    if not headings and card and not site.is_named(card):
        return card
    return whole or card or next(iter(titles.headings), "")


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(_WORDS.findall(text.casefold()))


# The same few texts are taken apart several times for a page, and the names of the site for each.
@lru_cache(64)
def _parts(title: str) -> tuple[str, ...]:
    """The parts of a title between separators."""
    return tuple(part.strip() for part in _SEPARATOR.split(title) if part.strip())


@lru_cache(256)
def _key(text: str) -> str:
    return "".join(_WORDS.findall(text.casefold()))


def _begins(heading: str, title: str) -> bool:
    """Whether `heading` is `title` and more; a single word is no title then."""
    return len(words_of(title)) > 2 and _key(heading).startswith(_key(title))


class _Site:
    """The names of the site that a page belongs to."""

    def __init__(self, url: str, name: str) -> None:
        parts = split(url)
        self.is_home = parts.path.partition("?")[0] in ("/", "/index.html", "/index.php")
        host = parts.host.removeprefix("www.")
        self._host = _key(host)
        labels = [_key(label) for label in host.split(".")[:-1]]
        self._names = {_key(name), *(each for each in labels if len(each) >= _SHORTEST_NAME)}

    def is_named(self, text: str) -> bool:
        """Whether `text` is a name of the site, or nothing."""
        key = _key(text)
        if not key or key in self._names:
            return True
        return len(key) > _SHORTEST_NAME and (
            self._host.startswith(key) or self._host.endswith(key)
        )

    def cut(self, title: str) -> str:
        """The title without the names of the site: its first part that is left."""
        own = [
            part for part in _parts(title) if not self.is_named(part) and _key(part) not in _LABELS
        ]
        return own[0] if own else title

    def cut_end(self, title: str, least: int) -> str:
        """The title without the name of the site at its end, if `least` words are left."""
        *_, last = [None, *_SEPARATOR.finditer(title)]
        if last is not None and self.is_named(title[last.end() :]):
            rest = title[: last.start()].strip()
            if len(words_of(rest)) >= least:
                return rest
        return title
