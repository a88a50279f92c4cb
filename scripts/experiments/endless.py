"""An endless web on all addresses of 127.0.0.0/8.

    python -m experiments.endless SITES

Prints its port, which is the same on every loopback address, then serves pages of `SITES`
sites. Each site has its own address and any number of pages. The links of a page depend only on
its address and path. Most stay on the site; the others prefer sites with low numbers.
"""

import asyncio
import sys
from zlib import crc32

# Links to new pages of the same site, to pages that most pages of the site link to, and to
# pages of other sites. The queues grow by about one URL a page.
_NEW_LINKS = 2
_KNOWN_LINKS = 22
_OTHER_LINKS = 8
# All URLs have the same length. The known pages are crawled first; with shorter URLs for them,
# the memory of a queued URL would grow with the age of the crawl.
_FIRST_NUMBER = 10**8
_TEXT = b"<p>" + b"The quick brown fox jumps over the lazy dog. " * 100

_HEAD = b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
_ROBOTS = _HEAD % (b"404 Not Found", 0)


def address(site: int) -> str:
    """127.1.0.0 for site 0, then the following addresses."""
    return f"127.{1 + (site >> 16)}.{site >> 8 & 255}.{site & 255}"


def page(host: bytes, path: bytes, sites: int) -> bytes:
    """The reply to a request for `path`; `host` includes the port."""
    if path == b"/robots.txt":
        return _ROBOTS
    port = host.rpartition(b":")[2].decode()
    seed = crc32(host + path)
    links = [f'<a href="/{_mix(seed, n) % 10**9:09}">new</a>' for n in range(_NEW_LINKS)]
    links += [f'<a href="/{_FIRST_NUMBER + n}">known</a>' for n in range(_KNOWN_LINKS)]
    for n in range(_OTHER_LINKS):
        draw = _mix(seed, 1000 + n)
        # The square of a uniform number gives the first tenth of the sites a third of the links.
        site = int(sites * ((draw & 0xFFFF) / 0x10000) ** 2)
        number = _FIRST_NUMBER + (draw >> 16 & 7)
        links.append(f'<a href="http://{address(site)}:{port}/{number}">other</a>')
    body = _TEXT + "".join(links).encode()
    return _HEAD % (b"200 OK", len(body)) + body


def _mix(seed: int, n: int) -> int:
    return crc32(n.to_bytes(2, "big"), seed)


class _Connection(asyncio.Protocol):
    def __init__(self, sites: int) -> None:
        self._sites = sites
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            host = head.partition(b"Host: ")[2].partition(b"\r\n")[0]
            self._transport.write(page(host, path, self._sites))


async def serve(sites: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(sites), "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
