"""The command mode of the input port: one command a line, one JSON answer a line."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from larbinpy.console.text import json_line


class Verbs(Protocol):
    """What people may do to a crawl. A returned str is the reason of a refusal."""

    def add(
        self, url: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> str | None:
        """Add a seed; `again` fetches it even when it was seen."""

    def status(self) -> dict[str, object]: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set(self, key: str, value: str) -> str | None: ...

    def explain(self, url: str) -> dict[str, object]: ...

    def save(self) -> None: ...

    def stop(self) -> None: ...


Answer = Mapping[str, object]


class Command(NamedTuple):
    """A command: the arguments as people are told them, and what it does."""

    arguments: str
    run: Callable[[Verbs, list[str]], Answer]

    def takes(self, count: int) -> bool:
        """Whether `count` arguments are right; a name that ends in dots may be repeated."""
        wanted = len(self.arguments.split())
        return count >= wanted if self.arguments.endswith("...") else count == wanted


def _add(verbs: Verbs, urls: list[str]) -> Answer:
    reasons = [(url, verbs.add(url)) for url in urls]
    refused = [{"url": url, "reason": reason} for url, reason in reasons if reason is not None]
    accepted = len(urls) - len(refused)
    return {"ok": not refused, "accepted": accepted, "refused": refused}


def _set(verbs: Verbs, words: list[str]) -> Answer:
    reason = verbs.set(*words)
    return {"ok": True} if reason is None else {"ok": False, "error": reason}


def _plain(verb: Callable[[Verbs], None]) -> Command:
    """A command without arguments that has nothing to tell."""

    def run(verbs: Verbs, _words: list[str]) -> Answer:
        verb(verbs)
        return {"ok": True}

    return Command("", run)


def _help(_verbs: Verbs, _words: list[str]) -> Answer:
    return {"ok": True, "commands": [f"{name} {COMMANDS[name][0]}".strip() for name in COMMANDS]}


COMMANDS = {
    "add": Command("URL...", _add),
    "status": Command("", lambda verbs, _: {"ok": True, **verbs.status()}),
    "pause": _plain(lambda verbs: verbs.pause()),
    "resume": _plain(lambda verbs: verbs.resume()),
    "set": Command("KEY VALUE", _set),
    "explain": Command("URL", lambda verbs, words: {"ok": True, **verbs.explain(words[0])}),
    "save": _plain(lambda verbs: verbs.save()),
    "stop": _plain(lambda verbs: verbs.stop()),
    "help": Command("", _help),
    "quit": Command("", lambda _verbs, _words: {"ok": True}),
}


def answer(verbs: Verbs, line: str) -> bytes:
    """Carry out one command line; the answer as one line of JSON.

    Every answer has ``ok``; where that is false for another reason than refused URLs, an
    ``error`` says why.
    """
    name, *words = line.split()
    command = COMMANDS.get(name)
    if command is None:
        known = ", ".join(COMMANDS)
        return json_line({"ok": False, "error": f"unknown command {name[:40]!r}; known: {known}"})
    if not command.takes(len(words)):
        usage = f"{name} {command.arguments}".strip()
        return json_line({"ok": False, "error": f"usage: {usage}"})
    return json_line(command.run(verbs, words))
