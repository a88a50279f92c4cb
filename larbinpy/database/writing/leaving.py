"""The rules by which a page leaves the index, after a visit that did not find it.

A server that is being repaired answers 404 or redirects for a while, and the copy in the database
may be the last one. So only what a server says for good counts at once: 410, a request not to be
indexed, and a permanent redirect to a page that the index has. All else has to be so on two visits
that are at least a day apart. Failures (5xx, timeouts, refused logins) are no visits at all.
"""

from datetime import datetime, timedelta
from enum import Enum, auto
from http import HTTPStatus

from larbinpy.database.prepared import Gone

_DAY = timedelta(days=1)
#: Redirects for good (RFC 9110, 15.4.2 and 15.4.9).
PERMANENT = (HTTPStatus.MOVED_PERMANENTLY.value, HTTPStatus.PERMANENT_REDIRECT.value)


class Verdict(Enum):
    #: The visit says nothing of the page.
    IGNORE = auto()
    #: The page stays, and its row says since when it is missing.
    KEEP = auto()
    LEAVE = auto()


def verdict(gone: Gone, missing: str | None, *, has_target: bool) -> Verdict:
    """The fate of a page that is in the index.

    `missing`: since when its URL has answered without it, ISO 8601; None if this is the first time.
    `has_target`: the index has the page that it redirects to.
    """
    if gone.target == gone.url:
        return Verdict.IGNORE  # so servers set a cookie
    if gone.status in PERMANENT and has_target:
        return Verdict.LEAVE
    if 300 <= gone.status < 400 and gone.status != HTTPStatus.NOT_MODIFIED:
        return _confirmed(gone, missing)
    return _confirmed(gone, missing) if gone.status == HTTPStatus.NOT_FOUND else Verdict.LEAVE


def _confirmed(gone: Gone, missing: str | None) -> Verdict:
    day_before = datetime.fromisoformat(gone.fetched) - _DAY
    is_old = missing is not None and missing <= f"{day_before:%Y-%m-%dT%H:%M:%SZ}"
    return Verdict.LEAVE if is_old else Verdict.KEEP
