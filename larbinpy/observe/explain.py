"""The status of a URL, and why, in steps: from memory, the queues on disk and the crawl log.

A URL in memory is found at once. A seen URL that is not in memory may be in the store or in the
log, so both are searched alternately; the crawl continues between the steps. At the end, memory
is searched again, in case the URL has moved meanwhile.

Each answer has a ``state`` and a sentence, ``why``. If they apply, it also has ``ahead`` (number
of URLs that come before), ``waits_for``, ``in_s`` (seconds until then), ``attempt`` (tries that
were made), ``reason`` (an outcome), ``rule`` (the reason of a refusal: a keyword, trap, robots.txt
or site) and ``guard`` (the guard that takes the URL for a trap).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import count
from typing import Any

from larbinpy.console.text import roughly
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.rules import Headers
from larbinpy.frontier.scope import ELSEWHERE, Candidate
from larbinpy.frontier.site import NamedSite, State
from larbinpy.observe.report.log import Line, LogSearch, SearchedLog, search_rotated
from larbinpy.page import (
    ENDS_SESSION,
    SEED_AGAIN,
    Outcome,
    Page,
    Trait,
    brief,
    cure,
    having,
    reason,
)
from larbinpy.storage.queues import Place
from larbinpy.url import Url, fault, masked_typed, site_of, typed, with_view

Facts = dict[str, Any]

#: A queue of the store in words.
_QUEUES = {
    "priority": "the queue of URLs with priority",
    "ordinary": "the queue",
    "priority_wait": "its site's own queue of URLs with priority",
    "ordinary_wait": "its site's own queue",
}
#: The conditions of rules that the URL alone does not decide, in words.
_DECIDES_LATER = {
    "depth": "the depth of the link decides",
    "hops": "the redirects on the way decide",
    "type": "its type decides once it is fetched",
    "size": "its size decides once it is fetched",
}


def standing_of(frontier: Frontier, href: str, now: float) -> Facts | None:
    """The status of a URL that has left the queues and is not decided; None for others."""
    site = frontier.registry.at(href)
    for url in frontier.ip_sites.in_browser():
        if url.href == href:
            return {"state": "in the browser", "why": "it was fetched, and a browser reads it"}
    for url in frontier.ip_sites.flying():
        if url.href == href:
            return _in_flight(url, site)
    if site is not None:
        in_site = _in_site(frontier, site, href, now)
        if in_site is not None:
            return in_site
    for page in frontier.to_write():
        if page.url.href == href:
            why = f"{_ended(page)}; its outcome is about to be written to the log"
            return {"state": "decided", "reason": page.outcome.value, "why": why}
    return None


def _ended(page: Page) -> str:
    return reason(page.outcome.value, page.status, page.detail)


def _in_flight(url: Url, site: NamedSite | None) -> Facts:
    address = site.addresses[0] if site is not None and site.addresses else None
    where = "" if address is None else f" from {address}"
    return {
        "state": "in flight",
        "address": address,
        "attempt": url.attempt,
        "why": f"it is being fetched{where}, try {url.attempt + 1}",
    }


def _in_site(frontier: Frontier, site: NamedSite, href: str, now: float) -> Facts | None:
    ahead = _index(site.ready, href)
    if ahead is not None:
        facts = _ready(frontier, site, now)
        return {
            "state": "ready",
            "ahead": ahead,
            "attempt": site.ready[ahead].attempt,
            **facts,
        }
    ahead = _index(site.waiting, href)
    if ahead is not None:
        facts = _waiting(frontier, site, now)
        return {
            "state": "waiting",
            "ahead": ahead,
            "attempt": site.waiting[ahead].attempt,
            **facts,
        }
    for due, url in site.retries:
        if url.href == href:
            why = f"try {url.attempt} failed; the next is after retryWait"
            why += _set_by(site, "retryWait")
            facts = _until("retryWait", due - now, why)
            return {"state": "to be tried again", "attempt": url.attempt, **facts}
    return None


def _index(urls: Sequence[Url], href: str) -> int | None:
    return next((n for n, url in enumerate(urls) if url.href == href), None)


def _until(what: str, seconds: float, why: str) -> Facts:
    return {"waits_for": what, "in_s": round(max(0.0, seconds), 3), "why": why}


def _ready(frontier: Frontier, site: NamedSite, now: float) -> Facts:
    """The condition that a ready URL waits for."""
    hours = site.settings.hours
    if hours.closed:
        left = roughly(hours.opens_at - now)
        when = hours.configured.in_words()
        why = f"its site is asked {when} only, next in {left}{_set_by(site, 'hours')}"
        return _until("hours", hours.opens_at - now, why)
    ip_site = frontier.addresses.behind(site)
    address_at = now if ip_site is None else ip_site.next_at
    until = max(site.next_at, address_at)
    if now < site.held_until >= until:
        why = "the site requested a pause, by a 429 or 503"
        return _until("pause", until - now, why)
    if site.next_at > max(now, address_at):
        why = f"its site gets a request every {site.pace.delay:g} s"
        if site.pace.cause == "waitDuration":
            why += _set_by(site, "waitDuration")
        return _until("politeness", until - now, why)
    if ip_site is not None and until > now:
        waits = ip_site.waits
        own = waits is site.settings.waits
        source = site.settings.source("waitDuration") if own else "waitDuration"
        why = f"its address gets a request every {waits.least:g} s ({source})"
        return _until("politeness", until - now, why)
    limits = site.settings.limits
    if limits.at_once and site.in_flight >= limits.at_once:
        source = site.settings.source("maxConnexionsBySite", str(limits.at_once))
        return {"waits_for": "connexion", "why": f"its site is busy with other requests ({source})"}
    if site.ready and not site.wants_turn:
        source = site.settings.source("limitPageBySite", str(limits.pages))
        why = f"requests under way may be the last that its site gets ({source})"
        return {"waits_for": "limit", "why": why}
    if ip_site is not None and not ip_site.free:
        return {"waits_for": "connexion", "why": "its address is busy with another request"}
    return {"waits_for": "turn", "why": "it is fetched when its turn comes and a handle is free"}


def _set_by(site: NamedSite, keyword: str) -> str:
    """The line of the site block that sets something; empty if none does."""
    source = site.settings.sources.get(keyword)
    return "" if source is None else f" (site block, {source})"


def _waiting(frontier: Frontier, site: NamedSite, now: float) -> Facts:
    """The condition that a URL waits for while its site is not open."""
    match site.state:
        case State.RESOLVING:
            return {"waits_for": "address", "why": f"the address of {site.host} is being looked up"}
        case State.ROBOTS if site.in_flight:
            return {"waits_for": "robots.txt", "why": "the site's robots.txt is being fetched"}
        case State.ROBOTS:
            facts = _ready(frontier, site, now)
            why = "the site's robots.txt is to be fetched first"
            if facts["waits_for"] == "hours":
                return {**facts, "why": f"{why}; {facts['why']}"}
            return _until("robots.txt", facts.get("in_s", 0.0), why)
        case State.LOGIN:
            return {"waits_for": "login", "why": "the crawl logs in to its site first"}
        case State.PROBING:
            why = "its site is asked first for a name that cannot exist (probeSoft404)"
            return {"waits_for": "probe", "why": why}
        case State.WAITING if site.verdict is Outcome.LOGIN_FAILED:
            why = f"try {site.tries} to log in to its site failed: {site.detail}"
            return _until("retryWait", site.until - now, why)
        case State.WAITING:
            failed = brief(site.verdict.value, detail=site.detail)
            why = f"try {site.tries} to get the site's address and robots.txt failed: {failed}"
            return _until("retryWait", site.until - now, why)
        case _:
            return {"waits_for": "turn", "why": "its site's URLs become ready a few at a time"}


def queued(frontier: Frontier, place: Place, href: str) -> Facts:
    """The status of a URL that is in the store."""
    ahead = place.ahead
    # Those with priority come first.
    if place.queue == "ordinary":
        ahead += len(frontier.store.priority)
    is_open, reason = frontier.sequencer.gate()
    in_memory = frontier.sequencer.by_site[site_of(href)]
    if place.queue.endswith("_wait"):
        waits_for, reason = "room", f"its site has {in_memory} URLs in memory, and they go first"
    elif is_open:
        waits_for, reason = "turn", f"{ahead} go first"
    else:
        waits_for, reason = "gate", f"the gate is closed: {reason}"
    return {
        "state": "queued",
        "queue": place.queue,
        "ahead": ahead,
        "waits_for": waits_for,
        "why": f"it is in {_QUEUES[place.queue]}: {reason}",
    }


def refusal(frontier: Frontier, href: str, now: float) -> Facts | None:
    """Why a link to `href` from its own site would be left out now; None if it would not."""
    candidate = Candidate(href, href, redirect=False)
    refusing = frontier.scope.refusing(candidate)
    if refusing is not None:
        refused, rule, why = refusing
        if refused is Outcome.REJECTED:
            why = f"rejected by: {why}"
        if frontier.scope.takes_requisite(href):
            why += "; it is fetched if a page needs it to be displayed"
        return {"reason": refused.value, "rule": rule, "why": why}
    trap = frontier.traps.refusing(href)
    if trap is not None:
        why = f"it looks like a spider trap: {trap.why}"
        return {"reason": Outcome.TRAP.value, "rule": "trap", "guard": trap.guard, "why": why}
    plug = refusal_by_plug(frontier, href)
    if plug is not None:
        return plug
    outcome = frontier.lifecycle.refusal(href, now)
    if outcome is None:
        return None
    if outcome is Outcome.FORBIDDEN_ROBOTS:
        return {"reason": outcome.value, **forbidding(frontier, href, now)}
    if outcome is Outcome.SITE_LIMIT:
        why = reason(outcome.value, detail=frontier.registry.limit(site_of(href)))
        return {"reason": outcome.value, "rule": "site", "why": why}
    site = frontier.registry.at(href)
    more = {} if site is None else {"in_s": round(max(0.0, site.until - now), 3)}
    why = f"its site is closed for a while: {reason(outcome.value, detail=_detail(site))}"
    return {"reason": outcome.value, "rule": "site", "why": why, **more}


def refusal_by_plug(frontier: Frontier, href: str) -> Facts | None:
    """Why the operator's plug leaves out a link to `href`; None if it does not."""
    if frontier.admission.asks(href):
        return None
    why = "the plug of the program that runs the crawl does not want it"
    return {"reason": Outcome.REJECTED.value, "rule": "plug", "why": why}


