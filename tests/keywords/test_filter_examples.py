"""Filters from the manuals of wget and HTTrack, each as a whole crawl of a page with links."""

import re
from pathlib import Path

import pytest

from tests.keywords.filter_examples import HTTRACK, WGET, Example
from tests.support.smallweb import Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

FILTERING = Path(__file__).parents[2] / "docs" / "filtering.md"

#: By the end of the place; other places are HTML.
TYPES = {
    "gif": "image/gif",
    "png": "image/png",
    "jpg": "image/jpeg",
    "bin": "application/octet-stream",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
}
#: "20k.gif" has 20 kB.
SIZE = re.compile(r"/(\d+)k")


def serve(web: Web, place: str) -> None:
    """Put a file at `place` whose name says its type and its size."""
    size = SIZE.search(place)
    kind = TYPES.get(re.split(r"[.?]", place)[-1], "text/html")
    if place.endswith("fake.zip"):
        kind = "text/html"
    body = f"<title>{place}</title>".encode()
    web.file(place, body.ljust(int(size[1]) << 10 if size else 0), kind)


def test_there_are_enough() -> None:
    assert len({example.filter for example in WGET + HTTRACK}) >= 30


@pytest.mark.parametrize("example", WGET + HTTRACK, ids=lambda example: example.filter)
def test_the_same_urls_are_fetched(web: Web, crawl: Worlds, example: Example) -> None:
    taken, left = example.taken.split(), example.left.split()
    for place in (*taken, *left):
        serve(web, place)
    web.page(example.seed, *[f"//{place}" for place in (*taken, *left)])
    # The web is not on port 80.
    lines = [re.sub(r"(://[a-z.*]+)/", rf"\1:{web.port}/", line) for line in example.lines]
    world = crawl("getCGI", "anyType", *lines, seeds=[example.seed])
    assert world.fetched == {example.seed, *taken}
    if any("size:" in line or "type:" in line for line in lines):
        for fate in world.fates.values():
            assert fate["outcome"] == "success" or fate["size"] == 0


@pytest.mark.parametrize("example", WGET + HTTRACK, ids=lambda example: example.filter)
def test_the_documentation_has_it(example: Example) -> None:
    def cell(text: str) -> str:
        return "`" + text.replace("|", r"\|") + "`"

    row = f"| {cell(example.filter)} | {'<br>'.join(map(cell, example.lines))} |"
    assert row in FILTERING.read_text().splitlines()
