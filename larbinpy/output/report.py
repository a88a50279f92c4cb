"""The report of ``--report``: one JSON object about the whole crawl."""

import json
import os
import stat
from collections.abc import Mapping

from larbinpy.storage.files import write_atomic

_TOTALS = ("links", "urls_seen", "urls_queued", "bytes_received", "sites", "addresses")
_ROBOTS = ("fetched", "denied")
_DNS = ("asked", "sent", "answered", "cached", "failed")


def build_report(
    *,
    version: str,
    started: str,
    elapsed_s: float,
    cpu_s: float,
    peak_rss_bytes: int,
    stop_reason: str,
    exit_code: int,
    totals: Mapping[str, int],
    outcomes: Mapping[str, int],
    robots: Mapping[str, int],
    dns: Mapping[str, object],
) -> dict[str, object]:
    """Return the report's object, with its keys in the documented order.

    `started` is ISO 8601; `totals`, `robots` and `dns` are those of a snapshot, which may hold
    more than the report does. Raises `KeyError` if one lacks a count.
    """
    return {
        "version": version,
        "started": started,
        "elapsed_s": round(elapsed_s, 3),
        "cpu_s": round(cpu_s, 3),
        "peak_rss_bytes": peak_rss_bytes,
        "stop_reason": stop_reason,
        "exit_code": exit_code,
        "pages": totals["pages"],
        "success": totals["success"],
        "outcomes": dict(outcomes),
        **{key: totals[key] for key in _TOTALS},
        "robots": {key: robots[key] for key in _ROBOTS},
        "dns": {key: dns[key] for key in _DNS},
        "retries": totals["retries"],
    }


def write_report(path: str | os.PathLike[str], report: Mapping[str, object]) -> None:
    """Write `report` to `path`, completely or not at all. Raises `OSError`.

    A file is replaced; a link to a file stays a link. A pipe or a device (``/dev/stdout``) is
    written to.
    """
    text = json.dumps(report, indent=2) + "\n"
    if _is_special(path):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    else:
        write_atomic(os.path.realpath(path), (text.encode("ascii"),))


def _is_special(path: str | os.PathLike[str]) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
