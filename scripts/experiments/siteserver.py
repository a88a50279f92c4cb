"""Serves the sites of `sitesweb`, each at its own address, and answers for their names.

    python -m experiments.siteserver '{"pages": [5000, 1000], "hosts": "sites", ...}'

It prints the ports of its web and of its name server (0 for none), and serves until it is
ended. Each page is answered after its delay; connections are kept.
"""

import asyncio
import json
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import cast

from experiments.runs import PYTHON, SERVER, in_background
from experiments.sitesweb import Hosts, Place, SitesWeb, Spelling

_BACKLOG = 1000
# A port that is free at one address may be taken at another.
_ATTEMPTS = 20

# An answer without error, recursion available; a question for an address; the name in the
# question, A, IN, one hour, four octets.
_ANSWER = b"\x81\x80"
_A = b"\0\x01"
_RECORD = struct.pack("!HHHIH", 0xC00C, 1, 1, 3600, 4)
# Many names may be asked for at once, and none is to be lost here.
_BUFFER = 1 << 23
# Linux: a buffer beyond the system's limit, for those who may.
_SO_RCVBUFFORCE = 33


@dataclass(frozen=True)
class Serving:
    """What is served, and where."""

    pages: tuple[int, int]
    hosts: Hosts = Hosts.ADDRESSES
    #: The first three numbers of the sites' addresses.
    network: str = "127.0.1."
    sites: int = 20
    #: Address of the name server; None for none. Its port is any, as that of the web.
    name_server: str | None = None

    @property
    def web(self) -> SitesWeb:
        return SitesWeb(self.sites, self.pages)

    def spelling(self, port: int) -> Spelling:
        return Spelling(self.hosts, self.network, port)

    def text(self) -> str:
        return json.dumps(asdict(self) | {"hosts": self.hosts.value})

    @classmethod
    def of(cls, text: str) -> "Serving":
        values = json.loads(text)
        pages, hosts = tuple(values.pop("pages")), Hosts(values.pop("hosts"))
        return cls(pages=pages, hosts=hosts, **values)


@contextmanager
def serving(what: Serving, enter: Sequence[str] = ()) -> Iterator[tuple[int, int, int]]:
    """A server in a process of its own, started by way of the command `enter`.

    Gives the port of the web, that of the name server, and the process's id.
    """
    command = [*enter, PYTHON, "-m", "experiments.siteserver", what.text()]
    with in_background(command, SERVER) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the server of the sites did not start")
        port, dns_port = json.loads(line)
        yield port, dns_port, process.pid


class Server:
    """Answers for pages and for names."""

    def __init__(self, web: SitesWeb, spelling: Spelling) -> None:
        self._web = web
        self._spelling = spelling

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end; whatever goes wrong with it is its end, too."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._reply(request.decode("latin-1")))
                await writer.drain()
        writer.close()

    async def _reply(self, request: str) -> bytes:
        lines = request.split("\r\n")
        path = lines[0].split(" ")[1]
        headers = (line.partition(":") for line in lines[1:])
        host = next((v.strip() for k, _, v in headers if k.lower() == "host"), "")
        place = self._spelling.place(host.partition(":")[0], path)
        if place is None or not self._web.has(place):
            return _message("404 Not Found", b"")
        await asyncio.sleep(self._web.delay(place))
        return _message("200 OK", self._page(place))

    def _page(self, place: Place) -> bytes:
        urls = [self._spelling.url(target) for target in self._web.links(place)]
        return self._web.body(place, urls)

    def answer(self, query: bytes) -> bytes | None:
        """The reply to one datagram; None where it is no question about the sites."""
        labels, end = _labels(query)
        site = self._spelling.site(".".join(labels))
        kind = query[end : end + 2]
        if site is None or len(kind) < 2:
            return None
        records = [_RECORD + socket.inet_aton(self._spelling.address(site))] if kind == _A else []
        head = query[:2] + _ANSWER + struct.pack("!HHHH", 1, len(records), 0, 0)
        return b"".join([head, query[12 : end + 4], *records])


def _labels(query: bytes) -> tuple[list[str], int]:
    """The name that is asked for, and where it ends."""
    labels, place = [], 12
    while place < len(query) and query[place]:
        end = place + 1 + query[place]
        labels.append(query[place + 1 : end].decode("latin-1"))
        place = end
    return labels, place + 1


def _message(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Names(asyncio.DatagramProtocol):
    def __init__(self, server: Server) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._server.answer(data)
        if reply is not None:
            self._transport.sendto(reply, addr)


def _listen(what: Serving) -> list[socket.socket]:
    """A socket for each site, all at one port."""
    for _ in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        port = 0
        try:
            for site in range(what.sites):
                address = what.spelling(0).address(site)
                sockets.append(socket.create_server((address, port), backlog=_BACKLOG))
                port = sockets[0].getsockname()[1]
        except OSError:
            for one in sockets:
                one.close()
        else:
            return sockets
    raise RuntimeError("found no port that is free at all addresses")


def _datagrams(address: str) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
    except PermissionError:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    udp.bind((address, 0))
    return udp


async def _serve(what: Serving) -> None:
    sockets = _listen(what)
    port = sockets[0].getsockname()[1]
    server = Server(what.web, what.spelling(port))
    for one in sockets:
        await asyncio.start_server(server.talk, sock=one, backlog=_BACKLOG)
    dns_port = 0
    if what.name_server is not None:
        udp = _datagrams(what.name_server)
        dns_port = udp.getsockname()[1]
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(partial(_Names, server), sock=udp)
    print(json.dumps([port, dns_port]), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Serving.of(sys.argv[1])))
