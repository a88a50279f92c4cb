"""The progress of a command on its terminal: a bar, log lines, or nothing.

The progress of a crawl, including its times, comes from snapshots, so no clock is read here. (tqdm
reads a clock of its own for the rate in its bar.)
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO

from larbinpy.console.text import (
    counted,
    duration,
    estimate,
    grouped,
    printable,
    reader_may_leave,
    size,
)
from larbinpy.errors import Ending
from larbinpy.loop.clock import wall

if TYPE_CHECKING:
    from tqdm import tqdm

#: Seconds between lines; Larbin's.
_EVERY = 8.0
#: The size of a terminal that reports none; tqdm would show nothing.
_SHAPE = {"ncols": 80, "nrows": 24}

#: The bar of a crawl, with and without limitPage. Rates and estimates are those of the snapshot.
_LIMITED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
_UNLIMITED = "{n_fmt}{unit} [{elapsed}{postfix}]"
#: The bar of a source of pages.
_SOURCE = "{desc} {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]"
_LONGEST_NAME = 30
_COMMA = ", "
#: A crawl that ended before this (s) has no rates yet.
_YOUNG = 2.0
_ENDED = {ending.reason for ending in Ending}
#: Columns for the text beside the bar, even if it is cut.
_LEAST = 20

Snapshot = Mapping[str, Any]


class Progress(Protocol):
    """Shows the progress of a crawl; `update` may be called every turn."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None: ...


class Terminal(Progress, Protocol):
    """Progress that also prints messages."""

    def say(self, line: str) -> None: ...


def make_progress(mode: str, stream: TextIO, limit: int | None) -> Terminal:
    """The progress for `mode`: auto, bar, log or none.

    auto is a bar if `stream` is a terminal, else log lines. `limit` is the number of pages
    after which the crawl ends; None or 0 if there is no limit.
    """
    if mode == "auto":
        mode = "bar" if stream.isatty() else "log"
    match mode:
        case "bar":
            return BarProgress(stream, limit or None)
        case "log":
            return LogProgress(stream)
        case "none":
            return NoProgress(stream)
    raise ValueError(f"progress must be auto, bar, log or none, not {mode!r}")


def status_line(snapshot: Snapshot) -> str:
    """The crawl in one line: for the log, and for SIGUSR1."""
    totals, rates = snapshot.get("totals") or {}, snapshot.get("rates") or {}
    if snapshot.get("state") in _ENDED and _run(snapshot, "elapsed_s") < _YOUNG:
        rates = _averages(snapshot)
    parts = [
        f"{duration(snapshot.get('elapsed_s') or 0)} {snapshot.get('state', '')}",
        f"pages {_count(totals, 'success')} ({_count(rates, 'success')}/s)",
        f"replies {_count(totals, 'pages')}",
        f"links {_count(totals, 'links')}",
        f"queued {_count(totals, 'urls_queued')}",
        f"sites {_count(totals, 'sites')}",
        f"received {size(totals.get('bytes_received') or 0)} ({size(rates.get('bytes') or 0)}/s)",
        *(part for part in _outlook(snapshot) if part != snapshot.get("state")),
    ]
    return printable("  ".join(parts))


def _averages(snapshot: Snapshot) -> dict[str, float]:
    """The rates of the whole run."""
    elapsed = _run(snapshot, "elapsed_s")
    counts = {"success": _run(snapshot, "success"), "bytes": _run(snapshot, "bytes_received")}
    return {name: count / elapsed if elapsed else 0.0 for name, count in counts.items()}


def _outlook(snapshot: Snapshot) -> list[str]:
    """The time that is left, and what the crawl waits for, as far as they are known."""
    left = estimate(snapshot.get("left_s"))
    parts = (f"{left} left" if left else "", str(snapshot.get("waits_for") or ""))
    return [part for part in parts if part]


