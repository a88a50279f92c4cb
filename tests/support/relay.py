"""Proxies that relay to a web on loopback, in the poll loop of the crawl.

They look no name up: every target is on this machine, as are the hosts of `smallweb`.
"""

import base64
import socket

from larbinpy.loop.poller import READ, Poller

_HERE = "127.0.0.1"


class Relay:
    """An HTTP proxy, or a SOCKS5 proxy; it refuses clients without its `login`, USER:PASSWORD."""

    def __init__(self, poller: Poller, *, socks: bool = False, login: str = "") -> None:
        self._poller = poller
        self._login = login.encode()
        self._greet = self._socks if socks else self._http
        self._listener = socket.create_server((_HERE, 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        #: HOST:PORT of each tunnel, and the URL of each request in absolute form.
        self.asked: list[str] = []
        #: The heads that clients sent before the tunnel was there, and the heads of other requests.
        self.heads = b""
        self.refused = 0
        self._open: set[socket.socket] = {self._listener}
        poller.register(self._listener.fileno(), READ, self._accept)

    def close(self) -> None:
        for sock in list(self._open):
            self._drop(sock)

    def _drop(self, *socks: socket.socket) -> None:
        for sock in socks:
            if sock in self._open:
                self._open.discard(sock)
                self._poller.unregister(sock.fileno())
                sock.close()

    def _accept(self, _fd: int, _events: int) -> None:
        client, _ = self._listener.accept()
        Client(self, client)

    def watch(self, sock: socket.socket, take: "Client") -> None:
        self._open.add(sock)
        self._poller.register(sock.fileno(), READ, lambda _fd, _events: take.ready(sock))

    def greet(self, client: "Client") -> None:
        self._greet(client)

    def drop(self, *socks: socket.socket) -> None:
        self._drop(*socks)

    def _refuse(self, client: "Client", reply: bytes) -> None:
        self.refused += 1
        client.received = b""
        client.sock.sendall(reply)

    def _http(self, client: "Client") -> None:
        head, end, rest = client.received.partition(b"\r\n\r\n")
        if not end:
            return
        self.heads += head + end
        wanted = b"Proxy-Authorization: Basic " + base64.b64encode(self._login)
        lines = head.split(b"\r\n")
        if self._login and wanted not in lines:
            refusal = b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n"
            self._refuse(client, refusal + b"Content-Length: 0\r\n\r\n")
            return
        client.received = rest
        method, target, _ = lines[0].decode().split(" ")
        self.asked.append(target)
        if method == "CONNECT":
            client.connect(int(target.rpartition(":")[2]))
            client.tunnels = True
            client.sock.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            host = target.split("/")[2]
            client.connect(int(host.partition(":")[2] or 80))
            kept = [line for line in lines if not line.startswith(b"Proxy-")]
            assert client.server is not None
            client.server.sendall(b"\r\n".join(kept) + end)

    def _socks(self, client: "Client") -> None:
        """RFC 1928 and RFC 1929, each message in one segment."""
        data, client.received = client.received, b""
        self.heads += data
        client.steps += 1
        if client.steps == 1:
            offers_login = 2 in data[2 : 2 + data[1]]
            if self._login and not offers_login:
                self._refuse(client, b"\x05\xff")
                return
            client.steps += not self._login
            client.sock.sendall(b"\x05\x02" if self._login else b"\x05\x00")
        elif client.steps == 2:
            user, _, password = self._login.partition(b":")
            wanted = bytes([1, len(user)]) + user + bytes([len(password)]) + password
            if data != wanted:
                self._refuse(client, b"\x01\x01")
                return
            client.sock.sendall(b"\x01\x00")
        else:
            assert data[3] == 3, "an address, where a name was wanted"
            name, port = data[5 : 5 + data[4]].decode(), int.from_bytes(data[-2:], "big")
            self.asked.append(f"{name}:{port}")
            client.connect(port)
            client.tunnels = True
            client.sock.sendall(b"\x05\x00\x00\x01" + bytes(6))


class Client:
    """One client of a proxy."""

    def __init__(self, relay: Relay, sock: socket.socket) -> None:
        self._relay = relay
        self.sock = sock
        self.server: socket.socket | None = None
        self.received = b""
        self.tunnels = False
        self.steps = 0
        relay.watch(sock, self)

    def connect(self, port: int) -> None:
        if self.server is None:
            self.server = socket.create_connection((_HERE, port))
            self._relay.watch(self.server, self)

    def ready(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._relay.drop(*filter(None, (self.sock, self.server)))
        elif sock is self.server:
            self.sock.sendall(data)
        elif self.tunnels and self.server is not None:
            self.server.sendall(data)
        else:
            self.received += data
            self._relay.greet(self)
