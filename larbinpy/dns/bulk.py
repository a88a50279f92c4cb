"""Many names through one resolver: the loop behind ``larbinpy resolve``."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import Resolver
from larbinpy.poller import Poller

# A line of the output is a name and a word, whatever the input holds: blanks, control
# characters and other alphabets are escaped, and no name has more than 254 characters.
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_MAX_SHOWN = 300

# The resolver always knows when it wants to go on; this is for the progress bar's sake.
_LONGEST_WAIT = 1.0


@dataclass(slots=True)
class Summary:
    """What came of it: lines by how they ended, and the resolver's counts since its start."""

    #: Lines with a name, and those that have an address or a reason why not.
    names: int = 0
    resolved: int = 0
    failed: int = 0
    #: Names answered from the cache; questions sent, and how many of them again.
    cached: int = 0
    asked: int = 0
    resent: int = 0
    #: Seconds.
    elapsed: float = 0.0


def resolve_names(
    lines: Iterable[str],
    resolver: Resolver,
    poller: Poller,
    clock: Callable[[], float],
    write: Callable[[str], None],
    *,
    parallel: int,
    as_json: bool,
) -> Summary:
    """Resolve the name on each line of `lines`, `parallel` at a time; empty lines are skipped.

    `write` gets one line for each, without its end, as it becomes known: ``name address``
    (the first one) or ``name !reason``; with `as_json` an object of ``name``, ``addresses``
    and ``reason``. Only the lines in flight are held in memory.
    """
    work = _Work(resolver, write, as_json)
    names = filter(None, (line.strip() for line in lines))
    started = clock()
    more = True
    while more or work.waiting:
        more = more and work.ask(names, parallel, clock())
        work.answer(resolver.step(clock()))
        if work.waiting:
            _wait(resolver, poller, clock(), work.may_ask(parallel) if more else 0)
    return work.summary(clock() - started)


def _wait(resolver: Resolver, poller: Poller, now: float, more: int) -> None:
    deadline = resolver.deadline
    timeout = _LONGEST_WAIT if deadline is None else min(deadline - now, _LONGEST_WAIT)
    poller.wait(0 if more else timeout)


class _Work:
    """The lines in flight, by name: each gets an answer, though a name is asked for once."""

    def __init__(self, resolver: Resolver, write: Callable[[str], None], as_json: bool) -> None:
        self._resolver = resolver
        self._write = write
        self._show = _as_json if as_json else _as_text
        self._pending: Counter[str] = Counter()
        self.waiting = 0
        self._summary = Summary()

    def may_ask(self, parallel: int) -> int:
        return max(min(parallel - self.waiting, self._resolver.room), 0)

    def ask(self, names: Iterator[str], parallel: int, now: float) -> bool:
        """Ask for as many of `names` as there is room for; False when they are at an end."""
        wanted = self.may_ask(parallel)
        taken = 0
        for name in islice(names, wanted):
            taken += 1
            answer = self._resolver.ask(name, now)
            if answer is not None:
                self._put(answer)
            else:
                self._pending[name] += 1
                self.waiting += 1
        return taken == wanted

    def answer(self, answers: list[Answer]) -> None:
        for answer in answers:
            for _ in range(self._pending.pop(answer.name, 0)):
                self.waiting -= 1
                self._put(answer)

    def _put(self, answer: Answer) -> None:
        self._summary.names += 1
        self._summary.resolved += answer.reason is None
        self._summary.failed += answer.reason is not None
        self._write(self._show(answer))

    def summary(self, elapsed: float) -> Summary:
        counts = self._resolver.stats()
        self._summary.cached = counts["cached"]
        self._summary.asked = counts["sent"]
        self._summary.resent = counts["resent"]
        self._summary.elapsed = elapsed
        return self._summary


def _as_text(answer: Answer) -> str:
    name = _shown(answer.name)
    return f"{name} {answer.addresses[0]}" if answer.reason is None else f"{name} !{answer.reason}"


def _as_json(answer: Answer) -> str:
    return json.dumps(
        {
            "name": _shown(answer.name),
            "addresses": list(answer.addresses),
            "reason": answer.reason,
        }
    )


def _shown(name: str) -> str:
    return _UNPRINTABLE.sub(_escape, name[:_MAX_SHOWN])


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode() if match[0] != " " else r"\x20"