def stats_lines(snapshot: Snapshot, limit_time: float = 0.0) -> str:
    """Larbin's printStats block; `limit_time` is limitTime in seconds, 0 for none."""
    totals, rates = snapshot.get("totals") or {}, snapshot.get("rates") or {}
    rows = (("urls", "links", "links"), ("pages", "pages", "pages"),
            ("success", "success", "success"))  # fmt: skip
    lines = ["", time.ctime(snapshot.get("now") or 0)]
    for label, total, rate in rows:
        lines.append(f"{label + ' :':<10}{totals.get(total, 0)}\t(rate : {_count(rates, rate)})")
    if limit_time > 0:
        left = max(limit_time - _run(snapshot, "elapsed_s"), 0)
        lines.append(f"Remaining Time: {duration(left)}")
    return "\n".join(lines) + "\n"


def _run(snapshot: Snapshot, key: str) -> Any:
    """A number of this run, to which the limits apply."""
    return (snapshot.get("run") or {}).get(key) or 0


def _count(group: Snapshot, key: str) -> str:
    return grouped(group.get(key) or 0)


class _Every:
    """Becomes due whenever `_EVERY` seconds of this run have passed."""

    def __init__(self) -> None:
        self._next = _EVERY

    def due(self, snapshot: Snapshot) -> bool:
        elapsed = _run(snapshot, "elapsed_s")
        if elapsed < self._next:
            return False
        self._next = elapsed - elapsed % _EVERY + _EVERY
        return True


class PrintStats:
    """printStats: Larbin's block every 8 s."""

    def __init__(self, stream: TextIO, limit_time: float = 0.0) -> None:
        self._stream = stream
        self._limit_time = limit_time
        self._every = _Every()

    def update(self, snapshot: Snapshot) -> None:
        if self._every.due(snapshot):
            with reader_may_leave(self._stream):
                self._stream.write(stats_lines(snapshot, self._limit_time))
                self._stream.flush()

    def close(self) -> None:
        with reader_may_leave(self._stream):
            self._stream.flush()


