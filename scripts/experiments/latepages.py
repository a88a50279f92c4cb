"""A web server on all addresses of 127.0.0.0/8 that answers after a fixed delay.

    python -m experiments.latepages WAIT SIZE

Prints its port, which is the same on every loopback address, then answers each request after
`WAIT` seconds with a page of `SIZE` bytes. Connections are kept alive. Because the delay is
fixed, waiting requests form a queue, and thousands cost no more than a few.
"""

import socket
import sys
import time
from collections import deque
from contextlib import suppress
from select import EPOLLIN, epoll

_BACKLOG = 4096
_BUFFER = 1 << 16
_END = b"\r\n\r\n"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
_TEXT = b"<p>The quick brown fox jumps over the lazy dog.</p>\n"


def reply(size: int) -> bytes:
    """A reply with a page of `size` bytes."""
    body = (_TEXT * (size // len(_TEXT) + 1))[:size]
    return _HEAD % size + body


class LatePages:
    """Answers all connections in one epoll loop, no request before its time."""

    def __init__(self, wait: float, size: int) -> None:
        self._wait = wait
        self._reply = reply(size)
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=_BACKLOG)
        # Connections inherit a buffer for a whole reply, so no partly sent reply is stored.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * len(self._reply))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._ready = epoll()
        self._ready.register(self._listener, EPOLLIN)
        self._open: dict[int, socket.socket] = {}
        self._due: deque[tuple[float, socket.socket]] = deque()

    @property
    def connections(self) -> int:
        return len(self._open)

    def serve(self) -> None:
        """Serve until the process is ended."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Wait for the next event or due reply, then handle all that are ready."""
        due = self._due
        wait = max(due[0][0] - time.monotonic(), 0) if due else None
        ready = self._ready.poll(wait)
        now = time.monotonic()
        while due and due[0][0] <= now:
            self._send(due.popleft()[1])
        for fd, _ in ready:
            if fd == self._listener.fileno():
                self._accept()
            else:
                self._read(fd)

    def close(self) -> None:
        for connection in (self._listener, *self._open.values()):
            connection.close()
        self._ready.close()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open[connection.fileno()] = connection
                self._ready.register(connection, EPOLLIN)

    def _read(self, fd: int) -> None:
        """Requests are short and arrive in one piece."""
        connection = self._open[fd]
        request = b""
        with suppress(OSError):
            request = connection.recv(_BUFFER)
        if request.endswith(_END):
            self._due.append((time.monotonic() + self._wait, connection))
        else:
            self._close(connection)

    def _send(self, connection: socket.socket) -> None:
        sent = 0
        with suppress(OSError):
            sent = connection.send(self._reply)
        if sent < len(self._reply) and connection.fileno() in self._open:
            self._close(connection)

    def _close(self, connection: socket.socket) -> None:
        fd = connection.fileno()
        self._ready.unregister(fd)
        del self._open[fd]
        connection.close()


if __name__ == "__main__":
    server = LatePages(float(sys.argv[1]), int(sys.argv[2]))
    print(server.port, flush=True)
    server.serve()