def _detail(site: NamedSite | None) -> str:
    return "" if site is None else site.detail


def with_rules(frontier: Frontier, href: str, facts: Facts) -> Facts:
    """`facts` about a URL that is not refused, with the rules that accept it, or may decide."""
    fate, why = facts.get("fate"), [facts["why"]]
    headers = None
    if fate:
        size = fate.get("size")
        headers = Headers(str(fate.get("type")), size if isinstance(size, int) else None)
    verdict = frontier.scope.verdict(href, headers)
    if fate and verdict.open:
        return facts  # They tested depth or hops, and one may have decided.
    for rule in verdict.open:
        later = " and ".join(_DECIDES_LATER[name] for name in rule.beyond_url)
        why.append(f"{rule.described}: {later}")
    if verdict.rule is not None and verdict.rule.accept:
        why.append(f"accepted by: {verdict.rule.described}")
        facts["rule"] = verdict.rule.text
    return {**facts, "why": "; ".join(why)}


def forbidding(frontier: Frontier, href: str, now: float) -> Facts:
    """The rule of robots.txt that forbids a URL, as far as is known now."""
    site, rules = frontier.registry.at(href), frontier.lifecycle.rules
    line = None
    if site is not None and now < site.rules_until:
        line = rules.forbidding(site, href)
    if line is not None:
        return {"rule": "robots.txt", "line": line, "why": f"robots.txt says: {line}"}
    if site is not None and now < site.rules_until and not rules.allows(site, href):
        until = round(site.rules_until - now, 3)
        why = reason(Outcome.FORBIDDEN_ROBOTS.value, detail=rules.why_denied(site))
        return {"rule": "robots.txt", "in_s": until, "why": why}
    return {"rule": "robots.txt", "why": "the site's robots.txt refused it"}


