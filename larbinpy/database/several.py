"""Several databases, such as those of the nodes of a crawl, as one that is read."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from operator import attrgetter

from larbinpy.database.base import Change, Finder, Found, Stored, Wish
from larbinpy.database.merging import merged, wish_of_each
from larbinpy.database.opening import open_finder
from larbinpy.loop.clock import Clock, clock
from larbinpy.search.query import Query


def open_finders(places: Sequence[str]) -> Finder:
    """Open the databases `places` to read, as one. Raises `DatabaseError`."""
    if len(places) == 1:
        return open_finder(places[0])
    with ExitStack() as opened:
        finders = []
        for place in places:
            finders.append(open_finder(place))
            opened.callback(finders[-1].close)
        opened.pop_all()
    return SeveralFinders(finders)


class SeveralFinders:
    """The `database.base.Finder` of several databases.

    If more than one has a page, the one that was fetched last counts.
    """

    def __init__(self, finders: Sequence[Finder], clock: Clock = clock) -> None:
        self._finders = finders
        self._clock = clock

    def close(self) -> None:
        for finder in self._finders:
            finder.close()

    def languages(self) -> Sequence[str]:
        return list(dict.fromkeys(lang for each in self._finders for lang in each.languages()))

    def search(self, query: Query, wish: Wish) -> Found:
        start = self._clock()
        each = wish_of_each(wish)
        answers = []
        for done, finder in enumerate(self._finders):
            # One that is fast leaves its time to the others.
            left = start + wish.limit - self._clock()
            limit = left / (len(self._finders) - done)
            answers.append(finder.search(query, replace(each, limit=limit)))
        found = merged(answers, wish)
        found.seconds = self._clock() - start
        return found

    def show(self, url: str) -> Stored | None:
        finder = self._newest(url)
        return None if finder is None else finder.show(url)

    def fetched(self, url: str) -> str | None:
        finder = self._newest(url)
        return None if finder is None else finder.fetched(url)

    def body(self, url: str) -> bytes | None:
        finder = self._newest(url)
        return None if finder is None else finder.body(url)

    def history(self, url: str) -> list[Change]:
        return list(_in_order(finder.history(url) for finder in self._finders))

    def changes(self, since: str) -> Iterator[Change]:
        return _in_order(finder.changes(since) for finder in self._finders)

    def latest(self, n: int, skip: int = 0) -> list[Change]:
        newest = heapq.merge(
            *(finder.latest(skip + n) for finder in self._finders), key=_time, reverse=True
        )
        return list(islice(newest, skip, skip + n))

    def pages(self) -> Iterator[Stored]:
        for finder in self._finders:
            for page in finder.pages():
                if self._newest(page.columns["url"]) is finder:
                    yield page

    def counts(self) -> dict[str, int]:
        """The sums; a page or a host that several have counts for each."""
        counts: Counter[str] = Counter()
        for finder in self._finders:
            counts.update(finder.counts())
        return dict(counts)

    def _newest(self, url: str) -> Finder | None:
        """The one whose page of a URL was fetched last; the first of several, None for none."""
        known = [(at, -n) for n, each in enumerate(self._finders) if (at := each.fetched(url))]
        return self._finders[-max(known)[1]] if known else None


_time = attrgetter("at")


def _in_order(changes: Iterable[Iterable[Change]]) -> Iterator[Change]:
    """The changes of several databases, the oldest first."""
    return heapq.merge(*changes, key=_time)
