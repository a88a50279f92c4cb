"""A web of small linked pages that is known in advance, and a process that serves it.

Content, links and expected outcome of a page depend only on its number, so a test knows them
without the server. ``python -m tests.support.killweb PAGES SEED LOG`` serves the web, prints
its port in a JSON line, and ends with its standard input. A line on standard input sets the
number of replies a second (0 for no limit). LOG gets a line for each request and each reply:
time, "asked" or "sent", number of the page.
"""

import asyncio
import json
import os
import sys
import time
from random import Random

from larbinpy.demo.server import bind_all

ADDRESSES = [f"127.0.7.{n}" for n in range(1, 9)]

_BRANCHES = 3
_CROSS_LINKS = 4
#: One URL in so many of each kind is a redirect, missing, or disallowed.
_ODD = 30
_ROBOTS = b"User-agent: *\nDisallow: /private/\n"


class KnownWeb:
    """`pages` URLs on `port` of all `ADDRESSES`; a crawl begins at the first.

    Most are pages that link to three children, so that all are reached, and to some others.
    Some are redirects, missing, or disallowed by robots.txt.
    """

    def __init__(self, pages: int, seed: int, port: int) -> None:
        self.pages = pages
        self.seed = seed
        self.port = port
        self.numbers = {self.url(number): number for number in range(pages)}

    def outcome(self, number: int) -> str:
        """The expected outcome, as in the crawl log."""
        odd = ("err30X", "err40X", "forbiddenRobots")
        # URLs near the root are always pages, because many others depend on them.
        kind = (number * 7919 + self.seed) % _ODD if number > 10 else _ODD
        return odd[kind] if kind < len(odd) else "success"

    def path(self, number: int) -> str:
        folder = "private" if self.outcome(number) == "forbiddenRobots" else f"p{number % 100}"
        return f"/{folder}/{number}.html"

    def address(self, number: int) -> str:
        return ADDRESSES[(number + number // 7) % len(ADDRESSES)]

    def url(self, number: int) -> str:
        return f"http://{self.address(number)}:{self.port}{self.path(number)}"

    def file(self, number: int) -> str:
        """Its path in a mirror."""
        return f"{self.address(number)}:{self.port}{self.path(number)}"

    def links(self, number: int) -> list[int]:
        """Targets of its links or redirect."""
        children = range(_BRANCHES * number + 1, _BRANCHES * number + 1 + _BRANCHES)
        own = [child for child in children if child < self.pages]
        random = self._random(number)
        if self.outcome(number) == "err30X":
            # Redirects to its first child, so that the child stays reachable.
            return own[:1] or [random.randrange(self.pages)]
        if self.outcome(number) != "success":
            return []
        return own + [random.randrange(self.pages) for _ in range(_CROSS_LINKS)]

    def body(self, number: int) -> bytes:
        """The bytes of a page."""
        links = "".join(f'<a href="{self.url(link)}">{link}</a>\n' for link in self.links(number))
        random = self._random(number)
        filling = "x" * random.randrange(2000)
        return f"<!DOCTYPE html><title>{number}</title>\n{links}<p>{filling}\n".encode()

    def _random(self, number: int) -> Random:
        return Random(self.seed * self.pages + number)

    def reachable(self) -> set[int]:
        """All URLs that a crawl from the first page finds."""
        found = {0}
        pending = [0]
        while pending:
            new = set(self.links(pending.pop())) - found
            found |= new
            pending += new
        return found

    def reply(self, number: int | None) -> bytes:
        """The whole reply; for None, that of a missing page."""
        outcome = "err40X" if number is None else self.outcome(number)
        if number is None or outcome == "err40X":
            return _reply("404 Not Found", "", b"")
        if outcome == "success":
            return _reply("200 OK", "", self.body(number))
        return _reply("302 Found", f"Location: {self.url(self.links(number)[0])}\r\n", b"")


def _reply(status: str, more: str, body: bytes, media_type: str = "text/html") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Pace:
    """Delays replies so that at most `rate` are sent a second."""

    def __init__(self) -> None:
        self.rate = 0.0
        self._next = 0.0

    def delay(self, now: float) -> float:
        if not self.rate:
            return 0.0
        # Unused time is lost. Replies promised to a killed process take at most a second.
        self._next = min(max(now, self._next), now + 1.0) + 1 / self.rate
        return self._next - now


class _Connection(asyncio.Protocol):
    def __init__(self, web: KnownWeb, pace: _Pace, log: int) -> None:
        self._web = web
        self._pace = pace
        self._log = log
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._asked(head.split(b" ", 2)[1].decode("latin-1"))

    def _asked(self, path: str) -> None:
        if path == "/robots.txt":
            self._transport.write(_reply("200 OK", "", _ROBOTS, "text/plain"))
            return
        number = self._web.numbers.get(f"http://{self._address}:{self._web.port}{path}")
        self._note("asked", number)
        loop = asyncio.get_running_loop()
        loop.call_later(self._pace.delay(loop.time()), self._send, number)

    def _send(self, number: int | None) -> None:
        if not self._transport.is_closing():
            self._note("sent", number)
            self._transport.write(self._web.reply(number))

    def _note(self, what: str, number: int | None) -> None:
        os.write(self._log, f"{time.time():.6f} {what} {number}\n".encode())


async def _serve(pages: int, seed: int, log: str) -> None:
    loop = asyncio.get_running_loop()
    port, sockets = bind_all(ADDRESSES)
    web = KnownWeb(pages, seed, port)
    pace = _Pace()
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for sock in sockets:
        await loop.create_server(lambda: _Connection(web, pace, fd), sock=sock, backlog=512)
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print(json.dumps({"port": port}), flush=True)
    while line := await orders.readline():
        pace.rate = float(line)
    os.close(fd)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
