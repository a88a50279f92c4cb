"""What people may see of a frontier: how much is where, and who is busy."""

import heapq

from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.named_site import NamedSite, State

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
