"""The input port: seeds and commands for a running crawl, in Larbin's protocol.

    first line  ->  priority:0 depth:5 test:1  ->  one URL a line, each refusal is answered
                    (without depth: that of the crawl, depthInSite)
                ->  console                    ->  one command a line, each is answered;
                                                   watch goes on until the next line
                ->  anything else              ->  closed with the reason

A browser can be made to POST anywhere, so the first line is also the guard: a request line
is none of the two, and what follows it is never looked at.
"""

import re
from enum import Enum

from larbinpy.console.ports.commands import CommandSteps, Verbs, Wait, begin, failure
from larbinpy.console.ports.tcp import Limits, TcpServer
from larbinpy.console.ports.watching import Watcher
from larbinpy.console.text import json_line, printable
from larbinpy.loop.poller import Poller

#: Longest line in bytes, its end not counted; no URL that is longer can be crawled.
MAX_LINE = 8 * 1024

#: Larbin's maxInput is 5, and five who say nothing keep all others out there. Here who has
#: been silent longest makes room, so this is for those who have something to say.
_CONNECTIONS = 32
#: Sessions that work in one turn.
_BATCH = 5

#: What a session may do in one turn, in URLs; a command may cost as much as 50 of them
#: (a status renders every counter there is). Some 2 ms a session either way.
_BUDGET = 100
_COMMAND_COST = 50

#: Seconds: to say what one has come for, and from one line to the next.
_FIRST_PATIENCE = 60.0
_PATIENCE = 600.0
#: Who watches has nothing to say.
_ALWAYS = float("inf")

#: Fates told to one who watches in one turn.
_FATES = 500

_BANNER = b"""Welcome to larbin input system !
Your first line should look like "priority:0 depth:5 test:1"
The following should contain one url per line (http://www.example.com/ for instance)
A first line "console" takes commands instead, one a line

"""
_BYE = "Bye bye...\n"

#: As Larbin's sscanf reads it, but for a depth that is left out: what stands behind is not
#: looked at.
_FIRST_LINE = re.compile(
    r"priority:\s*([+-]?\d{1,9})\s*(?:depth:\s*(\d{1,9})\s*)?test:\s*(\d{1,9})", re.ASCII
)
_REQUEST_LINE = re.compile(
    r"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|PRI)\s|.*\sHTTP/\d", re.ASCII
)
#: No text has these; a tab or a carriage return may be in it, and a newline ends it.
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class _State(Enum):
    FIRST_LINE = "first line"
    URLS = "urls"
    COMMANDS = "commands"
    WATCHING = "watching"
    ENDED = "ended"


class InputSession:
    """One connection to the input port, as bytes in and bytes out."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._state = _State.FIRST_LINE
        self._inbox = bytearray()
        self._finished = False
        #: Whether there is something in the inbox to be looked at: a line, or what is none.
        self._has_line = False
        self._job: CommandSteps | None = None
        self._rests = False
        self._watcher: Watcher | None = None
        self._depth: int | None = None
        self._priority = False
        self._again = False

    def __repr__(self) -> str:
        return f"<InputSession {self._state.value}, {len(self._inbox)} bytes>"

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
        has_news = self._watcher is not None and self._watcher.has_news
        return self._job is not None or self._has_line or has_news

    @property
    def is_watching(self) -> bool:
        return self._watcher is not None

    @property
    def unsaid(self) -> bytes:
        """The fates that one who watches was not told yet."""
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
        """See what there is in the inbox."""
        inbox = self._inbox
        self._has_line = self._state is not _State.ENDED and (
            self._finished
            or b"\n" in inbox
            or len(inbox) > MAX_LINE
            or CONTROL.search(inbox) is not None
        )

    def work(self) -> bytes:
        """Result some of the lines that are there."""
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
        """Go on with a command."""
        step = next(job)
        self._rests = step is Wait.EVENT
        if isinstance(step, Wait):
            return b""
        self._job = None
        return json_line(step)

    def _line(self) -> bytes:
        """Take one line and answer it."""
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
        return self._obey(text) if text else b""

    def _obey(self, text: str) -> bytes:
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
        talk = {"watch": self._watch, "quit": self._quit}
        self._job = begin(self._verbs, text, talk)
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
        told = {"ok": True, "watched": watcher.given, "lost": watcher.lost}
        return rest + json_line(told)

    def _seed(self, url: str) -> bytes:
        reason = self._verbs.add(url, depth=self._depth, priority=self._priority, again=self._again)
        if reason is None:
            return b""
        # Without spaces in the URL, the first ": " of the line is where the reason starts.
        shown = printable(url).replace(" ", "%20")
        return f"refused {shown}: {printable(reason)}\n".encode()

    def _end(self, reason: str) -> bytes:
        said = self._parting(reason)
        self._end_watch()
        self._state = _State.ENDED
        self._inbox.clear()
        self._look()
        return said

    def _parting(self, reason: str) -> bytes:
        """The last words, in the language of the mode; command mode needs none for no reason."""
        if self._state in (_State.COMMANDS, _State.WATCHING):
            return failure(reason) if reason else b""
        return f"{reason}\n{_BYE}".lstrip("\n").encode()


class InputPort(TcpServer):
    """The listener whose peers speak `InputSession`."""

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
        """Whether somebody is there who may bring something to do."""
        sessions = (connection.session for connection in self._connections.values())
        return any(not (isinstance(s, InputSession) and s.is_watching) for s in sessions)

    def close(self) -> None:
        for connection in self._connections.values():
            if isinstance(connection.session, InputSession):
                connection.outbox += connection.session.unsaid
        super().close()
