"""The findings of the status page: the state of the crawl at a glance, from a snapshot."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from larbinpy.console.status.format import Snapshot, group, number, rows
from larbinpy.console.text import grouped, roughly
from larbinpy.exit_status import CrawlState

#: A turn of the loop this long (ms) delays sockets noticeably.
_LONG_TURN = 250
#: Warnings are shown if this share of descriptors is in use, or of the last minute's URLs failed.
_NEARLY_ALL = 0.9
_MANY_FAIL = 0.25
#: No warning is shown if there are fewer failures than this.
_FEW = 10
#: Seconds after the start in which no warnings about speed are shown.
_BEGINNING = 60


class Level(Enum):
    """How urgent a finding is; the value is the word on the page."""

    GOOD = "All well"
    NOTE = "Note"
    WARNING = "Warning"
    TROUBLE = "Trouble"


class Finding(NamedTuple):
    level: Level
    text: str


_STATES = {
    CrawlState.WAITING.value: Finding(
        Level.NOTE, "The crawl has no work left and waits for seeds."
    ),
    CrawlState.PAUSED.value: Finding(Level.NOTE, "The crawl is paused: no new requests are made."),
    CrawlState.STOPPING.value: Finding(
        Level.NOTE, "The crawl is stopping: only the transfers in flight are finished."
    ),
    CrawlState.FINISHED.value: Finding(Level.NOTE, "The crawl has ended; everything is saved."),
    CrawlState.DISK_FULL.value: Finding(
        Level.TROUBLE, "The disk is full: the crawl waits for free space."
    ),
}
_URGENT = tuple(reversed(Level))


def findings(snapshot: Snapshot) -> list[Finding]:
    """The findings, the most urgent first; never empty."""
    found = [*_state(snapshot), *_servers(snapshot), *_database(snapshot), *_fleet(snapshot)]
    found += [*_pages(snapshot), *_process(snapshot)]
    if not found:
        return [Finding(Level.GOOD, "Pages arrive, name servers answer, nothing is delayed.")]
    return sorted(found, key=lambda finding: _URGENT.index(finding.level))


def _state(snapshot: Snapshot) -> Iterator[Finding]:
    state = snapshot.get("state")
    if state in _STATES:
        yield _STATES[state]
    elif snapshot.get("outside_hours"):
        yield Finding(Level.NOTE, "No requests are made until the hours of a site begin (hours).")


def _servers(snapshot: Snapshot) -> Iterator[Finding]:
    servers = rows(group(snapshot, "dns"), "servers")
    silent = [str(server.get("address")) for server in servers if server.get("resting")]
    if silent and len(silent) == len(servers):
        yield Finding(Level.TROUBLE, f"No name server answers: {', '.join(silent)}.")
    elif silent:
        text = f"Name servers that do not answer: {', '.join(silent)}; the others are used."
        yield Finding(Level.WARNING, text)


def _database(snapshot: Snapshot) -> Iterator[Finding]:
    database = group(group(snapshot, "output"), "database")
    trouble = database.get("trouble")
    if trouble:
        yield Finding(Level.WARNING, f"The database takes no pages: {trouble}.")
    gate = group(snapshot, "gate")
    if database and "spoolMax" in str(gate.get("reason")):
        text = f"No page is requested: {gate.get('reason')}."
        yield Finding(Level.WARNING if trouble else Level.NOTE, text)


def _fleet(snapshot: Snapshot) -> Iterator[Finding]:
    trouble = group(snapshot, "fleet").get("trouble")
    if trouble:
        yield Finding(Level.WARNING, f"This node waits for Redis: {trouble}.")


def _pages(snapshot: Snapshot) -> Iterator[Finding]:
    """Findings about the pages of the last minute."""
    if snapshot.get("state") != CrawlState.RUNNING.value or snapshot.get("outside_hours"):
        return
    pages, success, failed = (_last_minute(snapshot, n) for n in ("pages", "success", "failed"))
    known = bool(_minute(snapshot).get("pages"))
    queued = number(group(snapshot, "totals"), "urls_queued")
    if known and not pages and queued and number(group(snapshot, "run"), "elapsed_s") >= _BEGINNING:
        text = f"No reply came in the last minute, although {grouped(queued)} URLs wait."
        yield Finding(Level.WARNING, text)
    if failed >= _FEW and failed > _MANY_FAIL * (failed + success):
        part = f"{100 * failed / (failed + success):.0f} %"
        text = f"{part} of the last minute's URLs failed: no connection, timeouts, server errors."
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    busy, handles = _minute(snapshot).get("busy") or [0], number(system, "handles")
    if (
        handles
        and min(busy) >= handles
        and number(group(snapshot, "run"), "elapsed_s") >= _BEGINNING
    ):
        text = (
            f"All {grouped(handles)} transfers were in use for the last minute (pagesConnexions)."
        )
        yield Finding(Level.NOTE, text)


def _process(snapshot: Snapshot) -> Iterator[Finding]:
    longest = max(_minute(snapshot).get("turn_ms") or [0])
    if longest >= _LONG_TURN:
        text = f"One turn of the loop took {roughly(longest / 1000)} in the last minute."
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    fds, limit = number(system, "fds"), number(system, "fds_limit")
    if 0 < limit * _NEARLY_ALL <= fds:
        text = f"{grouped(fds)} of {grouped(limit)} descriptors are in use (ulimit -n)."
        yield Finding(Level.WARNING, text)


def _minute(snapshot: Snapshot) -> Snapshot:
    return group(group(group(snapshot, "history"), "minute"), "series")


def _last_minute(snapshot: Snapshot, name: str) -> float:
    """The sum of a series over the last minute; 0 if it is missing."""
    return round(sum(_minute(snapshot).get(name) or ()))
