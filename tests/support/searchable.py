"""A finder of a few made-up pages, and the process that answers searches from them.

Queries that begin with "please" make the process misbehave; see `SearchableFinder.search`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from larbinpy.console.search.replies import answer
from larbinpy.database.base import (
    NOTHING,
    Change,
    DatabaseError,
    Found,
    Hit,
    Stored,
    Unavailable,
    Wish,
)
from larbinpy.database.search.query import Form, Item, Query

ROOT = Path(__file__).parents[2]

#: The command that `FinderProcess` starts.
COMMAND = (
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    "from tests.support.searchable import main; main()",
)

#: All that may happen to markup in stored text, tried at once.
PAYLOAD = (
    "<script>alert(1)</script><img src=//evil.example/i onerror=alert(2)>"
    "\"'><svg/onload=alert(3)><a href=javascript:alert(4)>x</a></main><base href=//evil.example>"
    "<form action=//evil.example><style>*{display:none}</style>\u202e\x00\x1b[2J"
)


def page(url: str, title: str, text: str, **columns: Any) -> Stored:
    more = {
        "rest": columns.pop("rest", ""),
        "headings": ["A heading"],
        "images": [],
        "links": columns.pop("links", [["http://other.example/", "another page", ""]]),
    }
    fixed = {"url": url, "title": title, "type": "text/html", "lang": "en", "status": 200}
    fixed |= {"fetched": "2026-11-23T08:00:00Z", "first_seen": "2026-11-20T08:00:00Z"}
    return Stored({**fixed, **columns}, text, more, ["an anchor"])


def pages() -> list[Stored]:
    """Thirty ordinary pages, and some odd ones."""
    made = [
        page(f"http://www.site{n % 3}.example/{n}", f"Page {n} about energy", f"Solar energy, {n}.")
        for n in range(30)
    ]
    made.append(page("http://zh.example/", "太阳能", "太阳能是一种能源。", lang="zh"))
    made.append(page("http://he.example/", "אנרגיה סולארית", "אנרגיה (solar) 2026!", lang="he"))
    evil = {"author": PAYLOAD, "lang": PAYLOAD, "type": PAYLOAD, "via": "javascript:alert(5)"}
    links = [["javascript:alert(6)", PAYLOAD, ""], ["http://e.example/\"'><b>", PAYLOAD, ""]]
    made.append(page("http://evil.example/?<b>", PAYLOAD, f"evil {PAYLOAD}", links=links, **evil))
    made.append(page("javascript:alert(7)", PAYLOAD, "evil", rest=PAYLOAD))
    long = "x" * 5000
    made.append(page(f"http://long.example/{long}", long, f"long {long} {long}", author=long))
    made.append(page("http://large.example/", "Large", "large\n" * 100_000))
    made.append(page("http://gone.example/", "Gone", "It was here", gone="2026-11-22T08:00:00Z"))
    return made


class SearchableFinder:
    """Finds pages whose title or text has all words, in the order of the list."""

    def __init__(self, stored: Sequence[Stored]) -> None:
        self._pages = stored
        self.changed: list[Change] = []

    def languages(self) -> Sequence[str]:
        return ["en", "zh"]

    def search(self, query: Query, wish: Wish) -> Found:
        words = [item.text for item in query.wanted]
        if words[:1] == ["please"]:
            self._misbehave(*words[1:])
        found = [page for page in self._pages if self._has(page, words, query)]
        first = (wish.page - 1) * wish.n
        hits = [self._hit(page, words) for page in found[first : first + wish.n]]
        sites: dict[str, int] = {}
        langs: dict[str, int] = {}
        for each in found:
            host = str(each.columns["url"]).split("/")[2:3] or ["?"]
            sites[host[0]] = sites.get(host[0], 0) + 1
            langs[each.columns["lang"]] = langs.get(each.columns["lang"], 0) + 1
        return Found(
            hits, len(found), sites=list(sites.items()), langs=list(langs.items()), seconds=0.0123
        )

    @staticmethod
    def _misbehave(what: str, *_: str) -> None:
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            signal.pause()
        if what == "babble":
            os.write(1, b"x" * 100_000)
        if what == "boast":
            os.write(1, b'{"size": 99999999999}\n')
        if what == "fail":
            raise Unavailable("larbinpy.db: the disk is full; make <room>")

    @staticmethod
    def _has(page: Stored, words: Sequence[str], query: Query) -> bool:
        host = (str(page.columns["url"]).split("/")[2:3] or [""])[0]
        return (
            all(word in f"{page.columns['title']} {page.text}".lower() for word in words)
            and (query.site is None or host == query.site)
            and (query.lang is None or page.columns["lang"] == query.lang)
            and not page.columns.get("gone")
        )

    @staticmethod
    def _hit(page: Stored, words: Sequence[str]) -> Hit:
        columns, snippet = page.columns, page.text[:200]
        starts = [(snippet.lower().find(word), len(word)) for word in words]
        marks = [(start, start + length) for start, length in starts if start >= 0]
        return Hit(
            columns["url"], columns["title"], 1.0, columns["lang"], columns["fetched"],
            columns["type"], columns.get("published"), snippet, marks,
        )  # fmt: skip

    def show(self, url: str) -> Stored | None:
        return next((page for page in self._pages if page.columns["url"] == url), None)

    def fetched(self, url: str) -> str | None:
        return "2026-11-23T08:00:00Z" if self.show(url) else None

    def body(self, url: str) -> bytes | None:
        return None

    def history(self, url: str) -> list[Change]:
        return [Change("2026-11-20T08:00:00Z", url, "new")]

    def changes(self, since: str) -> Iterator[Change]:
        return iter(self.changed)

    def difference(self, change: Change) -> None:
        return None

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        return self.changed[skip : skip + n]

    def pages(self, query: Query = NOTHING) -> Iterator[Stored]:
        return iter(self._pages)

    def counts(self) -> dict[str, int]:
        return {"pages": len(self._pages), "gone": 1, "hosts": 9, "bytes": 123_456}

    def close(self) -> None:
        pass


def parse(text: str, languages: Sequence[str]) -> Query:
    """A query of words and the filters site: and lang:."""
    found = dict(word.split(":", 1) for word in text.split() if word[:5] in ("site:", "lang:"))
    words = [word.lower() for word in text.split() if word[:5] not in ("site:", "lang:")]
    notes = ("The query was cut.",) if len(text) > 2000 else ()
    return Query(
        tuple(Item(word, (Form((word,)),)) for word in words),
        site=found.get("site"),
        lang=found.get("lang"),
        notes=notes,
    )


def no_database() -> SearchableFinder:
    raise DatabaseError("larbinpy.db: there is no database; <crawl> first")


def main(open_finder: Callable[[], SearchableFinder] = lambda: SearchableFinder(pages())) -> None:
    answer(sys.stdin.buffer, sys.stdout.buffer, open_finder, parse)
