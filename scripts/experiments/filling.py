"""Filling the database file with generated pages: its size, the writer's CPU, the longest batch.

    python -m scripts.experiments.filling [--pages 100000] [--text 5000] [--lang zh] [--again N]

Pages are made of paragraphs of documents on this machine (Python's documentation, LibreOffice's
help), with as many links as real pages have: the menu of their site, other pages of it, and some
of other sites. Preparing them is not measured. `--again N` writes N of them a second time, changed.
"""

import argparse
import html
import itertools
import json
import re
import resource
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from larbinpy.content import Content, Outlink
from larbinpy.content.content import Image
from larbinpy.database.base import Position
from larbinpy.database.preparation import prepare
from larbinpy.database.prepared import Prepared
from larbinpy.database.sqlite import writer as writing
from larbinpy.database.sqlite.schema import BLOCK, connect
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.url import Url

_FOLDERS = {
    "en": ("/usr/share/doc/python3-doc/html", "/usr/share/libreoffice/help/en-US"),
    "zh": ("/usr/share/libreoffice/help/zh-CN",),
}
_PARAGRAPH = re.compile(r"<(?:p|td|li|dd)\b[^>]*>(.*?)</(?:p|td|li|dd)>", re.DOTALL)
#: Pages of one site.
_SITE = 200
_HEADERS = [
    ("server", "nginx/1.27.3"), ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "public, max-age=600"), ("x-frame-options", "SAMEORIGIN"),
    ("strict-transport-security", "max-age=31536000; includeSubDomains"),
    ("vary", "Accept-Encoding"), ("content-encoding", "gzip"), ("age", "0"),
]  # fmt: skip


