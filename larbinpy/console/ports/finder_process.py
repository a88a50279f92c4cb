"""The searches of the status server, answered by one child process beside the loop.

The child (`console.search.replies`) makes whole replies, so the loop only moves bytes. It is
started by the first search and answers one at a time; the others wait in a short queue. If it ends,
or does not answer in time, its search gets a message, and the next search starts another child.
"""

import json
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from math import inf
from typing import Any

from larbinpy.console.ports.reply import SEARCH_POLICY, HttpReply
from larbinpy.console.search.form import Frame, SearchRequest, failure
from larbinpy.loop.child import Piped, command
from larbinpy.loop.poller import Poller

#: Seconds in which the child must answer; the search itself is cut after one.
ANSWER = 1.5
#: Seconds in which the child must be ready; it takes one on a machine that is busy.
START = 6.0
#: Seconds from a request to its reply, below the life of a connection.
PATIENCE = 8.0
#: Searches that wait while the child answers one.
QUEUE = 8

#: Largest reply, and largest first line of a reply, in bytes.
_MOST = 4 * 1024 * 1024
_LONGEST_HEAD = 1024
#: Seconds to wait for a killed child at the end.
_FAREWELL = 1.0

_SLOW = "The search took too long and was stopped. Try fewer or rarer words."
_DIED = "The process that searches ended unexpectedly; the next search starts another one."
_LATE = "The process that searches did not start in time. Try again in a few seconds."
_BUSY = "Too many searches at once. Try again in a few seconds."

#: Header of the replies with these messages.
_RETRY = (("Retry-After", "5"),)


class Question:
    """One search on its way; `reply` is None until it is answered."""

    __slots__ = ("_frame", "_path", "_query", "reply", "until")

    def __init__(self, path: str, query: str, frame: Frame, until: float) -> None:
        self._path = path
        self._query = query
        self._frame = frame
        #: The time at which it is given up if the child has not begun with it.
        self.until = until
        self.reply: HttpReply | None = None

    def __repr__(self) -> str:
        return f"<Question {self._path} {self.reply and self.reply.status.value}>"

    def line(self) -> bytes:
        """The request to the child."""
        return json.dumps([self._path, self._query, self._frame]).encode() + b"\n"

    def fail(self, message: str) -> None:
        """Reply with a message."""
        request = SearchRequest.of(self._query)
        status, kind, body = failure(self._path, self._frame, request, message)
        self.reply = HttpReply(status, body, kind, _RETRY, SEARCH_POLICY)


def finder_command(*databases: str) -> list[str]:
    """The command of the child that searches `databases`, as one."""
    return command("larbinpy.console.search.replies", *databases)


class FinderProcess:
    """Answers questions with the child that `command` starts."""

    def __init__(self, poller: Poller, command: Sequence[str]) -> None:
        self._poller = poller
        self._command = command
        self._waiting: deque[Question] = deque()
        #: The one that the child answers; its client may have left.
        self._asked: Question | None = None
        self._child: _Child | None = None
        #: The time by which the child must have said something.
        self._limit = inf
        self._ended: list[_Child] = []
        self._now = 0.0

    def __repr__(self) -> str:
        return f"<FinderProcess {self._child} answers {self._asked}, {len(self._waiting)} waiting>"

    def ask(self, path: str, query: str, frame: Frame) -> Question:
        """A question for `path` with a query string; it is refused if too many wait."""
        question = Question(path, query, frame, self._now + PATIENCE)
        if len(self._waiting) < QUEUE:
            self._waiting.append(question)
        else:
            question.fail(_BUSY)
        return question

    def drop(self, question: Question) -> None:
        """Forget a question whose client has left."""
        with suppress(ValueError):
            self._waiting.remove(question)

    @property
    def deadline(self) -> float | None:
        """The time at which to call `step`; None if there is nothing to do."""
        if self._asked is None and self._waiting and (self._child is None or self._child.is_ready):
            return self._now
        time = min([self._limit, *(question.until for question in self._waiting)])
        return time if time < inf else None

    def step(self, now: float) -> None:
        """Give the next question to the child, and up those that wait for too long."""
        self._now = now
        self._ended = [child for child in self._ended if child.process.poll() is None]
        if now >= self._limit:
            self._end(_LATE if self._asked is None else _SLOW)
        while self._waiting and self._waiting[0].until <= now:
            self._waiting.popleft().fail(_BUSY)
        if self._asked is not None or not self._waiting:
            return
        if self._child is None:
            self._start()
        elif self._child.is_ready:
            self._asked = self._waiting.popleft()
            self._limit = now + ANSWER
            line = self._asked.line()
            # Its pipe is empty, and larger than any question.
            if self._child.send(line) < len(line):
                self._end(_DIED)

    def close(self) -> None:
        """End the child. May be called twice."""
        self._end(_DIED)
        for child in self._ended:
            # It was killed; one that waits for a disk may take longer.
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(_FAREWELL)

    def _start(self) -> None:
        try:
            self._child = _Child(self._poller, self._command, self._heard)
        except OSError:
            self._end(_DIED)
            return
        self._limit = self._now + START

    def _heard(self, data: bytes) -> None:
        assert self._child is not None
        was_ready = self._child.is_ready
        try:
            reply = self._child.reply(data)
        except (OSError, ValueError, LookupError):
            self._end(_DIED)
            return
        if self._child.is_ready and not was_ready:
            self._limit = inf
        if reply is not None and self._asked is not None:
            self._asked.reply = reply
            self._asked, self._limit = None, inf

    def _end(self, message: str) -> None:
        """End the child, and answer its question with `message`; all, if it did not start."""
        child, self._child, self._limit = self._child, None, inf
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.fail(message)
        if child is None or not child.is_ready:
            while self._waiting:
                self._waiting.popleft().fail(message)
        if child is not None:
            child.kill()
            self._ended.append(child)


class _Child(Piped):
    """A process that replies to one question after the other."""

    def __init__(
        self, poller: Poller, command: Sequence[str], heard: Callable[[bytes], None]
    ) -> None:
        super().__init__(poller, command, heard)
        self._buffer = bytearray()
        #: The first line of the reply that is being received.
        self._head: dict[str, Any] | None = None
        self.is_ready = False

    def reply(self, data: bytes) -> HttpReply | None:
        """The reply, if it is complete with `data`.

        Raises OSError, ValueError or LookupError if the process has ended, or does not reply in
        the form that `console.search.replies` describes.
        """
        if not data:
            raise ConnectionError
        self._buffer += data
        if not self.is_ready and self._buffer[:1] == b"\n":
            self.is_ready = True
            del self._buffer[:1]
        if self._head is None and not self._take_head():
            return None
        assert self._head is not None
        size = self._head["size"]
        if len(self._buffer) < size:
            return None
        head, self._head = self._head, None
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return HttpReply(HTTPStatus(head["status"]), body, head["type"], (), SEARCH_POLICY)

    def _take_head(self) -> bool:
        """Whether the first line of a reply is complete."""
        end = self._buffer.find(b"\n", 0, _LONGEST_HEAD)
        if end < 0:
            if len(self._buffer) > _LONGEST_HEAD:
                raise ValueError("no head")
            return False
        self._head = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        if self._head["size"] > _MOST:
            raise ValueError("too large")
        return True