def unknown(frontier: Frontier, href: str) -> Facts:
    """The status of a URL that no rule refuses and that was not seen."""
    why = ["no page that was read links to it"]
    why += _left_out(frontier, href)
    return {"state": "never seen", "why": ", or only ones ".join(why)}


def _left_out(frontier: Frontier, href: str) -> Iterator[str]:
    """Kinds of pages on which a link to the URL would have been left out."""
    too_deep = frontier.admission.refused[Outcome.TOO_DEEP]
    if too_deep:
        yield f"further than depthInSite from the seeds ({too_deep} links were too deep so far)"
    if frontier.scope.refusing(Candidate(href, ELSEWHERE, redirect=False)) is not None:
        yield "on other hosts (noExternalLinks)"
    if setting := frontier.scope.untaken(href):
        yield f"that need it to be displayed ({setting} fetches it then)"


#: Steps in the store for each step in the log, which takes longer.
_BLOCKS = 8
#: States of URLs that are fetched, or would be.
_WANTED = {"never seen", "queued", "waiting", "ready", "in flight", "to be tried again"}
_ROBOTS = {outcome.value for outcome in having(Trait.ROBOTS)}


def explain(
    frontier: Frontier, log: SearchedLog, text: str, clock: Callable[[], float], began: str = ""
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
    view = with_view(text)
    if view is not None and "#" in view and frontier.admission.is_seen(view):
        href = view
    seen = frontier.admission.is_seen(href)
    folded = href if seen else frontier.admission.folding.fold(href)
    if folded != href:
        yield from _explain_folded(frontier, log, href, folded, clock, began)
        return
    found = standing_of(frontier, href, clock())
    if found is None and seen:
        found = yield from _searched(frontier, log, href, clock, began)
    if found is None:
        refused = refusal_by_plug(frontier, href)
        if not seen:
            refused = refusal(frontier, href, clock())
        found = {"state": "refused", **refused} if refused else _nowhere(frontier, href, seen)
    if found["state"] in _WANTED or found.get("reason") == Outcome.SUCCESS.value:
        found = with_rules(frontier, href, found)
    site = frontier.registry.at(href)
    standing = {} if site is None else {"site": _described(site, clock())}
    yield {"url": href, "seen": seen, **found, **standing}


def decided(
    frontier: Frontier, log: SearchedLog, href: str, clock: Callable[[], float], began: str = ""
) -> Iterator[dict[str, object] | None]:
    """As `explain`, from the logs alone: yields no answer if they do not have the URL."""
    search_log = LogSearch(log, href)
    found = yield from search_log.search()
    found = search_log.latest() or found
    if found is None:
        found = yield from search_rotated(log.path, href, began)
    if found is not None:
        yield {"url": href, "seen": True, **_decided(frontier, found, href, clock())}


def _described(site: NamedSite, now: float) -> dict[str, object]:
    """The state of a site, and the lines of the site blocks that set its settings."""
    sources = site.settings.sources
    return {**site.describe(now), **({"set_by": dict(sources)} if sources else {})}


def _explain_folded(
    frontier: Frontier,
    log: SearchedLog,
    href: str,
    folded: str,
    clock: Callable[[], float],
    began: str,
) -> Iterator[dict[str, object] | None]:
    """The answer for the URL that a link to `href` counts as."""
    dropped = frontier.admission.folding.dropped(href)
    for found in explain(frontier, log, folded, clock, began):
        if found is not None:
            why = f"a link to it counts as one to {folded}, without {', '.join(dropped)}"
            found["why"] = f"{why} (dropParameters): {found['why']}"
            found |= {"url": href, "folded": folded, "dropped": dropped}
        yield found


def _nowhere(frontier: Frontier, href: str, seen: bool) -> Facts:
    if not seen:
        return unknown(frontier, href)
    why = "it was seen, and is neither queued nor in crawl.jsonl: was that truncated or moved?"
    return {"state": "seen", "why": why}


def _searched(
    frontier: Frontier, log: SearchedLog, href: str, clock: Callable[[], float], began: str
) -> Generator[None, None, Facts | None]:
    search_log = LogSearch(log, href)
    searches: list[Generator[None, None, Place | Line | None]]
    searches = [frontier.store.find(href), search_log.search()]
    found: Place | Line | None = None
    for step in count(1):
        # If seeds were repeated, the store first: an earlier outcome of a queued URL is obsolete.
        search = searches[-1 if step % _BLOCKS == 0 and not frontier.admission.has_repeats else 0]
        try:
            next(search)
        except StopIteration as end:
            found = end.value
            searches.remove(search)
        if found is not None or not searches:
            break
        yield
    # It may have left the store since the search began, and may even be decided.
    standing = standing_of(frontier, href, clock())
    if standing is not None:
        return standing
    if isinstance(found, Place):
        return queued(frontier, found, href)
    found = search_log.latest() or found
    if found is None:
        found = yield from search_rotated(log.path, href, began)
    return None if found is None else _decided(frontier, found, href, clock())


def _decided(frontier: Frontier, fate: Line, href: str, now: float) -> Facts:
    outcome, status, detail = str(fate.get("outcome")), fate.get("status"), fate.get("detail")
    scope = frontier.scope
    more: Facts = {}
    why = reason(outcome, detail=detail)
    if outcome in _ROBOTS:
        more = forbidding(frontier, href, now)
        why = more.pop("why")
    elif outcome == Outcome.REJECTED.value and detail != ENDS_SESSION:
        if all(
            rule.text != detail and f"{rule.text} (" not in str(detail)
            for rule in scope.rules.current
        ):
            why += f"; the crawl has this rule no more, {SEED_AGAIN} the URL"
    elif outcome == Outcome.BAD_TYPE.value:
        more = {"rule": "type"}
        why = f"its type, {fate.get('type') or 'none'}, is not wanted ({scope.type_keywords})"
    if status and outcome != Outcome.SUCCESS.value:
        why += f" (HTTP {status})"
    if remedy := cure(outcome, detail):
        why += f"; {remedy}"
    if rendered := fate.get("rendered"):
        why += f"; {_in_browser(rendered)}"
    return {"state": "decided", "reason": outcome, "fate": fate, "why": why, **more}


def _in_browser(rendered: Facts) -> str:
    """What the log says of a page that was in a browser, in words."""
    took = f"{int(rendered.get('ms', 0)) / 1000:.1f} s"
    refused = [f"{why} ({n})" for why, n in dict(rendered.get("refused", {})).items()]
    more = f", which was refused: {', '.join(refused)}" if refused else ""
    if rendered.get("why"):
        return f"kept as it was sent after {took} in the browser{more}"
    return f"read in the browser for {took}{more}"
