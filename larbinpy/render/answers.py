"""Answers to requests of pages, shared between pages while they are fresh (RFC 9111).

A site's scripts and styles are the same for all its pages. What says nothing about its time is
taken for fresh as RFC 9111, 4.2.2 allows; data that scripts ask for is not.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from larbinpy.page import Page
from larbinpy.storage.caches import LruBudget

#: Bytes of all answers that are kept.
_MOST_BYTES = 64 << 20
#: Bytes of an answer besides its body.
_EACH = 1000
#: A tenth of the time since its last change, and at most this (s).
_HEURISTIC, _MOST_HEURISTIC = 0.1, 86400.0
#: Scripts and styles that say nothing of their time are fresh for this long (s).
_STATIC = 600.0
_STATIC_TYPES = frozenset({"Script", "Stylesheet"})
#: Headers that belong to the connection, or to the body as it was sent, or make a download of it.
_NOT_PASSED = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
    | {"trailer", "upgrade", "alt-svc", "strict-transport-security", "report-to", "nel"}
    | {"content-disposition"}
)
_DIRECTIVE = re.compile(r'\s*([\w-]+)(?:\s*=\s*"?([^",]*)"?)?\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """An answer as the browser gets it, and until when it is fresh."""

    values: Mapping[str, Any]
    size: int
    fresh_until: float


def answer_of(page: Page, kind: str, now: float) -> PartAnswer:
    """The answer that a reply is, to a request of the resource type `kind`."""
    values = fulfilment(page.status, page.headers, page.body)
    fresh = 0.0
    if page.status in (200, 203, 301, 308, 404, 410):
        fresh = now + freshness(page.headers, kind)
    return PartAnswer(values, len(page.body) + _EACH, fresh)


def fulfilment(
    status: int, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> Mapping[str, Any]:
    """The values of Fetch.fulfillRequest."""
    lines = [{"name": name, "value": value} for name, value in headers if name not in _NOT_PASSED]
    return {
        "responseCode": status,
        "responseHeaders": lines,
        "body": b64encode(body).decode(),
    }


def freshness(headers: Sequence[tuple[str, str]], kind: str) -> float:
    """Seconds for which a reply is fresh when it comes; 0 if it is for its own request alone."""
    by_name = dict(headers)
    control = {
        name.lower(): value for name, value in _DIRECTIVE.findall(by_name.get("cache-control", ""))
    }
    if {"no-store", "no-cache"} & control.keys() or by_name.get("vary", "").strip() == "*":
        return 0.0
    if (age := control.get("max-age")) is not None:
        left = float(age) if age.isdecimal() and len(age) < 12 else 0.0
        return max(left - _number(by_name.get("age", "")), 0.0)
    date = _moment(by_name.get("date", ""))
    if "expires" in by_name:
        until = _moment(by_name["expires"])
        return max(until - date, 0.0) if until and date else 0.0
    changed = _moment(by_name.get("last-modified", ""))
    static = _STATIC if kind in _STATIC_TYPES else 0.0
    if changed and date and kind in _STATIC_TYPES:
        static = max(static, min((date - changed) * _HEURISTIC, _MOST_HEURISTIC))
    return static


def _number(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 12 else 0.0


def _moment(text: str) -> float:
    try:
        parsed = parsedate_tz(text)
        return float(mktime_tz(parsed)) if parsed else 0.0
    except (ValueError, OverflowError, IndexError, TypeError):
        return 0.0


class Answers:
    """The answers that are fresh, by what was asked; those used least go first."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._answers: dict[str, PartAnswer] = {}
        self._budget: LruBudget[str] = LruBudget(most)

    def get(self, key: str, now: float) -> PartAnswer | None:
        """The answer to `key` if it is fresh."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found.fresh_until <= now:
            del self._answers[key]
            self._budget.discard(key)
            return None
        self._budget.use(key, found.size)
        return found

    def put(self, key: str, answer: PartAnswer, now: float) -> None:
        """Keep an answer, if it is fresh for some time."""
        if answer.fresh_until > now:
            self._answers[key] = answer
            self._budget.use(key, answer.size)
            for old in self._budget.surplus():
                del self._answers[old]
