"""The clients of a crawl's input port, status page and log, for the commands.

They run in processes of their own and may block, each time for at most `TIMEOUT`. The connection
to the input port is read while it is written. Otherwise, if `seed` did not read refusals, each
end could wait for the other one to read. `follow_log` follows a log as ``tail -F`` does: by its
name, so that it survives a rotation.
"""

import json
import os
import select
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

from larbinpy.console.ports.input_port import CONTROL, MAX_LINE
from larbinpy.console.ports.tcp import short_path
from larbinpy.console.text import printable
from larbinpy.errors import CrawlState, UserError

#: Seconds for one connection, one answer, or one piece of a longer one.
TIMEOUT = 10.0

#: Longest answer that is accepted, in bytes. A status is some 100 kB.
_MAX_ANSWER = 64 * 1024 * 1024

_BANNER_END = b"\n\n"
_REFUSED = b"refused "


class NoAnswer(UserError):
    """No crawl could be reached; the text is one line with the address and the reason."""


class Refusal(NamedTuple):
    """A seed that the crawl refused."""

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


#: Waits until a socket can be read (or written, if the flag is set), at most for some seconds;
#: returns False at the timeout.
Waiter = Callable[[socket.socket, bool, float], bool]


def wait_for(sock: socket.socket, writing: bool, timeout: float) -> bool:
    ready = select.select([sock], [sock] if writing else [], [], timeout)
    return bool(ready[0] or ready[1])


def spelled(host: str, port: int) -> str:
    """A place as messages show it."""
    return f"{host}:{port}" if port else host


def is_open(door: str) -> bool:
    """Whether a crawl listens at the socket `door`, perhaps one of another user."""
    try:
        _connected(door, 0, TIMEOUT).close()
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _connected(host: str, port: int, timeout: float) -> socket.socket:
    if port:
        return socket.create_connection((host.strip("[]"), port), timeout)
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout)
    try:
        with short_path(host) as name:
            sock.connect(name)
    except OSError:
        sock.close()
        raise
    return sock


