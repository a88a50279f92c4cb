"""The URLs of the paths in a plain mirror: `output.mirror.paths` the other way round."""

import re
from collections.abc import Container

from larbinpy.output.mirror.paths import INDEX, locate
from larbinpy.url import resolve

_MARKED = re.compile(r"#([0-9A-F]{2})")
#: In a name that was too long, the digest has taken the place of the URL.
_HASHED = re.compile(r"#h[0-9a-f]{32}(?:#|\Z)")


def url_at(path: str, owners: Container[str]) -> str | None:
    """The URL whose file is `path`, relative to the mirror; None if the path does not show it.

    `owners` has a line ``KIND NAME`` for each plain name that one of two URLs took: the lines of
    ``.larbinpy-names``.
    """
    site, *folders = path.split("/")
    if not folders or _HASHED.search(path):
        return None
    host, _, own_scheme = site.partition("#http")
    scheme = f"http{own_scheme}" if host != site else "http"
    if host == site and f"https {site}" in owners:
        scheme = "https"
    *parts, name = folders
    plain, _, kind = name.rpartition("#")
    if kind not in ("file", "folder"):
        plain = name
        kind = "folder" if _is_index(name) and f"file {path}" not in owners else "file"
    last, mark, query = plain.partition("?")
    if kind == "folder":
        last = ""
    segments = [*map(_segment, parts), _segment(last) if last else ""]
    text = f"{scheme}://{_unmarked(host)}/{'/'.join(segments)}{mark}{_unmarked(query)}"
    url = resolve(text)
    if url is None:
        return None
    place = locate(url)
    # A name that was undone wrongly, or is no file of a mirror, has another path.
    sites = (place.site, place.own_site)
    names = (place.name, place.own_name)
    ways = {f"{each}/{'/'.join((*place.folders, last))}" for each in sites for last in names}
    return url if path in ways else None


def _is_index(name: str) -> bool:
    return name.partition("?")[0] == INDEX


def _segment(name: str) -> str:
    return "" if name == "#empty" else _unmarked(name)


def _unmarked(text: str) -> str:
    """`text` with the bytes that are marked by ``#XX`` as they were."""
    return _MARKED.sub(lambda match: chr(int(match[1], 16)), text)
