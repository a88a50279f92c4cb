"""The status of a URL, and why, in steps: from memory, the queues on disk and the crawl log.

A URL in memory is found at once. A seen URL that is not in memory may be in the store or in the
log, so both are searched alternately; the crawl continues between the steps. At the end, memory
is searched again, in case the URL has moved meanwhile.
"""

from collections.abc import Generator, Iterator
from itertools import count

from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.view import FrontierView
from larbinpy.loop.clock import Clock
from larbinpy.observe import url_status
from larbinpy.observe.log_search import Line, LogSearch, SearchedLog
from larbinpy.observe.rotated import search_rotated
from larbinpy.observe.url_status import Facts
from larbinpy.outcome import Outcome, Trait, having
from larbinpy.reason import ENDS_SESSION, SEED_AGAIN, cure, reason
from larbinpy.storage.store import Place
from larbinpy.url import fault, masked_typed, typed

#: Steps in the store for each step in the log, which takes longer.
_BLOCKS = 8
#: States of URLs that are fetched, or would be.
_WANTED = {"never seen", "queued", "waiting", "ready", "in flight", "to be tried again"}
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}


def explain(
    view: FrontierView, log: SearchedLog, text: str, clock: Clock, began: str = ""
) -> Iterator[dict[str, object] | None]:
    """Yields None after each step of some 100 us, and then the answer. Raises OSError.

    Lines of rotated logs before the time `began` do not count.
    """
    href = typed(text)
    if href is None:
        bad = Outcome.BAD_URL
        yield {
            "url": masked_typed(text),
            "state": "refused",
            "reason": bad.value,
            "rule": "URL",
            "why": fault(text),
        }
        return
    seen = view.is_seen(href)
    folded, dropped = (href, []) if seen else view.folded(href)
    if dropped:
        yield from _explain_folded(view, log, href, folded, dropped, clock, began)
        return
    found = url_status.standing(view, href, clock())
    if found is None and seen:
        found = yield from _searched(view, log, href, clock, began)
    if found is None:
        refused = url_status.refusal_by_plug(view, href)
        if not seen:
            refused = url_status.refusal(view, href, clock())
        found = {"state": "refused", **refused} if refused else _nowhere(view, href, seen)
    if found["state"] in _WANTED or found.get("reason") == Outcome.SUCCESS.value:
        found = url_status.with_rules(view, href, found)
    site = view.site(href)
    standing = {} if site is None else {"site": _described(site, clock())}
    yield {"url": href, "seen": seen, **found, **standing}


def decided(
    view: FrontierView, log: SearchedLog, href: str, clock: Clock, began: str = ""
) -> Iterator[dict[str, object] | None]:
    """As `explain`, from the logs alone: yields no answer if they do not have the URL."""
    search_log = LogSearch(log, href)
    found = yield from search_log.search()
    found = search_log.latest() or found
    if found is None:
        found = yield from search_rotated(log.path, href, began)
    if found is not None:
        yield {"url": href, "seen": True, **_decided(view, found, href, clock())}


def _described(site: NamedSite, now: float) -> dict[str, object]:
    """The state of a site, and the lines of the site blocks that set its settings."""
    sources = site.settings.sources
    return {**site.describe(now), **({"set_by": dict(sources)} if sources else {})}


def _explain_folded(
    view: FrontierView,
    log: SearchedLog,
    href: str,
    folded: str,
    dropped: list[str],
    clock: Clock,
    began: str,
) -> Iterator[dict[str, object] | None]:
    """The answer for the URL that a link to `href` counts as."""
    for found in explain(view, log, folded, clock, began):
        if found is not None:
            why = f"a link to it counts as one to {folded}, without {', '.join(dropped)}"
            found["why"] = f"{why} (dropParameters): {found['why']}"
            found |= {"url": href, "folded": folded, "dropped": dropped}
        yield found


def _nowhere(view: FrontierView, href: str, seen: bool) -> Facts:
    if not seen:
        return url_status.unknown(view, href)
    why = "it was seen, and is neither queued nor in crawl.jsonl: was that truncated or moved?"
    return {"state": "seen", "why": why}


def _searched(
    view: FrontierView, log: SearchedLog, href: str, clock: Clock, began: str
) -> Generator[None, None, Facts | None]:
    search_log = LogSearch(log, href)
    searches: list[Generator[None, None, Place | Line | None]]
    searches = [view.find(href), search_log.search()]
    found: Place | Line | None = None
    for step in count(1):
        # If seeds were repeated, the store first: an earlier outcome of a queued URL is obsolete.
        search = searches[-1 if step % _BLOCKS == 0 and not view.has_repeats else 0]
        try:
            next(search)
        except StopIteration as end:
            found = end.value
            searches.remove(search)
        if found is not None or not searches:
            break
        yield
    # It may have left the store since the search began, and may even be decided.
    standing = url_status.standing(view, href, clock())
    if standing is not None:
        return standing
    if isinstance(found, Place):
        return url_status.queued(view, found, href)
    found = search_log.latest() or found
    if found is None:
        found = yield from search_rotated(log.path, href, began)
    return None if found is None else _decided(view, found, href, clock())


def _decided(view: FrontierView, fate: Line, href: str, now: float) -> Facts:
    outcome, status, detail = str(fate.get("outcome")), fate.get("status"), fate.get("detail")
    more: Facts = {}
    why = reason(outcome, detail=detail)
    if outcome in _ROBOTS:
        more = url_status.forbidding(view, href, now)
        why = more.pop("why")
    elif outcome == Outcome.REJECTED.value and detail != ENDS_SESSION:
        if all(rule.text != detail and f"{rule.text} (" not in str(detail) for rule in view.rules):
            why += f"; the crawl has this rule no more, {SEED_AGAIN} the URL"
    elif outcome == Outcome.BAD_TYPE.value:
        more = {"rule": "type"}
        why = f"its type, {fate.get('type') or 'none'}, is not wanted ({view.scope.type_keywords})"
    if status and outcome != Outcome.SUCCESS.value:
        why += f" (HTTP {status})"
    if remedy := cure(outcome, detail):
        why += f"; {remedy}"
    return {"state": "decided", "reason": outcome, "fate": fate, "why": why, **more}
