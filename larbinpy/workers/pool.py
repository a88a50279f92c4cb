"""Pages sent to worker processes and results received, through the one poll loop."""

import errno
import os
import signal
import socket
import sys
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from larbinpy.loop.poller import READ, WRITE, Poller
from larbinpy.page import Page
from larbinpy.parse import Parsed, read
from larbinpy.workers import messages

#: Most pages given to a process in advance, so that it need not wait for the loop's next turn, and
#: their most bytes, so that large pages do not pile up.
AHEAD = 32
AHEAD_BYTES = 4 << 20
#: Most bytes of answers that wait to be taken, and of one answer, which may have 50,000 URLs.
_ANSWERS = 32 << 20
#: Buffers sent in one call; the kernel accepts a thousand.
_PIECES = 64
_RECEIVE = 1 << 18
#: After this many processes have ended while reading a page, the page is taken for the cause.
_TRIES = 2
#: Seconds in which a process must have loaded its modules.
_START = 30.0

#: The program of a process. It searches modules in the same folders as this process, as
#: multiprocessing arranges, too.
_PROGRAM = "from larbinpy.workers.child import main; main()"
_FIND = "import sys; sys.path = {path!r}\n"
#: The terminal sends these to all processes of a crawl; only the crawl itself handles them.
_NOT_FOR_THE_CHILD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


class Reader(Protocol):
    """Reads pages for the engine."""

    @property
    def room(self) -> bool:
        """Whether another page may be given."""

    @property
    def busy(self) -> int:
        """Number of pages given and not taken back yet."""

    @property
    def ready(self) -> bool:
        """Whether a page can be taken back."""

    @property
    def lost(self) -> int:
        """Number of processes that ended by themselves so far."""

    def read(self, page: Page) -> Parsed | None:
        """Read `page`; None if `take` returns the result later. Requires `room`."""

    def take(self) -> tuple[Page, Parsed] | None:
        """The next page that was read, in the order in which pages were given; None if not yet."""

    def close(self) -> None:
        """Discard the pages that are not read yet, and end all processes."""


class InlineReader:
    """Reads pages at once, in this process."""

    room, busy, ready, lost = True, 0, False, 0

    def __init__(self, agent: str) -> None:
        self._agent = agent

    def __repr__(self) -> str:
        return "<InlineReader>"

    def read(self, page: Page) -> Parsed | None:
        return read(page, self._agent)

    def take(self) -> tuple[Page, Parsed] | None:
        return None

    def close(self) -> None:
        pass


class _Reading:
    """A page that is being read."""

    __slots__ = ("page", "parsed", "size", "tries")

    def __init__(self, page: Page) -> None:
        self.page = page
        self.parsed: Parsed | None = None
        #: Bytes of the answer.
        self.size = 0
        #: Number of processes that ended while reading it.
        self.tries = 0


