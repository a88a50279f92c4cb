"""What people may see of a frontier: how much is where, who is busy, why a URL stands still."""

import heapq
from collections.abc import Iterable
from typing import Any

from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.named_site import NamedSite, State
from larbinpy.frontier.scope import Candidate
from larbinpy.outcome import Outcome
from larbinpy.url import Url, fingerprint, resolve, site_of

#: Sites in each table.
_TABLE = 20


def queues(frontier: Frontier) -> dict[str, int]:
    """URLs by the queue they are in."""
    return {
        **frontier.store.lengths(),
        "named_sites": frontier.sites.held,
        "ip_sites": frontier.ip_sites.ready,
        "in_flight": frontier.ip_sites.in_flight,
    }


def gate(frontier: Frontier) -> dict[str, object]:
    """Whether isGet is open, and why it is not."""
    is_open, reason = frontier.sequencer.gate()
    return {"open": is_open, "reason": reason}


def sites(frontier: Frontier, now: float) -> dict[str, object]:
    """How many sites there are, the busiest, the slowest, and those that are left alone."""
    notable = frontier.sites.notable()
    closed = [site for site in frontier.sites.closed if site.state is State.CLOSED]
    # One that was closed twice, or is while a request is in flight, is still one.
    known = {site.key: site for site in (*notable, *closed)}
    suspended = [site for site in known.values() if site.suspension(now) is not None]
    busiest = heapq.nlargest(_TABLE, notable, key=NamedSite.work)
    answering = (site for site in notable if site.slowness())
    slowest = heapq.nlargest(_TABLE, answering, key=NamedSite.slowness)
    return {
        "total": frontier.sites.met,
        "by_state": {state.name.lower(): n for state, n in frontier.sites.by_state().items()},
        "busiest": [site.describe(now) for site in busiest],
        "slowest": [site.describe(now) for site in slowest],
        "suspended": [
            {
                "site": site.key,
                "until_s": round(max(site.until, site.next_at) - now, 1),
                "reason": site.suspension(now),
            }
            for site in suspended[:_TABLE]
        ],
    }


def explain(frontier: Frontier, text: str, now: float) -> dict[str, object]:
    """Where a URL stands, or why it would be left out."""
    href = resolve(text.strip())
    if href is None:
        return {"url": text, "state": "refused", "reason": Outcome.BAD_URL.value}
    seen = fingerprint(href) in frontier.seen
    known: dict[str, Any] = {"url": href, "seen": seen}
    site = frontier.sites.get(site_of(href))
    if site is not None:
        known["site"] = site.describe(now)
    place = _place(frontier, site, href)
    if place is None and not seen:
        reason = _refusal(frontier, href, now)
        if reason is not None:
            return {**known, "state": "refused", "reason": reason.value}
    return {**known, "state": place or ("queued or decided" if seen else "never seen")}


def _place(frontier: Frontier, site: NamedSite | None, href: str) -> str | None:
    if _among(frontier.ip_sites.flying(), href):
        return "in flight"
    if site is None:
        return None
    for name in ("ready", "waiting"):
        urls: Iterable[Url] = getattr(site, name)
        if _among(urls, href):
            return name
    return "to be tried again" if _among((url for _, url in site.retries), href) else None


def _among(urls: Iterable[Url], href: str) -> bool:
    return any(url.href == href for url in urls)


def _refusal(frontier: Frontier, href: str, now: float) -> Outcome | None:
    """Why a link to `href` from its own site would be left out."""
    refused = frontier.scope.refuse(Candidate(href, href, redirect=False))
    return refused or frontier.sites.refusal(href, now)
