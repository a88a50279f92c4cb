"""The input port: seeds and commands for a running crawl, in Larbin's protocol.

    first line  ->  priority:0 depth:5 test:1  ->  one URL a line, each refusal is answered
                ->  console                    ->  one command a line, each is answered
                ->  anything else              ->  closed with the reason

A browser can be made to POST anywhere, so the first line is also the guard: a request line
is none of the two, and what follows it is never looked at.
"""

import re
from enum import Enum

from larbinpy.console.commands import Verbs, answer
from larbinpy.console.tcp import Limits, Server
from larbinpy.console.text import json_line, printable
from larbinpy.poller import Poller

#: Longest line in bytes, its end not counted; no URL that is longer can be crawled.
MAX_LINE = 8 * 1024

#: Larbin's maxInput.
_CONNECTIONS = 5

#: What a session may do in one turn, in URLs; a command may cost as much as 50 of them
#: (a status renders every counter there is). Some 2 ms a session either way.
_BUDGET = 100
_COMMAND_COST = 50

#: Seconds: to say what one has come for, and from one line to the next.
_FIRST_PATIENCE = 60.0
_PATIENCE = 600.0

_BANNER = b"""Welcome to larbin input system !
Your first line should look like "priority:0 depth:5 test:1"
The following should contain one url per line (http://www.example.com/ for instance)
A first line "console" takes commands instead, one a line

"""
_BYE = "Bye bye...\n"

#: As Larbin's sscanf reads it: what stands behind is not looked at.
_FIRST_LINE = re.compile(
    r"priority:\s*([+-]?\d{1,9})\s*depth:\s*(\d{1,9})\s*test:\s*(\d{1,9})", re.ASCII
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
    ENDED = "ended"


class InputSession:
    """One connection to the input port, as bytes in and bytes out."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._state = _State.FIRST_LINE
        self._inbox = bytearray()
        self._finished = False
        self._depth = 0
        self._priority = False
        self._again = False

    def __repr__(self) -> str:
        return f"<InputSession {self._state.value}, {len(self._inbox)} bytes>"

    @property
    def patience(self) -> float:
        return _FIRST_PATIENCE if self._state is _State.FIRST_LINE else _PATIENCE

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
        inbox = self._inbox
        return (
            self._finished
            or b"\n" in inbox
            or len(inbox) > MAX_LINE
            or CONTROL.search(inbox) is not None
        )

    def greeting(self) -> bytes:
        return _BANNER

    def receive(self, data: bytes) -> None:
        self._inbox += data
        self._finished = not data

    def work(self) -> bytes:
        """Answer some of the lines that are there."""
        out: list[bytes] = []
        budget = _BUDGET
        while budget > 0 and self.busy:
            out.append(self._line())
            budget -= _COMMAND_COST if self._state is _State.COMMANDS else 1
        return b"".join(out)

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
        return self._obey(text) if text else b""

    def _obey(self, text: str) -> bytes:
        match self._state:
            case _State.FIRST_LINE:
                return self._first(text)
            case _State.URLS:
                return self._seed(text)
            case _:
                said = answer(self._verbs, text)
                return said + self._end("") if text == "quit" else said

    def _first(self, text: str) -> bytes:
        if text == "console":
            self._state = _State.COMMANDS
            return b""
        match = _FIRST_LINE.match(text)
        if match is None:
            is_http = _REQUEST_LINE.match(text) is not None
            return self._end("Incorrect input" + ": this is not a web server" * is_http)
        self._priority = int(match[1]) != 0
        self._depth = int(match[2])
        self._again = int(match[3]) == 0
        self._state = _State.URLS
        return b""

    def _seed(self, url: str) -> bytes:
        reason = self._verbs.add(url, depth=self._depth, priority=self._priority, again=self._again)
        if reason is None:
            return b""
        # Without spaces in the URL, the first ": " of the line is where the reason starts.
        shown = printable(url).replace(" ", "%20")
        return f"refused {shown}: {printable(reason)}\n".encode()

    def _end(self, reason: str) -> bytes:
        said = self._parting(reason)
        self._state = _State.ENDED
        self._inbox.clear()
        return said

    def _parting(self, reason: str) -> bytes:
        """The last words, in the language of the mode; command mode needs none for no reason."""
        if self._state is _State.COMMANDS:
            return json_line({"ok": False, "error": reason}) if reason else b""
        return f"{reason}\n{_BYE}".lstrip("\n").encode()


class InputPort(Server):
    """The listener whose peers speak `InputSession`."""

    def __init__(self, poller: Poller, verbs: Verbs, host: str, port: int) -> None:
        super().__init__(
            poller,
            host,
            port,
            lambda _local: InputSession(verbs),
            Limits(connections=_CONNECTIONS, batch=_CONNECTIONS),
        )
