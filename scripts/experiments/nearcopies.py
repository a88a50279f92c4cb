"""Measures near copies: how many of them are found, which pages are taken for some, and the time.

Copies are made of the pages of a suite, see `contents`, by other words in place of some of theirs.
Pages that are near copies of each other as they are, are looked for in folders of HTML files, by
writing all of them into a database.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

import click

from experiments.contents import AT, FETCHED, cases, page
from larbinpy.database.content import Content, read
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.preparation import prepare
from larbinpy.database.search.fingerprint import is_copy, keys
from larbinpy.database.writer import Writer
from larbinpy.page import Page

#: Shares of the words that are changed.
_SHARES = (0.01, 0.05)
#: Copies of each page, for each share.
_COPIES = 5
#: Pages of one transaction, as of the indexer.
_BATCH = 500
#: Words of a pair that are shown.
_SHOWN = 12

#: Makes a word in the place of another.
Word = Callable[[], str]


class Text(NamedTuple):
    """A text of which copies are made."""

    url: str
    title: str
    text: str


class Found(NamedTuple):
    """Shares of the copies that have a key in common, that are taken for copies, and both."""

    by_key: float
    by_words: float
    both: float


def changed(text: str, share: float, word: Word, random: Random) -> str:
    """`text` with other words in place of some; each is changed with the probability `share`."""
    return " ".join(word() if random.random() < share else each for each in text.split(" "))


def found(texts: Iterable[Text], share: float, word: Word, random: Random) -> Found:
    """Score the copies of `texts`; one that is equal counts as found, as its hash is equal."""
    scores = []
    for url, title, text in texts:
        own = keys(title, text)
        for _ in range(_COPIES):
            copy = changed(text, share, word, random)
            has_key = any(map(int.__eq__, own, keys(title, copy)))
            says_same = is_copy(text, url, copy, url)
            equal = copy == text
            scores.append((has_key or equal, says_same or equal, equal or (has_key and says_same)))
    return Found(*(mean(column) for column in zip(*scores, strict=True)))


def recall(pages: Sequence[tuple[Content, str]], urls: Sequence[str]) -> Iterator[str]:
    """Lines of a table; `pages` are the contents as they are read, and the main texts of people."""
    random = Random(20)
    words = [word for content, _ in pages for word in content.text.split()]
    kinds: dict[str, Word] = {
        "words of the pages": lambda: random.choice(words),
        "letters": lambda: "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=7)),
        "always the same": lambda: "changed",
    }
    for name, is_read in (("as it is read", True), ("as people mark it", False)):
        texts = [
            Text(url, content.title, content.text if is_read else truth)
            for url, (content, truth) in zip(urls, pages, strict=True)
        ]
        texts = [each for each in texts if each.text]
        for kind, word in kinds.items():
            for share in _SHARES:
                score = found(texts, share, word, random)
                row = " | ".join(f"{value:.3f}" for value in score)
                yield f"| {name} | {kind} | {share:.0%} | {row} |"


class Filled:
    """Two databases with the same pages, one of which looks for near copies."""

    def __init__(self, folder: Path) -> None:
        self._where = [str(folder / name) for name in ("off.db", "mark.db")]
        self._spent = [0.0, 0.0]
        self._keys = 0.0
        self.number = 0

    def fill(self, pages: Iterator[Page]) -> None:
        """Write `pages` into both, and measure the CPU time."""
        writers = [Writer(where) for where in self._where]
        while batch := list(islice(pages, _BATCH)):
            contents = [(each, read(each, AT)) for each in batch]
            plain = [prepare(each, FETCHED, content) for each, content in contents]
            start = process_time()
            for _, content in contents:
                keys(content.title, content.text)
            self._keys += process_time() - start
            marked = [
                replace(made, near_keys=prepare(each, FETCHED, content, find_near=True).near_keys)
                for made, (each, content) in zip(plain, contents, strict=True)
            ]
            for number, rows in enumerate((plain, marked)):
                start = process_time()
                writers[number].write(rows)
                self._spent[number] += process_time() - start
            self.number += len(batch)
        for writer in writers:
            writer.close()

    def times(self) -> str:
        """The CPU time of a page, in microseconds."""
        off, mark = (spent / self.number * 1e6 for spent in self._spent)
        own = self._keys / self.number * 1e6
        return (
            f"{self.number} pages: keys {own:.0f} us a page; writing {off:.0f} us without near"
            f" copies, {mark:.0f} us with them: {own + mark - off:.0f} us in all"
        )

    def pairs(self) -> Iterator[str]:
        """The near copies, with words that one of them has more often."""
        with closing(DatabaseFinder(self._where[1])) as finder:
            for stored in finder.pages():
                if (near := stored.columns["near"]) is not None:
                    other = finder.show(near)
                    assert other is not None
                    one, two = Counter(stored.text.split()), Counter(other.text.split())
                    words = f"{_some(two - one)} -> {_some(one - two)}"
                    yield f"{near} {stored.columns['url']} ({one.total()} words): {words}"


def _some(words: Counter[str]) -> str:
    shown = " ".join(islice(words.elements(), _SHOWN))
    return f"[{shown}{' ...' if words.total() > _SHOWN else ''}]"


def files(folders: Iterable[Path]) -> Iterator[Page]:
    """The HTML files in folders, as pages of a site."""
    for folder in folders:
        for path in sorted(folder.rglob("*.html")):
            if not path.is_symlink() and path.is_file():
                yield page(path.read_bytes(), f"http://docs.test{path}")


@click.command()
@click.argument("suite", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--pages",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Folder of HTML files that are no copies; repeatable.",
)
def main(suite: Path, folders: tuple[Path, ...]) -> None:
    """Score near copies of the pages in SUITE, and list those among these pages and in folders."""
    known = list(cases(suite))
    contents = [(read(case.page, AT), case.truth["main_content"] or "") for case in known]
    click.echo("| main text | changed words become | share | by key | by words | both |")
    click.echo("|---|---|---|---|---|---|")
    for line in recall(contents, [case.page.url.href for case in known]):
        click.echo(line)
    with TemporaryDirectory(prefix="larbinpy-near-") as folder:
        filled = Filled(Path(folder))
        filled.fill(
            each for pages in ((case.page for case in known), files(folders)) for each in pages
        )
        click.echo(filled.times())
        click.echo("near copies among them, and words that only one of a pair has:")
        for line in filled.pairs():
            click.echo(line)


if __name__ == "__main__":
    sys.exit(main(prog_name="scripts/experiments/near-copies"))
