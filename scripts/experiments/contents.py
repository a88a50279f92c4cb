"""Scores what is read of pages against the truth of a suite, and measures the CPU time it takes.

A suite is a folder with `truth.json` and a file `ID.html.gz` for each of its cases (WCXB, or the
tests of Mozilla's Readability).
"""

import gzip
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any, NamedTuple

import click

from larbinpy.database.content import Content, read
from larbinpy.database.content.main_text import split
from larbinpy.database.preparation import prepare
from larbinpy.page import Outcome, Page
from larbinpy.parse.charset import document
from larbinpy.url import Url, canonical

#: Unix time of the fetches: after the dates of all pages.
AT = 1_790_000_000.0
FETCHED = "2026-09-21T14:13:20Z"
_WORD = re.compile(r"\w+")


class Case(NamedTuple):
    """A page and what people say of it."""

    id: str
    kind: str
    page: Page
    #: main_content, title, author, publish_date.
    truth: dict[str, Any]


class Score(NamedTuple):
    """How a page was read; None where the truth has nothing."""

    f1: float
    title: bool | None
    date: bool | None
    author: bool | None


def page(body: bytes, url: str, charset: str = "") -> Page:
    """An HTML page; its server says `charset`, or nothing of its encoding."""
    headers = [("content-type", f"text/html; charset={charset}" if charset else "text/html")]
    return Page(Url(canonical(url), 0), Outcome.SUCCESS, 200, headers, body)


def cases(folder: Path) -> Iterator[Case]:
    """The cases of a suite: a list, or articles of a reader mode by their names."""
    found = json.loads((folder / "truth.json").read_bytes())
    for truth in found["cases"] if "cases" in found else map(_article, found.items()):
        body = gzip.decompress((folder / f"{truth['id']}.html.gz").read_bytes())
        yield Case(
            truth["id"],
            truth["page_type"],
            page(body, truth["url"], truth.get("charset", "")),
            truth,
        )


def _article(named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    name, truth = named
    return {
        "id": name,
        "url": f"http://articles.test/dir/{name}.html",
        "page_type": "article",
        "charset": "utf-8",
        "main_content": truth["text"],
        "title": truth.get("title"),
        "publish_date": (truth.get("published") or "")[:10] or None,
        "author": truth.get("byline"),
    }


def words(text: str | None) -> list[str]:
    """The words of a text, without case and punctuation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text or "").casefold())


def f1(found: str, expected: str) -> float:
    """The F1 of the words of a text, counted with their repetitions, as WCXB scores it."""
    ours, theirs = (Counter(_WORD.findall(text.lower())) for text in (found, expected))
    common, total = (ours & theirs).total(), ours.total() + theirs.total()
    return 2 * common / total if total else 1.0


def score(case: Case, found: Content) -> Score:
    """Compare what was found with the truth; a title is right if it has the same words."""
    truth = case.truth
    title, date, author = truth["title"], truth["publish_date"], truth["author"]
    return Score(
        f1(found.text, truth["main_content"] or ""),
        words(found.title) == words(title) if title else None,
        (found.published or "")[:10] == date if date else None,
        words(found.author) == words(author) if author else None,
    )


def share(scores: Iterable[bool | None]) -> float:
    """The share of those that are right; the others have no truth."""
    return mean(each for each in scores if each is not None)


def milliseconds(work: Callable[[Page], object], pages: list[Page]) -> float:
    """CPU time of a page, the best of three rounds."""
    rounds = []
    for _ in range(3):
        start = process_time()
        for each in pages:
            work(each)
        rounds.append((process_time() - start) / len(pages) * 1000)
    return min(rounds)


def splitting(pages: list[Page]) -> float:
    """CPU time of the main text and the rest of a parsed page, the best of three rounds."""
    rounds = []
    for _ in range(3):
        spent = 0.0
        for each in pages:
            tree = document(each.body, each.http_charset)
            start = process_time()
            split(tree)
            spent += process_time() - start
        rounds.append(spent / len(pages) * 1000)
    return min(rounds)


def times(pages: list[Page]) -> str:
    """A line with the CPU time that a page takes."""
    size = mean(len(each.body) for each in pages) / 1000
    parsing = milliseconds(lambda each: document(each.body, each.http_charset), pages)
    texts = splitting(pages)
    reading = milliseconds(lambda each: read(each, AT), pages)
    both = milliseconds(lambda each: prepare(each, FETCHED, read(each, AT)), pages)
    return (
        f"{len(pages)} pages of {size:.0f} kB: parse {parsing:.2f} ms, texts {texts:.2f} ms, "
        f"read {reading:.2f} ms, read and prepare {both:.2f} ms"
    )


@click.command()
@click.argument("suite", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--pages",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="/usr/share/doc/python3-doc/html",
    show_default=True,
    help="Folder of HTML files whose reading is timed, too.",
)
@click.option("--wrong", is_flag=True, help="List the titles and dates that are wrong.")
def main(suite: Path, pages: Path, wrong: bool) -> None:
    """Score texts, titles, dates and authors of the pages in SUITE, and time their reading."""
    found = [(case, read(case.page, AT)) for case in cases(suite)]
    rows = [(case.kind, score(case, content)) for case, content in found]
    click.echo("| pages | | F1 | title | date | author |\n|---|---|---|---|---|---|")
    for kind in (*sorted({kind for kind, _ in rows}), "all"):
        some = [each for name, each in rows if kind in (name, "all")]
        values = [mean(each.f1 for each in some)]
        for name in ("title", "date", "author"):
            known = [value for each in some if (value := getattr(each, name)) is not None]
            values.append(share(known) if known else float("nan"))
        click.echo(f"| {kind} | {len(some)} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    if wrong:
        for (case, content), (_, each) in zip(found, rows, strict=True):
            if each.title is False:
                click.echo(f"{case.id} title {case.truth['title']!r}, found {content.title!r}")
            if each.date is False:
                date = content.published
                click.echo(f"{case.id} date {case.truth['publish_date']}, found {date}")
    click.echo(times([case.page for case, _ in found]))
    files = sorted(pages.rglob("*.html"))
    sample = [page(path.read_bytes(), f"http://docs.test/{path}") for path in files]
    sample = [each for each in sample if 19_000 <= len(each.body) <= 33_000]
    if sample:
        click.echo(f"{pages}, 19 to 33 kB: {times(sample)}")


if __name__ == "__main__":
    sys.exit(main(prog_name="scripts/experiments/content"))
