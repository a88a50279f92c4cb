"""Times of a mixed set of queries with snippets, beside a process that writes or none."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from experiments.searchpages import BATCH, Texts, add, rows
from larbinpy.database.base import DatabaseError, Wish
from larbinpy.database.finder import DatabaseFinder
from larbinpy.database.search.query import parse
from larbinpy.database.sqlite.file import BLOCK, connect
from larbinpy.loop.clock import clock, sleep, wall

#: Pages that the writer beside writes in each transaction, and seconds from one to the next.
_WRITTEN, _EACH = 150, 0.5


class Asked(NamedTuple):
    kind: str
    text: str
    wish: Wish


def queries(texts: Texts, count: int, seed: int = 4) -> Iterator[Asked]:
    """`count` queries of each kind."""
    rng = random.Random(seed)
    common = texts.words[40:400]
    usual = texts.words[400:8000]
    rare = texts.words[8000:]
    pick = rng.choice

    def han(length: int) -> str:
        clause = "".join(rng.sample(texts.clauses, 4))
        at = rng.randrange(len(clause) - length)
        return clause[at : at + length]

    for _ in range(count):
        few, many = pick(usual), pick(common)
        yield Asked("rare word", pick(rare), Wish())
        yield Asked("usual word", few, Wish())
        yield Asked("common word", many, Wish())
        yield Asked("2 words", f"{many} {few}", Wish())
        yield Asked("2 common words", f"{many} {pick(common)}", Wish())
        yield Asked("3 words", f"{many} {pick(common)} {few}", Wish())
        yield Asked("5 words", " ".join([many, few, *rng.choices(usual, k=3)]), Wish())
        yield Asked("phrase", f'"{many} {pick(common)}"', Wish())
        yield Asked("phrase with stop words", f'"{many} of the {few}"', Wish())
        yield Asked("prefix of 4", f"{few[:4]}*", Wish())
        yield Asked("prefix of 2", f"{few[:2]}*", Wish())
        yield Asked("prefix of 1", f"{few[:1]}*", Wish())
        yield Asked("common -usual", f"{many} -{few}", Wish())
        yield Asked("word in a site", f"{many} site:www.site{rng.randrange(40)}.test", Wish())
        yield Asked("word in a large domain", f"{many} site:test", Wish())
        yield Asked("word in a language", f"{many} lang:de", Wish())
        yield Asked("word of a type", f"{many} type:pdf", Wish())
        yield Asked("word since", f"{many} since:2026-09-27", Wish())
        yield Asked("intitle, inurl", f"intitle:{many} inurl:{few}", Wish())
        yield Asked("Chinese, 1 character", han(1), Wish())
        yield Asked("Chinese, 2 characters", han(2), Wish())
        yield Asked("Chinese, 4 characters", han(4), Wish())
        yield Asked("Chinese question", han(14), Wish())
        yield Asked(
            "stop words", pick(["the", "of the", "to be or not to be", "you and me"]), Wish()
        )
        yield Asked("site alone", f"site:www.site{rng.randrange(40)}.test", Wish())
        yield Asked("language alone", f"lang:{pick(['de', 'zh', 'fr'])}", Wish())
        yield Asked("type alone", f"type:{pick(['pdf', 'plain'])}", Wish())
        yield Asked("deep page", many, Wish(page=rng.randrange(5, 60)))
        yield Asked("common by date", many, Wish(sort="date"))
        yield Asked("common with facets", many, Wish(facets=True))
        yield Asked("usual with facets", few, Wish(facets=True))


class Answered(NamedTuple):
    asked: Asked
    #: Seconds, and those of CPU, which other programs on the machine do not change.
    seconds: float
    cpu: float
    cut: bool


def ask(path: Path, texts: Texts, count: int) -> list[Answered]:
    """Ask the queries in a mixed order."""
    finder = DatabaseFinder(str(path))
    mixed = list(queries(texts, count))
    random.Random(1).shuffle(mixed)
    times = []
    finder.languages()
    for asked in mixed:
        start, used = clock(), time.process_time()
        query = parse(asked.text, finder.languages(), wall())
        found = finder.search(query, asked.wish)
        times.append(Answered(asked, clock() - start, time.process_time() - used, found.cut))
    finder.close()
    return times


def table(times: list[Answered]) -> str:
    """Milliseconds by kind."""
    kinds = list(dict.fromkeys(answered.asked.kind for answered in times))
    lines = ["| | p50 | p95 | max ms | CPU p50 | p95 | max ms | cut |", f"|-{'|-:' * 7}|"]
    for kind in ["all", *sorted(kinds)]:
        mine = [each for each in times if kind in ("all", each.asked.kind)]
        cut = sum(each.cut for each in mine)
        row = [*_shares([each.seconds for each in mine]), *_shares([each.cpu for each in mine])]
        lines.append(f"| {kind} | {' | '.join(row)} | {cut} of {len(mine)} |")
    return "\n".join(lines)


def _shares(seconds: list[float]) -> list[str]:
    """The median, the 95th percentile and the longest, in ms."""
    spent = sorted(each * 1000 for each in seconds)
    p50, p95 = (spent[int(len(spent) * share)] for share in (0.5, 0.95))
    return [f"{p50:.1f}", f"{p95:.1f}", f"{spent[-1]:.0f}"]


@contextmanager
def writing(path: Path, suites: Path) -> Iterator[None]:
    """A process beside that writes pages into the database."""
    command = [sys.executable, "-m", "experiments.searchtimes", str(path), str(suites)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def write(path: Path, suites: Path) -> None:
    """Write pages for ever, at the pace of a crawl."""
    texts = Texts(suites, seed=5)
    base = connect(path, write=True)
    base.execute(f"PRAGMA wal_autocheckpoint={(8 << 20) // BLOCK}")
    (number,) = base.execute("SELECT max(id) FROM page").fetchone()
    print("ready", flush=True)
    due = clock()
    while True:
        numbers = range(number + 1, number + 1 + _WRITTEN)
        base.execute("BEGIN IMMEDIATE")
        add(base, rows(numbers, BATCH, texts, random.Random(number)))
        base.execute("COMMIT")
        number += _WRITTEN
        due = max(due + _EACH, clock())
        sleep(max(0.0, due - clock()))


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
    except DatabaseError as error:
        sys.exit(str(error))
