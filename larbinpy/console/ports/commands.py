"""The commands that control a crawl: one table for the console and for POST /control.

A command runs in steps, one in each turn of the loop, so that a long one does not stop the
crawl: `explain` may search gigabytes of log, and `save` waits for the disk.

`Watchers` have a line for each URL as its outcome is decided. One that reads too slowly loses lines
and gets their number, so its memory and time are bounded.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from larbinpy.config import LIVE
from larbinpy.console.text import json_line
from larbinpy.page import Fate, reason
from larbinpy.url import masked_typed

#: Bytes of lines kept for a watcher between two of its turns: a second of a fast crawl.
_ROOM = 1 << 18


class Watcher:
    """One client of `watch`, with the lines that were not sent to it yet."""

    def __init__(self, watchers: "Watchers", word: str) -> None:
        self._watchers = watchers
        self._word = word
        self._lower = word.lower()
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._lost = 0
        #: Lines that were taken, and lines that did not fit.
        self.given = 0
        self.lost = 0

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def wants(self, fate: Fate) -> bool:
        """Whether the watched word is part of the URL, of the outcome, or of its reason."""
        return not self._word or self._word in fate.url or self._lower in _ending(fate)

    def note(self, line: bytes) -> None:
        if self._held < _ROOM and not self._lost:
            self._lines.append(line)
            self._held += len(line)
        else:
            self._lost += 1

    def take(self, most: int = _ROOM) -> Iterator[bytes]:
        """At most `most` lines; after the last one before a gap, the number of lost ones."""
        for _ in range(min(most, len(self._lines))):
            self.given += 1
            self._held -= len(self._lines[0])
            yield self._lines.popleft()
        if self._lost and not self._lines:
            self.lost += self._lost
            yield json_line({"lost": self._lost})
            self._lost = 0

    def close(self) -> None:
        self._watchers.leave(self)


class Watchers:
    """All watchers: a `FateSink`."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []

    def __len__(self) -> int:
        return len(self._watchers)

    def join(self, word: str) -> Watcher:
        """Add a watcher of URLs with this in their URL, outcome or reason; "" for all."""
        watcher = Watcher(self, word)
        self._watchers.append(watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def write(self, fate: Fate) -> None:
        line = b""
        for watcher in self._watchers:
            if watcher.wants(fate):
                line = line or json_line(fate.as_dict())
                watcher.note(line)


def _ending(fate: Fate) -> str:
    return f"{fate.outcome} {reason(fate.outcome, fate.status, fate.detail)}".lower()


class Wait(Enum):
    """Yielded by a command that has no result yet."""

    #: The command continues in the next turn.
    TURN = "turn"
    #: The command waits for something else in the loop.
    EVENT = "event"


Result = Mapping[str, object]
#: The steps of a command; the last one is its result.
CommandSteps = Iterator[Result | Wait]


class Verbs(Protocol):
    """The commands as methods, one each. A returned str is the reason of a refusal."""

    def add(
        self, url: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> str | None:
        """Add a seed; `again` fetches it even if it was seen."""

    def status(self) -> dict[str, object]: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set(self, key: str, value: str) -> str | None: ...

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        """Put a rule before all others."""

    def rules(self) -> list[dict[str, object]]: ...

    def drop_rule(self, word: str) -> int | str:
        """Drop a rule by its number or text; return the number of links that it rejected."""

    def explain(self, url: str) -> CommandSteps: ...

    def save(self) -> CommandSteps: ...

    def stop(self) -> None: ...

    def watch(self, word: str) -> Watcher:
        """Follow decided URLs with this in their URL, outcome or reason; "" for all."""


Run = Callable[[Verbs, list[str]], CommandSteps]


class Command(NamedTuple):
    """A row of the table. `arguments` is the usage, such as ``URL...`` or ``[WORD]``."""

    arguments: str
    #: None for a command of the session itself, such as quit.
    run: Run | None
    help: str

    def takes(self, count: int) -> bool:
        """Whether `count` arguments are allowed by the dots and brackets of the usage."""
        wanted = len(self.arguments.split())
        if self.arguments.startswith("["):
            return count <= wanted
        return count >= wanted if self.arguments.endswith("...") else count == wanted


def _add(verbs: Verbs, urls: list[str]) -> CommandSteps:
    reasons = [(url, verbs.add(url)) for url in urls]
    refused = [
        {"url": masked_typed(url), "reason": reason}
        for url, reason in reasons
        if reason is not None
    ]
    accepted = len(urls) - len(refused)
    yield {"ok": not refused, "accepted": accepted, "refused": refused}


def _set(verbs: Verbs, words: list[str]) -> CommandSteps:
    reason = verbs.set(words[0], " ".join(words[1:]))
    yield {"ok": True} if reason is None else _error(reason)


def _rule(accept: bool) -> Run:
    def run(verbs: Verbs, words: list[str]) -> CommandSteps:
        reason = verbs.add_rule(accept, " ".join(words))
        yield {"ok": True} if reason is None else _error(reason)

    return run


def _rules(verbs: Verbs, _words: list[str]) -> CommandSteps:
    yield {"ok": True, "rules": verbs.rules()}


def _drop(verbs: Verbs, words: list[str]) -> CommandSteps:
    dropped = verbs.drop_rule(" ".join(words))
    yield _error(dropped) if isinstance(dropped, str) else {"ok": True, "rejected": dropped}


def _status(verbs: Verbs, _words: list[str]) -> CommandSteps:
    yield {"ok": True, **verbs.status()}


def _plain(verb: Callable[[Verbs], None]) -> Run:
    """A command without arguments whose only result is ok."""

    def run(verbs: Verbs, _words: list[str]) -> CommandSteps:
        verb(verbs)
        yield {"ok": True}

    return run


def _help(_verbs: Verbs, _words: list[str]) -> CommandSteps:
    yield {"ok": True, "commands": usages(COMMANDS)}


def usages(names: Iterable[str]) -> list[str]:
    """The usage of each of these commands."""
    return [f"{name} {COMMANDS[name].arguments}".strip() for name in names]


_LIVE = ", ".join(row.keyword for row in LIVE.values())

COMMANDS = {
    "add": Command("URL...", _add, "add seeds"),
    "status": Command("", _status, "show the status of the crawl"),
    "pause": Command("", _plain(lambda verbs: verbs.pause()), "start no new requests"),
    "resume": Command("", _plain(lambda verbs: verbs.resume()), "continue after a pause"),
    "set": Command("KEY VALUE...", _set, f"change {_LIVE} for this crawl"),
    "accept": Command("PATTERN...", _rule(True), "fetch URLs that match; comes before all rules"),
    "reject": Command(
        "PATTERN...", _rule(False), "do not fetch URLs that match; comes before all rules"
    ),
    "rules": Command("", _rules, "list the rules with their numbers, sources and counts"),
    "drop": Command("NUMBER|PATTERN...", _drop, "drop a rule"),
    "explain": Command(
        "URL", lambda verbs, words: verbs.explain(words[0]), "show the status of a URL, and why"
    ),
    "watch": Command(
        "[WORD]",
        None,
        "show URLs as they are decided; WORD is part of the outcome, its reason or the URL",
    ),
    "save": Command("", lambda verbs, _words: verbs.save(), "save the state to disk now"),
    "stop": Command("", _plain(lambda verbs: verbs.stop()), "stop the crawl cleanly"),
    "help": Command("", _help, "list the commands"),
    "quit": Command("", None, "leave the console; the crawl continues"),
}


def fault(line: str, known: Sequence[str], of: str = "") -> str:
    """Why a line is no command with its arguments, of those that are `known`; "" if it is one."""
    name, *words = line.split() or [""]
    if name not in known:
        return f"unknown command {name[:40]!r}{of}; known: {', '.join(known)}"
    return "" if COMMANDS[name].takes(len(words)) else f"usage: {usages([name])[0]}"


def begin(verbs: Verbs, line: str, session: Mapping[str, Run] | None = None) -> CommandSteps:
    """The steps of one command line.

    Every result has ``ok``. If it is false, there is an ``error``, except for refused URLs.
    `session` has the commands of the session itself by name; without it they are unknown.
    """
    found = {name: command.run or (session or {}).get(name) for name, command in COMMANDS.items()}
    runs = {name: run for name, run in found.items() if run is not None}
    if why := fault(line, list(runs)):
        return iter([_error(why)])
    name, *words = line.split()
    return runs[name](verbs, words)


def _error(reason: str) -> Result:
    return {"ok": False, "error": reason}


def failure(reason: str) -> bytes:
    """An error as a line of JSON."""
    return json_line(_error(reason))
