"""Makes content databases of many pages, with words as frequent as in real text.

The words come from the pages of the suite main-text and the paragraphs of chinese-search, as
often as they stand there, and a long tail is made of pairs of them. Rows are written by SQL
without `Writer`: preparing and writing a million pages would take an hour.
"""

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from larbinpy.database.base import FIELDS
from larbinpy.database.preparation import Packed, target_of, whole_token
from larbinpy.database.search import segment
from larbinpy.database.sqlite.file import connect

#: Kinds of rare words, made of two others.
_TAIL = 200_000
#: Pages in one transaction.
BATCH = 2_000
_LANGUAGES = {"en": 70, "zh": 15, "de": 10, "fr": 5}
_TYPES = {"text/html": 95, "application/xhtml+xml": 2, "text/plain": 2, "application/pdf": 1}
_START = 1_790_000_000


class Texts:
    """Draws texts: words with their tokens."""

    def __init__(self, suites: Path, seed: int = 17) -> None:
        self._random = random.Random(seed)
        counts: Counter[str] = Counter()
        for path in sorted((suites / "main-text").glob("*.html.gz")):
            html = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            html = re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>|&\w+;", " ", html)
            counts.update(re.findall(r"[a-z]{1,20}", html.lower()))
        words = [word for word, _ in counts.most_common()]
        weights = [float(count) for _, count in counts.most_common()]
        pairs = zip(*(self._random.choices(words, k=_TAIL) for _ in range(2)), strict=True)
        self.words = [*words, *("".join(pair) for pair in pairs)]
        # The tail goes on as Zipf's law has it.
        scale = weights[-1] * len(words)
        weights += [scale / rank for rank in range(len(words), len(words) + _TAIL)]
        self._weights = list(accumulate(weights))
        self._tokens = {word: segment.tokens(word, "en") for word in self.words}
        paragraphs = json.loads((suites / "chinese-search/cmrc.json").read_bytes())["paragraphs"]
        self.clauses = [
            clause
            for paragraph in paragraphs
            for clause in re.findall(r"\w+", paragraph)
            if len(clause) > 1
        ]

    def draw(self, count: int) -> tuple[str, str]:
        """Some `count` words of English, and their tokens."""
        words = self._random.choices(self.words, cum_weights=self._weights, k=count)
        return " ".join(words), " ".join(map(self._tokens.__getitem__, words))

    def draw_chinese(self, count: int) -> tuple[str, str]:
        """Text of about `count` words of Chinese, in clauses that are cut anywhere."""
        parts = []
        for clause in self._random.choices(self.clauses, k=max(1, count // 4)):
            at = self._random.randrange(len(clause))
            parts.append(clause[at : at + self._random.randint(2, 8)])
        text = "\N{FULLWIDTH COMMA}".join(parts)
        return text, segment.tokens(text, "zh")


def make(path: Path, count: int, texts: Texts, progress: Callable[[int], object]) -> None:
    """Make the database `path` of `count` pages."""
    base = connect(path, write=True)
    base.execute("PRAGMA synchronous=OFF")
    base.execute("PRAGMA cache_size=-200000")
    hosts = max(10, count // 200)
    base.execute("BEGIN")
    base.executemany(
        "INSERT INTO host (id, name) VALUES (?, ?)", ((host, _host(host)) for host in range(hosts))
    )
    base.execute("COMMIT")
    for first in range(1, count + 1, BATCH):
        numbers = range(first, min(first + BATCH, count + 1))
        base.execute("BEGIN")
        add(base, rows(numbers, hosts, texts, random.Random(first)))
        base.execute("COMMIT")
        progress(len(numbers))
    base.close()


def _host(number: int) -> str:
    return f"www.site{number}.{('test', 'example', 'invalid')[number % 3]}"


def add(base: Any, pages: Iterator[tuple[dict[str, Any], Packed, dict[str, str]]]) -> None:
    """Write pages by SQL, within a transaction."""
    for row, text, tokens in pages:
        marks = ", ".join("?" * len(row))
        base.execute(f"INSERT INTO page ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        base.execute(
            "INSERT INTO content (page, text, text_size) VALUES (?, ?, ?)", (row["id"], *text)
        )
        base.execute(
            f"INSERT INTO ft (rowid, {', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row["id"], *(tokens[field] for field in FIELDS)),
        )


def rows(
    numbers: range, hosts: int, texts: Texts, rng: random.Random
) -> Iterator[tuple[dict[str, Any], Packed, dict[str, str]]]:
    """The columns, main text and tokens of the pages with these numbers."""
    for number in numbers:
        (lang,) = rng.choices(list(_LANGUAGES), list(_LANGUAGES.values()))
        draw = texts.draw_chinese if lang == "zh" else texts.draw
        title, title_tokens = draw(rng.randint(2, 8))
        headings = [draw(rng.randint(1, 6))[1] for _ in range(rng.randint(0, 4))]
        anchors = [draw(rng.randint(1, 4))[1] for _ in range(int(rng.paretovariate(1.2)) % 20)]
        text, body = draw(int(rng.lognormvariate(5.3, 0.7)))
        host = min(int(rng.paretovariate(0.6)), hosts * 50) % hosts
        url = f"http://{_host(host)}/{number}/{texts.draw(1)[0]}-{texts.draw(1)[0]}"
        when = _time(_START + number)
        row = dict.fromkeys(("fetched", "first_seen", "changed"), when) | {
            "id": number,
            "key": target_of(url),
            "url": url,
            "host": host,
            "status": 200,
            "type": rng.choices(list(_TYPES), list(_TYPES.values()))[0],
            "lang": lang,
            "title": title,
            "summary": text[:160],
            "visits": 1,
            "changes": 0,
            "indexed": 1,
            "depth": 5,
        }
        if rng.random() < 0.6:
            row["published"] = _time(_START - rng.randrange(10**8))
        tokens = {
            "title": f"{title_tokens} {whole_token(title_tokens)}",
            "heading": " ".join(headings),
            "body": body,
            "anchor": " ".join([*anchors, *map(whole_token, anchors)]),
            "url": segment.tokens(url, None),
            "rest": texts.draw(rng.randint(10, 80))[1],
        }
        yield row, Packed.of(text), tokens


def _time(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    year, day = divmod(days, 336)
    month, day = divmod(day, 28)
    return f"{1970 + year}-{month + 1:02}-{day + 1:02}T{hour:02}:{minute:02}:{second:02}Z"
