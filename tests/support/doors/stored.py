"""Reads the outputs of a crawl, as (URL, text) pairs, and compares them with a site."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests.support.doors.door import OPEN, SHUT, Door
from tests.support.warcs import captures, warcs

Pages = list[tuple[str, str]]


def faults(output: str, pages: Pages, door: Door, also: Collection[str]) -> list[str]:
    """All that is wrong with the pages of an output: each is there once, complete, and no other.

    `also` are further paths that may be there. A text that is empty is not known.
    """
    times = Counter(url for url, _ in pages)
    missing = [path for path in door.paths if times.pop(door.url(path), 0) != 1]
    found = [f"{output}: {path} is not there once" for path in missing]
    found += [f"{output}: {url}" for url in times if url not in map(door.url, also)]
    for url, text in pages:
        path = "/" + url.partition("//")[2].partition("/")[2]
        if text and (SHUT in text or OPEN not in text):
            found.append(f"{output}: {url} is logged out")
        elif text and door.text(path.partition("?")[0]) not in " ".join(text.split()):
            found.append(f"{output}: {url} is incomplete")
    return found


def mirrored(out: Path, door: Door) -> Pages:
    top = out / door.server.host
    files = [path for path in top.rglob("*") if path.is_file()]
    names = {str(path.relative_to(top)).removesuffix("index.html"): path for path in files}
    return [(door.url(f"/{name}"), path.read_text()) for name, path in names.items()]


def saved(out: Path) -> Pages:
    found = []
    for index in out.glob("d*/index"):
        for line in index.read_text().splitlines():
            number, url = line.split()
            found.append((url, (index.parent / f"f{int(number):05}").read_text()))
    return found


def archived(out: Path, door: Door) -> Pages:
    """The replies that are pages; those of robots.txt and errors are left out."""
    return [
        (url, body.decode())
        for url, bodies in captures(*warcs(out)).items()
        for body in bodies
        if OPEN.encode() in body or SHUT.encode() in body
    ]