class Pages:
    """Makes pages of about `size` bytes of main text."""

    def __init__(self, size: int, lang: str, links: int | None = None) -> None:
        self._size, self._lang = size, lang
        self._paragraphs = _paragraphs(lang)
        words = {word for text in self._paragraphs for word in re.findall(r"\w{4,}", text)}
        self._words = sorted(words)
        self._links = 10 + size // 110 if links is None else links

    def page(self, number: int, version: int = 0) -> Prepared:
        random = Random(number * 7 + version)
        text = self._text(random, self._size)
        site, place = divmod(number, _SITE)
        url = self._url(number)
        title = self._title(number)
        menu = Random(site)
        links = [
            Outlink(f"https://{self._host(site)}/section-{n}/", self._phrase(menu, 2), "")
            for n in range(min(40, self._links // 2))
        ]
        rest = "\n".join([link.anchor for link in links] + [self._text(menu, 300)])
        for _ in range(self._links - len(links) - 2):
            other = site * _SITE + random.randrange(_SITE)
            links.append(Outlink(self._url(other), self._anchor(other, random), ""))
        for _ in range(2):
            other = random.randrange(1 << 24)
            links.append(Outlink(self._url(other), self._anchor(other, random), "nofollow"))
        related = [link.anchor for link in links[-15:]]
        content = Content(
            title=f"{title} - {self._phrase(menu, 2)}",
            text=text,
            rest="\n".join([rest, *related]),
            lang=self._lang,
            charset="utf-8",
            published="2026-03-01T08:00:00Z" if place % 2 else None,
            site_name=self._host(site),
            summary=text[:150] if place % 2 else "",
            image=f"https://{self._host(site)}/media/{number}.jpg" if place % 2 else None,
            canonical=url,
            headings=[title, *(self._phrase(random, 4) for _ in range(self._size // 1500))],
            images=[
                Image(f"https://{self._host(site)}/media/{number}-{n}.jpg", "")
                for n in range(self._size // 3000 + 1)
            ],
            links=links,
        )
        day = f"{9 + version + number // 60000:02}"
        headers = [
            *_HEADERS,
            ("date", f"Mon, {day} Nov 2026 {number // 3600 % 24:02}:{number // 60 % 60:02}:07 GMT"),
            ("etag", f'W/"{random.getrandbits(64):x}"'),
            ("last-modified", f"Sun, 01 Nov 2026 {number % 24:02}:11:07 GMT"),
        ]
        via = self._url(site * _SITE)
        page = Page(Url(url, 5, via), Outcome.SUCCESS, 200, headers, b"x" * self._size * 6)
        at = f"2026-11-{day}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        return prepare(page, at, content)

    def _host(self, site: int) -> str:
        return f"www.{self._words[site * 31 % len(self._words)].lower()}-{site}.example"

    def _url(self, number: int) -> str:
        site, place = divmod(number, _SITE)
        slug = "-".join(self._title(number).lower().split()[:3])
        name = slug if slug.isascii() else f"article-{number:x}"
        return f"https://{self._host(site)}/section-{place % 40}/{name}-{number}.html"

    def _title(self, number: int) -> str:
        return self._phrase(Random(number), 5)

    def _anchor(self, number: int, random: Random) -> str:
        if random.random() < 0.7:
            return self._title(number)
        return self._phrase(Random(number + random.randrange(3)), 3)

    def _phrase(self, random: Random, words: int) -> str:
        text = self._paragraphs[random.randrange(len(self._paragraphs))]
        if self._lang == "zh":
            return text[: words * 3]
        return " ".join(re.findall(r"\w+", text)[:words])

    def _text(self, random: Random, size: int) -> str:
        """Paragraphs in the order of their documents: words repeat as in real texts."""
        wanted = random.lognormvariate(0, 0.5) * size / 1.13
        lines: list[str] = []
        start = random.randrange(len(self._paragraphs))
        length = 0
        while length < wanted:
            line = self._paragraphs[(start + len(lines)) % len(self._paragraphs)]
            # Names and numbers that no other page has.
            line = re.sub(r"\b\w{9}\b", lambda it: _varied(it[0], random), line)
            lines.append(line)
            length += len(line.encode())
        return "\n".join(lines)


def _varied(word: str, random: Random) -> str:
    return word if random.random() > 0.05 else word[:5] + str(random.randrange(1 << 20))


def _paragraphs(lang: str) -> list[str]:
    found: dict[str, None] = {}
    for folder in _FOLDERS[lang]:
        for path in sorted(Path(folder).rglob("*.html"))[:1500]:
            for part in _PARAGRAPH.findall(path.read_text(errors="replace")):
                text = " ".join(html.unescape(re.sub(r"<[^>]*>", "", part)).split())
                if len(text.encode()) > 60:
                    found[text[:1500]] = None
    return list(found)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _batches(pages: Iterator[Prepared], size: int) -> Iterator[list[Prepared]]:
    while batch := list(itertools.islice(pages, size)):
        yield batch


def _fill(path: Path, pages: Iterator[Prepared], size: int, report: int) -> dict[str, float]:
    writer = writing.Writer(str(path))
    cpu, text, count, times = 0.0, 0, 0, []
    for number, batch in enumerate(_batches(pages, size)):
        begun, used = time.perf_counter(), _used()
        writer.write(batch, "s", Position(number, 0), durable=number % 10 == 9)
        cpu += _used() - used
        times.append(time.perf_counter() - begun)
        text += sum(page.text.size for page in batch)
        count += len(batch)
        if report and number % report == report - 1:
            longest = max(times[-report:]) * 1e3
            print(
                f"  {count} pages: {cpu / count * 1e6:.0f} us a page, {longest:.0f} ms", flush=True
            )
    used = _used()
    longest = 0.0
    more = True
    while more:
        at = time.perf_counter()
        more = writer.tend()
        longest = max(longest, time.perf_counter() - at)
    tend = _used() - used
    writer.close()
    times.sort()
    return {
        "pages": count,
        "text": text,
        "us_a_page": round(cpu / count * 1e6),
        "batch_median_ms": round(times[len(times) // 2] * 1e3),
        "batch_longest_ms": round(times[-1] * 1e3),
        "tend_s": round(tend, 1),
        "tend_longest_ms": round(longest * 1e3),
    }


def _sizes(path: Path, text: int) -> dict[str, float]:
    base = connect(path)
    found = {
        name: round(size / text, 3)
        for name, size in base.execute(
            "SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE"
            " GROUP BY name ORDER BY 2 DESC"
        )
    }
    blobs = base.execute("SELECT sum(text_size), sum(length(text)), sum(length(more)) FROM content")
    stored = blobs.fetchone()
    found["(text)"], found["(more)"] = (round(size / text, 3) for size in stored[1:])
    blocks = base.execute("PRAGMA freelist_count").fetchone()[0]
    found["(free)"] = round(blocks * BLOCK / text, 3)
    base.close()
    found["file"] = round(path.stat().st_size / text, 3)
    return found


def _queries(path: Path) -> dict[str, float]:
    base = connect(path)
    random = Random(5)
    rows = base.execute("SELECT title FROM page ORDER BY id LIMIT 2000").fetchall()
    times = []
    for (title,) in random.sample(rows, 200):
        words = re.findall(r"[a-z]{4,}", title.lower())[:2]
        if not words:
            continue
        begun = time.perf_counter()
        base.execute(
            "SELECT rowid FROM ft WHERE ft MATCH ? ORDER BY bm25(ft, 5, 2, 1, 3, 1, .1) LIMIT 10",
            (" ".join(f'"{word[:5]}"*' for word in words),),
        ).fetchall()
        times.append(time.perf_counter() - begun)
    base.close()
    times.sort()
    if not times:
        return {}
    return {"query_median_ms": round(times[len(times) // 2] * 1e3, 2),
            "query_p95_ms": round(times[int(len(times) * 0.95)] * 1e3, 2)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--text", type=int, default=5000, help="bytes of main text of a page")
    parser.add_argument("--links", type=int, help="links of a page; by default more in long ones")
    parser.add_argument("--lang", choices=sorted(_FOLDERS), default="en")
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--report", type=int, default=20, help="batches")
    parser.add_argument("--option", action="append", default=[], help="of FTS5, NAME=NUMBER")
    parser.add_argument("--keep", type=Path, help="file of the database")
    arguments = parser.parse_args()
    pages = Pages(arguments.text, arguments.lang, arguments.links)
    with TemporaryDirectory(dir="/var/tmp") as folder:
        path = arguments.keep or Path(folder) / "it.db"
        base = connect(path, write=True)
        for option in arguments.option:
            name, value = option.split("=")
            base.execute("INSERT INTO ft(ft, rank) VALUES (?, ?)", (name, int(value)))
        base.close()
        made = (pages.page(number) for number in range(arguments.pages))
        result = _fill(path, made, arguments.batch, arguments.report)
        text = int(result["text"])
        result |= _queries(path)
        print(json.dumps(result))
        print(json.dumps(_sizes(path, text)))
        if arguments.again:
            changed = (pages.page(number, 1) for number in range(arguments.again))
            print("again", json.dumps(_fill(path, changed, arguments.batch, 0)))
            print(json.dumps(_sizes(path, text)))
        base = sqlite3.connect(path)
        print("integrity", base.execute("PRAGMA integrity_check").fetchone()[0])
        base.close()


if __name__ == "__main__":
    main()