class _Child:
    """The crawl's end of a worker process."""

    def __init__(self, agent: str, program: str) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.setblocking(False)
        with theirs:
            self.pid = _spawn(theirs, agent, program)
        #: Whether it has loaded its modules.
        self.ready = False
        #: The pages it was given and has not answered; it is reading the first one.
        self.given: deque[_Reading] = deque()
        self.size = 0
        self.outbox: deque[memoryview] = deque()
        self._inbox: list[bytes] = []
        self._unread = 0

    def __repr__(self) -> str:
        return f"<_Child {self.pid} {len(self.given)} pages, {self.size} bytes>"

    @property
    def room(self) -> bool:
        return len(self.given) < AHEAD and self.size < AHEAD_BYTES

    def give(self, reading: _Reading) -> None:
        self.given.append(reading)
        self.size += len(reading.page.body)
        pieces = (messages.page_head(reading.page), reading.page.body)
        self.outbox.extend(memoryview(piece) for piece in pieces if piece)

    def send(self) -> None:
        """Send as much as the kernel takes; OSError if the process has ended."""
        try:
            sent = self.sock.sendmsg(list(self.outbox)[:_PIECES])
        except BlockingIOError:
            return
        while sent:
            piece = self.outbox.popleft()
            if sent < len(piece):
                self.outbox.appendleft(piece[sent:])
            sent -= min(sent, len(piece))

    def receive(self) -> list[_Reading]:
        """Receive answers and return their readings; OSError or ValueError if the process has
        ended or sent an invalid answer."""
        data = self.sock.recv(_RECEIVE)
        if not data:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        self._inbox.append(data)
        self._unread += len(data)
        if b"\n" not in data:
            if self._unread > _ANSWERS:
                raise ValueError("an answer without end")
            return []
        *lines, rest = b"".join(self._inbox).split(b"\n")
        self._inbox, self._unread = [rest], len(rest)
        if lines and not self.ready:
            if lines.pop(0) != messages.READY.strip():
                raise ValueError("not ready")
            self.ready = True
        return [self._answered(line) for line in lines]

    def _answered(self, line: bytes) -> _Reading:
        parsed = messages.parsed(line)
        if not self.given:
            raise ValueError("an answer to nothing")
        reading = self.given.popleft()
        self.size -= len(reading.page.body)
        reading.parsed, reading.size = parsed, len(line)
        return reading

    def wait(self) -> None:
        """Block until it is ready; OSError if it does not become so."""
        self.sock.settimeout(_START)
        try:
            self.receive()
        except (OSError, ValueError):
            raise OSError(errno.ECHILD, "a process did not start") from None
        finally:
            self.sock.setblocking(False)

    def end(self) -> None:
        self.sock.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _spawn(end: socket.socket, agent: str, program: str) -> int:
    """Start a process that reads pages from `end`, and return its id; may raise OSError."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", _FIND.format(path=sys.path) + program, agent],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, end.fileno(), 0)],
        setsigmask=_NOT_FOR_THE_CHILD,
    )


class ReaderPool:
    """`count` processes that read pages for `agent`.

    A process that ends is replaced, unless it never was ready, and its pages go to others. If a
    page crashes two processes, only its headers are used. If no process is left, pages are read
    in this one.
    """

    def __init__(
        self,
        poller: Poller,
        count: int,
        agent: str,
        *,
        program: str = _PROGRAM,
        most_answers: int = _ANSWERS,
    ) -> None:
        """Start the processes and wait until all are ready; OSError if that fails.

        `program` is the Python code of a process. About `most_answers` bytes of answers may wait.
        """
        self._poller = poller
        self._agent = agent
        self._program = program
        self._most_answers = most_answers
        self._children: dict[int, _Child] = {}
        # All pages that were given, in order.
        self._given: deque[_Reading] = deque()
        # Bytes of the answers to them.
        self._answers = 0
        self.lost = 0
        try:
            for _ in range(count):
                self._start()
            for child in self._children.values():
                child.wait()
        except OSError:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<ReaderPool {self.busy} pages, {list(self._children.values())}>"

    @property
    def room(self) -> bool:
        if self._answers > self._most_answers:
            return False
        return not self._children or any(child.room for child in self._children.values())

    @property
    def busy(self) -> int:
        return len(self._given)

    @property
    def ready(self) -> bool:
        return bool(self._given) and (not self._children or self._given[0].parsed is not None)

    def read(self, page: Page) -> Parsed | None:
        reading = _Reading(page)
        self._given.append(reading)
        self._give(reading)
        return None

    def take(self) -> tuple[Page, Parsed] | None:
        if not self.ready:
            return None
        reading = self._given.popleft()
        self._answers -= reading.size
        return reading.page, reading.parsed or self._read_here(reading)

    def close(self) -> None:
        for child in list(self._children.values()):
            self._drop(child)
        self._given.clear()

    def _start(self) -> None:
        child = _Child(self._agent, self._program)
        self._children[child.sock.fileno()] = child
        self._poller.register(child.sock.fileno(), READ, self._on_ready)

    def _drop(self, child: _Child) -> None:
        self._poller.unregister(child.sock.fileno())
        del self._children[child.sock.fileno()]
        child.end()

    def _give(self, reading: _Reading) -> None:
        """Give it to the least busy process; if none is left, `take` reads the page."""
        if self._children:
            child = min(self._children.values(), key=lambda each: (not each.room, each.size))
            child.give(reading)
            self._send(child)

    def _on_ready(self, fd: int, events: int) -> None:
        child = self._children[fd]
        try:
            if events & WRITE and child.outbox:
                self._send(child)
            if events & READ:
                self._answers += sum(reading.size for reading in child.receive())
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            self._lost(child)

    def _send(self, child: _Child) -> None:
        try:
            child.send()
            events = READ | WRITE if child.outbox else READ
        except OSError:  # It has ended; receiving will notice that.
            events = READ
        self._poller.modify(child.sock.fileno(), events)

    def _lost(self, child: _Child) -> None:
        """Replace a process that has ended by itself or sent an invalid answer."""
        self._drop(child)
        self.lost += 1
        if child.ready:  # otherwise a replacement is unlikely to start, either
            with suppress(OSError):
                self._start()
            if child.given:
                child.given[0].tries += 1
        for reading in child.given:
            if reading.tries < _TRIES:
                self._give(reading)
            else:
                reading.parsed = self._read_here(reading)

    def _read_here(self, reading: _Reading) -> Parsed:
        """Read a page in this process; only its headers if it has crashed another one."""
        page = reading.page
        if not reading.tries:
            return read(page, self._agent)
        page.detail = "could not be read: a process that tried has ended"
        parsed = read(replace(page, body=b""), self._agent)
        # The unread body may ask not to be kept.
        parsed.noindex = True
        return parsed
