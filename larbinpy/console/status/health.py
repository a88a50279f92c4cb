"""Is all well? What a person who looks for a second is told, decided from a snapshot."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from larbinpy.console.status.format import Snapshot, group, number, rows
from larbinpy.console.text import grouped, roughly

#: A turn of the loop that long keeps sockets waiting so that it shows (ms).
_LONG_TURN = 250
#: Of the descriptors and of the last minute's URLs, from where on it is worth a word.
_NEARLY_ALL = 0.9
_MANY_FAIL = 0.25
#: Failures that are too few to say anything.
_FEW = 10
#: A crawl is given this long to begin (s).
_BEGINNING = 60


class Level(Enum):
    """How urgent it is, in the word that is shown."""

    GOOD = "All well"
    NOTE = "Note"
    WARNING = "Warning"
    TROUBLE = "Trouble"


class Finding(NamedTuple):
    level: Level
    text: str


_STATES = {
    "waiting": Finding(Level.NOTE, "The crawl has nothing to do: it waits for seeds."),
    "paused": Finding(Level.NOTE, "The crawl is paused: no new requests are made."),
    "stopping": Finding(Level.NOTE, "The crawl is ending: only what is under way is finished."),
    "finished": Finding(Level.NOTE, "The crawl is over; everything is decided and saved."),
    "disk full": Finding(Level.TROUBLE, "The disk is full: the crawl waits until there is room."),
}
_URGENT = tuple(reversed(Level))


def findings(snapshot: Snapshot) -> list[Finding]:
    """What there is to say, the most urgent first; never nothing."""
    found = [*_state(snapshot), *_servers(snapshot), *_pages(snapshot), *_process(snapshot)]
    if not found:
        return [Finding(Level.GOOD, "Pages come in, name servers answer, nothing is held up.")]
    return sorted(found, key=lambda finding: _URGENT.index(finding.level))


def _state(snapshot: Snapshot) -> Iterator[Finding]:
    state = snapshot.get("state")
    if state in _STATES:
        yield _STATES[state]


def _servers(snapshot: Snapshot) -> Iterator[Finding]:
    servers = rows(group(snapshot, "dns"), "servers")
    silent = [str(server.get("address")) for server in servers if server.get("resting")]
    if silent and len(silent) == len(servers):
        yield Finding(Level.TROUBLE, f"No name server answers: {', '.join(silent)}.")
    elif silent:
        text = f"Name servers that do not answer: {', '.join(silent)}; the others are asked."
        yield Finding(Level.WARNING, text)


def _pages(snapshot: Snapshot) -> Iterator[Finding]:
    """How the last minute went."""
    if snapshot.get("state") != "running":
        return
    pages, success, failed = (_last_minute(snapshot, n) for n in ("pages", "success", "failed"))
    known = bool(_minute(snapshot).get("pages"))
    queued = number(group(snapshot, "totals"), "urls_queued")
    if known and not pages and queued and number(snapshot, "elapsed_s") >= _BEGINNING:
        text = f"No page came in the last minute, although {grouped(queued)} URLs wait."
        yield Finding(Level.WARNING, text)
    if failed >= _FEW and failed > _MANY_FAIL * (failed + success):
        part = f"{100 * failed / (failed + success):.0f} %"
        text = f"{part} of the last minute's URLs failed: nobody there, time-outs, server errors."
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    busy, handles = _minute(snapshot).get("busy") or [0], number(system, "handles")
    if handles and min(busy) >= handles and number(snapshot, "elapsed_s") >= _BEGINNING:
        text = f"All {grouped(handles)} transfers were in use all minute (pagesConnexions)."
        yield Finding(Level.NOTE, text)


def _process(snapshot: Snapshot) -> Iterator[Finding]:
    longest = max(_minute(snapshot).get("turn_ms") or [0])
    if longest >= _LONG_TURN:
        text = f"The loop was held up for {roughly(longest / 1000)} within the last minute."
        yield Finding(Level.WARNING, text)
    system = group(snapshot, "system")
    fds, limit = number(system, "fds"), number(system, "fds_limit")
    if 0 < limit * _NEARLY_ALL <= fds:
        text = f"{grouped(fds)} of {grouped(limit)} descriptors are in use (ulimit -n)."
        yield Finding(Level.WARNING, text)


def _minute(snapshot: Snapshot) -> Snapshot:
    return group(group(group(snapshot, "history"), "minute"), "series")


def _last_minute(snapshot: Snapshot, name: str) -> float:
    """How many there were in the last minute, where nothing is known about it: 0."""
    return round(sum(_minute(snapshot).get(name) or ()))
