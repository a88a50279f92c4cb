"""Pages out to processes that read them, and what they read back, through the one poll loop."""

import os
import signal
import socket
import sys
from collections import deque
from contextlib import suppress
from typing import Protocol

from larbinpy.page import Page
from larbinpy.parse import Parsed, read
from larbinpy.poller import READ, WRITE, Poller
from larbinpy.reading import messages

#: Pages that a process has at most, so that it need not wait for the loop's next turn, and
#: their bytes, so that large ones do not gather.
_AHEAD = 32
_AHEAD_BYTES = 4 << 20
#: Pieces that go to the kernel in one call; it takes a thousand.
_PIECES = 64
_RECEIVE = 1 << 18
#: Processes that end while they read the same page, before it is taken to be the reason.
_TRIES = 2

#: As multiprocessing does it: modules are looked for where this process found its own.
_PROGRAM = "import sys; sys.path = {path!r}; from larbinpy.reading.child import main; main()"
#: These come to all processes of a crawl; it alone decides what they mean.
_NOT_FOR_THE_CHILD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


class Reader(Protocol):
    """Who reads pages for the engine."""

    @property
    def room(self) -> bool:
        """May another page be given?"""

    @property
    def busy(self) -> int:
        """Pages that were given, and not taken back yet."""

    @property
    def ready(self) -> bool:
        """Is there one to be taken back?"""

    def read(self, page: Page) -> Parsed | None:
        """What `page` says, or None: `take` gives it later. There must be room."""

    def take(self) -> tuple[Page, Parsed] | None:
        """A page that was read since, in the order in which they were given; None for none."""

    def close(self) -> None:
        """What is not read yet never will be."""


class Here:
    """Reads pages at once, in this process."""

    room, busy, ready = True, 0, False

    def __init__(self, agent: str) -> None:
        self._agent = agent

    def read(self, page: Page) -> Parsed | None:
        return read(page, self._agent)

    def take(self) -> tuple[Page, Parsed] | None:
        return None

    def close(self) -> None:
        pass


class _Reading:
    """A page that is being read."""

    __slots__ = ("page", "parsed", "tries")

    def __init__(self, page: Page) -> None:
        self.page = page
        self.parsed: Parsed | None = None
        #: Processes that ended over it.
        self.tries = 0


class _Child:
    """A process that reads, as it is seen from here."""

    def __init__(self, agent: str) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.setblocking(False)
        with theirs:
            self.pid = _spawn(theirs, agent)
        #: What it was given and has not answered, the one that it is at first.
        self.given: deque[_Reading] = deque()
        self.size = 0
        self.answers = 0
        self.outbox: deque[memoryview] = deque()
        self._inbox: list[bytes] = []

    def __repr__(self) -> str:
        return f"<_Child {self.pid} {len(self.given)} pages, {self.size} bytes>"

    @property
    def room(self) -> bool:
        return len(self.given) < _AHEAD and self.size < _AHEAD_BYTES

    def give(self, reading: _Reading) -> None:
        self.given.append(reading)
        self.size += len(reading.page.body)
        pieces = (messages.page_head(reading.page), reading.page.body)
        self.outbox.extend(memoryview(piece) for piece in pieces if piece)

    def send(self) -> None:
        """As much as the kernel takes; OSError where the process is gone."""
        try:
            sent = self.sock.sendmsg(list(self.outbox)[:_PIECES])
        except BlockingIOError:
            return
        while sent:
            piece = self.outbox.popleft()
            if sent < len(piece):
                self.outbox.appendleft(piece[sent:])
            sent -= min(sent, len(piece))

    def receive(self) -> bool:
        """Take in answers; False, OSError or ValueError where no more are to be had."""
        data = self.sock.recv(_RECEIVE)
        self._inbox.append(data)
        if b"\n" in data:
            *lines, rest = b"".join(self._inbox).split(b"\n")
            self._inbox = [rest]
            for line in lines:
                self._answered(line)
        return bool(data)

    def _answered(self, line: bytes) -> None:
        parsed = messages.parsed(line)
        if not self.given:
            raise ValueError("an answer to nothing")
        reading = self.given.popleft()
        self.size -= len(reading.page.body)
        reading.parsed = parsed
        self.answers += 1

    def end(self) -> None:
        self.sock.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _spawn(end: socket.socket, agent: str) -> int:
    """A process that reads pages from `end`; OSError where there can be none."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", _PROGRAM.format(path=sys.path), agent],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, end.fileno(), 0)],
        setsigmask=_NOT_FOR_THE_CHILD,
    )


class Readers:
    """`count` processes that read pages for `agent`.

    One that ends is replaced, and its pages go to others; a page over which two ended says
    nothing. Where no process is left and none can be had, pages are read here.
    """

    def __init__(self, poller: Poller, count: int, agent: str) -> None:
        """Raises OSError where there are not so many processes."""
        self._poller = poller
        self._agent = agent
        self._children: dict[int, _Child] = {}
        # All that were given, in their order.
        self._given: deque[_Reading] = deque()
        try:
            for _ in range(count):
                self._start()
        except OSError:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<Readers {self.busy} pages, {list(self._children.values())}>"

    @property
    def room(self) -> bool:
        return not self._children or any(child.room for child in self._children.values())

    @property
    def busy(self) -> int:
        return len(self._given)

    @property
    def ready(self) -> bool:
        return bool(self._given) and self._given[0].parsed is not None

    def read(self, page: Page) -> Parsed | None:
        reading = _Reading(page)
        self._given.append(reading)
        self._give(reading)
        return None

    def take(self) -> tuple[Page, Parsed] | None:
        if not self._given or (parsed := self._given[0].parsed) is None:
            return None
        return self._given.popleft().page, parsed

    def close(self) -> None:
        for child in list(self._children.values()):
            self._drop(child)
        self._given.clear()

    def _start(self) -> None:
        child = _Child(self._agent)
        self._children[child.sock.fileno()] = child
        self._poller.register(child.sock.fileno(), READ, self._on_ready)

    def _drop(self, child: _Child) -> None:
        self._poller.unregister(child.sock.fileno())
        del self._children[child.sock.fileno()]
        child.end()

    def _give(self, reading: _Reading) -> None:
        if not self._children:
            self._read_here(reading)
            return
        child = min(self._children.values(), key=lambda each: (not each.room, each.size))
        child.give(reading)
        self._send(child)

    def _on_ready(self, fd: int, events: int) -> None:
        child = self._children[fd]
        if events & WRITE and child.outbox:
            self._send(child)
        if events & READ and self._children.get(fd) is child:
            try:
                if child.receive():
                    return
            except BlockingIOError:
                return
            except (OSError, ValueError):
                pass
            self._lost(child)

    def _send(self, child: _Child) -> None:
        with suppress(OSError):  # That it is gone is found out when its answers are read.
            child.send()
        events = READ | WRITE if child.outbox else READ
        self._poller.modify(child.sock.fileno(), events)

    def _lost(self, child: _Child) -> None:
        """A process has ended by itself."""
        self._drop(child)
        if child.answers:
            # One that never answered would hardly do so the next time.
            with suppress(OSError):
                self._start()
        if child.given:
            child.given[0].tries += 1
        for reading in child.given:
            if reading.tries < _TRIES:
                self._give(reading)
            else:
                self._read_here(reading)

    def _read_here(self, reading: _Reading) -> None:
        """But not where a process ended over it: this one must not."""
        if reading.tries:
            reading.page.detail = "could not be read: a process that tried has ended"
            reading.parsed = Parsed()
        else:
            reading.parsed = read(reading.page, self._agent)
