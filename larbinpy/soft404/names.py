"""Names that cannot exist at a site, and URLs that are not compared with the answer to one."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from larbinpy.url import site_of

#: Some servers route by extension.
_EXTENSION = re.compile(r"\.[a-z]{1,5}\Z", re.IGNORECASE).search
#: The last path segment of a page that is often the same as its folder.
_INDEX = re.compile(r"(?:index|default|home|main|welcome)(?:\.\w{1,5})?", re.IGNORECASE).fullmatch


class Shape(NamedTuple):
    """A place in which a site has names: all but the name itself."""

    before: str
    after: str

    def named(self, name: str) -> str:
        """The URL of `name` there."""
        return f"{self.before}{name}{self.after}"

    @property
    def is_page(self) -> bool:
        """Whether it is the query of one page, for all names."""
        return "?" in self.before


def shape_of(href: str) -> Shape:
    """The place of the name in `href`: its last segment, or the last value of its query."""
    path, mark, query = href.partition("?")
    if "=" in query:
        return Shape(f"{path}{mark}{query.rpartition('=')[0]}=", "")
    slash = "/" if path.endswith("/") else ""
    folder, _, last = path.removesuffix("/").rpartition("/")
    extension = _EXTENSION(last)
    return Shape(f"{folder}/", (extension[0] if extension else "") + slash)


def commonest_shape(hrefs: Iterable[str]) -> Shape | None:
    """The place of most of `hrefs`, home pages left out; None if there is none."""
    shapes = Counter(shape_of(href) for href in hrefs if not is_home(href))
    return max(shapes, key=shapes.__getitem__) if shapes else None


def is_home(href: str) -> bool:
    """Whether `href` is the home page of its site."""
    return href == f"{site_of(href)}/"


def is_start(href: str) -> bool:
    """Whether `href` is the start page of a site or of a folder by one of its usual names."""
    return is_home(href) or _INDEX(href.rpartition("/")[2]) is not None


def is_above(href: str, probe: str) -> bool:
    """Whether `href` is a folder of `probe`, or its page without the query.

    A server may answer to a name that does not exist with the page above it.
    """
    stem = href.removesuffix("/")
    return probe.startswith(stem) and probe[len(stem) : len(stem) + 1] in ("/", "?")
