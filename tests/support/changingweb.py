"""A site of known pages that change once, served by a process of its own.

``python -m tests.support.changingweb PAGES LOG`` prints its port as JSON, and takes orders from
standard input, one a line: the generation of the pages (0 or 1), and the most replies a second
(0 for no limit). The log has a line for each request: the Unix time, the path, the status, and the
bytes of the reply.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass
from random import Random

from larbinpy.url import hash64

_BRANCHES = 10
_WORDS = [
    "river",
    "stone",
    "window",
    "garden",
    "letter",
    "music",
    "winter",
    "market",
    "bridge",
    "candle",
    "harbour",
    "mountain",
    "silver",
    "engine",
    "forest",
    "history",
    "island",
    "journey",
    "kitchen",
    "lantern",
    "meadow",
    "number",
    "orchard",
    "paper",
    "question",
    "railway",
    "summer",
    "temple",
    "valley",
    "weather",
]


@dataclass(frozen=True)
class ChangingWeb:
    """`pages` pages on `port`: page n links to 10 n + 1 ... 10 n + 10, in its menu.

    In generation 1, of 10,000 pages 500 have another text, 200 are new, 100 are gone, 50 fail and
    300 have another shell; of others in proportion. The first changed pages link to the new ones.
    """

    pages: int
    port: int = 0
    has_etags: bool = True

    @property
    def groups(self) -> dict[str, list[int]]:
        """Numbers of pages by what becomes of them; the new ones come after all others."""
        order = list(range(1, self.pages))
        Random(self.pages).shuffle(order)
        found, start = {}, 0
        for name, share in (("changed", 500), ("gone", 100), ("failing", 50), ("shell", 300)):
            end = start + share * self.pages // 10_000
            found[name] = sorted(order[start:end])
            start = end
        found["same"] = sorted([0, *order[start:]])
        found["new"] = list(range(self.pages, self.pages + 200 * self.pages // 10_000))
        return found

    def path(self, number: int) -> str:
        return f"/p{number % 97}/{number}.html" if number else "/"

    def url(self, number: int) -> str:
        return f"http://127.0.0.1:{self.port}{self.path(number)}"

    def body(self, number: int, text: str = "", shell: str = "", link: str = "") -> bytes:
        random = Random(number)
        children = range(_BRANCHES * number + 1, _BRANCHES * number + 1 + _BRANCHES)
        menu = "".join(
            f'<li><a href="{self.path(child)}">{child}</a></li>\n'
            for child in children
            if child < self.pages
        )
        paragraphs = "".join(
            f"<p>{' '.join(random.choices(_WORDS, k=80))}.</p>\n" for _ in range(8)
        )
        return (
            f"<!DOCTYPE html><title>Page {number}</title>\n<nav>{shell}<ul>{menu}</ul></nav>\n"
            f"<main><h1>Page {number}</h1>\n<p>{text}{link}</p>\n{paragraphs}</main>\n"
        ).encode()


class _Site:
    """The replies of a `ChangingWeb` in one of its generations."""

    def __init__(self, web: ChangingWeb) -> None:
        self._web = web
        self._groups = web.groups
        self._kinds = {number: kind for kind, all_ in self._groups.items() for number in all_}
        self._numbers = {web.path(number): number for number in self._kinds}
        self.generation = 0

    def reply(self, path: str, if_none_match: str) -> tuple[int, bytes]:
        number = self._numbers.get(path, -1)
        kind = self._kinds.get(number, "gone") if self.generation else "same"
        if number < 0 or (number >= self._web.pages and not self.generation):
            return 404, b""
        if kind == "gone":
            # Every second one only says that it is not there now.
            return 410 if self._groups["gone"].index(number) % 2 else 404, b""
        if kind == "failing":
            return 500, b""
        body = self._body(number, kind)
        etag = f'"{hash64(body):x}"'
        if self._web.has_etags and if_none_match == etag:
            return 304, etag.encode()
        return 200, body

    def _body(self, number: int, kind: str) -> bytes:
        web = self._web
        if kind == "shell":
            return web.body(number, shell="<p>A banner that is new</p>")
        if kind == "changed":
            place = self._groups["changed"].index(number)
            new = self._groups["new"]
            link = f'<a href="{web.path(new[place])}">new</a>' if place < len(new) else ""
            return web.body(number, text="These words were not there before. ", link=link)
        return web.body(number)


_REASONS = {200: "OK", 304: "Not Modified", 404: "Not Found", 410: "Gone", 500: "Error"}


class _Connection(asyncio.Protocol):
    def __init__(self, site: _Site, web: ChangingWeb, pace: "_Pace", log: int) -> None:
        self._site, self._web, self._pace, self._log = site, web, pace, log
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)
            }
            path = line.split(" ")[1]
            if path == "/robots.txt":
                self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            loop = asyncio.get_running_loop()
            match = headers.get("if-none-match", "")
            loop.call_later(self._pace.delay(loop.time()), self._answer, path, match)

    def _answer(self, path: str, match: str) -> None:
        status, body = self._site.reply(path, match)
        more = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\n"
        if status == 304:
            more, body = f"ETag: {body.decode()}\r\n", b""
        elif status == 200 and self._web.has_etags:
            more += f'ETag: "{hash64(body):x}"\r\n'
        reply = f"HTTP/1.1 {status} {_REASONS[status]}\r\n{more}\r\n".encode() + body
        os.write(self._log, f"{time.time():.6f} {path} {status} {len(reply)}\n".encode())
        if not self._transport.is_closing():
            self._transport.write(reply)


class _Pace:
    """Delays replies so that at most `rate` are sent a second."""

    def __init__(self) -> None:
        self.rate = 0.0
        self._next = 0.0

    def delay(self, now: float) -> float:
        if not self.rate:
            return 0.0
        # Replies promised to a process that was killed take at most a second.
        self._next = min(max(now, self._next), now + 1.0) + 1 / self.rate
        return self._next - now


async def _serve(pages: int, log: str, has_etags: bool) -> None:
    loop = asyncio.get_running_loop()
    web = ChangingWeb(pages, has_etags=has_etags)
    site, pace = _Site(web), _Pace()
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    server = await loop.create_server(lambda: _Connection(site, web, pace, fd), "127.0.0.1", 0)
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    while line := await orders.readline():
        generation, rate = line.split()
        site.generation, pace.rate = int(generation), float(rate)
    os.close(fd)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2], "--no-etags" not in sys.argv))
