"""From one file of a mirror to another, as a link in it."""

from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

#: Pages of a site link to the same few thousand others, its menus above all.
_REMEMBERED = 50_000


class Relative:
    """Relative references to the files of URLs, where `path_of` says which these are."""

    def __init__(self, path_of: Callable[[str], str | None]) -> None:
        self._path_of = lru_cache(_REMEMBERED)(path_of)

    def to(self, path: str) -> Callable[[str], str | None]:
        """What leads from the file `path` to that of a URL; None where it has none."""
        here = tuple(path.split("/")[:-1])

        def lead(url: str) -> str | None:
            target = self._path_of(url)
            return None if target is None else reference(here, target)

        return lead


def reference(here: tuple[str, ...], target: str) -> str:
    """The reference to the file `target` in a page of the folder `here`.

    All but letters, digits and "-._~/" is escaped: a name may hold what ends a path, as "?"
    does, or looks like a scheme, or would have to be escaped once more in a style sheet.
    """
    parts = target.split("/")
    shared = 0
    while shared < min(len(here), len(parts) - 1) and here[shared] == parts[shared]:
        shared += 1
    return "../" * (len(here) - shared) + quote("/".join(parts[shared:]))
