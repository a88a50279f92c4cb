"""Values of a snapshot as text, and the lists and sections that pages are made of.

A snapshot may lack any key: a missing value is empty or a dash, never an error, as a page must
not end the crawl.
"""

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from larbinpy.console.status.markup import Child, Html, el, join
from larbinpy.console.text import grouped, roughly, size

Snapshot = Mapping[str, Any]


def group(snapshot: Snapshot, name: str) -> Mapping[str, Any]:
    found = snapshot.get(name)
    return found if isinstance(found, Mapping) else {}


def rows(within: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = within.get(name)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def number(within: Mapping[str, Any], name: str) -> float:
    """A number of the group; 0 if it is missing."""
    found = within.get(name)
    return found if isinstance(found, int | float) else 0


def figure(key: str, value: object) -> str:
    """A value as text, in the unit that the end of its key names."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return value if isinstance(value, str) else json.dumps(value, default=str)
    if "bytes" in key:
        return size(value)
    if key.endswith("_ms"):
        return f"{grouped(value)} ms"
    return roughly(value) if key.endswith("_s") else grouped(value)


def percent(part: object, whole: object) -> str:
    if not isinstance(part, int) or not isinstance(whole, int) or not whole:
        return "-"
    return f"{100 * part / whole:.1f} %"


#: Labels of keys whose own words do not explain them.
_LABELS = {
    "ip_sites": "IP sites",
    "cpu_s": "Processor time",
    "rss_bytes": "Memory",
    "peak_rss_bytes": "Peak memory",
    "fds": "Open descriptors",
    "fds_limit": "Descriptor limit",
    "loop_lag_ms": "Mean turn of the loop",
    "loop_lag_max_ms": "Longest turn",
    "handles": "Transfer limit",
    "busy": "Transfers running",
    "early": "Looked up in advance",
    "overdue": "Waiting for a repeated query",
    "rejected": "Replies that match no query",
    "ports": "UDP ports",
    "evicted": "Evicted",
    "absent": "Non-existing names",
    "absent_size": "Limit of non-existing names",
    "absent_bytes": "Memory for non-existing names",
    "failures": "Other failures",
    "stale_served": "Expired addresses used",
    "turn_ms": "Longest turn of the loop",
}


def label(key: str) -> str:
    """The label of a key; keys that are types, hosts or outcomes stay as they are."""
    if not (key.isidentifier() and key.islower()):
        return key
    if key in _LABELS:
        return _LABELS[key]
    words = key.removesuffix("_ms").removesuffix("_s").replace("_", " ")
    return words[:1].upper() + words[1:]


def section(title: str, *content: Child, class_: str | None = None) -> Html:
    return el("section", el("h2", title), *content, class_=class_)


def none(words: str) -> Html:
    """A line in place of content that is missing."""
    return el("p", words, class_="none")


def listing(within: Mapping[str, Any]) -> Html:
    """The plain values of a group as a list."""
    items = [
        el("div", el("dt", label(key)), el("dd", figure(key, value)))
        for key, value in within.items()
        if not isinstance(value, list | dict)
    ]
    return el("dl", *items, class_="list") if items else none("None.")


#: Levels of nested groups that get headings.
_DEEPEST = 3


def tree(within: Mapping[str, Any], depth: int = 0) -> Html:
    """The plain values and short lists of a group, then its groups under headings."""
    groups = {key: value for key, value in within.items() if isinstance(value, Mapping)}
    plain = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in within.items()
        if key not in groups
    }
    parts = [listing(plain)] if plain or not groups else []
    if depth < _DEEPEST:
        for key, value in groups.items():
            parts += [el("h3", label(key)), tree(value, depth + 1)]
    return join(parts)


def moment(seconds: object) -> str:
    """Unix time as date and time in UTC; text stays as it is."""
    if not isinstance(seconds, int | float):
        return str(seconds or "-")
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def ago(ts: object, now: object) -> str:
    """The time between the ISO 8601 time `ts` and the Unix time `now`, as text."""
    try:
        then = datetime.fromisoformat(str(ts)).timestamp()
    except (ValueError, OverflowError):
        return "-"
    seconds = now - then if isinstance(now, int | float) else 0.0
    return "now" if seconds < 1 else roughly(seconds)
