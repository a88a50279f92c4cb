"""Serves any number of small sites on all addresses of loopback, with a fixed delay.

    python -m experiments.fixedserver DELAY LINKS

Prints its port, then serves until the process is ended. A site has pages without end: page N links
to pages 2N + 1 and 2N + 2 of its site, or to none without LINKS. As all replies wait equally long,
they are sent in the order of their requests; a page costs little more than its two system calls.
"""

import socket
import sys
import time
from collections import deque
from contextlib import suppress
from select import EPOLLIN, epoll

_BACKLOG = 4096
_ROOM = 4096
_BATCH = 512


def page(request: bytes, *, links: bool) -> bytes:
    """The reply to a request for /, /N or robots.txt."""
    path = request.split(b" ", 2)[1][1:]
    if path == b"robots.txt":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    number = int(path or 0)
    children = (2 * number + 1, 2 * number + 2) if links else ()
    body = b"<!doctype html><title>%d</title>" % number
    body += b"".join(b"<a href=/%d>%d</a>" % (child, child) for child in children)
    kind = b"Content-Type: text/html; charset=utf-8"
    return b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body)


class FixedServer:
    """All in one thread; replies that wait are in a queue."""

    def __init__(self, delay: float, *, links: bool) -> None:
        self._delay, self._links = delay, links
        self._listener = socket.create_server(("", 0), backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._clients: dict[int, socket.socket] = {}
        self._due: deque[tuple[float, int, socket.socket, bytes]] = deque()

    def serve(self) -> None:
        """Serve until the process is ended."""
        ready = epoll()
        own = self._listener.fileno()
        ready.register(own, EPOLLIN)
        while True:
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                self._reply(*self._due.popleft()[1:])
            wait = max(self._due[0][0] - now, 0.0) if self._due else None
            for fd, _ in ready.poll(wait, _BATCH):
                if fd == own:
                    self._accept(ready)
                else:
                    self._read(fd)

    def _accept(self, ready: epoll) -> None:
        with suppress(BlockingIOError):
            while True:
                client, _ = self._listener.accept()
                client.setblocking(False)
                self._clients[client.fileno()] = client
                ready.register(client.fileno(), EPOLLIN)

    def _read(self, fd: int) -> None:
        client = self._clients[fd]
        try:
            request = client.recv(_ROOM)
        except OSError:
            request = b""
        if request:
            due = time.monotonic() + self._delay
            self._due.append((due, fd, client, page(request, links=self._links)))
        else:
            del self._clients[fd]
            client.close()

    def _reply(self, fd: int, client: socket.socket, reply: bytes) -> None:
        # The number may be that of another connection by now.
        if self._clients.get(fd) is client:
            with suppress(OSError):
                client.send(reply)


def main() -> None:
    delay, links = float(sys.argv[1]), sys.argv[2:] == ["links"]
    server = FixedServer(delay, links=links)
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
