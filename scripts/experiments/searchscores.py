"""How well pages are found of which it is known which one is right."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from larbinpy.database.base import Stored, Wish
from larbinpy.database.content import read
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.preparation import prepare
from larbinpy.database.search.query import parse
from larbinpy.database.writer import Writer
from larbinpy.loop.clock import wall
from larbinpy.page import Outcome, Page, timestamp
from larbinpy.url import Url

_BATCH = 300
SITE = "http://known.test/"

#: The URLs of the hits for a text, the best first.
Ask = Callable[[str], Sequence[str]]


class Score(NamedTuple):
    queries: int
    first: float
    ten: float
    reciprocal: float

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, first {self.first:.3f}, "
            f"in ten {self.ten:.4f}, 1/rank {self.reciprocal:.4f}"
        )


def html(path: str, body: bytes) -> Page:
    """The page that a server sends for a file."""
    headers = [("content-type", "text/html")]
    return Page(Url(SITE + path, 5), Outcome.SUCCESS, 200, headers, body)


def files(root: Path, folders: Sequence[str]) -> Iterator[Page]:
    """The HTML files in these folders of `root`."""
    for folder in folders or ("",):
        for path in sorted((root / folder).rglob("*.html")):
            yield html(path.relative_to(root).as_posix(), path.read_bytes())


def fill(file: Path, pages: Iterable[Page]) -> None:
    """Write a database of `pages`."""
    writer = Writer(str(file))
    now = wall()
    batch = []
    for page in pages:
        batch.append(prepare(page, timestamp(now), read(page, now)))
        if len(batch) == _BATCH:
            writer.write(batch)
            batch = []
    writer.write(batch)
    while writer.tend():
        pass
    writer.close()


@contextmanager
def asking(file: Path) -> Iterator[Ask]:
    """Asks a finder of the database."""
    finder = DatabaseFinder(str(file))
    languages = finder.languages()

    def ask(text: str) -> list[str]:
        hits = finder.search(parse(text, languages, wall()), Wish()).hits
        return [hit.url for hit in hits]

    try:
        yield ask
    finally:
        finder.close()


def score(ask: Ask, cases: Sequence[tuple[str, set[str]]]) -> Score:
    """Ask the queries of `cases`; any of their URLs is right."""
    ranks = []
    for text, right in cases:
        ranks.append(next((at for at, url in enumerate(ask(text), 1) if url in right), 0))
    count = len(ranks) or 1
    return Score(
        len(ranks),
        ranks.count(1) / count,
        sum(rank > 0 for rank in ranks) / count,
        sum(1 / rank for rank in ranks if rank) / count,
    )


def known(file: Path, start: str, count: int, seed: int, ask: Ask) -> Iterator[tuple[str, Score]]:
    """Scores of `count` unique titles and texts of links of the pages whose URLs begin so."""
    finder = DatabaseFinder(str(file))
    pages = list(finder.pages())
    finder.close()
    rng = random.Random(seed)
    mine = [page for page in pages if page.columns["url"].startswith(start)]
    titles = Counter(page.columns["title"] for page in pages)
    unique = [
        (page.columns["title"], {page.columns["url"]})
        for page in mine
        if page.columns["title"] and titles[page.columns["title"]] == 1
        if not page.columns["same_as"]
    ]
    yield "titles", score(ask, rng.sample(unique, min(count, len(unique))))
    links = list(_links(mine, pages))
    yield "texts of links", score(ask, rng.sample(links, min(count, len(links))))


def _links(mine: Sequence[Stored], pages: Sequence[Stored]) -> Iterator[tuple[str, set[str]]]:
    originals = {page.columns["url"]: page.columns["same_as"] for page in pages}
    for page in mine:
        for link in page.more["links"]:
            url, text = (link["url"], link["anchor"]) if isinstance(link, dict) else link[:2]
            if url in originals and url != page.columns["url"] and text.strip():
                yield text, {url, originals[url] or url}


def questions(file: Path, suites: Path) -> Score:
    """The score of the questions of chinese-search; each of its paragraphs is a page."""
    suite = json.loads((suites / "chinese-search/cmrc.json").read_bytes())
    if not file.exists():
        head = "<!DOCTYPE html><html lang=zh><meta charset=utf-8>"
        fill(
            file,
            (
                html(f"{number}.html", f"{head}<p>{paragraph}".encode())
                for number, paragraph in enumerate(suite["paragraphs"])
            ),
        )
    with asking(file) as ask:
        return score(ask, [(text, {f"{SITE}{right}.html"}) for text, right in suite["questions"]])
