"""The input port: seeds and commands for a running crawl, in Larbin's protocol.

    first line  ->  priority:0 depth:5 test:1  ->  one URL a line, each refusal is answered
                    (without depth: depthInSite of the crawl)
                ->  console                    ->  one command a line, each is answered;
                                                   watch ends at the next line
                ->  anything else              ->  closed with the reason

A web page can make a browser send a POST here. The first line protects against that: an HTTP
request line is neither of the two, so the port closes the connection without reading more.
"""

import re
from enum import Enum

from larbinpy.console.ports.commands import CommandSteps, Verbs, Wait, Watcher, begin, failure
from larbinpy.console.ports.tcp import Limits, TcpServer
from larbinpy.console.text import json_line, printable
from larbinpy.loop.poller import Poller
from larbinpy.url import masked_typed

#: Longest line in bytes without its end; longer URLs cannot be crawled.
MAX_LINE = 8 * 1024

#: Most connections. In Larbin (maxInput 5), five silent clients shut out all others. Here the
#: connection that was silent for longest is closed for a new one.
_CONNECTIONS = 32
#: Sessions that work in one turn.
_BATCH = 5

#: URLs that a session handles in one turn. A command counts as 50, because a status has every
#: counter. Both take about 2 ms.
_BUDGET = 100
_COMMAND_COST = 50

#: Timeouts (s) of the first line, and of each line after it.
_FIRST_PATIENCE = 60.0
_PATIENCE = 600.0
#: Watchers send nothing, so they never time out.
_ALWAYS = float("inf")

#: Lines sent to one watcher in one turn.
_FATES = 500

_BANNER = b"""Welcome to larbin input system !
Your first line should look like "priority:0 depth:5 test:1"
The following should contain one url per line (http://www.example.com/ for instance)
A first line "console" takes commands instead, one a line

"""
_BYE = "Bye bye...\n"

#: As Larbin's sscanf parses it, except that depth is optional; the rest of the line is ignored.
_FIRST_LINE = re.compile(
    r"priority:\s*([+-]?\d{1,9})\s*(?:depth:\s*(\d{1,9})\s*)?test:\s*(\d{1,9})", re.ASCII
)
_REQUEST_LINE = re.compile(
    r"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|PRI)\s|.*\sHTTP/\d", re.ASCII
)
#: Control characters other than tab, newline and carriage return: not in text.
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class _State(Enum):
    FIRST_LINE = "first line"
    URLS = "urls"
    COMMANDS = "commands"
    WATCHING = "watching"
    ENDED = "ended"


