"""Serves the sites of `sitesweb`, each at its own address, and their names.

    python -m experiments.siteserver '{"pages": [5000, 1000], "hosts": "sites", ...}'

Prints the ports of its web server and of its name server (0 for none), and serves until the
process is ended. Each page is sent after its delay; connections are kept alive.
"""

import asyncio
import json
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import cast

from experiments import dnsreplies, runs
from experiments.runs import PYTHON
from experiments.sitesweb import Hosts, Place, SitesWeb, Spelling

_BACKLOG = 1000
# A port that is free at one address may be in use at another.
_ATTEMPTS = 20


@dataclass(frozen=True)
class Serving:
    """A web and the addresses at which it is served."""

    pages: tuple[int, int]
    hosts: Hosts = Hosts.ADDRESSES
    #: The first three numbers of the sites' addresses.
    network: str = "127.0.1."
    sites: int = 20
    #: Address of the name server; None for none. Its port is chosen by the system.
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
def serving(sites: Serving, enter: Sequence[str] = ()) -> Iterator[tuple[int, int, int]]:
    """Run a server in its own process, started through the command prefix `enter`.

    Gives the port of the web server, that of the name server, and the process ID.
    """
    command = [*enter, PYTHON, "-m", "experiments.siteserver", sites.text()]
    with runs.serving(command) as (line, pid):
        port, dns_port = json.loads(line)
        yield port, dns_port, pid


class Server:
    """Answers requests for pages and questions for names."""

    def __init__(self, web: SitesWeb, spelling: Spelling) -> None:
        self._web = web
        self._spelling = spelling

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed or fails."""
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
        """The reply to one datagram; None unless it asks for a site."""
        return dnsreplies.reply_to(query, self._address)

    def _address(self, name: str) -> str | None:
        site = self._spelling.site(name)
        return None if site is None else self._spelling.address(site)


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


def _listen(sites: Serving) -> list[socket.socket]:
    """Open a socket for each site, all at the same port."""
    for _ in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        port = 0
        try:
            for site in range(sites.sites):
                address = sites.spelling(0).address(site)
                sockets.append(socket.create_server((address, port), backlog=_BACKLOG))
                port = sockets[0].getsockname()[1]
        except OSError:
            for one in sockets:
                one.close()
        else:
            return sockets
    raise RuntimeError("no port is free at all addresses")


async def _serve(sites: Serving) -> None:
    sockets = _listen(sites)
    port = sockets[0].getsockname()[1]
    server = Server(sites.web, sites.spelling(port))
    for one in sockets:
        await asyncio.start_server(server.talk, sock=one, backlog=_BACKLOG)
    dns_port = 0
    if sites.name_server is not None:
        udp = dnsreplies.udp_socket(sites.name_server)
        dns_port = udp.getsockname()[1]
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(partial(_Names, server), sock=udp)
    print(json.dumps([port, dns_port]), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Serving.of(sys.argv[1])))
