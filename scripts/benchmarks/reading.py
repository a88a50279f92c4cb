"""The cost of reading a page: all pages of a corpus as they are, with `read` and by the tree alone.

    python -m benchmarks.reading PAGES ROUNDS      (a JSON list of files; prints the result)

`read` uses the compiled module where it can. A page is read both ways in turn, so that both get
the same share of a machine that swings. The first way finds the page's bytes in no cache of the
processor, so every other round begins with the other way.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.building import LINK
from larbinpy.native import native
from larbinpy.page import Outcome, Page
from larbinpy.parse import read
from larbinpy.parse.body import read_scan
from larbinpy.parse.html import read_tree
from larbinpy.parse.link import Collector, Parsed
from larbinpy.url import Url

_AGENT = "bench"
#: The pages declare their encodings themselves.
_HEADERS = [("content-type", "text/html")]


def page_of(file: Path) -> Page:
    url = Url(f"http://bench.test{file.as_uri().removeprefix('file://')}", 1)
    return Page(url, Outcome.SUCCESS, 200, _HEADERS, file.read_bytes())


def by_read(page: Page) -> Parsed:
    return read(page, _AGENT)


def by_tree(page: Page) -> Parsed:
    """As `read` without the compiled module."""
    out = Collector(page.url.href, _AGENT)
    return out.parsed(read_tree(page.body, None, out))


def left_to_tree(page: Page) -> bool:
    """Whether `read` takes the tree, too."""
    out = Collector(page.url.href, _AGENT)
    return native is None or read_scan(page.body, None, out) is None


def timed(way: Callable[[Page], Parsed], page: Page) -> float:
    """Microseconds of CPU time."""
    began = time.process_time_ns()
    way(page)
    return (time.process_time_ns() - began) / 1000


def both(page: Page, tree_first: bool) -> tuple[float, float]:
    """Microseconds with `read` and by the tree."""
    if tree_first:
        tree = timed(by_tree, page)
        return timed(by_read, page), tree
    return timed(by_read, page), timed(by_tree, page)


def measured(files: Sequence[Path], rounds: int) -> dict[str, Any]:
    """Means over the pages, and microseconds a page of each round and of each page's best times."""
    took = [
        [both(page, tree_first=number % 2 == 1) for page in map(page_of, files)]
        for number in range(rounds)
    ]
    best = [tuple(map(min, zip(*each, strict=True))) for each in zip(*took, strict=True)]
    count = len(files)
    means = {"size": 0.0, "links": 0.0, "urls": 0.0, "left": 0.0}
    for page in map(page_of, files):
        means["size"] += len(page.body) / count
        means["links"] += len(LINK.findall(page.body)) / count
        means["urls"] += len(by_tree(page).links) / count
        means["left"] += left_to_tree(page) / count
    sums = [[sum(way) / count for way in zip(*each, strict=True)] for each in [*took, best]]
    return {"pages": count, **means, "rounds": sums[:-1], "best": sums[-1]}


def main(file: Path, rounds: int) -> None:
    print(json.dumps(measured(list(map(Path, json.loads(file.read_text()))), rounds)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
