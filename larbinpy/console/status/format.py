"""Values of a snapshot as people read them, and the plain shapes that pages put them in.

A snapshot may lack any key, as a crawl does not end because someone looked at it: what is
not there is empty here, or a dash.
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
    """A number of the group, 0 where it has none."""
    found = within.get(name)
    return found if isinstance(found, int | float) else 0


def figure(key: str, value: object) -> str:
    """A value as people read it; what it measures is told by how its key ends."""
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


#: Where a key with its first letter in capitals does not say it.
_LABELS = {
    "ip_sites": "IP sites",
    "cpu_s": "Processor time",
    "rss_bytes": "Memory",
    "peak_rss_bytes": "Most memory",
    "fds": "Open descriptors",
    "fds_limit": "Descriptors at most",
    "loop_lag_ms": "Turn of the loop",
    "loop_lag_max_ms": "Longest turn",
    "handles": "Transfers at most",
    "busy": "Transfers running",
    "early": "Asked in advance",
    "overdue": "Asked again",
    "evicted": "Pushed out",
    "absent": "Absent names",
    "absent_size": "Absent names at most",
    "absent_bytes": "Memory for absent names",
    "failures": "Other failures",
    "stale_served": "Old addresses used",
    "turn_ms": "Longest turn of the loop",
}


def label(key: str) -> str:
    """What a key is called; one that is a type, a host or an outcome stays as it is."""
    if not (key.isidentifier() and key.islower()):
        return key
    if key in _LABELS:
        return _LABELS[key]
    words = key.removesuffix("_ms").removesuffix("_s").replace("_", " ")
    return words[:1].upper() + words[1:]


def section(title: str, *content: Child, class_: str | None = None) -> Html:
    return el("section", el("h2", title), *content, class_=class_)


def none(words: str) -> Html:
    """What stands where there is nothing to show."""
    return el("p", words, class_="none")


def listing(within: Mapping[str, Any]) -> Html:
    """All plain values of a group, one below the other."""
    items = [
        el("div", el("dt", label(key)), el("dd", figure(key, value)))
        for key, value in within.items()
        if not isinstance(value, list | dict)
    ]
    return el("dl", *items, class_="list") if items else none("None.")


#: Dicts within dicts that are shown with headings of their own.
_DEEPEST = 3


def tree(within: Mapping[str, Any], depth: int = 0) -> Html:
    """The plain values and short lists of a group, then the groups within it by name."""
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
    """Unix time as people read it, in UTC; a time that is text already stays."""
    if not isinstance(seconds, int | float):
        return str(seconds or "-")
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def ago(ts: object, now: object) -> str:
    """How long before the Unix time `now` the ISO 8601 time `ts` was."""
    try:
        then = datetime.fromisoformat(str(ts)).timestamp()
    except (ValueError, OverflowError):
        return "-"
    seconds = now - then if isinstance(now, int | float) else 0.0
    return "now" if seconds < 1 else roughly(seconds)
