"""The crawl log, ``crawl.jsonl``, a JSON object a line for each decided URL; and ``--report``.

The report is one JSON object about the whole crawl.
"""

import json
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path

from larbinpy.page import Fate
from larbinpy.storage.files import LineFile, write_atomic
from larbinpy.storage.state import Journal


def line(fate: Fate) -> bytes:
    """Return `fate` as a line: printable ASCII, whatever servers sent, and a newline.

    The text is that of json.dumps for `Fate.as_dict`, made in a quarter of the time.
    """
    text = (
        f'{{"ts": "{fate.ts}", "url": {quoted(fate.url)}, "outcome": "{fate.outcome}", '
        f'"status": {fate.status}, "size": {fate.size}, "type": {quoted(fate.type)}, '
        f'"depth": {fate.depth}, "via": {_or_null(fate.via)}, "ip": {_or_null(fate.ip)}, '
        f'"ms": {fate.ms}, "attempt": {fate.attempt}'
    )
    if fate.detail:
        text += f', "detail": {quoted(fate.detail)}'
    if fate.requisite:
        text += ', "requisite": true'
    if fate.truncated:
        text += f', "truncated": "{fate.truncated}"'
    if fate.rendered:
        text += f', "rendered": {json.dumps(fate.rendered)}'
    return text.encode("ascii") + b"}\n"


def _or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)


class CrawlLog(Journal):
    """Appends lines to the log at `path`; a last line that a kill has torn is cut off first."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        super().__init__(LineFile(path))

    def write(self, fate: Fate) -> None:
        self._waiting.append(line(fate))

    def reopen(self) -> OSError | None:
        """Continue in a new file if the old one was renamed (log rotation).

        If the new file cannot be opened, returns the error and continues in the old one. Raises
        `OSError` if writing the old one fails.
        """
        self.flush()
        # No later checkpoint syncs the lines of the old file.
        self._file.sync()
        try:
            # If the file was not renamed, it stays open: its lock would refuse a second opening.
            new = None if self._file.is_at(self.path) else LineFile(self.path)
        except OSError as error:
            return error
        if new is not None:
            self._file.close()
            self._file = new
        return None

    # For searches in the log:

    @property
    def size(self) -> int:
        """The number of bytes written."""
        return self._file.size

    def read(self, size: int, offset: int) -> bytes:
        """Return at most `size` of these bytes, from `offset` on."""
        return self._file.read(size, offset)

    def last_waiting(self, text: bytes) -> bytes | None:
        """Return the last line with `text` among those that still wait."""
        return next((line for line in reversed(self._waiting) if text in line), None)


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
    left_out: Mapping[str, object],
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
        "left_out": dict(left_out),
    }


def write_report(path: str | os.PathLike[str], report: Mapping[str, object]) -> None:
    """Write `report` to `path`, as `write_pieces` does."""
    write_pieces(path, [json.dumps(report, indent=2) + "\n"])


def write_pieces(path: str | os.PathLike[str], pieces: Iterable[str]) -> None:
    """Write a report in `pieces` to `path`, completely or not at all. Raises `OSError`.

    A file is replaced; a link to a file stays a link. A pipe or a device (``/dev/stdout``) is
    written to, and so is standard output, by the name "-".
    """
    encoded = (piece.encode("utf-8", "replace") for piece in pieces)
    if os.fspath(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.writelines(encoded)
        sys.stdout.flush()
    elif _is_special(path):
        with open(path, "wb") as file:
            file.writelines(encoded)
    else:
        write_atomic(os.path.realpath(path), encoded)


def _is_special(path: str | os.PathLike[str]) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