class NoProgress:
    """Shows nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def update(self, snapshot: Snapshot) -> None:
        pass

    def say(self, line: str) -> None:
        with reader_may_leave(self._stream):
            self._stream.write(line + "\n")
            self._stream.flush()

    def close(self) -> None:
        pass


class LogProgress(NoProgress):
    """A line every 8 s, and one at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._every = _Every()
        self._last: Snapshot | None = None
        self._shown = ""

    def update(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        if self._every.due(snapshot):
            self._show(snapshot)

    def close(self) -> None:
        if self._last is not None:
            self._show(self._last)
            self._last = None

    def _show(self, snapshot: Snapshot) -> None:
        line = status_line(snapshot)
        if line != self._shown:
            self._shown = line
            self.say(line)


class BarProgress:
    """A tqdm bar of successful pages, which limitPage counts; earlier runs are included.

    So is their time: a node that joins anew goes on with its clock.
    """

    def __init__(self, stream: TextIO, limit: int | None) -> None:
        self._stream = stream
        self._limit = limit
        self._earlier = 0
        self._bar = _bar(stream, limit, " pages")
        self._bar.bar_format = _LIMITED if limit else _UNLIMITED

    def update(self, snapshot: Snapshot) -> None:
        pages = (snapshot.get("totals") or {}).get("success") or 0
        self._begin_at(pages - _run(snapshot, "success"))
        # The time of tqdm, less what it has to show as elapsed.
        self._bar.start_t = wall() - (snapshot.get("elapsed_s") or 0)
        text = printable(_postfix(snapshot), self._room(pages))
        self._bar.set_postfix_str(text, refresh=False)
        with reader_may_leave(self._stream):
            self._bar.update(pages - self._bar.n)

    def _begin_at(self, earlier: int) -> None:
        """Show that so many pages came from earlier runs: not in the limit."""
        if earlier != self._earlier:
            self._earlier = self._bar.initial = self._bar.n = earlier
            self._bar.total = self._limit and self._limit + earlier

    def _room(self, pages: int) -> int | None:
        """Columns for the text beside the counts; None if tqdm cuts it, as it does with a bar."""
        if self._bar.total:
            return None
        self._bar.set_postfix_str("", refresh=False)
        taken = len(str(self._bar)) - len(str(self._bar.n)) + len(f"{pages}{_COMMA}")
        return max((self._bar.format_dict["ncols"] or _SHAPE["ncols"]) - taken, _LEAST)

    def say(self, line: str) -> None:
        """Write a line above the bar."""
        with reader_may_leave(self._stream):
            self._bar.clear()
            self._stream.write(line + "\n")
            self._stream.flush()

    def close(self) -> None:
        with reader_may_leave(self._stream):
            self._bar.close()


def _postfix(snapshot: Snapshot) -> str:
    """The figures beside the bar, the most important ones first, as the end may be cut."""
    totals, rates = snapshot.get("totals") or {}, snapshot.get("rates") or {}
    outlook = _outlook(snapshot)
    queued = f"{_count(totals, 'urls_queued')} queued"
    if snapshot.get("waits_for"):
        return _COMMA.join([*outlook, queued])
    state = snapshot.get("state")
    parts = [
        *([] if state == "running" else [str(state)]),
        f"{_count(rates, 'success')} pages/s",
        *outlook,
        f"{_count(totals, 'pages')} replies",
        queued,
        f"{size(rates.get('bytes') or 0)}/s",
    ]
    return _COMMA.join(parts)


class NamesBar:
    """A tqdm bar of resolved names.

    With `shared`, results go to the same terminal: write them between `clear` and `update`.
    """

    def __init__(self, stream: TextIO, total: int | None, *, shared: bool) -> None:
        self._stream = stream
        self._shared = shared
        self._cleared = False
        self._bar = _bar(stream, total, " names")

    def clear(self) -> None:
        """Remove the bar for lines of output."""
        if self._shared:
            self._cleared = True
            with reader_may_leave(self._stream):
                self._bar.clear()

    def update(self, names: int) -> None:
        """Advance the bar by `names`."""
        with reader_may_leave(self._stream):
            if not self._bar.update(names) and self._cleared:
                self._bar.refresh()
        self._cleared = False

    def close(self) -> None:
        with reader_may_leave(self._stream):
            self._bar.close()


class PagesBar:
    """A tqdm bar of a source of pages, `total` long; without a terminal nothing is shown."""

    def __init__(self, stream: TextIO, name: str, total: int) -> None:
        self._stream = stream
        self._bar = _bar(stream, total, " pages") if stream.isatty() else None
        if self._bar is not None:
            self._bar.bar_format = _SOURCE
            self._bar.leave = False
            self._bar.set_description_str(printable(name, _LONGEST_NAME), refresh=False)

    def update(self, done: int, pages: int | None = None) -> None:
        """Show that so much of the source is read, and how many pages it had."""
        if self._bar is not None:
            if pages is not None:
                self._bar.set_postfix_str(counted(pages, "page"), refresh=False)
            with reader_may_leave(self._stream):
                self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            with reader_may_leave(self._stream):
                self._bar.close()


def _bar(stream: TextIO, total: int | None, unit: str) -> "tqdm[NoReturn]":
    # Imported here, as it takes as long as everything else that `resolve` imports.
    from tqdm import tqdm

    # Without this, tqdm starts a thread that watches for bars without updates.
    tqdm.monitor_interval = 0
    # With a delay, tqdm writes nothing here, outside of `reader_may_leave`.
    return tqdm(
        total=total,
        file=stream,
        unit=unit,
        mininterval=0.2,
        miniters=0,
        delay=1e-9,
        **_shape(stream),
    )


def _shape(stream: TextIO) -> dict[str, Any]:
    """Arguments that make the bar as wide as the terminal."""
    with suppress(OSError):
        if not os.get_terminal_size(stream.fileno()).columns:
            return _SHAPE
    return {"dynamic_ncols": True}
