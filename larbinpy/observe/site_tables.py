"""The tables of sites on the status page: the busiest, the slowest and the suspended ones."""

import heapq
from math import inf
from typing import Any

from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sites.states import State
from larbinpy.frontier.view import FrontierView

#: Sites in each table.
_TABLE = 20


def site_tables(view: FrontierView, now: float) -> dict[str, Any]:
    """The number of sites, the busiest, the slowest and the suspended ones."""
    notable = view.notable()
    # A site that has reached a limit stays closed.
    closed = [s for s in view.closed() if s.state is State.CLOSED and s.until < inf]
    # A site that was closed twice, or has a request in flight, is shown once.
    known = {site.key: site for site in (*notable, *closed)}
    suspended = [site for site in known.values() if site.suspension(now) is not None]
    busiest = heapq.nlargest(_TABLE, notable, key=NamedSite.work)
    answering = (site for site in notable if site.slowness())
    slowest = heapq.nlargest(_TABLE, answering, key=NamedSite.slowness)
    return {
        "total": view.distinct_sites,
        "by_state": {state.name.lower(): n for state, n in view.by_state().items()},
        "busiest": [site.describe(now) for site in busiest],
        "slowest": [site.describe(now) for site in slowest],
        "suspended": [
            {
                "site": site.key,
                "until_s": round(_suspended_until(site) - now, 1),
                "reason": site.suspension(now),
            }
            for site in suspended[:_TABLE]
        ],
    }


def _suspended_until(site: NamedSite) -> float:
    hours = site.settings.hours
    return max(site.until, site.next_at, hours.opens_at if hours.closed else 0.0)
