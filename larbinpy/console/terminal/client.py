"""The other end of the ports: what the commands that talk to a running crawl call.

These run in processes of their own, so they wait for their sockets, each time no longer
than `TIMEOUT`. Waiting is in one function, `_wait`, and sockets never block: seeding must read
refusals while it writes, or both ends would wait for the other to read.
"""

import json
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import h11

from larbinpy.console.ports.input_port import CONTROL, MAX_LINE
from larbinpy.console.text import printable
from larbinpy.errors import UserError

#: Seconds for one connection, one answer, or one piece of a longer one.
TIMEOUT = 10.0

#: Longest answer that is taken, in bytes. A status is some 100 kB.
_MAX_ANSWER = 64 * 1024 * 1024

_BANNER_END = b"\n\n"
_REFUSED = b"refused "


class NoAnswer(UserError):
    """The crawl cannot be talked to; the text is one line that says where and why."""


class Refusal(NamedTuple):
    """A seed that the crawl does not take."""

    url: str
    reason: str


def address(url: str) -> tuple[str, int]:
    """The host and port of a status page's URL; ``http://`` may be left out. Raises NoAnswer."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise NoAnswer(f"{printable(url)}: not the address of a status page")
    return host, 80 if port is None else port


def _wait(sock: socket.socket, writing: bool, timeout: float) -> bool:
    """Wait until `sock` can be read, or written when asked; False when time is over."""
    ready = select.select([sock], [sock] if writing else [], [], timeout)
    return bool(ready[0] or ready[1])


class Wire:
    """A connection that reads while it writes."""

    def __init__(self, host: str, port: int, keyword: str) -> None:
        self._where = f"{host}:{port}"
        try:
            self._sock = socket.create_connection((host.strip("[]"), port), TIMEOUT)
        except OSError as error:
            raise NoAnswer(
                f"no crawl answers at {self._where} ({error.strerror or error}); "
                f"is one running there, with {keyword} {port}?"
            ) from None
        self._sock.setblocking(False)
        self._inbox = bytearray()
        self._ended = False
        #: Seconds that an answer may take.
        self.patience = TIMEOUT

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def send(self, data: bytes) -> bool:
        """Send all of `data`; False when the other end has closed before it took it."""
        rest = memoryview(data)
        while rest and not self._ended:
            self._pause(writing=True)
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                pass
            except OSError:
                return False
            self._take()
        return not rest

    def is_open(self) -> bool:
        """Whether the other end was still there when last heard of."""
        self._take()
        return not self._ended

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._ended = True

    def read(self) -> bytes:
        """What there is, waiting until there is something; nothing at the end."""
        while not self._inbox and not self._ended:
            self._pause()
            self._take()
        data = bytes(self._inbox)
        self._inbox.clear()
        return data

    def read_until(self, mark: bytes) -> bytes | None:
        """Up to and with `mark`; None when the other end closes before it."""
        seen = 0
        while (at := self._inbox.find(mark, seen)) < 0:
            if self._ended:
                return None
            seen = max(len(self._inbox) - len(mark), 0)
            self._pause()
            self._take()
        data = bytes(self._inbox[: at + len(mark)])
        del self._inbox[: len(data)]
        return data

    def line_at_hand(self) -> bytes | None:
        """A line that has come, without waiting for one."""
        self._take()
        return self.read_until(b"\n") if b"\n" in self._inbox else None

    def _pause(self, writing: bool = False) -> None:
        if not _wait(self._sock, writing, self.patience):
            raise NoAnswer(f"{self._where} does not answer; it may be serving others, try again")

    def _take(self) -> None:
        """Take in what has come, without waiting."""
        while not self._ended:
            try:
                data = self._sock.recv(64 * 1024)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            self._ended = not data
            self._inbox += data
            if len(self._inbox) > _MAX_ANSWER:
                raise NoAnswer(f"{self._where} answers without end; is it a larbinpy?")


def open_input(host: str, port: int, first_line: str) -> Wire:
    """A connection to the input port that is past its banner. Raises NoAnswer."""
    wire = Wire(host, port, "inputPort")
    try:
        if wire.read_until(_BANNER_END) is None or not wire.send(first_line.encode() + b"\n"):
            raise NoAnswer(f"{host}:{port} is no input port of a crawl")
    except NoAnswer:
        wire.close()
        raise
    return wire


def seed(
    host: str,
    port: int,
    urls: Iterable[str],
    priority: bool = False,
    depth: int | None = None,
    again: bool = False,
) -> list[Refusal]:
    """Send `urls` to the input port of a running crawl; the ones it refuses.

    Without a `depth` that of the crawl counts; `again` fetches even what was seen. Raises
    NoAnswer when the crawl cannot be reached, or closes before it has taken everything.
    """
    deep = "" if depth is None else f"depth:{depth} "
    wire = open_input(host, port, f"priority:{priority:d} {deep}test:{not again:d}")
    refusals: list[Refusal] = []
    try:
        taken = all(_send_seed(wire, url, refusals) for url in urls)
        wire.finish()
        last = b""
        while (line := wire.read_until(b"\n")) is not None:
            if line.startswith(_REFUSED):
                refusals.append(_refusal(line))
            elif line != b"Bye bye...\n":
                last = line
    finally:
        wire.close()
    if last or not taken:
        reason = printable(last.decode(errors="replace").strip() or "it has stopped")
        raise NoAnswer(f"{host}:{port} closed before it took every URL: {reason}")
    return refusals


def _send_seed(wire: Wire, url: str, refusals: list[Refusal]) -> bool:
    """Send one seed, unless the port would close on its line; False when it has closed."""
    # WHATWG parsing drops line breaks within a URL; here they would make two seeds of it.
    line = url.translate({10: None, 13: None}).strip().encode(errors="replace")
    if len(line) > MAX_LINE or CONTROL.search(line):
        refusals.append(Refusal(printable(url), "not a URL that can be crawled"))
        return True
    return wire.send(line + b"\n")


def _refusal(line: bytes) -> Refusal:
    url, _, reason = line[len(_REFUSED) :].decode(errors="replace").strip().partition(": ")
    return Refusal(url, reason)


def read_status(host: str, port: int) -> dict[str, Any]:
    """The snapshot that the status server at `host`:`port` gives. Raises NoAnswer."""
    wire = Wire(host, port, "httpPort")
    named = f"[{host}]" if ":" in host and not host.startswith("[") else host
    request = f"GET /status.json HTTP/1.1\r\nHost: {named}:{port}\r\nConnection: close\r\n\r\n"
    try:
        wire.send(request.encode())
        status, body = _read_reply(wire)
    except h11.RemoteProtocolError:
        raise NoAnswer(f"{host}:{port} is no status page of a crawl") from None
    finally:
        wire.close()
    try:
        found = json.loads(body) if status == 200 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NoAnswer(f"{host}:{port} gives no status (HTTP {status})")
    return found


def _read_reply(wire: Wire) -> tuple[int, bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/status.json", headers=[("Host", "crawl")]))
    connection.send(h11.EndOfMessage())
    status, body = 0, bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(wire.read())
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > _MAX_ANSWER:
                raise NoAnswer("the status page has no end; is it a larbinpy?")
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return status, bytes(body)


def follow(
    host: str, port: int, *, every: float = 1.0, pause: Callable[[float], None] = time.sleep
) -> Iterator[dict[str, Any]]:
    """The fates of URLs as they are decided, as `read_status` gives them, oldest first.

    Polls each `every` seconds. The status keeps the last fates only, so a fast crawl decides
    more than are seen here; crawl.jsonl has all of them. Ends when the crawl does; raises
    NoAnswer when there is none to begin with.
    """
    snapshot = read_status(host, port)
    known: set[str] = set()
    while True:
        newest_first = snapshot.get("recent", ())
        fates = {json.dumps(fate, sort_keys=True): fate for fate in reversed(newest_first)}
        yield from (fate for key, fate in fates.items() if key not in known)
        known = set(fates)
        if snapshot.get("state") == "finished":
            return
        pause(every)
        try:
            snapshot = read_status(host, port)
        except NoAnswer:
            return
