"""A TCP proxy on loopback that loses what it should pass on."""

import socket
from contextlib import suppress

from larbinpy.loop.poller import READ, Poller


class CuttingProxy:
    """Passes on from `port` of 127.0.0.1 to another one, in the loop of its client."""

    def __init__(self, poller: Poller, target: int, port: int) -> None:
        self._poller = poller
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))
        self._other: dict[socket.socket, socket.socket] = {}
        self._clients: set[socket.socket] = set()
        #: The next answers of the server are lost: the connection ends instead.
        self.loses_answers = False
        #: Nothing is passed on, and no connection ends: the network is silent.
        self.is_silent = False
        poller.register(self._listener.fileno(), READ, self._accept)

    def close(self) -> None:
        for sock in list(self._clients):
            self._end(sock)
        self._poller.unregister(self._listener.fileno())
        self._listener.close()

    def _accept(self, _fd: int, _events: int) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(("127.0.0.1", self._target))
        self._clients.add(client)
        self._other |= {client: server, server: client}
        for sock in (client, server):
            self._watch(sock)

    def _watch(self, sock: socket.socket) -> None:
        self._poller.register(sock.fileno(), READ, lambda _fd, _events: self._pass(sock))

    def _pass(self, sock: socket.socket) -> None:
        other = self._other[sock]
        if self.is_silent:
            return
        data = b""
        with suppress(OSError):
            data = sock.recv(1 << 16)
        if not data or (self.loses_answers and sock not in self._clients):
            self.loses_answers = False
            self._end(sock)
            return
        other.sendall(data)

    def _end(self, sock: socket.socket) -> None:
        other = self._other.pop(sock)
        del self._other[other]
        self._clients -= {sock, other}
        for each in (sock, other):
            self._poller.unregister(each.fileno())
            each.close()
