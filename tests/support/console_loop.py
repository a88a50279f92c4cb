"""A poller with servers and their peers: turned by hand, or in a thread."""

import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from larbinpy.console.ports.commands import CommandSteps, Wait, Watcher, Watchers
from larbinpy.console.ports.http import StatusServer
from larbinpy.console.ports.input_port import InputPort
from larbinpy.console.ports.tcp import Limits, Session, TcpServer
from larbinpy.loop.poller import Poller

_Server = TypeVar("_Server")

#: Turns after which a test gives up waiting.
_PATIENCE = 5000


class Loop:
    """Turns servers as the engine does: step, then poll. Time stands still until set."""

    def __init__(self) -> None:
        self.poller = Poller()
        self.now = 100.0
        self.servers: list[Any] = []
        self.peers: list[socket.socket] = []

    def add(self, server: _Server) -> _Server:
        self.servers.append(server)
        return server

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            for server in self.servers:
                server.step(self.now)
            self.poller.wait(0)

    def until(self, done: Callable[[], bool]) -> None:
        for _ in range(_PATIENCE):
            if done():
                return
            self.turn()
        raise AssertionError(f"never happened; {self.servers}")

    def later(self, seconds: float) -> None:
        """Let the kernel deliver what was sent, then let time pass."""
        self.turn(50)
        self.now += seconds
        self.turn(3)

    def dial(self, server: TcpServer, receive_buffer: int = 0) -> socket.socket:
        """A new connection. With a small `receive_buffer`, the server can send little in advance.

        By default the kernel's buffers on both sides take megabytes.
        """
        peer = socket.socket()
        if receive_buffer:
            server._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, receive_buffer)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        peer.setblocking(False)
        peer.connect_ex(("127.0.0.1", server.port))
        self.peers.append(peer)
        return peer

    def send(self, peer: socket.socket, data: bytes) -> int:
        """Send until all is sent or the other end takes no more; the number of bytes sent."""
        sent = idle = 0
        while sent < len(data) and idle < 50:
            try:
                sent += peer.send(data[sent : sent + 65536])
                idle = 0
            except BlockingIOError:
                idle += 1
            except OSError:
                break
            self.turn()
        return sent

    def read_until(self, peer: socket.socket, mark: bytes) -> bytes:
        """Everything up to the first piece that ends in `mark`."""
        data = bytearray()
        self.until(lambda: self._more(peer, data) or data.endswith(mark))
        assert data.endswith(mark), bytes(data)
        return bytes(data)

    def read_all(self, peer: socket.socket) -> bytes:
        """Everything until the other end closes."""
        data = bytearray()
        self.until(lambda: self._more(peer, data))
        return bytes(data)

    def read_some(self, peer: socket.socket) -> bytes:
        """Everything that arrives until nothing has arrived for some turns."""
        data = bytearray()
        before, idle = 0, 0
        while idle < 20:
            self.turn()
            self._more(peer, data)
            idle = idle + 1 if len(data) == before else 0
            before = len(data)
        return bytes(data)

    def read_until_answer(self, server: TcpServer, command: bytes) -> bytes:
        """The answer of the console of `server` to `command`."""
        peer = self.dial(server)
        self.send(peer, b"console\n" + command + b"\n")
        return self.read_until(peer, b"}\n")

    def ask(self, server: TcpServer, data: bytes) -> bytes:
        """Everything that a new peer receives if it sends `data` and waits for the end."""
        peer = self.dial(server)
        self.send(peer, data)
        return self.read_all(peer)

    def wait(self, sock: socket.socket, writing: bool, timeout: float) -> bool:
        """Stands in for the blocking wait of the clients: the server works meanwhile."""
        self.turn(2)
        return True

    def close(self) -> None:
        for server in self.servers:
            server.close()
        for peer in self.peers:
            peer.close()
        self.poller.close()

    @staticmethod
    def _more(peer: socket.socket, data: bytearray) -> bool:
        """Read a piece; True at the end."""
        try:
            piece = peer.recv(65536)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        data += piece
        return not piece


class Background:
    """A loop that turns in a thread of its own, so that blocking clients can be tested."""

    def __init__(self) -> None:
        self._loop = Loop()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._turn)

    def __enter__(self) -> "Background":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._loop.close()

    def _turn(self) -> None:
        while not self._ended.is_set():
            with self._lock:
                for server in self._loop.servers:
                    server.step(self._loop.now)
                self._loop.poller.wait(0.002)

    def serve_input(self, crawl: "FakeCrawl", host: str = "127.0.0.1") -> InputPort:
        with self._lock:
            port = InputPort(self._loop.poller, crawl, host, 0)
            self._loop.add(port)
        return port

    def serve_status(self, shown: Callable[[], dict[str, Any]]) -> StatusServer:
        with self._lock:
            server = StatusServer(self._loop.poller, shown, "127.0.0.1", 0, True)
            self._loop.add(server)
        return server

    def serve(self, converse: Callable[[str], Session]) -> TcpServer:
        """Serves one connection at a time with the session that `converse` makes."""
        with self._lock:
            limits = Limits(connections=1, batch=1)
            server = TcpServer(self._loop.poller, "127.0.0.1", 0, converse, limits)
            self._loop.add(server)
        return server

    def close(self, server: Any) -> None:
        with self._lock:
            self._loop.servers.remove(server)
            server.close()


class FakeCrawl:
    """Records the commands that are called."""

    def __init__(self) -> None:
        self.seeds: list[tuple[str, int | None, bool, bool]] = []
        self.calls: list[tuple[str, ...]] = []
        self.shown: dict[str, Any] = {"state": "running", "totals": {"pages": 7}}
        #: Steps that `explain` takes before its result; whether `save` finishes.
        self.steps = 0
        self.is_saved = True
        self.watchers = Watchers()

    def add(
        self, url: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> str | None:
        if not url.startswith("http"):
            return "badURL"
        self.seeds.append((url, depth, priority, again))
        return None

    def status(self) -> dict[str, Any]:
        return self.shown

    def pause(self) -> None:
        self.calls.append(("pause",))

    def resume(self) -> None:
        self.calls.append(("resume",))

    def set(self, key: str, value: str) -> str | None:
        self.calls.append(("set", key, value))
        return None if key == "waitDuration" else f"{key} cannot be set"

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        self.calls.append(("rule", f"{accept}", pattern))
        return "no pattern" if pattern == "!" else None

    def rules(self) -> list[dict[str, object]]:
        return [{"number": 1, "rule": "reject **/x", "source": "console", "decided": 1234}]

    def drop_rule(self, word: str) -> int | str:
        self.calls.append(("drop", word))
        return 3 if word == "1" else f"no rule is {word!r}"

    def explain(self, url: str) -> CommandSteps:
        for _ in range(self.steps):
            yield Wait.TURN
        yield {"ok": True, "url": url, "where": "queued"}

    def save(self) -> CommandSteps:
        self.calls.append(("save",))
        while not self.is_saved:
            yield Wait.EVENT
        yield {"ok": True}

    def watch(self, word: str) -> Watcher:
        return self.watchers.join(word)

    def stop(self) -> None:
        self.calls.append(("stop",))
