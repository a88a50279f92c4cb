"""The answers of several databases to one query as one answer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from larbinpy.database.base import Found, Hit, Wish
from larbinpy.database.ranking import DEPTH


def wish_of_each(wish: Wish) -> Wish:
    """The wish for each database, so that `merged` has the hits of `wish`."""
    return replace(wish, n=min(wish.n * wish.page, DEPTH), page=1)


def merged(answers: Sequence[Found], wish: Wish) -> Found:
    """The hits of `wish`, out of answers to `wish_of_each`.

    Each database has ranked by its own frequencies of words. If several have a URL, the page that
    was fetched last counts. Databases that have all words win over those that lack some.
    """
    least = min((len(each.missing) for each in answers if each.hits), default=0)
    best = [each for each in answers if not each.hits or len(each.missing) == least]
    pages, doubles = _distinct(hit for each in best for hit in each.hits)
    if wish.sort == "date":
        pages.sort(key=lambda hit: hit.date, reverse=True)
    else:
        pages.sort(key=lambda hit: hit.score, reverse=True)
    start = (wish.page - 1) * wish.n
    return Found(
        hits=pages[:DEPTH][start : start + wish.n],
        total=sum(each.total for each in best) - doubles,
        cut=any(each.cut for each in best),
        missing=next((each.missing for each in best if each.hits), []),
        sites=_sum(each.sites for each in best),
        langs=_sum(each.langs for each in best),
        notes=list(dict.fromkeys(note for each in answers for note in each.notes)),
        seconds=max((each.seconds for each in answers), default=0.0),
    )


def _distinct(hits: Iterable[Hit]) -> tuple[list[Hit], int]:
    """The hits, one for each URL, and how many were left out."""
    newest: dict[str, Hit] = {}
    doubles = 0
    for hit in hits:
        other = newest.get(hit.url)
        doubles += other is not None
        if other is None or hit.fetched > other.fetched:
            newest[hit.url] = hit
    return list(newest.values()), doubles


def _sum(counts: Iterable[Sequence[tuple[str, int]]]) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for each in counts:
        for name, number in each:
            total[name] += number
    return total.most_common()
