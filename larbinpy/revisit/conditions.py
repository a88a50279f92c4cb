"""The conditions of a request for a page that is known: RFC 9110, 13.1.

A server can be wrong about them: it has one ETag for two bodies. So one visit in some is made
without them, and a site that was found wrong is asked without them for a while.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: One visit in so many asks for the whole page.
WHOLE = 32
#: Days without conditions for a site that was wrong.
DISTRUST = 30
#: Characters; a longer one is not sent back.
_LONGEST = 500


def conditions(etag: str | None, last_modified: str | None, fetched: str) -> list[str]:
    """Header lines that ask for a page only if it has changed since `fetched` (ISO 8601).

    A Last-Modified after the visit says nothing: the clock of the server is wrong, or it sends any
    date.
    """
    lines = []
    if etag and _is_safe(etag):
        lines.append(f"If-None-Match: {etag}")
    if last_modified and _is_safe(last_modified) and _is_past(last_modified, fetched):
        lines.append(f"If-Modified-Since: {last_modified}")
    return lines


def wants_whole(key: int, visits: int) -> bool:
    """Whether the next visit of a page asks for all of it; `key` spreads the pages of a site."""
    return (key + visits) % WHOLE == 0


def was_wrong(
    old: tuple[str | None, str | None], new: tuple[str | None, str | None], *, changed: bool
) -> bool:
    """Whether a server would have said that a page is as it was, and it has `changed`.

    `old` and `new` are ETag and Last-Modified of the two visits.
    """
    decides = 0 if old[0] and new[0] else 1
    return changed and bool(old[decides]) and old[decides] == new[decides]


def _is_safe(value: str) -> bool:
    return len(value) <= _LONGEST and value.isascii() and value.isprintable()


def _is_past(last_modified: str, fetched: str) -> bool:
    try:
        modified = parsedate_to_datetime(last_modified)
    except (ValueError, TypeError, OverflowError):
        return False
    if modified.tzinfo is None:
        modified = modified.replace(tzinfo=UTC)
    try:
        return modified <= datetime.fromisoformat(fetched)
    except ValueError:
        return False