class InputSession:
    """One connection to the input port, as bytes in and bytes out.

    Its 25 methods are the ten of `Session`, and one for each kind of line and each way in which
    the session ends.
    """

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._state = _State.FIRST_LINE
        self._inbox = bytearray()
        self._finished = False
        #: Whether the inbox has a line, or bytes that cannot become one.
        self._has_line = False
        self._job: CommandSteps | None = None
        self._rests = False
        self._watcher: Watcher | None = None
        self._depth: int | None = None
        self._priority = False
        self._again = False

    @property
    def patience(self) -> float:
        match self._state:
            case _State.FIRST_LINE:
                return _FIRST_PATIENCE
            case _State.WATCHING:
                return _ALWAYS
            case _:
                return _PATIENCE

    @property
    def farewell(self) -> bytes:
        return self._parting("Idle for too long")

    @property
    def closing(self) -> bool:
        return self._state is _State.ENDED

    @property
    def busy(self) -> bool:
        if self._state is _State.ENDED:
            return False
        has_fates = self._watcher is not None and self._watcher.has_lines
        return self._job is not None or self._has_line or has_fates

    @property
    def is_watching(self) -> bool:
        return self._watcher is not None

    @property
    def unsent(self) -> bytes:
        """The decided URLs that were not sent to the watcher yet."""
        return b"" if self._watcher is None else b"".join(self._watcher.take())

    @property
    def resting(self) -> bool:
        return self._rests

    def greeting(self) -> bytes:
        return _BANNER

    def receive(self, data: bytes) -> None:
        self._inbox += data
        self._finished = self._finished or not data
        self._look()

    def left(self) -> None:
        self._end_watch()

    def _look(self) -> None:
        """Set whether the inbox has a line."""
        inbox = self._inbox
        self._has_line = self._state is not _State.ENDED and (
            self._finished
            or b"\n" in inbox
            or len(inbox) > MAX_LINE
            or CONTROL.search(inbox) is not None
        )

    def work(self) -> bytes:
        """Answer some of the lines in the inbox."""
        out: list[bytes] = []
        budget = _BUDGET
        while budget > 0 and self.busy:
            if self._job is not None:
                out.append(self._step(self._job))
                if self._job is not None:
                    break
            elif self._has_line:
                out.append(self._line())
                self._look()
            elif self._watcher is not None:
                out += self._watcher.take(_FATES)
                break
            budget -= 1 if self._state is _State.URLS else _COMMAND_COST
        return b"".join(out)

    def _step(self, job: CommandSteps) -> bytes:
        """Run one step of a command."""
        step = next(job)
        self._rests = step is Wait.EVENT
        if isinstance(step, Wait):
            return b""
        self._job = None
        return json_line(step)

    def _line(self) -> bytes:
        """Remove one line from the inbox and answer it."""
        end = self._inbox.find(b"\n")
        line = bytes(self._inbox[:end]) if end >= 0 else bytes(self._inbox)
        if len(line) > MAX_LINE:
            return self._end("Url submitted too long")
        if CONTROL.search(line):
            return self._end("Incorrect input: control characters")
        if end < 0 and not line:
            return self._end("")
        del self._inbox[: len(line) + 1]
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            return self._end("Incorrect input: not UTF-8")
        if self._state is _State.WATCHING:
            return self._end_watch()
        return self._answer(text) if text else b""

    def _answer(self, text: str) -> bytes:
        match self._state:
            case _State.FIRST_LINE:
                return self._first(text)
            case _State.URLS:
                return self._seed(text)
            case _:
                return self._command(text)

    def _first(self, text: str) -> bytes:
        if text == "console":
            self._state = _State.COMMANDS
            return b""
        match = _FIRST_LINE.match(text)
        if match is None:
            is_http = _REQUEST_LINE.match(text) is not None
            return self._end("Incorrect input" + ": this is not a web server" * is_http)
        self._priority = int(match[1]) != 0
        self._depth = None if match[2] is None else int(match[2])
        self._again = int(match[3]) == 0
        self._state = _State.URLS
        return b""

    def _command(self, text: str) -> bytes:
        session = {"watch": self._watch, "quit": self._quit}
        self._job = begin(self._verbs, text, session)
        return self._step(self._job)

    def _watch(self, verbs: Verbs, words: list[str]) -> CommandSteps:
        word = " ".join(words)
        self._watcher = verbs.watch(word)
        self._state = _State.WATCHING
        yield {"ok": True, "watching": word}

    def _quit(self, _verbs: Verbs, _words: list[str]) -> CommandSteps:
        self._end("")
        yield {"ok": True}

    def _end_watch(self) -> bytes:
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return b""
        watcher.close()
        rest = b"".join(watcher.take())
        self._state = _State.COMMANDS
        return rest + json_line({"ok": True, "watched": watcher.given, "lost": watcher.lost})

    def _seed(self, url: str) -> bytes:
        reason = self._verbs.add(url, depth=self._depth, priority=self._priority, again=self._again)
        if reason is None:
            return b""
        # Without spaces in the URL, the reason starts after the first ": " of the line.
        shown = printable(masked_typed(url)).replace(" ", "%20")
        return f"refused {shown}: {printable(reason)}\n".encode()

    def _end(self, reason: str) -> bytes:
        last = self._parting(reason)
        self._end_watch()
        self._state = _State.ENDED
        self._inbox.clear()
        self._look()
        return last

    def _parting(self, reason: str) -> bytes:
        """The last lines, as text or as JSON; in JSON, nothing if there is no reason."""
        if self._state in (_State.COMMANDS, _State.WATCHING):
            return failure(reason) if reason else b""
        return f"{reason}\n{_BYE}".lstrip("\n").encode()


#: The socket in stateDir that takes what an input port takes.
DOOR = "control"


class InputPort(TcpServer):
    """The server of the input port, or of the socket in stateDir."""

    def __init__(self, poller: Poller, verbs: Verbs, host: str, port: int) -> None:
        super().__init__(
            poller,
            host,
            port,
            lambda _local: InputSession(verbs),
            Limits(connections=_CONNECTIONS, batch=_BATCH),
        )

    @property
    def awaited(self) -> bool:
        """Whether a client is connected that may add seeds."""
        sessions = (connection.session for connection in self._connections.values())
        return any(not (isinstance(s, InputSession) and s.is_watching) for s in sessions)

    def close(self) -> None:
        for connection in self._connections.values():
            if isinstance(connection.session, InputSession):
                connection.outbox += connection.session.unsent
        super().close()