class Wire:
    """A connection to an input port; it reads while it writes.

    With the port 0, `host` is the path of the socket in a stateDir.
    """

    def __init__(
        self, host: str, port: int, *, timeout: float = TIMEOUT, wait: Waiter = wait_for
    ) -> None:
        self._where = spelled(host, port)
        try:
            self._sock = _connected(host, port, timeout)
        except OSError as error:
            raise _unreachable(self._where, "inputPort", port, error) from None
        self._sock.setblocking(False)
        self._wait = wait
        self._inbox = bytearray()
        self._ended = False
        #: Seconds to wait for the next bytes.
        self.timeout = timeout

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def send(self, data: bytes) -> bool:
        """Send all of `data`; False if the other end closed before it took everything."""
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
        """Whether the other end has not closed yet."""
        self._take()
        return not self._ended

    def finish(self) -> None:
        """Close the sending direction."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._ended = True

    def read_until(self, mark: bytes) -> bytes | None:
        """The bytes up to the end of `mark`; None if the other end closes before it."""
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
        """The next line if it has arrived; does not wait."""
        self._take()
        return self.read_until(b"\n") if b"\n" in self._inbox else None

    def _pause(self, writing: bool = False) -> None:
        if not self._wait(self._sock, writing, self.timeout):
            raise _silent(self._where)

    def _take(self) -> None:
        """Receive the bytes that have arrived; does not wait."""
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
                raise _endless(self._where)


def open_input(
    host: str, port: int, first_line: str, *, timeout: float = TIMEOUT, wait: Waiter = wait_for
) -> Wire:
    """A connection to the input port, after its banner. Raises NoAnswer."""
    wire = Wire(host, port, timeout=timeout, wait=wait)
    try:
        if wire.read_until(_BANNER_END) is None or not wire.send(first_line.encode() + b"\n"):
            raise NoAnswer(f"{spelled(host, port)} is no input port of a crawl")
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
    *,
    timeout: float = TIMEOUT,
    wait: Waiter = wait_for,
) -> list[Refusal]:
    """Send `urls` to the input port of a running crawl; returns those that it refuses.

    `depth` None means the depthInSite of the crawl; `again` fetches URLs that were seen, too.
    Raises NoAnswer if the crawl cannot be reached or closes before it has taken every URL.
    """
    deep = "" if depth is None else f"depth:{depth} "
    first_line = f"priority:{priority:d} {deep}test:{not again:d}"
    wire = open_input(host, port, first_line, timeout=timeout, wait=wait)
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
        raise NoAnswer(f"{spelled(host, port)} closed before it took every URL: {reason}")
    return refusals


def _send_seed(wire: Wire, url: str, refusals: list[Refusal]) -> bool:
    """Send one seed, unless the port would close because of it; False if it has closed."""
    # WHATWG parsing drops line breaks within a URL; here they would split it into two seeds.
    line = url.translate({10: None, 13: None}).strip().encode(errors="replace")
    if len(line) > MAX_LINE or CONTROL.search(line):
        refusals.append(Refusal(printable(url), "not a URL that can be crawled"))
        return True
    return wire.send(line + b"\n")


def _refusal(line: bytes) -> Refusal:
    url, _, reason = line[len(_REFUSED) :].decode(errors="replace").strip().partition(": ")
    return Refusal(url, reason)


def read_status(host: str, port: int, timeout: float = TIMEOUT) -> dict[str, Any]:
    """The snapshot that the status server at `host`:`port` gives. Raises NoAnswer.

    With the port 0, it is that of the crawl at the socket `host`.
    """
    if not port:
        return _asked_status(host, timeout)
    where = f"{host}:{port}"
    connection = HTTPConnection(host.strip("[]"), port, timeout=timeout)
    try:
        _connect(connection, where)
        connection.request("GET", "/status.json", headers={"Connection": "close"})
        reply = connection.getresponse()
        body = reply.read(_MAX_ANSWER + 1)
    except TimeoutError:
        raise _silent(where) from None
    except (OSError, HTTPException):
        raise NoAnswer(f"{where} is no status page of a crawl") from None
    finally:
        connection.close()
    if len(body) > _MAX_ANSWER:
        raise _endless(where)
    # `read` with a limit accepts a body that ends early.
    if reply.length:
        raise NoAnswer(f"{where} is no status page of a crawl")
    try:
        found = json.loads(body, parse_constant=_no_number) if reply.status == 200 else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NoAnswer(f"{where} gives no status (HTTP {reply.status})")
    return found


def _asked_status(door: str, timeout: float) -> dict[str, Any]:
    wire = open_input(door, 0, "console", timeout=timeout)
    try:
        answer = wire.read_until(b"\n") if wire.send(b"status\n") else None
    finally:
        wire.close()
    if answer is None:
        raise NoAnswer(f"{door} gives no status")
    found: dict[str, Any] = json.loads(answer)
    del found["ok"]
    return found


def _no_number(constant: str) -> None:
    """Refuse NaN and Infinity, which Python takes for JSON; no crawl sends them."""
    raise ValueError(constant)


def _connect(connection: HTTPConnection, where: str) -> None:
    try:
        connection.connect()
    except OSError as error:
        raise _unreachable(where, "httpPort", connection.port, error) from None


def _unreachable(where: str, keyword: str, port: int, error: OSError) -> NoAnswer:
    if isinstance(error, PermissionError):
        return NoAnswer(f"{where}: the crawl is that of another user ({error.strerror})")
    if not port:
        return NoAnswer(
            f"{os.path.dirname(where)}: no crawl runs there ({error.strerror or error})"
        )
    return NoAnswer(
        f"no crawl answers at {where} ({error.strerror or error}); "
        f"is one running there, with {keyword} {port}?"
    )


def _silent(where: str) -> NoAnswer:
    return NoAnswer(f"{where} does not answer; it may be busy with other clients, try again")


def _endless(where: str) -> NoAnswer:
    return NoAnswer(f"{where} sends more than any status is long; is it larbinpy?")


def follow(
    host: str, port: int, *, every: float = 1.0, pause: Callable[[float], None] = time.sleep
) -> Iterator[dict[str, Any]]:
    """The snapshots of a crawl, one every `every` seconds.

    Ends with the crawl; raises NoAnswer if none runs at the start.
    """
    snapshot = read_status(host, port)
    while True:
        yield snapshot
        if snapshot.get("state") == CrawlState.FINISHED.value:
            return
        pause(every)
        try:
            snapshot = read_status(host, port)
        except NoAnswer:
            return


#: Seconds between two looks at the file.
_EVERY = 0.25
#: Lines shown of what the log has already, and bytes in which they are looked for.
_LAST = 10
_BYTES = 1 << 16


def follow_log(paths: Sequence[Path], pause: Callable[[float], None]) -> Iterator[bytes]:
    """The last lines of each file of `paths`, then each new one, for ever.

    `pause` waits for some seconds. If a file is renamed or replaced, the old one is read to its
    end, then the new one from its beginning.
    """
    tails = [_tail(path) for path in paths]
    while True:
        lines = [line for tail in tails for line in next(tail)]
        # A line begins with its time.
        yield from sorted(lines) if len(tails) > 1 else lines
        if not lines:
            pause(_EVERY)


def _tail(path: Path) -> Iterator[list[bytes]]:
    """The lines of one file: the last ones, then all that are new; none if there are none now."""
    file = yield from _opened(path)
    try:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES))
        # The first may be torn; it is one of the last lines only if it is whole.
        recent, rest = _split(file.read())
        begin = 0 if file.tell() <= _BYTES else 1
        yield recent[begin:][-_LAST:]
        while True:
            lines, rest = _split(rest + file.read())
            if not lines and _is_replaced(file, path):
                # Lines may have come since it was read.
                lines, _ = _split(rest + file.read())
                if lines:
                    yield lines
                rest = b""
                file.close()
                file = yield from _opened(path)
            else:
                yield lines
    finally:
        file.close()


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines, and the begin of the next."""
    *lines, rest = data.split(b"\n")
    return [line + b"\n" for line in lines], rest


def _opened(path: Path) -> Generator[list[bytes], None, BinaryIO]:
    while True:
        try:
            return path.open("rb")
        except FileNotFoundError:
            yield []


def _is_replaced(file: BinaryIO, path: Path) -> bool:
    """Whether `path` is another file now, or the same one after it was emptied."""
    ours = os.fstat(file.fileno())
    if ours.st_size < file.tell():
        return True
    try:
        return not os.path.samestat(ours, path.stat())
    except FileNotFoundError:
        return False
