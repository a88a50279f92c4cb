"""Many names through one resolver: the loop behind ``larbinpy resolve``."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import Resolver
from larbinpy.loop.poller import Poller

# A line of output is a name and a word, whatever the input holds: blanks, control characters and
# non-ASCII characters are escaped. No valid name has more than 254 characters.
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_MAX_SHOWN = 300

# The resolver always knows its next deadline; this bound serves the progress bar.
_LONGEST_WAIT = 0.1


@dataclass(slots=True)
class Summary:
    """Lines by their result, and the resolver's counts since its start."""

    #: Lines with a name; those of them with an address, and with a reason for none.
    names: int = 0
    resolved: int = 0
    failed: int = 0
    #: Names answered from the cache; questions sent, and those of them that were repeated.
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
    write: Callable[[str], object],
    progress: Callable[[int], object],
    *,
    as_json: bool,
) -> Summary:
    """Resolve the name on each line of `lines`.

    An empty line means that no other is available yet: `poller` is waited on before the next.
    `write` gets an output line for each as its result arrives, several at a time and without
    the last line end: ``name address`` (the first one) or ``name !reason``; with `as_json` an
    object of ``name``, ``addresses`` and ``reason``. Only the lines for which the resolver has
    room are held in memory. `progress` gets the number of names done since its last call, at
    least ten times a second.
    """
    work = _Work(resolver, as_json)
    names = map(str.strip, lines)
    started = clock()
    more = True
    while more or work.waiting:
        more = more and work.ask(names, clock())
        work.answer(resolver.step(clock()))
        if work.lines:
            write("\n".join(work.lines))
        progress(len(work.lines))
        work.lines.clear()
        if more or work.waiting:
            _wait(resolver, poller, clock(), more and not work.starved and resolver.room > 0)
    return work.summary(clock() - started)


def _wait(resolver: Resolver, poller: Poller, now: float, more: bool) -> None:
    deadline = resolver.deadline
    timeout = _LONGEST_WAIT if deadline is None else min(deadline - now, _LONGEST_WAIT)
    poller.wait(0 if more else timeout)


class _Work:
    """The lines in flight, by name: each gets a result, though a name is asked for once."""

    def __init__(self, resolver: Resolver, as_json: bool) -> None:
        self._resolver = resolver
        self._show = _as_json if as_json else _as_text
        self._pending: dict[str, int] = {}
        self._summary = Summary()
        #: Output lines to be written.
        self.lines: list[str] = []
        #: Whether the input had no name available at the last call of `ask`.
        self.starved = False

    @property
    def waiting(self) -> int:
        return len(self._pending)

    def ask(self, names: Iterator[str], now: float) -> bool:
        """Ask for as many of `names` as there is room for; False once they have ended."""
        room = self._resolver.room
        taken = 0
        self.starved = False
        for name in islice(names, room):
            if not name:
                self.starved = True
                return True
            taken += 1
            answer = self._resolver.ask(name, now)
            if answer is not None:
                self._put(answer)
            else:
                self._pending[name] = self._pending.get(name, 0) + 1
        return taken == room

    def answer(self, answers: list[Answer]) -> None:
        for answer in answers:
            for _ in range(self._pending.pop(answer.name, 0)):
                self._put(answer)

    def _put(self, answer: Answer) -> None:
        self._summary.names += 1
        self._summary.failed += answer.reason is not None
        self.lines.append(self._show(answer))

    def summary(self, elapsed: float) -> Summary:
        counts = self._resolver.stats()
        self._summary.resolved = self._summary.names - self._summary.failed
        self._summary.cached = counts["cached"]
        self._summary.asked = counts["sent"]
        self._summary.resent = counts["resent"]
        self._summary.elapsed = elapsed
        return self._summary


def _as_text(answer: Answer) -> str:
    name, addresses, reason = answer
    # A name with an address is valid, and so printable.
    return f"{name} {addresses[0]}" if reason is None else f"{_shown(name)} !{reason}"


def _as_json(answer: Answer) -> str:
    name, addresses, reason = answer
    return json.dumps({"name": _shown(name), "addresses": addresses, "reason": reason})


def _shown(name: str) -> str:
    return _UNPRINTABLE.sub(_escape, name[:_MAX_SHOWN])


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode() if match[0] != " " else r"\x20"
