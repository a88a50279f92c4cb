"""The thing that a crawl waits for, in one sentence, for the progress line and the status page.

It is found in constant time: a crawl of many sites is asked once a second, too.
"""

from collections.abc import Callable

from larbinpy.console.text import roughly
from larbinpy.exit_status import CrawlState
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.view import FrontierView
from larbinpy.outcome import Outcome
from larbinpy.output.plug import NO_FEEDER, Feeder
from larbinpy.reason import brief
from larbinpy.url import Url

#: Shorter waits (s) are not worth a sentence.
_NOTICEABLE = 1.0
#: Requests in flight for less than this (s) are ordinary progress.
_SLOW = 3.0
_STATES = {
    CrawlState.PAUSED.value: "paused",
    CrawlState.DISK_FULL.value: "disk full",
}

#: Returns the place whose turn a request waits for; empty if it is sent.
TurnOf = Callable[[Url], str]


def no_turn(url: Url) -> str:
    """The requests of a crawl without other nodes are sent at once."""
    return ""


def waits_for(
    state: str,
    view: FrontierView,
    now: float,
    feeder: Feeder = NO_FEEDER,
    turn_of: TurnOf = no_turn,
) -> str:
    """The sentence; empty if requests are sent and answered."""
    if state == CrawlState.WAITING.value:
        return f"nothing left to fetch; {feeder.idle}"
    if state in _STATES:
        return _STATES[state]
    if state == CrawlState.STOPPING.value:
        in_flight = view.in_flight
        return f"{in_flight} transfers are finished" if in_flight else feeder.awaits
    if state != CrawlState.RUNNING.value:
        return ""
    if view.in_flight:
        return _in_flight(view, now, feeder, turn_of)
    return feeder.holds or _next(view, now)


def _in_flight(view: FrontierView, now: float, feeder: Feeder, turn_of: TurnOf) -> str:
    newest, since = view.newest_flight
    taken, others = now - since, view.in_flight - 1
    # A preliminary request alone in flight is what all other URLs of its site wait for.
    if taken < _SLOW and (others or newest.owner is None):
        return ""
    so_far = f", {roughly(taken)} so far" if taken >= _SLOW else ""
    more = f" (and {others} more)" if others else ""
    if place := turn_of(newest):
        # Without Redis, turns are not granted.
        turn = f"it waits for its turn at {place}, which other nodes ask, too"
        return feeder.holds or f"{_name(newest.site)}: {turn}{so_far}{more}"
    if newest.ask is not None:
        return f"logging in to {_name(newest.owner or '')}{so_far}{more}"
    if newest.probe:
        return f"{_name(newest.site)}: a name that cannot exist is being asked for{so_far}{more}"
    if newest.owner is not None:
        return f"robots.txt of {_name(newest.site)} is being fetched{so_far}{more}"
    return f"{_name(newest.site)}: no whole reply yet{so_far}{more}"


def _next(view: FrontierView, now: float) -> str:
    name = view.asked_name
    if name is not None:
        return f"the address of {name} is being looked up"
    request, retry = view.next_request(), view.next_retry()
    if retry is not None:
        due, site, url = retry
        # A URL that is tried again waits for its site as well.
        due = max(due, site.next_at)
        if request is None or due < request[0]:
            return _retry(due, site, site.tries if url is None else url.attempt, now)
    return _asleep(view, now) if request is None else _request(*request, now)


def outside_hours(state: str, view: FrontierView) -> bool:
    """Whether a crawl does nothing because all of its sites are outside of their hours."""
    return (
        state == CrawlState.RUNNING.value
        and not view.in_flight
        and view.asked_name is None
        and view.next_request() is None
        and view.next_retry() is None
        and view.asleep() is not None
    )


def _asleep(view: FrontierView, now: float) -> str:
    site = view.asleep()
    if site is None:
        return ""
    hours = site.settings.hours
    left = roughly(max(0.0, hours.opens_at - now))
    return f"{_name(site.key)} is asked {hours.configured.in_words()} only, next in {left}"


def _request(when: float, site: NamedSite, now: float) -> str:
    if when - now < _NOTICEABLE:
        return ""
    if site.held_until >= when:
        cause = "it asked for a pause"
    elif (failed := _failed(site)) is not None:
        return _retry(when, site, failed, now)
    elif site.silence:
        # Its delay grows with each request that it does not answer.
        cause = brief(site.verdict.value, detail=site.detail)
    else:
        cause = site.pace.cause if site.next_at >= when else "waitDuration"
    return f"{_name(site.key)}: {cause}, next request in {roughly(when - now)}"


def _failed(site: NamedSite) -> int | None:
    """The failed tries of the URL that is requested next; None if this is its first try."""
    url = site.ready[0]
    return (site.tries if url.owner is not None else url.attempt) or None


def _retry(when: float, site: NamedSite, failed: int, now: float) -> str:
    why = brief(site.verdict.value, detail=site.detail)
    tries = f"try {failed + 1} of {site.settings.retries + 1}"
    if site.verdict is Outcome.LOGIN_FAILED:
        # These have a number of their own, whatever retries is.
        tries = "another login"
    return f"{_name(site.key)}: {why}, {tries} in {roughly(max(0.0, when - now))}"


def _name(site: str) -> str:
    """A site without its scheme."""
    return site.partition("://")[2]
