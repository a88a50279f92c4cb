"""Where a URL stands and why, in steps: from memory, the queues on disk and the crawl log.

What is in memory is found at once. Whether a URL that was met is in the store or in the log
nobody knows before it is found; so both are searched by turns, and the crawl goes on between
the steps. A URL that moves on meanwhile is looked for again at the end, where it must be.
"""

from collections.abc import Generator, Iterator
from itertools import count

from larbinpy.frontier.view import FrontierView
from larbinpy.loop.clock import Clock
from larbinpy.observe import url_status
from larbinpy.observe.log_search import Line, LogSearch
from larbinpy.observe.url_status import Facts
from larbinpy.outcome import Outcome, Trait, having, in_words
from larbinpy.output.log import CrawlLog
from larbinpy.storage.store import Place
from larbinpy.url import resolve

#: Steps in the store for one in the log, which takes so much longer.
_BLOCKS = 8
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}


def explain(
    view: FrontierView, log: CrawlLog, text: str, clock: Clock
) -> Iterator[dict[str, object] | None]:
    """Yields None after each step of some 100 us, and then what is to be said. OSError."""
    href = resolve(text.strip())
    if href is None:
        bad = Outcome.BAD_URL
        yield {
            "url": text,
            "state": "refused",
            "reason": bad.value,
            "rule": "URL",
            "why": bad.words,
        }
        return
    seen = view.is_seen(href)
    found = url_status.standing(view, href, clock())
    if found is None and seen:
        found = yield from _searched(view, log, href, clock)
    if found is None:
        refused = None if seen else url_status.refusal(view, href, clock())
        found = {"state": "refused", **refused} if refused else _nowhere(view, href, seen)
    site = view.site(href)
    standing = {} if site is None else {"site": site.describe(clock())}
    yield {"url": href, "seen": seen, **found, **standing}


def _nowhere(view: FrontierView, href: str, seen: bool) -> Facts:
    if not seen:
        return url_status.unknown(view, href)
    why = "it was met, and is neither queued nor in crawl.jsonl: was that cut or renamed?"
    return {"state": "seen", "why": why}


def _searched(
    view: FrontierView, log: CrawlLog, href: str, clock: Clock
) -> Generator[None, None, Facts | None]:
    past = LogSearch(log, href)
    searches: list[Generator[None, None, Place | Line | None]]
    searches = [view.find(href), past.search()]
    found: Place | Line | None = None
    for step in count(1):
        # What was queued once more is queued, whatever became of it before.
        search = searches[-1 if step % _BLOCKS == 0 and not view.has_repeats else 0]
        try:
            next(search)
        except StopIteration as end:
            found = end.value
            searches.remove(search)
        if found is not None or not searches:
            break
        yield
    # It may have left the store since the search began, and been decided.
    standing = url_status.standing(view, href, clock())
    if standing is not None:
        return standing
    if isinstance(found, Place):
        return url_status.queued(view, found, href)
    found = past.news() or found
    return None if found is None else _decided(view, found, href, clock())


def _decided(view: FrontierView, fate: Line, href: str, now: float) -> Facts:
    outcome, status = str(fate.get("outcome")), fate.get("status")
    more: Facts = {}
    why = in_words(outcome)
    if fate.get("detail"):
        why += f": {fate['detail']}"
    if outcome in _ROBOTS:
        more = url_status.forbidding(view, href, now)
        why = more.pop("why")
    elif outcome == Outcome.BAD_TYPE.value:
        more = {"rule": "type"}
        why = f"its type, {fate.get('type') or 'none'}, is not wanted (anyType, getImage, ...)"
    if status and outcome != "success":
        why += f" (HTTP {status})"
    return {"state": "decided", "reason": outcome, "fate": fate, "why": why, **more}
