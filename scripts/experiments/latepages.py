"""A web server that answers every request a fixed time after it came, on all of 127.0.0.0/8.

    python -m experiments.latepages WAIT SIZE

It prints the port that it has on every loopback address, then answers whatever is asked for
with one page of `SIZE` bytes, `WAIT` seconds late. Connections are kept. As all wait equally
long, those that wait are a queue: thousands of them cost no more than a few.
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
    """A page of `size` bytes with its head."""
    body = (_TEXT * (size // len(_TEXT) + 1))[:size]
    return _HEAD % size + body


class LatePages:
    """One epoll for all connections; no request is answered before its time."""

    def __init__(self, wait: float, size: int) -> None:
        self._wait = wait
        self._reply = reply(size)
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=_BACKLOG)
        # What connections inherit: a reply goes out whole, so there are no rests to keep.
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
        """For ever."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Wait for the first thing to do, and do what there is."""
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
        """A request is short and comes whole."""
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
