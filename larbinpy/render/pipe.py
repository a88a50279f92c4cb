"""The debugging pipe of Chromium: commands, their replies, and events.

Each message is a line of JSON that ends with NUL. A message with `sessionId` belongs to a target
(a page, a frame, a worker); others to the browser itself.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from larbinpy.loop.child import Piped

#: What a command or an event carries.
Values = Mapping[str, Any]
#: Gets the result of a command; None if it failed, most often because its target is gone.
Replied = Callable[[Values | None], None]
#: Gets an event: its session (empty for the browser), its name and its values.
Happened = Callable[[str, str, Values], None]

#: A longer message is taken for a fault of the browser (bytes).
_LONGEST = 256 << 20


class PipeError(Exception):
    """The browser said something that cannot be understood."""


class Messages:
    """Splits what the browser writes into messages."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that end in `data`. Raises PipeError."""
        *ends, rest = data.split(b"\0")
        found = []
        for end in ends:
            found.append(_message(b"".join((*self._pieces, end))))
            self._pieces, self._size = [], 0
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > _LONGEST:
                raise PipeError("a message without an end")
        return found


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise PipeError(f"a message that is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise PipeError("a message that is no object")
    return message


class DevTools:
    """Sends commands to a browser; gives their replies, and events, to whoever waits for them."""

    def __init__(self, happened: Happened) -> None:
        self._happened = happened
        self._child: Piped | None = None
        self._messages = Messages()
        self._next = 0
        self._waiting: dict[int, Replied | None] = {}
        # Calls that end without a reply, for the next turn: a caller is never called back at once.
        self._lost: deque[Replied] = deque()

    def attach(self, child: Piped) -> None:
        """Speak to a browser that was just started."""
        self._child = child
        self._messages = Messages()

    def send(
        self, method: str, values: Values, session: str = "", replied: Replied | None = None
    ) -> None:
        """Send a command to the target of `session`."""
        if self._child is None:
            if replied is not None:
                self._lost.append(replied)
            return
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": values}
        if session:
            message["sessionId"] = session
        if replied is not None:
            self._waiting[self._next] = replied
        self._child.write(json.dumps(message, separators=(",", ":")).encode() + b"\0")

    def heard(self, data: bytes) -> None:
        """Take what the browser wrote. Raises PipeError."""
        for message in self._messages.feed(data):
            number = message.get("id")
            if number is None:
                values = message.get("params") or {}
                self._happened(message.get("sessionId", ""), message.get("method", ""), values)
                continue
            replied = self._waiting.pop(number, None)
            if replied is not None:
                replied(message.get("result") if "error" not in message else None)

    def drop(self) -> None:
        """The browser has ended: no reply comes any more."""
        self._child = None
        self._lost.extend(each for each in self._waiting.values() if each is not None)
        self._waiting.clear()

    def tend(self) -> None:
        """Tell those that wait for replies that will not come."""
        while self._lost:
            self._lost.popleft()(None)
