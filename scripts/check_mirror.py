"""Walks a mirror on disk as a browser would, and checks that every link leads to a file.

Uses the parser and resolver of the standard library, which do not share mistakes with those of
the crawler. Reads each page and style sheet that can be reached from the start page.
"""

import argparse
import json
import re
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

LINK, REQUISITE = "links", "requisites"
WORKING, BROKEN, ABSOLUTE = "working", "broken", "absolute"

#: Attributes that an element needs to be shown; `_LINKS` are the elements with links.
_NEEDS = {
    "img": ("src",),
    "script": ("src",),
    "iframe": ("src",),
    "frame": ("src",),
    "embed": ("src",),
    "source": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "track": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "body": ("background",),
    "table": ("background",),
    "td": ("background",),
}
_LINKS = ("a", "area")
_SHOWN_RELATIONS = {"stylesheet", "icon", "apple-touch-icon", "mask-icon", "preload"}
_IN_CSS = re.compile(
    r"""/\*.*?\*/|url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]+))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')""",
    re.DOTALL,
)
_CSS_ESCAPE = re.compile(r"\\([^0-9a-fA-F\n])")
_PAGES = (".html", ".htm", ".xhtml")


class _Reader(HTMLParser):
    """Collects (kind, reference) pairs of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[tuple[str, str]] = []
        self.ids: set[str] = set()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        self._in_style = tag == "style"
        if tag == "base" and not self.base:
            self.base = values.get("href", "")
        if tag in _LINKS and "href" in values:
            self.found.append((LINK, values["href"]))
        relations = set(values.get("rel", "").lower().split())
        if tag == "link" and relations & _SHOWN_RELATIONS:
            self.found.append((REQUISITE, values.get("href", "")))
        for name in _NEEDS.get(tag, ()):
            self.found.append((REQUISITE, values.get(name, "")))
        if tag in ("img", "source"):
            self.found += [(REQUISITE, url) for url in _candidates(values.get("srcset", ""))]
        self.found += [(REQUISITE, url) for url in css_references(values.get("style", ""))]

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += [(REQUISITE, url) for url in css_references(data)]


def _candidates(srcset: str) -> list[str]:
    return [part.split()[0] for part in srcset.split(", ") if part.split()]


def css_references(text: str) -> Iterator[str]:
    for match in _IN_CSS.finditer(text):
        url = next((group for group in match.groups() if group), "")
        if url:
            yield _CSS_ESCAPE.sub(r"\1", url)


@dataclass
class Walk:
    """The result of a walk from a start page."""

    pages: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: References to parts that their page does not have.
    fragments: int = 0
    #: (page, reference) of broken references.
    broken: list[tuple[str, str]] = field(default_factory=list)
    #: URLs that are still absolute.
    absolute: set[str] = field(default_factory=set)
    #: Files that were reached.
    reached: set[Path] = field(default_factory=set)

    def row(self) -> dict[str, int]:
        counts = {
            f"{state} {kind}": self.counts[kind, state]
            for kind in (LINK, REQUISITE)
            for state in (WORKING, BROKEN, ABSOLUTE)
        }
        files = len(self.reached)
        return {"pages": self.pages, "files": files, **counts, "fragments": self.fragments}


def walk(start: Path) -> Walk:
    """Walk from the file `start`."""
    start = start.resolve()
    found = Walk(reached={start})
    queue, wanted = deque([start]), []
    ids: dict[Path, set[str]] = {}
    while queue:
        file = queue.popleft()
        references = _read(file, found, ids)
        for kind, reference in references:
            if kind == REQUISITE and not reference[1].strip():
                continue
            target, fragment = _target(*reference)
            if target is None:
                continue
            state = _state(target)
            found.counts[kind, state] += 1
            if state == ABSOLUTE:
                found.absolute.add(target)
            if state == BROKEN:
                found.broken.append((str(file), reference[1]))
            if state != WORKING:
                continue
            path = Path(unquote(urlsplit(target).path))
            if fragment and kind == LINK:
                wanted.append((path, fragment))
            if path not in found.reached:
                found.reached.add(path)
                queue.append(path)
    found.fragments = sum(path in ids and part not in ids[path] for path, part in wanted)
    return found


def _read(file: Path, found: Walk, ids: dict[Path, set[str]]) -> list[tuple[str, tuple[str, str]]]:
    """Return (kind, (base, reference)) of the references in a file."""
    if file.suffix == ".css":
        text = file.read_text(errors="replace")
        return [(REQUISITE, (file.as_uri(), url)) for url in css_references(text)]
    if file.suffix not in _PAGES:
        return []
    reader = _Reader()
    reader.feed(file.read_text(errors="replace"))
    reader.close()
    found.pages += 1
    ids[file] = reader.ids
    base = urljoin(file.as_uri(), reader.base)
    return [(kind, (base, reference)) for kind, reference in reader.found]


def _target(base: str, reference: str) -> tuple[str | None, str]:
    """Return the target of a reference and its fragment; (None, "") if it is no file or page."""
    reference = reference.strip()
    try:
        whole = urljoin(base, reference)
        scheme = urlsplit(whole).scheme
    except ValueError:
        return None, ""
    if scheme not in ("file", "http", "https"):
        return None, ""
    target, _, fragment = whole.partition("#")
    return target, unquote(fragment)


@lru_cache(1 << 18)
def _state(target: str) -> str:
    """Whether `target` works. A folder does not: a browser would only list its names."""
    if not target.startswith("file:"):
        return ABSOLUTE
    return WORKING if Path(unquote(urlsplit(target).path)).is_file() else BROKEN


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check-mirror", description=__doc__)
    parser.add_argument("start", type=Path, help="page of the mirror to start from")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--broken", action="store_true", help="list broken references")
    options = parser.parse_args()
    if not options.start.is_file():
        parser.error(f"{options.start} is no file")
    found = walk(options.start)
    if options.json:
        print(json.dumps(found.row()))
    else:
        for name, count in found.row().items():
            print(f"{name:<20}{count:>9}")
    if options.broken:
        for page, reference in found.broken:
            print(f"{page}: {reference}")
    return int(found.counts[LINK, BROKEN] + found.counts[REQUISITE, BROKEN] > 0)


if __name__ == "__main__":
    sys.exit(main())
