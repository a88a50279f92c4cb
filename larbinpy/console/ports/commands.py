"""The verbs by which people steer a crawl: one table for the console and for POST /control.

A command is carried out in steps, one a turn of the loop, so that none holds the crawl up
however long it takes: what `explain` looks for may be gigabytes away, and `save` waits for the
disk.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from larbinpy.console.ports.watching import Watcher
from larbinpy.console.text import json_line


class Wait(Enum):
    """A step of a command that has no answer yet."""

    #: There is more to do in the next turn.
    TURN = "turn"
    #: It waits for something else that happens in the loop.
    EVENT = "event"


Result = Mapping[str, object]
#: The steps of a command; the last one is its answer.
CommandSteps = Iterator[Result | Wait]


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

    def explain(self, url: str) -> CommandSteps: ...

    def save(self) -> CommandSteps: ...

    def stop(self) -> None: ...

    def watch(self, word: str) -> Watcher:
        """Follow the fates with this outcome or text in their URL; "" is for all."""


Run = Callable[[Verbs, list[str]], CommandSteps]


class Command(NamedTuple):
    """A command: the arguments as people are told them, and what it does."""

    arguments: str
    #: None where that is the business of the conversation in which it is given.
    run: Run | None
    help: str

    def takes(self, count: int) -> bool:
        """Whether `count` arguments are right; dots are for more, brackets for none as well."""
        wanted = len(self.arguments.split())
        if self.arguments.startswith("["):
            return count <= wanted
        return count >= wanted if self.arguments.endswith("...") else count == wanted


def _add(verbs: Verbs, urls: list[str]) -> CommandSteps:
    reasons = [(url, verbs.add(url)) for url in urls]
    refused = [{"url": url, "reason": reason} for url, reason in reasons if reason is not None]
    accepted = len(urls) - len(refused)
    yield {"ok": not refused, "accepted": accepted, "refused": refused}


def _set(verbs: Verbs, words: list[str]) -> CommandSteps:
    reason = verbs.set(*words)
    yield {"ok": True} if reason is None else _error(reason)


def _status(verbs: Verbs, _words: list[str]) -> CommandSteps:
    yield {"ok": True, **verbs.status()}


def _plain(verb: Callable[[Verbs], None]) -> Run:
    """What has no arguments and nothing to tell."""

    def run(verbs: Verbs, _words: list[str]) -> CommandSteps:
        verb(verbs)
        yield {"ok": True}

    return run


def _help(_verbs: Verbs, _words: list[str]) -> CommandSteps:
    usages = [f"{name} {command.arguments}".strip() for name, command in COMMANDS.items()]
    yield {"ok": True, "commands": usages}


COMMANDS = {
    "add": Command("URL...", _add, "add seeds"),
    "status": Command("", _status, "how the crawl stands"),
    "pause": Command("", _plain(lambda verbs: verbs.pause()), "open no new request"),
    "resume": Command("", _plain(lambda verbs: verbs.resume()), "go on after a pause"),
    "set": Command("KEY VALUE", _set, "change a setting from the next request on"),
    "explain": Command(
        "URL", lambda verbs, words: verbs.explain(words[0]), "where a URL stands, and why"
    ),
    "watch": Command("[WORD]", None, "follow fates as they are decided"),
    "save": Command("", lambda verbs, _words: verbs.save(), "bring the state to the disk now"),
    "stop": Command("", _plain(lambda verbs: verbs.stop()), "end the crawl in order"),
    "help": Command("", _help, "the commands"),
    "quit": Command("", None, "leave the console, not the crawl"),
}


def begin(verbs: Verbs, line: str, talk: Mapping[str, Run] | None = None) -> CommandSteps:
    """The steps of one command line.

    Every answer has ``ok``; where that is false for another reason than refused URLs, an
    ``error`` says why. `talk` has what a conversation does itself, by the command; those
    that it lacks are unknown.
    """
    runs = {name: command.run or (talk or {}).get(name) for name, command in COMMANDS.items()}
    name, *words = line.split() or [""]
    run = runs.get(name)
    if run is None:
        known = ", ".join(each for each, run in runs.items() if run is not None)
        return iter([_error(f"unknown command {name[:40]!r}; known: {known}")])
    if not COMMANDS[name].takes(len(words)):
        return iter([_error(f"usage: {name} {COMMANDS[name].arguments}".strip())])
    return run(verbs, words)


def _error(reason: str) -> Result:
    return {"ok": False, "error": reason}


def failure(reason: str) -> bytes:
    """A line of JSON that says what is wrong."""
    return json_line(_error(reason))
