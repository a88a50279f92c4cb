"""Relative links from one file of a mirror to another."""

from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

#: Files of URLs that are remembered. Pages of a site link to the same few thousand others.
_REMEMBERED = 50_000


class Relative:
    """Makes relative references to the files of URLs; `path_of` gives the file of a URL."""

    def __init__(self, path_of: Callable[[str], str | None]) -> None:
        self._path_of = lru_cache(_REMEMBERED)(path_of)

    def to(self, path: str) -> Callable[[str], str | None]:
        """Return a function from a URL to its reference in the file `path`; None if no file."""
        here = tuple(path.split("/")[:-1])

        def lead(url: str) -> str | None:
            target = self._path_of(url)
            return None if target is None else reference(here, target)

        return lead


def reference(here: tuple[str, ...], target: str) -> str:
    """Return the reference to the file `target` in a page of the folder `here`.

    Escapes all but letters, digits and "-._~/": a name may hold "?", which ends a path, look
    like a scheme, or need escapes of its own in a style sheet.
    """
    parts = target.split("/")
    shared = 0
    while shared < min(len(here), len(parts) - 1) and here[shared] == parts[shared]:
        shared += 1
    return "../" * (len(here) - shared) + quote("/".join(parts[shared:]))
